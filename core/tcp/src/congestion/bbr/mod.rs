//! BBR, version 1: pacing rate and window from a model of the path's rate and RTT.
//!
//! Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM
//! Queue 14(5), 2016; in the integers of Linux 6.12 (`tcp_bbr.c`): segments, microseconds, rates
//! in segments per microsecond times 2^24, gains times 256.
//!
//! * bw = largest delivery rate of 10 rounds, or the long-term rate of a policer;
//! * `min_rtt` = minimum RTT of 10 s;
//! * pacing rate = `pacing_gain`·bw·0.99;
//! * cwnd = `cwnd_gain`·bw·`min_rtt` + allowance for ACK aggregation + three super-segments.
//!
//! One file per mechanism: `model` (rates, rounds, aggregation), `startup` (Startup and Drain),
//! `probe_bw`, `probe_rtt`, `long_term` (policers), `window` (cwnd and recovery), `pacing`.
//! Losses reduce the window only during their recovery. Marks reduce nothing: Linux's bbr ignores
//! them.
//!
//! Times are exact here where Linux counts jiffies. Without SACK a duplicate ACK counts as no
//! delivery.

mod long_term;
mod model;
mod pacing;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;
mod window;

use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::rate_model::ControlLimited;
use super::{Ack, Config, Congestion, CongestionKind, Controller, Lost, Sent};
use crate::events::Phase;
use long_term::LongTerm;
use model::{Aggregation, Model};
use probe_bw::Cycle;
use startup::FullPipe;

/// Unit of gains: 1/256 (`BBR_UNIT`).
const UNIT: u64 = 256;
/// 2/ln 2, which doubles the rate every round: 2.887 (`bbr_high_gain`).
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Inverse of [`HIGH_GAIN`]: 0.344.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Gain of the window in ProbeBW.
const CWND_GAIN: u64 = 2 * UNIT;
/// Minimum window in segments, also that of ProbeRTT.
const MIN_CWND: u64 = 4;
/// Initial flight in segments, before the first RTT sample (`TCP_INIT_CWND`).
const INITIAL_CWND: u64 = 10;
/// Maximum window in segments.
const MAX_CWND: u64 = u32::MAX as u64;

/// State of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Doubles the rate every round until the pipe is full.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// Cycles through gains around 1.
    ProbeBw,
    /// Keeps four segments in flight to measure the RTT of an empty path.
    ProbeRtt,
}

/// BBR control of version 1.
#[derive(Clone, Debug)]
pub(super) struct Bbr {
    /// Octets of a segment.
    mss: u64,
    /// Window in segments: current, and as saved before recovery or ProbeRTT.
    cwnd: u64,
    prior_cwnd: u64,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Octets per second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    model: Model,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    cycle: Cycle,
    long_term: LongTerm,
    /// Earliest end of ProbeRTT, once its flight is small; and whether a round has passed.
    probe_rtt_done_at: Option<Instant>,
    probe_rtt_round_done: bool,
    control_limited: ControlLimited,
    idle_restart: bool,
    /// Phase of the last ACK that delivered something (`prev_ca_state`).
    phase_before: Phase,
    packet_conservation: bool,
    /// ssthresh in octets; unset before Drain.
    ssthresh: Bytes,
    /// Octets in flight, total delivered, total marked lost.
    in_flight: u64,
    delivered: u64,
    lost: u64,
    /// Time when the last departure has passed the pacer.
    departs_at: Instant,
    random: Stream,
}

impl Bbr {
    /// Creates a control in Startup.
    pub(super) fn new(config: &Config) -> Self {
        let mss = u64::from(config.smss.max(1));
        let cwnd = (config.initial_window.as_u64() / mss).clamp(1, MAX_CWND);
        let mut bbr = Self {
            mss,
            cwnd,
            prior_cwnd: 0,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0,
            has_seen_rtt: false,
            model: Model::new(),
            aggregation: Aggregation::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            long_term: LongTerm::default(),
            probe_rtt_done_at: None,
            probe_rtt_round_done: false,
            control_limited: ControlLimited::default(),
            idle_restart: false,
            phase_before: Phase::Open,
            packet_conservation: false,
            ssthresh: Bytes::MAX,
            in_flight: 0,
            delivered: 0,
            lost: 0,
            departs_at: Instant::ZERO,
            random: Stream::new(config.seed, "bbr", 0),
        };
        bbr.init_pacing_rate(None);
        bbr
    }

