//! Independent implementation of the kernel's rules, to compare with [`CubicLinux`].
//!
//! It has the kernel's order and integer widths. Whatever ACKs, losses, timeouts and pauses come,
//! both must have the same window after each. It is written from the rules, not from either text:
//! windows in segments, time in whole milliseconds, plain integers. It shares only the cube root
//! with the control, which has a test of its own. The rules are those of kernels from 4.1 to 7.1.
//!
//! Out of scope: intended differences of the control (see its module documentation), which are
//! undo and windows in which the kernel's arithmetic would wrap; and `HyStart`, which has its own
//! tests.

use super::super::{Ack, Config, Congestion, CongestionKind, Controller, SlowStart};
use super::{CUBE_FACTOR, CubicLinux, cube_root};
use crate::events::Phase;
use gigatcp_units::random::mix;
use gigatcp_units::{Bytes, Duration, Instant};

const SMSS: u64 = 1000;

/// Maximum number of segments acknowledged per segment of growth before the first loss.
const COUNT_BEFORE_LOSS: u64 = 20;

/// Shift of the cubic function: 10 bits of C (0.4) and 30 of time cubed.
const FORTY_BITS: u32 = 40;

/// State of the kernel's module.
#[derive(Clone, Default, Debug)]
struct Kernel {
    window: u64,
    threshold: u64,
    /// Segments acknowledged since the window last grew.
    credit: u64,
    /// Segments acknowledged per segment of growth.
    pace: u64,
    /// Window at the last loss, or a part of it.
    lost_at: u64,
    /// Window and time of the last calculation of the function.
    looked_at: (u64, u64),
    plateau: u64,
    /// Time from the start of the stage to the plateau, in 1/1024 s.
    climb: u64,
    /// Minimum RTT in microseconds.
    fastest: Option<u64>,
    began: Option<u64>,
    /// Segments acknowledged since Reno's window last grew.
    reno_credit: u64,
    reno_window: u64,
    /// After a timeout each acknowledgment grows the window by a segment.
    is_cautious: bool,
}

impl Kernel {
    fn new(window: u64) -> Self {
        Self {
            window,
            threshold: 0x7fff_ffff,
            ..Self::default()
        }
    }

    fn measures(&mut self, now: u64, rtt: u64) {
        let is_settled = self.began.is_none_or(|began| now >= began + 1000);
        let is_faster = self.fastest.is_none_or(|fastest| rtt.max(1) < fastest);
        if is_settled && is_faster {
            self.fastest = Some(rtt.max(1));
        }
    }

    fn acknowledged(&mut self, now: u64, mut segments: u64) {
        if self.window < self.threshold {
            // The only rule that is not the kernel's: RFC 3465 section 2.3.
            let counted = if self.is_cautious {
                segments.min(1)
            } else {
                segments
            };
            let opened = (self.window + counted).min(self.threshold);
            segments -= opened - self.window;
            self.window = opened;
            if segments == 0 || opened < self.threshold {
                return;
            }
        }
        self.is_cautious = false;
        self.look(now, segments);
        if self.credit >= self.pace {
            self.credit = 0;
            self.window += 1;
        }
        self.credit += segments;
        while self.credit >= self.pace {
            self.credit -= self.pace;
            self.window += 1;
        }
    }

    /// Recalculates the growth: at most once a tick after a change of the window. For an
    /// unchanged window at most 32 times a second.
    fn look(&mut self, now: u64, segments: u64) {
        self.reno_credit += segments;
        let (window, then) = self.looked_at;
        if window == self.window && now - then <= 31 {
            return;
        }
        if self.began.is_none() || then != now {
            self.looked_at = (self.window, now);
            if self.began.is_none() {
                self.begins(now, segments);
            }
            self.pace = self.by_the_cube(now);
        }
        // Reno with the same reduction: (1 + 0.7)/(3·(1 − 0.7)) windows per segment, which is 15
        // eighths in integers.
        let per_segment = self.window * 15 / 8;
        while self.reno_credit > per_segment {
            self.reno_credit -= per_segment;
            self.reno_window += 1;
        }
        if self.reno_window > self.window {
            self.pace = self
                .pace
                .min(self.window / (self.reno_window - self.window));
        }
        self.pace = self.pace.max(2);
    }

    fn begins(&mut self, now: u64, segments: u64) {
        self.began = Some(now);
        self.reno_credit = segments;
        self.reno_window = self.window;
        (self.plateau, self.climb) = if self.lost_at > self.window {
            (
                self.lost_at,
                cube_root(CUBE_FACTOR * (self.lost_at - self.window)),
            )
        } else {
            (self.window, 0)
        };
    }

    fn by_the_cube(&self, now: u64) -> u64 {
        let ahead = self.fastest.unwrap_or(0).div_ceil(1000);
        let since = now - self.began.unwrap_or(now) + ahead;
        let time = since * 1024 / 1000;
        let away = i128::from(time) - i128::from(self.climb);
        let change = (410 * away.pow(3).abs()) >> FORTY_BITS;
        let aim = i128::from(self.plateau) + change * away.signum();
        let behind = aim - i128::from(self.window);
        let pace = if behind > 0 {
            self.window / behind as u64
        } else {
            self.window * 100
        };
        if self.lost_at == 0 {
            pace.min(COUNT_BEFORE_LOSS)
        } else {
            pace
        }
    }

