//! Packet sockets: unmodified IP packets out of an interface; Ethernet frames in both directions.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, socketpair, sockopt};

use crate::{check, check_size, device};

/// A packet socket that receives nothing until it is bound.
pub(crate) fn unbound(kind: SocketType, flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::PACKET, kind, flags, None)?)
}

/// Opens a packet socket on the interface `name` of the calling thread's namespace.
///
/// # Errors
/// The kernel's error: no such interface, no privilege.
pub fn open(name: &str) -> io::Result<OwnedFd> {
    let index = device::index(&device::control_socket(libc::AF_INET)?, name)?;
    let socket = unbound(SocketType::DGRAM, SocketFlags::empty())?;
    bind(&socket, index, 0)?;
    Ok(socket)
}

/// Opens a packet socket for both directions on an Ethernet interface. The interface is in the
/// calling thread's namespace.
///
/// Each frame is behind a [`VirtioHeader`](crate::virtio::VirtioHeader). Calls do not block. The
/// socket receives what `filter` accepts of all frames at the interface, multicast included.
///
/// # Errors
/// The kernel's error: no such interface, no privilege.
pub fn open_ethernet(name: &str, filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    /// `linux/if_packet.h`; libc lacks it.
    const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
    let index = device::index(&device::control_socket(libc::AF_INET)?, name)?;
    let socket = unbound(SocketType::RAW, SocketFlags::NONBLOCK)?;
    let set = |option, value: &[u8]| {
        crate::socket::set_option(socket.as_raw_fd(), libc::SOL_PACKET, option, value)
    };
    let yes = 1_i32.to_ne_bytes();
    set(libc::PACKET_VNET_HDR, &yes)?;
    set(PACKET_IGNORE_OUTGOING, &yes)?;
    // struct packet_mreq: interface, type, length of an address, address.
    let mut groups = index.to_ne_bytes().to_vec();
    groups.extend((libc::PACKET_MR_ALLMULTI as u16).to_ne_bytes());
    groups.extend([0; 10]);
    set(libc::PACKET_ADD_MEMBERSHIP, &groups)?;
    attach_filter(&socket, filter)?;
    bind(&socket, index, libc::ETH_P_ALL as u16)?;
    Ok(socket)
}

/// Makes the kernel run a socket filter on received packets (`SO_ATTACH_FILTER`).
///
/// # Errors
/// The kernel's error: the program is not valid.
pub fn attach_filter(socket: &OwnedFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let whole = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: program.as_ptr().cast_mut(),
    };
    let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    let length = size_of_val(&whole) as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: pointer and length are those of `whole`, whose pointer and length are those of
    // `program`; the kernel copies both.
    check(unsafe { libc::setsockopt(fd, level, name, (&raw const whole).cast(), length) })?;
    Ok(())
}

/// Creates two connected descriptors that carry whole packets. Each is like a TUN device to the
/// other: unread packets fill a queue, and writes to a full queue fail. After one is closed the
/// other reads packets of zero bytes.
///
/// # Errors
/// If there are no more descriptors.
pub fn pair() -> io::Result<[OwnedFd; 2]> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok([near, far])
}

/// Sets the queue limit at an end of [`pair`] to `octets`. This includes the kernel's own
/// bookkeeping. Best effort: more than the system's limit (`net.core.wmem_max`) requires
/// `CAP_NET_ADMIN` of the machine.
pub fn widen(end: &OwnedFd, octets: usize) {
    let _ = sockopt::set_socket_send_buffer_size_force(end, octets)
        .or_else(|_| sockopt::set_socket_send_buffer_size(end, octets));
}

/// Sends a packet; its first four bits are the IP version.
///
/// # Errors
/// The kernel's error.
pub fn send(socket: &OwnedFd, packet: &[u8]) -> io::Result<()> {
    let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let protocol = if is_v6 {
        libc::ETH_P_IPV6
    } else {
        libc::ETH_P_IP
    };
    let bound = name_of(socket)?;
    let address = address(bound.sll_ifindex, protocol as u16);
    // SAFETY: both pointers and lengths are those of `packet` and `address`.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            packet.as_ptr().cast(),
            packet.len(),
            0,
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    check_size(sent)?;
    Ok(())
}

/// Binds a packet socket to an interface and a protocol.
pub(crate) fn bind(socket: &OwnedFd, index: device::Index, protocol: u16) -> io::Result<()> {
    let address = address(index, protocol);
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: pointer and length are those of `address`.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(())
}

fn address(index: device::Index, protocol: u16) -> libc::sockaddr_ll {
    // SAFETY: `sockaddr_ll` is integers: all zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index;
    address
}

fn name_of(socket: &OwnedFd) -> io::Result<libc::sockaddr_ll> {
    let mut bound = address(0, 0);
    let mut length = size_of_val(&bound) as libc::socklen_t;
    // SAFETY: pointer and length are those of `bound`.
    check(unsafe {
        libc::getsockname(socket.as_raw_fd(), (&raw mut bound).cast(), &raw mut length)
    })?;
    Ok(bound)
}
