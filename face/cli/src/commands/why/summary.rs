//! `gigatcp why --summary`: every connection of a capture in one table.

use std::path::Path;

use gigatcp_analyze::{Options, Source, SummaryRow, summarize};
use gigatcp_report::escape::terminal;
use gigatcp_report::why::row::{self, HEADING};

use crate::commands::in_order::in_order;
use crate::failure::Failure;
use crate::output::{self, Stream, counted};

/// Reads `file` with `threads` threads and prints the table.
pub(super) fn run(file: &Path, threads: Option<u32>) -> Result<(), Failure> {
    let source = Source::named(file);
    let options = Options {
        threads,
        ..Options::default()
    };
    let summary = summarize(&source, &options)?;
    let info = &summary.info;
    for note in &info.notes {
        output::say(&format!("{}: {note}", terminal(&source.name())));
    }
    let rows = &summary.connections;
    let mut out = Stream::new();
    out.write(HEADING)?;
    in_order(rows, summary.threads, lines, |text| out.write(text))?;
    let silent = rows.iter().filter(|row| row.diagnosis.is_none()).count();
    let mut last = format!(
        "{} in {} ({})",
        counted(rows.len() as u64, "connection"),
        counted(info.packets, "packet"),
        info.format
    );
    if silent > 0 {
        last.push_str(&format!("; {silent} without data"));
    }
    out.write(&format!("{last}\n"))?;
    out.finish()
}

/// These rows as text; the first has the index `first`.
fn lines(first: usize, rows: &[SummaryRow]) -> String {
    let mut text = String::with_capacity(rows.len() * row::USUAL);
    for (row, index) in rows.iter().zip(first..) {
        row::put(row, index, &mut text);
    }
    text
}
