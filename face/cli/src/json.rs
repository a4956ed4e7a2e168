//! Writes JSON documents.

pub(crate) use gigatcp_report::json_list::write;

use crate::failure::Failure;

/// A list that creates each element when it is written.
pub(crate) type Each<I> = gigatcp_report::json_list::Each<I, Failure>;

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde::Serialize;
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
