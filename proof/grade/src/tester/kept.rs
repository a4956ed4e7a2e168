//! Stored graded runs: the readings of both ends, and the correct answer.

use std::fs;
use std::path::Path;

use gigatcp_meter::tester::{self, Readings};
use gigatcp_why::counters::{CounterAccount, End, Reading};
use serde::{Deserialize, Serialize};

use super::cases::Case;
use super::verdict::BEHIND_THE_WINDOW;

/// Correct answer for a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Label {
    /// Family of the case.
    pub family: String,
    /// Seed of the case.
    pub seed: u64,
    /// Correct cause.
    pub cause: String,
    /// Other correct causes.
    pub acceptable: Vec<String>,
    /// Whether the measured rate is in the range that the label requires.
    pub is_binding: bool,
}

/// Part of a run's readings that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// Both ends.
    Both,
    /// The sender.
    Sender,
    /// The receiver.
    Receiver,
    /// Readings in iperf3's JSON of a sender, once per second.
    Report,
}

/// Stored run.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Correct answer.
    pub label: Label,
    /// Readings of both ends.
    pub readings: Readings,
}

/// Stores the label of a run next to its readings.
///
/// # Errors
/// If the file cannot be written.
pub fn keep(at: &Path, case: &Case, seed: u64, is_binding: bool) -> std::io::Result<()> {
    let label = Label {
        family: case.family.into(),
        seed,
        cause: case.cause.into(),
        acceptable: case.acceptable.iter().map(|id| (*id).into()).collect(),
        is_binding,
    };
    let text = serde_json::to_string_pretty(&label).map_err(std::io::Error::other)?;
    fs::write(at.join("label.json"), text)
}

/// Reads all runs of a directory whose label holds, sorted by name.
///
/// # Errors
/// If the directory cannot be read.
pub fn read(directory: &Path) -> std::io::Result<Vec<StoredRun>> {
    let mut places: Vec<_> = fs::read_dir(directory)?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    places.sort();
    let runs = places.iter().filter_map(|at| {
        let text = fs::read_to_string(at.join("label.json")).ok()?;
        let label: Label = serde_json::from_str(&text).ok()?;
        let text = fs::read_to_string(at.join("readings.json")).ok()?;
        let readings = Readings::from_json(&serde_json::from_str(&text).ok()?)?;
        label.is_binding.then_some(StoredRun { label, readings })
    });
    Ok(runs.collect())
}

impl StoredRun {
    /// Counters from the known readings; `None` if they are empty.
    pub fn account(&self, known: Known) -> Option<CounterAccount> {
        let (id, role) = *self.readings.streams.first()?;
        let mut readings = self.readings.clone();
        let is_sender = role == tester::Role::Sender;
        match known {
            Known::Both => {}
            Known::Sender | Known::Report if is_sender => readings.peer = None,
            Known::Receiver if !is_sender => readings.peer = None,
            // The diagnosis is made at the client, so the peer's readings take that role.
            _ => {
                readings.own = readings.peer.take()?;
                let other = if is_sender {
                    tester::Role::Receiver
                } else {
                    tester::Role::Sender
                };
                readings.streams = vec![(id, other)];
            }
        }
        if known == Known::Report {
            return Some(report(&readings, id));
        }
        let role = readings.streams[0].1;
        tester::account_of(&readings, id, role)
    }

    /// Correct causes for the known readings: the first, and others.
    pub fn right(&self, known: Known) -> (&str, Vec<&str>) {
        let label = &self.label;
        let acceptable: Vec<&str> = label.acceptable.iter().map(String::as_str).collect();
        let is_hidden = BEHIND_THE_WINDOW.contains(&label.cause.as_str());
        match known {
            Known::Sender | Known::Report if is_hidden => {
                ("receive-window-limited", vec!["slow-reader"])
            }
            _ => (&label.cause, acceptable),
        }
    }
}

/// Counters that iperf3's JSON contains.
fn report(readings: &Readings, id: u64) -> CounterAccount {
    let mut account = CounterAccount::default();
    let own = readings.own.streams.iter().find(|(of, _)| *of == id);
    let mut next = 0.0;
    for reading in own.map_or(&[][..], |(_, all)| all) {
        let at = reading.at.as_secs_f64();
        if at < next {
            continue;
        }
        next = at.floor() + 1.0;
        let known = Reading {
            at: reading.at,
            smss: reading.smss,
            bytes_acked: reading.bytes_acked,
            bytes_sent: reading.bytes_sent,
            total_retrans: reading.total_retrans,
            cwnd_segments: reading.cwnd_segments,
            snd_wnd: reading.snd_wnd,
            rtt: reading.rtt,
            unacked: reading.unacked,
            ..Reading::default()
        };
        account.on_reading(End::Sender, &known);
    }
    account
}
