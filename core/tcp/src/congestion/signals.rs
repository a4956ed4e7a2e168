//! What a congestion control is told: acknowledgments, losses, departures.
//!
//! Names beginning with `C.`, `P.` and `RS.` are those of draft-ietf-ccwg-bbr, where
//! the same quantities are defined for a connection, a packet and a rate sample.

use gigatcp_events::Phase;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

/// What a congestion control learns from one arriving acknowledgment.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// N of RFC 5681 eq. (2), the octets that may open the window: those newly
    /// acknowledged cumulatively, without those known before to be delivered if
    /// the profile says so (`growth_by_delivery`). Zero while the minimum window is
    /// held (RFC 3168 section 6.1.2).
    pub acked: Bytes,
    /// Octets newly acknowledged selectively.
    pub sacked: Bytes,
    /// `DeliveredData` of RFC 9937: octets newly delivered, however they were
    /// acknowledged. Never held back.
    pub delivered: Bytes,
    /// Octets delivered in all, these included: `C.delivered` of draft-ietf-ccwg-bbr.
    pub total_delivered: Bytes,
    /// Octets marked lost on this ACK. [`CongestionControl::on_lost`] has reported
    /// each, and of what a timer found.
    ///
    /// [`CongestionControl::on_lost`]: super::CongestionControl::on_lost
    pub lost: Bytes,
    /// Of the octets delivered, those that arrived with a congestion mark (CE):
    /// `DCTCP.BytesMarked` of RFC 8257 section 3.3. With accurate feedback (RFC
    /// 9768) what the receiver counted; with the classic one (RFC 3168) all
    /// that an ACK with ECN-Echo covers, which is right only where the receiver
    /// echoes as RFC 8257 section 3.2 says.
    pub ce_marked: Bytes,
    /// The same in wire segments.
    pub ce_marked_segments: u32,
    /// Transmissions wholly acknowledged by this ACK: a super-segment counts
    /// once. Linux before 2.6.29 showed its controls this number as `packets
    /// acked` while segmentation offload was on.
    pub acked_transmissions: u32,
    /// Recovery phase after this ACK was processed.
    pub phase: Phase,
    /// `pipe` before this ACK: what was in flight, in octets.
    pub prior_in_flight: Bytes,
    /// What is in flight after this ACK and the losses it showed, before anything
    /// leaves: `pipe` and what was sent twice.
    pub in_flight: Bytes,
    /// Whether the sender had filled cwnd since the ACK before (otherwise the
    /// window has not been tested and should not grow; RFC 7661).
    pub cwnd_limited: bool,
    /// Round-trip time measured by this ACK, if it allows one (Karn).
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time; absent before the first sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time of the connection so far.
    pub min_rtt: Option<Duration>,
    /// Whether this ACK ends a round and begins the next: it is the first to
    /// report, cumulatively or selectively, something that was sent after the
    /// round before had begun.
    pub round_end: bool,
    /// Delivery rate sample, if this ACK delivered something.
    pub rate: Option<RateSample>,
}

/// How fast the network delivered, measured over the flight of the latest
/// transmission that was just delivered (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Octets delivered between its departure and now: `RS.delivered`.
    pub delivered: Bytes,
    /// Octets marked lost between its departure and now: `RS.lost`.
    pub lost: Bytes,
    /// Octets delivered in all when it left (marks its round): `RS.prior_delivered`.
    pub prior_delivered: Bytes,
    /// Octets in flight when it left, itself included: `RS.tx_in_flight`.
    pub tx_in_flight: Bytes,
    /// From the latest departure delivered when it left to its own: `RS.send_elapsed`.
    pub send_interval: Duration,
    /// From the last delivery before it left to now: `RS.ack_elapsed`.
    pub ack_interval: Duration,
    /// Whether the application was the limit when it left.
    pub app_limited: bool,
    /// Whether it was sent before.
    pub is_retransmission: bool,
    /// Whether this ACK was probably held back by the receiver (delayed ACK).
    pub ack_delayed: bool,
}

