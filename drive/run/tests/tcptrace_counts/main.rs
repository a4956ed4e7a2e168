//! Our counts compared with those of the installed tcptrace, direction by direction, on captures of
//! simulations from three capture points and of Debian packages. They must be equal, or explained
//! (`disagreements.rs`, `docs/notes/tcptrace.md`). If tcptrace or the captures are missing, a
//! message says so, and nothing is compared; `cargo xtask ci` gets both if possible.

#[path = "../../../sim/tests/common/mod.rs"]
mod common;

mod captures;
mod columns;
#[path = "../debian_captures/mod.rs"]
mod debian_captures;
mod disagreements;
mod owin;
mod program;
#[path = "../segments/mod.rs"]
mod segments;
mod worlds;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use captures::{Place, Truth, capture};
use columns::COLUMNS;
use disagreements::{Difference, REASONS};
use gigatcp_flows::{Connection, Detail, Details, FlowTable, Side};
use owin::Sampler;
use program::Row;

/// Result of a comparison.
#[derive(Default)]
struct Compared {
    counts: u64,
    reasons: BTreeMap<&'static str, u64>,
    /// Number of differences per column.
    differ: BTreeMap<&'static str, u64>,
    unexplained: Vec<String>,
}

/// Our analysis of a capture, with the samples of tcptrace's rule.
#[derive(Default)]
struct Ours {
    details: Details,
    samplers: Vec<Sampler>,
}

/// Analyzes a capture; `None` if it cannot be read.
fn ours(path: &Path) -> Option<(FlowTable, Ours)> {
    let mut table = FlowTable::new(1);
    let mut ours = Ours::default();
    segments::each(path, |_, observed| {
        let verdict = table.handle_packet(observed);
        ours.details.handle_packet(&table, &verdict, observed);
        let index = verdict.connection;
        let count = ours.samplers.len().max(index + 1);
        ours.samplers.resize(count, Sampler::default());
        ours.samplers[index].on_packet(&verdict, observed);
    })?;
    Some((table, ours))
}

/// A connection, with the additional counts of the detailed view.
#[derive(Clone, Copy)]
struct Both<'a> {
    connection: &'a Connection,
    details: [&'a Detail; 2],
    sampler: &'a Sampler,
}

fn both<'a>(ours: &'a Ours, index: usize, connection: &'a Connection) -> Both<'a> {
    Both {
        connection,
        details: Side::BOTH.map(|side| ours.details.of(index, side).unwrap()),
        sampler: &ours.samplers[index],
    }
}

impl Compared {
    /// Adds the counts of a connection that both have.
    fn add(&mut self, name: &str, both: Both<'_>, row: &Row, truths: Option<[Truth; 2]>) {
        let connection = both.connection;
        let client = connection.endpoint(Side::Client);
        let is_a = row.ends[0] == (client.address, client.port);
        for side in Side::BOTH {
            let from = usize::from((side == Side::Client) != is_a);
            let address = connection.endpoint(side).address.to_string();
            let is_sender = address.starts_with("10.1.") || address.starts_with("fd00:1:");
            let truth = truths.map(|truths| truths[usize::from(!is_sender)]);
            for column in COLUMNS {
                let theirs = row.count(column.name, from);
                let detail = &both.details[side as usize];
                let difference = Difference {
                    column: column.name,
                    ours: (column.ours)(connection, side, detail),
                    theirs: theirs.map(|text| text.parse().expect("a number")),
                    connection,
                    detail,
                    samples: both.sampler.of(side),
                    side,
                    row,
                    from,
                    truth,
                };
                self.judge(name, &difference, column.rounding);
            }
        }
    }

    fn judge(&mut self, name: &str, difference: &Difference<'_>, rounding: f64) {
        self.counts += 1;
        let (ours, theirs) = (difference.ours, difference.theirs);
        let gap = ours.unwrap_or(0.0) - theirs.unwrap_or(0.0);
        if gap.abs() <= rounding {
            return;
        }
        *self.differ.entry(difference.column).or_default() += 1;
        if let Some(reason) = difference.reason() {
            *self.reasons.entry(reason).or_default() += 1;
        } else {
            let side = difference.side.name();
            let column = difference.column;
            let line = format!("{name}, {side}: {column}: ours {ours:?}, theirs {theirs:?}");
            self.unexplained.push(line);
        }
    }

    fn show(&self) {
        println!("{} counts, explained: {:?}", self.counts, self.reasons);
        println!(
            "{} of each column, differing: {:?}",
            self.counts / COLUMNS.len() as u64,
            self.differ
        );
        for line in &self.unexplained {
            println!("{line}");
        }
    }
}

#[test]
fn counts_of_simulated_worlds_are_those_of_the_installed_tcptrace_or_explained() {
    let Some(program) = program::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut compared = Compared::default();
    for case in worlds::all() {
        for place in Place::ALL {
            let path = folder.path().join("door.pcap");
            let config = case.config.clone();
            let truth = capture(config, place, case.lacks, worlds::DELAY, &path);
            let (table, ours) = ours(&path).unwrap();
            let rows = program::rows(&program, &path);
            assert_eq!(table.connections().count(), rows.len(), "{}", case.name);
            for ((index, connection), row) in table.connections().enumerate().zip(&rows) {
                let end = connection.endpoint(Side::Client).address.to_string();
                let number = end.rsplit(['.', ':']).next().unwrap();
                let truth = truth[number.parse::<usize>().unwrap() - 1];
                let name = format!("{} at the {place:?}", case.name);
                compared.add(&name, both(&ours, index, connection), row, Some(truth));
            }
        }
    }
    compared.show();
    assert!(compared.counts > 4000, "{}", compared.counts);
    assert_eq!(compared.unexplained, [""; 0]);
}

/// Captures that do not record the packets at one place; `docs/notes/tcptrace.md` has the reasons.
const UNLIKE_CAPTURES: [&str; 5] = ["kday", "randomized", "bug7", "bug8", "babel_update_oobr"];

#[test]
fn counts_of_captures_that_debian_has_are_those_of_tcptrace_or_explained() {
    let Some(paths) = debian_captures::all() else {
        return;
    };
    let Some(program) = program::find() else {
        return;
    };
    let mut compared = Compared::default();
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy();
        if UNLIKE_CAPTURES.iter().any(|unlike| name.contains(unlike)) {
            continue;
        }
        let Some((table, ours)) = ours(path) else {
            continue;
        };
        let mut rows = program::rows(&program, path);
        for (index, connection) in table.connections().enumerate() {
            let ends = Side::BOTH.map(|side| {
                let end = connection.endpoint(side);
                (end.address, end.port)
            });
            let is_it = |row: &Row| row.ends == ends || row.ends == [ends[1], ends[0]];
            // A capture of a kind that tcptrace does not read has no rows.
            if let Some(place) = rows.iter().position(is_it) {
                compared.add(
                    &name,
                    both(&ours, index, connection),
                    &rows.remove(place),
                    None,
                );
            }
        }
    }
    compared.show();
    assert_eq!(compared.unexplained, [""; 0]);
}

#[test]
fn every_disagreement_with_tcptrace_is_in_the_notes() {
    let notes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notes/tcptrace.md");
    let notes = fs::read_to_string(notes).unwrap();
    for (name, _) in REASONS {
        assert!(notes.contains(&format!("`{name}`")), "{name}");
    }
    for name in UNLIKE_CAPTURES {
        assert!(notes.contains(&format!("`{name}")), "{name}");
    }
}
