//! When to acknowledge: RFC 9293 section 3.8.6.3, RFC 5681 section 4.2.
//!
//! * Beyond a hole, filling one, or a duplicate: at once.
//! * While the connection is young: at once (quick-ACK). How long is counted
//!   in acknowledgments; a receive window that still grows renews it, which
//!   is why Linux acknowledges every segment until its window is fully open
//!   (see [`crate::receive_window`]).
//! * Otherwise every `ack_every` full-sized segments, or when the timer runs
//!   out, whichever is first.
//!
//! Where an acknowledgment would have to announce a smaller window because the
//! application has not read yet, Linux lets it wait for the reader; then the
//! number of segments per acknowledgment is what arrives between two reads.
//!
//! Does not adapt the timer to the arrival rate (Linux `ato`): that matters
//! for interactive traffic only.

use gigatcp_units::{Duration, Instant};

use crate::profile::Profile;

/// In-order data that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Its octets.
    pub len: u64,
    /// Octets of one wire segment.
    pub segment_size: u64,
    /// RCV.WND.
    pub wnd: u64,
    /// Segments per acknowledgment.
    pub ack_every: u32,
    /// An acknowledgment now would announce a smaller window than the last.
    pub must_wait_for_reader: bool,
}

/// The receiver's state of mind about acknowledging.
#[derive(Clone, Debug)]
pub struct DelayedAck {
    /// An acknowledgment must leave at the next opportunity.
    due: bool,
    /// It must leave without data: data segments carry no SACK blocks, and
    /// with data it does not count as a duplicate acknowledgment (RFC 5681 section 2).
    alone: bool,
    /// When a held-back acknowledgment leaves at the latest.
    deadline: Instant,
    /// Acknowledgments still to be sent at once.
    quick: u32,
    /// Octets received since the last acknowledgment.
    unacked: u64,
    /// Largest segment seen: what counts as full-sized.
    rcv_mss: u64,
    started: bool,
}

impl DelayedAck {
    /// Nothing to acknowledge; a full-sized segment has at most `mss` octets.
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

    /// Whether an acknowledgment is held back for more data or a timer.
    pub fn is_held_back(&self) -> bool {
        self.deadline != Instant::FAR_FUTURE && !self.due
    }

    /// When a held-back acknowledgment leaves at the latest.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Acknowledge at the next opportunity.
    #[inline]
    pub fn demand(&mut self) {
        self.due = true;
    }

    /// Acknowledge at the next opportunity, and without data.
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

    /// An acknowledgment waits for data to ride on, or for its timer; not where
    /// no data ever came, and there is no conversation to wait for.
    pub fn hold_back(&mut self, now: Instant, profile: &Profile) {
        if !profile.acknowledgments.delayed_ack || !self.started {
            self.due = true;
        } else if self.deadline == Instant::FAR_FUTURE {
            self.deadline = now + profile.acknowledgments.delayed_ack_timeout;
        }
    }

    /// The receive window grew: the next acknowledgment leaves at once.
    pub fn on_window_growth(&mut self) {
        self.quick = self.quick.max(1);
    }

    /// Acknowledgments leave at once no more (Linux clears `icsk_ack.quick`).
    pub fn end_quick(&mut self) {
        self.started = true;
        self.quick = 0;
    }

    /// In-order data of `len` octets arrived, in segments of at most
    /// `segment_size`; `wnd` is the receive window.
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

    /// More than `ack_every` - 1 full segments wait for an acknowledgment.
    #[inline]
    fn has_enough(&self, ack_every: u32) -> bool {
        debug_assert!(ack_every > 0, "an acknowledgment for every zero segments");
        self.unacked > u64::from(ack_every - 1) * self.rcv_mss
    }

    /// The application has read: an acknowledgment that waited for it, leaves.
    #[inline]
    pub fn on_read(&mut self, ack_every: u32) {
        if self.has_enough(ack_every) {
            self.due = true;
        }
    }

    /// Quick-ACK at the start: half a window of full segments, at most
    /// `quick_acks`.
    fn start_quick(&mut self, profile: &Profile, wnd: u64) {
        if profile.acknowledgments.quick_ack {
            let half_window = (wnd / (2 * self.rcv_mss.max(1))).max(2);
            self.quick = u32::try_from(half_window)
                .unwrap_or(u32::MAX)
                .min(profile.acknowledgments.quick_acks);
        }
    }

    /// An acknowledgment of everything left, alone or with data.
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.due = false;
        self.alone = false;
        self.deadline = Instant::FAR_FUTURE;
        self.unacked = 0;
        self.quick = self.quick.saturating_sub(1);
    }

    /// Lets a deadline that has passed take effect.
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

/// Segments per acknowledgment at `age` after establishment: the profile's
/// number, or its declared later one.
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
