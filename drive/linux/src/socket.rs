//! The kernel's sockets and their options.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

use crate::{address, check, check_size, control_data};

/// Creates a TCP socket in the calling thread's namespace. It has the family of `address`, and its
/// options can be set before it is bound or connected.
///
/// # Errors
/// The kernel's error.
pub fn tcp(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Calls `bind(2)`.
///
/// # Errors
/// The kernel's error.
pub fn bind(socket: &impl AsFd, to: &SocketAddr) -> io::Result<()> {
    Ok(rustix::net::bind(socket, to)?)
}

/// Calls `connect(2)`.
///
/// # Errors
/// The kernel's error; `EINPROGRESS` if the socket is non-blocking.
pub fn connect(socket: &impl AsFd, to: &SocketAddr) -> io::Result<()> {
    Ok(rustix::net::connect(socket, to)?)
}

/// Calls `listen(2)`.
///
/// # Errors
/// The kernel's error.
pub fn listen(socket: &impl AsFd, backlog: i32) -> io::Result<()> {
    Ok(rustix::net::listen(socket, backlog)?)
}

/// Calls `getsockopt(2)` with room for `room` bytes; returns those written.
///
/// # Errors
/// The kernel's error.
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

/// Level of the options of Multipath TCP; `libc` lacks it.
const SOL_MPTCP: i32 = 284;

/// Whether a connection is one of Multipath TCP: one that fell back to TCP has no `MPTCP_INFO`, or
/// says so in its flags.
pub fn is_mptcp(socket: &impl AsRawFd) -> bool {
    const MPTCP_INFO: i32 = 1;
    /// Length of the part that ends with the flags, their place, and the flag of a fallback.
    const FLAGS: (usize, usize, u32) = (12, 8, 1);
    let Ok(info) = option(socket.as_raw_fd(), SOL_MPTCP, MPTCP_INFO, FLAGS.0) else {
        return false;
    };
    let flags = info
        .get(FLAGS.1..FLAGS.0)
        .and_then(|field| field.first_chunk());
    flags.is_some_and(|flags| u32::from_ne_bytes(*flags) & FLAGS.2 == 0)
}

/// Calls `getsockopt(2)` with a buffer of the caller; returns the part written.
///
/// # Errors
/// The kernel's error.
pub fn option_into(fd: RawFd, level: i32, name: i32, into: &mut [u8]) -> io::Result<&[u8]> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: the buffer is writable for the length given.
    check(unsafe { libc::getsockopt(fd, level, name, into.as_mut_ptr().cast(), &raw mut length) })?;
    let written = (length as usize).min(into.len());
    Ok(&into[..written])
}

/// Congestion control of a socket.
///
/// # Errors
/// The kernel's error.
pub fn congestion(socket: &impl AsFd) -> io::Result<String> {
    Ok(sockopt::tcp_congestion(socket)?)
}

/// Present size of a socket's buffer, in bytes of kernel memory.
///
/// # Errors
/// The kernel's error.
pub fn buffer(socket: &impl AsFd, which: Buffer) -> io::Result<u64> {
    let size = match which {
        Buffer::Send => sockopt::socket_send_buffer_size(socket),
        Buffer::Receive => sockopt::socket_recv_buffer_size(socket),
    };
    Ok(size? as u64)
}

/// Requests a buffer size. The kernel grants twice as much, up to twice its limit, and stops
/// autotuning it.
///
/// # Errors
/// The kernel's error.
pub fn set_buffer(socket: &impl AsFd, which: Buffer, octets: u64) -> io::Result<()> {
    let size = octets.min(i32::MAX as u64) as usize;
    Ok(match which {
        Buffer::Send => sockopt::set_socket_send_buffer_size(socket, size),
        Buffer::Receive => sockopt::set_socket_recv_buffer_size(socket, size),
    }?)
}

/// One of the two buffers of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// `SO_SNDBUF`.
    Send,
    /// `SO_RCVBUF`.
    Receive,
}

/// Reads the kernel's state of a connection (`TCP_INFO`), for
/// [`crate::tcp_info::words`].
///
/// # Errors
/// The kernel's error.
pub fn tcp_info(socket: &impl AsRawFd) -> io::Result<Vec<u8>> {
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    option(socket.as_raw_fd(), level, name, crate::tcp_info::ROOM)
}

