//! H-TCP: steps that grow with the time since the last congestion.
//!
//! Leith, Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06. Constants and integer arithmetic are those of Linux 6.12
//! (`tcp_htcp.c`), with ticks of 1 ms:
//!
//! * Δ = time since recovery ended; for Δ > 1 s, with d = Δ − 1 s, f = 1 + 10·d + (d/2)²,
//!   otherwise 1;
//! * f is scaled by the RTT: 8·f/scale, at least 1, scale = 8/(10·minRTT) within 4 and 80, with
//!   minRTT in seconds;
//! * growth α = 2·f·(1 − β) segments per round trip                               (1)
//! * congestion leaves β = minRTT/maxRTT of the window, within 64/128 and 102/128  (2)
//!
//! β is 1/2 at the first congestion event, at a minRTT of 10 ms or less, and if the throughput of
//! two successive cycles differs by more than a fifth. maxRTT rises by at most 20 ms per sample,
//! in phase Open, and at each congestion event loses 5 % of its distance to minRTT. Undo restores
//! Δ, maxRTT and the throughput.
//!
//! Not as in Linux: α is calculated per ACK and the window grows in fractions, where the kernel
//! waits for the whole segment.

use gigatcp_units::{Duration, Instant};

use super::linux::{HZ, ticks};
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};
use crate::events::Phase;

/// Scale of α and β.
const SCALE: u64 = 128;
/// Smallest β: 0.5.
const MIN_BETA: u64 = 64;
/// Largest β: 0.8.
const MAX_BETA: u64 = 102;
/// Maximum by which one sample may exceed maxRTT, in ticks.
const MAX_RTT_STEP: u64 = 20;
/// minRTT in ticks up to which β stays at its minimum.
const SHORT_RTT: u64 = 10;

/// An RTT in ticks, rounded up as in the kernel.
fn rtt_ticks(rtt: Duration) -> u64 {
    rtt.as_micros().div_ceil(1_000_000 / HZ).max(1)
}

/// Throughput between two congestion events, in segments per second.
#[derive(Clone, Copy, Default, Debug)]
struct Throughput {
    /// Octets acknowledged since `since`.
    acked: u64,
    /// Start of the sample, in ticks.
    since: u64,
    /// `Bi`: smoothed.
    smoothed: u64,
    /// `maxB`: largest of this cycle.
    largest: u64,
    /// `old_maxB`: largest of the cycle before.
    largest_before: u64,
}

/// An H-TCP control.
pub(super) fn control(config: &Config) -> Windowed<Htcp> {
    Windowed::new(config, Htcp::default())
}

/// The law of H-TCP.
#[derive(Clone, Default, Debug)]
pub(super) struct Htcp {
    /// End of the last reduction, in ticks.
    last_congestion: Option<u64>,
    /// Minimum RTT in ticks; 0 before the first sample.
    min_rtt: u64,
    max_rtt: u64,
    /// β, in 1/[`SCALE`]; 0 before the first congestion event.
    beta: u64,
    /// Whether β may follow the RTTs.
    adapts: bool,
    throughput: Throughput,
}

impl Htcp {
    /// Ticks since the last congestion.
    fn delta(&self, now: u64) -> u64 {
        now.saturating_sub(self.last_congestion.unwrap_or(now))
    }

    fn beta(&self) -> u64 {
        self.beta.max(MIN_BETA)
    }

