//! Counters of a case, over the whole connection or a part of it.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::apps::Done;
use super::forward::counters::PathCounters;
use super::sample::Series;

/// Counters of a queueing discipline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcFacts {
    /// Bytes sent.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Number of times it exceeded its limit.
    pub overlimits: u64,
    /// Largest backlog seen.
    pub max_backlog: u64,
    /// Samples of the backlog: time in us since the first data, bytes, bytes sent.
    pub samples: Vec<[i64; 3]>,
}

/// Counters of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessFacts {
    /// Name: `sender`, `receiver` or the program.
    pub name: String,
    /// CPU time used.
    pub cpu_s: f64,
    /// Run time.
    pub elapsed_s: f64,
    /// Allowed share of one CPU; 1 without a quota.
    pub allowed: f64,
    /// Share of the quota's periods in which the quota was exhausted.
    pub throttled: f64,
}

/// Packet counts of a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaptureFacts {
    /// Packets captured.
    pub packets: u64,
    /// Packets dropped, as `tcpdump` reports.
    pub dropped: u64,
    /// Packets deliberately removed afterward.
    pub removed: u64,
}

/// All counters of a case.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Counters of the forwarder.
    pub path: Option<PathCounters>,
    /// Output of `emulate --json`.
    pub emulate: Option<serde_json::Value>,
    /// Counters of the sender's connection.
    pub sender: Series,
    /// Counters of the receiver's connection.
    pub receiver: Series,
    /// Results of the applications, by host.
    pub done: BTreeMap<String, Done>,
    /// Counters of the processes.
    pub processes: Vec<ProcessFacts>,
    /// Counters of the shaper.
    pub tc: Option<TcFacts>,
    /// Packets that the receiving interface dropped because its ring was full.
    pub ring_drops: u64,
    /// Share of CPU time that a hypervisor took (steal).
    #[serde(default)]
    pub steal: f64,
    /// Counters of the captures, by capture point.
    pub captures: BTreeMap<String, CaptureFacts>,
}

/// Part of a connection, in us since its first data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Start of the span.
    pub from: i64,
    /// End of the span.
    pub to: i64,
}

impl Span {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        ((self.to - self.from) as f64 / 1e6).max(1e-6)
    }

    /// Slots of a timeline in it.
    fn slots(&self) -> Range<i64> {
        self.from / 100_000..self.to / 100_000
    }
}

impl Facts {
    /// Span from the first data to the last progress or outstanding data.
    pub fn whole(&self) -> Span {
        let acked = self.sender.column("tcpi_bytes_acked");
        let unacked = self.sender.column("tcpi_unacked");
        let mut to = 0;
        let mut before = i64::MIN;
        for row in &self.sender.rows {
            if row[acked] != before || row[unacked] > 0 {
                to = row[0];
            }
            before = row[acked];
        }
        Span {
            from: 0,
            to: to.max(1),
        }
    }

    /// Increase of a sender counter.
    pub fn grown(&self, name: &str, span: Span) -> f64 {
        let at = self.sender.column(name);
        let value = |until: i64| -> f64 {
            let rows = self.sender.rows.iter();
            let before = rows.take_while(|row| row[0] <= until).last();
            before.map_or(0.0, |row| row[at] as f64)
        };
        value(span.to) - value(span.from)
    }

    /// A counter of microseconds as a share of the span.
    pub fn share(&self, name: &str, span: Span) -> f64 {
        self.grown(name, span) / 1e6 / span.seconds()
    }

    /// Payload acknowledged per second.
    pub fn goodput_bps(&self, span: Span) -> f64 {
        self.grown("tcpi_bytes_acked", span) * 8.0 / span.seconds()
    }

    /// Share of samples in the span whose column meets a condition.
    pub fn samples(
        &self,
        is_sender: bool,
        name: &str,
        span: Span,
        holds: impl Fn(i64) -> bool,
    ) -> f64 {
        let series = if is_sender {
            &self.sender
        } else {
            &self.receiver
        };
        let at = series.column(name);
        let inside = |row: &&Vec<i64>| row[0] >= span.from && row[0] <= span.to;
        let all: Vec<_> = series.rows.iter().filter(inside).collect();
        let held = all.iter().filter(|row| holds(row[at])).count();
        held as f64 / all.len().max(1) as f64
    }

