//! Delayed acknowledgments: RFC 9293 section 3.8.6.3, RFC 5681 section 4.2.
//!
//! * Data beyond a gap, filling one, or duplicate: acknowledged immediately.
//! * While the connection is young: immediately (quick-ACK), for a number of acknowledgments. A
//!   receive window that still grows renews it. Therefore Linux acknowledges every segment until
//!   its window is fully open (see [`crate::receive_window`]).
//! * Otherwise every `ack_every` full-sized segments, or when the timer expires, whichever is
//!   first.
//!
//! If an acknowledgment would announce a smaller window because the application has not read yet,
//! Linux delays it until the read. The segments per acknowledgment are then those between two
//! reads.
//!
//! Out of scope: adapting the timer to the arrival rate (Linux `ato`), which matters only for
//! interactive traffic.

use gigatcp_units::{Duration, Instant};

use crate::profile::Profile;

/// In-order data that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Payload octets.
    pub len: u64,
    /// Payload octets of one wire segment.
    pub segment_size: u64,
    /// RCV.WND.
    pub wnd: u64,
    /// Segments per acknowledgment.
    pub ack_every: u32,
    /// Whether an acknowledgment now would announce a smaller window than the last.
    pub must_wait_for_reader: bool,
}

/// State of delayed acknowledgments.
#[derive(Clone, Debug)]
pub struct DelayedAck {
    /// An acknowledgment must leave at the next opportunity.
    due: bool,
    /// The acknowledgment must leave without data. Data segments carry no SACK blocks, and with
    /// data it does not count as a duplicate acknowledgment (RFC 5681 section 2).
    alone: bool,
    /// Latest time at which a delayed acknowledgment leaves.
    deadline: Instant,
    /// Remaining number of quick-ACKs.
    quick: u32,
    /// Octets received since the last acknowledgment.
    unacked: u64,
    /// Largest segment seen: the full size.
    rcv_mss: u64,
    started: bool,
}

impl DelayedAck {
    /// Returns the state with nothing to acknowledge.
    pub fn new() -> Self {
        Self {
            due: false,
            alone: false,
            deadline: Instant::FAR_FUTURE,
            quick: 0,
            unacked: 0,
            rcv_mss: 0,
            started: false,
        }
    }

    /// Whether an acknowledgment must leave now.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// Whether an acknowledgment is delayed for more data or a timer.
    pub fn is_held_back(&self) -> bool {
        self.deadline != Instant::FAR_FUTURE && !self.due
    }

    /// Latest time at which a delayed acknowledgment leaves.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Requests an acknowledgment at the next opportunity.
    #[inline]
    pub fn demand(&mut self) {
        self.due = true;
    }

    /// Requests an acknowledgment without data at the next opportunity.
    #[inline]
    pub fn demand_alone(&mut self) {
        self.due = true;
        self.alone = true;
    }

    /// Whether an acknowledgment must leave now, without data.
    #[inline]
    pub fn is_due_alone(&self) -> bool {
        self.alone
    }

    /// Delays an acknowledgment for data or its timer. Without any earlier data it is due
    /// immediately.
    pub fn hold_back(&mut self, now: Instant, profile: &Profile) {
        if !profile.acknowledgments.delayed_ack || !self.started {
            self.due = true;
        } else if self.deadline == Instant::FAR_FUTURE {
            self.deadline = now + profile.acknowledgments.delayed_ack_timeout;
        }
    }

    /// Requests a quick-ACK after the receive window grew.
    pub fn on_window_growth(&mut self) {
        self.quick = self.quick.max(1);
    }

    /// Ends quick-ACKs (Linux clears `icsk_ack.quick`).
    pub fn end_quick(&mut self) {
        self.started = true;
        self.quick = 0;
    }

    /// Processes in-order data.
    #[inline]
    pub fn on_data(&mut self, now: Instant, profile: &Profile, data: &Data) {
        self.rcv_mss = self.rcv_mss.max(data.segment_size);
        if !self.started {
            self.started = true;
            self.start_quick(profile, data.wnd);
        }
        self.unacked += data.len;
        let enough = self.has_enough(data.ack_every) && !data.must_wait_for_reader;
        if !profile.acknowledgments.delayed_ack || self.quick > 0 || enough {
            self.due = true;
        } else if self.deadline == Instant::FAR_FUTURE {
            self.deadline = now + profile.acknowledgments.delayed_ack_timeout;
        }
    }

