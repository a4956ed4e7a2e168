//! Shape of a file: its first line, its length and that of its functions, and declarations in the
//! core.
//!
//! Lengths are limits, not aims: half of all files have 150 to 310 lines, and few functions more
//! than 45.

use super::masked::item_end;
use super::tree::File;
use super::{Finding, Masked};

/// Lines of a file above which there is an error, and a warning.
const FILE_LINES: (usize, usize) = (1000, 700);

/// Lines of a function above which there is an error; tests are exempt.
const FUNCTION_LINES: usize = 80;

/// Declarations in `lib.rs` of every crate of the core.
const CORE: [&str; 3] = [
    "#![no_std]",
    "#![forbid(unsafe_code)]",
    "#![deny(missing_docs)]",
];

/// Checks one Rust file.
pub fn check(file: &File, masked: &Masked) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(opening(file));
    findings.extend(file_length(file));
    findings.extend(functions(file, masked));
    findings.extend(core_declarations(file, masked));
    findings
}

/// Checks that a file begins with a description.
fn opening(file: &File) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or_default();
    (!first.starts_with("//!")).then(|| {
        Finding::new(
            (&file.path, 1),
            format!("`{first}`"),
            "a file opens with what it is, in a `//!` comment",
            "say what it is, its source and section, and what it deliberately does not do",
        )
    })
}

fn file_length(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    let (most, many) = FILE_LINES;
    let finding = Finding::new(
        (&file.path, lines),
        format!("{lines} lines"),
        "one mechanism has one file; beyond 1000 lines it is several",
        "split it by mechanism",
    );
    match lines {
        _ if lines > most => Some(finding),
        _ if lines > many => Some(finding.into_warning()),
        _ => None,
    }
}

fn functions(file: &File, masked: &Masked) -> Vec<Finding> {
    if is_test_file(&file.path) {
        return vec![];
    }
    let mut findings = Vec::new();
    for (line, text) in masked.code.iter().enumerate() {
        let Some(name) = function_name(text) else {
            continue;
        };
        let Some(end) = item_end(&masked.code, line) else {
            continue;
        };
        let lines = end - line + 1;
        if lines > FUNCTION_LINES && !masked.is_test[line] {
            findings.push(Finding::new(
                (&file.path, line + 1),
                format!("function `{name}` of {lines} lines"),
                "a function of more than 80 lines does several things",
                "give each of them a name of its own",
            ));
        }
    }
    findings
}

/// Name of the function whose signature begins on this line of code.
pub fn function_name(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("fn ")?;
    let is_word = before
        .chars()
        .next_back()
        .is_none_or(|c| !c.is_alphanumeric() && c != '_');
    let name = after
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    (is_word && !name.is_empty()).then_some(name)
}

/// Whether a file belongs to tests, examples or benchmarks of a crate.
pub fn is_test_file(path: &str) -> bool {
    ["/tests/", "/examples/", "/benches/"]
        .iter()
        .any(|folder| path.contains(folder))
}

fn core_declarations(file: &File, masked: &Masked) -> Vec<Finding> {
    if !file.path.starts_with("core/") || !file.path.ends_with("/src/lib.rs") {
        return vec![];
    }
    let missing = CORE.into_iter().filter(|declaration| {
        let has = |line: &String| line.trim_end() == *declaration;
        !masked.code.iter().any(has)
    });
    missing
        .map(|declaration| {
            Finding::new(
                (&file.path, 1),
                format!("no `{declaration}`"),
                "the core is pure: no operating system, no unsafe code, everything documented",
                "declare it below the opening comment",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        check(&File::new(path, text), &Masked::new(text))
    }

    fn long(lines: usize) -> String {
        "//! Long.\n".to_string() + &"\n".repeat(lines - 1)
    }

    #[test]
    fn a_file_without_an_opening_is_found() {
        let findings = found("drive/sim/src/a.rs", "// What?\nfn f() {}\n");
        assert_eq!(findings.len(), 1);
        assert_eq!(
            (findings[0].line, findings[0].read.as_str()),
            (1, "`// What?`")
        );
    }

    #[test]
    fn a_file_of_more_than_700_lines_warns_and_of_more_than_1000_fails() {
        assert!(found("a/src/b.rs", &long(700)).is_empty());
        assert!(!found("a/src/b.rs", &long(701))[0].fatal);
        assert!(found("a/src/b.rs", &long(1001))[0].fatal);
    }

    #[test]
    fn a_long_function_is_found_unless_it_is_a_test() {
        let body = "    x();\n".repeat(79);
        let function = format!("fn f(\n    a: u8,\n) {{\n{body}}}\n");
        let findings = found("a/src/b.rs", &format!("//! A.\n{function}"));
        assert_eq!(findings[0].read, "function `f` of 83 lines");
        assert_eq!(findings[0].line, 2);
        let test = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{function}}}\n");
        assert!(found("a/src/b.rs", &test).is_empty());
        assert!(found("a/tests/b.rs", &format!("//! A.\n{function}")).is_empty());
    }

    #[test]
    fn a_function_is_known_by_its_name() {
        assert_eq!(
            function_name("    pub(super) fn poll(&self) {"),
            Some("poll")
        );
        assert_eq!(function_name("    apply: fn(&mut Profile) -> bool,"), None);
        assert_eq!(function_name("often more"), None);
    }

    #[test]
    fn a_crate_of_the_core_must_declare_that_it_is_pure() {
        let text = "//! A.\n#![no_std]\n#![deny(missing_docs)]\n";
        let findings = found("core/wire/src/lib.rs", text);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].read, "no `#![forbid(unsafe_code)]`");
        assert!(found("drive/sim/src/lib.rs", text).is_empty());
    }
}
