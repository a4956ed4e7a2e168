//! Output: data on stdout, diagnostics on stderr.
//!
//! Either may be closed early. On stdout that ends the command; on stderr it is ignored, because it
//! cannot be reported. `-q` and GIGATCP_LOG decide how much stderr shows; `--color`, NO_COLOR and
//! whether it is a terminal decide its color.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicU8, Ordering};

use anstream::ColorChoice;
pub(crate) use gigatcp_report::prose::counted;

use serde::Serialize;

use crate::config;
use crate::failure::Failure;
use crate::fit::fit;
use crate::json;

/// Environment variable that sets the [`Level`].
const LOG: &str = "GIGATCP_LOG";

/// Verbosity of stderr: messages of this level and more severe ones are shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
enum Level {
    Error,
    Warning,
    Note,
}

/// The [`Level`] of this process.
static LEVEL: AtomicU8 = AtomicU8::new(Level::Note as u8);

/// Options of every command.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Show errors and warnings only; GIGATCP_LOG=error, warn or note does so for all commands
    #[arg(long, short, global = true, display_order = 1000)]
    quiet: bool,

    /// When to use color on stderr and in help; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", global = true, display_order = 1000)]
    color: Option<clap::ColorChoice>,
}

impl Settings {
    /// Applies the settings to this process.
    pub(crate) fn apply(self) -> Result<(), Failure> {
        set_color(self.color.map_or_else(configured_color, Ok)?);
        let variable = std::env::var(LOG).ok().filter(|level| !level.is_empty());
        let configured = config::get().log.as_deref();
        let source = if variable.is_some() {
            LOG
        } else {
            "`log` of the config file"
        };
        let level = match variable.as_deref().or(configured).unwrap_or_default() {
            "" | "note" => Level::Note,
            "warn" => Level::Warning,
            "error" => Level::Error,
            other => {
                return Err(Failure::new(format!("{source} is `{other}`"))
                    .effect("nothing was done")
                    .hint("valid are error, warn or note"));
            }
        };
        let most = if self.quiet {
            Level::Warning
        } else {
            Level::Note
        };
        LEVEL.store(level.min(most) as u8, Ordering::Relaxed);
        Ok(())
    }
}

/// Sets when stderr has colors.
pub(crate) fn set_color(color: clap::ColorChoice) {
    match color {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    }
    .write_global();
}

/// Color that the config file sets; NO_COLOR wins over it.
fn configured_color() -> Result<clap::ColorChoice, Failure> {
    let is_off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let Some(word) = config::get().color.as_deref().filter(|_| !is_off) else {
        return Ok(clap::ColorChoice::Auto);
    };
    clap::ValueEnum::from_str(word, false).map_err(|_: String| {
        Failure::new(format!("`color` of the config file is `{word}`"))
            .effect("nothing was done")
            .hint("valid are auto, always and never")
    })
}

/// `--color` among `words`: help and errors of clap need it before words are parsed.
pub(crate) fn typed_color(words: impl Iterator<Item = String>) -> clap::ColorChoice {
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let mut typed = configured_color().unwrap_or(clap::ColorChoice::Auto);
    for (index, word) in words.iter().enumerate() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.get(index + 1).map(String::as_str),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        typed = value
            .and_then(|value| clap::ValueEnum::from_str(value, false).ok())
            .unwrap_or(typed);
    }
    typed
}

fn shows(level: Level) -> bool {
    level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// Whether notes and progress are suppressed.
pub(crate) fn is_quiet() -> bool {
    !shows(Level::Note)
}

/// Whether stderr is a terminal on which progress may be drawn.
pub(crate) fn draws_progress() -> bool {
    !is_quiet() && io::stderr().is_terminal()
}

/// Draws the progress line on stderr: `lead`, and of `parts`, the most important first, those that the
/// terminal's width holds. A wrapped line could not be erased.
pub(crate) fn draw_progress(lead: &str, parts: &[String]) {
    let columns =
        terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
    eprint!("\r\x1b[K{}", within(lead, parts, columns.saturating_sub(1)));
}

fn within(lead: &str, parts: &[String], columns: usize) -> String {
    (0..=parts.len())
        .rev()
        .map(|count| format!("{lead}  {}", parts[..count].join(", ")))
        .find(|line| line.chars().count() <= columns)
        .unwrap_or_default()
}

/// Removes the progress line.
pub(crate) fn clear_progress() {
    eprint!("\r\x1b[K");
}

/// Writes a note of one or more lines to stderr.
pub(crate) fn say(text: &str) {
    write_at(Level::Note, text);
}

/// Writes a question to stderr, whatever is suppressed: an answer is awaited.
pub(crate) fn ask(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Writes a warning to stderr.
pub(crate) fn warn(text: &str) {
    write_at(Level::Warning, text);
}

/// Writes an error to stderr.
pub(crate) fn error(text: &str) {
    write_at(Level::Error, text);
}

fn write_at(level: Level, text: &str) {
    if shows(level) {
        let _ = writeln!(anstream::stderr().lock(), "{text}");
    }
}

/// Writes `text` to stdout; adds a newline if it has none at the end.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut out = io::stdout().lock();
    let written = write!(out, "{text}{end}").and_then(|()| out.flush());
    written.map_err(|error| refused(&error))
}

/// Writes lines to stdout that a terminal gets in its width.
pub(crate) fn print_lines(text: &str) -> Result<(), Failure> {
    match columns() {
        Some(columns) => print(&fit(text, columns)),
        None => print(text),
    }
}

/// The width of the terminal that stdout is; `None` for a file or a pipe.
pub(crate) fn columns() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0)).filter(|width| *width > 0)
}

/// Writes `value` to stdout as JSON, one key a line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    json::write(value, io::stdout().lock()).map_err(|error| refused(&error))
}

/// Copies `from` to stdout and adds a newline.
pub(crate) fn print_all(mut from: impl io::Read) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let copied = io::copy(&mut from, &mut out)
        .and_then(|_| writeln!(out))
        .and_then(|()| out.flush());
    copied.map_err(|error| refused(&error))
}

/// Buffered stdout for output in parts.
pub(crate) struct Stream(io::BufWriter<io::StdoutLock<'static>>);

impl Stream {
    /// Locks stdout until this is dropped.
    pub(crate) fn new() -> Self {
        Self(io::BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }

    /// Writes `text` as it is.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.0.write_all(text.as_bytes());
        written.map_err(|error| refused(&error))
    }

    /// Writes lines that a terminal gets in its width.
    pub(crate) fn write_lines(&mut self, text: &str) -> Result<(), Failure> {
        match columns() {
            Some(columns) => self.write(&fit(text, columns)),
            None => self.write(text),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_line_leaves_out_the_parts_that_do_not_fit() {
        let parts = ["24 Mbit/s sent", "RTT 40 ms", "cwnd 256 kB"].map(str::to_owned);
        assert_eq!(
            within("1 s", &parts, 79),
            "1 s  24 Mbit/s sent, RTT 40 ms, cwnd 256 kB"
        );
        assert_eq!(within("1 s", &parts, 30), "1 s  24 Mbit/s sent, RTT 40 ms");
        assert_eq!(within("1 s", &parts, 3), "");
    }
}
