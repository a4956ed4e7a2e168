//! Delayed acknowledgments: RFC 9293 section 3.8.6.3, RFC 5681 section 4.2.
//!
//! * Data beyond a gap, filling one, or duplicate: acknowledged immediately. With `compressed_acks`
//!   only the first [`GAP_ACKS`] arrivals beyond a gap are; then one ACK stands for several, after
//!   a short timer (Linux, ip-sysctl.rst, `tcp_comp_sack_nr`). Loss detection needs the first
//!   three. A later ACK repeats the SACK blocks of those left out, up to [`GAP_BLOCKS`] of them.
//! * While the connection is young: immediately (quick-ACK), for a number of acknowledgments. A
//!   receive window that still grows renews it. Therefore Linux acknowledges every segment until
//!   its window is fully open (see [`crate::receive_window`]). With `quick_ack_again` a pause and
//!   data received before begin it again.
//! * Otherwise every `ack_every` full-sized segments, or when the timer expires, whichever is
//!   first.
//!
//! If an acknowledgment would announce a smaller window because the application has not read yet,
//! Linux delays it until the read. The segments per acknowledgment are then those between two
//! reads. With `ack_of_push` what may be the end of a write, PSH or a small segment, is acknowledged
//! once everything is read.
//!
//! Out of scope: adapting the timer to the arrival rate (Linux `ato`), which matters only for
//! interactive traffic.

use gigatcp_units::{Duration, Instant};

use crate::profile::Profile;

/// ACKs for arrivals beyond a gap before any is left out: fast retransmit needs three.
const GAP_ACKS: u8 = 3;

/// Recently changed SACK blocks that every ACK surely reports. An arrival elsewhere ends the wait.
pub const GAP_BLOCKS: usize = 2;

/// Part of the RTT that an ACK waits for others at most.
const RTT_PART: u64 = 20;

/// In-order data that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Payload octets.
    pub len: u64,
    /// Payload octets of one wire segment.
    pub segment_size: u32,
    /// RCV.WND.
    pub wnd: u64,
    /// Segments per acknowledgment.
    pub ack_every: u32,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Whether it has PSH.
    pub has_push: bool,
    /// Whether an acknowledgment now would announce a smaller window than the last.
    pub must_wait_for_reader: bool,
}

/// An arrival that leaves a gap.
#[derive(Clone, Copy, Debug)]
pub struct GapArrival {
    /// Whether it advanced RCV.NXT, to another gap.
    pub advanced: bool,
    /// Whether it is outside the [`GAP_BLOCKS`] recently changed SACK blocks.
    pub is_elsewhere: bool,
    /// RTT, if known and with SACK.
    pub rtt: Option<Duration>,
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
    quick: u16,
    /// Octets received since the last acknowledgment.
    unacked: u64,
    /// Largest segment seen: the full size.
    rcv_mss: u32,
    started: bool,
    /// Time at which RCV.NXT last advanced; `FAR_FUTURE`: not yet.
    data_at: Instant,
    /// Data of the application carries acknowledgments: none is quick, until one had to leave by the
    /// timer (Linux's pingpong mode).
    is_interactive: bool,
    /// Whether something unacknowledged may be the end of a write.
    is_pushed: bool,
    /// ACKs sent for the current gap.
    gap_acks: u8,
    /// Arrivals beyond a gap since the last ACK.
    compressed: u16,
}

