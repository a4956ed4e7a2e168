//! Reads `conformance/differences.toml`: where the engine and Linux differ on a shared script, each
//! difference with its reason.
//!
//! A script of `conformance/script` describes what the engine does. With the line `// stack: linux`
//! it is shared: Linux runs it too, and either meets it or differs as listed in this file. A script
//! without a `// profile:` line is for any stack and therefore also shared. An unlisted difference
//! is a fault of the engine, of the script, or news about Linux; a listed one that no longer occurs
//! must be deleted.
//!
//! The file names the kernel it was made with. Another kernel may differ elsewhere, so only that
//! one is tested against it.

use std::fmt;
use std::path::Path;

use crate::ast::Script;
use crate::run::{Report, Verdict};
use crate::source::line_column;
use serde::Deserialize;

use gigatcp_linux::process;

/// All differences in the file.
#[derive(Clone, PartialEq, Eq, Deserialize, Default, Debug)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    /// Release of the kernel that was tested, as `6.18`.
    pub linux: String,
    /// The differences, in the order of their scripts' names.
    #[serde(default)]
    pub difference: Vec<Difference>,
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Script, as a path from `conformance/script` with forward slashes.
    pub script: String,
    /// Line of the script that Linux does not meet.
    pub line: usize,
    /// Respect in which they differ, as in the verdict.
    pub respect: String,
    /// Behavior of the engine.
    pub engine: String,
    /// Behavior of Linux.
    pub kernel: String,
    /// Reason for the difference, and why it is right or accepted.
    pub why: String,
}

/// Result of comparing a script's verdict with the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison<'a> {
    /// It meets the script, and no difference is listed.
    Meets,
    /// It differs as listed.
    AsListed(&'a Difference),
    /// It differs and is not listed, or differs otherwise than listed.
    Unlisted,
    /// It is listed but meets the script.
    Stale(&'a Difference),
    /// It needs a feature that the kernel lacks.
    Unsupported,
}

/// A fault in the file, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl Differences {
    /// Reads the file and checks it against the scripts below `scripts`.
    ///
    /// # Errors
    /// [`Fault`], with the first one found.
    pub fn read(text: &str, scripts: &Path) -> Result<Self, Fault> {
        let all: Self = toml::from_str(text).map_err(|error| Fault(error.to_string()))?;
        for pair in all.difference.windows(2) {
            if pair[0].script >= pair[1].script {
                let (first, second) = (&pair[0].script, &pair[1].script);
                return Err(Fault(format!(
                    "{second} stands behind {first}: each script once, in order"
                )));
            }
        }
        for difference in &all.difference {
            difference.check(scripts)?;
        }
        Ok(all)
    }

    /// Whether the running kernel is the one the file was made with.
    pub fn is_of_this_kernel(&self) -> bool {
        let name = process::kernel_name();
        let release = name.trim_start_matches("Linux ");
        release
            .strip_prefix(&self.linux)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Compares the kernel's verdict on `script`, whose text is `text`, with the file.
    pub fn compare(&self, script: &str, text: &str, report: &Report) -> Comparison<'_> {
        let listed = self.difference.iter().find(|one| one.script == script);
        match (&report.verdict, listed) {
            (Verdict::Passed, None) => Comparison::Meets,
            (Verdict::Passed, Some(difference)) => Comparison::Stale(difference),
            (Verdict::Unsupported { .. }, _) => Comparison::Unsupported,
            (Verdict::Failed(failure), Some(difference)) => {
                let (line, _) = line_column(text, failure.span.start);
                let is_it =
                    line == difference.line && failure.class.to_string() == difference.respect;
                if is_it {
                    Comparison::AsListed(difference)
                } else {
                    Comparison::Unlisted
                }
            }
            (Verdict::Failed(_), None) => Comparison::Unlisted,
        }
    }
}

