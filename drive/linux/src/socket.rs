//! The kernel's sockets and their options.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::{address, check, check_size, own};

/// A TCP socket of the calling thread's namespace, of the family of `address`:
/// it can be told what it wants before it is bound or connected.
///
/// # Errors
/// What the kernel says.
pub fn tcp(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    // SAFETY: plain integers; the descriptor is a new one.
    unsafe {
        own(libc::socket(
            family,
            libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
            0,
        ))
    }
}

/// What `bind` and `connect` have in common.
type AddressCall =
    unsafe extern "C" fn(libc::c_int, *const libc::sockaddr, libc::socklen_t) -> libc::c_int;

/// `bind(2)`.
///
/// # Errors
/// What the kernel says.
pub fn bind(socket: &impl AsRawFd, to: &SocketAddr) -> io::Result<()> {
    call_with(libc::bind, socket, to)
}

/// `connect(2)`.
///
/// # Errors
/// What the kernel says; `EINPROGRESS` where the socket does not wait.
pub fn connect(socket: &impl AsRawFd, to: &SocketAddr) -> io::Result<()> {
    call_with(libc::connect, socket, to)
}

/// `listen(2)`.
///
/// # Errors
/// What the kernel says.
pub fn listen(socket: &impl AsRawFd, backlog: i32) -> io::Result<()> {
    // SAFETY: plain integers.
    check(unsafe { libc::listen(socket.as_raw_fd(), backlog) })?;
    Ok(())
}

fn call_with(call: AddressCall, socket: &impl AsRawFd, to: &SocketAddr) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    match to {
        SocketAddr::V4(to) => {
            let to = address::v4(*to.ip(), to.port());
            let length = size_of_val(&to) as libc::socklen_t;
            // SAFETY: pointer and length are those of `to`.
            check(unsafe { call(fd, (&raw const to).cast(), length) })?;
        }
        SocketAddr::V6(to) => {
            let to = address::v6(*to.ip(), to.port());
            let length = size_of_val(&to) as libc::socklen_t;
            // SAFETY: pointer and length are those of `to`.
            check(unsafe { call(fd, (&raw const to).cast(), length) })?;
        }
    }
    Ok(())
}

/// `getsockopt(2)` with room for `room` octets: what was written.
///
/// # Errors
/// What the kernel says.
pub fn option(fd: RawFd, level: i32, name: i32, room: usize) -> io::Result<Vec<u8>> {
    let mut octets = vec![0_u8; room];
    let mut length = room as libc::socklen_t;
    // SAFETY: the buffer is writable for the length given.
    check(unsafe {
        libc::getsockopt(fd, level, name, octets.as_mut_ptr().cast(), &raw mut length)
    })?;
    octets.truncate(length as usize);
    Ok(octets)
}

/// `getsockopt(2)` into a buffer of the caller: the part of it that was written.
///
/// # Errors
/// What the kernel says.
pub fn option_into(fd: RawFd, level: i32, name: i32, into: &mut [u8]) -> io::Result<&[u8]> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: the buffer is writable for the length given.
    check(unsafe { libc::getsockopt(fd, level, name, into.as_mut_ptr().cast(), &raw mut length) })?;
    let written = (length as usize).min(into.len());
    Ok(&into[..written])
}

/// The congestion control of a socket.
///
/// # Errors
/// What the kernel says.
pub fn congestion(socket: &impl AsRawFd) -> io::Result<String> {
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    let octets = option(socket.as_raw_fd(), level, name, 16)?;
    let name = octets.split(|octet| *octet == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// A buffer of a socket as it is now, in octets of the kernel's memory.
///
/// # Errors
/// What the kernel says.
pub fn buffer(socket: &impl AsRawFd, which: Buffer) -> io::Result<u64> {
    let octets = option(socket.as_raw_fd(), libc::SOL_SOCKET, which.option(), 4)?;
    let number = octets.try_into().map(i32::from_ne_bytes).unwrap_or(0);
    Ok(u64::try_from(number).unwrap_or(0))
}

/// Asks for a buffer: the kernel grants twice as much, up to twice its limit,
/// and no longer fits it to the path.
///
/// # Errors
/// What the kernel says.
pub fn set_buffer(socket: &impl AsRawFd, which: Buffer, octets: u64) -> io::Result<()> {
    let octets = i32::try_from(octets).unwrap_or(i32::MAX).to_ne_bytes();
    set_option(
        socket.as_raw_fd(),
        libc::SOL_SOCKET,
        which.option(),
        &octets,
    )?;
    Ok(())
}

/// One of the two buffers of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// `SO_SNDBUF`.
    Send,
    /// `SO_RCVBUF`.
    Receive,
}

impl Buffer {
    const fn option(self) -> libc::c_int {
        match self {
            Self::Send => libc::SO_SNDBUF,
            Self::Receive => libc::SO_RCVBUF,
        }
    }
}

/// Reads the kernel's state of a connection (`TCP_INFO`), for
/// [`crate::tcp_info::words`].
///
/// # Errors
/// What the kernel says.
pub fn tcp_info(socket: &impl AsRawFd) -> io::Result<Vec<u8>> {
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    option(socket.as_raw_fd(), level, name, crate::tcp_info::ROOM)
}

/// The same into a buffer of the caller.
///
/// # Errors
/// What the kernel says.
pub fn tcp_info_into<'a>(socket: &impl AsRawFd, into: &'a mut [u8]) -> io::Result<&'a [u8]> {
    option_into(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, into)
}

