//! The commands, one module each.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
#[cfg(target_os = "linux")]
mod congestion;
mod counters_record;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod emulate;
pub(crate) mod explain;
pub(crate) mod flows;
pub(crate) mod graphs;
mod in_order;
pub(crate) mod list;
pub(crate) mod man;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod new;
#[cfg(target_os = "linux")]
pub(crate) mod privilege;
mod repeat;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod test;
pub(crate) mod theory;
pub(crate) mod trace;
pub(crate) mod watch;
pub(crate) mod whatif;
pub(crate) mod why;

use crate::interrupt::{Interrupt, Signal};

/// Result of a command that did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The command succeeded.
    Done,
    /// The analyzed input is wrong, as reported on stdout.
    Refused,
    /// A measured result missed its goal, as reported on stdout.
    Missed,
    /// A second process ran the command and reported everything; its exit status.
    Exited(u8),
    /// A signal requested the end of the program.
    Interrupted(Signal),
}

impl Outcome {
    /// A signal decides; then whether a result missed its goal.
    pub(crate) fn of(interrupt: &Interrupt, has_missed: bool) -> Self {
        match interrupt.signal() {
            Some(signal) => Self::Interrupted(signal),
            None if has_missed => Self::Missed,
            None => Self::Done,
        }
    }
}
