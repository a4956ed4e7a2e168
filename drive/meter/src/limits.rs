//! Time by limit of a kernel's sender, from one sample to the next.
//!
//! The kernel counts the time in which it had data to send or in flight, and how long the receive
//! window or the send buffer limited it (RFC 4898 `tcpEStatsPerfSndLimTime*`; `tcpi_busy_time`,
//! `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`), in ticks of its own clock. Time in which it was not
//! busy belongs to the application. The remaining time belongs to the congestion window, under the
//! state at the sample.
//!
//! Out of scope: pacing, the host's CPU, and the device, which the kernel counts as busy time. A
//! rate-based control without slow-start threshold (BBR) has [`Limit::Pacing`] for all of it.

use gigatcp_tcp::events::{Limit, Phase};
use gigatcp_units::{Duration, Instant, kernel_control};

use crate::view::View;

/// Time per limit, sampled from the kernel's counters.
#[derive(Clone, Copy, Debug)]
pub struct LimitTally {
    since: Instant,
    until: Instant,
    spent: [Duration; Limit::ALL.len()],
    paces: bool,
}

impl LimitTally {
    /// A tally of a connection established at `now`. `congestion` is the kernel's name of its
    /// control.
    pub fn new(now: Instant, congestion: &str) -> Self {
        Self {
            since: now,
            until: now,
            spent: [Duration::ZERO; Limit::ALL.len()],
            paces: kernel_control::is_rate_based(congestion),
        }
    }

    /// Time under each limit, in the order of [`Limit::ALL`].
    ///
    /// The times add up to the time from the beginning to the last sample.
    pub const fn all(&self) -> [Duration; Limit::ALL.len()] {
        self.spent
    }

    /// Takes a sample at `now`. Each limit is raised to what the kernel has counted so far, within
    /// the time of this step. So an excess by the kernel's ticks in one step is corrected in the
    /// next.
    pub fn on_view(&mut self, now: Instant, view: &View) {
        let mut left = now.saturating_since(self.until);
        let idle = now.saturating_since(self.since).saturating_sub(view.busy);
        let counted = [
            (Limit::ReceiveWindow, view.rwnd_limited),
            (Limit::SendBuffer, view.sndbuf_limited),
            (Limit::Application, idle),
        ];
        for (limit, counted) in counted {
            let spent = &mut self.spent[limit.index()];
            let missing = counted.saturating_sub(*spent).min(left);
            *spent += missing;
            left = left.saturating_sub(missing);
        }
        self.spent[self.of_window(view).index()] += left;
        self.until = self.until.max(now);
    }

    /// Limit for the time that belongs to the congestion window.
    fn of_window(&self, view: &View) -> Limit {
        match view.phase {
            Phase::Cwr | Phase::Recovery | Phase::Loss => Limit::Recovery,
            _ if self.paces => Limit::Pacing,
            _ if view.ssthresh.is_none_or(|ssthresh| view.cwnd < ssthresh) => Limit::SlowStart,
            _ => Limit::Avoidance,
        }
    }
}

#[cfg(test)]
mod tests {
    use gigatcp_units::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_kernels_counts_are_kept_and_the_rest_is_the_windows() {
        let mut tally = LimitTally::new(at(0), "cubic");
        let mut view = View {
            busy: ms(100),
            rwnd_limited: ms(30),
            ..View::default()
        };
        tally.on_view(at(100), &view);
        view.ssthresh = Some(Bytes::new(10));
        view.cwnd = Bytes::new(20);
        view.busy = ms(150);
        tally.on_view(at(200), &view);
        let spent = tally.all();
        let of = |limit: Limit| spent[limit.index()];
        assert_eq!(of(Limit::ReceiveWindow), ms(30));
        assert_eq!(of(Limit::Application), ms(50));
        assert_eq!(of(Limit::SlowStart), ms(70));
        assert_eq!(of(Limit::Avoidance), ms(50));
    }

    #[test]
    fn a_tick_too_much_is_taken_back_in_the_next_step() {
        let mut tally = LimitTally::new(at(0), "cubic");
        for (now, busy) in [(10, 12), (20, 20), (30, 32)] {
            let view = View {
                busy: ms(busy),
                ..View::default()
            };
            tally.on_view(at(now), &view);
        }
        assert_eq!(tally.all()[Limit::Application.index()], ms(0));
    }

    proptest! {
        #[test]
        fn whatever_the_kernel_says_the_times_add_up(
            steps in prop::collection::vec((0_u64..100, 0_u64..200, 0_u64..200, 0_u64..200), 1..50)
        ) {
            let mut tally = LimitTally::new(at(5), "bbr");
            let mut now = 5;
            for (step, busy, rwnd, sndbuf) in steps {
                now += step;
                let view = View {
                    busy: ms(busy),
                    rwnd_limited: ms(rwnd),
                    sndbuf_limited: ms(sndbuf),
                    ..View::default()
                };
                tally.on_view(at(now), &view);
            }
            let sum: u64 = tally.all().iter().map(|spent| spent.as_nanos()).sum();
            prop_assert_eq!(sum, ms(now - 5).as_nanos());
        }
    }
}
