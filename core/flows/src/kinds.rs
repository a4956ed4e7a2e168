//! Kinds of packets, by name. A packet may be of several kinds.

/// Kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Retransmitted after duplicate acknowledgments (RFC 5681 section 3.2). Without SACK, also
    /// after partial ones (RFC 6582).
    FastRetransmission,
    /// Retransmitted during SACK-based loss recovery (RFC 6675).
    SackRetransmission,
    /// Retransmitted because of a timeout (RFC 6298), or after one.
    TimeoutRetransmission,
    /// The last segment retransmitted to provoke an acknowledgment (RFC 8985
    /// section 7).
    TailProbe,
    /// Retransmitted although its acknowledgment had passed here.
    NeedlessRetransmission,
    /// Retransmitted for no reason that is visible here.
    UnexplainedRetransmission,
    /// Sent in order and overtaken on the path.
    OutOfOrder,
    /// Data before it was not seen.
    AfterGap,
    /// A packet captured a second time.
    CapturedTwice,
    /// A duplicate acknowledgment (RFC 5681 section 2; with SACK, RFC 6675 section 2).
    DuplicateAck,
    /// An acknowledgment older than one seen before.
    OldAck,
    /// Changes only the window.
    WindowUpdate,
    /// Advertises a zero window.
    ZeroWindow,
    /// Leaves less than a segment of the advertised window.
    WindowFull,
    /// Exceeds every window that was advertised.
    BeyondWindow,
    /// A keep-alive (RFC 9293 section 3.8.4).
    KeepAlive,
    /// The answer to a keep-alive.
    KeepAliveAck,
    /// A zero-window probe (RFC 9293 section 3.8.6.1).
    ZeroWindowProbe,
    /// The answer to a zero-window probe.
    ZeroWindowProbeAck,
    /// Acknowledges data that was never seen: the capture lacks packets.
    AckedUnseen,
    /// Reports bytes that arrived twice (RFC 2883).
    DuplicateReport,
    /// Shows that a retransmission was spurious (RFC 2883, RFC 3522).
    ShowsSpurious,
    /// A reset at exactly the next expected byte (RFC 5961 section 3.2).
    ResetExact,
    /// A reset inside the window, not at its left edge.
    ResetInWindow,
    /// A reset outside of the window.
    ResetOutOfWindow,
    /// Marked CE on the path (RFC 3168).
    CongestionExperienced,
    /// ECE outside of a handshake (RFC 3168).
    EcnEcho,
    /// CWR outside of a handshake (RFC 3168).
    CongestionWindowReduced,
}

impl Kind {
    /// Every kind, in order.
    pub const ALL: [Self; 28] = [
        Self::FastRetransmission,
        Self::SackRetransmission,
        Self::TimeoutRetransmission,
        Self::TailProbe,
        Self::NeedlessRetransmission,
        Self::UnexplainedRetransmission,
        Self::OutOfOrder,
        Self::AfterGap,
        Self::CapturedTwice,
        Self::DuplicateAck,
        Self::OldAck,
        Self::WindowUpdate,
        Self::ZeroWindow,
        Self::WindowFull,
        Self::BeyondWindow,
        Self::KeepAlive,
        Self::KeepAliveAck,
        Self::ZeroWindowProbe,
        Self::ZeroWindowProbeAck,
        Self::AckedUnseen,
        Self::DuplicateReport,
        Self::ShowsSpurious,
        Self::ResetExact,
        Self::ResetInWindow,
        Self::ResetOutOfWindow,
        Self::CongestionExperienced,
        Self::EcnEcho,
        Self::CongestionWindowReduced,
    ];

    /// The kinds of retransmissions.
    pub const RETRANSMISSIONS: [Self; 6] = [
        Self::FastRetransmission,
        Self::SackRetransmission,
        Self::TimeoutRetransmission,
        Self::TailProbe,
        Self::NeedlessRetransmission,
        Self::UnexplainedRetransmission,
    ];

    /// Returns its name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastRetransmission => "fast_retransmission",
            Self::SackRetransmission => "sack_retransmission",
            Self::TimeoutRetransmission => "timeout_retransmission",
            Self::TailProbe => "tail_probe",
            Self::NeedlessRetransmission => "needless_retransmission",
            Self::UnexplainedRetransmission => "unexplained_retransmission",
            Self::OutOfOrder => "out_of_order",
            Self::AfterGap => "after_gap",
            Self::CapturedTwice => "captured_twice",
            Self::DuplicateAck => "duplicate_ack",
            Self::OldAck => "old_ack",
            Self::WindowUpdate => "window_update",
            Self::ZeroWindow => "zero_window",
            Self::WindowFull => "window_full",
            Self::BeyondWindow => "beyond_window",
            Self::KeepAlive => "keep_alive",
            Self::KeepAliveAck => "keep_alive_ack",
            Self::ZeroWindowProbe => "zero_window_probe",
            Self::ZeroWindowProbeAck => "zero_window_probe_ack",
            Self::AckedUnseen => "acked_unseen",
            Self::DuplicateReport => "duplicate_report",
            Self::ShowsSpurious => "shows_spurious",
            Self::ResetExact => "reset_exact",
            Self::ResetInWindow => "reset_in_window",
            Self::ResetOutOfWindow => "reset_out_of_window",
            Self::CongestionExperienced => "congestion_experienced",
            Self::EcnEcho => "ecn_echo",
            Self::CongestionWindowReduced => "congestion_window_reduced",
        }
    }
}

const _: () = {
    let mut place = 0;
    while place < Kind::ALL.len() {
        assert!(
            Kind::ALL[place] as usize == place,
            "counts of kinds are found by their place"
        );
        place += 1;
    }
};

/// The kinds of a packet: a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Kinds(u32);

impl Kinds {
    /// The bits of [`Kind::RETRANSMISSIONS`].
    const RETRANSMISSIONS: u32 = 0b11_1111;

    /// No kind.
    pub const NONE: Self = Self(0);

    /// Adds a kind.
    #[inline]
    pub const fn add(&mut self, kind: Kind) {
        self.0 |= 1 << kind as u8;
    }

    /// Returns the union of both sets.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set contains the kind.
    #[inline]
    #[must_use]
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// Whether the set is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns one bit for each kind, the first kind lowest.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether the set contains a retransmission of any kind.
    #[inline]
    #[must_use]
    pub const fn is_retransmission(self) -> bool {
        self.0 & Self::RETRANSMISSIONS != 0
    }

    /// Returns the kinds other than retransmissions and duplicate acknowledgments. The latter are
    /// too frequent to be counted with the others.
    #[must_use]
    pub(crate) const fn rare(self) -> Self {
        Self(self.0 & !Self::RETRANSMISSIONS & !(1 << Kind::DuplicateAck as u8))
    }

    /// Returns the kinds, in order.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL
            .into_iter()
            .filter(move |kind| self.contains(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_in_the_order_of_their_numbers_and_retransmissions_first() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            let mut kinds = Kinds::NONE;
            kinds.add(kind);
            assert_eq!(
                kinds.is_retransmission(),
                Kind::RETRANSMISSIONS.contains(&kind)
            );
        }
    }
}