    /// Returns α, eq. (1), in 1/[`SCALE`].
    fn alpha(&self, now: u64) -> u64 {
        // Five centuries: the bound keeps the square within 64 bits.
        let delta = self.delta(now).min(1 << 32);
        let mut factor = 1;
        if delta > HZ {
            let d = delta - HZ;
            factor += (10 * d + (d / 2) * (d / 2) / HZ) / HZ;
        }
        if self.min_rtt > 0 {
            let scale = (8 * HZ / self.min_rtt.saturating_mul(10).max(1)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        2 * factor * (SCALE - self.beta())
    }

    fn on_rtt(&mut self, rtt: u64, phase: Phase) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if phase == Phase::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt <= self.max_rtt.saturating_add(MAX_RTT_STEP) {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    fn sample_throughput(&mut self, window: &Window, ack: &Ack) {
        let now = ticks(ack.now);
        let delta = self.delta(now);
        let step = (self.alpha(now) / SCALE).max(1).saturating_mul(window.smss);
        let rates = &mut self.throughput;
        if !matches!(ack.phase, Phase::Open | Phase::Disorder) {
            (rates.acked, rates.since) = (0, now);
            return;
        }
        rates.acked = rates.acked.saturating_add(ack.acked.as_u64());
        let elapsed = now.saturating_sub(rates.since);
        if rates.acked < window.cwnd.saturating_sub(step)
            || self.min_rtt == 0
            || elapsed < self.min_rtt
        {
            return;
        }
        let sample = (rates.acked / window.smss).saturating_mul(HZ) / elapsed;
        if delta / self.min_rtt <= 3 {
            rates.smoothed = sample;
            rates.largest = sample;
        } else {
            rates.smoothed = (rates.smoothed.saturating_mul(3)).saturating_add(sample) / 4;
            rates.largest = rates.largest.max(rates.smoothed);
        }
        (rates.acked, rates.since) = (0, now);
    }

    /// Updates β, eq. (2).
    fn update_beta(&mut self) {
        let rates = &mut self.throughput;
        let (now, before) = (rates.largest, rates.largest_before);
        rates.largest_before = now;
        let fifth = before.saturating_mul(4)..=before.saturating_mul(6);
        if !fifth.contains(&now.saturating_mul(5)) {
            self.beta = MIN_BETA;
            self.adapts = false;
        } else if self.adapts && self.min_rtt > SHORT_RTT && self.max_rtt > 0 {
            let beta = self.min_rtt.saturating_mul(SCALE) / self.max_rtt;
            self.beta = beta.clamp(MIN_BETA, MAX_BETA);
        } else {
            self.beta = MIN_BETA;
            self.adapts = true;
        }
    }
}

impl Law for Htcp {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        // Before the first congestion event, Δ counts from the first ACK.
        self.last_congestion.get_or_insert(ticks(ack.now));
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt_ticks(rtt), ack.phase);
        }
        self.sample_throughput(window, ack);
    }

    fn grow_avoidance(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        let alpha = self.alpha(ticks(ack.now));
        window.grow_by_share(acked, alpha, SCALE);
    }

    fn reduced(&mut self, _window: &Window, event: &Congestion, in_use: u64) -> u64 {
        self.update_beta();
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            let above = self.max_rtt - self.min_rtt;
            self.max_rtt = self.min_rtt + (u128::from(above) * 95 / 100) as u64;
        }
        debug_assert!(
            (MIN_BETA..=MAX_BETA).contains(&self.beta()),
            "beta {} of {SCALE}",
            self.beta()
        );
        self.last_congestion = Some(ticks(event.now));
        (u128::from(in_use) * u128::from(self.beta()) / u128::from(SCALE)) as u64
    }

    fn on_recovery_end(&mut self, now: Instant) {
        self.last_congestion = Some(ticks(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn htcp(min_rtt: u64, max_rtt: u64) -> Htcp {
        Htcp {
            last_congestion: Some(0),
            min_rtt,
            max_rtt,
            ..Htcp::default()
        }
    }

    #[test]
    fn growth_follows_the_time_since_congestion_and_short_round_trips_grow_less() {
        let expected = [
            (500, 1),
            (1000, 1),
            (1500, 6),
            (2000, 11),
            (3000, 22),
            (5000, 45),
            (10_000, 111),
            (20_000, 281),
        ];
        for (delta, segments) in expected {
            assert_eq!(htcp(100, 100).alpha(delta), segments * SCALE, "{delta} ms");
        }
        assert_eq!(htcp(10, 10).alpha(2000), SCALE);
        assert_eq!(htcp(10, 10).alpha(5000), 4 * SCALE);
    }

    #[test]
    fn the_share_that_is_left_is_the_ratio_of_the_rtts_where_throughput_is_steady() {
        for (min_rtt, max_rtt, beta) in
            [(100, 160, 80), (100, 300, 64), (100, 101, 102), (9, 12, 64)]
        {
            let mut law = htcp(min_rtt, max_rtt);
            law.update_beta();
            assert_eq!(law.beta, MIN_BETA, "the first time");
            law.update_beta();
            assert_eq!(law.beta, beta, "{min_rtt} {max_rtt}");
            law.throughput.largest = 100;
            law.update_beta();
            assert_eq!(law.beta, MIN_BETA, "from 0 to 100");
        }
    }
}
