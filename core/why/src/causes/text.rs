//! Text that the explanations of several causes share.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

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

    /// Creates a fact about a round of a cause, unless `text` is empty.
    pub(crate) fn if_any(m: &Measures<'_>, index: usize, text: String) -> Option<Self> {
        (!text.is_empty()).then(|| Self::of_round(m, index, text))
    }

    /// Creates a fact about a round of a cause.
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

    /// Creates a fact about each timeout, up to `most` of them.
    pub(crate) fn of_timeouts(m: &Measures<'_>, most: usize) -> Vec<Self> {
        let expiries = m.sender_view.episodes.expiries.iter().take(most);
        expiries
            .map(|expiry| {
                let (place, waited) = (m.place(expiry.start), time(expiry.waited));
                let text = format!("byte {place} retransmitted after {waited}");
                Self::new(expiry.packet, m.since_start(expiry.at), text)
            })
            .collect()
    }

    /// Creates a fact about the rate of packets behind the bottleneck, if it is known.
    pub(crate) fn of_line(m: &Measures<'_>) -> Option<Self> {
        let line = m.line.and_then(flowing)?;
        let text = format!("packets behind the bottleneck follow each other at {line}");
        Some(Self::figure(text))
    }
}

/// Describes the RTT above its minimum; `None` if it was not above, or is unknown.
pub(super) fn above(queue: Option<Duration>) -> Option<String> {
    queue
        .filter(|queue| !queue.is_zero())
        .map(|queue| format!("RTT {} above minimum", time(queue)))
}

/// Describes the RTT of a round above its minimum. The minimum itself is described if a missing
/// queue is evidence.
pub(super) fn queue_or_none(m: &Measures<'_>, queue: Option<Duration>) -> Option<String> {
    let is_none = m.sees_queues() && queue.is_some_and(Duration::is_zero);
    if is_none {
        Some(String::from("RTT at its minimum"))
    } else {
        above(queue)
    }
}

/// Queueing delay of a round, if it was measured.
pub(super) fn queue_of(m: &Measures<'_>, index: usize) -> Option<Duration> {
    (index < m.rounds.len()).then(|| m.queue(index)).flatten()
}

/// Joins the known clauses with commas.
pub(crate) fn clauses<const N: usize>(clauses: [Option<String>; N]) -> String {
    let known: Vec<String> = clauses.into_iter().flatten().collect();
    known.join(", ")
}

/// A name with its decisive figure, if there is one.
pub(crate) fn subject(name: &str, figure: Option<String>) -> String {
    figure.map_or_else(|| String::from(name), |figure| format!("{name} ({figure})"))
}

/// Formats a rate from bytes per second; `None` below one bit per second.
pub(crate) fn flowing(bytes_per_second: f64) -> Option<String> {
    (bytes_per_second * 8.0 >= 1.0).then(|| speed(bytes_per_second))
}

/// Formats an amount in flight; `None` if it is zero.
pub(super) fn in_flight(flight: u64) -> Option<String> {
    (flight > 0).then(|| format!("{} in flight", bytes(flight)))
}

/// Describes a count of events, with singular or plural.
pub(super) fn happened(count: u64, noun: &str, what: &str) -> String {
    format!(
        "{} {} {what}",
        counted(count, noun),
        verb(count, "was", "were")
    )
}

/// Formats an amount of bytes.
pub(super) fn bytes(bytes: u64) -> String {
    human_bytes(Bytes::new(bytes))
}

/// Formats a duration.
pub(super) fn time(time: Duration) -> String {
    human_duration(time)
}

/// Formats a rate from bytes per second.
pub(super) fn speed(bytes_per_second: f64) -> String {
    human_rate(rate(bytes_per_second))
}

/// Formats a count with its noun, singular or plural.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// Verb for one thing or for several.
pub(crate) const fn verb<'a>(count: u64, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// Describes the rate that this flight allows, if the RTT is known.
pub(super) fn allows(m: &Measures<'_>, flight: u64) -> Option<String> {
    (!m.base.is_zero() && flight > 0).then(|| {
        format!(
            "{} per RTT of {} allows {}",
            bytes(flight),
            time(m.base),
            speed(flight as f64 / m.base.as_secs_f64())
        )
    })
}

/// Bytes in flight that the rate of the answer needs: up to the next limit, or else the known capacity.
/// Rounded up to a whole number of 64 KiB.
pub(super) fn needed(m: &Measures<'_>) -> u64 {
    let rate = m.next_rate.unwrap_or(m.capacity.bytes_per_second);
    let bdp = rate * m.base.as_secs_f64();
    ((bdp as u64).max(1)).div_ceil(65_536) * 65_536
}

/// Describes the window advertised in a round.
pub(super) fn windows(least: u64, most: u64) -> String {
    if most == 0 {
        String::from("a zero window")
    } else if least == 0 {
        format!("windows from zero to {}", bytes(most))
    } else if least == most {
        format!("a window of {}", bytes(most))
    } else {
        format!("windows from {} to {}", bytes(least), bytes(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_is_left_out_and_one_thing_is_singular() {
        assert_eq!(above(Some(Duration::ZERO)), None);
        assert_eq!(above(None), None);
        let queue = above(Some(Duration::from_millis(3)));
        assert_eq!(queue.as_deref(), Some("RTT 3.00 ms above minimum"));
        assert_eq!(in_flight(0), None);
        assert_eq!(flowing(0.0), None);
        assert_eq!(clauses([in_flight(0), queue]), "RTT 3.00 ms above minimum");
        assert_eq!(happened(1, "segment", "lost"), "1 segment was lost");
        assert_eq!(happened(2, "segment", "lost"), "2 segments were lost");
        assert_eq!(subject("a policer", None), "a policer");
        assert_eq!(windows(0, 0), "a zero window");
        assert!(windows(0, 1000).starts_with("windows from zero to "));
    }
}
