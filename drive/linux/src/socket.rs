//! Options of the kernel's sockets.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use crate::check;

/// `setsockopt(2)`.
///
/// # Errors
/// What the kernel says.
pub fn set_option(fd: RawFd, level: i32, name: i32, value: &[u8]) -> io::Result<i32> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: pointer and length are those of `value`.
    check(unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) })
}

/// Names the congestion control of a socket, or of what a listener will accept.
/// A route's `congctl` wins over it: read back what is in use where that matters.
///
/// # Errors
/// When the kernel has none of this name, or does not allow it.
pub fn set_congestion(socket: &impl AsRawFd, name: &str) -> io::Result<()> {
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    set_option(socket.as_raw_fd(), level, option, name.as_bytes())?;
    Ok(())
}

/// Sets a buffer of a socket: the kernel grants twice as much, up to its limit,
/// and no longer fits it to the path.
///
/// # Errors
/// What the kernel says.
pub fn set_receive_buffer(socket: &impl AsRawFd, octets: i32) -> io::Result<()> {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVBUF);
    set_option(socket.as_raw_fd(), level, option, &octets.to_ne_bytes())?;
    Ok(())
}

/// The same beyond the limit of the system (`SO_RCVBUFFORCE`).
///
/// # Errors
/// What the kernel says: it takes `CAP_NET_ADMIN`.
pub fn force_receive_buffer(socket: &impl AsRawFd, octets: i32) -> io::Result<()> {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
    set_option(socket.as_raw_fd(), level, option, &octets.to_ne_bytes())?;
    Ok(())
}

/// Closing resets the connection instead (`SO_LINGER` with no time).
///
/// # Errors
/// What the kernel says.
pub fn reset_on_close(socket: &impl AsRawFd) -> io::Result<()> {
    let on_and_no_time = [1_i32.to_ne_bytes(), 0_i32.to_ne_bytes()].concat();
    let (level, option) = (libc::SOL_SOCKET, libc::SO_LINGER);
    set_option(socket.as_raw_fd(), level, option, &on_and_no_time)?;
    Ok(())
}
