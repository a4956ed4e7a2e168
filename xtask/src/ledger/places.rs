//! Checks whether a place that a ledger names exists.
//!
//! `file#name` exists if the file does and defines the name: a function, a type, a constant, a
//! field or a variant, not a mere use. `file` alone exists if the file does. A test is a function
//! of that name with `#[test]`.
//!
//! This reads lines, not Rust: it relies on `rustfmt`, which CI enforces for every file, for the
//! beginning of a definition.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files read so far.
#[derive(Debug)]
pub struct Places {
    top: PathBuf,
    /// Text without comment lines; `None` for a file that cannot be read.
    files: BTreeMap<String, Option<String>>,
}

impl Places {
    /// Places below `top`.
    pub fn new(top: PathBuf) -> Self {
        let files = BTreeMap::new();
        Self { top, files }
    }

    /// Checks that `place` exists; else returns the reason.
    pub fn find(&mut self, place: &str) -> Result<(), String> {
        let (path, name) = split(place);
        let Some(text) = self.text(path) else {
            return Err("there is no such file".into());
        };
        match name {
            Some(name) if !defines(text, name) => Err(format!("the file defines no `{name}`")),
            None if path.ends_with(".rs") => Err("name the item too: `file.rs#name`".into()),
            _ => Ok(()),
        }
    }

    /// Whether `place` is a test function.
    pub fn is_test(&mut self, place: &str) -> bool {
        match split(place) {
            (_, None) => false,
            (path, Some(name)) => self.text(path).is_none_or(|text| {
                let function = text.find(&format!("fn {name}("));
                // The attribute must precede this function and no other.
                let before = function.map_or("", |at| &text[..at]);
                let last = before.rfind("#[test]");
                last.is_some_and(|last| !before[last..].contains("fn "))
            }),
        }
    }

    fn text(&mut self, path: &str) -> Option<&str> {
        if !self.files.contains_key(path) {
            let read = std::fs::read_to_string(self.top.join(path))
                .ok()
                .map(|text| without_comments(&text));
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

/// Lines that are not comments.
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

/// Keywords of items, before a name.
const ITEMS: [&str; 8] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "mod",
];

/// Whether `text` defines `name` as an item, a field or a variant.
fn defines(text: &str, name: &str) -> bool {
    // Whether the following lines are those of a struct or an enum.
    let mut is_in_type = false;
    for line in text.lines() {
        let mut words = line.split_whitespace().skip_while(|word| is_modifier(word));
        let (first, mut second) = (words.next(), words.next());
        if (first, second) == (Some("const"), Some("fn")) {
            second = words.next();
        }
        let is_item = first.is_some_and(|word| ITEMS.contains(&word));
        if is_item && second.and_then(identifier) == Some(name) {
            return true;
        }
        let is_member = is_in_type && line.starts_with("    ") && !line.starts_with("     ");
        if is_member && first.and_then(identifier) == Some(name) {
            return true;
        }
        if line.starts_with(|c: char| !c.is_whitespace()) {
            is_in_type = matches!(first, Some("struct" | "enum"));
        }
    }
    false
}

/// Whether `word` is `pub`, `pub(super)` or the like, before an item or a field.
fn is_modifier(word: &str) -> bool {
    matches!(word, "pub" | "async" | "unsafe") || word.starts_with("pub(")
}

/// Identifier that a word begins with: `rto_max` of `rto_max:`.
fn identifier(word: &str) -> Option<&str> {
    let end = word
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(word.len());
    (end > 0).then(|| &word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_fields_and_variants_are_definitions_and_uses_are_none() {
        let text = "pub(super) struct Timer {\n    pub deadline: u64,\n    armed: bool,\n}\n\
                    enum Phase {\n    Open,\n    Loss(u8),\n}\n\
                    impl Timer {\n    pub const fn arm(&mut self) {\n        deadline(self.at);\n    \
                    }\n}\nconst LIMIT: u8 = MOST;\nfn call() {\n    armed_by: 3;\n}\n";
        for name in [
            "Timer", "deadline", "armed", "Open", "Loss", "arm", "LIMIT", "call",
        ] {
            assert!(defines(text, name), "{name}");
        }
        for name in ["at", "MOST", "armed_by", "arme", "u64", "self", "pub"] {
            assert!(!defines(text, name), "{name}");
        }
    }

    #[test]
    fn a_name_in_a_comment_is_no_place() {
        assert_eq!(without_comments("a\n  // b\nc"), "a\nc\n");
    }
}
