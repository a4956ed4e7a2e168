//! Captures every packet that passes one interface, with its time, by a packet socket.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{SocketFlags, SocketType};

use crate::socket::Buffer;
use crate::{check_size, clock, control_data, device, packets, socket};

/// Receive buffer of the socket in bytes: enough for a burst of a whole script.
const BUFFER: usize = 8 << 20;

/// Maximum packet length in bytes.
pub const LARGEST: usize = 65_536;

/// Opens the socket on the interface with this number.
///
/// # Errors
/// The kernel's error: no privilege.
pub fn open(interface: device::Index) -> io::Result<OwnedFd> {
    let socket = packets::unbound(SocketType::DGRAM, SocketFlags::NONBLOCK)?;
    socket::stamp_arrivals(&socket)?;
    // The forced form needs a privilege of the machine's own user namespace.
    socket::force_receive_buffer(&socket, BUFFER)
        .or_else(|_| socket::set_buffer(&socket, Buffer::Receive, BUFFER as u64))?;
    packets::bind(&socket, interface, libc::ETH_P_ALL as u16)?;
    Ok(socket)
}

/// A captured packet and its time.
#[derive(Clone, Debug)]
pub struct Sniffed {
    /// Time in nanoseconds of the monotonic clock.
    pub at: i64,
    /// Whether it left this host.
    pub is_outgoing: bool,
    /// The packet, from its IP header.
    pub octets: Vec<u8>,
}

/// Next packet, cut to `most` bytes; `None` if none waits.
///
/// # Errors
/// The kernel's error.
pub fn receive(socket: &OwnedFd, most: usize) -> io::Result<Option<Sniffed>> {
    let mut octets = vec![0_u8; most];
    let Some((length, kind, stamp)) = receive_one(socket, &mut octets)? else {
        return Ok(None);
    };
    octets.truncate(length);
    // Timestamps are of the real-time clock, which may be set at any time, so only the age is used.
    let age = stamp.map_or(0, |stamp| (clock::realtime() - stamp).max(0));
    Ok(Some(Sniffed {
        at: clock::monotonic() - age,
        is_outgoing: kind == libc::PACKET_OUTGOING,
        octets,
    }))
}

/// Receives bytes, kind of the packet, and its timestamp; `None` if none waits.
fn receive_one(
    socket: &OwnedFd,
    octets: &mut [u8],
) -> io::Result<Option<(usize, u8, Option<i64>)>> {
    // SAFETY: `sockaddr_ll` is integers: all zero is valid.
    let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec {
        iov_base: octets.as_mut_ptr().cast(),
        iov_len: octets.len(),
    };
    // SAFETY: `msghdr` is integers and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = size_of_val(&from) as libc::socklen_t;
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: every pointer of the message is to a live local of its length.
    let result = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    match check_size(result) {
        Ok(length) => {
            // SAFETY: the kernel has filled in the control part of `message`, which is alive.
            let stamp = unsafe { control_data::arrival_time(&message) };
            Ok(Some((length, from.sll_pkttype, stamp)))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        // The interface went down, as a script may do.
        Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Ok(None),
        Err(error) => Err(error),
    }
}
