//! Runs the commands of a report that can be undone.

use std::process::Command;

use gigatcp_doctor::Report;
use serde::Serialize;

/// A command of a report and its result.
#[derive(Serialize)]
pub(super) struct Applied<'a> {
    command: &'a str,
    undo: Option<&'a str>,
    /// Reason why it was not applied.
    error: Option<String>,
}

/// Runs the commands for findings that always limit, in order. A command without an undo command is
/// not run.
pub(super) fn apply(report: &Report) -> Vec<Applied<'_>> {
    let mut all: Vec<Applied<'_>> = Vec::new();
    for found in &report.findings {
        let finding = &found.finding;
        let (command, undo) = (finding.change.fix.as_str(), finding.change.undo.as_deref());
        let is_known = all.iter().any(|one| one.command == command);
        if finding.only_if.is_some() || is_known {
            continue;
        }
        let error = if !finding.change.is_command {
            Some("it is advice, no command".to_owned())
        } else if undo.is_none() {
            Some("no command undoes it".to_owned())
        } else {
            run(command).err()
        };
        all.push(Applied {
            command,
            undo,
            error,
        });
    }
    all
}

fn run(command: &str) -> Result<(), String> {
    let done = Command::new("sh").args(["-c", command]).output();
    let done = done.map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(match said.trim() {
        "" => done.status.to_string(),
        said => said.lines().next().unwrap_or(said).to_owned(),
    })
}

/// Returns the commands applied, those not applied, and the undo commands, last first.
pub(super) fn text(all: &[Applied<'_>]) -> String {
    let mut text = String::from("Applied\n");
    for one in all.iter().filter(|one| one.error.is_none()) {
        text.push_str(&format!("  {}\n", one.command));
    }
    if all.iter().all(|one| one.error.is_some()) {
        text.push_str("  nothing\n");
    }
    for one in all {
        if let Some(error) = &one.error {
            text.push_str(&format!("  not applied: {}: {error}\n", one.command));
        }
    }
    let done = all.iter().rev().filter(|one| one.error.is_none());
    let undos: Vec<&str> = done.filter_map(|one| one.undo).collect();
    if !undos.is_empty() {
        text.push_str(&format!("To undo it, as root\n  {}\n", undos.join("\n  ")));
    }
    text
}
