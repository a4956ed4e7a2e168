//! Grammar of output in snapshots: a count of 1 is followed by a singular.

use std::fs;
use std::path::{Path, PathBuf};

/// Words after a 1 that end in s but are no plurals: units, abbreviations, and verbs.
const NO_PLURALS: [&str; 8] = ["s", "ms", "us", "ns", "retrans", "series", "is", "this"];

/// Collects all files below a directory that hold printed output.
fn outputs(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let ends = |end: &str| path.extension().is_some_and(|found| found == end);
        if path.is_dir() && !path.ends_with("target") {
            outputs(&path, all);
        } else if ends("snap") || ends("trycmd") {
            all.push(path);
        }
    }
}

/// Whether the word follows a 1 and looks like a plural.
fn plural_of_one(before: &str, with_stop: &str) -> bool {
    let word = with_stop.trim_end_matches(|letter: char| !letter.is_ascii_lowercase());
    let is_word = word.len() > 1 && word.bytes().all(|letter| letter.is_ascii_lowercase());
    before == "1" && is_word && word.ends_with('s') && !NO_PLURALS.contains(&word)
}

#[test]
fn of_one_thing_nothing_is_said_in_the_plural() {
    let mut all = Vec::new();
    for ring in ["../../face", "../../core", "../../drive"] {
        outputs(&Path::new(env!("CARGO_MANIFEST_DIR")).join(ring), &mut all);
    }
    assert!(all.len() > 20, "{} files of output", all.len());
    let mut found = Vec::new();
    for path in all {
        let text = fs::read_to_string(&path).expect("text");
        let mut before = "";
        for line in text.lines() {
            for word in line.split_whitespace() {
                if plural_of_one(before, word) {
                    found.push(format!("{}: {before} {word}", path.display()));
                }
                before = word;
            }
            // Wrapped prose continues in the next line; a table does not.
            if line.trim().contains("  ") {
                before = "";
            }
        }
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn the_search_finds_what_it_is_for() {
    for (before, word) in [
        ("1", "acknowledgments"),
        ("1", "rounds:"),
        ("1", "packets,"),
    ] {
        assert!(plural_of_one(before, word), "{before} {word}");
    }
    for (before, word) in [
        ("1", "round"),
        ("21", "rounds"),
        ("1", "ms"),
        ("1", "retrans"),
    ] {
        assert!(!plural_of_one(before, word), "{before} {word}");
    }
}
