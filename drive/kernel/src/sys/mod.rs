//! System calls, each wrapped once: the only unsafe code of the project
//! besides the benchmark's.
//!
//! Every function here takes and gives Rust types and turns `-1` into the
//! error number of the thread. What a call means stands with its caller.

pub(crate) mod address;
pub(crate) mod clock;
pub(crate) mod device;
pub(crate) mod process;
pub(crate) mod sniff;
pub(crate) mod socket;
pub(crate) mod thread;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The result of a system call that gives -1 on failure.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The same for calls that count octets.
fn check_size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes a descriptor that a system call has just made into ownership.
fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd: RawFd = check(result)?;
    // SAFETY: `fd` was made by the call whose result this is, is open, and
    // nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
