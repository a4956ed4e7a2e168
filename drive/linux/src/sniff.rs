//! Captures every packet that passes one interface, with its time, by a packet socket.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::socket::Buffer;
use crate::{check, check_size, clock, control_data, device, own, packets, socket};

/// All protocols, in network byte order as packet sockets want it.
const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// Receive buffer of the socket in bytes: enough for a burst of a whole script.
const BUFFER: i32 = 8 << 20;

/// Maximum packet length in bytes.
pub const LARGEST: usize = 65_536;

/// Opens the socket on the interface with this number.
///
/// # Errors
/// The kernel's error: no privilege.
pub fn open(interface: device::Index) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: plain integers; the descriptor is a new one.
    let socket = unsafe { own(libc::socket(libc::AF_PACKET, kind, libc::c_int::from(ALL))) }?;
    socket::stamp_arrivals(&socket)?;
    // The forced form needs a privilege of the machine's own user namespace.
    socket::force_receive_buffer(&socket, BUFFER)
        .or_else(|_| socket::set_buffer(&socket, Buffer::Receive, BUFFER as u64))?;
    packets::bind(&socket, interface, libc::ETH_P_ALL as u16)?;
    Ok(socket)
}

/// Limits capture to TCP packets of a port, cut to `snap` bytes.
///
/// # Errors
/// The kernel's error.
pub fn keep_port(socket: &OwnedFd, port: u16, snap: u32) -> io::Result<()> {
    // A program of classic BPF: code, jumps if true and if false, value. Loads count from the
    // IP header; an IPv6 packet with extension headers is left out.
    const fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
        let code = code as u16;
        libc::sock_filter { code, jt, jf, k }
    }
    const BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
    const HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
    const HALF_BEHIND: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_IND;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const TCP: u32 = libc::IPPROTO_TCP as u32;
    let port = u32::from(port);
    let program = [
        step(BYTE, 0, 0, 0),
        step(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 0, 0, 4),
        step(EQUAL, 0, 7, 4),
        // IPv4: protocol, then both ports behind the header.
        step(BYTE, 0, 0, 9),
        step(EQUAL, 0, 13, TCP),
        step(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, 0),
        step(HALF_BEHIND, 0, 0, 0),
        step(EQUAL, 9, 0, port),
        step(HALF_BEHIND, 0, 0, 2),
        step(EQUAL, 7, 8, port),
        // IPv6.
        step(EQUAL, 0, 7, 6),
        step(BYTE, 0, 0, 6),
        step(EQUAL, 0, 5, TCP),
        step(HALF, 0, 0, 40),
        step(EQUAL, 2, 0, port),
        step(HALF, 0, 0, 42),
        step(EQUAL, 0, 1, port),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, snap),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ];
    packets::attach_filter(socket, &program)
}

/// Returns how many packets the kernel dropped since the last call.
///
/// # Errors
/// The kernel's error.
pub fn dropped(socket: &OwnedFd) -> io::Result<u32> {
    // struct tpacket_stats: packets, drops.
    let mut counts = [0_u32; 2];
    let mut length = size_of_val(&counts) as libc::socklen_t;
    // SAFETY: pointer and length are those of `counts`.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    Ok(counts[1])
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

/// Returns the next packet, cut to `most` bytes; `None` if none waits.
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
