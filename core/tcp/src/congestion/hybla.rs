//! Hybla: the rate of a flow over 25 ms, whatever the RTT.
//!
//! Caini, Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International
//! Journal of Satellite Communications 22(5), 2004. With ρ = SRTT/25 ms, at least 1, per segment
//! acknowledged:
//!
//! * slow start: cwnd += 2^ρ − 1                                      (1)
//! * congestion avoidance: cwnd += ρ²/cwnd                            (2)
//!
//! In segments. The mean window at loss rate p is ρ·1.22/√p, so the rate is that of Reno over 25
//! ms. Loss halves the window as in Reno.
//!
//! Arithmetic of Linux 6.12 (`tcp_hybla.c`): ρ in eighths; 2^ρ with at most 16 whole bits and a
//! table for the eighths; ρ is recalculated when SRTT falls below its minimum; windows end at 65
//! 535 segments; outside phase Open growth is Reno's.
//!
//! Not as in Linux: each acknowledged segment counts, as in the paper, not each ACK. The initial
//! window is the configured one, not ρ segments. The window grows in fractions.

use gigatcp_units::Duration;

use super::slow_start::SlowStartState;
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};
use crate::events::Phase;

/// RTT0: RTT of the flow whose rate is the target.
const REFERENCE_RTT: Duration = Duration::from_millis(25);
/// Largest window, segments.
const MAX_WINDOW: u64 = 65_535;
/// 2^(n/8), in 1/128; the kernel's table.
const EIGHTH_POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Scale of growth.
const SCALE: u64 = 128;

pub(super) fn control(config: &Config) -> Windowed<Hybla> {
    Windowed::new(
        config,
        Hybla {
            eighths: 8,
            min_srtt: None,
        },
    )
}

/// The law of Hybla.
#[derive(Clone, Debug)]
pub(super) struct Hybla {
    /// ρ, in eighths.
    eighths: u64,
    /// Smallest SRTT so far.
    min_srtt: Option<Duration>,
}

impl Hybla {
    /// Returns eq. (1) in 1/[`SCALE`] segments.
    fn opening_growth(&self) -> u64 {
        debug_assert!(
            self.eighths >= 8,
            "rho is {} eighths, below 1",
            self.eighths
        );
        let whole = (self.eighths >> 3).min(16);
        (EIGHTH_POWERS[(self.eighths & 7) as usize] << whole) - SCALE
    }

    /// Returns ρ² in 1/[`SCALE`].
    fn rho_squared(&self) -> u64 {
        2 * self.eighths * self.eighths
    }
}

impl Law for Hybla {
    fn observe(&mut self, _window: &mut Window, ack: &Ack) {
        if let Some(srtt) = ack.srtt
            && self.min_srtt.is_none_or(|known| srtt < known)
        {
            self.min_srtt = Some(srtt);
            // A quarter of an hour: the bound keeps squares within 64 bits.
            let micros = srtt.as_micros().min(1 << 30);
            self.eighths = (8 * micros / REFERENCE_RTT.as_micros()).max(8);
        }
    }

    fn grow_slow_start(&mut self, window: &mut Window, opening: &mut SlowStartState, ack: &Ack) {
        let before = window.cwnd;
        let most = MAX_WINDOW.saturating_mul(window.smss).max(before);
        (window.cwnd, window.ssthresh) = opening.grow(ack, before, window.ssthresh);
        let grown = window.cwnd.saturating_sub(before);
        if ack.phase == Phase::Open && window.cwnd < window.ssthresh {
            // The octets that count have already grown the window; the rest of eq. (1).
            let more = self.opening_growth().saturating_sub(SCALE);
            let more = u128::from(grown) * u128::from(more) / u128::from(SCALE);
            let more = u64::try_from(more).unwrap_or(u64::MAX);
            window.cwnd = window.cwnd.saturating_add(more).min(window.ssthresh);
        }
        window.cwnd = window.cwnd.min(most);
    }

    fn grow_avoidance(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        if ack.phase != Phase::Open {
            window.grow_by_segments(window.segments(), acked);
        } else if window.segments() < MAX_WINDOW {
            window.grow_by_share(acked, self.rho_squared(), SCALE);
        }
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }

    fn keep_measured(&mut self, since: &Self) {
        *self = since.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_that_of_the_ratio_of_the_rtt_to_25_ms() {
        let expected = [
            (25, 1, 1),
            (50, 3, 4),
            (100, 15, 16),
            (250, 1023, 100),
            (600, 65_535, 576),
        ];
        for (rtt_ms, slow_start, avoidance) in expected {
            let law = Hybla {
                eighths: 8 * rtt_ms / 25,
                min_srtt: None,
            };
            assert_eq!(law.opening_growth() / SCALE, slow_start, "{rtt_ms} ms");
            assert_eq!(law.rho_squared() / SCALE, avoidance, "{rtt_ms} ms");
        }
    }
}
