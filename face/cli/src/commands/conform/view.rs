//! Results of scripts, as text and as JSON.

use std::collections::BTreeMap;

use gigatcp_report::escape::terminal;
use gigatcp_report::grid::{Align, grid};
use gigatcp_script::run::{Report, Verdict};
use gigatcp_script::source::{Mistake, line_column};
use serde::Serialize;

use super::collect::ScriptFile;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.conform/1";

/// A script that was run.
#[derive(Debug)]
pub(super) struct Judged {
    folder: String,
    file: String,
    result: Result,
    /// Line and column of the first deviation.
    place: (usize, usize),
    /// Number of attempts.
    attempts: u32,
    /// Full report as text.
    pub story: String,
}

/// Result of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Result {
    Passed,
    /// Aspect that failed.
    Failed(String),
    /// In what respect, and why that is known and right.
    #[cfg(target_os = "linux")]
    Listed(String, String),
    /// Feature that the script requires.
    Unsupported(String),
}

impl Judged {
    pub(super) fn of(found: &ScriptFile, report: &Report) -> Self {
        let file = found.path.display().to_string();
        let (result, at) = match &report.verdict {
            Verdict::Passed => (Result::Passed, 0),
            Verdict::Failed(failure) => (
                Result::Failed(failure.class.to_string()),
                failure.span.start,
            ),
            Verdict::Unsupported { span, what } => {
                (Result::Unsupported(what.to_string()), span.start)
            }
        };
        Self {
            folder: found.folder.clone(),
            result,
            place: line_column(&found.text, at),
            attempts: 1,
            story: report.in_text(&file, &found.text),
            file,
        }
    }

    pub(super) fn unreadable(found: &ScriptFile, mistake: &Mistake) -> Self {
        let file = found.path.display().to_string();
        Self {
            folder: found.folder.clone(),
            result: Result::Failed("cannot be read".to_owned()),
            place: line_column(&found.text, mistake.span.start),
            attempts: 1,
            story: mistake.in_text(&file, &found.text),
            file,
        }
    }

    /// Result of the kernel. `version` is the IP version, if several are tried.
    #[cfg(target_os = "linux")]
    pub(super) fn of_kernel(
        found: &ScriptFile,
        version: Option<&str>,
        judged: &gigatcp_kernel::runner::ScriptResult,
    ) -> Self {
        let mut one = Self::of(found, &judged.report);
        one.attempts = judged.attempts;
        if let Some(version) = version {
            one.file = format!("{} over {version}", one.file);
            one.story = judged.report.in_text(&one.file, &found.text);
        }
        one
    }

    /// Marks a failure as a listed difference, with its reason.
    #[cfg(target_os = "linux")]
    pub(super) fn listed(mut self, why: &str) -> Self {
        if let Result::Failed(respect) = self.result {
            self.result = Result::Listed(respect, why.to_owned());
        }
        self
    }

    /// Marks a listed difference that no longer occurs as a failure.
    #[cfg(target_os = "linux")]
    pub(super) fn stale(mut self) -> Self {
        self.result = Result::Failed("listed as a difference, and none".to_owned());
        self.story = format!(
            "{}: listed in differences.toml, but passes: delete the entry",
            self.file
        );
        self
    }

    pub(super) fn is_failure(&self) -> bool {
        matches!(self.result, Result::Failed(_))
    }
}

/// Results of all scripts.
#[derive(Serialize, Debug)]
pub(super) struct Summary {
    schema: &'static str,
    folders: Vec<Folder>,
    failed: Vec<Line>,
    /// Listed differences, with their reasons.
    listed: Vec<Line>,
    unsupported: Vec<Line>,
    /// Scripts that passed after a retry; the reason is the number of the attempt.
    retried: Vec<Line>,
}

/// A directory of scripts.
#[derive(Serialize, Clone, Default, Debug)]
struct Folder {
    folder: String,
    passed: usize,
    failed: usize,
    listed: usize,
    unsupported: usize,
}

