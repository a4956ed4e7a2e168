//! Forbidden words and names in the code.

use super::shape::{function_name, is_test_file};
use super::tree::File;
use super::{Finding, Masked};

/// Marks of unfinished work.
const LEFT_OVER: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];

/// Paths that the core must not use. These are clocks, input and output, randomness, and
/// collections whose order differs from run to run.
const IMPURE: [&str; 11] = [
    "std::time",
    "std::net",
    "std::fs",
    "std::io",
    "std::env",
    "std::thread",
    "std::process",
    "HashMap",
    "HashSet",
    "SystemTime",
    "thread_rng",
];

/// Results published by others, which code that runs an experiment must not read.
const PUBLISHED: &str = concat!("published", ".toml");

/// Minimum number of words of a test's name.
const SENTENCE: usize = 3;

/// Checks one Rust file.
pub fn check(file: &File, masked: &Masked) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(module_name(file));
    for (index, code) in masked.code.iter().enumerate() {
        let place = (file.path.as_str(), index + 1);
        findings.extend(names(place, code));
        findings.extend(left_over(place, code, &masked.comments[index]));
        findings.extend(commented_out(place, &masked.comments[index]));
        if file.path.starts_with("core/") && !masked.is_test[index] && !is_test_file(&file.path) {
            findings.extend(impure(place, code));
        }
        if !file.path.starts_with("face/report/") {
            findings.extend(published(place, &masked.uncommented[index]));
        }
    }
    findings.extend(test_names(file, masked));
    findings
}

const UTILS: &str = "`utils` says nothing about what is inside and gathers everything";
const UTILS_FIX: &str = "name the file after what it is about";

fn module_name(file: &File) -> Option<Finding> {
    let stem = file
        .path
        .trim_end_matches("/mod.rs")
        .trim_end_matches(".rs");
    let name = stem.rsplit('/').next()?;
    let place = (file.path.as_str(), 1);
    matches!(name, "utils" | "util")
        .then(|| Finding::new(place, format!("file `{name}`"), UTILS, UTILS_FIX))
}

fn names(place: (&str, usize), code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if has_words(code, "mod utils") || has_words(code, "mod util") {
        findings.push(Finding::new(
            place,
            format!("`{}`", code.trim()),
            UTILS,
            UTILS_FIX,
        ));
    }
    if let Some(name) = function_name(code)
        && name.starts_with("get_")
        && !OF_OTHERS.contains(&name)
    {
        findings.push(Finding::new(
            place,
            format!("`fn {name}`"),
            "a getter is named after what it gives",
            "leave the prefix out",
        ));
    }
    findings
}

/// Names that a trait of a library sets: of `rmcp`.
const OF_OTHERS: [&str; 1] = ["get_info"];

fn left_over(place: (&str, usize), code: &str, comment: &str) -> Option<Finding> {
    let mark = LEFT_OVER.into_iter().find(|mark| has_words(comment, mark));
    let stub = ["todo!", "unimplemented!"]
        .into_iter()
        .find(|stub| code.contains(stub));
    mark.or(stub).map(|word| {
        Finding::new(
            place,
            format!("`{word}`"),
            "work left over belongs where work is planned, not in the code",
            "do it now, or say in a sentence what is deliberately missing and what that costs",
        )
    })
}

fn impure(place: (&str, usize), code: &str) -> Option<Finding> {
    let word = IMPURE.into_iter().find(|word| has_words(code, word))?;
    Some(Finding::new(
        place,
        format!("`{word}`"),
        "the core has no clock, no input or output, and nothing whose order varies",
        "take it as an argument, or use BTreeMap, Vec or the units of gigatcp-units",
    ))
}

fn published(place: (&str, usize), uncommented: &str) -> Option<Finding> {
    uncommented.contains(PUBLISHED).then(|| {
        Finding::new(
            place,
            format!("`{PUBLISHED}`"),
            "published results are read by the report alone: what runs an experiment may not see them",
            "read them in face/report",
        )
    })
}

/// Finds commented-out code by a heuristic. The comment ends as a statement does, and begins or
/// is punctuated as one.
fn commented_out(place: (&str, usize), comment: &str) -> Option<Finding> {
    let trimmed = comment.trim();
    if trimmed.starts_with("///") || trimmed.starts_with("//!") {
        return None;
    }
    let text = trimmed.strip_prefix("//")?.trim();
    is_code(text).then(|| {
        Finding::new(
            place,
            format!("`// {text}`"),
            "code that is commented out is dead, and its purpose is unknown",
            "delete it; version control remembers",
        )
    })
}

