//! Captures headers of packets through memory shared with the kernel (`PACKET_RX_RING`, version 2
//! of its frames).
//!
//! The kernel copies the first bytes of each packet into the next free frame. The frames are no
//! part of the socket's receive buffer: only `CAP_NET_ADMIN` may enlarge that, and it counts a
//! packet with all its payload. If no frame is free, the packet is counted as dropped.
//!
//! Readers need not hurry: the kernel has noted the time of a packet. One who looks every 10 ms
//! keeps up with 13 million packets per second, and costs nothing per packet in between.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::sockopt::socket_error;
use rustix::net::{SocketFlags, SocketType};

use crate::socket_filter::Instruction;
use crate::{device, packets, socket};

/// Bytes of a frame: its header, and a packet's headers.
const FRAME: usize = 256;

/// Frames of the ring, which has 32 MiB.
pub const FRAMES: usize = 1 << 17;

/// Bytes that the kernel allocates as one piece.
const BLOCK: usize = 1 << 18;

/// Maximum bytes captured of a packet.
pub const MAX_SNAP: u32 = 160;

/// Offset of the link-layer address in a frame.
const ADDRESS: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

const _: () = {
    // The kernel puts the packet behind the address, aligned, after 16 bytes for a link header.
    let start = (ADDRESS + size_of::<libc::sockaddr_ll>()).next_multiple_of(16) + 16;
    assert!(start + MAX_SNAP as usize <= FRAME);
    assert!(BLOCK.is_multiple_of(FRAME) && (FRAME * FRAMES).is_multiple_of(BLOCK));
};

/// A captured packet, borrowed from its frame.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// Time in nanoseconds of [`crate::clock::realtime`].
    pub at: i64,
    /// The interface that it passed.
    pub interface: device::Index,
    /// Whether it left this host.
    pub is_outgoing: bool,
    /// Whether it passed the loopback interface, where each packet leaves and arrives.
    pub is_loopback: bool,
    /// Its first bytes, from the IP header on.
    pub octets: &'a [u8],
    /// Its length from the IP header on.
    pub wire_len: u32,
}

/// A packet socket and its ring.
#[derive(Debug)]
pub struct HeaderRing {
    socket: OwnedFd,
    ring: NonNull<u8>,
    /// Number of the next frame.
    next: usize,
    dropped: u64,
}

// SAFETY: the mapping belongs to this value alone and may be used from any thread.
unsafe impl Send for HeaderRing {}

impl HeaderRing {
    /// Captures what `program` accepts of the packets of an interface; 0: of all interfaces. The
    /// program accepts at most [`MAX_SNAP`] bytes.
    ///
    /// # Errors
    /// The kernel's error: no privilege (`CAP_NET_RAW`), the interface is down.
    pub fn open(interface: device::Index, program: &[Instruction]) -> io::Result<Self> {
        let socket = packets::unbound(SocketType::DGRAM, SocketFlags::NONBLOCK)?;
        packets::attach_filter(&socket, program)?;
        let shared = Self {
            ring: share(&socket)?,
            socket,
            next: 0,
            dropped: 0,
        };
        packets::bind(&shared.socket, interface, libc::ETH_P_ALL as u16)?;
        socket_error(&shared.socket)??;
        Ok(shared)
    }

