//! Sends or receives several datagrams by one system call (`sendmmsg(2)`, `recvmmsg(2)`), or as one
//! packet (`UDP_SEGMENT`, `UDP_GRO`).

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use crate::{check, check_size};

/// Maximum datagrams of one call.
pub const MAX_BATCH: usize = 64;

/// Sends the datagrams in `buffer`, each `size` bytes, on a connected socket. Returns how many
/// were sent: fewer than all if the socket's buffer is full.
///
/// # Errors
/// The kernel's error for the first datagram.
pub fn send(socket: &impl AsRawFd, buffer: &[u8], size: usize) -> io::Result<usize> {
    let mut vectors = [EMPTY_VECTOR; MAX_BATCH];
    let mut messages = [empty_message(); MAX_BATCH];
    let datagrams = buffer.chunks_exact(size.max(1)).take(MAX_BATCH);
    let mut count = 0;
    for (datagram, (vector, message)) in datagrams.zip(vectors.iter_mut().zip(&mut messages)) {
        vector.iov_base = datagram.as_ptr().cast_mut().cast();
        vector.iov_len = datagram.len();
        message.msg_hdr.msg_iov = std::ptr::from_mut(vector);
        message.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    let fd = socket.as_raw_fd();
    // SAFETY: `count` messages point at vectors and bytes that outlive the call; the kernel
    // reads the bytes and writes lengths into `messages`.
    let sent = check(unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, 0) })?;
    Ok(sent.unsigned_abs() as usize)
}

/// Maximum bytes of one call of [`send_segmented`]: those of a datagram over IPv4.
pub const MAX_SEGMENTED: usize = 65_507;

/// Sends the datagrams in `buffer` as one packet (`UDP_SEGMENT`, `udp(7)`). The kernel segments it
/// as late as possible. Returns how many were sent, as [`send`] does.
///
/// # Errors
/// The kernel's error: it does not segment datagrams larger than the MTU of the route allows, or
/// without checksum offload of the interface.
pub fn send_segmented(socket: &impl AsRawFd, buffer: &[u8], size: usize) -> io::Result<usize> {
    let most = (MAX_SEGMENTED / size.max(1)).clamp(1, MAX_BATCH);
    let count = (buffer.len() / size.max(1)).min(most);
    let mut vector = libc::iovec {
        iov_base: buffer.as_ptr().cast_mut().cast(),
        iov_len: count * size,
    };
    let mut control = [0_u64; CONTROL / 8];
    let mut header = empty_message().msg_hdr;
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    if count > 1 {
        let segment = u16::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
        let option = (libc::SOL_UDP, libc::UDP_SEGMENT);
        crate::control_data::set(&mut header, &mut control, option, segment);
    }
    // SAFETY: the vector's bytes and the control bytes outlive the call, which reads them.
    let sent = check_size(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, 0) })?;
    Ok(sent / size.max(1))
}

/// Makes the kernel return consecutive datagrams of one size as one message (`UDP_GRO`).
///
/// # Errors
/// The kernel's error: it may be older than 5.0.
pub fn receive_coalesced(socket: &impl AsRawFd) -> io::Result<()> {
    let on = 1_i32.to_ne_bytes();
    crate::socket::set_option(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, &on)?;
    Ok(())
}

/// A received message: a datagram, or several joined by the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    /// Bytes of each datagram except the last.
    segment: usize,
    /// Messages that the socket dropped before this one since its creation (`SO_RXQ_OVFL`). It
    /// drops because its buffer is full. `None`: not reported.
    pub drops: Option<u32>,
}

impl<'a> Message<'a> {
    /// Its bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Its datagrams, in the order of arrival.
    pub fn datagrams(self) -> impl Iterator<Item = &'a [u8]> {
        self.bytes.chunks(self.segment.max(1))
    }

    /// Whether the kernel has joined datagrams.
    pub fn is_joined(self) -> bool {
        self.bytes.len() > self.segment
    }
}

/// Messages received by one call.
#[derive(Debug)]
pub struct Received {
    /// Length of each message, and of the datagrams in it.
    lengths: [(u32, u32); MAX_BATCH],
    drops: [Option<u32>; MAX_BATCH],
    count: usize,
}

