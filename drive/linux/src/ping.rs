//! ICMP echo (`SOCK_DGRAM` with `IPPROTO_ICMP` of `icmp(7)`).
//!
//! The groups of `net.ipv4.ping_group_range` may send it: on most systems all users, in a new network
//! namespace none. There its root may use a raw socket, which leaves identifier and checksum to the
//! sender, and receives what belongs to others as well.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with,
};

/// Types of echo requests: ICMP (RFC 792) and ICMPv6 (RFC 4443).
const REQUEST: (u8, u8) = (8, 128);

/// Types of echo replies.
const REPLY: (u8, u8) = (0, 129);

/// Bytes of a request: header and a small payload.
const LENGTH: usize = 40;

/// Sends echo requests to one host.
#[derive(Debug)]
pub struct Pinger {
    socket: OwnedFd,
    is_v4: bool,
    /// Identifier of the requests on a raw socket; `None` if the kernel chooses it.
    identifier: Option<u16>,
}

impl Pinger {
    /// Creates a socket for echo requests to a host.
    ///
    /// # Errors
    /// The kernel's error: `EACCES` outside of `net.ipv4.ping_group_range` without `CAP_NET_RAW`.
    pub fn new(to: IpAddr) -> io::Result<Self> {
        let (family, protocol) = match to {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let open = |kind: SocketType| socket_with(family, kind, flags, Some(protocol));
        let (made, is_raw) = match open(SocketType::DGRAM) {
            Err(error @ Errno::ACCESS) => (open(SocketType::RAW).map_err(|_| error)?, true),
            made => (made?, false),
        };
        connect(&made, &SocketAddr::new(to, 0))?;
        // Differs among the sockets of a process, and mostly among processes.
        let identifier = std::process::id().wrapping_mul(64) as u16 ^ made.as_raw_fd() as u16;
        Ok(Self {
            socket: made,
            is_v4: to.is_ipv4(),
            identifier: is_raw.then_some(identifier),
        })
    }

    /// Sends a request with a sequence number.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn send(&self, sequence: u16) -> io::Result<()> {
        let mut message = [0; LENGTH];
        message[0] = if self.is_v4 { REQUEST.0 } else { REQUEST.1 };
        message[6..8].copy_from_slice(&sequence.to_be_bytes());
        if let Some(identifier) = self.identifier {
            message[4..6].copy_from_slice(&identifier.to_be_bytes());
            // The kernel always fills in that of ICMPv6 (RFC 3542 section 3.1).
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        send(&self.socket, &message, SendFlags::empty())?;
        Ok(())
    }

    /// Sequence number of the next reply; `None` if none waits.
    ///
    /// # Errors
    /// The kernel's error; an ICMP error of an earlier request is one.
    pub fn receive(&self) -> io::Result<Option<u16>> {
        let mut message = [0_u8; 128];
        loop {
            let read = match recv(&self.socket, &mut message[..], RecvFlags::empty()) {
                Ok((_, length)) => length.min(message.len()),
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            match (self.identifier, self.echo(&message[..read])) {
                // The kernel passes replies of this socket only.
                (None, echo) => return Ok(echo.map(|(_, _, sequence)| sequence)),
                (Some(own), Some((kind, identifier, sequence))) if identifier == own => {
                    let reply = if self.is_v4 { REPLY.0 } else { REPLY.1 };
                    if kind == reply {
                        return Ok(Some(sequence));
                    }
                }
                (Some(_), _) => {}
            }
        }
    }

    /// Type, identifier and sequence number of a message; `None` if it is too short.
    fn echo(&self, message: &[u8]) -> Option<(u8, u16, u16)> {
        // Raw sockets of IPv4 also pass the IP header.
        let header = if self.is_v4 && self.identifier.is_some() {
            usize::from(message.first()? & 15) * 4
        } else {
            0
        };
        let &[kind, _, _, _, a, b, c, d] = message.get(header..header + 8)? else {
            return None;
        };
        Some((kind, u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }
}

/// Checksum of a message of an even length (RFC 1071).
fn checksum(message: &[u8]) -> u16 {
    let words = message
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
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

    /// Runs in a namespace where nobody may ping without a raw socket; requires root.
    #[test]
    fn root_of_a_new_namespace_pings_by_a_raw_socket() {
        use crate::namespace::Namespace;
        for to in ["127.0.0.1", "::1"] {
            let Ok(namespace) = Namespace::new() else {
                eprintln!("skipped: a network namespace requires root");
                return;
            };
            let answered = namespace.run(|| {
                let pinger = Pinger::new(to.parse().unwrap())?;
                assert!(pinger.identifier.is_some());
                pinger.send(0x1234)?;
                poll::wait_to_read([pinger.as_fd()], Duration::from_secs(5))?;
                // The request itself is the first that a raw socket receives on the loopback.
                std::thread::sleep(Duration::from_millis(50));
                pinger.receive()
            });
            assert_eq!(answered.unwrap().unwrap(), Some(0x1234), "{to}");
        }
    }

    #[test]
    fn a_message_with_its_checksum_sums_to_zero() {
        let mut message = [8, 0, 0, 0, 0x12, 0x34, 0xff, 0xff];
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(checksum(&message), 0);
    }

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
