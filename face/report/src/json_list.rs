//! JSON lists whose elements are created while they are written, so that one element is in memory
//! at a time; and how JSON documents are written.

use std::cell::RefCell;
use std::io::{self, BufWriter, Write};

use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

/// A list that creates each element when it is written. It can be written once.
#[derive(Debug)]
pub struct Each<I, E> {
    elements: RefCell<I>,
    failure: RefCell<Option<E>>,
}

impl<I, E> Each<I, E> {
    /// A list of `elements`, up to the first that fails.
    pub const fn new(elements: I) -> Self {
        Self {
            elements: RefCell::new(elements),
            failure: RefCell::new(None),
        }
    }

    /// Error of the element that failed, if any.
    ///
    /// # Errors
    /// That error.
    pub fn failed(self) -> Result<(), E> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }
}

impl<T: Serialize, E, I: Iterator<Item = Result<T, E>>> Serialize for Each<I, E> {
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
///
/// # Errors
/// Those of the writer.
pub fn write(value: &impl Serialize, to: impl Write) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 16, to);
    serde_json::to_writer_pretty(&mut to, value)?;
    to.write_all(b"\n")?;
    to.flush()
}
