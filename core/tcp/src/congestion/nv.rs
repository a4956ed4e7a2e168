//! TCP-NV: the window that the measured rate fills at the minimum RTT.
//!
//! Brakmo, "TCP-NV: Congestion Avoidance for Data Centers", Linux Plumbers Conference 2010; rules
//! and constants of Linux 6.12 (`tcp_nv.c`). RTTs are averaged with weight 1/2. Per round trip,
//! with rate = in flight/RTT, the largest of the rounds since the last decision:
//!
//! * `max_win` = rate·minRTT + 10 segments                              (1)
//! * cwnd > `max_win`, after 2 rounds and 60 ACKs (30 while ssthresh is unset): no growth,
//!   ssthresh = `max_win`, cwnd less 30 % of the excess, two segments at least;
//! * cwnd <= `max_win` − 2, after 20 ACKs: growth again;
//! * between: nothing.
//!
//! Growth is one segment per cwnd acknowledged, per cwnd·2^n after n timeouts. n falls by one
//! after 8 decisions without congestion. minRTT is measured anew every 3.75 to 6.24 s. Loss
//! leaves 819/1024, never below 4 segments for delay. After a timeout the window grows only when
//! 20 ACKs have been measured: twenty round trips at one segment.
//!
//! It keeps some ten segments queued. A single flow includes them when it measures minRTT anew,
//! so its queue grows by up to ten segments each time. Out of scope: the per-destination base
//! RTT, which the kernel takes from a BPF program, and its guess at offload in tiny windows.

use gigatcp_units::random::Stream;
use gigatcp_units::{Duration, Instant};

use super::slow_start::SlowStartState;
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};
use crate::events::Phase;

/// Segments above the window that the rate fills: `nv_pad`.
const PAD: u64 = 10;
/// Segments below `max_win` at which growth begins: `nv_pad_buffer`.
const PAD_BUFFER: u64 = 2;
/// ACKs before growth: `nv_inc_eval_min_calls`.
const GROW_ACKS: u32 = 20;
/// ACKs before a reduction: `nv_dec_eval_min_calls`.
const SHRINK_ACKS: u32 = 60;
/// ACKs before a reduction while ssthresh is unset: `nv_ssthresh_eval_min_calls`.
const FIRST_SHRINK_ACKS: u32 = 30;
/// Rounds before a reduction: `nv_rtt_min_cnt`.
const MIN_ROUNDS: u32 = 2;
/// Share of the excess that a reduction takes, in 1/128: 30 %.
const DECREASE: u64 = 30 * 128 / 100;
/// Minimum window after a reduction by delay, in segments: `NV_MIN_CWND`.
const MIN_WINDOW: u64 = 4;
/// Mean time between two measurements of the minimum RTT.
const RESET_PERIOD: Duration = Duration::from_secs(5);
/// Decisions without congestion after which one halving of growth ends.
const CALM_DECISIONS: u32 = 8;
/// Maximum number of halvings of growth.
const MAX_SLOWNESS: u32 = 8;
/// Factor of a reduction after loss, in 1/1024.
const BETA: u64 = 819;

/// A TCP-NV control.
pub(super) fn control(config: &Config) -> Windowed<Nv> {
    Windowed::new(config, Nv::new(config.seed))
}

/// The law of TCP-NV.
#[derive(Clone, Debug)]
pub(super) struct Nv {
    /// Averaged RTT and its minima, current and of this period, in microseconds.
    rtt: Option<u64>,
    min_rtt: u64,
    min_rtt_new: u64,
    /// Time when `min_rtt_new` replaces `min_rtt`.
    reset_at: Option<Instant>,
    /// Largest rate since the last decision, octets per second.
    max_rate: u64,
    /// ACKs and rounds since the last decision.
    acks: u32,
    rounds: u32,
    grows: bool,
    /// Halvings of growth.
    slowness: u32,
    /// Decisions without congestion.
    calm: u32,
    random: Stream,
}

impl Nv {
    fn new(seed: u64) -> Self {
        Self {
            rtt: None,
            min_rtt: u64::MAX,
            min_rtt_new: u64::MAX,
            reset_at: None,
            max_rate: 0,
            acks: 0,
            rounds: 0,
            grows: true,
            slowness: 0,
            calm: 0,
            random: Stream::new(seed, "nv", 0),
        }
    }