impl Received {
    /// Messages, in the order of arrival; `buffer` and `size` are those of [`receive`].
    pub fn messages<'a>(
        &'a self,
        buffer: &'a [u8],
        size: usize,
    ) -> impl Iterator<Item = Message<'a>> {
        let places = buffer.chunks_exact(size.max(1)).take(self.count);
        let facts = self.lengths.iter().zip(&self.drops);
        places.zip(facts).map(|(place, (lengths, drops))| Message {
            bytes: &place[..(lengths.0 as usize).min(place.len())],
            segment: lengths.1 as usize,
            drops: *drops,
        })
    }
}

/// Control bytes of a message: `SO_RXQ_OVFL` and `UDP_GRO`, or `UDP_SEGMENT`, of `cmsg(3)`.
const CONTROL: usize = 64;

/// Receives the waiting messages. `buffer` has room for `size` bytes of each. Waits for the first
/// one if the socket is blocking.
///
/// # Errors
/// The kernel's error.
pub fn receive(socket: &impl AsRawFd, buffer: &mut [u8], size: usize) -> io::Result<Received> {
    let mut vectors = [EMPTY_VECTOR; MAX_BATCH];
    let mut messages = [empty_message(); MAX_BATCH];
    let mut controls = [[0_u64; CONTROL / 8]; MAX_BATCH];
    let places = buffer.chunks_exact_mut(size.max(1)).take(MAX_BATCH);
    let mut count = 0;
    for (index, place) in places.enumerate() {
        vectors[index].iov_base = place.as_mut_ptr().cast();
        vectors[index].iov_len = place.len();
        let header = &mut messages[index].msg_hdr;
        header.msg_iov = &raw mut vectors[index];
        header.msg_iovlen = 1;
        header.msg_control = controls[index].as_mut_ptr().cast();
        header.msg_controllen = CONTROL as _;
        count += 1;
    }
    let (fd, flags) = (socket.as_raw_fd(), libc::MSG_WAITFORONE);
    let (first, none) = (messages.as_mut_ptr(), std::ptr::null_mut());
    // SAFETY: `count` messages point at vectors, places and control bytes that outlive the call.
    let read = check(unsafe { libc::recvmmsg(fd, first, count as u32, flags as _, none) })?;
    let mut received = Received {
        lengths: [(0, 0); MAX_BATCH],
        drops: [None; MAX_BATCH],
        count: read.unsigned_abs() as usize,
    };
    for (index, message) in messages.iter().enumerate().take(received.count) {
        let (drops, segment) = controls_of(&message.msg_hdr);
        received.lengths[index] = (message.msg_len, segment.unwrap_or(message.msg_len));
        received.drops[index] = drops;
    }
    Ok(received)
}

/// Socket's drops and the size of joined datagrams from a message's control data.
fn controls_of(message: &libc::msghdr) -> (Option<u32>, Option<u32>) {
    let (mut drops, mut segment) = (None, None);
    // SAFETY: the kernel has filled in the control part of `message`, which is alive.
    for (level, kind, data) in unsafe { crate::control_data::each(message) } {
        let word = data.first_chunk().map(|word| u32::from_ne_bytes(*word));
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => drops = word,
            (libc::SOL_UDP, libc::UDP_GRO) => segment = word,
            _ => {}
        }
    }
    (drops, segment)
}

/// Makes the kernel report the socket's drops with each datagram.
///
/// # Errors
/// The kernel's error.
pub fn report_drops(socket: &impl AsRawFd) -> io::Result<()> {
    let on = 1_i32.to_ne_bytes();
    crate::socket::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &on)?;
    Ok(())
}

