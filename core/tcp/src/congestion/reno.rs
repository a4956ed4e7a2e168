//! Reno: additive increase, multiplicative decrease (RFC 5681).
//!
//! * Below ssthresh: slow start, see `slow_start/`.
//! * Above: one SMSS per window of data acknowledged. RFC 5681 section 3.1 offers cwnd +=
//!   SMSS·SMSS/cwnd per ACK (eq. 3) or counting octets until they make up a window (RFC 3465
//!   section 2.1); this is the second. Counting by ACK, every ACK counts for one SMSS, which is
//!   eq. 3.
//! * Congestion: ssthresh = max(`FlightSize`/2, 2·SMSS) (eq. 4); cwnd becomes ssthresh, or one
//!   SMSS after a timeout. With ABE (RFC 8511 section 3) ECN in congestion avoidance leaves 0.8
//!   of `FlightSize`: a queue that marks packets is short, and half would leave it empty.
//!
//! Out of scope: inflating cwnd by duplicate ACKs (section 3.2 steps 3 to 5). The engine lets
//! `pipe` of RFC 6675 grow up to cwnd, which sends the same segments without an inflated window.
//! `FlightSize` must not count what limited transmit sent (section 3.2 step 2); the engine takes
//! care of that.

use gigatcp_units::{Bytes, Instant};

use super::gate::{AckEffect, Gate};
use super::slow_start::SlowStartState;
use super::{Ack, Config, Congestion, CongestionKind, Controller, Counting, WindowBounds};

/// State for undo.
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: u64,
    ssthresh: u64,
    bytes_acked: u64,
}

/// Reno congestion control.
#[derive(Clone, Debug)]
pub struct Reno {
    smss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Octets acknowledged since the last step of congestion avoidance:
    /// `bytes_acked` of RFC 3465.
    bytes_acked: u64,
    opening: SlowStartState,
    gate: Gate,
    /// Value of [`Config::abe`].
    abe: bool,
    /// Value of [`Config::reduces_cwnd`].
    reduces_cwnd: bool,
    /// State before the last congestion event.
    saved: Option<Saved>,
}

impl Reno {
    /// A control in its initial state.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let smss = u64::from(config.smss.max(1));
        Self {
            smss,
            cwnd: config.initial_window.as_u64().max(smss),
            ssthresh: match config.initial_ssthresh {
                None | Some(0) => u64::MAX,
                Some(segments) => smss * u64::from(segments),
            },
            bytes_acked: 0,
            opening: SlowStartState::new(config),
            gate: Gate::default(),
            abe: config.abe,
            reduces_cwnd: config.reduces_cwnd,
            saved: None,
        }
    }

    /// Grows the window in congestion avoidance, RFC 3465 section 2.1.
    fn grow_avoidance(&mut self, acked: u64) {
        self.bytes_acked = self
            .bytes_acked
            .saturating_add(match self.opening.counting() {
                Counting::PerAck => self.smss,
                Counting::Bytes { .. } | Counting::All => acked,
            });
        if self.bytes_acked >= self.cwnd {
            // At most one SMSS per ACK, even if the ACK covers two windows.
            self.bytes_acked = (self.bytes_acked - self.cwnd).min(self.cwnd);
            self.cwnd = self.cwnd.saturating_add(self.smss);
        }
        debug_assert!(
            self.bytes_acked < self.cwnd,
            "bytes_acked {} makes up a window of {} (RFC 3465 section 2.1)",
            self.bytes_acked,
            self.cwnd
        );
    }

    /// Reduces the window to `reduced` octets, but not below two segments.
    pub(super) fn reduce(&mut self, kind: CongestionKind, reduced: u64) {
        self.saved = Some(Saved {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            bytes_acked: self.bytes_acked,
        });
        let keeps_ssthresh = self.reduces_cwnd && self.gate.is_reducing();
        self.gate.on_congestion(kind);
        self.opening.on_congestion(kind);
        let least = 2 * self.smss;
        if kind != CongestionKind::Timeout || !keeps_ssthresh {
            self.ssthresh = reduced.max(least);
        }
        self.bytes_acked = 0;
        self.cwnd = match kind {
            CongestionKind::Timeout => self.smss,
            // The flight may still be that of an older, larger window.
            CongestionKind::Loss | CongestionKind::Ecn => self.ssthresh.min(self.cwnd.max(least)),
        };
        debug_assert!(
            self.cwnd >= self.smss && self.cwnd <= self.ssthresh,
            "after congestion cwnd is {}, ssthresh {} (RFC 5681 section 3.1)",
            self.cwnd,
            self.ssthresh
        );
    }

    /// Reduced flight, before the floor: RFC 5681 eq. (4), or RFC 8511 section 3.
    fn reduced(&self, event: &Congestion) -> u64 {
        let flight_size = event.flight_size.as_u64();
        let gently = self.abe && event.kind == CongestionKind::Ecn && self.cwnd >= self.ssthresh;
        if gently {
            flight_size - flight_size / 5
        } else {
            flight_size / 2
        }
    }
}

impl Controller for Reno {
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.as_u64().max(self.smss);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let effect = self.gate.effect(ack);
        if effect == AckEffect::None {
            return;
        }
        if self.cwnd < self.ssthresh {
            (self.cwnd, self.ssthresh) = self.opening.grow(ack, self.cwnd, self.ssthresh);
        } else if effect == AckEffect::Growth && ack.cwnd_limited {
            self.opening.on_leaving(ack.now);
            self.grow_avoidance(ack.acked.as_u64());
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.reduce(event.kind, self.reduced(event));
    }

