//! A packet socket: every packet the kernel sends through one interface, with
//! the time at which it was handed to the device.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use gigatcp_linux::{check, check_size, clock, own};

/// All protocols, in network byte order as packet sockets want it.
const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// Receive buffer of the socket in octets: enough for a burst of a whole script.
const BUFFER: libc::c_int = 8 << 20;

/// The largest packet there is.
const LARGEST: usize = 65_536;

/// Opens the socket on the interface with this number.
pub(crate) fn open(interface: gigatcp_linux::device::Index) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: plain integers; the descriptor is a new one.
    let socket = unsafe { own(libc::socket(libc::AF_PACKET, kind, libc::c_int::from(ALL))) }?;
    option(&socket, libc::SO_TIMESTAMPNS, 1)?;
    // The forced form needs a privilege of the machine's own user namespace.
    option(&socket, libc::SO_RCVBUFFORCE, BUFFER)
        .or_else(|_| option(&socket, libc::SO_RCVBUF, BUFFER))?;
    // SAFETY: `sockaddr_ll` is integers: all zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::sa_family_t;
    address.sll_protocol = ALL;
    address.sll_ifindex = interface;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: pointer and length are those of `address`.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(socket)
}

fn option(socket: &OwnedFd, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: pointer and length are those of `value`.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    check(result)?;
    Ok(())
}

/// A packet, and when it was handed to the device by the monotonic clock.
pub(crate) struct Sniffed {
    /// Nanoseconds of the monotonic clock.
    pub(crate) at: i64,
    /// The packet from its IP header on.
    pub(crate) octets: Vec<u8>,
}

/// The next packet that the kernel has sent, if there is one. What was
/// injected passes this socket too and is left out.
pub(crate) fn receive(socket: &OwnedFd) -> io::Result<Option<Sniffed>> {
    loop {
        let mut octets = vec![0_u8; LARGEST];
        let Some((length, kind, stamp)) = receive_one(socket, &mut octets)? else {
            return Ok(None);
        };
        if kind == libc::PACKET_OUTGOING {
            octets.truncate(length);
            // Stamps are of the real-time clock, which may be set at any time:
            // what matters is how long ago it was.
            let age = stamp.map_or(0, |stamp| (clock::realtime() - stamp).max(0));
            let at = clock::monotonic() - age;
            return Ok(Some(Sniffed { at, octets }));
        }
    }
}

/// Octets, kind of the packet, and its time stamp; nothing when nothing waits.
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
    message.msg_controllen = size_of_val(&control);
    // SAFETY: every pointer of the message is to a live local of its length.
    let result = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    match check_size(result) {
        Ok(length) => Ok(Some((length, from.sll_pkttype, stamp_of(&message)))),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        // The interface went down: a script may do that.
        Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The time stamp in the control data of a received message.
fn stamp_of(message: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel has filled in the control data of `message`, whose
    // buffer is live; the two macros walk it by the lengths it carries.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(this) = header.as_ref() {
            if this.cmsg_level == libc::SOL_SOCKET && this.cmsg_type == libc::SCM_TIMESTAMPNS {
                let stamp: libc::timespec = libc::CMSG_DATA(header)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                return Some(clock::nanos(stamp));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// Waits until one of `descriptors` can be read, or the monotonic clock shows
/// `until`.
pub(crate) fn wait_readable(descriptors: &[&OwnedFd], until: i64) -> io::Result<()> {
    let mut polled: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|descriptor| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let left = (until - clock::monotonic()).max(0);
    let timeout = libc::timespec {
        tv_sec: left / 1_000_000_000,
        tv_nsec: left % 1_000_000_000,
    };
    let count = polled.len() as libc::nfds_t;
    // SAFETY: pointer and count are those of `polled`; `timeout` outlives the
    // call; no signal mask.
    let result = unsafe {
        libc::ppoll(
            polled.as_mut_ptr(),
            count,
            &raw const timeout,
            std::ptr::null(),
        )
    };
    match check(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}
