//! DECbit: a bit set by routers decides between one segment more and an eighth less.
//!
//! Ramakrishnan, Jain, "A Binary Feedback Scheme for Congestion Avoidance in Computer Networks",
//! ACM TOCS 8(2), 1990. Written from memory of the paper and not checked against its text.
//!
//! * A decision counts the bits of one window, after one window in which the last decision takes
//!   effect: two round trips each;
//! * half of them or more set: cwnd = 0.875·cwnd, otherwise cwnd + 1 segment.
//!
//! The bit is the CE mark of RFC 3168, as the receiver reports it. The router has to set it when
//! its mean queue is a packet or more. A single mark does not change the window, nor do marks
//! before the window has been counted. There is no slow start. Loss is not in the paper: it
//! leaves one segment as in `cute.rs`, by the same authors.

use gigatcp_units::Bytes;

use crate::congestion::slow_start::SlowStartState;
use crate::congestion::windowed::{Law, Window, Windowed};
use crate::congestion::{Ack, Config, Congestion, CongestionKind};

/// A DECbit control.
pub(super) fn control(config: &Config) -> Windowed<DecBit> {
    Windowed::new(config, DecBit::default())
}

/// The law of DECbit.
#[derive(Clone, Default, Debug)]
pub(super) struct DecBit {
    /// Whether this window is counted; the previous one is not.
    counts: bool,
    acked: u64,
    marked: u64,
    /// A segment of growth pending until an ACK may grow the window.
    is_due: bool,
}

impl DecBit {
    fn decide(&mut self, window: &mut Window) {
        let is_counted = self.counts;
        self.counts = !is_counted;
        let (acked, marked) = (self.acked, self.marked);
        (self.acked, self.marked) = (0, 0);
        if !is_counted || acked == 0 {
            return;
        }
        if marked >= acked - acked / 2 {
            window.fall_to((window.cwnd - window.cwnd / 8).max(window.smss));
            self.is_due = false;
        } else {
            self.is_due = true;
        }
    }
}

impl Law for DecBit {
    const RESTARTS: bool = true;

    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        self.acked = self.acked.saturating_add(ack.acked.as_u64());
        self.marked = self.marked.saturating_add(ack.ce_marked.as_u64());
        if ack.round_end {
            self.decide(window);
        }
    }

    fn grow_slow_start(&mut self, window: &mut Window, _opening: &mut SlowStartState, ack: &Ack) {
        if ack.cwnd_limited && ack.acked != Bytes::ZERO {
            self.grow_avoidance(window, ack, ack.acked.as_u64());
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, _acked: u64) {
        if core::mem::take(&mut self.is_due) {
            window.cwnd = window.cwnd.saturating_add(window.smss);
        }
    }

    fn reduced(&mut self, window: &Window, event: &Congestion, in_use: u64) -> u64 {
        match event.kind {
            CongestionKind::Ecn => window.cwnd,
            CongestionKind::Loss | CongestionKind::Timeout => in_use / 2,
        }
    }
}
