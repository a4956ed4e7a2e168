//! The model: maximum rate of two cycles, minimum RTT of 10 s, ACK aggregation.
//!
//! * bw = min(`max_bw`, `bw_short`), bdp = bw · `min_rtt`;
//! * a round ends with the first sample of data that left after it began;
//! * `extra_acked` = acknowledged in the epoch − bw · its length, at most cwnd: largest of 10
//!   rounds, of one in Startup.

use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::super::rate_model::scaled;
use super::super::windowed_filter::MaxFilter;
use super::super::{Ack, RateSample};
use super::{Bbr3, Sample, State, UNIT};

/// `ExtraAckedFilterLen`.
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// Maximum rate in octets per second, to keep its multiples within 64 bits.
const MAX_RATE: u64 = 1 << 50;

/// Rates and rounds.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// Maximum of the previous cycle and of this one (`MaxBwFilterLen` 2). Exact, unlike a filter
    /// of three samples, which may drop the larger one.
    max: [u64; 2],
    pub(super) bw: u64,
    pub(super) cycle_count: u64,
    pub(super) round_count: u64,
    pub(super) round_start: bool,
    next_round_delivered: u64,
}

impl Rates {
    pub(super) fn new() -> Self {
        Self {
            max: [0; 2],
            bw: 0,
            cycle_count: 0,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
        }
    }

    pub(super) fn max_bw(&self) -> u64 {
        self.max[0].max(self.max[1])
    }

    /// Implements `AdvanceMaxBwFilter`; after a cycle without a sample the filter stays, as in
    /// Linux.
    pub(super) fn next_cycle(&mut self) {
        self.cycle_count += 1;
        if self.max[1] > 0 {
            self.max = [self.max[1], 0];
        }
    }

    /// Implements `StartRound`.
    pub(super) fn start_round(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }
}

/// Minimum RTT of 10 s, and the time of the last ProbeRTT.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct MinRtts {
    pub(super) min_rtt: Option<Duration>,
    pub(super) min_rtt_at: Instant,
    pub(super) probe_min: Option<Duration>,
    pub(super) probe_min_at: Option<Instant>,
}

impl MinRtts {
    /// Starts the clocks, on the first call.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.probe_min_at.is_none() {
            self.probe_min_at = Some(now);
            self.min_rtt_at = now;
        }
    }

    pub(super) fn take(&mut self, now: Instant, rtt: Duration) {
        *self = Self {
            min_rtt: Some(rtt),
            min_rtt_at: now,
            probe_min: Some(rtt),
            probe_min_at: Some(now),
        };
    }
}

/// Epoch of ACK aggregation.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    pub(super) began: Instant,
    pub(super) acked: u64,
    extra: MaxFilter,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::ZERO,
            acked: 0,
            extra: MaxFilter::new(0),
        }
    }

    pub(super) fn restart(&mut self, now: Instant) {
        self.began = now;
        self.acked = 0;
    }

    pub(super) fn extra(&self) -> u64 {
        self.extra.value()
    }
}

fn octets_in(rate: u64, span: Duration) -> u64 {
    Rate::from_bps(8 * rate).amount_in(span).as_u64()
}

impl Bbr3 {
    /// Stores the rate sample of the ACK; returns whether it has one.
    pub(super) fn take_sample(&mut self, ack: &Ack) -> bool {
        let reliable = |one: &RateSample| one.is_reliable(ack.min_rtt);
        let Some(sample) = ack.rate.filter(reliable) else {
            self.sample = Sample::default();
            return false;
        };
        let rate = Rate::from_amount(sample.delivered, sample.interval());
        self.sample = Sample {
            rate: (rate.as_bps() / 8).min(MAX_RATE),
            delivered: sample.delivered.as_u64(),
            lost: sample.lost.as_u64(),
            prior_delivered: sample.prior_delivered.as_u64(),
            tx_in_flight: sample.tx_in_flight.as_u64(),
            app_limited: self.control_limited.covers(&sample),
        };
        true
    }

    /// Implements `UpdateRound`.
    fn update_round(&mut self) {
        let rates = &mut self.rates;
        debug_assert!(
            rates.next_round_delivered <= self.delivered,
            "the round ends at {} octets delivered, {} are",
            rates.next_round_delivered,
            self.delivered
        );
        rates.round_start = self.sample.prior_delivered >= rates.next_round_delivered;
        if rates.round_start {
            rates.start_round(self.delivered);
            rates.round_count += 1;
            self.cycle.rounds_since_probe += 1;
        }
    }

    /// Implements `UpdateMaxBw`.
    pub(super) fn update_max_bw(&mut self) {
        self.update_round();
        let Sample {
            rate, app_limited, ..
        } = self.sample;
        if rate > 0 && (rate >= self.rates.max_bw() || !app_limited) {
            self.rates.max[1] = self.rates.max[1].max(rate);
        }
    }

    /// Implements `UpdateACKAggregation`.
    pub(super) fn update_aggregation(&mut self, ack: &Ack) {
        let (bw, now) = (self.rates.bw, ack.now);
        let epoch = &mut self.aggregation;
        let mut expected = octets_in(bw, now.saturating_since(epoch.began));
        if epoch.acked <= expected {
            epoch.restart(now);
            expected = 0;
        }
        epoch.acked = epoch.acked.saturating_add(ack.delivered.as_u64());
        let extra = epoch.acked.saturating_sub(expected).min(self.cwnd);
        let rounds = if self.full_bw.is_reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        // The current round is one of them.
        epoch.extra.set_window(rounds - 1);
        epoch.extra.on_sample(self.rates.round_count, extra);
    }

    /// `gain` · `rate` · `min_rtt` (`BDPMultiple`); without an RTT the initial window.
    pub(super) fn bdp_of(&self, rate: u64, gain: u64) -> u64 {
        match self.rtt.min_rtt {
            None => self.initial_cwnd,
            Some(rtt) => scaled(octets_in(rate, rtt), gain, UNIT),
        }
    }

    /// Implements `TargetInflight`.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp_of(self.rates.bw, UNIT).min(self.cwnd)
    }

    /// A full pipe without a queue: `Inflight(max_bw, 1.0)`.
    pub(super) fn full_pipe(&self) -> u64 {
        self.with_budget(self.bdp_of(self.rates.max_bw(), UNIT))
    }

    /// Four segments.
    pub(super) fn min_pipe(&self) -> u64 {
        super::MIN_PIPE * self.smss
    }

    /// Sets the first pacing rate: 2.77 · cwnd / (SRTT or 1 ms).
    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Duration>) {
        self.has_seen_rtt |= srtt.is_some();
        let one = Duration::from_millis(1);
        let span = srtt.unwrap_or(one).max(Duration::from_micros(1));
        let rate = Rate::from_amount(Bytes::new(self.cwnd), span).as_bps() / 8;
        let gain = State::Startup.pacing_gain();
        self.pacing_rate = scaled(rate.min(MAX_RATE), gain, UNIT).max(1);
    }
}
