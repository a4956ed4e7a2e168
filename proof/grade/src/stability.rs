//! Whether answers stay the same under changes of a capture that should not matter.

use std::fmt;

use gigatcp_analyze::{Options, Source, analyze};
use gigatcp_capture::CaptureReader;

use crate::metamorphic::{Change, changed, packets, pcap};

/// Counts of answers after one change.
#[derive(Clone, Copy, Default, Debug)]
pub struct Kept {
    /// Analyses with an equal primary cause.
    pub same: u64,
    /// Unsure, with a confident answer before.
    pub unsure: u64,
    /// Another primary cause.
    pub other: u64,
}

/// Answers after every change, for captures with a confident answer when unchanged.
#[derive(Clone, Default, Debug)]
pub struct Stability {
    /// Counts for each of [`Change::ALL`].
    pub kept: [Kept; Change::ALL.len()],
    /// Changed answers: the capture, the change, before and after.
    pub others: Vec<String>,
}

/// Primary cause of the largest connection; `None` if unsure.
fn primary(capture: Vec<u8>) -> Result<Option<&'static str>, String> {
    let source = [Source::bytes("changed", capture)];
    let analysis = analyze(&source, &Options::default()).map_err(|error| error.to_string())?;
    let answer = analysis.answers().next();
    Ok(answer.and_then(|answer| {
        let sure = !answer.diagnosis.is_unsure();
        let first = answer.diagnosis.primary().filter(|_| sure)?;
        Some(first.cause.id)
    }))
}

impl Stability {
    /// Answers for one capture.
    ///
    /// # Errors
    /// If the capture cannot be read.
    pub fn of(name: &str, reader: CaptureReader) -> Result<Self, String> {
        let (link, packets) = packets(reader)?;
        let mut stability = Self::default();
        let Some(before) = primary(pcap(link, &packets))? else {
            return Ok(stability);
        };
        for (kept, change) in stability.kept.iter_mut().zip(Change::ALL) {
            match primary(pcap(link, &changed(change, &packets)))? {
                None => kept.unsure += 1,
                Some(after) if after == before => kept.same += 1,
                Some(after) => {
                    kept.other += 1;
                    let line = format!("{name}, {change:?}: {before} becomes {after}");
                    stability.others.push(line);
                }
            }
        }
        Ok(stability)
    }

    /// Adds the answers for other captures.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for (kept, more) in self.kept.iter_mut().zip(other.kept) {
            kept.same += more.same;
            kept.unsure += more.unsure;
            kept.other += more.other;
        }
        self.others.extend(other.others);
        self
    }

    /// Number of answers that stayed, or became unsure after evidence was removed; and of all.
    pub fn total(&self) -> (u64, u64) {
        let parts = self.kept.iter().zip(Change::ALL).map(|(kept, change)| {
            let unsure = if change.removes_evidence() {
                kept.unsure
            } else {
                0
            };
            (kept.same + unsure, kept.same + kept.unsure + kept.other)
        });
        parts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

impl fmt::Display for Stability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:20} {:>6} {:>6} {:>6}",
            "change", "same", "unsure", "other"
        )?;
        for (kept, change) in self.kept.iter().zip(Change::ALL) {
            let name = format!("{change:?}");
            writeln!(
                f,
                "{name:20} {:6} {:6} {:6}",
                kept.same, kept.unsure, kept.other
            )?;
        }
        let (good, all) = self.total();
        let percent = 100.0 * good as f64 / all.max(1) as f64;
        writeln!(
            f,
            "stays, or is unsure where evidence was removed: {good} of {all} ({percent:.1} %)"
        )
    }
}
