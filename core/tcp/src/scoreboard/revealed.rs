//! What one acknowledgment revealed.
//!
//! [`Scoreboard::begin_ack`](super::Scoreboard::begin_ack) makes one,
//! `on_ack` and `on_sack` fill it, and what follows reads it: RTT samples
//! (Karn), the delivery rate, RACK, Eifel and F-RTO, congestion control.

use gigatcp_units::Instant;

use super::Transmission;
use crate::retransmissions::Departure;

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
    pub newest_resent: Option<Departure>,
    /// The lowest octet now delivered (either way) that was sent only once.
    pub lowest_original: Option<u64>,
    /// Where everything known to be delivered ended before this
    /// acknowledgment: `RACK.fack` of RFC 8985.
    pub fack: u64,
    /// End of the duplicate it reports (RFC 2883), if it does.
    pub duplicate_end: Option<u64>,
    /// It reports as a duplicate what we sent again, tail probes apart.
    pub repeated_in_vain: bool,
    /// The most recently sent transmission that is covered.
    pub(super) newest: Option<NewestDelivered>,
}

/// Of the most recently sent transmission that is delivered, what the rate
/// sample and RACK need.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewestDelivered {
    pub(super) delivered: u64,
    pub(super) delivered_at: Instant,
    pub(super) sent_at: Instant,
    /// End of what is covered of it.
    pub(super) end: u64,
    pub(super) number: u64,
    pub(super) first_sent_at: Instant,
    pub(super) app_limited: bool,
}

impl Revealed {
    /// The latest departure among first transmissions now delivered.
    #[inline]
    pub fn newest_original(&self) -> Option<Departure> {
        self.newest.map(|newest| Departure {
            number: newest.number,
            end: newest.end,
            sent_at: newest.sent_at,
        })
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
        if self
            .newest
            .is_none_or(|newest| (newest.number, newest.end) < (sent.number, end))
        {
            self.newest = Some(NewestDelivered {
                delivered: sent.delivered,
                delivered_at: sent.delivered_at,
                sent_at: sent.sent_at,
                end,
                number: sent.number,
                first_sent_at: sent.first_sent_at,
                app_limited: sent.app_limited,
            });
        }
    }
}
