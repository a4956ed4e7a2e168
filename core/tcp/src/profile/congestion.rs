//! How the congestion window opens, and what is kept of it.

use gigatcp_units::Bytes;

use crate::window_growth::{Counting, SlowStart};

/// How large the initial window is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// RFC 6928 section 2: min(10·SMSS, max(2·SMSS, 14600)).
    Rfc6928,
    /// RFC 3390 / RFC 5681 section 3.1: 4, 3 or 2 segments by size, which
    /// Linux 2.6.20 rendered as 4 up to 1095, 3 up to 1460, 2 above.
    Rfc3390,
    /// That many segments.
    Segments(u32),
}

impl InitialWindow {
    /// The initial window for segments of `smss` octets.
    #[must_use]
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

/// How the congestion window opens, and what is kept of it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Congestion {
    /// How acknowledgments are counted when cwnd grows.
    pub counting: Counting,
    /// Initial window.
    pub initial_window: InitialWindow,
    /// How the window opens where neither plan nor control says.
    /// [`SlowStart::Usual`] here means what came out best when measured
    /// (`docs/notes/slow-start.md`): `HyStart` where the sender paces,
    /// `HyStart++` where it does not.
    pub slow_start: SlowStart,
    /// Restart from the restart window after idle time, RFC 5681 section 4.1.
    pub idle_restart: bool,
    /// In slow start a window opens that was more than half in use in the last
    /// round, as RFC 7661 section 4.1 has it validated (Linux
    /// `tcp_is_cwnd_limited`); without, only one that is in use to its end.
    pub half_used_opens: bool,
    /// A window opens by what an acknowledgment newly tells of as delivered,
    /// and not again by what SACK had told of (Linux); RFC 3465 section 2.1
    /// counts all that is acknowledged.
    pub growth_by_delivery: bool,
    /// Congestion window validation, RFC 7661, in place of `idle_restart`:
    /// what was in use lately decides what may grow, what congestion leaves,
    /// and how long an unused window is kept. Without it a window grows only
    /// when it was full, as in Linux.
    pub cwnd_validation: bool,
    /// CUBIC's fast convergence, RFC 9438 section 4.7.
    pub fast_convergence: bool,
    /// Alternative backoff with ECN, RFC 8511.
    pub abe: bool,
    /// N of the rate that the first data asks of routers: 40 kbit/s · 2^N (RFC 4782); 0
    /// asks none.
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
