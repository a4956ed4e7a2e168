//! Words that the explanations of several causes share.

use alloc::format;
use alloc::string::String;

use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Bytes, Duration};

use super::Evidence;
use crate::measures::{Measures, rate};

impl Evidence {
    pub(crate) const fn new(packet: u64, at: Duration, text: String) -> Self {
        Self {
            packet: Some(packet),
            at: Some(at),
            is_round: false,
            text,
        }
    }

    pub(crate) const fn figure(text: String) -> Self {
        Self {
            packet: None,
            at: None,
            is_round: false,
            text,
        }
    }

    /// A fact about a round that was attributed to a cause.
    pub(crate) fn of_round(m: &Measures<'_>, index: usize, text: String) -> Self {
        match m.rounds.get(index) {
            Some(round) => Self {
                packet: Some(round.packet),
                at: Some(m.since_start(round.start)),
                is_round: true,
                text,
            },
            None => Self::figure(text),
        }
    }
}

/// An amount of bytes.
pub(super) fn bytes(bytes: u64) -> String {
    human_bytes(Bytes::new(bytes))
}

/// A time.
pub(super) fn time(time: Duration) -> String {
    human_duration(time)
}

/// A rate, from bytes per second.
pub(super) fn speed(bytes_per_second: f64) -> String {
    human_rate(rate(bytes_per_second))
}

/// One thing, or several.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// The verb of one thing, or of several.
pub(crate) const fn verb<'a>(count: u64, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// What so much in flight allows, where the RTT is known.
pub(super) fn allows(m: &Measures<'_>, flight: u64) -> Option<String> {
    (!m.base.is_zero()).then(|| {
        format!(
            "{} per RTT of {} allows {}",
            bytes(flight),
            time(m.base),
            speed(flight as f64 / m.base.as_secs_f64())
        )
    })
}

/// Bytes in flight that the path needs at its known capacity, rounded up to a whole
/// number of 64 KiB.
pub(super) fn needed(m: &Measures<'_>) -> u64 {
    let bdp = m.capacity.bytes_per_second * m.base.as_secs_f64();
    ((bdp as u64).max(1)).div_ceil(65_536) * 65_536
}

/// The window advertised in a round.
pub(super) fn windows(least: u64, most: u64) -> String {
    if least == most {
        format!("a window of {}", bytes(most))
    } else {
        format!("windows from {} to {}", bytes(least), bytes(most))
    }
}
