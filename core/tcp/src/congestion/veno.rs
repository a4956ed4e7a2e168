//! Veno: Vegas' estimate of the queue distinguishes random loss from congestion.
//!
//! Fu, Liew, "TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks", IEEE
//! JSAC 21(2), 2003. N = cwnd·(RTT − base RTT)/RTT segments are queued:
//!
//! * N < 3: Reno's growth; loss is assumed to be random and reduces the window by a fifth;
//! * N >= 3: one segment every second round trip; loss halves the window.
//!
//! RTT is the smoothed one, as in the paper, so N is known when a loss arrives: a loss that ends
//! slow start finds the queue that it built. Below the threshold the mean window at loss rate p
//! is 2.12/√p.
//!
//! Not as in Linux 6.12 (`tcp_veno.c`): its minimum RTT is cleared at each ACK, so its N is that
//! of single ACKs, and of a delayed ACK.

use gigatcp_units::Duration;

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Queue in segments from which on the path counts as congested.
const BETA: u64 = 3;

pub(super) fn control(config: &Config) -> Windowed<Veno> {
    Windowed::new(config, Veno::default())
}

/// The law of Veno.
#[derive(Clone, Default, Debug)]
pub(super) struct Veno {
    base_rtt: Option<Duration>,
    /// Whether three segments or more are queued.
    is_congested: bool,
}

/// Whether N = cwnd·(RTT − base RTT)/RTT is [`BETA`] segments or more.
fn is_congested(window: &Window, rtt: Duration, base: Duration) -> bool {
    let queueing_delay = rtt.saturating_sub(base);
    !queueing_delay.is_zero()
        && u128::from(window.cwnd) * u128::from(queueing_delay.as_nanos())
            >= u128::from(BETA * window.smss) * u128::from(rtt.as_nanos())
}

impl Law for Veno {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        let (Some(rtt), Some(srtt)) = (ack.rtt, ack.srtt) else {
            return;
        };
        let base = self.base_rtt.map_or(rtt, |base| base.min(rtt));
        self.base_rtt = Some(base);
        self.is_congested = is_congested(window, srtt, base);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_with_three_segments_queued_is_congested_and_with_less_is_not() {
        let mut window = Window::of(100, 1000);
        let base = Duration::from_millis(97);
        // 100·(100 − 97)/100 = 3.
        assert!(is_congested(&window, Duration::from_millis(100), base));
        window.cwnd -= 1;
        assert!(!is_congested(&window, Duration::from_millis(100), base));
        assert!(!is_congested(&window, base, base));
    }

    #[test]
    fn loss_takes_a_fifth_without_a_queue_and_a_half_with_one() {
        let window = Window::of(100, 1000);
        let event = Congestion {
            now: gigatcp_units::Instant::ZERO,
            kind: super::super::CongestionKind::Loss,
            flight_size: gigatcp_units::Bytes::new(100_000),
            pipe: gigatcp_units::Bytes::new(100_000),
        };
        let mut law = Veno::default();
        assert_eq!(law.reduced(&window, &event, 100_000), 80_000);
        law.is_congested = true;
        assert_eq!(law.reduced(&window, &event, 100_000), 50_000);
    }
}
