//! Output: data on stdout, diagnostics on stderr.
//!
//! Either may be closed early. On stdout that ends the command; on stderr it is ignored, because it
//! cannot be reported.

use std::io::{self, ErrorKind, Write};

use serde::Serialize;

use crate::failure::Failure;
use crate::json;

/// A count with its noun: `1 packet`, `2 packets`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// Writes a line or several to stderr. Colour stays only on a terminal that
/// wants it.
pub(crate) fn say(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Writes `text` to stdout, with the newline it ends in or one more.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut out = io::stdout().lock();
    let written = write!(out, "{text}{end}").and_then(|()| out.flush());
    written.map_err(|error| refused(&error))
}

/// Writes `value` to stdout as JSON, one key a line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    json::write(value, io::stdout().lock()).map_err(|error| refused(&error))
}

/// Copies `from` to stdout as it is and ends the line.
pub(crate) fn print_all(mut from: impl io::Read) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let copied = io::copy(&mut from, &mut out)
        .and_then(|_| writeln!(out))
        .and_then(|()| out.flush());
    copied.map_err(|error| refused(&error))
}

/// Stdout for what is found piece by piece.
pub(crate) struct Stream(io::BufWriter<io::StdoutLock<'static>>);

impl Stream {
    /// Takes stdout until it is dropped.
    pub(crate) fn new() -> Self {
        Self(io::BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }

    /// Writes `text` as it is.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.0.write_all(text.as_bytes());
        written.map_err(|error| refused(&error))
    }

    /// Writes what is held back.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| refused(&error))
    }
}

fn refused(error: &io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe {
        return Failure::Unread;
    }
    let failure = Failure::io("write to stdout", error).effect("what stands there is not complete");
    match error.kind() {
        ErrorKind::StorageFull => failure.hint(
            "make room, or print to another disk; results of `gigatcp run` are in their directory \
             anyway",
        ),
        _ => failure,
    }
}
