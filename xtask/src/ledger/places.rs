//! Whether a place that a ledger names is there.
//!
//! `file#name` is there when the file is and contains the name as a whole
//! word outside comments; `file` alone when the file is. A test is a function
//! of that name, or a script.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The files read so far.
#[derive(Debug)]
pub struct Places {
    top: PathBuf,
    /// Text without comment lines; none for a file that cannot be read.
    files: BTreeMap<String, Option<String>>,
}

impl Places {
    /// Places below `top`.
    pub fn new(top: PathBuf) -> Self {
        let files = BTreeMap::new();
        Self { top, files }
    }

    /// Whether `place` is there; else why not.
    pub fn find(&mut self, place: &str) -> Result<(), String> {
        let (path, name) = split(place);
        let Some(text) = self.text(path) else {
            return Err("there is no such file".into());
        };
        match name {
            Some(name) if !has_word(text, name) => Err(format!("the file has no `{name}`")),
            None if path.ends_with(".rs") => Err("name the item too: `file.rs#name`".into()),
            _ => Ok(()),
        }
    }

    /// Whether `place` has the form of a test and, in Rust, is a function.
    pub fn is_test(&mut self, place: &str) -> bool {
        match split(place) {
            (path, None) => path.ends_with(".pkt"),
            (path, Some(name)) => self.text(path).is_none_or(|text| {
                let function = text.find(&format!("fn {name}("));
                // The attribute stands before this function and no other.
                let before = function.map_or("", |at| &text[..at]);
                let last = before.rfind("#[test]");
                last.is_some_and(|last| !before[last..].contains("fn "))
            }),
        }
    }

    fn text(&mut self, path: &str) -> Option<&str> {
        if !self.files.contains_key(path) {
            let read = std::fs::read_to_string(self.top.join(path)).ok();
            let read = read.map(|text| without_comments(&text));
            self.files.insert(path.into(), read);
        }
        self.files.get(path)?.as_deref()
    }
}

fn split(place: &str) -> (&str, Option<&str>) {
    match place.split_once('#') {
        Some((path, name)) => (path, Some(name)),
        None => (place, None),
    }
}

/// Lines that are no comments.
fn without_comments(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let mut kept = String::with_capacity(text.len());
    for line in lines {
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// Whether `name` stands in `text` as a whole word.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !is_part(before) && !is_part(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_only_as_a_whole_word() {
        assert!(has_word("fn on_ack(", "on_ack"));
        assert!(!has_word("fn on_acks(", "on_ack"));
        assert!(!has_word("fn not_on_ack(", "on_ack"));
    }

    #[test]
    fn a_name_in_a_comment_is_no_place() {
        assert_eq!(without_comments("a\n  // b\nc"), "a\nc\n");
    }
}