impl Difference {
    fn check(&self, scripts: &Path) -> Result<(), Fault> {
        let script = &self.script;
        let path = scripts.join(script);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Fault(format!("{}: {error}", path.display())))?;
        let parsed =
            crate::parse(&text).map_err(|mistake| Fault(mistake.in_text(script, &text)))?;
        if !is_shared(&parsed) {
            return Err(Fault(format!(
                "{script} is for the engine alone: nothing to differ"
            )));
        }
        if self.line == 0 || self.line > text.lines().count() {
            return Err(Fault(format!("{script} has no line {}", self.line)));
        }
        let words = [&self.respect, &self.engine, &self.kernel, &self.why];
        if words.iter().any(|word| word.trim().is_empty()) {
            return Err(Fault(format!(
                "{script}: respect, engine, kernel and why are to be filled in"
            )));
        }
        Ok(())
    }
}

/// Whether Linux must meet a script.
pub fn is_shared(script: &Script) -> bool {
    let stack = script.header("stack");
    let is_named = stack.is_some_and(|header| header.value == "linux");
    is_named || script.header("profile").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Class, Failure};

    const SCRIPT: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 close(3) = 0\n";

    fn file(script: &str, more: &str) -> String {
        format!(
            "linux = \"6.18\"\n[[difference]]\nscript = \"{script}\"\nline = 2\n\
             respect = \"call\"\nengine = \"closes\"\nkernel = \"does not\"\n{more}"
        )
    }

    const WHY: &str = "why = \"because\"\n";

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.pkt"), SCRIPT).unwrap();
        let alone = format!("// profile: modern\n{SCRIPT}");
        std::fs::write(folder.path().join("alone.pkt"), alone).unwrap();
        folder
    }

    fn failed(class: Class, at: usize) -> Report {
        let failure = Failure {
            class,
            span: at..at,
            found: String::new(),
            log: vec![],
        };
        Report {
            verdict: Verdict::Failed(failure),
            printed: vec![],
        }
    }

    #[test]
    fn a_verdict_is_listed_by_script_line_and_respect() {
        let folder = folder();
        let all = Differences::read(&file("a.pkt", WHY), folder.path()).unwrap();
        let second_line = SCRIPT.find("+0").unwrap();
        let comparison = |report: &Report| all.compare("a.pkt", SCRIPT, report);
        let listed = comparison(&failed(Class::Call, second_line));
        assert_eq!(listed, Comparison::AsListed(&all.difference[0]));
        let other_line = comparison(&failed(Class::Call, 0));
        assert_eq!(other_line, Comparison::Unlisted);
        let other_respect = comparison(&failed(Class::Timing, second_line));
        assert_eq!(other_respect, Comparison::Unlisted);
        let passed = Report {
            verdict: Verdict::Passed,
            printed: vec![],
        };
        assert_eq!(comparison(&passed), Comparison::Stale(&all.difference[0]));
        let other = all.compare("b.pkt", SCRIPT, &passed);
        assert_eq!(other, Comparison::Meets);
        let unlisted = all.compare("b.pkt", SCRIPT, &failed(Class::Call, 0));
        assert_eq!(unlisted, Comparison::Unlisted);
    }

    #[test]
    fn entries_that_cannot_be_are_faults() {
        let folder = folder();
        let fault = |text: &str| {
            let read = Differences::read(text, folder.path());
            read.unwrap_err().to_string()
        };
        assert!(fault(&file("missing.pkt", WHY)).contains("missing.pkt"));
        assert!(fault(&file("alone.pkt", WHY)).contains("engine alone"));
        assert!(fault(&file("a.pkt", "")).contains("why"));
        assert!(fault(&file("a.pkt", "why = \" \"\n")).contains("filled in"));
        assert!(fault(&file("a.pkt", "why = \"x\"\nwhat = 1\n")).contains("what"));
        let far = file("a.pkt", WHY).replace("line = 2", "line = 9");
        assert!(fault(&far).contains("no line 9"));
        let twice = file("a.pkt", WHY) + &file("a.pkt", WHY).replace("linux = \"6.18\"\n", "");
        assert!(fault(&twice).contains("each script once"));
    }

    #[test]
    fn a_file_without_differences_is_a_file() {
        let all = Differences::read("linux = \"0.1\"\n", Path::new("/nowhere")).unwrap();
        assert_eq!(all.difference, []);
        assert!(!all.is_of_this_kernel());
    }
}
