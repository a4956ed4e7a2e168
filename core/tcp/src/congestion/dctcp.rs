//! DCTCP (RFC 8257): a reduction in proportion to the share of marks.
//!
//! Section 3.3, per window of data:
//!
//! * M = octets that arrived marked / octets acknowledged (step 4);
//! * alpha = alpha·(1 − g) + g·M, g = 1/16 (step 5), from 1 on;
//! * if anything was marked, cwnd = cwnd·(1 − alpha/2), once per window (step 9), and ssthresh
//!   with it.
//!
//! Growth, loss (section 3.5) and slow start are Reno's. With marking above a threshold that is
//! met at W segments, alpha settles near √(2/W): a window of a hundred segments is reduced by
//! seven, not by fifty.
//!
//! It requires marks at a low threshold (the path's `mark_above`) and a receiver that reports
//! which octets were marked, by AccECN (RFC 9768) or by the rules of section 3.2. With the
//! classic echo (RFC 3168) every octet up to the next CWR counts as marked and alpha stays near
//! 1: Reno. Over the Internet it takes more than its share from flows that halve (section 5).
//!
//! As in Linux the window does not grow in the round trip in which it is reduced. If single
//! packets are marked with probability p (DualPI2), W settles near 0.73/p, where RFC 9332
//! appendix C counts on 2/p: with `l4s` it takes less than an equal share there
//! (`drive/sim/tests/it/dctcp.rs`).

use gigatcp_units::{Bytes, Instant};

use super::reno::Reno;
use super::{Ack, Config, Congestion, CongestionKind, Controller, WindowBounds};

/// Number of fraction bits of alpha.
const FRACTION_BITS: u32 = 20;
/// Value 1 of alpha.
const ONE: u64 = 1 << FRACTION_BITS;
/// g = 1/16, as a shift (section 4.2).
const GAIN_SHIFT: u32 = 4;

/// DCTCP congestion control.
#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    reno: Reno,
    /// `DCTCP.Alpha`, in 2^-20.
    alpha: u64,
    /// `DCTCP.BytesAcked` of this window: octets delivered, by SACK or not.
    bytes_acked: u64,
    /// `DCTCP.BytesMarked` of this window.
    bytes_marked: u64,
}

impl Dctcp {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            reno: Reno::new(config),
            alpha: ONE,
            bytes_acked: 0,
            bytes_marked: 0,
        }
    }

    /// Ends the observed window of data, steps 3 to 7.
    fn end_window(&mut self) {
        if self.bytes_acked == 0 {
            return;
        }
        let marked = u128::from(self.bytes_marked.min(self.bytes_acked));
        let fraction = ((marked << FRACTION_BITS) / u128::from(self.bytes_acked)) as u64;
        // Rounded so that alpha reaches 0 without marks.
        let forgotten = self.alpha.div_ceil(1 << GAIN_SHIFT);
        self.alpha = (self.alpha - forgotten + (fraction >> GAIN_SHIFT)).min(ONE);
        self.bytes_acked = 0;
        self.bytes_marked = 0;
    }
}

impl Controller for Dctcp {
    fn cwnd(&self) -> Bytes {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.reno.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.reno.set_cwnd(cwnd);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.bytes_acked = self.bytes_acked.saturating_add(ack.delivered.as_u64());
        self.bytes_marked = self.bytes_marked.saturating_add(ack.ce_marked.as_u64());
        if ack.round_end {
            self.end_window();
        }
        self.reno.on_ack(ack);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.kind {
            CongestionKind::Ecn => {
                let cwnd = self.reno.cwnd().as_u64();
                let given_back = (u128::from(cwnd) * u128::from(self.alpha)) >> (FRACTION_BITS + 1);
                debug_assert!(
                    given_back <= u128::from(cwnd / 2),
                    "DCTCP.Alpha {} of {ONE} takes {given_back} of {cwnd} (RFC 8257 section 3.3)",
                    self.alpha
                );
                self.reno.reduce(event.kind, cwnd - given_back as u64);
            }
            CongestionKind::Loss | CongestionKind::Timeout => self.reno.on_congestion(event),
        }
    }

    fn on_recovery_end(&mut self, now: Instant) {
        self.reno.on_recovery_end(now);
    }

    fn on_unvalidated(&mut self, now: Instant, bounds: &WindowBounds) {
        self.reno.on_unvalidated(now, bounds);
    }

    fn on_smss_change(&mut self, smss: u32) {
        self.reno.on_smss_change(smss);
    }

    fn is_scalable(&self) -> bool {
        true
    }

