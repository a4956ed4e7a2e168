//! Options of the kernel's sockets.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use crate::{check, check_size};

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

/// Has the kernel note when each packet came in (`SO_TIMESTAMPNS`).
///
/// # Errors
/// What the kernel says.
pub fn stamp_arrivals(socket: &impl AsRawFd) -> io::Result<()> {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    set_option(socket.as_raw_fd(), level, option, &1_i32.to_ne_bytes())?;
    Ok(())
}

/// Receives a datagram: its octets, and when it came in by
/// [`crate::clock::realtime`], where [`stamp_arrivals`] was asked for.
///
/// # Errors
/// What the kernel says.
pub fn receive_stamped(
    socket: &impl AsRawFd,
    octets: &mut [u8],
) -> io::Result<(usize, Option<i64>)> {
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec {
        iov_base: octets.as_mut_ptr().cast(),
        iov_len: octets.len(),
    };
    // SAFETY: `msghdr` is integers and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: every pointer of the message is to a live local of its length.
    let read = check_size(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) })?;
    let mut stamp = None;
    // SAFETY: the kernel has filled in the control part of `message`, which is
    // alive; the macros of `cmsg(3)` stay inside of it, and a stamp is read
    // where its head says that it is one.
    unsafe {
        let mut head = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(found) = head.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let time: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(head).cast());
                stamp = Some(crate::clock::nanos(time));
            }
            head = libc::CMSG_NXTHDR(&raw const message, head);
        }
    }
    Ok((read, stamp))
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
