//! What one acknowledgment revealed.
//!
//! [`Scoreboard::begin_ack`](super::Scoreboard::begin_ack) makes one,
//! `on_ack` and `on_sack` fill it, and what follows reads it: RTT samples
//! (Karn), the delivery rate, RACK, Eifel and F-RTO, congestion control.

use gigatcp_units::Instant;

use super::{SendState, Transmission};
use crate::retransmissions::{Delivered, Departure};

/// What one acknowledgment revealed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Revealed {
    /// Octets newly acknowledged cumulatively.
    pub acked: u64,
    /// Of these, octets that had been SACKed before.
    pub acked_after_sack: u64,
    /// Octets newly SACKed.
    pub sacked: u64,
    /// First transmissions wholly acknowledged.
    pub transmissions: u32,
    /// When the oldest octet now acknowledged, never retransmitted and not
    /// SACKed before, was sent.
    pub oldest_sent_at: Option<Instant>,
    /// The same for the newest.
    pub newest_sent_at: Option<Instant>,
    /// When the oldest octet now SACKed that was never retransmitted was sent.
    pub oldest_sacked_sent_at: Option<Instant>,
    /// Whether any octet now acknowledged had been retransmitted.
    pub retransmitted: bool,
    /// The latest departure among retransmissions now delivered.
    pub(super) newest_resent: Option<Delivered>,
    /// The lowest octet now delivered (either way) that was sent only once.
    pub lowest_original: Option<u64>,
    /// Where everything known to be delivered ended before this
    /// acknowledgment: `RACK.fack` of RFC 8985.
    pub fack: u64,
    /// End of the duplicate it reports (RFC 2883), if it does.
    pub duplicate_end: Option<u64>,
    /// It reports as a duplicate what we retransmitted, tail probes apart.
    pub repeated_in_vain: bool,
    /// The latest departure among first transmissions now delivered.
    pub(super) newest_original: Option<Delivered>,
}

impl Revealed {
    /// The latest departure among first transmissions now delivered.
    #[inline]
    pub fn newest_original(&self) -> Option<Departure> {
        self.newest_original.as_ref().map(Delivered::departure)
    }

    /// The latest departure among retransmissions now delivered.
    #[inline]
    pub fn newest_resent(&self) -> Option<Departure> {
        self.newest_resent.as_ref().map(Delivered::departure)
    }

    /// The latest of all that is now delivered, and whether it was sent before.
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

    /// Octets delivered, either way, that were not known to be.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.acked - self.acked_after_sack + self.sacked
    }

    /// An octet sent only once was delivered.
    pub(super) fn note_original(&mut self, offset: u64) {
        let lowest = self.lowest_original.unwrap_or(offset);
        self.lowest_original = Some(lowest.min(offset));
    }

    /// Keeps the more recently sent of two transmissions, of which this one is
    /// delivered up to `end`.
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

    /// The same for retransmissions, the latest of which is given.
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
