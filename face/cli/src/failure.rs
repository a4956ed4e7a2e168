//! Errors of commands: the value and the cause, the effect on the result, and the next step.

use std::error::Error;
use std::io;
use std::path::Path;

use clap::builder::styling::{AnsiColor, Style};
use gigatcp_plan::Diagnostics;
use gigatcp_report::diagnostics;
use gigatcp_report::escape::terminal;

use crate::output;

/// Exit status for invalid usage, plan or environment.
pub(crate) const USAGE: u8 = 2;

/// Exit status after an internal fault, the same as for a panic in Rust.
const FAULT: u8 = 101;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Reason why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error message.
    Said(Box<Words>),
    /// Errors in a plan.
    Plan(Box<Diagnostics>),
    /// The reader of stdout has closed it (`| head`); not a failure.
    Unread,
}

/// An error message with effect, hints and exit status.
#[derive(Debug)]
pub(crate) struct Words {
    message: String,
    effect: Option<String>,
    hints: Vec<String>,
    status: u8,
}

impl Failure {
    /// An error with this message. It is one sentence without a full stop, with the value and the
    /// cause.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Said(Box::new(Words {
            message: message.into(),
            effect: None,
            hints: Vec::new(),
            status: USAGE,
        }))
    }

    /// An internal fault of this program.
    pub(crate) fn fault(message: impl Into<String>) -> Self {
        Self::new(message).with(|words| words.status = FAULT)
    }

    /// An error of reading or writing, with the system's message.
    pub(crate) fn io(action: &str, error: &io::Error) -> Self {
        Self::new(format!("cannot {action}: {error}"))
    }

    /// A file or directory that the system refused, with the action.
    pub(crate) fn at(action: &str, place: &Path, error: &io::Error) -> Self {
        Self::io(&format!("{action} {}", place.display()), error)
    }

    /// A command that ran nothing.
    pub(crate) fn not_run(message: impl Into<String>) -> Self {
        Self::new(message).effect("nothing was run")
    }

    /// A test that measured nothing.
    pub(crate) fn not_measured(message: impl Into<String>) -> Self {
        Self::new(message).effect("nothing was measured")
    }

    /// An error with the chain of its causes.
    pub(crate) fn caused(error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let said = error.to_string();
            // Some messages already contain their cause.
            if !message.ends_with(&said) {
                message.push_str(&format!(": {said}"));
            }
            cause = error.source();
        }
        Self::new(message)
    }

    /// Prefixes the message with the name of the place where the error was found.
    pub(crate) fn within(self, name: &str) -> Self {
        self.with(|words| words.message = format!("{name}: {}", words.message))
    }

    /// Sets the effect on the result.
    pub(crate) fn effect(self, effect: impl Into<String>) -> Self {
        self.with(|words| words.effect = Some(effect.into()))
    }

    /// Adds a hint: the next step. May be called several times.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.with(|words| words.hints.push(hint.into()))
    }

    /// Sets the exit status.
    pub(crate) fn status(self, status: u8) -> Self {
        self.with(|words| words.status = status)
    }

    fn with(mut self, change: impl FnOnce(&mut Words)) -> Self {
        if let Self::Said(words) = &mut self {
            change(words);
        }
        self
    }

    /// Prints the error to stderr.
    pub(crate) fn say(&self) {
        if !matches!(self, Self::Unread) {
            output::error(&self.text());
        }
    }

    /// Colored message.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Said(words) => words.text(&format!("{ERROR}error:{ERROR:#}")),
            Self::Plan(findings) => diagnostics::text(findings),
            Self::Unread => String::new(),
        }
    }

    /// Prints the error to stderr as a warning; the command continues.
    pub(crate) fn warn(&self) {
        match self {
            Self::Said(words) => {
                output::warn(&words.text(&format!("{WARNING}warning:{WARNING:#}")))
            }
            Self::Plan(_) | Self::Unread => self.say(),
        }
    }

    /// Exit status of the command.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Said(words) => words.status,
            Self::Plan(_) => USAGE,
            Self::Unread => 0,
        }
    }
}

impl Words {
    fn text(&self, kind: &str) -> String {
        let mut text = format!("{kind} {}", safe(&self.message));
        if let Some(effect) = &self.effect {
            text.push_str(&format!("\n  effect: {}", safe(effect)));
        }
        for hint in &self.hints {
            text.push_str(&format!("\n  {HINT}hint:{HINT:#} {}", safe(hint)));
        }
        text
    }
}

/// Removes control characters except newlines from `text`, which may contain file names from
/// anywhere.
fn safe(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(terminal).collect();
    lines.join("\n")
}
