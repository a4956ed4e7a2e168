//! Reads plan files: TOML text becomes a checked, typed plan, or diagnostics. A diagnostic has
//! place, reason and fix.
//!
//! ```
//! let text = r#"
//!     name = "long-path"
//!     path = { rate = "10 Gbit/s", rtt = "80 ms" }
//!     flow = { window = "60 MB", duration = "10 s" }
//! "#;
//! let plan = gigatcp_plan::parse("plan.toml", text.as_bytes(), &[]).unwrap();
//! let run = &plan.series[0].scenario;
//! assert_eq!(run.base_rtt().as_millis(), 80);
//!
//! let wrong = text.replace("80 ms", "80");
//! let findings = gigatcp_plan::parse("plan.toml", wrong.as_bytes(), &[]).unwrap_err();
//! assert_eq!(findings.line_column_of(&findings.list[0].place).0, 3);
//! ```
//!
//! # How
//!
//! The text becomes a tree of values with their places in the text. The `set` of a series and then
//! the overrides (`--set flow.congestion_control=reno`) change the tree. Each changed tree is read
//! against [`keys`], which lists every key with its kind, bounds and default. All mistakes are
//! collected. Only a text that is not TOML is not read further.
//!
//! This crate opens no file and draws no random numbers. The caller reads the file and draws the
//! carets from [`Diagnostics`].
//!
//! A sweep reads one plan many times with further changes. [`axis`] defines what varies;
//! [`Template`] is the plan that is changed; [`design`] has the cells and the statistics of their
//! results. A series with `over` is a series for each level.
//!
//! [`record`] has the results of a run: what a report is made from.
//!
//! Out of scope: includes and variables. A plan is one complete file, even if plans then repeat
//! what they share.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod assign;
pub mod axis;
mod check;
pub mod design;
mod diagnostic;
mod document;
pub mod keys;
mod link_text;
mod model;
mod nearest;
mod quantity;
mod reader;
pub mod record;
mod syntax;
pub mod template;
mod unset;

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use assign::Assignment;
use diagnostic::Findings;
use document::Table;

pub use diagnostic::{Diagnostic, Diagnostics, Place, Severity, Source, line_column};
pub use gigatcp_app::{Stop, Supply};
pub use model::{
    Control, Ends, Ethernet, Flow, FlowKind, Host, Node, Plan, Record, Scenario, Series, Stack,
    Sweep, Tester,
};
pub use nearest::nearest;
pub use template::Template;

/// Reader of the files that a plan names, such as the trace of a link.
pub trait Files {
    /// Text of a file by its name in the plan.
    ///
    /// The reason in words, if the file cannot be read.
    fn read(&self, name: &str) -> Result<String, String>;

    /// Directory that names are relative to, in words, for hints.
    fn directory(&self) -> &str {
        "the directory of the plan"
    }

    /// Path of a file that is read by what runs the plan.
    ///
    /// The reason in words, if there is none.
    fn locate(&self, _name: &str) -> Result<String, String> {
        Err("here no files are read".to_owned())
    }
}

/// Implementation of [`Files`] that reads no files: a plan that names one is rejected.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _name: &str) -> Result<String, String> {
        Err("here no files are read".to_owned())
    }
}

/// Reads and checks a plan that names no files.
///
/// # Errors
/// As [`parse_with`].
pub fn parse(source_name: &str, bytes: &[u8], overrides: &[String]) -> Result<Plan, Diagnostics> {
    parse_with(source_name, bytes, overrides, &NoFiles)
}

/// Reads and checks a plan.
///
/// `source_name` names the text in diagnostics. `files` reads the files that it names. `overrides`
/// are `KEY=VALUE` texts with dotted keys, which take precedence over the plan and over the `set`
/// of every series.
///
/// # Errors
/// All findings, with at least one [`Severity::Error`]. Warnings alone do not reject a plan; they
/// come with it.
pub fn parse_with(
    source_name: &str,
    bytes: &[u8],
    overrides: &[String],
    files: &dyn Files,
) -> Result<Plan, Diagnostics> {
    read(source_name, bytes, overrides, files).map(|(plan, _)| plan)
}

/// Reads and checks a plan; returns it with the document of each series.
fn read(
    source_name: &str,
    bytes: &[u8],
    overrides: &[String],
    files: &dyn Files,
) -> Result<(Plan, Vec<Table>), Diagnostics> {
    let texts = Diagnostics {
        source_name: source_name.to_owned(),
        text: String::from_utf8_lossy(bytes).into_owned(),
        overrides: overrides.to_vec(),
        list: Vec::new(),
    };
    let findings = Findings::new(files);
    let document = syntax::document(bytes, &findings);
    let changes: Vec<Assignment> = overrides
        .iter()
        .enumerate()
        .flat_map(|(index, text)| Assignment::from_override(text, index, &findings))
        .collect();
    let plan = document.map(|document| check::plan(document, &changes, &findings, texts.clone()));
    let list = findings.into_sorted();
    let has_errors = list
        .iter()
        .any(|finding| finding.severity == Severity::Error);
    match plan {
        Some((mut plan, documents)) if !has_errors => {
            plan.warnings.list = list;
            Ok((plan, documents))
        }
        _ => Err(Diagnostics { list, ..texts }),
    }
}
