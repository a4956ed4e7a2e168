//! `gigatcp flows --flags wireshark`: tshark's analysis flags of each packet, and the correct ones
//! where tshark is wrong.
//!
//! A line for each packet that tshark flags or should flag is written as the capture is read. A
//! table at the end counts how often each flag is right. The flags are computed by
//! `gigatcp_flows::Wireshark`; tshark is not required.

use std::collections::BTreeMap;

use gigatcp_flows::{Connection, Correction, Kinds, Wireshark, WiresharkFlag, WiresharkFlags};
use gigatcp_report::escape::terminal;
use gigatcp_report::grid::Align::{Left, Right};
use gigatcp_report::grid::{grid, line};
use gigatcp_units::Instant;
use serde_json::{Value, json};

use super::{Arguments, Source, Step, read};
use crate::failure::Failure;
use crate::output::{self, counted};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.flags/1";

/// Shows the flags of every file.
pub(super) fn show(arguments: &Arguments) -> Result<(), Failure> {
    let mut out = output::Stream::new();
    if arguments.json {
        out.write(&format!("{{\"schema\":\"{SCHEMA}\",\"captures\":["))?;
    }
    for (index, file) in arguments.files.iter().enumerate() {
        let name = file.display().to_string();
        if arguments.json {
            let comma = if index > 0 { "," } else { "" };
            out.write(&format!(
                "{comma}\n{{\"file\":{},\"packets\":[",
                json!(name)
            ))?;
        } else if arguments.files.len() > 1 {
            out.write(&format!("{}:\n", terminal(&name)))?;
        }
        let mut flags = Flags::default();
        let source = Source::named(file);
        let capture = read(&source, |step| {
            let Some(found) = flags.add_packet(&step) else {
                return Ok(());
            };
            if arguments.json {
                let comma = if flags.listed > 1 { "," } else { "" };
                out.write(&format!("{comma}\n{}", found.json()))
            } else {
                let head = if flags.listed == 1 { HEAD } else { "" };
                out.write(&format!("{head}{}\n", found.line()))
            }
        })?;
        capture.say_notes();
        if arguments.json {
            out.write(&format!("\n],\"totals\":{}}}", flags.totals_json()))?;
        } else {
            out.write(&flags.totals_text(capture.counts.segments))?;
        }
    }
    if arguments.json {
        out.write("\n]}\n")?;
    }
    out.finish()
}

const HEAD: &str = "   frame          time     #  from              seq    len  \
                    tshark                                  instead\n";

/// Number of packets with a flag, and how many of them are wrong.
#[derive(Clone, Copy, Default)]
struct Total {
    given: u64,
    wrong: u64,
}

/// The flags as tshark computes them, with counts.
#[derive(Default)]
struct Flags {
    wireshark: Wireshark,
    first_at: Option<Instant>,
    listed: u64,
    totals: BTreeMap<WiresharkFlag, Total>,
    missing: BTreeMap<&'static str, u64>,
}

/// A packet that gets a line.
struct FlagFinding<'a> {
    step: &'a Step<'a>,
    first_at: Instant,
    flags: WiresharkFlags,
    correction: Option<Correction>,
}

impl Flags {
    /// Returns the finding for a packet; `None` if its flags are correct and empty.
    fn add_packet<'a>(&mut self, step: &'a Step<'a>) -> Option<FlagFinding<'a>> {
        let first_at = *self.first_at.get_or_insert(step.packet.at);
        let is_successor = connection(step).is_some_and(Connection::is_successor);
        let verdict = step.verdict;
        let flags = self.wireshark.handle_packet(
            verdict.connection,
            is_successor,
            verdict.from,
            step.packet,
        );
        let correction = Correction::of(flags, verdict.kinds);
        if flags.is_empty() && correction.is_none() {
            return None;
        }
        self.listed += 1;
        for flag in flags.iter() {
            let total = self.totals.entry(flag).or_default();
            total.given += 1;
            let is_wrong = correction.is_some_and(|found| found.wrong.contains(flag));
            total.wrong += u64::from(is_wrong);
        }
        for kind in correction.iter().flat_map(|found| found.instead.iter()) {
            *self.missing.entry(kind.name()).or_default() += 1;
        }
        Some(FlagFinding {
            step,
            first_at,
            flags,
            correction,
        })
    }