/// Bytes waiting in the socket's send buffer (`SIOCOUTQ`).
///
/// # Errors
/// The kernel's error.
pub fn unsent(fd: RawFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one integer to a live local.
    check(unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(u64::from(bytes.unsigned_abs()))
}

/// Discards up to `length` received bytes of a TCP socket without copying them (`MSG_TRUNC`).
/// Returns how many; 0 at the end of the stream.
///
/// # Errors
/// The kernel's error.
pub fn discard(socket: &impl AsRawFd, length: usize) -> io::Result<usize> {
    let (fd, nowhere) = (socket.as_raw_fd(), std::ptr::null_mut());
    // SAFETY: with MSG_TRUNC a TCP socket writes no byte.
    check_size(unsafe { libc::recv(fd, nowhere, length, libc::MSG_TRUNC) })
}

const EMPTY_VECTOR: libc::iovec = libc::iovec {
    iov_base: std::ptr::null_mut(),
    iov_len: 0,
};

fn empty_message() -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is integers and pointers that may be null.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let [a, b] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        (a, b)
    }

    /// Datagrams of a call, and the number of messages. A datagram is its length and first byte.
    fn taken(to: &UdpSocket, size: usize) -> (Vec<(usize, u8)>, usize) {
        let mut buffer = vec![0; MAX_BATCH * size];
        let received = receive(to, &mut buffer, size).unwrap();
        let messages = received.messages(&buffer, size);
        let datagrams = messages.flat_map(|message| message.datagrams());
        let taken = datagrams
            .map(|datagram| (datagram.len(), datagram[0]))
            .collect();
        (taken, received.count)
    }

    #[test]
    fn a_batch_arrives_in_order() {
        let (from, to) = pair();
        let bytes: Vec<u8> = (0..100).collect();
        assert_eq!(send(&from, &bytes, 10).unwrap(), 10);
        let expected: Vec<_> = (0..10).map(|index| (10, index * 10)).collect();
        assert_eq!(taken(&to, 20), (expected, 10));
    }

    #[test]
    fn segmented_datagrams_arrive_as_if_sent_alone_and_joined_ones_are_cut_again() {
        for joins in [false, true] {
            let (from, to) = pair();
            if joins {
                receive_coalesced(&to).unwrap();
            }
            let bytes: Vec<u8> = (0..100).collect();
            assert_eq!(send_segmented(&from, &bytes, 10).unwrap(), 10);
            assert_eq!(send_segmented(&from, &[200; 7], 7).unwrap(), 1);
            let mut all = Vec::new();
            let mut messages = 0;
            while all.len() < 11 {
                let (datagrams, count) = taken(&to, 65_536);
                all.extend(datagrams);
                messages += count;
            }
            let mut expected: Vec<_> = (0..10).map(|index| (10, index * 10)).collect();
            expected.push((7, 200));
            assert_eq!(all, expected);
            assert_eq!(messages, if joins { 2 } else { 11 });
        }
    }

    #[test]
    fn a_segmented_call_takes_what_fits_into_one_packet() {
        let (from, to) = pair();
        receive_coalesced(&to).unwrap();
        let sent = send_segmented(&from, &[1; 64 * 2000], 2000).unwrap();
        assert_eq!(sent, 32);
        assert_eq!(taken(&to, 65_536).0.len(), 32);
        // A datagram larger than a packet of the route is an error.
        assert!(send_segmented(&from, &[1; 140_000], 70_000).is_err());
    }

    #[test]
    fn drops_of_a_full_buffer_are_counted() {
        let (from, to) = pair();
        report_drops(&to).unwrap();
        let (number, bytes) = (libc::SO_RCVBUF, 4096_i32.to_ne_bytes());
        crate::socket::set_option(to.as_raw_fd(), libc::SOL_SOCKET, number, &bytes).unwrap();
        let bytes = [0; 64 * 1000];
        assert_eq!(send(&from, &bytes, 1000).unwrap(), 64);
        let first = taken(&to, 1000).1;
        // The kernel reports drops with a datagram that arrives after them.
        send(&from, &bytes, 1000).unwrap();
        let mut buffer = [0; 64 * 1000];
        let last = receive(&to, &mut buffer, 1000).unwrap();
        let mut messages = last.messages(&buffer, 1000);
        assert_eq!(messages.next().unwrap().drops, Some(64 - first as u32));
    }

    #[test]
    fn bytes_are_discarded_up_to_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (to, _) = listener.accept().unwrap();
        from.write_all(&[0; 3000]).unwrap();
        drop(from);
        let mut total = 0;
        while let length @ 1.. = discard(&to, 1000).unwrap() {
            total += length;
        }
        assert_eq!(total, 3000);
    }
}
