//! Owner, width and input of a terminal.

use std::os::fd::AsRawFd;

/// Returns whether `terminal` belongs to the process group of the caller. A shell started there
/// takes it over.
pub fn is_ours(terminal: &impl AsRawFd) -> bool {
    // SAFETY: plain integers; neither call can do more than fail.
    let (has, ours) = unsafe { (libc::tcgetpgrp(terminal.as_raw_fd()), libc::getpgrp()) };
    has == ours
}

/// Returns the number of columns of `terminal`, if known.
pub fn columns(terminal: &impl AsRawFd) -> Option<usize> {
    // SAFETY: `winsize` is integers: all zero is valid.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes a `struct winsize`, which outlives the call.
    let asked = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (asked == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Discards what was typed on `terminal` and not read; on anything else nothing happens.
pub fn discard_input(terminal: &impl AsRawFd) {
    // SAFETY: plain integers; the call can do no more than fail.
    let _ = unsafe { libc::tcflush(terminal.as_raw_fd(), libc::TCIFLUSH) };
}
