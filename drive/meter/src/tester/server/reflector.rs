//! A stateless Session-Reflector of STAMP (RFC 8762), which reflects those of TWAMP Light too.
//!
//! It requires no control connection, so its packets are bounded by their source: [`MAX_RATE`] of an
//! address (an IPv4 address, or a /64 of IPv6), [`MAX_TOTAL_RATE`] of all, and [`MAX_SOURCES`]
//! sources are known at a time. An answer has as many bytes as the packet. With a total rate of the
//! server it is paid from that.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gigatcp_protocol::stamp;

use super::pending::MAX_ARRIVALS;
use crate::system::fd::{AsFd, BorrowedFd};
use crate::system::{clock, socket as kernel};
use crate::tester::admission::Network;
use crate::tester::listening::exclusive_udp_socket;
use crate::tester::rate_limit::{TokenBucket, udp_headers};

/// Packets of one source that are reflected in a second.
pub const MAX_RATE: u32 = 200;

/// Packets of all sources that are reflected in a second.
pub const MAX_TOTAL_RATE: u32 = 5000;

/// Sources that are known in a second.
pub(super) const MAX_SOURCES: usize = 1024;

/// Bytes of the largest packet that is reflected: those of a jumbo frame.
pub(super) const MAX_LENGTH: usize = 9000;

/// Packets reflected in the current second.
#[derive(Debug, Default)]
struct Quota {
    since: Option<Instant>,
    total: u32,
    sources: BTreeMap<Network, u32>,
}

impl Quota {
    /// Whether a packet of a source is reflected.
    fn take(&mut self, source: Network, now: Instant) -> bool {
        let is_over = |since| now.saturating_duration_since(since) >= Duration::from_secs(1);
        if self.since.is_none_or(is_over) {
            *self = Self {
                since: Some(now),
                ..Self::default()
            };
        }
        let is_known = self.sources.contains_key(&source);
        if self.total >= MAX_TOTAL_RATE || (!is_known && self.sources.len() >= MAX_SOURCES) {
            return false;
        }
        let count = self.sources.entry(source).or_default();
        if *count >= MAX_RATE {
            return false;
        }
        *count += 1;
        self.total += 1;
        true
    }
}

/// The reflector of a server.
#[derive(Debug)]
pub(super) struct Reflector {
    socket: UdpSocket,
    quota: Quota,
}

impl Reflector {
    /// Listens at a port.
    pub(super) fn bind(at: SocketAddr) -> io::Result<UdpSocket> {
        let socket = exclusive_udp_socket(at)?;
        // Without them arrivals have the time at which they are read, no TTL, and answers come from
        // the address that the route prefers.
        let _ = kernel::stamp_arrivals(&socket);
        let _ = kernel::pass_hop_limits(&socket);
        let _ = kernel::pass_destinations(&socket);
        Ok(socket)
    }

    pub(super) fn new(socket: &UdpSocket) -> io::Result<Self> {
        Ok(Self {
            socket: socket.try_clone()?,
            quota: Quota::default(),
        })
    }

    /// Reflects packets that have arrived, up to [`MAX_ARRIVALS`].
    pub(super) fn reflect(
        &mut self,
        allows: impl Fn(SocketAddr) -> bool,
        bucket: Option<&Arc<TokenBucket>>,
    ) {
        let mut packet = [0; MAX_LENGTH + 1];
        for _ in 0..MAX_ARRIVALS {
            let Ok(received) = kernel::receive_stamped(&self.socket, &mut packet) else {
                return;
            };
            let Some(peer) = received.from.filter(|peer| allows(*peer)) else {
                continue;
            };
            // A reflector of another host, or this one, would answer the answer.
            let own = self.socket.local_addr().map_or(0, |at| at.port());
            let is_reflector = [stamp::PORT, own].contains(&peer.port());
            let has_length = (stamp::MIN_REFLECTED..=MAX_LENGTH).contains(&received.length);
            if !has_length || is_reflector {
                continue;
            }
            let now = Instant::now();
            let source = Network::source(peer.ip());
            let is_within = self.quota.take(source, now)
                && bucket.is_none_or(|bucket| {
                    bucket.debt(now).is_zero() && {
                        let bytes = received.length as u64 + udp_headers(peer.ip());
                        bucket.pay(2 * bytes, now);
                        true
                    }
                });
            let packet = &mut packet[..received.length];
            let sent = clock::realtime();
            let arrived = received.at.unwrap_or(sent).unsigned_abs();
            let ttl = received.hop_limit.unwrap_or(0);
            if is_within && stamp::reflect(packet, arrived, sent.unsigned_abs(), ttl) {
                // An answer that the system refuses counts as lost.
                let _ = kernel::send_from(&self.socket, packet, peer, received.to);
            }
        }
    }
}

impl AsFd for Reflector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_rates_are_bounded_in_each_second() {
        let mut quota = Quota::default();
        let now = Instant::now();
        let source = |number: u32| Network::source(std::net::IpAddr::V4(number.into()));
        let of_one = (0..2 * MAX_RATE).filter(|_| quota.take(source(1), now));
        assert_eq!(of_one.count(), MAX_RATE as usize);
        let of_many = (2..3 * MAX_SOURCES as u32).filter(|number| quota.take(source(*number), now));
        assert_eq!(of_many.count(), MAX_SOURCES - 1);
        let of_all = (0..100 * MAX_RATE).filter(|number| quota.take(source(2 + number % 900), now));
        let before = MAX_RATE as usize + MAX_SOURCES - 1;
        assert_eq!(before + of_all.count(), MAX_TOTAL_RATE as usize);
        assert!(quota.take(source(1), now + Duration::from_secs(1)));
    }
}