    /// Calls `visit` with the next packet; `None` if there is none yet.
    pub fn next<T>(&mut self, visit: impl FnOnce(Headers<'_>) -> T) -> Option<T> {
        // SAFETY: the ring has `FRAMES` frames, and `next` is the number of one.
        let frame = unsafe { self.ring.add(self.next * FRAME) };
        // SAFETY: a frame is aligned to 256 bytes and begins with its status.
        let status = unsafe { AtomicU32::from_ptr(frame.cast().as_ptr()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the status is acquired: the kernel has written the frame and leaves it alone
        // until the status is given back.
        let (header, address, octets) = unsafe {
            let header: libc::tpacket2_hdr = frame.cast().read();
            let address: libc::sockaddr_ll = frame.add(ADDRESS).cast().read();
            let start = usize::from(header.tp_net).min(FRAME);
            let length = (header.tp_snaplen as usize).min(FRAME - start);
            let octets = std::slice::from_raw_parts(frame.add(start).as_ptr(), length);
            (header, address, octets)
        };
        let visited = visit(Headers {
            at: i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec),
            interface: address.sll_ifindex,
            is_outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
            is_loopback: address.sll_hatype == libc::ARPHRD_LOOPBACK,
            octets,
            wire_len: header.tp_len.max(octets.len() as u32),
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % FRAMES;
        Some(visited)
    }

    /// How many packets found no free frame so far.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn dropped(&mut self) -> io::Result<u64> {
        let mut counts = [0; size_of::<libc::tpacket_stats>()];
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        socket::option_into(self.socket.as_raw_fd(), level, name, &mut counts)?;
        let [_, _, _, _, drops @ ..] = counts;
        // Reading them sets the kernel's counts to zero.
        self.dropped += u64::from(u32::from_ne_bytes(drops));
        Ok(self.dropped)
    }
}

impl Drop for HeaderRing {
    fn drop(&mut self) {
        // SAFETY: address and length are those of the mapping, which nothing borrows anymore.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), FRAME * FRAMES) };
    }
}

/// Makes the ring of a socket and maps it.
fn share(socket: &OwnedFd) -> io::Result<NonNull<u8>> {
    let fd = socket.as_raw_fd();
    let version = libc::tpacket_versions::TPACKET_V2 as i32;
    let (level, name) = (libc::SOL_PACKET, libc::PACKET_VERSION);
    socket::set_option(fd, level, name, &version.to_ne_bytes())?;
    // struct tpacket_req: bytes and number of blocks, bytes and number of frames.
    let request = [BLOCK, FRAME * FRAMES / BLOCK, FRAME, FRAMES]
        .map(|size| (size as u32).to_ne_bytes())
        .concat();
    socket::set_option(fd, level, libc::PACKET_RX_RING, &request)?;
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    let length = FRAME * FRAMES;
    // SAFETY: a new mapping of the ring's length, at an address that the kernel chooses.
    let ring = unsafe { libc::mmap(std::ptr::null_mut(), length, access, kind, fd, 0) };
    if ring == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(ring.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::Namespace;
    use crate::skip::or_skip;
    use crate::socket_filter::accept;

    /// Bytes of the IPv4 and UDP headers.
    const HEADERS: usize = 28;

    #[test]
    fn packets_of_an_interface_are_captured_cut_and_counted_when_no_frame_is_free() {
        let Some(namespace) = or_skip(Namespace::new()) else {
            return;
        };
        let work = || {
            let control = device::control_socket(libc::AF_INET).unwrap();
            let index = device::index(&control, "lo").unwrap();
            let mut ring = HeaderRing::open(index, &[accept(40)]).unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let to = socket.local_addr().unwrap();
            let before = crate::clock::realtime();
            socket.send_to(&[7; 100], to).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(50));
            let visit = |packet: Headers<'_>| {
                assert_eq!(packet.octets.len(), 40);
                assert_eq!(packet.octets[HEADERS..], [7; 12]);
                assert_eq!(packet.wire_len as usize, HEADERS + 100);
                assert_eq!(packet.interface, index);
                assert!(packet.is_loopback && packet.at >= before);
                packet.is_outgoing
            };
            let both = [ring.next(visit), ring.next(visit)];
            assert_eq!(both, [Some(true), Some(false)]);
            assert_eq!(ring.next(visit), None);
            assert_eq!(ring.dropped().unwrap(), 0);
            // Each packet takes two frames.
            for _ in 0..FRAMES / 2 + 10 {
                socket.send_to(&[7; 100], to).unwrap();
            }
            assert_eq!(ring.dropped().unwrap(), 20);
            assert_eq!(ring.dropped().unwrap(), 20, "it is a total");
            let captured = std::iter::from_fn(|| ring.next(visit)).count();
            assert_eq!(captured, FRAMES);
        };
        namespace.run(work).unwrap();
    }

    #[test]
    fn interface_that_is_down_is_an_error() {
        let Some(namespace) = or_skip(Namespace::new()) else {
            return;
        };
        let opened = namespace.run(|| {
            let control = device::control_socket(libc::AF_INET).unwrap();
            device::take_down(&control, "lo").unwrap();
            let index = device::index(&control, "lo").unwrap();
            HeaderRing::open(index, &[accept(40)]).map(drop)
        });
        let error = opened.unwrap().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN));
    }
}