    /// Share of the span in which the forwarded link was busy.
    pub fn utilization(&self, span: Span) -> Option<f64> {
        let path = self.path.as_ref()?;
        if path.forward.busy_us <= 0.0 {
            return None;
        }
        if path.forward.timeline.is_empty() {
            return Some(path.forward.busy_us / 1e6 / span.seconds());
        }
        let slots = span.slots();
        let length = (slots.end - slots.start).max(1) as f64 * 1e5;
        let busy: u64 = path.forward.slots(slots).map(|slot| slot.busy_us).sum();
        Some(busy as f64 / length)
    }

    /// Share of span samples with a nearly full receive window.
    pub fn full_window(&self, span: Span) -> f64 {
        let names = ["tcpi_unacked", "tcpi_snd_mss", "tcpi_snd_wnd"];
        let [in_flight, mss, window] = names.map(|name| self.sender.column(name));
        let rows = self.sender.rows.iter();
        let inside = rows.filter(|row| row[0] >= span.from && row[0] <= span.to);
        let all: Vec<_> = inside.collect();
        let full = all
            .iter()
            .filter(|row| row[in_flight] * row[mss] * 100 >= row[window] * 85);
        full.count() as f64 / all.len().max(1) as f64
    }

    /// Share of samples in the span in which cwnd is full.
    pub fn full_cwnd(&self, span: Span) -> f64 {
        let columns = ["tcpi_unacked", "tcpi_snd_cwnd"].map(|name| self.sender.column(name));
        let rows = self.sender.rows.iter();
        let inside = rows.filter(|row| row[0] >= span.from && row[0] <= span.to);
        let [in_flight, cwnd] = columns;
        let all: Vec<_> = inside.filter(|row| row[in_flight] > 0).collect();
        let full = all.iter().filter(|row| row[in_flight] >= row[cwnd]);
        full.count() as f64 / all.len().max(1) as f64
    }

    /// Share of the span in pauses of at least `least` microseconds without progress.
    pub fn still(&self, span: Span, least: i64) -> f64 {
        let at = self.sender.column("tcpi_bytes_acked");
        let rows = &self.sender.rows;
        let inside = rows
            .iter()
            .filter(|row| row[0] >= span.from && row[0] <= span.to);
        let (mut sum, mut since, mut before) = (0, span.from, None);
        for row in inside {
            if before != Some(row[at]) {
                let pause = row[0] - since;
                sum += if pause >= least { pause } else { 0 };
                since = row[0];
                before = Some(row[at]);
            }
        }
        let rest = span.to - since;
        sum += if rest >= least { rest } else { 0 };
        sum as f64 / 1e6 / span.seconds()
    }

    /// Packets from the sender that the forwarder dropped for this reason.
    pub fn drops(&self, reason: &str) -> u64 {
        let path = self.path.as_ref();
        path.and_then(|path| path.forward.dropped.get(reason).copied())
            .unwrap_or(0)
    }

    /// Packets dropped by a full queue in the span.
    pub fn overflows_in(&self, span: Span) -> u64 {
        let Some(path) = &self.path else { return 0 };
        let slots = path.forward.slots(span.slots());
        slots.map(|slot| slot.overflowed).sum()
    }

    /// Process of this name.
    pub fn process(&self, name: &str) -> ProcessFacts {
        let found = self.processes.iter().find(|process| process.name == name);
        found.cloned().unwrap_or_default()
    }

    /// Share of the forwarded bytes that the graded connection had.
    pub fn own_share(&self) -> f64 {
        let Some(path) = &self.path else { return 1.0 };
        let flows = &path.forward.flows;
        if flows.is_empty() {
            return 1.0;
        }
        let all: u64 = flows.iter().map(|flow| flow.delivered_bytes).sum();
        let own = flows.iter().find(|flow| flow.ports == self.sender.ports);
        own.map_or(0.0, |own| own.delivered_bytes as f64) / all.max(1) as f64
    }
}
