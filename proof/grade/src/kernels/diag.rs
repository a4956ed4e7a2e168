//! `tcp_info` of all connections of a network namespace, over `sock_diag`.
//!
//! Works for connections of any program, like `ss -ti`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use gigatcp_linux::tcp_info;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const NETLINK_HEADER: usize = 16;
const REQUEST: usize = NETLINK_HEADER + 56;
const MESSAGE: usize = 72;

/// TCP states in which connections carry data: all except `LISTEN`, `SYN_*` and `TIME_WAIT`.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// State of a connection at one moment.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Ports: local, remote.
    pub ports: [u16; 2],
    /// Bytes received and not read.
    pub unread: u32,
    /// Bytes written and not acknowledged.
    pub unacknowledged: u32,
    /// Fields of `tcp_info`.
    pub words: Vec<(&'static str, i64)>,
}

impl Connection {
    /// A field of `tcp_info`; 0 if the kernel lacks it.
    pub fn word(&self, name: &str) -> i64 {
        let found = self.words.iter().find(|(word, _)| *word == name);
        found.map_or(0, |(_, value)| *value)
    }
}

/// Netlink socket of the calling thread's namespace.
#[derive(Debug)]
pub struct Diag(OwnedFd);

impl Diag {
    /// Opens a socket.
    ///
    /// # Errors
    /// System call errors.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: plain integers; the descriptor is new.
        let fd = unsafe {
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self(fd))
    }

    /// Lists the connections over IPv4 and IPv6.
    ///
    /// # Errors
    /// System call errors.
    pub fn connections(&self) -> io::Result<Vec<Connection>> {
        let mut found = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.ask(family)?;
            while self.answer(&mut found)? {}
        }
        Ok(found)
    }

    fn ask(&self, family: i32) -> io::Result<()> {
        let mut request = [0_u8; REQUEST];
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        request[0..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        request[16] = family as u8;
        request[17] = libc::IPPROTO_TCP as u8;
        request[18] = 1 << (INET_DIAG_INFO - 1);
        request[20..24].copy_from_slice(&STATES.to_ne_bytes());
        // SAFETY: pointer and length are those of `request`.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), request.as_ptr().cast(), REQUEST, 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Reads one datagram; `false` at the end of the list.
    fn answer(&self, found: &mut Vec<Connection>) -> io::Result<bool> {
        let mut buffer = vec![0_u8; 65_536];
        // SAFETY: pointer and length are those of `buffer`.
        let read = unsafe {
            libc::recv(
                self.0.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                0,
            )
        };
        let Ok(read) = usize::try_from(read) else {
            return Err(io::Error::last_os_error());
        };
        let mut rest = &buffer[..read];
        while rest.len() >= NETLINK_HEADER {
            let length = u32_at(rest, 0) as usize;
            let kind = u16_at(rest, 4);
            if kind == libc::NLMSG_DONE as u16 || kind == libc::NLMSG_ERROR as u16 {
                return Ok(false);
            }
            if length < NETLINK_HEADER || length > rest.len() {
                break;
            }
            found.extend(connection(&rest[NETLINK_HEADER..length]));
            rest = &rest[length.next_multiple_of(4).min(rest.len())..];
        }
        Ok(true)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Reads one `inet_diag_msg` with its attributes.
fn connection(message: &[u8]) -> Option<Connection> {
    if message.len() < MESSAGE {
        return None;
    }
    let mut connection = Connection {
        ports: [u16_at(message, 4).to_be(), u16_at(message, 6).to_be()],
        unread: u32_at(message, 56),
        unacknowledged: u32_at(message, 60),
        words: Vec::new(),
    };
    let mut rest = &message[MESSAGE..];
    while rest.len() >= 4 {
        let length = usize::from(u16_at(rest, 0));
        if length < 4 || length > rest.len() {
            break;
        }
        if u16_at(rest, 2) == INET_DIAG_INFO {
            connection.words = tcp_info::words(&rest[4..length]);
        }
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    Some(connection)
}
