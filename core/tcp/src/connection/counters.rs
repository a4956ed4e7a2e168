//! Counts of a connection.
//!
//! Counters of every segment are inline in the connection. The others are allocated with the first
//! such event.

use core::ops::{Deref, DerefMut};

use crate::lazy::{Lazy, Untouched};

/// Defines the counters, all 0 before the first event.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Counts since the connection began.
        #[derive(Clone, Copy, Default, Debug)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl Untouched for Counters {
            const UNTOUCHED: &'static Self = &Self { $($name: 0,)+ };
        }
    };
}

counters! {
    /// Wire segments with data sent, retransmissions included.
    data_segments_sent,
    /// Wire segments retransmitted, all causes (`tcpi_total_retrans`).
    retransmitted_segments,
    /// Retransmitted segments in fast recovery.
    fast_retransmits,
    /// Retransmitted segments after a timeout.
    timeout_retransmits,
    /// Retransmitted segments that the receiver reported as duplicates (D-SACK).
    spurious_retransmits,
    /// Retransmissions found lost by time (RACK).
    lost_retransmissions,
    /// Tail loss probes sent, new data or not.
    tail_probes,
    /// Losses that a tail loss probe alone repaired.
    tail_probe_repairs,
    /// Retransmission timeouts.
    timeouts,
    /// Timeouts found spurious (F-RTO, Eifel).
    spurious_timeouts,
    /// Loss events: reductions of cwnd for loss. By fast recovery or the first timeout of a
    /// series; one per window of data at most, as in RFC 5348 section 5.2.
    loss_events,
    /// Segments without data sent.
    acks_sent,
    /// Duplicate acknowledgments received.
    duplicate_acks_received,
    /// D-SACK blocks received.
    dsacks_received,
    /// Reductions of cwnd undone.
    undos,
    /// Segments taken by header prediction.
    predicted,
    /// Segments received.
    segments_received,
    /// Window probes sent.
    window_probes,
    /// Segments dropped by PAWS.
    paws_dropped,
    /// Moves of the peer's urgent pointer forward.
    urgent_marks,
    /// Keep-alive probes sent.
    keepalive_probes,
    /// ICMP errors that were accepted.
    icmp_errors,
    /// ICMP errors that were ignored.
    icmp_errors_ignored,
    /// Segments that began or ended beyond the furthest window advertised.
    beyond_window,
    /// Probes of the path's MTU sent (RFC 4821).
    path_mtu_probes,
    /// Probes of the path's MTU that were lost, alone.
    path_mtu_probes_lost,
    /// Segments dropped because they lacked the required authentication.
    authentication_missing,
    /// Segments dropped because their KeyID belongs to no key.
    authentication_unknown_key,
    /// Segments dropped because their authentication code was wrong.
    authentication_failed,
    /// Reductions of cwnd for explicit notifications (RFC 3168).
    ecn_reductions,
    /// Challenge ACKs sent (RFC 5961).
    challenge_acks,
    /// Answers to unacceptable segments, suppressed by the rate limit (RFC 5961 section 7).
    challenge_acks_suppressed,
}

/// Counters of a connection while it runs.
#[derive(Default, Debug)]
pub(super) struct Tally {
    pub(super) data_segments_sent: u64,
    pub(super) acks_sent: u64,
    pub(super) predicted: u64,
    pub(super) segments_received: u64,
    /// Counters of rare events.
    others: Lazy<Counters>,
}

impl Tally {
    #[inline]
    pub(super) fn all(&self) -> Counters {
        Counters {
            data_segments_sent: self.data_segments_sent,
            acks_sent: self.acks_sent,
            predicted: self.predicted,
            segments_received: self.segments_received,
            ..*self.others
        }
    }

    /// Asserts that no part exceeds its whole.
    pub(super) fn assert_invariants(&self) {
        let others = &*self.others;
        debug_assert!(
            others.fast_retransmits + others.timeout_retransmits <= others.retransmitted_segments,
            "{} segments retransmitted, {} of them in fast recovery and {} after timeouts",
            others.retransmitted_segments,
            others.fast_retransmits,
            others.timeout_retransmits
        );
        debug_assert!(
            others.spurious_timeouts <= others.timeouts,
            "{} timeouts, of them {} spurious",
            others.timeouts,
            others.spurious_timeouts
        );
        debug_assert!(
            others.tail_probe_repairs <= others.tail_probes,
            "{} loss probes repaired {} losses",
            others.tail_probes,
            others.tail_probe_repairs
        );
        debug_assert!(
            others.path_mtu_probes_lost <= others.path_mtu_probes,
            "{} probes of the path's MTU, {} lost",
            others.path_mtu_probes,
            others.path_mtu_probes_lost
        );
    }
}

impl Deref for Tally {
    type Target = Counters;

    #[inline]
    fn deref(&self) -> &Counters {
        &self.others
    }
}

impl DerefMut for Tally {
    #[inline]
    fn deref_mut(&mut self) -> &mut Counters {
        &mut self.others
    }
}