fn is_code(text: &str) -> bool {
    /// Beginnings of statements and items. No sentence with one of these ends in a semicolon or a
    /// brace.
    const BEGINNINGS: [&str; 14] = [
        "let ", "fn ", "pub ", "use ", "if ", "for ", "while ", "match ", "return", "impl ",
        "struct ", "enum ", "mod ", "#[",
    ];
    let begins = BEGINNINGS.iter().any(|start| text.starts_with(start));
    let called = text.ends_with(");") || text.ends_with(")?;");
    let assigned = text.ends_with(';') && (text.contains(" = ") || text.contains("::"));
    let ends = text.ends_with(';') || text.ends_with('{');
    (begins && ends) || called || assigned || text == "}" || text == "});"
}

/// Checks that names of tests state a property.
fn test_names(file: &File, masked: &Masked) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = masked.code.iter().enumerate();
    for (index, _) in lines.filter(|(_, code)| code.trim() == "#[test]") {
        let following = masked.code.iter().enumerate().skip(index + 1);
        let named = following
            .take(8)
            .find_map(|(at, code)| Some((at, function_name(code)?)));
        let Some((at, name)) = named else { continue };
        let words = name.split('_').filter(|word| !word.is_empty()).count();
        if words < SENTENCE {
            findings.push(Finding::new(
                (&file.path, at + 1),
                format!("test `{name}`"),
                "a test's name is a sentence that says what holds: it is all a failure shows",
                "say it in three words or more",
            ));
        }
    }
    findings
}

/// Whether `words` occurs in `text` with nothing alphanumeric next to it.
fn has_words(text: &str, words: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(words).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !is_part(before) && !is_part(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of each finding, with its line.
    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let findings = check(&File::new(path, text), &Masked::new(text));
        findings
            .into_iter()
            .map(|finding| (finding.line, finding.read))
            .collect()
    }

    fn reads(text: &str) -> Vec<String> {
        let found = found("drive/sim/src/a.rs", text);
        found.into_iter().map(|(_, read)| read).collect()
    }

    #[test]
    fn modules_and_files_named_utils_are_found() {
        assert_eq!(reads("mod utils;"), ["`mod utils;`"]);
        assert_eq!(reads("mod utilisation;"), [""; 0]);
        assert_eq!(found("a/src/utils.rs", "").len(), 1);
        assert_eq!(found("a/src/utils/mod.rs", "").len(), 1);
    }

    #[test]
    fn getters_with_a_prefix_are_found_in_code_alone() {
        assert_eq!(reads("pub fn get_rate(&self) {}"), ["`fn get_rate`"]);
        assert_eq!(reads("x.get_mut(); // fn get_rate"), [""; 0]);
        assert_eq!(reads("let text = \"fn get_rate() {}\";"), [""; 0]);
    }

    #[test]
    fn work_left_over_is_found_in_comments_and_macros() {
        assert_eq!(reads("// TODO: later"), ["`TODO`"]);
        assert_eq!(reads("/* FIXME */ f()"), ["`FIXME`"]);
        assert_eq!(reads("fn f() { todo!() }"), ["`todo!`"]);
        assert_eq!(reads("let s = \"TODO\";"), [""; 0]);
    }

    #[test]
    fn commented_out_code_is_found_and_prose_is_not() {
        assert_eq!(reads("// let x = 3;").len(), 1);
        assert_eq!(reads("// self.poll(now);").len(), 1);
        assert_eq!(reads("// if x > 3 {").len(), 1);
        assert_eq!(reads("// x = y::z;").len(), 1);
        assert_eq!(reads("// If x grows, y does too;\n// see f().").len(), 0);
        assert_eq!(reads("/// let x = 3;\n//! f();").len(), 0);
    }

    #[test]
    fn the_core_touches_no_clock_and_no_unordered_map_outside_tests() {
        let text = "use std::time::Instant;\nlet m: HashMap<u8, u8>;\n\
                    #[cfg(test)]\nmod tests {\n    use std::time::Instant;\n}\n";
        let lines: Vec<usize> = found("core/tcp/src/a.rs", text)
            .into_iter()
            .map(|(line, _)| line)
            .collect();
        assert_eq!(lines, [1, 2]);
        assert!(found("drive/sim/src/a.rs", text).is_empty());
    }

    #[test]
    fn published_results_are_named_in_the_report_alone() {
        let text = format!("let path = \"{PUBLISHED}\"; // {PUBLISHED}");
        assert_eq!(found("drive/run/src/a.rs", &text).len(), 1);
        assert_eq!(found("face/report/src/a.rs", &text).len(), 0);
        assert_eq!(
            found("drive/sim/src/a.rs", &format!("// {PUBLISHED}")).len(),
            0
        );
    }

    #[test]
    fn a_test_whose_name_is_no_sentence_is_found() {
        let text = "#[test]\n#[ignore]\nfn works_well() {}\n\
                    #[test]\nfn it_works_well() {}\n";
        assert_eq!(
            found("a/tests/b.rs", text),
            [(3, "test `works_well`".into())]
        );
    }
}
