//! Where the capture was taken, inferred from the two halves of a round trip.
//!
//! From data to its acknowledgment is the way from here to the receiver and
//! back; from an acknowledgment to the data that it releases is the way to the
//! sender and back. Near the sender the second is nothing, near the receiver
//! the first.

use gigatcp_units::Duration;

/// Where a capture was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum View {
    /// At the sender of the data.
    Sender,
    /// At their receiver.
    Receiver,
    /// Between them.
    Middle,
    /// The capture does not show it.
    Unknown,
    /// Nowhere: the hosts' own counters were read.
    Counters,
}

impl View {
    /// Whether the round trip measured there is that of the whole path, and what
    /// leaves the sender is seen as it leaves; or nothing speaks against that.
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

    /// By the way to the receiver and back, and to the sender and back.
    pub(crate) fn infer(trip: Option<Duration>, turn: Option<Duration>) -> Self {
        /// A host needs this long to answer, on a network of no length.
        const HOST: u64 = 300_000;
        /// No cable is as short as this.
        const LOOPBACK: u64 = 50_000;
        let (Some(trip), Some(turn)) = (trip, turn) else {
            return Self::Unknown;
        };
        let (trip, turn) = (trip.as_nanos(), turn.as_nanos());
        let is_small = |part: u64, other: u64| {
            part * 9 <= other || part <= HOST && part.saturating_mul(2) <= other
        };
        if trip.saturating_add(turn) <= LOOPBACK {
            // Both hosts are the capture point.
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
