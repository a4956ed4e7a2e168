//! Tahoe as in its paper: growth per ACK, and half of cwnd at a timeout.
//!
//! Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, section 3 and its appendix on both
//! algorithms. For each ACK of new data, however much it covers,
//!
//! ```text
//! cwnd <- cwnd + 1        below ssthresh                                (1)
//! cwnd <- cwnd + 1/cwnd   otherwise                                     (2)
//! ```
//!
//! in segments; of (2) the whole bytes count, as in 4.3BSD. A timeout sets ssthresh to half of
//! cwnd in whole segments, at least two, and cwnd to one.
//!
//! Visible differences from `tahoe`: a receiver that acknowledges every second segment halves
//! both slopes whatever the profile counts; (2) adds a little less than a segment per window;
//! ssthresh is in whole segments; and it halves cwnd where `tahoe` halves the flight. The paper
//! has only timeouts: loss detected by duplicate ACKs counts as one here, and with a profile
//! without fast retransmit it waits for the timer. ECN halves the window.

use gigatcp_units::Bytes;

use crate::congestion::slow_start::SlowStartState;
use crate::congestion::windowed::{Law, Window, Windowed};
use crate::congestion::{Ack, Config, Congestion};

/// A Tahoe control of 1988.
pub(super) fn control(config: &Config) -> Windowed<Tahoe1988> {
    Windowed::new(config, Tahoe1988)
}

/// The law of Tahoe in 1988.
#[derive(Clone, Debug)]
pub(super) struct Tahoe1988;

impl Law for Tahoe1988 {
    const RESTARTS: bool = true;

    fn grow_slow_start(&mut self, window: &mut Window, _opening: &mut SlowStartState, ack: &Ack) {
        if ack.cwnd_limited && ack.acked != Bytes::ZERO {
            window.cwnd = window.cwnd.saturating_add(window.smss);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, _acked: u64) {
        let bytes = window.smss * window.smss / window.cwnd;
        window.cwnd = window.cwnd.saturating_add(bytes);
    }

    fn reduced(&mut self, window: &Window, _event: &Congestion, _in_use: u64) -> u64 {
        window.segments() / 2 * window.smss
    }
}