/// Reads the kernel's counts of a socket's memory (`SO_MEMINFO`), into a buffer of the caller,
/// for [`crate::tcp_info::each_of_memory`].
///
/// # Errors
/// What the kernel says.
pub fn memory_into<'a>(socket: &impl AsRawFd, into: &'a mut [u8]) -> io::Result<&'a [u8]> {
    /// `asm-generic/socket.h`; `libc` lacks it.
    const SO_MEMINFO: libc::c_int = 55;
    option_into(socket.as_raw_fd(), libc::SOL_SOCKET, SO_MEMINFO, into)
}

/// Octets of a connection that wait: not read, and written but not acknowledged
/// (`SIOCINQ`, `SIOCOUTQ`; `tcp(7)`).
///
/// # Errors
/// What the kernel says.
pub fn queues(socket: &impl AsRawFd) -> io::Result<[u64; 2]> {
    let mut octets = [0_u64; 2];
    for (request, octets) in [libc::FIONREAD, libc::TIOCOUTQ]
        .into_iter()
        .zip(&mut octets)
    {
        let mut count: libc::c_int = 0;
        // SAFETY: both requests write one `int`.
        check(unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut count) })?;
        *octets = u64::try_from(count).unwrap_or(0);
    }
    Ok(octets)
}

/// A file in memory with these bytes, for [`send_file`] (`memfd_create(2)`).
///
/// # Errors
/// What the kernel says.
pub fn memory_file(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: the name is a literal with a zero octet.
    let fd = check(unsafe { libc::memfd_create(c"block".as_ptr(), libc::MFD_CLOEXEC) })?;
    // SAFETY: the descriptor is new and has no other owner.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    Ok(file)
}

/// Sends the first bytes of a file without copying them (`sendfile(2)`); returns how many.
///
/// # Errors
/// What the kernel says.
pub fn send_file(socket: &impl AsRawFd, file: &File, bytes: usize) -> io::Result<usize> {
    let mut from: libc::off_t = 0;
    // SAFETY: two open descriptors and a live local.
    let sent =
        unsafe { libc::sendfile(socket.as_raw_fd(), file.as_raw_fd(), &raw mut from, bytes) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

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

/// Asks for a receive buffer beyond the limit of the system (`SO_RCVBUFFORCE`).
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
/// [`crate::clock::realtime`], if [`stamp_arrivals`] was called.
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

/// Limits the rate at which the kernel lets a socket send (`SO_MAX_PACING_RATE`), in bytes a
/// second.
///
/// # Errors
/// What the kernel says.
pub fn set_pacing_rate(socket: &impl AsRawFd, bytes_per_second: u64) -> io::Result<()> {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
    set_option(
        socket.as_raw_fd(),
        level,
        option,
        &bytes_per_second.to_ne_bytes(),
    )?;
    Ok(())
}

/// Has the kernel fit a socket's buffers to the path again after they were set
/// (`SO_BUF_LOCK`, Linux 5.14).
///
/// # Errors
/// What the kernel says: older ones do not have it.
pub fn unlock_buffers(socket: &impl AsRawFd) -> io::Result<()> {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_BUF_LOCK);
    set_option(socket.as_raw_fd(), level, option, &0_i32.to_ne_bytes())?;
    Ok(())
}

/// Limits the segment size of a socket and of what a listener accepts (`TCP_MAXSEG`);
/// `None`: no limit any more.
///
/// # Errors
/// What the kernel says: it takes 88 to 32767 bytes.
pub fn limit_mss(socket: &impl AsRawFd, mss: Option<u32>) -> io::Result<()> {
    let bytes = mss.unwrap_or(0).cast_signed().to_ne_bytes();
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_MAXSEG);
    set_option(socket.as_raw_fd(), level, option, &bytes)?;
    Ok(())
}
