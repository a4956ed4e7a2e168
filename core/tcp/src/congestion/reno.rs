//! Reno: additive increase, multiplicative decrease (RFC 5681).
//!
//! * Below ssthresh: slow start, see `slow_start.rs`.
//! * From there on: one SMSS per window of data acknowledged. RFC 5681 section
//!   3.1 offers cwnd += SMSS·SMSS/cwnd per ACK (eq. 3) or counting octets
//!   until they make up a window (RFC 3465 section 2.1); this is the second.
//!   Counting by ACK, every ACK counts for one SMSS, which is eq. 3.
//! * Congestion: ssthresh = max(`FlightSize`/2, 2·SMSS) (eq. 4); cwnd becomes
//!   ssthresh, or one SMSS after a timeout.
//!
//! Not here: inflating cwnd by duplicate ACKs (section 3.2 steps 3 to 5). The
//! engine lets `pipe` of RFC 6675 run up to cwnd, which sends the same
//! segments without a window that lies. `FlightSize` must not count what
//! limited transmit sent (section 3.2 step 2); that is the engine's to know.

use gigatcp_units::{Bytes, Instant};

use super::gate::Gate;
use super::slow_start::Opening;
use super::{Ack, Config, Congestion, CongestionControl, CongestionKind, Counting};

/// The Reno control.
#[derive(Clone, Debug)]
pub struct Reno {
    smss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Octets acknowledged since the last step of congestion avoidance:
    /// `bytes_acked` of RFC 3465.
    bytes_acked: u64,
    opening: Opening,
    gate: Gate,
    /// cwnd and ssthresh before the last congestion event.
    prior: Option<(u64, u64)>,
}

impl Reno {
    /// A control at its start.
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
            opening: Opening::new(config),
            gate: Gate::default(),
            prior: None,
        }
    }

    /// Congestion avoidance, RFC 3465 section 2.1.
    fn avoid(&mut self, acked: u64) {
        self.bytes_acked = self.bytes_acked.saturating_add(match self.opening.counting() {
            Counting::PerAck => self.smss,
            Counting::Bytes { .. } => acked,
        });
        if self.bytes_acked >= self.cwnd {
            // At most one SMSS per ACK, even if the ACK covers two windows.
            self.bytes_acked = (self.bytes_acked - self.cwnd).min(self.cwnd);
            self.cwnd = self.cwnd.saturating_add(self.smss);
        }
    }
}

impl CongestionControl for Reno {
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.ssthresh)
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !self.gate.opens(ack) || !ack.cwnd_limited {
            return;
        }
        let acked = ack.acked.as_u64();
        if self.cwnd < self.ssthresh {
            self.cwnd += self.opening.growth(self.cwnd, self.ssthresh, acked);
        } else {
            self.opening.on_leaving();
            self.avoid(acked);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.gate.on_congestion(event.kind);
        self.prior = Some((self.cwnd, self.ssthresh));
        let least = 2 * self.smss;
        self.ssthresh = (event.flight_size.as_u64() / 2).max(least);
        self.bytes_acked = 0;
        self.cwnd = match event.kind {
            CongestionKind::Timeout => {
                self.opening.on_timeout();
                self.smss
            }
            // What is in flight may still be an older, larger window.
            CongestionKind::Loss | CongestionKind::Ecn => self.ssthresh.min(self.cwnd.max(least)),
        };
    }

    fn on_idle_restart(&mut self, _now: Instant, restart_window: Bytes) {
        self.cwnd = self.cwnd.min(restart_window.as_u64().max(self.smss));
    }

    fn on_smss_change(&mut self, smss: u32) {
        self.smss = u64::from(smss.max(1));
        self.opening.set_smss(smss);
        self.cwnd = self.cwnd.max(self.smss);
    }

    fn undo(&mut self, _now: Instant) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
            self.gate.on_undo();
        }
    }
}
