//! Counts of a connection.
//!
//! Counters of every segment are inline in the connection. The others are allocated with the first
//! such event.

use core::ops::{Deref, DerefMut};

use crate::lazy::{Lazy, Untouched};

/// Counts since the connection began.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct Counters {
    /// Wire segments with data sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Wire segments retransmitted, all causes (`tcpi_total_retrans`).
    pub retransmitted_segments: u64,
    /// Retransmitted segments in fast recovery.
    pub fast_retransmits: u64,
    /// Retransmitted segments after a timeout.
    pub timeout_retransmits: u64,
    /// Retransmitted segments that the receiver reported as duplicates (D-SACK).
    pub spurious_retransmits: u64,
    /// Retransmissions found lost by time (RACK).
    pub lost_retransmissions: u64,
    /// Tail loss probes sent, new data or not.
    pub tail_probes: u64,
    /// Losses that a tail loss probe alone repaired.
    pub tail_probe_repairs: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts found spurious (F-RTO, Eifel).
    pub spurious_timeouts: u64,
    /// Loss events: reductions of cwnd for loss. By fast recovery or the first timeout of a
    /// series; one per window of data at most, as in RFC 5348 section 5.2.
    pub loss_events: u64,
    /// Segments without data sent.
    pub acks_sent: u64,
    /// Duplicate acknowledgments received.
    pub duplicate_acks_received: u64,
    /// D-SACK blocks received.
    pub dsacks_received: u64,
    /// Reductions of cwnd undone.
    pub undos: u64,
    /// Segments taken by header prediction.
    pub predicted: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Window probes sent.
    pub window_probes: u64,
    /// Segments dropped by PAWS.
    pub paws_dropped: u64,
    /// Moves of the peer's urgent pointer forward.
    pub urgent_marks: u64,
    /// Keep-alive probes sent.
    pub keepalive_probes: u64,
    /// ICMP errors that were accepted.
    pub icmp_errors: u64,
    /// ICMP errors that were ignored.
    pub icmp_errors_ignored: u64,
    /// Segments that began or ended beyond the furthest window advertised.
    pub beyond_window: u64,
    /// Probes of the path's MTU sent (RFC 4821).
    pub path_mtu_probes: u64,
    /// Probes of the path's MTU that were lost, alone.
    pub path_mtu_probes_lost: u64,
    /// Segments dropped because they lacked the required authentication.
    pub authentication_missing: u64,
    /// Segments dropped because their KeyID belongs to no key.
    pub authentication_unknown_key: u64,
    /// Segments dropped because their authentication code was wrong.
    pub authentication_failed: u64,
    /// Reductions of cwnd for explicit notifications (RFC 3168).
    pub ecn_reductions: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u64,
    /// Answers to unacceptable segments, suppressed by the rate limit (RFC 5961 section 7).
    pub challenge_acks_suppressed: u64,
}

impl Untouched for Counters {
    const UNTOUCHED: &'static Self = &Self {
        data_segments_sent: 0,
        retransmitted_segments: 0,
        fast_retransmits: 0,
        timeout_retransmits: 0,
        spurious_retransmits: 0,
        lost_retransmissions: 0,
        tail_probes: 0,
        tail_probe_repairs: 0,
        timeouts: 0,
        spurious_timeouts: 0,
        loss_events: 0,
        acks_sent: 0,
        duplicate_acks_received: 0,
        dsacks_received: 0,
        undos: 0,
        predicted: 0,
        segments_received: 0,
        window_probes: 0,
        paws_dropped: 0,
        urgent_marks: 0,
        keepalive_probes: 0,
        icmp_errors: 0,
        icmp_errors_ignored: 0,
        beyond_window: 0,
        path_mtu_probes: 0,
        path_mtu_probes_lost: 0,
        authentication_missing: 0,
        authentication_unknown_key: 0,
        authentication_failed: 0,
        ecn_reductions: 0,
        challenge_acks: 0,
        challenge_acks_suppressed: 0,
    };
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
    /// All counters.
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