    fn totals_text(&self, segments: u64) -> String {
        let mut cells = vec![line(["tshark's flag", "packets", "wrong"])];
        for (flag, Total { given, wrong }) in &self.totals {
            let cell = [flag.name().to_owned(), given.to_string(), wrong.to_string()];
            cells.push(cell.to_vec());
        }
        let mut text = format!(
            "{} of {} {} listed\n",
            self.listed,
            counted(segments, "segment"),
            if self.listed == 1 { "is" } else { "are" }
        );
        if !self.totals.is_empty() {
            text.push('\n');
            text.push_str(&grid(&[Left, Right, Right], &cells));
        }
        if !self.missing.is_empty() {
            let mut cells = vec![line(["what tshark does not tell", "packets"])];
            for (name, count) in &self.missing {
                cells.push(vec![(*name).into(), count.to_string()]);
            }
            text.push('\n');
            text.push_str(&grid(&[Left, Right], &cells));
        }
        text
    }

    fn totals_json(&self) -> Value {
        let flags: serde_json::Map<String, Value> = self
            .totals
            .iter()
            .map(|(flag, total)| {
                let value = json!({ "packets": total.given, "wrong": total.wrong });
                (flag.name().into(), value)
            })
            .collect();
        json!({ "flags": flags, "missing": self.missing })
    }
}

fn connection<'a>(step: &Step<'a>) -> Option<&'a Connection> {
    step.table.connection(step.verdict.connection)
}

impl FlagFinding<'_> {
    /// Bytes from the beginning of the sender's stream, whose SYN is zero.
    fn seq(&self) -> i64 {
        let from = self.step.verdict.from;
        connection(self.step).map_or(0, |connection| {
            let position = connection.position(from, self.step.packet.seq);
            let first = connection.direction(from).first_position();
            position.wrapping_sub(first).cast_signed()
        })
    }

    fn line(&self) -> String {
        let (frame, packet, verdict) = (self.step.frame, self.step.packet, self.step.verdict);
        let time = packet.at.saturating_since(self.first_at).as_nanos();
        let flags = match self.flags.is_empty() {
            true => "-".to_owned(),
            false => names(self.flags).join(" "),
        };
        let text = format!(
            "{frame:>8}  {:>5}.{:06}  {:>4}  {:<6}  {:>13}  {:>5}  {:<38}  {}",
            time / 1_000_000_000,
            time / 1_000 % 1_000_000,
            verdict.connection + 1,
            verdict.from.name(),
            self.seq(),
            packet.payload_len,
            flags,
            self.correction
                .map_or_else(String::new, |found| what(found.instead)),
        );
        text.trim_end().to_owned()
    }

    fn json(&self) -> Value {
        let (frame, packet, verdict) = (self.step.frame, self.step.packet, self.step.verdict);
        let wrong = self
            .correction
            .map_or_else(Vec::new, |found| names(found.wrong));
        let instead: Vec<&str> = self
            .correction
            .iter()
            .flat_map(|found| found.instead.iter())
            .map(gigatcp_flows::Kind::name)
            .collect();
        json!({
            "frame": frame,
            "at_ns": packet.at.as_nanos(),
            "connection": verdict.connection + 1,
            "from": verdict.from.name(),
            "seq": self.seq(),
            "len": packet.payload_len,
            "tshark": names(self.flags),
            "wrong": wrong,
            "instead": instead,
        })
    }
}

fn names(flags: WiresharkFlags) -> Vec<&'static str> {
    flags.iter().map(WiresharkFlag::name).collect()
}

/// Describes packet kinds in words.
fn what(kinds: Kinds) -> String {
    if kinds.is_empty() {
        return "nothing in particular".into();
    }
    let names: Vec<String> = kinds
        .iter()
        .map(|kind| kind.name().replace('_', " "))
        .collect();
    names.join(", ")
}
