//! How the congestion window opens, and what is kept of it.

use super::InitialWindow;
use crate::window_growth::Counting;
use crate::window_growth::SlowStart;

/// How the congestion window opens, and what is kept of it.
#[derive(Clone, Copy, PartialEq, Debug)]
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
