//! BBR, version 3, as in draft-ietf-ccwg-bbr-06 of July 2026.
//!
//! Names are the draft's. Octets, octets per second, gains in 1/1000. One file per mechanism:
//! `model` (rates, rounds, RTT, aggregation), `startup`, `drain`, `probe_bw` (`down`, `cruise`,
//! `refill`, `up`), `probe_rtt`, `loss` (bounds), `recovery` (saved window and undo), `idle`,
//! `window` (cwnd, pacing rate, quantum).
//!
//! Where the draft is incomplete or contradictory:
//!
//! * `CheckStartupHighLoss` has no pseudocode. Here Startup ends at the end of a round in
//!   Recovery whose sample lost more than 2 %, in at least six ranges. Linux counts ACKs that
//!   show losses.
//! * Drain ends with the third round start after its own, not with the fourth.
//! * Drain is not bounded by `inflight_long`, as in `BoundCwndForModel` and in Linux.
//! * ProbeRTT keeps half a BDP in flight, not four packets.
//! * `Inflight()` and the end of Drain use `max_bw`; the window uses `bw`.
//! * The appendix has the state saved upon any loss, the pseudocode none; here the one that the loss
//!   ended. It is saved at the first loss of a round alone: entering recovery follows that loss, and
//!   saving there again, as in the draft, would keep what the loss has just changed.
//! * Without SACK any loss is too much in the draft; here the 2 % apply as well.
//! * `probe_rtt_min_delay` begins unset, `loss_round_delivered` with 0.
//! * Restart from idle begins a new epoch of aggregation, its octets included.
//! * CE marks count as congestion; the draft does not specify how. A round with a mark is one in
//!   which less than 2 % was lost (RFC 3168 section 5: as a single loss). Linux v3 reacts only to
//!   marks of low-latency routes, by their share.

mod drain;
mod idle;
mod loss;
mod model;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod startup;
#[cfg(test)]
mod tests;
mod window;

use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::rate_model::ControlLimited;
use super::{Ack, Config, Congestion, CongestionKind, Controller, Lost, Sent};
use crate::events::Phase;
use loss::Bounds;
use model::{Aggregation, MinRtts, Rates};
use probe_bw::Cycle;
use probe_rtt::ProbeRtt;
use recovery::Saved;
use startup::FullBw;

/// Unit of gains and shares: 1/1000.
const UNIT: u64 = 1000;
/// Value of a bound that is not set.
const UNBOUNDED: u64 = u64::MAX;
/// `MinPipeCwnd`, in segments.
const MIN_PIPE: u64 = 4;
/// Maximum window in octets, to keep sums within 64 bits.
const MAX_CWND: u64 = 1 << 60;

/// `BBR.state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Implements `IsInAProbeBWState`.
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether it sends more than was delivered: `IsProbingBW`.
    fn probes(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => 2770,
            Self::Drain => 500,
            Self::Down => 900,
            Self::Cruise | Self::Refill | Self::ProbeRtt => UNIT,
            Self::Up => 1250,
        }
    }

    fn cwnd_gain(self) -> u64 {
        match self {
            Self::Up => 2250,
            Self::ProbeRtt => 500,
            _ => 2000,
        }
    }
}

/// Rate sample of the current ACK: `RS.*`.
#[derive(Clone, Copy, Default, Debug)]
struct Sample {
    /// `RS.delivery_rate`, octets per second.
    rate: u64,
    delivered: u64,
    lost: u64,
    prior_delivered: u64,
    tx_in_flight: u64,
    app_limited: bool,
}

/// BBR control of version 3.
#[derive(Clone, Debug)]
pub(super) struct Bbr3 {
    smss: u64,
    initial_cwnd: u64,
    cwnd: u64,
    state: State,
    /// Octets per second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    rates: Rates,
    rtt: MinRtts,
    aggregation: Aggregation,
    full_bw: FullBw,
    drain_start_round: u64,
    cycle: Cycle,
    bounds: Bounds,
    probe_rtt: ProbeRtt,
    saved: Saved,
    control_limited: ControlLimited,
    idle_restart: bool,
    cwnd_limited: bool,
    sample: Sample,
    /// `C.inflight` and `C.delivered`.
    in_flight: u64,
    delivered: u64,
    random: Stream,
}

