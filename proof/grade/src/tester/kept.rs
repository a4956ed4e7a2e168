//! Graded runs as they were kept: the readings of both ends, and what is right.

use std::fs;
use std::path::Path;

use gigatcp_meter::tester::{self, Readings};
use gigatcp_why::counters::{CounterAccount, End, Reading};
use serde::{Deserialize, Serialize};

use super::cases::Case;
use super::verdict::BEHIND_THE_WINDOW;

/// What is right for a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Label {
    /// Family of the case.
    pub family: String,
    /// Its seed.
    pub seed: u64,
    /// The right cause.
    pub cause: String,
    /// Others that are right as well.
    pub acceptable: Vec<String>,
    /// Whether the outcome is what the label rests on.
    pub is_binding: bool,
}

/// What of a run is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// Both ends.
    Both,
    /// The sender.
    Sender,
    /// The receiver.
    Receiver,
    /// What iperf3's JSON has of a sender, once a second.
    Report,
}

/// A kept run.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What is right.
    pub label: Label,
    /// Readings of both ends.
    pub readings: Readings,
}

/// Keeps the label of a run with its readings.
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

/// Reads all runs of a directory whose label holds, in order of their names.
///
/// # Errors
/// If the directory cannot be read.
pub fn read(directory: &Path) -> std::io::Result<Vec<Kept>> {
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
        label.is_binding.then_some(Kept { label, readings })
    });
    Ok(runs.collect())
}

impl Kept {
    /// The account that rests on a part of what was read; `None` if it is empty.
    #[must_use]
    pub fn account(&self, known: Known) -> Option<CounterAccount> {
        let (id, role) = *self.readings.streams.first()?;
        let mut readings = self.readings.clone();
        let is_sender = role == tester::Role::Sender;
        match known {
            Known::Both => {}
            Known::Sender | Known::Report if is_sender => readings.peer = None,
            Known::Receiver if !is_sender => readings.peer = None,
            // The explanation is of the client: it takes the place of the peer.
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

    /// The right causes for what is known: the first, and others.
    #[must_use]
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

/// Readings as iperf3's JSON has them.
fn report(readings: &Readings, id: u64) -> CounterAccount {
    let mut account = CounterAccount::default();
    let own = readings.own.streams.iter().find(|(one, _)| *one == id);
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