    fn sample(&mut self, now: Instant, rtt: Duration, in_flight: u64) {
        // An hour: the bound keeps sums within 64 bits.
        let sample = rtt.as_micros().clamp(1, 1 << 32);
        let rtt = self.rtt.map_or(sample, |rtt| (rtt + sample) / 2).max(1);
        self.rtt = Some(rtt);
        let rate = u128::from(in_flight) * 1_000_000 / u128::from(rtt);
        self.max_rate = self.max_rate.max(u64::try_from(rate).unwrap_or(u64::MAX));
        self.acks = self.acks.saturating_add(1);
        self.min_rtt = self.min_rtt.min(rtt);
        self.min_rtt_new = self.min_rtt_new.min(rtt);
        if self.reset_at.is_none_or(|at| now >= at) {
            if self.reset_at.is_some() {
                self.min_rtt = self.min_rtt_new;
                self.min_rtt_new = u64::MAX;
            }
            // Between 3/4 and 5/4 of the period.
            let factor = 384 + self.random.bits() % 256;
            self.reset_at = Some(now + RESET_PERIOD.saturating_mul(factor) / 512);
        }
    }

    /// Returns eq. (1) in octets.
    fn max_window(&self, smss: u64) -> u64 {
        let filled = u128::from(self.max_rate) * u128::from(self.min_rtt) / 1_000_000;
        u64::try_from(filled)
            .unwrap_or(u64::MAX)
            .saturating_add(PAD * smss)
    }

    fn end_round(&mut self, window: &mut Window) {
        self.rounds = self.rounds.saturating_add(1);
        let most = self.max_window(window.smss);
        if window.cwnd > most {
            let enough = match window.ssthresh {
                u64::MAX => FIRST_SHRINK_ACKS,
                _ => SHRINK_ACKS,
            };
            if self.rounds < MIN_ROUNDS || self.acks < enough {
                return;
            }
            self.shrink(window, most);
        } else if window.cwnd <= most - PAD_BUFFER * window.smss {
            if self.acks < GROW_ACKS {
                return;
            }
            self.grows = true;
            self.calm += 1;
            if self.slowness > 0 && self.calm > CALM_DECISIONS {
                self.slowness -= 1;
                self.calm = 0;
            }
        } else {
            return;
        }
        (self.acks, self.rounds, self.max_rate) = (0, 0, 0);
    }

    fn shrink(&mut self, window: &mut Window, most: u64) {
        self.grows = false;
        self.calm = 0;
        let excess = window.cwnd - most;
        let left = if excess > 2 * window.smss {
            let less = (u128::from(excess) * u128::from(DECREASE) / 128) as u64;
            window.cwnd - less.max(2 * window.smss)
        } else {
            most
        };
        window.fall_to(left.max(MIN_WINDOW * window.smss));
        window.ssthresh = most.max(window.floor()).min(u64::MAX - 1);
    }
}

impl Law for Nv {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if !matches!(ack.phase, Phase::Open | Phase::Disorder) {
            return;
        }
        if let Some(rtt) = ack.rtt {
            // Octets in flight when the segment left.
            let in_flight = ack
                .rate
                .map_or(ack.prior_in_flight, |rate| rate.tx_in_flight);
            self.sample(ack.now, rtt, in_flight.as_u64());
        }
        if ack.round_end && self.rtt.is_some() {
            self.end_round(window);
        }
    }

    fn grow_slow_start(&mut self, window: &mut Window, opening: &mut SlowStartState, ack: &Ack) {
        if self.grows {
            (window.cwnd, window.ssthresh) = opening.grow(ack, window.cwnd, window.ssthresh);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        if self.grows {
            let pace = window.segments().saturating_mul(1 << self.slowness);
            window.grow_by_segments(pace, acked);
        }
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        // Earlier measurements no longer count.
        self.grows = false;
        (self.rtt, self.acks, self.rounds, self.max_rate) = (None, 0, 0, 0);
        (u128::from(in_use) * u128::from(BETA) / 1024) as u64
    }

    fn on_timeout(&mut self) {
        self.grows = false;
        self.slowness = (self.slowness + 1).min(MAX_SLOWNESS);
    }
}
