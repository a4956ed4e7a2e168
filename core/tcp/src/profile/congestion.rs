//! Initial size, growth and validation of the congestion window.

use gigatcp_units::{Bytes, Duration};

use crate::window_growth::{Counting, SlowStart};

/// Rule for the size of the initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// RFC 6928 section 2: min(10·SMSS, max(2·SMSS, 14600)).
    Rfc6928,
    /// RFC 3390 / RFC 5681 section 3.1: 4, 3 or 2 segments by size. Linux 2.6.20 implements it as
    /// 4 up to 1095, 3 up to 1460, 2 above.
    Rfc3390,
    /// This number of segments.
    Segments(u32),
}

impl InitialWindow {
    /// Initial window for segments of `smss` octets.
    pub fn bytes(self, smss: u32) -> Bytes {
        let smss = u64::from(smss);
        Bytes::new(match self {
            InitialWindow::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
            InitialWindow::Rfc3390 if smss > 1460 => 2 * smss,
            InitialWindow::Rfc3390 if smss > 1095 => 3 * smss,
            InitialWindow::Rfc3390 => 4 * smss,
            InitialWindow::Segments(n) => u64::from(n) * smss,
        })
    }
}

/// Initial size, growth and validation of the congestion window.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Congestion {
    /// Name of the control of a connection that names none.
    pub default_control: &'static str,
    /// Rule by which acknowledgments are counted when cwnd grows.
    pub counting: Counting,
    /// Initial window.
    pub initial_window: InitialWindow,
    /// One lost SYN or SYN-ACK leaves any initial window, a second one a segment. With RFC 6928 it
    /// always does; without, RFC 5681 section 3.1 has a segment after the first.
    pub lost_syn_keeps_window: bool,
    /// Slow-start variant if neither plan nor control sets one. Here [`SlowStart::Usual`] means
    /// the best variant measured (`docs/notes/slow-start.md`): `HyStart` with pacing, `HyStart++`
    /// without.
    pub slow_start: SlowStart,
    /// After idle time cwnd falls to the restart window, RFC 5681 section 4.1.
    pub idle_restart: bool,
    /// Growth in slow start if more than half the window was in use last round. RFC 7661 section
    /// 4.1 calls it validated (Linux `tcp_is_cwnd_limited`). Without, it grows only if all of it
    /// was used.
    pub half_used_opens: bool,
    /// The window grows by what an ACK newly reports as delivered, by SACK too (Linux). Octets that
    /// SACK has reported before do not count again. Without, all that is acknowledged counts (RFC
    /// 3465 section 2.1).
    pub growth_by_delivery: bool,
    /// Congestion takes its share of cwnd, and with Reno a timeout in a window already reduced keeps
    /// ssthresh, as it does with others (Linux `tcp_enter_loss`). RFC 5681 section 3.1 has the flight in place of cwnd, and no such
    /// exception.
    pub reduces_cwnd: bool,
    /// Congestion window validation, RFC 7661, in place of `idle_restart`. Recent use of the
    /// window determines whether it may grow, its reduction on congestion, and how long an unused
    /// window is kept. Without, a window grows only when it was full, as in Linux.
    pub cwnd_validation: bool,
    /// The window grows though it is not full, up to what its largest flight could justify
    /// (draft-ietf-ccwg-ratelimited-increase-08).
    pub rate_limited_increase: bool,
    /// CUBIC's fast convergence, RFC 9438 section 4.7.
    pub fast_convergence: bool,
    /// Alternative backoff with ECN, RFC 8511.
    pub abe: bool,
    /// Tick of the clock in which CUBIC of Linux counts: 1/`CONFIG_HZ`, in whole milliseconds.
    pub kernel_tick: Duration,
    /// N of the rate requested from routers with the first data (RFC 4782). The rate is 40 kbit/s
    /// · 2^N; 0 requests none.
    pub quick_start: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_are_those_of_the_rfcs() {
        let window = |rule: InitialWindow, smss| rule.bytes(smss).as_u64();
        assert_eq!(window(InitialWindow::Rfc6928, 1460), 14_600);
        assert_eq!(window(InitialWindow::Rfc6928, 4096), 14_600);
        assert_eq!(window(InitialWindow::Rfc6928, 8948), 17_896);
        assert_eq!(window(InitialWindow::Rfc3390, 536), 4 * 536);
        assert_eq!(window(InitialWindow::Rfc3390, 1448), 3 * 1448);
        assert_eq!(window(InitialWindow::Rfc3390, 8948), 2 * 8948);
    }
}
