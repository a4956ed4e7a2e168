//! Connections that a server ignores while it answers others: its queue of connections to accept is full.
//!
//! A listener whose queue is full drops SYNs and the ACKs that end handshakes (RFC 9293 section 3.10.7 leaves both
//! to the implementation; Linux counts them as `TcpExtListenOverflows`). The clients send their SYNs, or their first
//! requests, again.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_flows::{Connection, Endpoint, Side};
use gigatcp_units::Instant;

use crate::causes::counted;

/// Minimum number of ignored connections, and of the retransmissions of each.
const MIN_IGNORED: usize = 2;
const MIN_AGAIN: u64 = 2;

/// Maximum packets of a first request, besides retransmissions: with more, something was answered before.
const MAX_REQUEST: u64 = 2;

/// Maximum number of servers that are told.
const MAX_TOLD: usize = 3;

/// A server that ignored connections while it answered others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcceptQueue {
    /// The server.
    pub server: Endpoint,
    /// Number of connections whose SYN or first request it ignored.
    pub ignored: usize,
    /// Index of the first of them, in the order in which they were passed.
    pub first: usize,
    /// Number of those that it answered at once, whose first or last packets passed meanwhile.
    pub answered: usize,
    /// Whether the packets that it ignored were captured at the server.
    pub is_at_server: bool,
}

/// Connections to a server: index, and times of their first and last packets.
#[derive(Default)]
struct Openings {
    ignored: Vec<(usize, [Instant; 2])>,
    answered: Vec<[Instant; 2]>,
}

impl AcceptQueue {
    /// Those of a capture, at most three. `connections` come in the order of their first packets; `is_at_server` says of a
    /// connection whether its packets were captured at the server.
    pub fn of<'a>(
        connections: impl Iterator<Item = &'a Connection>,
        is_at_server: impl Fn(usize) -> bool,
    ) -> Vec<Self> {
        let mut servers: BTreeMap<Endpoint, Openings> = BTreeMap::new();
        for (index, connection) in connections.enumerate() {
            let [client, server] = Side::BOTH.map(|side| connection.direction(side));
            let span = [connection.first_at(), connection.last_at()];
            let acked = client.acked_position().unwrap_or(0);
            let is_served = server.unique_bytes() > 0 || acked > client.first_position() + 1;
            let has_lost = server.retransmitted_segments() > 0 || server.has_reset();
            if !client.has_syn() || has_lost {
                continue;
            }
            let again = client.retransmitted_packets();
            let is_first = client.data_packets().saturating_sub(again) <= MAX_REQUEST;
            let openings = servers
                .entry(connection.endpoint(Side::Server))
                .or_default();
            match client.retransmitted_segments() {
                MIN_AGAIN.. if is_first => openings.ignored.push((index, span)),
                0 if is_served => openings.answered.push(span),
                _ => {}
            }
        }
        let found = servers.into_iter().filter_map(|(server, openings)| {
            let (first, [from, _]) = *openings.ignored.first()?;
            let until = openings.ignored.iter().map(|(_, [_, last])| *last).max()?;
            let is_within = |at: &Instant| from <= *at && *at <= until;
            let meanwhile = |span: &&[Instant; 2]| span.iter().any(is_within);
            let answered = openings.answered.iter().filter(meanwhile).count();
            let ignored = openings.ignored.len();
            (ignored >= MIN_IGNORED && answered > 0).then(|| Self {
                server,
                ignored,
                first,
                answered,
                is_at_server: openings
                    .ignored
                    .iter()
                    .any(|(index, _)| is_at_server(*index)),
            })
        });
        found.take(MAX_TOLD).collect()
    }

    /// The finding and what to change, in two sentences.
    #[must_use]
    pub fn sentence(&self) -> String {
        let or = if self.is_at_server {
            "was full"
        } else {
            "was full, or a firewall or losses on the way keep some out"
        };
        format!(
            "{} ignored the SYN or the first request of {} again and again while it answered {}: its queue of \
             connections to accept {or}. Accept faster, or raise the backlog (listen() and \
             net.core.somaxconn there; nstat TcpExtListenOverflows counts it).",
            self.server,
            counted(self.ignored as u64, "connection"),
            counted(self.answered as u64, "other"),
        )
    }
}
