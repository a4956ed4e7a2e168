//! Number of assertions in the core, which may only rise.
//!
//! Counted are `assert!` and `debug_assert!`, with their forms `_eq` and `_ne`, in `core/*/src`
//! outside tests: not in files whose name ends with `tests.rs`, not in directories `tests`, and
//! in other files up to the first `#[cfg(test)]`. A floor that is too low is only a warning, so
//! that changes of several authors can be merged. One that is too high is an error.

use regex::Regex;

use super::Finding;
use super::tree::File;

/// Minimum number of assertions of the core.
const FLOOR: usize = 430;

const FLOOR_PATH: &str = "xtask/src/tidy/asserts.rs";

/// Checks the number of assertions of all files together.
pub fn check(files: &[File]) -> Vec<Finding> {
    compare(FLOOR, count(files)).into_iter().collect()
}

/// Number of assertions, and of the lines of code.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Count {
    assertions: usize,
    /// Lines of code: neither empty nor only a comment.
    lines: usize,
}

impl Count {
    /// Assertions per thousand lines.
    fn density(self) -> f64 {
        self.assertions as f64 * 1000.0 / self.lines.max(1) as f64
    }
}

fn count(files: &[File]) -> Count {
    let assertion = Regex::new(r"\b(debug_)?assert(_eq|_ne)?!").expect("a regular expression");
    let mut count = Count::default();
    for file in files.iter().filter(|file| is_counted(&file.path)) {
        let (code, _tests) = file
            .text
            .split_once("#[cfg(test)]")
            .unwrap_or((&file.text, ""));
        let lines = code.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with("//")) {
            count.lines += 1;
            count.assertions += assertion.find_iter(line).count();
        }
    }
    count
}

fn is_counted(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_source = parts.next() == Some("core") && parts.nth(1) == Some("src");
    is_source && path.ends_with(".rs") && !path.ends_with("tests.rs") && !path.contains("/tests/")
}

fn compare(floor: usize, found: Count) -> Option<Finding> {
    let (why, fix) = match found.assertions {
        assertions if assertions < floor => (
            "assertions say which invariants hold, and find faults: their number may only rise",
            "keep the assertion, or assert what holds in its place",
        ),
        assertions if assertions > floor => (
            "a floor that is too low lets assertions go",
            "raise FLOOR to what was found",
        ),
        _ => return None,
    };
    let read = format!(
        "{} assertions in the core ({:.1} per thousand lines), floor {floor}",
        found.assertions,
        found.density()
    );
    let finding = Finding::new((FLOOR_PATH, 1), read, why, fix);
    Some(if found.assertions < floor {
        finding
    } else {
        finding.into_warning()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(path: &str, text: &str) -> Count {
        count(&[File::new(path, text)])
    }

    #[test]
    fn assertions_of_all_forms_are_counted_and_comments_are_not() {
        let text = "//! Asserts.\n\nfn a() {\n    assert!(b);\n    debug_assert_eq!(b, c);\n    \
                    // assert!(d);\n    prop_assert!(e);\n    debug_assert!(f); assert_ne!(g, h);\n}\n";
        let found = counted("core/tcp/src/a.rs", text);
        assert_eq!((found.assertions, found.lines), (4, 6));
    }

    #[test]
    fn what_stands_behind_the_first_test_is_not_counted() {
        let text = "fn a() {\n    assert!(b);\n}\n#[cfg(test)]\nmod tests {\n    assert!(c);\n}\n";
        let found = counted("core/tcp/src/a.rs", text);
        assert_eq!((found.assertions, found.lines), (1, 3));
    }

    #[test]
    fn files_of_tests_and_of_other_layers_are_not_counted() {
        for path in [
            "core/tcp/src/tests.rs",
            "core/tcp/src/connection/tests/a.rs",
            "core/tcp/tests/a.rs",
            "drive/sim/src/a.rs",
        ] {
            assert_eq!(counted(path, "assert!(a);\n"), Count::default(), "{path}");
        }
    }

    #[test]
    fn fewer_assertions_than_the_floor_are_an_error_and_more_a_warning() {
        let found = |assertions| Count {
            assertions,
            lines: 1000,
        };
        assert!(compare(5, found(4)).is_some_and(|finding| finding.fatal));
        assert!(compare(5, found(6)).is_some_and(|finding| !finding.fatal));
        assert_eq!(compare(5, found(5)), None);
    }
}
