//! Several datagrams sent or received by one system call (`sendmmsg(2)`, `recvmmsg(2)`).

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use crate::{check, check_size};

/// Most datagrams of one call.
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

/// What one call received.
#[derive(Debug)]
pub struct Received {
    lengths: [u32; MAX_BATCH],
    count: usize,
    /// Datagrams that the socket has dropped since it was made, because its buffer was full
    /// (`SO_RXQ_OVFL`). `None`: the kernel has not said it in this call.
    pub drops: Option<u32>,
}

impl Received {
    /// Lengths of the datagrams, in the order of arrival.
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        self.lengths[..self.count]
            .iter()
            .map(|length| *length as usize)
    }
}

/// Control bytes of the first message: one `SO_RXQ_OVFL` of `cmsg(3)`.
const CONTROL: usize = 64;

/// Receives what is there, up to as many datagrams as `buffer` has places of `size` bytes. Waits
/// for the first one as the socket does.
///
/// # Errors
/// What the kernel says.
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
        lengths: [0; MAX_BATCH],
        count: read.unsigned_abs() as usize,
        drops: None,
    };
    for (message, length) in messages
        .iter()
        .zip(&mut received.lengths)
        .take(received.count)
    {
        *length = message.msg_len;
        received.drops = drops(&message.msg_hdr).or(received.drops);
    }
    Ok(received)
}

/// The socket's drops that stand with a message.
fn drops(message: &libc::msghdr) -> Option<u32> {
    let mut found = None;
    // SAFETY: the kernel has filled in the control part of `message`, which is alive; the macros
    // of `cmsg(3)` stay inside of it.
    unsafe {
        let mut head = libc::CMSG_FIRSTHDR(message);
        while let Some(control) = head.as_ref() {
            if (control.cmsg_level, control.cmsg_type) == (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) {
                found = Some(std::ptr::read_unaligned(libc::CMSG_DATA(head).cast()));
            }
            head = libc::CMSG_NXTHDR(message, head);
        }
    }
    found
}

/// Has the kernel say with each datagram how many the socket has dropped.
///
/// # Errors
/// What the kernel says.
pub fn report_drops(socket: &impl AsRawFd) -> io::Result<()> {
    let on = 1_i32.to_ne_bytes();
    crate::socket::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &on)?;
    Ok(())
}

/// Bytes that wait in the socket's send buffer (`SIOCOUTQ`).
///
/// # Errors
/// What the kernel says.
pub fn unsent(fd: RawFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one integer to a live local.
    check(unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(u64::from(bytes.unsigned_abs()))
}

/// Takes up to `length` bytes out of a TCP socket without copying them (`MSG_TRUNC`). Returns
/// how many; 0 at the end of the stream.
///
/// # Errors
/// What the kernel says.
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

    #[test]
    fn a_batch_arrives_in_order() {
        let (from, to) = pair();
        let bytes: Vec<u8> = (0..100).collect();
        assert_eq!(send(&from, &bytes, 10).unwrap(), 10);
        let mut buffer = [0; 64 * 20];
        let received = receive(&to, &mut buffer, 20).unwrap();
        assert_eq!(received.lengths().collect::<Vec<_>>(), [10; 10]);
        assert!((0..10).all(|index| buffer[index * 20] == index as u8 * 10));
    }

    #[test]
    fn drops_of_a_full_buffer_are_counted() {
        let (from, to) = pair();
        report_drops(&to).unwrap();
        let (number, bytes) = (libc::SO_RCVBUF, 4096_i32.to_ne_bytes());
        crate::socket::set_option(to.as_raw_fd(), libc::SOL_SOCKET, number, &bytes).unwrap();
        let bytes = [0; 64 * 1000];
        assert_eq!(send(&from, &bytes, 1000).unwrap(), 64);
        let mut buffer = [0; 64 * 1000];
        let first = receive(&to, &mut buffer, 1000).unwrap().lengths().count();
        // The kernel reports drops with a datagram that arrives after them.
        send(&from, &bytes, 1000).unwrap();
        let last = receive(&to, &mut buffer, 1000).unwrap();
        assert_eq!(last.drops, Some(64 - first as u32));
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
