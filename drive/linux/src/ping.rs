//! ICMP echo without raw sockets (`SOCK_DGRAM` with `IPPROTO_ICMP` of `icmp(7)`).
//!
//! The groups of `net.ipv4.ping_group_range` may send it: on most systems all users.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with,
};

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
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(protocol))?;
        connect(&socket, &SocketAddr::new(to, 0))?;
        Ok(Self {
            socket,
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
        send(&self.socket, &message, SendFlags::empty())?;
        Ok(())
    }

    /// Returns the sequence number of the next reply; `None` if none waits.
    ///
    /// # Errors
    /// The kernel's error; an ICMP error of an earlier request is one.
    pub fn receive(&self) -> io::Result<Option<u16>> {
        let mut message = [0_u8; 128];
        match recv(&self.socket, &mut message[..], RecvFlags::empty()) {
            Ok((8.., _)) => Ok(Some(u16::from_be_bytes([message[6], message[7]]))),
            Ok(_) | Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
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