impl Ack {
    /// Asserts what every control may rely on.
    pub(crate) fn assert_invariants(&self) {
        debug_assert!(
            self.delivered <= self.total_delivered,
            "{} newly delivered, {} in all",
            self.delivered,
            self.total_delivered
        );
        debug_assert!(
            self.sacked <= self.delivered,
            "{} newly SACKed, {} newly delivered",
            self.sacked,
            self.delivered
        );
        debug_assert!(
            self.rtt.is_none() || (self.srtt.is_some() && self.min_rtt <= self.rtt),
            "a sample of {:?}, smoothed {:?}, minimum {:?}",
            self.rtt,
            self.srtt,
            self.min_rtt
        );
        if let Some(rate) = &self.rate {
            debug_assert!(
                rate.prior_delivered + rate.delivered == self.total_delivered,
                "{} delivered before and {} since, {} in all (RS.delivered)",
                rate.prior_delivered,
                rate.delivered,
                self.total_delivered
            );
        }
    }
}

impl Lost {
    /// Asserts what every control may rely on.
    pub(crate) fn assert_invariants(&self) {
        debug_assert!(
            self.octets > Bytes::ZERO && self.octets <= self.lost,
            "{} marked lost, {} since it left",
            self.octets,
            self.lost
        );
        debug_assert!(
            self.prior_delivered <= self.total_delivered && self.sent_at <= self.now,
            "what left at {:?} is lost at {:?}, {} and {} delivered",
            self.sent_at,
            self.now,
            self.prior_delivered,
            self.total_delivered
        );
    }
}

impl RateSample {
    /// The longer of send interval and ACK interval: `RS.interval`.
    #[inline]
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.send_interval.max(self.ack_interval)
    }

    /// The rate of delivery; `None` if the interval is shorter than `min_rtt` or
    /// zero, as after a retransmission whose original arrived.
    #[must_use]
    pub fn rate(&self, min_rtt: Option<Duration>) -> Option<Rate> {
        self.is_reliable(min_rtt)
            .then(|| Rate::from_amount(self.delivered, self.interval()))
    }

    /// Returns whether the interval is long enough to tell a rate.
    #[inline]
    #[must_use]
    pub fn is_reliable(&self, min_rtt: Option<Duration>) -> bool {
        let interval = self.interval();
        !interval.is_zero() && interval >= min_rtt.unwrap_or(Duration::ZERO)
    }
}

/// How congestion showed itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionKind {
    /// Loss found by duplicate or selective acknowledgments: recovery begins.
    Loss,
    /// An explicit notification (RFC 3168): as loss, but nothing to repair.
    Ecn,
    /// First retransmission timeout of a segment. A repeated timeout of the
    /// same segment is not reported again (RFC 5681 section 3.1, eq. 4).
    Timeout,
}

/// A congestion event: at most one per window of data.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was found.
    pub now: Instant,
    /// What it was.
    pub kind: CongestionKind,
    /// `FlightSize` of RFC 5681: octets sent and not cumulatively acknowledged.
    pub flight_size: Bytes,
    /// `pipe` of RFC 6675: octets estimated to be in the network.
    pub pipe: Bytes,
}

/// Octets of one transmission that were marked lost.
///
/// A transmission may be lost in parts; each is told once for each time it was
/// marked, lowest octet first, by whatever found it: SACK, time, a timeout.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it was found.
    pub now: Instant,
    /// Stream offset of the first octet: parts that touch are one lost range.
    pub from: u64,
    /// How many.
    pub octets: Bytes,
    /// Octets marked lost since it left, these included: `C.lost - P.lost`.
    pub lost: Bytes,
    /// Octets delivered in all by now: `C.delivered`.
    pub total_delivered: Bytes,
    /// Octets delivered in all when it left: `P.delivered`.
    pub prior_delivered: Bytes,
    /// Octets in flight when it left, itself included: `P.tx_in_flight`.
    pub tx_in_flight: Bytes,
    /// When it left.
    pub sent_at: Instant,
    /// Whether the application was the limit when it left.
    pub app_limited: bool,
    /// Whether it was sent before.
    pub is_retransmission: bool,
}

/// A departure: data that leaves, new or not.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it leaves.
    pub now: Instant,
    /// Octets that leave.
    pub octets: Bytes,
    /// Octets in flight, these included.
    pub in_flight: Bytes,
    /// Whether the application was the limit before.
    pub app_limited: bool,
}

/// Bounds for a window that was not in use (RFC 7661).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowBounds {
    /// cwnd falls to this, but not below one segment.
    pub cwnd_at_most: Bytes,
    /// ssthresh rises to this.
    pub ssthresh_at_least: Bytes,
    /// ssthresh falls to this, but not below two segments.
    pub ssthresh_at_most: Bytes,
}
