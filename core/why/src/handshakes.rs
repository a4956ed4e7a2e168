//! Connections that a client opens one after the other, each for little. What limits them is in no
//! connection alone: each waits a round trip for its handshake (RFC 9293 section 3.5), and with TLS
//! one or two more, before its first byte.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use gigatcp_flows::{Connection, Endpoint, Side};
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration, Instant};

/// Minimum number of connections: fewer may be those of a start.
const MIN_CONNECTIONS: usize = 10;

/// Maximum bytes of a connection, both directions: a handshake counts little for more.
const MAX_BYTES: u64 = 100_000;

/// Connections from one address to one server, one after the other, and their handshakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepeatedHandshakes {
    /// Address that opened them.
    pub client: IpAddr,
    /// The server.
    pub server: Endpoint,
    /// Index of the first, in the order in which they were passed.
    pub first: usize,
    /// Their number.
    pub connections: usize,
    /// Sum of the times of their handshakes.
    pub handshakes: Duration,
    /// Sum of the times from their first packets to their last.
    pub elapsed: Duration,
    /// Sum of their bytes, both directions.
    pub bytes: Bytes,
    /// Time of their first packet and of their last.
    span: (Instant, Instant),
}

impl RepeatedHandshakes {
    /// Those of a capture, the longest first. `connections` come in the order of their first packets.
    pub fn of<'a>(connections: impl Iterator<Item = &'a Connection>) -> Vec<Self> {
        let mut groups: BTreeMap<(IpAddr, Endpoint), Self> = BTreeMap::new();
        for (index, connection) in connections.enumerate() {
            let [client, server] = Side::BOTH.map(|side| connection.endpoint(side));
            let [asked, answered] =
                Side::BOTH.map(|side| connection.direction(side).unique_bytes());
            let bytes = asked + answered;
            let Some(handshake) = connection.handshake_round_trip() else {
                continue;
            };
            if asked.min(answered) == 0 || bytes > MAX_BYTES {
                continue;
            }
            let key = (client.address, server);
            let group = groups.entry(key).or_insert_with(|| Self {
                client: client.address,
                server,
                first: index,
                connections: 0,
                handshakes: Duration::ZERO,
                elapsed: Duration::ZERO,
                bytes: Bytes::ZERO,
                span: (connection.first_at(), connection.first_at()),
            });
            group.connections += 1;
            group.handshakes += handshake;
            group.elapsed += connection.elapsed();
            group.bytes += Bytes::new(bytes);
            group.span.1 = group.span.1.max(connection.last_at());
        }
        let mut found: Vec<Self> = groups.into_values().filter(Self::is_limit).collect();
        found.sort_by_key(|group| core::cmp::Reverse(group.elapsed));
        found
    }

    /// Whether they took turns, and handshakes took a fifth of the time. One ends while the next opens:
    /// two at a time are in turn. Between pauses of that length they limit nothing.
    fn is_limit(&self) -> bool {
        let (from, to) = self.span;
        let span = to.saturating_since(from);
        let is_in_turn = self.elapsed <= span * 2 && self.elapsed * 2 >= span;
        self.connections >= MIN_CONNECTIONS && is_in_turn && self.handshakes * 5 >= self.elapsed
    }

    /// The finding and what to change, in two sentences.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self {
            client,
            server,
            connections,
            ..
        } = self;
        let count = *connections as u64;
        let now = self.elapsed / count;
        let then = self.elapsed.saturating_sub(self.handshakes) / count;
        format!(
            "{client} opened {connections} connections to {server}, one after the other, each for \
             {}: their handshakes took {} of {}. Keep connections open and use them again (HTTP \
             keep-alive, a pool): an exchange would take {} and not {}, with TLS less still.",
            human_bytes(Bytes::new(self.bytes.as_u64() / count)),
            human_duration(self.handshakes),
            human_duration(self.elapsed),
            human_duration(then),
            human_duration(now),
        )
    }
}