    fn on_unvalidated(&mut self, _now: Instant, bounds: &WindowBounds) {
        let (least, most) = (bounds.ssthresh_at_least, bounds.ssthresh_at_most);
        let most = most.as_u64().max(2 * self.smss);
        self.cwnd = self.cwnd.min(bounds.cwnd_at_most.as_u64().max(self.smss));
        self.ssthresh = self.ssthresh.max(least.as_u64()).min(most);
    }

    fn on_smss_change(&mut self, smss: u32) {
        self.smss = u64::from(smss.max(1));
        self.opening.set_smss(smss);
        self.cwnd = self.cwnd.max(self.smss);
    }

    fn undo(&mut self, _now: Instant) {
        if let Some(saved) = self.saved.take() {
            if self.cwnd <= saved.cwnd {
                self.cwnd = saved.cwnd;
                self.bytes_acked = saved.bytes_acked;
            }
            self.ssthresh = self.ssthresh.max(saved.ssthresh);
            self.opening.on_undo();
            self.gate.on_undo();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Phase;

    const SMSS: u64 = 1000;

    fn reno(counting: Counting) -> Reno {
        Reno::new(&Config {
            smss: SMSS as u32,
            initial_window: Bytes::new(10 * SMSS),
            initial_ssthresh: Some(10),
            counting,
            ..Config::default()
        })
    }

    fn acknowledge(reno: &mut Reno, segments: u64) {
        reno.on_ack(&Ack {
            now: Instant::default(),
            acked: Bytes::new(segments * SMSS),
            acked_transmissions: segments as u32,
            phase: Phase::Open,
            prior_in_flight: Bytes::new(10 * SMSS),
            cwnd_limited: true,
            ..Ack::default()
        });
    }

    fn congestion(reno: &mut Reno, kind: CongestionKind, flight: u64) {
        reno.on_congestion(&Congestion {
            now: Instant::default(),
            kind,
            flight_size: Bytes::new(flight * SMSS),
            pipe: Bytes::new(flight * SMSS),
        });
    }

    #[test]
    fn the_window_grows_by_one_segment_per_window_whatever_an_ack_covers() {
        for per_ack in [1, 2, 5, 10] {
            let mut reno = reno(Counting::Bytes { limit: 2 });
            for _ in 0..10 / per_ack {
                assert_eq!(reno.cwnd().as_u64(), 10 * SMSS);
                acknowledge(&mut reno, per_ack);
            }
            assert_eq!(reno.cwnd().as_u64(), 11 * SMSS);
        }
    }

    #[test]
    fn counting_by_ack_two_segments_per_ack_halve_the_growth() {
        let mut reno = reno(Counting::PerAck);
        for _ in 0..5 {
            acknowledge(&mut reno, 2);
        }
        assert_eq!(reno.cwnd().as_u64(), 10 * SMSS);
        for _ in 0..5 {
            acknowledge(&mut reno, 2);
        }
        assert_eq!(reno.cwnd().as_u64(), 11 * SMSS);
    }

    #[test]
    fn an_ack_for_many_windows_adds_one_segment() {
        let mut reno = reno(Counting::Bytes { limit: u32::MAX });
        acknowledge(&mut reno, 1000);
        assert_eq!(reno.cwnd().as_u64(), 11 * SMSS);
    }

    #[test]
    fn loss_halves_what_is_in_flight_but_leaves_two_segments() {
        let mut reno = reno(Counting::PerAck);
        congestion(&mut reno, CongestionKind::Loss, 8);
        assert_eq!(reno.cwnd().as_u64(), 4 * SMSS);
        assert_eq!(reno.ssthresh(), reno.cwnd());
        congestion(&mut reno, CongestionKind::Loss, 1);
        assert_eq!(reno.cwnd().as_u64(), 2 * SMSS);
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_half_the_flight_as_ssthresh() {
        let mut reno = reno(Counting::PerAck);
        congestion(&mut reno, CongestionKind::Timeout, 10);
        assert_eq!(reno.cwnd().as_u64(), SMSS);
        assert_eq!(reno.ssthresh().as_u64(), 5 * SMSS);
        acknowledge(&mut reno, 1);
        assert_eq!(reno.cwnd().as_u64(), 2 * SMSS);
    }

    #[test]
    fn an_undone_reduction_gives_back_window_and_threshold_once() {
        let mut reno = reno(Counting::PerAck);
        congestion(&mut reno, CongestionKind::Loss, 10);
        reno.undo(Instant::default());
        assert_eq!(reno.cwnd().as_u64(), 10 * SMSS);
        assert_eq!(reno.ssthresh().as_u64(), 10 * SMSS);
        reno.on_idle_restart(Instant::default(), Bytes::new(4 * SMSS));
        reno.undo(Instant::default());
        assert_eq!(reno.cwnd().as_u64(), 4 * SMSS);
    }

    #[test]
    fn with_abe_a_notification_in_avoidance_leaves_four_fifths_and_in_slow_start_half() {
        for (abe, left) in [(false, 10), (true, 16)] {
            let mut reno = reno(Counting::PerAck);
            reno.abe = abe;
            reno.cwnd = 20 * SMSS;
            congestion(&mut reno, CongestionKind::Ecn, 20);
            assert_eq!(reno.cwnd().as_u64(), left * SMSS);
            assert_eq!(reno.ssthresh(), reno.cwnd());
        }
        let mut opening = reno(Counting::PerAck);
        opening.abe = true;
        opening.ssthresh = u64::MAX;
        congestion(&mut opening, CongestionKind::Ecn, 10);
        assert_eq!(opening.cwnd().as_u64(), 5 * SMSS);
        let mut lost = reno(Counting::PerAck);
        lost.abe = true;
        congestion(&mut lost, CongestionKind::Loss, 10);
        assert_eq!(lost.cwnd().as_u64(), 5 * SMSS);
    }
}
