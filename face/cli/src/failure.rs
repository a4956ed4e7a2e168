//! Why a command could not do what it was asked: what was read, why that is
//! wrong, what it means for the result, and what to type next.

use std::error::Error;
use std::io;

use clap::builder::styling::{AnsiColor, Style};
use gigatcp_plan::Diagnostics;
use gigatcp_report::diagnostics;
use gigatcp_report::escape::terminal;

use crate::output;

/// Exit status for wrong usage, a wrong plan, and an environment that does not allow a run.
pub(crate) const USAGE: u8 = 2;

/// Exit status of a program that found a fault in itself, as Rust has it.
const FAULT: u8 = 101;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong, in words.
    Said(Box<Words>),
    /// The plan is wrong.
    Plan(Box<Diagnostics>),
    /// The reader of stdout has closed it (`| head`); not a failure.
    Unread,
}

/// What is said about a failure.
#[derive(Debug)]
pub(crate) struct Words {
    message: String,
    effect: Option<String>,
    hints: Vec<String>,
    status: u8,
}

impl Failure {
    /// What is wrong, in one sentence without a full stop: the value that was
    /// read and why it cannot be.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Said(Box::new(Words {
            message: message.into(),
            effect: None,
            hints: Vec::new(),
            status: USAGE,
        }))
    }

    /// A fault of this program.
    pub(crate) fn fault(message: impl Into<String>) -> Self {
        Self::new(message).with(|words| words.status = FAULT)
    }

    /// What could not be read or written and what the system says about it.
    pub(crate) fn io(action: &str, error: &io::Error) -> Self {
        Self::new(format!("cannot {action}: {error}"))
    }

    /// An error, what caused it, and what caused that.
    pub(crate) fn caused(error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let said = error.to_string();
            // Some say their cause themselves.
            if !message.ends_with(&said) {
                message.push_str(&format!(": {said}"));
            }
            cause = error.source();
        }
        Self::new(message)
    }

    /// Says first in what it was found.
    pub(crate) fn within(self, name: &str) -> Self {
        self.with(|words| words.message = format!("{name}: {}", words.message))
    }

    /// What it means for the result.
    pub(crate) fn effect(self, effect: impl Into<String>) -> Self {
        self.with(|words| words.effect = Some(effect.into()))
    }

    /// What to type next; may be said several times.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.with(|words| words.hints.push(hint.into()))
    }

    /// What the command exits with instead.
    pub(crate) fn status(self, status: u8) -> Self {
        self.with(|words| words.status = status)
    }

    fn with(mut self, change: impl FnOnce(&mut Words)) -> Self {
        if let Self::Said(words) = &mut self {
            change(words);
        }
        self
    }

    /// Says it on stderr.
    pub(crate) fn say(&self) {
        if !matches!(self, Self::Unread) {
            output::error(&self.text());
        }
    }

    /// What is said, in colour.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Said(words) => words.text(&format!("{ERROR}error:{ERROR:#}")),
            Self::Plan(findings) => diagnostics::text(findings),
            Self::Unread => String::new(),
        }
    }

    /// Says it on stderr as what the command goes on without.
    pub(crate) fn warn(&self) {
        match self {
            Self::Said(words) => {
                output::warn(&words.text(&format!("{WARNING}warning:{WARNING:#}")))
            }
            Self::Plan(_) | Self::Unread => self.say(),
        }
    }

    /// What the command exits with.
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

/// `text` as it is, lines included, but unable to steer the terminal: it may
/// hold names of files from anywhere.
fn safe(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(terminal).collect();
    lines.join("\n")
}
