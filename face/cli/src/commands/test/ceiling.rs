//! Compares the rate of a test with the loopback ceiling of this host.
//!
//! The ceiling is measured after the first test that is fast enough to be near it. It is cached in
//! the user's cache directory by host, program, block, number of streams and control.

use std::path::PathBuf;

use gigatcp_meter::tester::{self, Outcome, Protocol, StackKind};
use gigatcp_plan::record::CeilingRecord;
use gigatcp_protocol::iperf3::Transport;
use gigatcp_report::number;
use serde_json::{Map, Value, json};

use super::{Arguments, Format, sums};
use crate::atomic_file::AtomicFile;
use crate::output;

/// Schema of the file.
const SCHEMA: &str = "gigatcp-ceiling/1";

/// Maximum number of entries in the file.
const MAX_ENTRIES: usize = 256;

/// Rate below which no ceiling is near: every host reaches more over its loopback.
const MIN_BPS: f64 = 100e6;

/// Share of the ceiling above which a result is near it.
const NEAR: f64 = 0.8;

/// Share of the ceiling above which its measurement was disturbed.
const IMPLAUSIBLE: f64 = 1.25;

/// Rate of a test and this host's ceiling, in bit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ceiling {
    /// Rate of the test, both directions together.
    result: f64,
    /// Rate over the loopback.
    ceiling: f64,
}

impl Ceiling {
    /// Whether the tester itself may limit the rate.
    pub(super) fn is_near(&self) -> bool {
        self.result >= NEAR * self.ceiling
    }

    /// Sentence for a result near the ceiling; otherwise `None`.
    pub(super) fn text(&self) -> Option<String> {
        self.is_near().then(|| {
            format!(
                "the tester itself is near its limit: TCP inside this host carries {} with the \
                 same block and number of streams",
                number::rate(self.ceiling)
            )
        })
    }

    pub(super) fn record(&self) -> CeilingRecord {
        CeilingRecord {
            loopback_bps: self.ceiling as u64,
            result_bps: self.result as u64,
            is_near: self.is_near(),
        }
    }

    pub(super) fn value(&self) -> Value {
        json!({"loopback_bps": self.ceiling, "result_bps": self.result, "is_near": self.is_near()})
    }
}

/// Ceiling for a test, measured if it is not cached. `None` if none applies.
pub(super) fn of(arguments: &Arguments, outcome: &Outcome) -> Option<Ceiling> {
    let parameters = &outcome.parameters;
    let is_engine = |options: &tester::Effective| options.stack == StackKind::Engine;
    let is_other = parameters.transport != Transport::Tcp
        || outcome.protocol == Protocol::Ndt7
        || parameters.zerocopy
        || parameters.skip_rx_copy
        || outcome
            .streams
            .iter()
            .any(|stream| is_engine(&stream.options));
    let is_printed = matches!(arguments.format(), Format::Native | Format::Json);
    let is_shown = is_printed || arguments.report.is_some() || arguments.save.is_some();
    if arguments.no_probe || is_other || !is_shown {
        return None;
    }
    let roles = sums::roles(&outcome.streams).into_iter();
    let result = roles.map(|role| sums::rate_of(outcome, role)).sum();
    if result < MIN_BPS {
        return None;
    }
    let ceiling = known_or_measured(outcome)?;
    // A measurement that the test exceeded, on a busy host, is no ceiling.
    (result <= IMPLAUSIBLE * ceiling).then_some(Ceiling { result, ceiling })
}

fn known_or_measured(outcome: &Outcome) -> Option<f64> {
    let (key, place) = (key(outcome), place());
    let mut entries = place.as_ref().map(read).unwrap_or_default();
    let known = entries.get(&key).and_then(Value::as_f64);
    if let Some(known) = known.filter(|known| *known > 0.0) {
        return Some(known);
    }
    output::say("measuring the loopback ceiling of this host, 0.6 s, once (--no-probe: never)");
    let measured = tester::loopback_ceiling(&outcome.parameters, outcome.block).ok()?;
    if entries.len() >= MAX_ENTRIES {
        entries.clear();
    }
    entries.insert(key, measured.into());
    if let Some(place) = place {
        let text = json!({"schema": SCHEMA, "entries": entries}).to_string();
        let directory = place.parent().map(std::fs::create_dir_all);
        if directory.is_some_and(|made| made.is_ok()) {
            // If this fails, the next test measures again.
            let _ = AtomicFile::write(&place, text.as_bytes());
        }
    }
    Some(measured)
}

/// File of ceilings; `None` without a cache directory.
fn place() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|cache| cache.is_absolute())
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
    Some(cache?.join("gigatcp").join("ceiling.json"))
}

fn read(place: &PathBuf) -> Map<String, Value> {
    let text = std::fs::read(place).unwrap_or_default();
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    let is_ours = value["schema"].as_str() == Some(SCHEMA);
    let entries = value["entries"].as_object().filter(|_| is_ours);
    entries.cloned().unwrap_or_default()
}

/// Cache key: program, kernel, CPUs, and parameters of the test.
fn key(outcome: &Outcome) -> String {
    let text = |place: &str| std::fs::read_to_string(place).unwrap_or_default();
    let info = text("/proc/cpuinfo");
    let of = |label: &str| {
        let line = info.lines().find(|line| line.starts_with(label))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = of("model name").or_else(|| of("CPU part"));
    let first = outcome.streams.first();
    let control = first.and_then(|first| first.options.congestion.clone());
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{} | {} | {count} x {} | {} bytes x {} {:?} | {}",
        env!("CARGO_PKG_VERSION"),
        text("/proc/sys/kernel/osrelease").trim(),
        model.unwrap_or_default(),
        outcome.block,
        outcome.parameters.parallel.max(1),
        outcome.parameters.direction,
        control.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_near_the_ceiling_says_so_with_the_figure() {
        let of = |result| Ceiling {
            result,
            ceiling: 20e9,
        };
        assert_eq!(of(15e9).text(), None);
        let text = of(17e9).text().unwrap();
        assert!(text.contains("20.00 Gbit/s"), "{text}");
    }
}
