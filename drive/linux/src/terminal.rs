//! Owner, width and input of a terminal.

use std::os::fd::AsFd;

use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp, tcgetwinsize};

/// Whether `terminal` belongs to the process group of the caller. A shell started there takes it
/// over.
pub fn is_ours(terminal: &impl AsFd) -> bool {
    tcgetpgrp(terminal) == Ok(getpgrp())
}

/// Number of columns of `terminal`, if known.
pub fn columns(terminal: &impl AsFd) -> Option<usize> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// Discards what was typed on `terminal` and not read; on anything else nothing happens.
pub fn discard_input(terminal: &impl AsFd) {
    let _ = tcflush(terminal, QueueSelector::IFlush);
}
