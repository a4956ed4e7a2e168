//! Prague: DCTCP for the Internet, with low latency, low loss and scalable throughput.
//!
//! RFC 9331 section 4 and draft-briscoe-iccrg-prague-congestion-control; rules of the Linux
//! module `tcp_prague.c`, version 0.6. Requires accurate ECN feedback (RFC 9768) and ECT(1).
//!
//! * alpha = alpha·(1 − g) + g·(octets marked/octets acknowledged), g = 1/16, once per max(RTT,
//!   25 ms); it is 1 until the first mark;
//! * marks take alpha/2 of cwnd, at most once per window and 25 ms;
//! * each octet acknowledged without a mark adds its share of one segment per window, also in the
//!   round trip of a reduction;
//! * below an RTT of 25 ms, 500 round trips after slow start, growth is (RTT/25 ms)² of that: the
//!   rate is then that of a flow over 25 ms;
//! * loss halves the window.
//!
//! Pacing at cwnd/SRTT, twice that below half of ssthresh. With random marks of probability p the
//! mean window is near 2/p.
//!
//! Out of scope: the fallback to Reno at a classic AQM, windows below two segments, and the
//! gradual change of cwnd by one segment per ACK (the engine spreads the reduction).

use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion, CongestionKind};
use crate::events::Phase;

/// Value 1 of alpha.
const ONE: u64 = 1 << 20;
/// g = 1/16, as a shift.
const GAIN_SHIFT: u32 = 4;
/// RTT below which growth depends on the RTT, and minimum time between two updates.
const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// Rounds after slow start from which on the RTT counts.
const TRANSITION: u32 = 500;
/// Scale of growth.
const SCALE: u64 = 1 << 16;

pub(super) fn control(config: &Config) -> Windowed<Prague> {
    Windowed::new(config, Prague::new())
}

/// The law of Prague.
#[derive(Clone, Debug)]
pub(super) struct Prague {
    /// Smoothed share of marks, in 1/[`ONE`].
    alpha: u64,
    /// Octets acknowledged and marked since `since`.
    acked: u64,
    marked: u64,
    since: Option<Instant>,
    was_marked: bool,
    srtt: Option<Duration>,
    /// Rounds since slow start ended.
    rounds: u32,
    last_cut: Option<Instant>,
}

impl Prague {
    fn new() -> Self {
        Self {
            alpha: ONE,
            acked: 0,
            marked: 0,
            since: None,
            was_marked: false,
            srtt: None,
            rounds: 0,
            last_cut: None,
        }
    }

    fn is_rtt_independent(&self) -> bool {
        self.rounds >= TRANSITION && self.srtt.is_some_and(|srtt| srtt < VIRTUAL_RTT)
    }

    fn update_alpha(&mut self, now: Instant) {
        let since = *self.since.get_or_insert(now);
        let is_early = now.saturating_since(since) < VIRTUAL_RTT;
        if self.acked == 0 || (is_early && self.is_rtt_independent()) {
            return;
        }
        if self.was_marked {
            let marked = u128::from(self.marked.min(self.acked)) * u128::from(ONE);
            let share = (marked / u128::from(self.acked)) as u64;
            // Rounded so that alpha reaches 0 without marks.
            let forgotten = self.alpha.div_ceil(1 << GAIN_SHIFT);
            self.alpha = (self.alpha - forgotten + (share >> GAIN_SHIFT)).min(ONE);
        }
        (self.acked, self.marked) = (0, 0);
        self.since = Some(now);
    }

    fn grow(&self, window: &mut Window, unmarked: u64) {
        let factor = match self.srtt {
            Some(srtt) if self.is_rtt_independent() => {
                let share = SCALE * srtt.as_nanos() / VIRTUAL_RTT.as_nanos();
                share * share / SCALE
            }
            _ => SCALE,
        };
        window.grow_by_share(unmarked, factor, SCALE);
    }
}

fn unmarked(ack: &Ack, acked: u64) -> u64 {
    acked.saturating_sub(ack.ce_marked.as_u64())
}

impl Law for Prague {
    const SCALABLE: bool = true;

    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        self.srtt = ack.srtt.or(self.srtt);
        self.acked = self.acked.saturating_add(ack.delivered.as_u64());
        self.marked = self.marked.saturating_add(ack.ce_marked.as_u64());
        self.was_marked |= ack.ce_marked != Bytes::ZERO;
        if ack.round_end {
            self.rounds = if window.is_in_slow_start() {
                0
            } else {
                self.rounds.saturating_add(1)
            };
            self.update_alpha(ack.now);
        }
        // In CWR the gate blocks growth.
        if ack.phase == Phase::Cwr && ack.cwnd_limited {
            self.grow(window, unmarked(ack, ack.acked.as_u64()));
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        self.grow(window, unmarked(ack, acked));
    }

    fn reduced(&mut self, window: &Window, event: &Congestion, in_use: u64) -> u64 {
        if event.kind != CongestionKind::Ecn {
            return in_use / 2;
        }
        let early = |cut| event.now.saturating_since(cut) < VIRTUAL_RTT;
        if self.is_rtt_independent() && self.last_cut.is_some_and(early) {
            return window.cwnd;
        }
        self.last_cut = Some(event.now);
        let given_back = u128::from(window.cwnd) * u128::from(self.alpha) / u128::from(2 * ONE);
        debug_assert!(
            given_back <= u128::from(window.cwnd / 2),
            "alpha {} of {ONE} takes {given_back} of {}",
            self.alpha,
            window.cwnd
        );
        window.cwnd - given_back as u64
    }

    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        let srtt = self.srtt.filter(|srtt| !srtt.is_zero())?;
        let factor = if window.cwnd < window.ssthresh / 2 {
            2
        } else {
            1
        };
        let amount = Bytes::new(window.cwnd.saturating_mul(factor));
        Some(Rate::from_amount(amount, srtt))
    }

    fn keep_measured(&mut self, since: &Self) {
        let last_cut = self.last_cut;
        *self = Self {
            last_cut,
            ..since.clone()
        };
    }
}
