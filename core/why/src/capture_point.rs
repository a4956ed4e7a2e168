//! The capture point, inferred from the two halves of an RTT.
//!
//! The time from data to its acknowledgment is the RTT from here to the receiver. The time from an
//! acknowledgment to the data that it releases is the RTT to the sender. Near the sender the second
//! is near zero, near the receiver the first.

use gigatcp_units::Duration;

/// Place where a capture was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CapturePoint {
    /// At the sender of the data.
    Sender,
    /// At the receiver of the data.
    Receiver,
    /// Between them.
    Middle,
    /// The capture does not show it.
    Unknown,
    /// No capture: the hosts' own counters were read.
    Counters,
}

impl CapturePoint {
    /// Whether the RTT measured there is that of the whole path. Packets are then seen as they
    /// leave the sender. Also true if nothing contradicts that.
    #[must_use]
    pub const fn is_near_sender(self) -> bool {
        matches!(self, Self::Sender | Self::Unknown)
    }

    /// Its name in records and sentences.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Middle => "middle",
            Self::Unknown => "unknown",
            Self::Counters => "counters",
        }
    }

    /// Infers it from the RTT to the receiver, and to the sender.
    pub(crate) fn infer(trip: Option<Duration>, turn: Option<Duration>) -> Self {
        /// Maximum response time of a host, on a network without delay.
        const HOST: u64 = 300_000;
        /// Maximum RTT of a loopback: no cable is that short.
        const LOOPBACK: u64 = 50_000;
        let (Some(trip), Some(turn)) = (trip, turn) else {
            return Self::Unknown;
        };
        let (trip, turn) = (trip.as_nanos(), turn.as_nanos());
        let is_small = |part: u64, other: u64| {
            part * 9 <= other || part <= HOST && part.saturating_mul(2) <= other
        };
        if trip.saturating_add(turn) <= LOOPBACK {
            // Both hosts are at the capture point.
            Self::Unknown
        } else if is_small(turn, trip) {
            Self::Sender
        } else if is_small(trip, turn) {
            Self::Receiver
        } else if trip.max(turn) <= HOST {
            Self::Unknown
        } else {
            Self::Middle
        }
    }
}