/// A script that did not pass.
#[derive(Serialize, Debug)]
struct Line {
    file: String,
    line: usize,
    column: usize,
    reason: String,
    story: String,
}

impl Summary {
    pub(super) fn of(all: &[Judged]) -> Self {
        let mut folders: BTreeMap<&str, Folder> = BTreeMap::new();
        let mut summary = Self {
            schema: SCHEMA,
            folders: Vec::new(),
            failed: Vec::new(),
            listed: Vec::new(),
            unsupported: Vec::new(),
            retried: Vec::new(),
        };
        for judged in all {
            let folder = folders.entry(&judged.folder).or_default();
            let line = |reason: &str| Line {
                file: judged.file.clone(),
                line: judged.place.0,
                column: judged.place.1,
                reason: reason.to_owned(),
                story: judged.story.clone(),
            };
            match &judged.result {
                Result::Passed => {
                    folder.passed += 1;
                    if judged.attempts > 1 {
                        let reason = format!("attempt {}", judged.attempts);
                        summary.retried.push(line(&reason));
                    }
                }
                #[cfg(target_os = "linux")]
                Result::Listed(respect, why) => {
                    folder.listed += 1;
                    summary.listed.push(line(&format!("{respect}: {why}")));
                }
                Result::Failed(reason) => {
                    folder.failed += 1;
                    summary.failed.push(line(reason));
                }
                Result::Unsupported(reason) => {
                    folder.unsupported += 1;
                    summary.unsupported.push(line(reason));
                }
            }
        }
        summary.folders = folders
            .into_iter()
            .map(|(name, folder)| Folder {
                folder: name.to_owned(),
                ..folder
            })
            .collect();
        summary
    }

    pub(super) fn has_failures(&self) -> bool {
        !self.failed.is_empty()
    }

    pub(super) fn text(&self) -> String {
        let with_listed = !self.listed.is_empty();
        let heading = ["directory", "passed", "failed", "listed", "unsupported"];
        let heading = heading
            .into_iter()
            .filter(|word| with_listed || *word != "listed");
        let mut cells: Vec<Vec<String>> = vec![heading.map(str::to_owned).collect()];
        let mut total = Folder::default();
        for folder in &self.folders {
            total.passed += folder.passed;
            total.failed += folder.failed;
            total.listed += folder.listed;
            total.unsupported += folder.unsupported;
            cells.push(folder.cells(&terminal(&folder.folder), with_listed));
        }
        if self.folders.len() > 1 {
            cells.push(total.cells("all", with_listed));
        }
        let mut columns = vec![Align::Right; cells[0].len()];
        columns[0] = Align::Left;
        let mut text = grid(&columns, &cells);
        let groups = [
            ("failed", &self.failed),
            ("unsupported", &self.unsupported),
            ("passed late", &self.retried),
        ];
        for (what, lines) in groups {
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            for line in lines {
                *reasons.entry(&line.reason).or_default() += 1;
            }
            let mut reasons: Vec<_> = reasons.into_iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            for (reason, count) in reasons {
                text.push_str(&format!("\n{count:>4} {what}: {}", terminal(reason)));
            }
        }
        for line in &self.listed {
            let respect = line.reason.split(':').next().unwrap_or_default();
            let file = terminal(&line.file);
            text.push_str(&format!("\n  listed: {file}:{}: {respect}", line.line));
        }
        text.push('\n');
        text
    }
}

impl Folder {
    fn cells(&self, name: &str, with_listed: bool) -> Vec<String> {
        let mut cells = vec![name.to_owned()];
        let listed = with_listed.then_some(self.listed);
        let numbers = [
            Some(self.passed),
            Some(self.failed),
            listed,
            Some(self.unsupported),
        ];
        cells.extend(
            numbers
                .into_iter()
                .flatten()
                .map(|number| number.to_string()),
        );
        cells
    }
}
