//! Kinds of packets, by name. A packet may be of several kinds.

/// Declares an enum: variants with their names in records, and all of them in order.
macro_rules! named {
    ($(#[$about:meta])* pub enum $Enum:ident { $($(#[$doc:meta])* $Variant:ident $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $Enum {
            $($(#[$doc])* $Variant,)*
        }

        impl $Enum {
            /// All of them, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Variant),*];

            /// Its name in records.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }
        }
    };
}

named! {
    /// Kind of a packet.
    pub enum Kind {
        /// Retransmitted after duplicate acknowledgments (RFC 5681 section 3.2). Without SACK, also
        /// after partial ones (RFC 6582).
        FastRetransmission "fast_retransmission",
        /// Retransmitted during SACK-based loss recovery (RFC 6675).
        SackRetransmission "sack_retransmission",
        /// Retransmitted because of a timeout (RFC 6298), or after one.
        TimeoutRetransmission "timeout_retransmission",
        /// The last segment retransmitted to provoke an acknowledgment (RFC 8985
        /// section 7).
        TailProbe "tail_probe",
        /// Retransmitted although its acknowledgment had passed here.
        SpuriousRetransmission "needless_retransmission",
        /// Retransmitted for no reason that is visible here.
        UnexplainedRetransmission "unexplained_retransmission",
        /// Sent in order and overtaken on the path.
        OutOfOrder "out_of_order",
        /// Data before it was not seen.
        AfterGap "after_gap",
        /// A packet captured a second time.
        CapturedTwice "captured_twice",
        /// A duplicate acknowledgment (RFC 5681 section 2; with SACK, RFC 6675 section 2).
        DuplicateAck "duplicate_ack",
        /// An acknowledgment older than one seen before.
        OldAck "old_ack",
        /// Changes only the window.
        WindowUpdate "window_update",
        /// Advertises a zero window.
        ZeroWindow "zero_window",
        /// Leaves less than a segment of the advertised window.
        WindowFull "window_full",
        /// Exceeds every window that was advertised.
        BeyondWindow "beyond_window",
        /// A keep-alive (RFC 9293 section 3.8.4).
        KeepAlive "keep_alive",
        /// The answer to a keep-alive.
        KeepAliveAck "keep_alive_ack",
        /// A zero-window probe (RFC 9293 section 3.8.6.1).
        ZeroWindowProbe "zero_window_probe",
        /// The answer to a zero-window probe.
        ZeroWindowProbeAck "zero_window_probe_ack",
        /// Acknowledges data that was never seen: the capture lacks packets.
        AckedUnseen "acked_unseen",
        /// Reports bytes that arrived twice (RFC 2883).
        DuplicateReport "duplicate_report",
        /// Shows that a retransmission was spurious (RFC 2883, RFC 3522).
        ShowsSpurious "shows_spurious",
        /// A reset at exactly the next expected byte (RFC 5961 section 3.2).
        ResetExact "reset_exact",
        /// A reset inside the window, not at its left edge.
        ResetInWindow "reset_in_window",
        /// A reset outside of the window.
        ResetOutOfWindow "reset_out_of_window",
        /// Marked CE on the path (RFC 3168).
        CongestionExperienced "congestion_experienced",
        /// ECE outside of a handshake (RFC 3168).
        EcnEcho "ecn_echo",
        /// CWR outside of a handshake (RFC 3168).
        CongestionWindowReduced "congestion_window_reduced",
    }
}

impl Kind {
    /// The kinds of retransmissions.
    pub const RETRANSMISSIONS: [Self; 6] = [
        Self::FastRetransmission,
        Self::SackRetransmission,
        Self::TimeoutRetransmission,
        Self::TailProbe,
        Self::SpuriousRetransmission,
        Self::UnexplainedRetransmission,
    ];
}

const _: () = assert!(
    Kind::RETRANSMISSIONS[Kind::RETRANSMISSIONS.len() - 1] as usize + 1
        == Kind::RETRANSMISSIONS.len(),
    "retransmissions are the first kinds"
);

/// The kinds of a packet: a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Kinds(u32);

impl Kinds {
    /// The bits of [`Kind::RETRANSMISSIONS`].
    const RETRANSMISSIONS: u32 = (1 << Kind::RETRANSMISSIONS.len()) - 1;

    /// No kind.
    pub const NONE: Self = Self(0);

    /// Adds a kind.
    #[inline]
    pub const fn add(&mut self, kind: Kind) {
        self.0 |= 1 << kind as u8;
    }

    /// Union of both sets.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set contains the kind.
    #[inline]
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// Whether the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// One bit for each kind, the first kind lowest.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether the set contains a retransmission of any kind.
    #[inline]
    pub const fn is_retransmission(self) -> bool {
        self.0 & Self::RETRANSMISSIONS != 0
    }

    /// Kinds other than retransmissions and duplicate acknowledgments. The latter are too frequent
    /// to be counted with the others.
    #[must_use]
    pub(crate) const fn rare(self) -> Self {
        Self(self.0 & !Self::RETRANSMISSIONS & !(1 << Kind::DuplicateAck as u8))
    }

    /// Kinds, in order.
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
