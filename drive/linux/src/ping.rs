//! ICMP echo without raw sockets (`SOCK_DGRAM` with `IPPROTO_ICMP` of `icmp(7)`).
//!
//! The groups of `net.ipv4.ping_group_range` may send it: on most systems all users.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::{check_size, own, socket};

/// Types of echo requests: ICMP (RFC 792) and ICMPv6 (RFC 4443).
const REQUEST: (u8, u8) = (8, 128);

/// Bytes of a request: header and a small payload.
const LENGTH: usize = 40;

/// Sends echo requests to one host.
#[derive(Debug)]
pub struct Pinger {
    socket: OwnedFd,
    is_v4: bool,
}

impl Pinger {
    /// Creates a socket for echo requests to a host.
    ///
    /// # Errors
    /// The kernel's error: `EACCES` outside of `net.ipv4.ping_group_range`.
    pub fn new(to: IpAddr) -> io::Result<Self> {
        let (family, protocol) = match to {
            IpAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_ICMP),
            IpAddr::V6(_) => (libc::AF_INET6, libc::IPPROTO_ICMPV6),
        };
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: plain integers; the descriptor is a new one.
        let made = unsafe { own(libc::socket(family, kind, protocol)) }?;
        socket::connect(&made, &SocketAddr::new(to, 0))?;
        Ok(Self {
            socket: made,
            is_v4: to.is_ipv4(),
        })
    }

    /// Sends a request with a sequence number. The kernel fills in identifier and checksum.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn send(&self, sequence: u16) -> io::Result<()> {
        let mut message = [0; LENGTH];
        message[0] = if self.is_v4 { REQUEST.0 } else { REQUEST.1 };
        message[6..8].copy_from_slice(&sequence.to_be_bytes());
        let fd = self.socket.as_raw_fd();
        // SAFETY: pointer and length are those of `message`.
        check_size(unsafe { libc::send(fd, message.as_ptr().cast(), LENGTH, 0) })?;
        Ok(())
    }

    /// Returns the sequence number of the next reply; `None` if none waits.
    ///
    /// # Errors
    /// The kernel's error; an ICMP error of an earlier request is one.
    pub fn receive(&self) -> io::Result<Option<u16>> {
        let mut message = [0_u8; 128];
        let (fd, length) = (self.socket.as_raw_fd(), message.len());
        // SAFETY: pointer and length are those of `message`.
        let read = check_size(unsafe { libc::recv(fd, message.as_mut_ptr().cast(), length, 0) });
        match read {
            Ok(8..) => Ok(Some(u16::from_be_bytes([message[6], message[7]]))),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Pinger {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::poll;

    #[test]
    fn this_host_answers_with_the_number_of_the_request() {
        let Ok(pinger) = Pinger::new("127.0.0.1".parse().unwrap()) else {
            eprintln!("skipped: net.ipv4.ping_group_range excludes this user");
            return;
        };
        pinger.send(0xabcd).unwrap();
        let ready = poll::wait_to_read([pinger.as_fd()], Duration::from_secs(5)).unwrap();
        assert_eq!(ready, [0]);
        assert_eq!(pinger.receive().unwrap(), Some(0xabcd));
        assert_eq!(pinger.receive().unwrap(), None);
    }
}