impl Bbr3 {
    /// Creates a control in Startup.
    pub(super) fn new(config: &Config) -> Self {
        let smss = u64::from(config.smss.max(1));
        let initial_cwnd = config.initial_window.as_u64().clamp(smss, MAX_CWND);
        let mut control = Self {
            smss,
            initial_cwnd,
            cwnd: initial_cwnd,
            state: State::Startup,
            pacing_rate: 0,
            has_seen_rtt: false,
            rates: Rates::new(),
            rtt: MinRtts::default(),
            aggregation: Aggregation::new(),
            full_bw: FullBw::default(),
            drain_start_round: 0,
            cycle: Cycle::new(),
            bounds: Bounds::new(),
            probe_rtt: ProbeRtt::default(),
            saved: Saved::new(),
            control_limited: ControlLimited::default(),
            idle_restart: false,
            cwnd_limited: false,
            sample: Sample::default(),
            in_flight: 0,
            delivered: 0,
            random: Stream::new(config.seed, "bbr3", 0),
        };
        control.init_pacing_rate(None);
        control
    }

    /// Changes to `state`.
    fn enter(&mut self, state: State) {
        let from = self.state;
        debug_assert!(
            match state {
                State::Drain => from == State::Startup,
                State::Cruise => from == State::Down,
                State::Up => from == State::Refill,
                State::Startup | State::Down | State::Refill | State::ProbeRtt => true,
            },
            "{from:?} is followed by {state:?}"
        );
        self.state = state;
    }

    /// Implements `UpdateModelAndState`; `has_rate`: the ACK has a rate sample.
    fn update_model(&mut self, ack: &Ack, has_rate: bool) {
        if has_rate {
            self.update_latest_signals();
            self.update_congestion_signals();
            self.update_aggregation(ack);
        } else {
            self.rates.round_start = false;
            self.bounds.loss_round_start = false;
        }
        self.check_full_bw();
        self.check_startup_done(ack);
        self.check_drain_done(ack.now);
        self.update_cycle_phase(ack, has_rate);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        if has_rate {
            self.advance_latest_signals();
        }
        self.rates.bw = self.rates.max_bw().min(self.bounds.bw_short);
    }
}

impl Controller for Bbr3 {
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.as_u64().max(self.smss);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.delivered = ack.total_delivered.as_u64();
        self.in_flight = ack.in_flight.as_u64();
        self.cwnd_limited = ack.cwnd_limited;
        self.rtt.begin(ack.now);
        if !self.has_seen_rtt && ack.srtt.is_some() {
            self.init_pacing_rate(ack.srtt);
        }
        let has_rate = self.take_sample(ack);
        self.update_model(ack, has_rate);
        self.set_pacing_rate(self.state.pacing_gain());
        if ack.phase != Phase::Recovery && ack.phase != Phase::Loss {
            self.leave_recovery();
        }
        self.set_cwnd(ack.delivered.as_u64());
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.kind == CongestionKind::Ecn {
            self.note_congestion();
            return;
        }
        self.save_cwnd();
        self.saved.in_recovery = true;
        if event.kind == CongestionKind::Timeout {
            self.cwnd = self.in_flight.saturating_add(self.smss).min(self.cwnd);
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        let octets = lost.octets.as_u64();
        self.in_flight = self.in_flight.saturating_sub(octets);
        self.delivered = self.delivered.max(lost.total_delivered.as_u64());
        self.handle_lost(lost);
    }

    fn on_established(&mut self, now: Instant, srtt: Option<Duration>) {
        self.rtt.begin(now);
        if let Some(rtt) = srtt {
            self.rtt.take(now, rtt);
        }
        self.init_pacing_rate(srtt);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.in_flight = sent.in_flight.as_u64();
        if sent.in_flight == sent.octets && sent.app_limited {
            self.restart_from_idle(sent.now);
        }
    }

    /// Does nothing: after idle time, pacing by the model replaces the initial window.
    fn on_idle_restart(&mut self, _now: Instant, _restart_window: Bytes) {}

    fn on_smss_change(&mut self, smss: u32) {
        self.smss = u64::from(smss.max(1));
        self.cwnd = self.cwnd.max(self.smss);
    }

    fn undo(&mut self, now: Instant) {
        self.handle_spurious_loss(now);
    }

    fn reduces_by_itself(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps(self.pacing_rate.saturating_mul(8)))
    }

    fn send_quantum(&self) -> Option<Bytes> {
        Some(Bytes::new(self.quantum()))
    }

    fn is_in_slow_start(&self) -> bool {
        self.state == State::Startup
    }
}
