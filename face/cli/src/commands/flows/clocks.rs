//! `gigatcp flows --clocks A B`: offset and drift between the clocks of two captures, by each
//! connection that is in both.

use std::collections::HashMap;
use std::path::PathBuf;

use gigatcp_analyze::ConnectionKey as Key;
use gigatcp_flows::{Clocks, Connection, FlowTable, PacketTimes, Side};
use gigatcp_report::grid::Align::{Left, Right};
use gigatcp_report::grid::{grid, line};
use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;
use serde_json::{Value, json};

use super::{Arguments, Source, Step, read, source};
use crate::failure::Failure;
use crate::output;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.clocks/1";

/// Maximum number of connections compared, the largest of the first capture.
const MAX_COMPARED: usize = 64;

/// Packet times of the compared connections in one capture.
#[derive(Default)]
struct Seen {
    /// Key of each connection, and whether its sides are swapped. `None` if not compared.
    keys: Vec<Option<(Key, bool)>>,
    times: HashMap<Key, PacketTimes>,
}

impl Seen {
    fn add(&mut self, step: &Step<'_>, is_compared: impl Fn(usize, &Key) -> bool) {
        let index = step.verdict.connection;
        while self.keys.len() <= index {
            let next = self.keys.len();
            let key = Key::of(step.table, next).filter(|(key, _)| is_compared(next, key));
            self.keys.push(key);
        }
        if let Some((key, is_swapped)) = self.keys[index] {
            let from = step.verdict.from;
            let from = if is_swapped { from.other() } else { from };
            self.times.entry(key).or_default().add(from, step.packet);
        }
    }
}

/// A connection that both captures contain.
struct Compared<'a> {
    connection: &'a Connection,
    number: usize,
    /// Whether the first capture is nearer to the client.
    clocks: Option<Clocks>,
}

/// Compares the two captures that are named.
pub(super) fn show(arguments: &Arguments) -> Result<(), Failure> {
    let [first, second] = &arguments.files[..] else {
        return Err(Failure::new(format!(
            "clocks are compared of two captures, and {} named",
            match arguments.files.len() {
                1 => "one is".to_owned(),
                count => format!("{count} are"),
            }
        ))
        .hint("as in `gigatcp flows --clocks here.pcap there.pcap`"));
    };
    let source = source(first, true)?;
    let whole = read(&source, |_| Ok(()))?;
    whole.say_notes();
    let chosen = largest(&whole.counts.table);
    let mut here = Seen::default();
    read(&source, |step| {
        here.add(&step, |index, _| chosen.contains(&index));
        Ok(())
    })?;
    let mut there = Seen::default();
    let known = &here.times;
    let other = read(&Source::named(second), |step| {
        there.add(&step, |_, key| known.contains_key(key));
        Ok(())
    })?;
    other.say_notes();
    let compared: Vec<Compared<'_>> = chosen
        .iter()
        .filter_map(|index| {
            let (key, is_swapped) = here.keys.get(*index).copied().flatten()?;
            let clocks = here
                .times
                .get(&key)
                .zip(there.times.get(&key))
                .and_then(|(here, there)| here.compare(there))
                .map(|clocks| Clocks {
                    is_nearer_to_client: clocks.is_nearer_to_client != is_swapped,
                    ..clocks
                });
            there.times.contains_key(&key).then_some(Compared {
                connection: whole.counts.table.connection(*index)?,
                number: index + 1,
                clocks,
            })
        })
        .collect();
    if arguments.json {
        let list: Vec<Value> = compared.iter().map(Compared::json).collect();
        let names = [&whole.name, &other.name];
        return output::print_json(
            &json!({ "schema": SCHEMA, "files": names, "connections": list }),
        );
    }
    output::print(&text(&compared, first, second))
}

fn largest(table: &FlowTable) -> Vec<usize> {
    let packets = |connection: &Connection| {
        let counts = Side::BOTH.map(|side| connection.direction(side).packets());
        std::cmp::Reverse(counts[0] + counts[1])
    };
    let mut order: Vec<(usize, &Connection)> = table.connections().enumerate().collect();
    order.sort_by_key(|(_, connection)| packets(connection));
    order.truncate(MAX_COMPARED);
    order.into_iter().map(|(index, _)| index).collect()
}

fn text(compared: &[Compared<'_>], first: &PathBuf, second: &PathBuf) -> String {
    let names = [first, second].map(|file| {
        let name = file.display().to_string();
        gigatcp_report::escape::terminal(&name)
    });
    if compared.is_empty() {
        return format!("no connection is in {} and in {}\n", names[0], names[1]);
    }
    let columns = [Right, Left, Left, Right, Right, Right, Right, Right, Left];
    let head = [
        "#",
        "client",
        "server",
        "in both",
        "offset",
        "give or take",
        "drift",
        "give or take",
        "nearer to the client",
    ];
    let mut cells = vec![line(head)];
    cells.extend(compared.iter().map(|clocks| clocks.cells(&names)));
    let mut text = format!("the clock of {} against that of {}\n", names[1], names[0]);
    text.push_str(&grid(&columns, &cells));
    text
}

impl Compared<'_> {
    fn cells(&self, names: &[String; 2]) -> Vec<String> {
        let mut cells = vec![
            self.number.to_string(),
            self.connection.endpoint(Side::Client).to_string(),
            self.connection.endpoint(Side::Server).to_string(),
        ];
        let Some(clocks) = self.clocks else {
            cells.extend(["-"; 5].map(String::from));
            cells.push("too few packets in both, or a clock was set".into());
            return cells;
        };
        let sign = if clocks.offset_ns < 0 { "-" } else { "+" };
        // Adding zero removes the sign of a value that rounds to zero.
        let ppm = (clocks.drift * 1e9).round() / 1e3 + 0.0;
        let nearer = usize::from(!clocks.is_nearer_to_client);
        cells.extend([
            clocks.matched.to_string(),
            format!("{sign}{}", seconds(clocks.offset_ns.unsigned_abs())),
            human_duration(Duration::from_nanos(clocks.uncertainty_ns)),
            format!("{ppm:+.3} ppm"),
            format!("{:.3} ppm", clocks.drift_uncertainty * 1e6),
            names[nearer].clone(),
        ]);
        cells
    }

    fn json(&self) -> Value {
        json!({
            "connection": self.number,
            "client": self.connection.endpoint(Side::Client).to_string(),
            "server": self.connection.endpoint(Side::Server).to_string(),
            "clocks": self.clocks.map(|clocks| json!({
                "packets_in_both": clocks.matched,
                "offset_ns": clocks.offset_ns,
                "uncertainty_ns": clocks.uncertainty_ns,
                "drift_ppm": (clocks.drift * 1e12).round() / 1e6 + 0.0,
                "drift_uncertainty_ppm": (clocks.drift_uncertainty * 1e12).round() / 1e6,
                "first_is_nearer_to_client": clocks.is_nearer_to_client,
            })),
        })
    }
}

/// Formats a time with microsecond resolution.
fn seconds(ns: u64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
}
