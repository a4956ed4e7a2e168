//! What is said about scripts that were run.

use std::collections::BTreeMap;

use gigatcp_report::escape::terminal;
use gigatcp_script::run::{Report, Verdict};
use gigatcp_script::source::{Mistake, line_column};
use serde::Serialize;

use super::collect::Found;
use crate::grid::{Align, grid};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.conform/1";

/// A script that was run.
#[derive(Debug)]
pub(super) struct Judged {
    folder: String,
    file: String,
    result: Result,
    /// Line and column of what came otherwise.
    place: (usize, usize),
    /// Everything about it, for people.
    pub story: String,
}

/// What came of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Result {
    Passed,
    /// In what respect.
    Failed(String),
    /// What it needs.
    Unsupported(String),
}

impl Judged {
    pub(super) fn of(found: &Found, report: &Report) -> Self {
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
            story: report.in_text(&file, &found.text),
            file,
        }
    }

    pub(super) fn unreadable(found: &Found, mistake: &Mistake) -> Self {
        let file = found.path.display().to_string();
        Self {
            folder: found.folder.clone(),
            result: Result::Failed("cannot be read".to_owned()),
            place: line_column(&found.text, mistake.span.start),
            story: mistake.in_text(&file, &found.text),
            file,
        }
    }

    pub(super) fn is_failure(&self) -> bool {
        matches!(self.result, Result::Failed(_))
    }
}

/// All of them.
#[derive(Serialize, Debug)]
pub(super) struct Summary {
    schema: &'static str,
    folders: Vec<Folder>,
    failed: Vec<Line>,
    unsupported: Vec<Line>,
}

/// A folder.
#[derive(Serialize, Clone, Default, Debug)]
struct Folder {
    folder: String,
    passed: usize,
    failed: usize,
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
            unsupported: Vec::new(),
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
                Result::Passed => folder.passed += 1,
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
        let heading = ["folder", "passed", "failed", "unsupported"];
        let mut cells = vec![heading.map(str::to_owned).to_vec()];
        let mut total = Folder::default();
        for folder in &self.folders {
            total.passed += folder.passed;
            total.failed += folder.failed;
            total.unsupported += folder.unsupported;
            cells.push(folder.cells(&terminal(&folder.folder)));
        }
        if self.folders.len() > 1 {
            cells.push(total.cells("all"));
        }
        let columns = [Align::Left, Align::Right, Align::Right, Align::Right];
        let mut text = grid(&columns, &cells);
        for (what, lines) in [("failed", &self.failed), ("unsupported", &self.unsupported)] {
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
        text.push('\n');
        text
    }
}

impl Folder {
    fn cells(&self, name: &str) -> Vec<String> {
        let numbers = [self.passed, self.failed, self.unsupported];
        let mut cells = vec![name.to_owned()];
        cells.extend(numbers.map(|number| number.to_string()));
        cells
    }
}