/// Reads the time since the peer of a TCP connection last acknowledged anything, probes included.
///
/// # Errors
/// The kernel's error.
pub fn since_acknowledgment(socket: &impl AsRawFd) -> io::Result<std::time::Duration> {
    let info = tcp_info(socket)?;
    let word = crate::tcp_info::each(&info).find(|(name, _)| *name == "tcpi_last_ack_recv");
    let (_, ms) = word.ok_or(io::ErrorKind::InvalidData)?;
    Ok(std::time::Duration::from_millis(ms.unsigned_abs()))
}

/// What a TCP connection has sent and received; of Multipath TCP, all its subflows that exist.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WireCounts {
    /// Segments sent and received. They shrink if a subflow ends, or a count of 32 bits wraps.
    pub segments: u64,
    /// Bytes of data sent, with those that were retransmitted or sent on two subflows.
    pub bytes_sent: u64,
}

impl WireCounts {
    fn add(mut self, info: &[u8]) -> Option<Self> {
        let word = |name| {
            let word = crate::tcp_info::each(info).find(|(known, _)| *known == name);
            word.map(|(_, count)| count.unsigned_abs())
        };
        self.segments += word("tcpi_segs_out")? + word("tcpi_segs_in")?;
        // Linux 4.19 and later.
        self.bytes_sent += word("tcpi_bytes_sent").unwrap_or(0);
        Some(self)
    }
}

/// Reads what a TCP connection has sent and received.
///
/// # Errors
/// The kernel's error.
pub fn wire_counts(socket: &impl AsRawFd) -> io::Result<WireCounts> {
    let counts = match subflows(socket.as_raw_fd()) {
        Ok(subflows) => {
            let mut infos = subflows.iter();
            infos.try_fold(WireCounts::default(), |sum, info| sum.add(info))
        }
        // It is no connection of Multipath TCP, or has fallen back to TCP.
        Err(_) => WireCounts::default().add(&tcp_info(socket)?),
    };
    counts.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Reads `TCP_INFO` of all subflows of a connection of Multipath TCP (`MPTCP_TCPINFO`).
fn subflows(fd: RawFd) -> io::Result<Vec<Vec<u8>>> {
    const MPTCP_TCPINFO: i32 = 2;
    /// Bytes of `struct mptcp_subflow_data`: four words, the last of which is the size of an entry.
    const HEAD: usize = 16;
    /// Bytes requested of each entry: up to `tcpi_bytes_retrans`.
    const ENTRY: usize = 216;
    /// More than a kernel allows (`ip mptcp limits`).
    const MAX_SUBFLOWS: usize = 16;
    let mut octets = [0; HEAD + MAX_SUBFLOWS * ENTRY];
    octets[..4].copy_from_slice(&(HEAD as u32).to_ne_bytes());
    octets[12..HEAD].copy_from_slice(&(ENTRY as u32).to_ne_bytes());
    let written = option_into(fd, SOL_MPTCP, MPTCP_TCPINFO, &mut octets)?;
    let size = written.get(12..HEAD).and_then(|word| word.first_chunk());
    let size = size.map_or(0, |size| u32::from_ne_bytes(*size) as usize);
    let entries = written.get(HEAD..).unwrap_or_default();
    Ok(entries
        .chunks_exact(size.max(1))
        .map(<[u8]>::to_vec)
        .collect())
}

/// Reads `TCP_INFO` into a buffer of the caller.
///
/// # Errors
/// The kernel's error.
pub fn tcp_info_into<'a>(socket: &impl AsRawFd, into: &'a mut [u8]) -> io::Result<&'a [u8]> {
    option_into(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, into)
}

/// Reads the kernel's memory counters of a socket (`SO_MEMINFO`) into a buffer of the caller.
/// Decode them with [`crate::tcp_info::each_of_memory`].
///
/// # Errors
/// The kernel's error.
pub fn memory_into<'a>(socket: &impl AsRawFd, into: &'a mut [u8]) -> io::Result<&'a [u8]> {
    /// `asm-generic/socket.h`; `libc` lacks it.
    const SO_MEMINFO: libc::c_int = 55;
    option_into(socket.as_raw_fd(), libc::SOL_SOCKET, SO_MEMINFO, into)
}

