//! Connections whose test does not run yet, in the order of acceptance.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use gigatcp_protocol::iperf3::{Cookie, Session};
use gigatcp_protocol::nuttcp;

use crate::tester::admission::Network;

/// Maximum of connections whose test does not run yet.
pub(super) const MAX_PENDING: usize = 1024;

/// Maximum of connections accepted, or datagrams read, before other descriptors have their turn. A
/// larger number would drop connections of tests that open many.
pub(super) const MAX_ARRIVALS: usize = MAX_PENDING / 4;

/// A connection whose test does not run yet.
pub(super) struct Pending {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// Its position in the order of acceptance.
    pub(super) place: u64,
    pub(super) deadline: Instant,
    pub(super) state: PendingState,
}

pub(super) enum PendingState {
    /// Reading iperf3's cookie; the bytes so far.
    Cookie(Vec<u8>),
    /// Waiting for iperf3's parameters.
    Parameters(Cookie, Session),
    /// Waiting for nuttcp's greeting and parameters.
    Nuttcp(Box<nuttcp::Server>),
}

/// Connections by their position, at most [`MAX_PENDING`].
#[derive(Default)]
pub(super) struct PendingTable {
    connections: BTreeMap<u64, Pending>,
    /// Numbers of connections by site.
    counts: BTreeMap<Network, usize>,
}

impl PendingTable {
    /// Adds a connection. For one too many, the oldest of the site that has most is closed: an
    /// address that opens many closes its own.
    pub(super) fn insert(&mut self, pending: Pending) {
        if self.connections.len() >= MAX_PENDING {
            self.close_one();
        }
        let source = Network::site(pending.peer.ip());
        *self.counts.entry(source).or_default() += 1;
        self.connections.insert(pending.place, pending);
    }

    fn close_one(&mut self) {
        let most = self.counts.iter().max_by_key(|(_, count)| **count);
        let Some((source, _)) = most else { return };
        let mut connections = self.connections.iter();
        let oldest = connections.find(|(_, pending)| Network::site(pending.peer.ip()) == *source);
        if let Some((place, _)) = oldest {
            let place = *place;
            self.remove(place);
        }
    }

    /// Takes a connection out.
    pub(super) fn remove(&mut self, place: u64) -> Option<Pending> {
        let pending = self.connections.remove(&place)?;
        let source = Network::site(pending.peer.ip());
        if let Some(count) = self.counts.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&source);
            }
        }
        Some(pending)
    }

    /// Closes connections past their deadline.
    pub(super) fn close_late(&mut self, now: Instant) {
        let late = self.iter().filter(|pending| pending.deadline <= now);
        let late: Vec<u64> = late.map(|pending| pending.place).collect();
        for place in late {
            self.remove(place);
        }
    }

    /// The connections in the order of acceptance.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.connections.values()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn address_that_opens_many_closes_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut table = PendingTable::default();
        let mut insert = |place: u64, address: &str| {
            table.insert(Pending {
                stream: stream.try_clone().unwrap(),
                peer: SocketAddr::new(address.parse().unwrap(), 1),
                place,
                deadline: Instant::now(),
                state: PendingState::Cookie(Vec::new()),
            });
        };
        insert(0, "192.0.2.1");
        insert(1, "2001:db8:1::1");
        // All addresses of a site count as one.
        for place in 2..3 * MAX_PENDING as u64 {
            insert(place, &format!("2001:db8:0:1::{place:x}"));
        }
        assert_eq!(table.iter().count(), MAX_PENDING);
        let kept: Vec<u64> = table.iter().map(|pending| pending.place).collect();
        assert_eq!(kept[..3], [0, 1, 2 * MAX_PENDING as u64 + 2]);
        table.close_late(Instant::now());
        assert_eq!(table.iter().count(), 0);
        assert!(table.counts.is_empty());
    }
}
