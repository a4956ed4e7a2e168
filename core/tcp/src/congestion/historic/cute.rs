//! CUTE: a timeout reduces the window to one segment, a window without timeout adds one.
//!
//! Jain, "A Timeout-Based Congestion Control Scheme for Window Flow-Controlled Networks", IEEE
//! JSAC SAC-4(7), 1986. The increase is from memory of the paper and not checked against its
//! text.
//!
//! * Loss: W = 1;
//! * after each further W segments acknowledged: W + 1, so W is near √(2·n) after n of them.
//!
//! There is no slow start and no threshold. It was the window of a transport without fast
//! retransmit; loss detected by duplicate ACKs counts as a timeout here. ECN halves the window.

use gigatcp_units::Bytes;

use crate::congestion::slow_start::SlowStartState;
use crate::congestion::windowed::{Law, Window, Windowed};
use crate::congestion::{Ack, Config, Congestion};

pub(super) fn control(config: &Config) -> Windowed<Cute> {
    Windowed::new(config, Cute)
}

/// The law of CUTE.
#[derive(Clone, Debug)]
pub(super) struct Cute;

impl Law for Cute {
    const RESTARTS: bool = true;

    fn grow_slow_start(&mut self, window: &mut Window, _opening: &mut SlowStartState, ack: &Ack) {
        if ack.cwnd_limited && ack.acked != Bytes::ZERO {
            self.grow_avoidance(window, ack, ack.acked.as_u64());
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        window.grow_by_segments(window.segments(), acked);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }
}