    fn undo(&mut self, now: Instant) {
        // Alpha is a measurement and is kept.
        self.reno.undo(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Phase;

    const SMSS: u64 = 1000;

    fn dctcp(window: u64) -> Dctcp {
        Dctcp::new(&Config {
            smss: SMSS as u32,
            initial_window: Bytes::new(window * SMSS),
            initial_ssthresh: Some(2),
            ..Config::default()
        })
    }

    fn ack(segments: u64, marked: u64, round_end: bool) -> Ack {
        Ack {
            now: Instant::ZERO,
            acked: Bytes::new(segments * SMSS),
            delivered: Bytes::new(segments * SMSS),
            ce_marked: Bytes::new(marked * SMSS),
            ce_marked_segments: marked as u32,
            acked_transmissions: 1,
            phase: Phase::Open,
            cwnd_limited: true,
            round_end,
            ..Ack::default()
        }
    }

    fn notify(dctcp: &mut Dctcp) {
        let flight_size = dctcp.cwnd();
        dctcp.on_congestion(&Congestion {
            now: Instant::ZERO,
            kind: CongestionKind::Ecn,
            flight_size,
            pipe: flight_size,
        });
        // The window of data that the reduction was for is acknowledged.
        dctcp.on_ack(&ack(0, 0, false));
    }

    fn alpha(dctcp: &Dctcp) -> f64 {
        dctcp.alpha as f64 / ONE as f64
    }

    #[test]
    fn alpha_begins_at_one_and_each_window_moves_it_a_sixteenth_of_the_way() {
        let mut dctcp = dctcp(100);
        assert_eq!(alpha(&dctcp), 1.0);
        let mut expected = 1.0;
        for marked in [0, 50, 100, 0, 25] {
            dctcp.on_ack(&ack(100, marked, true));
            expected = expected * 15.0 / 16.0 + marked as f64 / 100.0 / 16.0;
            assert!((alpha(&dctcp) - expected).abs() < 1e-4, "{marked}");
        }
        for _ in 0..1000 {
            dctcp.on_ack(&ack(100, 0, true));
        }
        assert_eq!(dctcp.alpha, 0);
    }

    #[test]
    fn alpha_counts_what_is_delivered_although_nothing_opens_the_window() {
        // Segments SACKed, or acknowledged while the minimum window is held: a tenth marked.
        let mut dctcp = dctcp(100);
        dctcp.on_ack(&Ack {
            acked: Bytes::ZERO,
            ..ack(100, 10, true)
        });
        let expected = 15.0 / 16.0 + 0.1 / 16.0;
        assert!((alpha(&dctcp) - expected).abs() < 1e-4);
    }

    #[test]
    fn a_notification_takes_half_of_alpha_and_loss_takes_half() {
        let mut gentle = dctcp(100);
        gentle.alpha = ONE / 5;
        notify(&mut gentle);
        assert_eq!(gentle.cwnd().as_u64(), 90_001);
        assert_eq!(gentle.ssthresh(), gentle.cwnd());
        let mut lost = dctcp(100);
        lost.alpha = ONE / 5;
        let flight_size = lost.cwnd();
        lost.on_congestion(&Congestion {
            now: Instant::ZERO,
            kind: CongestionKind::Loss,
            flight_size,
            pipe: flight_size,
        });
        assert_eq!(lost.cwnd().as_u64(), 50_000);
    }

    #[test]
    fn alpha_settles_near_the_square_root_of_two_over_the_window() {
        // All segments of a round are marked when the window is above the threshold: one round of
        // the sawtooth's W·alpha/2. That alpha is the one after the marked round, a sixteenth of
        // the way to 1. The published value is the limit of a small g. With g = 1/16 the mean
        // solves alpha·(15/16·alpha + 1/16) = 2/W.
        for (threshold, published) in [(10, 0.447), (50, 0.2), (100, 0.141)] {
            let mut dctcp = dctcp(threshold);
            let (mut sum, mut count) = (0.0, 0.0);
            for round in 0..20_000 {
                let window = dctcp.cwnd();
                let is_marked = window.as_u64() > threshold * SMSS;
                dctcp.on_ack(&Ack {
                    acked: window,
                    delivered: window,
                    ce_marked: if is_marked { window } else { Bytes::ZERO },
                    ..ack(0, 0, true)
                });
                if is_marked {
                    notify(&mut dctcp);
                }
                if round >= 10_000 {
                    sum += alpha(&dctcp);
                    count += 1.0;
                }
            }
            let mean: f64 = sum / count;
            assert!((mean / published - 1.0).abs() < 0.2, "{threshold}: {mean}");
            // The sawtooth is uneven because it consists of whole round trips.
            let product = mean * (mean * 15.0 + 1.0) / 16.0 * threshold as f64;
            assert!((product / 2.0 - 1.0).abs() < 0.2, "{threshold}: {mean}");
        }
    }
}
