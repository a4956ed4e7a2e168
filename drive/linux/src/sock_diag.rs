//! Reads the TCP sockets of a network namespace with their counters (`sock_diag(7)`).
//!
//! Returns the data of `ss -tinme` at lower cost: datagrams are read into one buffer and parsed in
//! place. No privilege is needed. A list may change while it is read: a socket that ends meanwhile
//! is missing or occurs twice.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use crate::{check_size, own};

/// `linux/sock_diag.h`, `linux/inet_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_SKMEMINFO: u16 = 7;

/// `struct nlmsghdr`, `struct inet_diag_req_v2` behind it, `struct inet_diag_msg`.
const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
const MESSAGE: usize = 72;

/// Maximum bytes of a datagram from the kernel.
const ROOM: usize = 1 << 16;

/// States of connections that carry data: all but `LISTEN`, `SYN-*`, `TIME-WAIT`, `CLOSE`.
pub const WITH_DATA: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// Names of TCP states as in `ss`, by number.
pub const STATES: [&str; 13] = [
    "unknown",
    "established",
    "syn-sent",
    "syn-recv",
    "fin-wait-1",
    "fin-wait-2",
    "time-wait",
    "closed",
    "close-wait",
    "last-ack",
    "listening",
    "closing",
    "syn-recv",
];

/// A socket, borrowed from the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Socket<'a> {
    message: &'a [u8],
    /// `struct tcp_info`; empty if the kernel gave none.
    pub info: &'a [u8],
    /// Words of `SO_MEMINFO`.
    pub memory: &'a [u8],
    /// Name of the congestion control.
    pub congestion: &'a str,
}

impl Socket<'_> {
    /// Returns the state of the connection, an index of [`STATES`].
    #[must_use]
    pub fn state(&self) -> u8 {
        self.message[1]
    }

    /// Returns the local address and port.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.address(4, 8)
    }

    /// Returns the address and port of the peer.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.address(6, 24)
    }

    /// Returns the kernel's cookie of the socket, unique since boot.
    #[must_use]
    pub fn cookie(&self) -> u64 {
        u64::from(u32_at(self.message, 44)) | u64::from(u32_at(self.message, 48)) << 32
    }

    /// Returns the bytes that arrived and were not read.
    #[must_use]
    pub fn unread(&self) -> u32 {
        u32_at(self.message, 56)
    }

    /// Returns the bytes written and not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> u32 {
        u32_at(self.message, 60)
    }

    /// Returns the user that created it.
    #[must_use]
    pub fn user(&self) -> u32 {
        u32_at(self.message, 64)
    }

    /// Returns the inode of its file; 0 if no process has it open.
    #[must_use]
    pub fn inode(&self) -> u32 {
        u32_at(self.message, 68)
    }

    fn address(&self, port: usize, address: usize) -> SocketAddr {
        let bytes = &self.message[address..address + 16];
        let port = u16::from_be_bytes([self.message[port], self.message[port + 1]]);
        let ip = if i32::from(self.message[0]) == libc::AF_INET {
            IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
        } else {
            let mut whole = [0; 16];
            whole.copy_from_slice(bytes);
            // IPv4 on an IPv6 socket is shown as IPv4.
            Ipv6Addr::from(whole).to_canonical()
        };
        SocketAddr::new(ip, port)
    }
}

/// Key for requesting one socket: the head of its `struct inet_diag_msg`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    family: u8,
    /// `struct inet_diag_sockid`.
    id: [u8; 48],
}

impl Socket<'_> {
    /// Returns the key for requesting it again.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let mut id = [0; 48];
        id.copy_from_slice(&self.message[4..52]);
        Identity {
            family: self.message[0],
            id,
        }
    }
}

/// A netlink socket of the calling thread's namespace.
#[derive(Debug)]
pub struct SockDiag {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl SockDiag {
    /// Opens a socket.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: plain integers; the descriptor is a new one.
        let socket = unsafe {
            own(libc::socket(
                libc::AF_NETLINK,
                kind,
                libc::NETLINK_SOCK_DIAG,
            ))?
        };
        Ok(Self {
            socket,
            buffer: vec![0; ROOM],
        })
    }

