//! The model: maximum rate of 10 rounds, minimum RTT, ACK aggregation.
//!
//! * sample = delivered · 2^24 / interval, truncated; limited ones count if larger;
//! * a round ends with the first sample of data that left after it began;
//! * bdp = ⌈gain · bw · `min_rtt`⌉, 10 segments without an RTT;
//! * `extra_acked` = acknowledged in the epoch − bw · its length, largest of 5 to 10 rounds.

use gigatcp_units::{Duration, Instant};

use super::super::windowed_filter::MaxFilter;
use super::super::{Ack, RateSample};
use super::{Bbr, INITIAL_CWND, MAX_CWND, UNIT};

/// Scale of rates: segments per microsecond times 2^24 (`BW_UNIT`).
pub(super) const BW_SCALE: u32 = 24;
/// Rounds of the maximum filter of the rate.
const BW_ROUNDS: u64 = 10;
/// Maximum rate, to keep products within 128 bits.
const MAX_BW: u128 = 1 << 56;
/// Maximum RTT in microseconds, to keep products within 128 bits.
const MAX_RTT_US: u64 = 1 << 40;
/// Rounds in one of the two slots of `extra_acked`.
const SLOT_ROUNDS: u32 = 5;
/// Segments after which an epoch of aggregation restarts.
const MAX_EPOCH: u64 = 1 << 20;
/// Maximum of `extra_acked`, as time at the model's rate.
const MAX_EXTRA_US: u64 = 100_000;

/// Rate of `octets` in `us`.
pub(super) fn rate_of(octets: u64, mss: u64, us: u64) -> u64 {
    let segments = (u128::from(octets) << BW_SCALE) / u128::from(mss);
    (segments / u128::from(us.max(1))).min(MAX_BW) as u64
}

/// Segments sent at `bw` in `us`, rounded down.
fn segments_in(bw: u64, us: u64) -> u64 {
    let segments = (u128::from(bw) * u128::from(us)) >> BW_SCALE;
    u64::try_from(segments).unwrap_or(u64::MAX)
}

/// Maximum rate, minimum RTT, and rounds.
#[derive(Clone, Debug)]
pub(super) struct Model {
    bw: MaxFilter,
    pub(super) min_rtt_us: Option<u64>,
    /// Time when it was measured, or when ProbeRTT last measured it.
    pub(super) min_rtt_at: Option<Instant>,
    rounds: u64,
    /// Total octets delivered at which the next round starts.
    pub(super) next_round_delivered: u64,
    /// Whether the current ACK starts a round.
    pub(super) round_start: bool,
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            bw: MaxFilter::new(BW_ROUNDS),
            min_rtt_us: None,
            min_rtt_at: None,
            rounds: 0,
            next_round_delivered: 0,
            round_start: false,
        }
    }

    /// Starts the clock of `min_rtt`, on the first call.
    pub(super) fn begin(&mut self, now: Instant) {
        self.min_rtt_at.get_or_insert(now);
    }

    pub(super) fn take_rtt(&mut self, now: Instant, rtt: Duration) {
        self.min_rtt_us = Some(rtt.as_micros().clamp(1, MAX_RTT_US));
        self.min_rtt_at = Some(now);
    }

    pub(super) fn max_bw(&self) -> u64 {
        self.bw.value()
    }

    /// `gain` (in 1/256) times rate times RTT, in segments.
    pub(super) fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some(rtt) = self.min_rtt_us else {
            return INITIAL_CWND;
        };
        let scaled = (u128::from(bw) * u128::from(rtt) * u128::from(gain)) / u128::from(UNIT);
        let segments = scaled.div_ceil(1 << BW_SCALE);
        segments.min(u128::from(MAX_CWND)) as u64
    }
}

/// ACK aggregation: ACKs that arrive in clumps.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Aggregation {
    epoch_began: Option<Instant>,
    /// Segments acknowledged in the epoch.
    acked: u64,
    slots: [u64; 2],
    slot: usize,
    slot_rounds: u32,
}

impl Aggregation {
    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch_began = Some(now);
        self.acked = 0;
    }

    fn next_round(&mut self) {
        self.slot_rounds += 1;
        if self.slot_rounds >= SLOT_ROUNDS {
            self.slot_rounds = 0;
            self.slot ^= 1;
            self.slots[self.slot] = 0;
        }
    }

    /// Larger of both slots, in segments.
    fn extra(&self) -> u64 {
        self.slots[0].max(self.slots[1])
    }
}

/// Rate sample of an ACK, if reliable, and its interval in microseconds.
fn sample_of(ack: &Ack) -> Option<(&RateSample, u64)> {
    let sample = ack.rate.as_ref()?;
    let us = sample.interval().as_micros();
    (us > 0 && sample.is_reliable(ack.min_rtt)).then_some((sample, us))
}

impl Bbr {
    pub(super) fn update_bw(&mut self, ack: &Ack) {
        self.model.round_start = false;
        let Some((sample, us)) = sample_of(ack) else {
            return;
        };
        if sample.prior_delivered.as_u64() >= self.model.next_round_delivered {
            self.model.next_round_delivered = self.delivered;
            self.model.rounds += 1;
            self.model.round_start = true;
            self.packet_conservation = false;
        }
        let limited = self.control_limited.covers(sample);
        self.sample_long_term(ack.now, ack.lost.as_u64() > 0, limited);
        let bw = rate_of(sample.delivered.as_u64(), self.mss, us);
        if !limited || bw >= self.model.max_bw() {
            self.model.bw.on_sample(self.model.rounds, bw);
        }
    }

    pub(super) fn update_aggregation(&mut self, ack: &Ack) {
        let acked = self.segments(ack.delivered);
        if acked == 0 || sample_of(ack).is_none() {
            return;
        }
        let bw = self.bw();
        let epoch = &mut self.aggregation;
        if self.model.round_start {
            epoch.next_round();
        }
        let began = *epoch.epoch_began.get_or_insert(Instant::ZERO);
        let mut expected = segments_in(bw, ack.now.saturating_since(began).as_micros());
        if epoch.acked <= expected || epoch.acked.saturating_add(acked) >= MAX_EPOCH {
            epoch.restart(ack.now);
            expected = 0;
        }
        epoch.acked = epoch.acked.saturating_add(acked).min(MAX_EPOCH - 1);
        let extra = epoch.acked.saturating_sub(expected).min(self.cwnd);
        let slot = &mut epoch.slots[epoch.slot];
        *slot = extra.max(*slot);
    }

    /// Segments added to the window for ACK aggregation, once the pipe is full.
    pub(super) fn aggregation_allowance(&self) -> u64 {
        if !self.full_pipe.is_reached {
            return 0;
        }
        let most = segments_in(self.bw(), MAX_EXTRA_US);
        self.aggregation.extra().min(most)
    }
}