/// Waiting bytes of a connection: unread, and written but not acknowledged. These are `SIOCINQ` and
/// `SIOCOUTQ` of `tcp(7)`.
///
/// # Errors
/// The kernel's error.
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

/// Creates a file in memory with these bytes, for [`send_file`] (`memfd_create(2)`).
///
/// # Errors
/// The kernel's error.
pub fn memory_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("block", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

/// Sends the first bytes of a file without copying them (`sendfile(2)`); returns how many.
///
/// # Errors
/// The kernel's error.
pub fn send_file(socket: &impl AsFd, file: &File, bytes: usize) -> io::Result<usize> {
    Ok(sendfile(socket, file, Some(&mut 0), bytes)?)
}

/// Calls `setsockopt(2)`.
///
/// # Errors
/// The kernel's error.
pub fn set_option(fd: RawFd, level: i32, name: i32, value: &[u8]) -> io::Result<i32> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: pointer and length are those of `value`.
    check(unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) })
}

/// Sets the congestion control of a socket, or of what a listener will accept. A route's `congctl`
/// takes precedence, so read back what is in use.
///
/// # Errors
/// If the kernel has no such control, or does not allow it.
pub fn set_congestion(socket: &impl AsFd, name: &str) -> io::Result<()> {
    Ok(sockopt::set_tcp_congestion(socket, name)?)
}

/// Requests a receive buffer beyond the limit of the system (`SO_RCVBUFFORCE`).
///
/// # Errors
/// The kernel's error: it requires `CAP_NET_ADMIN`.
pub fn force_receive_buffer(socket: &impl AsFd, octets: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_recv_buffer_size_force(socket, octets)?)
}

/// Makes the kernel timestamp each arriving packet (`SO_TIMESTAMPNS`).
///
/// # Errors
/// The kernel's error.
pub fn stamp_arrivals(socket: &impl AsRawFd) -> io::Result<()> {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    set_option(socket.as_raw_fd(), level, option, &1_i32.to_ne_bytes())?;
    Ok(())
}

/// Makes the kernel tell the TTL, or hop limit, of each arriving packet (`IP_RECVTTL`,
/// `IPV6_RECVHOPLIMIT`).
///
/// # Errors
/// The kernel's error.
pub fn pass_hop_limits(socket: &impl AsRawFd) -> io::Result<()> {
    let on = 1_i32.to_ne_bytes();
    let v4 = set_option(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_RECVTTL, &on);
    // A socket of IPv6 has both, for packets of IPv4.
    let option = libc::IPV6_RECVHOPLIMIT;
    let v6 = set_option(socket.as_raw_fd(), libc::IPPROTO_IPV6, option, &on);
    v4.or(v6)?;
    Ok(())
}

/// Makes the kernel tell the address to which each arriving packet was sent (`IP_PKTINFO`,
/// `IPV6_RECVPKTINFO`).
///
/// # Errors
/// The kernel's error.
pub fn pass_destinations(socket: &impl AsRawFd) -> io::Result<()> {
    let (fd, on) = (socket.as_raw_fd(), 1_i32.to_ne_bytes());
    let v6 = set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, &on);
    v6.or_else(|_| set_option(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, &on))?;
    Ok(())
}

/// A datagram that was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Its length.
    pub length: usize,
    /// Its sender.
    pub from: Option<SocketAddr>,
    /// Its arrival by [`crate::clock::realtime`], if [`stamp_arrivals`] was called.
    pub at: Option<i64>,
    /// Its TTL or hop limit, if [`pass_hop_limits`] was called.
    pub hop_limit: Option<u8>,
    /// The address to which it was sent, if [`pass_destinations`] was called.
    pub to: Option<IpAddr>,
}