    /// Calls `each` for every socket in one of these states, IPv4 first.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn list(&mut self, states: u32, mut each: impl FnMut(&Socket<'_>)) -> io::Result<()> {
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.ask(family as u8, &[0; 48], states, libc::NLM_F_DUMP)?;
            while self.answer(&mut each)? {}
        }
        Ok(())
    }

    /// Calls `each` for one socket, if it still exists.
    ///
    /// # Errors
    /// The kernel's error, except that the socket has ended.
    pub fn one(&mut self, which: &Identity, each: impl FnMut(&Socket<'_>)) -> io::Result<()> {
        self.ask(which.family, &which.id, u32::MAX, 0)?;
        match self.answer(each) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            answered => answered.map(|_| ()),
        }
    }

    fn ask(&self, family: u8, id: &[u8; 48], states: u32, flags: i32) -> io::Result<()> {
        let mut request = [0_u8; REQUEST];
        let flags = (libc::NLM_F_REQUEST | flags) as u16;
        let wanted = [INET_DIAG_INFO, INET_DIAG_CONG, INET_DIAG_SKMEMINFO];
        let wanted = wanted.iter().fold(0, |all, one| all | 1_u8 << (one - 1));
        request[0..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        request[16] = family;
        request[17] = libc::IPPROTO_TCP as u8;
        request[18] = wanted;
        request[20..24].copy_from_slice(&states.to_ne_bytes());
        request[24..72].copy_from_slice(id);
        // SAFETY: pointer and length are those of `request`.
        check_size(unsafe {
            libc::send(self.socket.as_raw_fd(), request.as_ptr().cast(), REQUEST, 0)
        })?;
        Ok(())
    }

    /// Reads one datagram; returns false when the list has ended.
    fn answer(&mut self, mut each: impl FnMut(&Socket<'_>)) -> io::Result<bool> {
        let buffer = self.buffer.as_mut_slice();
        // SAFETY: pointer and length are those of `buffer`.
        let read = check_size(unsafe {
            libc::recv(
                self.socket.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                0,
            )
        })?;
        messages(&self.buffer[..read], &mut each)
    }
}

/// Calls `each` for the sockets of a datagram. Returns false if the list ends with it.
fn messages(mut rest: &[u8], each: &mut impl FnMut(&Socket<'_>)) -> io::Result<bool> {
    while rest.len() >= HEADER {
        let length = u32_at(rest, 0) as usize;
        let kind = i32::from(u16_at(rest, 4));
        if kind == libc::NLMSG_DONE {
            return Ok(false);
        }
        if length < HEADER || length > rest.len() {
            break;
        }
        let body = &rest[HEADER..length];
        if kind == libc::NLMSG_ERROR {
            let code = body.get(..4).map_or(0, |code| u32_at(code, 0) as i32);
            return match code {
                0 => Ok(false),
                code => Err(io::Error::from_raw_os_error(-code)),
            };
        }
        if let Some(socket) = socket(body) {
            each(&socket);
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(true)
}

/// Parses a `struct inet_diag_msg` with its attributes; `None` if it is cut.
fn socket(body: &[u8]) -> Option<Socket<'_>> {
    let (message, mut rest) = body.split_at_checked(MESSAGE)?;
    let mut socket = Socket {
        message,
        info: &[],
        memory: &[],
        congestion: "",
    };
    while rest.len() >= 4 {
        let length = usize::from(u16_at(rest, 0));
        let Some(value) = rest.get(4..length) else {
            break;
        };
        match u16_at(rest, 2) {
            INET_DIAG_INFO => socket.info = value,
            INET_DIAG_SKMEMINFO => socket.memory = value,
            INET_DIAG_CONG => {
                let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
                socket.congestion = std::str::from_utf8(name).unwrap_or_default();
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(socket)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::tcp_info;

    #[test]
    fn own_connections_are_listed_with_their_counters_and_found_again() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (peer, _) = listener.accept().unwrap();
            stream.write_all(b"unread").unwrap();
            let mut diag = SockDiag::open().unwrap();
            let mut found = None;
            let local = peer.local_addr().unwrap();
            diag.list(WITH_DATA, |socket| {
                if socket.local() == local && socket.peer() == stream.local_addr().unwrap() {
                    let received = tcp_info::each(socket.info)
                        .find(|(name, _)| *name == "tcpi_bytes_received");
                    assert_eq!(received.map(|(_, bytes)| bytes), Some(6));
                    assert_eq!((socket.unread(), socket.state()), (6, 1));
                    assert!(!socket.memory.is_empty() && !socket.congestion.is_empty());
                    found = Some((socket.identity(), socket.cookie(), socket.inode()));
                }
            })
            .unwrap();
            let (identity, cookie, inode) = found.expect("it is listed");
            assert!(inode > 0);
            let mut again = None;
            diag.one(&identity, |socket| again = Some(socket.cookie()))
                .unwrap();
            assert_eq!(again, Some(cookie));
        }
    }

    #[test]
    fn a_socket_that_has_ended_is_no_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut diag = SockDiag::open().unwrap();
        let mut identity = None;
        let local = stream.local_addr().unwrap();
        diag.list(WITH_DATA, |one| {
            if one.local() == local {
                identity = Some(one.identity());
            }
        })
        .unwrap();
        let mut gone = identity.expect("it is listed");
        gone.id[40] ^= 0xff;
        diag.one(&gone, |_| panic!("another socket")).unwrap();
    }

    #[test]
    fn what_is_cut_off_is_passed_over() {
        let mut each = |_: &Socket<'_>| panic!("no socket");
        let mut datagram = vec![0_u8; 64];
        datagram[0..4].copy_from_slice(&64_u32.to_ne_bytes());
        datagram[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        assert!(messages(&datagram, &mut each).unwrap());
        datagram[0..4].copy_from_slice(&900_u32.to_ne_bytes());
        assert!(messages(&datagram, &mut each).unwrap());
        datagram[4..6].copy_from_slice(&(libc::NLMSG_DONE as u16).to_ne_bytes());
        assert!(!messages(&datagram, &mut each).unwrap());
    }
}
