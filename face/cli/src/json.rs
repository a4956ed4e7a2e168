//! JSON lists whose elements are created while they are written, so that one element is in memory
//! at a time.

use std::cell::RefCell;
use std::io::{self, BufWriter, Write};

use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::failure::Failure;

/// A list that creates each element when it is written. It can be written once.
pub(crate) struct Each<I> {
    elements: RefCell<I>,
    failure: RefCell<Option<Failure>>,
}

impl<I> Each<I> {
    /// Returns a list of `elements`, up to the first that fails.
    pub(crate) const fn new(elements: I) -> Self {
        Self {
            elements: RefCell::new(elements),
            failure: RefCell::new(None),
        }
    }

    /// Returns the error of the element that failed, if any.
    pub(crate) fn failed(self) -> Result<(), Failure> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }
}

impl<T: Serialize, I: Iterator<Item = Result<T, Failure>>> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(None)?;
        for element in &mut *self.elements.borrow_mut() {
            match element {
                Ok(element) => list.serialize_element(&element)?,
                Err(failure) => {
                    *self.failure.borrow_mut() = Some(failure);
                    return Err(S::Error::custom("an element could not be made"));
                }
            }
        }
        list.end()
    }
}

/// Writes `value` as JSON with one key per line, and a newline.
pub(crate) fn write(value: &impl Serialize, to: impl Write) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 16, to);
    serde_json::to_writer_pretty(&mut to, value)?;
    to.write_all(b"\n")?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[derive(Serialize)]
    struct Document<L> {
        list: L,
    }

    fn written<I: Iterator<Item = Result<Value, Failure>>>(
        list: I,
    ) -> (String, Result<(), Failure>) {
        let document = Document {
            list: Each::new(list),
        };
        let mut out = Vec::new();
        // The list holds the error.
        let _ = write(&document, &mut out);
        (String::from_utf8(out).unwrap(), document.list.failed())
    }

    #[test]
    fn a_list_made_while_it_is_written_reads_like_one_that_was_there() {
        for count in [0, 1, 3] {
            let all = || (0..count).map(|index| json!({ "index": index, "none": [] }));
            let whole = json!({ "list": all().collect::<Vec<_>>() });
            let whole = serde_json::to_string_pretty(&whole).unwrap() + "\n";
            let (text, failed) = written(all().map(Ok));
            assert_eq!(text, whole);
            assert!(failed.is_ok());
        }
    }

    #[test]
    fn the_list_ends_at_the_first_element_that_fails_and_says_why() {
        let made = RefCell::new(0);
        let (_, failed) = written((0..5).map(|index| {
            *made.borrow_mut() += 1;
            if index == 2 {
                return Err(Failure::new("the third"));
            }
            Ok(json!(index))
        }));
        assert_eq!(*made.borrow(), 3);
        assert!(failed.is_err());
    }
}
