//! The commands, one file each: what can be typed, and what is done.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod conform;
#[cfg(unix)]
mod counters_record;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod emulate;
pub(crate) mod explain;
pub(crate) mod flows;
pub(crate) mod graphs;
mod in_order;
pub(crate) mod list;
#[cfg(target_os = "linux")]
pub(crate) mod privilege;
pub(crate) mod run;
#[cfg(unix)]
pub(crate) mod server;
#[cfg(unix)]
pub(crate) mod show;
#[cfg(unix)]
pub(crate) mod sweep;
#[cfg(unix)]
pub(crate) mod test;
pub(crate) mod theory;
#[cfg(unix)]
pub(crate) mod trace;
pub(crate) mod watch;
pub(crate) mod whatif;
pub(crate) mod why;

use crate::interrupt::Signal;

/// How a command ended that did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Everything was done.
    Done,
    /// What was to be judged is wrong, and that was said on stdout.
    Refused,
    /// A measured result missed its bar, and that was said on stdout.
    Missed,
    /// Another process has done and said everything; its exit status.
    Told(u8),
    /// Somebody asked to stop.
    Interrupted(Signal),
}