    fn loses(&mut self) {
        let is_shrinking = self.window < self.lost_at;
        self.lost_at = if is_shrinking {
            self.window * (1024 + 717) / 2048
        } else {
            self.window
        };
        self.began = None;
        self.threshold = (self.window * 717 / 1024).max(2);
        self.window = self.window.min(self.threshold);
        self.credit = 0;
    }

    fn times_out(&mut self) {
        self.loses();
        *self = Self {
            threshold: self.threshold,
            is_cautious: true,
            ..Self::new(1)
        };
    }

    fn was_silent(&mut self, now: u64, last_sent: u64) {
        if let Some(began) = &mut self.began {
            *began = (*began + (now - last_sent)).min(now);
        }
    }
}

/// The control and the kernel's rules, with the state of the comparison.
struct Pair {
    control: CubicLinux,
    kernel: Kernel,
    now: Instant,
    /// Time of the last departure.
    sent: Instant,
    random: u64,
    steps: u64,
}

fn millis(time: Instant) -> u64 {
    time.as_nanos() / 1_000_000
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut pair = Self {
            control: CubicLinux::new(&Config::default()),
            kernel: Kernel::new(10),
            now: Instant::ZERO + Duration::from_secs(10),
            sent: Instant::ZERO,
            random: seed,
            steps: 0,
        };
        let initial = [1, 2, 10, 10, 1000][pair.between(0, 4) as usize];
        pair.control = CubicLinux::new(&Config {
            smss: SMSS as u32,
            initial_window: Bytes::new(initial * SMSS),
            slow_start: SlowStart::Standard,
            ..Config::default()
        });
        pair.kernel = Kernel::new(initial);
        pair
    }

    /// `SplitMix64`.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        low + mix(self.random) % (high - low + 1)
    }

    fn ack(&mut self, segments: u64, rtt: Option<Duration>, phase: Phase) {
        self.control.on_ack(&Ack {
            now: self.now,
            acked: Bytes::new(segments * SMSS),
            acked_transmissions: segments as u32,
            phase,
            prior_in_flight: self.control.cwnd(),
            cwnd_limited: true,
            rtt,
            srtt: rtt,
            min_rtt: rtt,
            ..Ack::default()
        });
        if let Some(rtt) = rtt {
            self.kernel.measures(millis(self.now), rtt.as_micros());
        }
    }

    fn congestion(&mut self, kind: CongestionKind) {
        self.control.on_congestion(&Congestion {
            now: self.now,
            kind,
            flight_size: self.control.cwnd(),
            pipe: self.control.cwnd(),
        });
    }

    /// Runs loss or ECN, the acknowledgments of the recovery, and its end.
    fn recover(&mut self, rtt: Duration) {
        let kinds = [
            (CongestionKind::Loss, Phase::Recovery),
            (CongestionKind::Ecn, Phase::Cwr),
        ];
        let (kind, phase) = kinds[self.between(0, 1) as usize];
        self.congestion(kind);
        self.kernel.loses();
        for _ in 0..self.between(0, 5) {
            self.ack(1, Some(rtt), phase);
        }
        self.control.on_recovery_end(self.now);
        self.now += rtt;
        self.ack(1, None, Phase::Open);
    }

    fn step(&mut self, rtt: Duration) {
        let most = if self.between(0, 9) == 0 { 64 } else { 4 };
        let segments = self.between(1, most);
        let has_rtt = self.between(0, 3) > 0;
        let jitter = Duration::from_micros(self.between(0, rtt.as_micros() / 4));
        let gap = self.between(0, rtt.as_nanos() / 4);
        self.now += Duration::from_nanos(gap);
        self.ack(segments, has_rtt.then_some(rtt + jitter), Phase::Open);
        self.kernel.acknowledged(millis(self.now), segments);
        self.sent = self.now;
        let is_large = self.kernel.window > 100_000;
        match self.between(0, 2999) {
            0 => {
                self.congestion(CongestionKind::Timeout);
                self.kernel.times_out();
            }
            1..=10 => self.recover(rtt),
            _ if is_large => self.recover(rtt),
            11..=20 => {
                let silence = self.between(0, 20_000_000_000);
                self.now += Duration::from_nanos(silence);
                self.control.on_transmit_start(self.now, self.sent);
                self.kernel.was_silent(millis(self.now), millis(self.sent));
                self.sent = self.now;
            }
            _ => {}
        }
        self.steps += 1;
    }

    fn compare(&self) {
        let expected = (self.kernel.window, self.kernel.threshold);
        let threshold = u64::from(self.control.ssthresh);
        let got = (u64::from(self.control.cwnd), threshold);
        assert_eq!(got, expected, "step {}: {:?}", self.steps, self.kernel);
        assert_eq!(
            self.control.cwnd_cnt, self.kernel.credit,
            "step {}: {:?} {:?}",
            self.steps, self.kernel, self.control
        );
    }
}

#[test]
fn after_every_acknowledgment_the_window_is_the_one_the_kernels_rules_give() {
    for seed in 0..200 {
        let mut pair = Pair::new(seed);
        // From a LAN to a satellite, in microseconds.
        let rtts = [50, 900, 5_000, 20_000, 31_000, 80_000, 300_000, 900_000];
        let rtt = rtts[pair.between(0, 7) as usize] + pair.between(0, 999);
        for _ in 0..10_000 {
            pair.step(Duration::from_micros(rtt));
            pair.compare();
        }
    }
}