    /// Whether more than `ack_every` - 1 full segments are unacknowledged.
    #[inline]
    fn has_enough(&self, ack_every: u32) -> bool {
        debug_assert!(ack_every > 0, "an acknowledgment for every zero segments");
        self.unacked > u64::from(ack_every - 1) * self.rcv_mss
    }

    /// Notes a read by the application; an acknowledgment that waited for it becomes due.
    #[inline]
    pub fn on_read(&mut self, ack_every: u32) {
        if self.has_enough(ack_every) {
            self.due = true;
        }
    }

    /// Sets the quick-ACKs at the start: half a window of full segments, at most `quick_acks`.
    fn start_quick(&mut self, profile: &Profile, wnd: u64) {
        if profile.acknowledgments.quick_ack {
            let half_window = (wnd / (2 * self.rcv_mss.max(1))).max(2);
            self.quick = u32::try_from(half_window)
                .unwrap_or(u32::MAX)
                .min(profile.acknowledgments.quick_acks);
        }
    }

    /// Notes that an acknowledgment of everything left, alone or with data.
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.due = false;
        self.alone = false;
        self.deadline = Instant::FAR_FUTURE;
        self.unacked = 0;
        self.quick = self.quick.saturating_sub(1);
    }

    /// Handles a passed deadline.
    pub fn handle_timeout(&mut self, now: Instant) {
        debug_assert!(
            self.due || !self.alone,
            "an acknowledgment is to leave alone, and not to leave"
        );
        if self.deadline <= now {
            self.due = true;
            self.deadline = Instant::FAR_FUTURE;
        }
    }
}

/// Segments per acknowledgment at `age` after establishment. It is the profile's number, or its
/// later one.
#[inline]
pub fn ack_every(profile: &Profile, age: Duration) -> u32 {
    match profile.acknowledgments.ack_every_switch {
        Some(switch) if age >= switch => profile.acknowledgments.ack_every_later,
        _ => profile.acknowledgments.ack_every,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(must_wait_for_reader: bool) -> Data {
        Data {
            len: 1448,
            segment_size: 1448,
            wnd: 1 << 20,
            ack_every: 2,
            must_wait_for_reader,
        }
    }

    #[test]
    fn an_acknowledgment_that_waits_for_the_reader_leaves_when_it_has_read() {
        let profile = Profile::LINUX_2_6_20.with(|profile| {
            profile.acknowledgments.quick_ack = false;
        });
        let mut ack = DelayedAck::new();
        for _ in 0..3 {
            ack.on_data(Instant::ZERO, &profile, &segment(true));
            assert!(!ack.is_due());
        }
        ack.on_read(2);
        assert!(ack.is_due());
    }

    fn arrivals_until_ack(ack: &mut DelayedAck, profile: &Profile) -> u32 {
        let mut arrivals = 0;
        while !ack.is_due() {
            arrivals += 1;
            ack.on_data(Instant::ZERO, profile, &segment(false));
        }
        ack.on_ack_sent();
        arrivals
    }

    #[test]
    fn sixteen_segments_are_acknowledged_one_by_one_and_then_every_second_one() {
        let profile = Profile::MODERN;
        let mut ack = DelayedAck::new();
        let pattern: [u32; 20] = core::array::from_fn(|_| arrivals_until_ack(&mut ack, &profile));
        assert_eq!(pattern[..16], [1; 16]);
        assert_eq!(pattern[16..], [2; 4]);
    }

    #[test]
    fn a_lone_segment_is_acknowledged_when_the_timer_runs_out() {
        let profile = Profile::MODERN.with(|profile| {
            profile.acknowledgments.quick_ack = false;
        });
        let mut ack = DelayedAck::new();
        ack.on_data(Instant::ZERO, &profile, &segment(false));
        assert!(!ack.is_due());
        assert_eq!(ack.deadline(), Instant::ZERO + Duration::from_millis(40));
        ack.handle_timeout(ack.deadline());
        assert!(ack.is_due());
    }
}
