//! Who has the terminal.

use std::os::fd::AsRawFd;

/// Whether `terminal` listens to the process group of the caller: a shell that
/// was started there takes it for itself.
pub fn is_ours(terminal: &impl AsRawFd) -> bool {
    // SAFETY: plain integers; neither call can do more than fail.
    let (has, ours) = unsafe { (libc::tcgetpgrp(terminal.as_raw_fd()), libc::getpgrp()) };
    has == ours
}