    /// Octets in segments, rounded up.
    fn segments(&self, octets: Bytes) -> u64 {
        octets.as_u64().div_ceil(self.mss)
    }

    /// Segments in flight.
    fn packets_in_flight(&self) -> u64 {
        self.in_flight.div_ceil(self.mss)
    }

    /// Rate of the model (`bbr_bw`).
    fn bw(&self) -> u64 {
        self.long_term.rate().unwrap_or(self.model.max_bw())
    }

    fn update_model(&mut self, ack: &Ack) {
        self.update_bw(ack);
        self.update_aggregation(ack);
        self.update_cycle_phase(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack.now);
        self.update_min_rtt(ack);
        self.update_gains();
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.rate().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (self.cycle.gain(), CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// Handles a departure after idle time of the application (`CA_EVENT_TX_START`).
    fn restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(now),
            Mode::Startup | Mode::Drain => {}
        }
    }
}

impl Controller for Bbr {
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd * self.mss)
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = (cwnd.as_u64() / self.mss).clamp(1, MAX_CWND);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.delivered = ack.total_delivered.as_u64();
        self.in_flight = ack.in_flight.as_u64();
        self.model.begin(ack.now);
        if !self.has_seen_rtt && ack.srtt.is_some() {
            self.init_pacing_rate(ack.srtt);
        }
        self.update_model(ack);
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(ack);
        debug_assert!(
            (1..=MAX_CWND).contains(&self.cwnd) && self.pacing_rate > 0,
            "a window of {} segments at {} octets per second",
            self.cwnd,
            self.pacing_rate
        );
        debug_assert!(
            self.mode != Mode::ProbeRtt || self.cwnd <= MIN_CWND,
            "a window of {} segments in ProbeRTT, whose flight is to be {MIN_CWND}",
            self.cwnd
        );
        debug_assert!(
            self.model.next_round_delivered <= self.delivered,
            "the round ends at {} octets delivered, {} are",
            self.model.next_round_delivered,
            self.delivered
        );
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.save_cwnd();
        if event.kind != CongestionKind::Timeout {
            return;
        }
        self.cwnd = (self.packets_in_flight() + 1).min(self.cwnd);
        self.phase_before = Phase::Loss;
        self.full_pipe.restart();
        self.model.round_start = true;
        self.sample_long_term(event.now, true, false);
    }

    fn on_lost(&mut self, lost: &Lost) {
        let octets = lost.octets.as_u64();
        self.lost = self.lost.saturating_add(octets);
        self.in_flight = self.in_flight.saturating_sub(octets);
    }

    fn on_established(&mut self, now: Instant, srtt: Option<Duration>) {
        self.model.begin(now);
        if let Some(rtt) = srtt {
            self.model.take_rtt(now, rtt);
        }
        self.init_pacing_rate(srtt);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.in_flight = sent.in_flight.as_u64();
        if sent.in_flight == sent.octets && sent.app_limited {
            self.restart_from_idle(sent.now);
        }
        let span = self.rate().time_for(sent.octets);
        self.departs_at = self.departs_at.max(sent.now) + span;
    }

    /// Does nothing: a model-paced flow does not restart from the initial window. Linux
    /// `tcp_slow_start_after_idle_check`.
    fn on_idle_restart(&mut self, _now: Instant, _restart_window: Bytes) {}

    fn on_smss_change(&mut self, smss: u32) {
        let new = u64::from(smss.max(1));
        for window in [&mut self.cwnd, &mut self.prior_cwnd] {
            *window = (*window * self.mss / new).clamp(1, MAX_CWND);
        }
        // Of the larger segments it holds two as well (RFC 5681 equation 4).
        self.ssthresh = self.ssthresh.max(Bytes::new(2 * new));
        self.mss = new;
    }

    /// Resets the model. As in Linux, the next ACK, which brought the proof, restores the window:
    /// `bbr_undo_cwnd`, `bbr_set_cwnd_to_recover_or_restore`.
    fn undo(&mut self, now: Instant) {
        self.full_pipe.restart();
        self.restart_long_term(now);
        self.leave_recovery();
    }

    fn reduces_by_itself(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate())
    }

    fn send_quantum(&self) -> Option<Bytes> {
        Some(self.release_size())
    }

    fn is_in_slow_start(&self) -> bool {
        self.mode == Mode::Startup
    }
}
