//! Reads the TCP sockets of a network namespace with their counters (`sock_diag(7)`).
//!
//! Returns the data of `ss -tinme` at lower cost: datagrams are read into one buffer and parsed in
//! place. No privilege is needed. A list may change while it is read: a socket that ends meanwhile
//! is missing or occurs twice.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::netlink_request::{NLM_F_ACK, NLM_F_DUMP, NetlinkSocket, attributes};

/// `linux/sock_diag.h`, `linux/inet_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SOCK_DESTROY: u16 = 21;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_SKMEMINFO: u16 = 7;

/// Bytes of `struct inet_diag_req_v2` and `struct inet_diag_msg`.
const REQUEST: usize = 56;
const MESSAGE: usize = 72;

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
    /// State of the connection, an index of [`STATES`].
    pub fn state(&self) -> u8 {
        self.message[1]
    }

    /// Local address and port.
    pub fn local(&self) -> SocketAddr {
        self.address(4, 8)
    }

    /// Address and port of the peer.
    pub fn peer(&self) -> SocketAddr {
        self.address(6, 24)
    }

    /// Kernel's cookie of the socket, unique since boot.
    pub fn cookie(&self) -> u64 {
        u64::from(u32_at(self.message, 44)) | u64::from(u32_at(self.message, 48)) << 32
    }

    /// Bytes that arrived and were not read.
    pub fn unread(&self) -> u32 {
        u32_at(self.message, 56)
    }

    /// Bytes written and not acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        u32_at(self.message, 60)
    }

    /// User that created it.
    pub fn user(&self) -> u32 {
        u32_at(self.message, 64)
    }

    /// Inode of its file; 0 if no process has it open.
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
    /// Key for requesting it again.
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
pub struct SockDiag(NetlinkSocket);

impl SockDiag {
    /// Opens a socket.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open() -> io::Result<Self> {
        NetlinkSocket::open(Some(rustix::net::netlink::SOCK_DIAG)).map(Self)
    }

    /// Calls `each` for every socket in one of these states, IPv4 first.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn list(&mut self, states: u32, mut each: impl FnMut(&Socket<'_>)) -> io::Result<()> {
        for family in [libc::AF_INET, libc::AF_INET6] {
            let any = Identity {
                family: family as u8,
                id: [0; 48],
            };
            self.ask(SOCK_DIAG_BY_FAMILY, &any, states, NLM_F_DUMP)?;
            while !self.answer(&mut each)? {}
        }
        Ok(())
    }

    /// Calls `each` for one socket, if it still exists.
    ///
    /// # Errors
    /// The kernel's error, except that the socket has ended.
    pub fn one(&mut self, which: &Identity, each: impl FnMut(&Socket<'_>)) -> io::Result<()> {
        self.ask(SOCK_DIAG_BY_FAMILY, which, u32::MAX, 0)?;
        match self.answer(each) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            answered => answered.map(drop),
        }
    }

    /// Ends a connection.
    ///
    /// # Errors
    /// The kernel's error: no privilege, built without `SOCK_DESTROY`, or the socket has ended.
    pub fn destroy(&mut self, which: &Identity) -> io::Result<()> {
        self.ask(SOCK_DESTROY, which, u32::MAX, NLM_F_ACK)?;
        self.0.receive(|_| ()).map(drop)
    }

    fn ask(&self, kind: u16, which: &Identity, states: u32, flags: u16) -> io::Result<()> {
        let wanted = [INET_DIAG_INFO, INET_DIAG_CONG, INET_DIAG_SKMEMINFO]
            .iter()
            .fold(0, |bits, extension| bits | 1_u8 << (extension - 1));
        let mut request = [0_u8; REQUEST];
        request[..3].copy_from_slice(&[which.family, libc::IPPROTO_TCP as u8, wanted]);
        request[4..8].copy_from_slice(&states.to_ne_bytes());
        request[8..].copy_from_slice(&which.id);
        self.0.send(kind, &request, flags)
    }

    /// Reads one datagram; returns whether the list ends with it.
    fn answer(&mut self, mut each: impl FnMut(&Socket<'_>)) -> io::Result<bool> {
        self.0.receive(|body| {
            if let Some(socket) = socket(body) {
                each(&socket);
            }
        })
    }
}

/// Parses a `struct inet_diag_msg` with its attributes; `None` if it is cut.
fn socket(body: &[u8]) -> Option<Socket<'_>> {
    let (message, rest) = body.split_at_checked(MESSAGE)?;
    let mut socket = Socket {
        message,
        info: &[],
        memory: &[],
        congestion: "",
    };
    for (kind, value) in attributes(rest) {
        match kind {
            INET_DIAG_INFO => socket.info = value,
            INET_DIAG_SKMEMINFO => socket.memory = value,
            INET_DIAG_CONG => {
                let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
                socket.congestion = std::str::from_utf8(name).unwrap_or_default();
            }
            _ => {}
        }
    }
    Some(socket)
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
        diag.list(WITH_DATA, |socket| {
            if socket.local() == local {
                identity = Some(socket.identity());
            }
        })
        .unwrap();
        let mut gone = identity.expect("it is listed");
        gone.id[40] ^= 0xff;
        diag.one(&gone, |_| panic!("another socket")).unwrap();
    }
}