/// Receives a datagram.
///
/// # Errors
/// The kernel's error.
pub fn receive_stamped(socket: &impl AsRawFd, octets: &mut [u8]) -> io::Result<Received> {
    // SAFETY: `sockaddr_storage` is integers.
    let mut name: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec {
        iov_base: octets.as_mut_ptr().cast(),
        iov_len: octets.len(),
    };
    // SAFETY: `msghdr` is integers and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = size_of_val(&name) as _;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: every pointer of the message is to a live local of its length.
    let read = check_size(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) })?;
    // SAFETY: the kernel has filled in the control part of `message`, which is alive.
    let (at, hop_limit, to) = unsafe {
        (
            control_data::arrival_time(&message),
            control_data::hop_limit(&message),
            control_data::destination(&message),
        )
    };
    Ok(Received {
        length: read,
        from: crate::probe::socket_address(&name),
        at,
        hop_limit,
        to,
    })
}

/// Sends a datagram from an address of this host; `None`: from that which the route prefers.
///
/// # Errors
/// The kernel's error: the address may not be one of this host.
pub fn send_from(
    socket: &impl AsRawFd,
    octets: &[u8],
    to: SocketAddr,
    from: Option<IpAddr>,
) -> io::Result<usize> {
    use libc::{IP_PKTINFO, IPPROTO_IP, IPPROTO_IPV6, IPV6_PKTINFO, in_pktinfo, in6_pktinfo};
    let mut control = [0_u64; 8];
    let mut vector = libc::iovec {
        iov_base: octets.as_ptr().cast_mut().cast(),
        iov_len: octets.len(),
    };
    // SAFETY: `msghdr` is integers and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    match from {
        Some(IpAddr::V4(from)) => {
            let source = in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: address::v4(from, 0).sin_addr,
                ipi_addr: address::v4(from, 0).sin_addr,
            };
            control_data::set(&mut message, &mut control, (IPPROTO_IP, IP_PKTINFO), source);
        }
        Some(IpAddr::V6(from)) => {
            let source = in6_pktinfo {
                ipi6_addr: address::in6(from),
                ipi6_ifindex: 0,
            };
            let option = (IPPROTO_IPV6, IPV6_PKTINFO);
            control_data::set(&mut message, &mut control, option, source);
        }
        None => {}
    }
    let (mut v4, mut v6);
    match to {
        SocketAddr::V4(to) => {
            v4 = address::v4(*to.ip(), to.port());
            message.msg_name = (&raw mut v4).cast();
            message.msg_namelen = size_of_val(&v4) as _;
        }
        SocketAddr::V6(to) => {
            v6 = address::v6(*to.ip(), to.port());
            v6.sin6_scope_id = to.scope_id();
            message.msg_name = (&raw mut v6).cast();
            message.msg_namelen = size_of_val(&v6) as _;
        }
    }
    // SAFETY: every pointer of the message is to a live local of its length, which is read.
    check_size(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, 0) })
}

/// Makes closing reset the connection (`SO_LINGER` with no time).
///
/// # Errors
/// The kernel's error.
pub fn reset_on_close(socket: &impl AsFd) -> io::Result<()> {
    let at_once = Some(std::time::Duration::ZERO);
    Ok(sockopt::set_socket_linger(socket, at_once)?)
}

/// Limits the pacing rate of a socket (`SO_MAX_PACING_RATE`), in bytes per second.
///
/// # Errors
/// The kernel's error.
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

/// Restores autotuning of a socket's buffers after they were set (`SO_BUF_LOCK`, Linux 5.14).
///
/// # Errors
/// The kernel's error: older ones do not have it.
pub fn unlock_buffers(socket: &impl AsRawFd) -> io::Result<()> {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_BUF_LOCK);
    set_option(socket.as_raw_fd(), level, option, &0_i32.to_ne_bytes())?;
    Ok(())
}

/// Limits the segment size of a socket, or of what a listener accepts (`TCP_MAXSEG`). `None`
/// removes the limit.
///
/// # Errors
/// The kernel's error: it accepts 88 to 32767 bytes.
pub fn limit_mss(socket: &impl AsRawFd, mss: Option<u32>) -> io::Result<()> {
    let bytes = mss.unwrap_or(0).cast_signed().to_ne_bytes();
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_MAXSEG);
    set_option(socket.as_raw_fd(), level, option, &bytes)?;
    Ok(())
}