impl DelayedAck {
    /// State with nothing to acknowledge.
    pub fn new() -> Self {
        Self {
            due: false,
            alone: false,
            deadline: Instant::FAR_FUTURE,
            quick: 0,
            unacked: 0,
            rcv_mss: 0,
            started: false,
            data_at: Instant::FAR_FUTURE,
            is_interactive: false,
            is_pushed: false,
            gap_acks: 0,
            compressed: 0,
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

    /// Processes an arrival that leaves a gap. It is acknowledged now, or together with others if
    /// the profile compresses ACKs.
    pub fn on_gap(&mut self, now: Instant, profile: &Profile, arrival: GapArrival) {
        if arrival.advanced {
            self.gap_acks = 0;
        }
        let would_hide = arrival.is_elsewhere && self.compressed > 0;
        let most = profile.acknowledgments.compressed_acks;
        let waits = self.gap_acks >= GAP_ACKS && u32::from(self.compressed) < most;
        let may_wait = waits && !would_hide && self.quick == 0 && !self.due;
        let Some(rtt) = arrival.rtt.filter(|_| may_wait) else {
            self.gap_acks = self.gap_acks.saturating_add(1);
            return self.demand_alone();
        };
        self.compressed += 1;
        let delay = profile
            .acknowledgments
            .compressed_ack_delay
            .min(rtt / RTT_PART);
        self.deadline = self.deadline.min(now + delay);
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

    /// Notes that data of the application carries acknowledgments.
    pub fn set_interactive(&mut self) {
        self.is_interactive = true;
    }

    /// Processes in-order data.
    #[inline]
    pub fn on_data(&mut self, now: Instant, profile: &Profile, data: &Data) {
        self.rcv_mss = self.rcv_mss.max(data.segment_size);
        self.on_progress(now, profile, data.rto, data.wnd);
        self.unacked += data.len;
        self.is_pushed |= data.has_push || data.segment_size < self.rcv_mss;
        self.gap_acks = 0;
        let enough = self.has_enough(data.ack_every) && !data.must_wait_for_reader;
        let is_quick = self.quick > 0 && !self.is_interactive;
        if !profile.acknowledgments.delayed_ack || is_quick || enough {
            self.due = true;
        } else if self.deadline == Instant::FAR_FUTURE {
            self.deadline = now + profile.acknowledgments.delayed_ack_timeout;
        }
    }

    /// Notes that RCV.NXT advanced, into a window of `wnd`.
    #[inline]
    pub fn on_progress(&mut self, now: Instant, profile: &Profile, rto: Duration, wnd: u64) {
        let pause = now.saturating_since(core::mem::replace(&mut self.data_at, now));
        if !self.started {
            self.started = true;
            self.start_quick(profile, wnd);
        } else if pause > rto && profile.acknowledgments.quick_ack_again {
            self.start_quick(profile, wnd);
        }
    }

    /// Whether more than `ack_every` - 1 full segments are unacknowledged.
    #[inline]
    fn has_enough(&self, ack_every: u32) -> bool {
        debug_assert!(ack_every > 0, "an acknowledgment for every zero segments");
        self.unacked > u64::from(ack_every - 1) * u64::from(self.rcv_mss)
    }

    /// Notes a read by the application; an acknowledgment that waited for it becomes due.
    #[inline]
    pub fn on_read(&mut self, ack_every: u32) {
        if self.has_enough(ack_every) {
            self.due = true;
        }
    }

    /// Notes that the application has read everything. An acknowledgment of the end of a write
    /// becomes due.
    #[inline]
    pub fn on_all_read(&mut self) {
        self.due |= self.is_pushed && !self.is_interactive;
    }

    /// Notes data that had arrived before, into a window of `wnd`: the sender has lost ACKs or its
    /// window is small. Ends interactive mode (Linux `tcp_enter_quickack_mode`).
    #[cold]
    pub fn on_repeated(&mut self, profile: &Profile, wnd: u64) {
        if profile.acknowledgments.quick_ack_again {
            self.is_interactive = false;
            self.start_quick(profile, wnd);
        }
    }

    /// Sets the quick-ACKs at the start: half a window of full segments, at most `quick_acks`.
    fn start_quick(&mut self, profile: &Profile, wnd: u64) {
        if profile.acknowledgments.quick_ack {
            let half_window = (wnd / (2 * u64::from(self.rcv_mss.max(1)))).max(2);
            let quick = half_window.min(u64::from(profile.acknowledgments.quick_acks));
            self.quick = self.quick.max(u16::try_from(quick).unwrap_or(u16::MAX));
        }
    }

    /// Notes that an acknowledgment of everything left, alone or with data.
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.due = false;
        self.alone = false;
        self.deadline = Instant::FAR_FUTURE;
        self.unacked = 0;
        self.is_pushed = false;
        self.compressed = 0;
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
            self.is_interactive = false;
            self.alone |= self.compressed > 0;
            self.deadline = Instant::FAR_FUTURE;
        }
    }
}

/// Segments per acknowledgment at `age` after establishment. It is the profile's number, or its
/// later one.
#[inline]
pub fn ack_every(profile: &Profile, age: impl FnOnce() -> Duration) -> u32 {
    match profile.acknowledgments.ack_every_switch {
        Some(switch) if age() >= switch => profile.acknowledgments.ack_every_later,
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
            rto: Duration::from_millis(200),
            has_push: false,
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
    fn beyond_a_gap_three_acks_leave_at_once_and_then_one_for_many_after_a_twentieth_of_the_rtt() {
        let mut profile = Profile::LINUX_6_18;
        profile.acknowledgments.quick_ack = false;
        let arrival = |advanced| GapArrival {
            advanced,
            is_elsewhere: false,
            rtt: Some(Duration::from_millis(10)),
        };
        let mut ack = DelayedAck::new();
        for advanced in [true, false, false] {
            ack.on_gap(Instant::ZERO, &profile, arrival(advanced));
            assert!(ack.is_due_alone());
            ack.on_ack_sent();
        }
        for _ in 0..44 {
            ack.on_gap(Instant::ZERO, &profile, arrival(false));
            assert!(!ack.is_due());
        }
        assert_eq!(ack.deadline(), Instant::ZERO + Duration::from_micros(500));
        ack.on_gap(Instant::ZERO, &profile, arrival(false));
        assert!(ack.is_due_alone(), "44 are left out at most");
        ack.on_ack_sent();
        ack.on_gap(Instant::ZERO, &profile, arrival(false));
        ack.handle_timeout(ack.deadline());
        assert!(ack.is_due_alone());
        ack.on_ack_sent();
        ack.on_gap(Instant::ZERO, &profile, arrival(false));
        let elsewhere = GapArrival {
            is_elsewhere: true,
            ..arrival(false)
        };
        ack.on_gap(Instant::ZERO, &profile, elsewhere);
        assert!(ack.is_due_alone(), "a block would be forgotten");
        ack.on_ack_sent();
        ack.on_gap(Instant::ZERO, &profile, arrival(true));
        assert!(ack.is_due_alone(), "another gap");
    }

    #[test]
    fn without_compression_or_an_rtt_every_arrival_beyond_a_gap_is_acknowledged() {
        for (profile, rtt) in [
            (Profile::MODERN, Some(Duration::from_millis(10))),
            (Profile::LINUX_6_18, None),
        ] {
            let mut ack = DelayedAck::new();
            for _ in 0..300 {
                let arrival = GapArrival {
                    advanced: false,
                    is_elsewhere: false,
                    rtt,
                };
                ack.on_gap(Instant::ZERO, &profile, arrival);
                assert!(ack.is_due_alone());
                ack.on_ack_sent();
            }
        }
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
