//! New information from one acknowledgment.
//!
//! [`Scoreboard::begin_ack`](super::Scoreboard::begin_ack) creates it, `on_ack` and `on_sack` fill
//! it. Readers are RTT samples (Karn), the delivery rate, RACK, Eifel and F-RTO, and congestion
//! control.

use gigatcp_units::Instant;

use super::{SendState, Transmission};
use crate::retransmissions::{Delivered, Departure};

/// New information from one acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Revealed {
    /// Octets newly acknowledged cumulatively.
    pub acked: u64,
    /// Octets newly acknowledged that had been SACKed before.
    pub acked_after_sack: u64,
    /// Octets newly SACKed.
    pub sacked: u64,
    /// First transmissions fully acknowledged.
    pub transmissions: u32,
    /// Send time of the oldest octet now acknowledged, never retransmitted and not SACKed before.
    pub oldest_sent_at: Option<Instant>,
    /// Send time of the newest such octet.
    pub newest_sent_at: Option<Instant>,
    /// Send time of the oldest octet now SACKed that was never retransmitted.
    pub oldest_sacked_sent_at: Option<Instant>,
    /// Whether any octet now acknowledged had been retransmitted.
    pub retransmitted: bool,
    /// Latest transmission among retransmissions now delivered.
    pub(super) newest_resent: Option<Delivered>,
    /// Lowest octet now delivered, cumulatively or selectively, that was sent only once.
    pub lowest_original: Option<u64>,
    /// End of everything known to be delivered before this acknowledgment. `RACK.fack` of RFC
    /// 8985.
    pub fack: u64,
    /// End of the reported duplicate (RFC 2883), if any.
    pub duplicate_end: Option<u64>,
    /// Whether it reports our retransmission, tail probes excluded, as a duplicate.
    pub repeated_in_vain: bool,
    /// Latest among first transmissions now delivered.
    pub(super) newest_original: Option<Delivered>,
}

impl Revealed {
    /// Latest among first transmissions now delivered.
    #[inline]
    pub fn newest_original(&self) -> Option<Departure> {
        self.newest_original.as_ref().map(Delivered::departure)
    }

    /// Latest among retransmissions now delivered.
    #[inline]
    pub fn newest_resent(&self) -> Option<Departure> {
        self.newest_resent.as_ref().map(Delivered::departure)
    }

    /// Latest transmission now delivered, and whether it was a retransmission.
    #[inline]
    pub(super) fn newest(&self) -> Option<(&SendState, bool)> {
        match (&self.newest_original, &self.newest_resent) {
            (Some(original), Some(resent)) if resent.is_after(original) => {
                Some((&resent.state, true))
            }
            (Some(original), _) => Some((&original.state, false)),
            (None, resent) => resent.as_ref().map(|resent| (&resent.state, true)),
        }
    }

    /// Octets newly known to be delivered, cumulatively or selectively.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.acked - self.acked_after_sack + self.sacked
    }

    /// Notes that an octet sent only once was delivered.
    pub(super) fn note_original(&mut self, offset: u64) {
        let lowest = self.lowest_original.unwrap_or(offset);
        self.lowest_original = Some(lowest.min(offset));
    }

    /// Notes the delivery of a first transmission up to `end`. Keeps the more recently sent.
    pub(super) fn note_delivery(&mut self, sent: &Transmission, end: u64) {
        let newest = self.newest_original.as_ref();
        if newest.is_none_or(|newest| (newest.number, newest.end) < (sent.number, end)) {
            self.newest_original = Some(Delivered {
                number: sent.number,
                end,
                state: sent.state,
            });
        }
    }

    /// Notes the delivery of a retransmission. Keeps the more recently sent.
    pub(super) fn note_resent(&mut self, resent: Option<Delivered>) {
        if let Some(resent) = resent
            && self
                .newest_resent
                .is_none_or(|newest| resent.is_after(&newest))
        {
            self.newest_resent = Some(resent);
        }
    }
}
