//! Veno: Vegas' estimate of the queue distinguishes random loss from congestion.
//!
//! Fu, Liew, "TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks", IEEE
//! JSAC 21(2), 2003. Per round trip N = cwnd·(RTT − base RTT)/RTT, the segments queued:
//!
//! * N < 3: Reno's growth; loss is assumed to be random and reduces the window by a fifth;
//! * N >= 3: one segment every second round trip; loss halves the window.
//!
//! RTT is the smallest of the round, of at least three samples; with fewer N counts as 0. Below
//! the threshold the mean window at loss rate p is 2.12/√p.
//!
//! As in the paper N is determined per round trip. Linux 6.12 (`tcp_veno.c`) clears its minimum
//! at each ACK, so its N is that of single ACKs.

use super::round_rtt::RoundRtt;
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Queue in segments from which on the path counts as congested.
const BETA: u64 = 3;

/// Returns a Veno control.
pub(super) fn control(config: &Config) -> Windowed<Veno> {
    Windowed::new(config, Veno::default())
}

/// The law of Veno.
#[derive(Clone, Default, Debug)]
pub(super) struct Veno {
    rtt: RoundRtt,
    /// Whether the last round found three segments or more queued.
    is_congested: bool,
}

impl Law for Veno {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if ack.round_end {
            let measured = self.rtt.end();
            let queued = measured.map_or(0, |measured| measured.queued(window.cwnd));
            self.is_congested = queued >= BETA * window.smss;
        }
        if let Some(rtt) = ack.rtt {
            self.rtt.sample(rtt);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        let rounds = if self.is_congested { 2 } else { 1 };
        window.grow_by_segments(rounds * window.segments(), acked);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        if self.is_congested {
            in_use / 2
        } else {
            in_use - in_use / 5
        }
    }

    fn keep_measured(&mut self, since: &Self) {
        *self = since.clone();
    }
}
