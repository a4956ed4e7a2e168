//! Input of a congestion control: acknowledgments, losses, departures.
//!
//! Names beginning with `C.`, `P.` and `RS.` are those of draft-ietf-ccwg-bbr, which defines the
//! same quantities for a connection, a packet and a rate sample.

use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::events::Phase;

/// Information of one arriving acknowledgment for a congestion control.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ack {
    /// Arrival time.
    pub now: Instant,
    /// Octets that may grow the window: N of RFC 5681 eq. (2).
    ///
    /// These are the octets newly acknowledged cumulatively, with `growth_by_delivery` those newly
    /// known to be delivered. Zero while the minimum window is held (RFC 3168 section 6.1.2).
    pub acked: Bytes,
    /// Octets newly SACKed.
    pub sacked: Bytes,
    /// Octets newly delivered, by cumulative ACK or SACK: `DeliveredData` of RFC 9937. Never held
    /// back.
    pub delivered: Bytes,
    /// Total octets delivered, these included: `C.delivered` of draft-ietf-ccwg-bbr.
    pub total_delivered: Bytes,
    /// Octets marked lost on this ACK. [`Controller::on_lost`] has reported each, and also
    /// those that a timer found.
    ///
    /// [`Controller::on_lost`]: super::Controller::on_lost
    pub lost: Bytes,
    /// Delivered octets that arrived with CE: `DCTCP.BytesMarked` of RFC 8257 section 3.3.
    ///
    /// With accurate feedback (RFC 9768) this is the receiver's count. With the classic feedback
    /// of RFC 3168 it is all that an ACK with ECN-Echo covers, which is correct only if the
    /// receiver echoes as in RFC 8257 section 3.2.
    pub ce_marked: Bytes,
    /// Wire segments that arrived with CE, see [`Self::ce_marked`].
    pub ce_marked_segments: u32,
    /// Transmissions wholly acknowledged by this ACK: a super-segment counts once. With
    /// segmentation offload, Linux before 2.6.29 passed its controls this number as `packets
    /// acked`.
    pub acked_transmissions: u32,
    /// Recovery phase after this ACK was processed.
    pub phase: Phase,
    /// Octets in flight before this ACK: `pipe`.
    pub prior_in_flight: Bytes,
    /// Octets in flight after this ACK and its losses, before anything leaves. That is `pipe` and
    /// what was sent twice.
    pub in_flight: Bytes,
    /// Whether the sender had filled cwnd since the previous ACK. Otherwise the window has not
    /// been tested and should not grow (RFC 7661).
    pub cwnd_limited: bool,
    /// RTT measured by this ACK, if it allows one (Karn).
    pub rtt: Option<Duration>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Minimum RTT of the connection so far.
    pub min_rtt: Option<Duration>,
    /// Whether this ACK ends a round and begins the next. It is the first to report, cumulatively
    /// or by SACK, data sent after the previous round began.
    pub round_end: bool,
    /// Delivery rate sample, if this ACK delivered something.
    pub rate: Option<RateSample>,
}

/// Delivery rate sample, over the flight of the latest transmission just delivered. "Delivery
/// Rate Samples" of draft-ietf-ccwg-bbr.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Octets delivered between its departure and now: `RS.delivered`.
    pub delivered: Bytes,
    /// Octets marked lost between its departure and now: `RS.lost`.
    pub lost: Bytes,
    /// Total octets delivered when it left (identifies its round): `RS.prior_delivered`.
    pub prior_delivered: Bytes,
    /// Octets in flight when it left, itself included: `RS.tx_in_flight`.
    pub tx_in_flight: Bytes,
    /// Time from the latest departure then delivered to its departure: `RS.send_elapsed`.
    pub send_interval: Duration,
    /// Time from the last delivery before it left to now: `RS.ack_elapsed`.
    pub ack_interval: Duration,
    /// Whether the flow was application-limited when it left.
    pub app_limited: bool,
    /// Whether it was a retransmission.
    pub is_retransmission: bool,
    /// Whether this ACK was probably held back by the receiver (delayed ACK).
    pub ack_delayed: bool,
}

impl Ack {
    /// Asserts the invariants that every control may rely on.
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
    /// Asserts the invariants that every control may rely on.
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
    /// Longer of send interval and ACK interval: `RS.interval`.
    #[inline]
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.send_interval.max(self.ack_interval)
    }

    /// Delivery rate; `None` if the interval is zero or shorter than `min_rtt`. It is, for example,
    /// after a retransmission whose original arrived.
    #[must_use]
    pub fn rate(&self, min_rtt: Option<Duration>) -> Option<Rate> {
        self.is_reliable(min_rtt)
            .then(|| Rate::from_amount(self.delivered, self.interval()))
    }

    /// Whether the interval is long enough for a rate.
    #[inline]
    #[must_use]
    pub(crate) fn is_reliable(&self, min_rtt: Option<Duration>) -> bool {
        let interval = self.interval();
        !interval.is_zero() && interval >= min_rtt.unwrap_or(Duration::ZERO)
    }
}

/// Signal by which congestion was detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionKind {
    /// Loss detected by duplicate or selective acknowledgments: recovery begins.
    Loss,
    /// ECN (RFC 3168): as loss, but nothing to retransmit.
    Ecn,
    /// First retransmission timeout of a segment. A repeated timeout of the same segment is not
    /// reported (RFC 5681 section 3.1, eq. 4).
    Timeout,
}

/// Congestion event: at most one per window of data.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Time of detection.
    pub now: Instant,
    /// Signal by which it was detected.
    pub kind: CongestionKind,
    /// Octets sent and not cumulatively acknowledged: `FlightSize` of RFC 5681.
    pub flight_size: Bytes,
    /// Octets estimated to be in the network: `pipe` of RFC 6675.
    pub pipe: Bytes,
}

/// Octets of one transmission that were marked lost.
///
/// A transmission may be lost in parts. Each part is reported once for each time it was marked,
/// lowest octet first, whether SACK, time or a timeout found it.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Time of detection.
    pub now: Instant,
    /// Stream offset of the first octet: parts that touch are one lost range.
    pub from: u64,
    /// Number of octets.
    pub octets: Bytes,
    /// Octets marked lost since it left, these included: `C.lost - P.lost`.
    pub lost: Bytes,
    /// Total octets delivered by now: `C.delivered`.
    pub total_delivered: Bytes,
    /// Total octets delivered when it left: `P.delivered`.
    pub prior_delivered: Bytes,
    /// Octets in flight when it left, itself included: `P.tx_in_flight`.
    pub tx_in_flight: Bytes,
    /// Time when it left.
    pub sent_at: Instant,
    /// Whether the flow was application-limited when it left.
    pub app_limited: bool,
    /// Whether it was a retransmission.
    pub is_retransmission: bool,
}

/// Departure of data, new or retransmitted.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Time of departure.
    pub now: Instant,
    /// Octets sent.
    pub octets: Bytes,
    /// Octets in flight, these included.
    pub in_flight: Bytes,
    /// Whether the flow was application-limited before.
    pub app_limited: bool,
}

/// Bounds for a window that was not in use (RFC 7661).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowBounds {
    /// Value to which cwnd falls, but not below one segment.
    pub cwnd_at_most: Bytes,
    /// Value to which ssthresh rises.
    pub ssthresh_at_least: Bytes,
    /// Value to which ssthresh falls, but not below two segments.
    pub ssthresh_at_most: Bytes,
}
