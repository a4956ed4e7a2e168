//! What happened in a run, and what limited each connection.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use gigatcp_analyze::Connections;
use gigatcp_flows::Side;
use gigatcp_why::Answer;

use crate::world::World;

/// What happened in a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Seed that the run had.
    pub seed: u64,
    /// Virtual time since the beginning.
    pub elapsed: Duration,
    /// Packets and super-packets delivered to hosts.
    pub delivered: u64,
    /// Hash of all deliveries: their times in nanoseconds, headers and payloads. Equal seeds and
    /// programs give equal hashes.
    pub hash: u64,
    /// The connections, in the order of their first packets at the host that sent more data.
    pub connections: Vec<ConnectionReport>,
    /// SYNs, with retransmissions, of connections that a host had beyond its first 10,000, which are
    /// not analyzed; the largest of all hosts.
    pub unanalyzed: u64,
}

/// What happened on one connection, from the packets that the sender of its data saw.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionReport {
    /// Name of the host that opened it, and its address.
    pub client: (String, SocketAddr),
    /// Name of the host that accepted it, and its address.
    pub server: (String, SocketAddr),
    /// Bytes of payload from client to server, and back, without retransmissions.
    pub bytes: [u64; 2],
    /// From its first packet to its last.
    pub elapsed: Duration,
    /// What limited it, in a sentence; what became of it if it carried no data.
    pub sentence: String,
    /// Id of the cause that the sentence names, as in `gigatcp explain`.
    pub cause: Option<&'static str>,
    /// The whole answer; `None` without data.
    pub answer: Option<Answer>,
}

impl Report {
    pub(crate) fn of(world: &World) -> Self {
        let mut connections = Vec::new();
        for (node, view, analyzer) in world.observers.views() {
            let found = analyzer.connections();
            let own =
                (0..found.len()).filter_map(|index| connection(world, node, view, found, index));
            connections.extend(own);
        }
        Self {
            seed: world.seed,
            elapsed: Duration::from_nanos(world.now.as_nanos()),
            delivered: world.delivered,
            hash: world.hash(),
            connections,
            unanalyzed: world.observers.left_out(),
        }
    }

    /// What limited each connection, as `gigatcp why` prints it.
    pub fn why(&self) -> impl fmt::Display + '_ {
        Why(self)
    }
}

/// A connection, if this is the view of the host that sent more data.
fn connection(
    world: &World,
    node: u32,
    view: usize,
    found: &Connections,
    index: usize,
) -> Option<ConnectionReport> {
    let counts = found.connection(index)?;
    let sender = found.sender(index).unwrap_or(Side::Client);
    let ends = [Side::Client, Side::Server].map(|side| {
        let end = counts.endpoint(side);
        SocketAddr::new(end.address, end.port)
    });
    let nodes = ends.map(|end| world.node_at(node, end.ip()));
    let own = ends[sender as usize];
    let peer = ends[1 - sender as usize];
    // Both ends of a loopback are here; each has a view.
    let is_own_view = if nodes[0] == nodes[1] {
        usize::from((own.ip(), own.port()) > (peer.ip(), peer.port())) == view
    } else {
        nodes[sender as usize] == Some(node)
    };
    if !is_own_view {
        return None;
    }
    let [client, server] = [0, 1].map(|end| {
        let name = nodes[end].map_or("?", |node| world.name_of(node));
        (name.to_owned(), ends[end])
    });
    let answer = found.diagnose(index).map(|diagnosis| diagnosis.answer());
    let sentence = match &answer {
        Some(answer) => answer.sentence.clone(),
        None => found
            .no_data(index)
            .map_or_else(String::new, |no_data| no_data.sentence()),
    };
    Some(ConnectionReport {
        client,
        server,
        bytes: [Side::Client, Side::Server].map(|side| counts.direction(side).unique_bytes()),
        elapsed: Duration::from_nanos(counts.elapsed().as_nanos()),
        sentence,
        cause: answer
            .as_ref()
            .and_then(|answer| answer.cause)
            .map(|cause| cause.id),
        answer,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, {:?} of virtual time, {} packets delivered, hash {:016x}",
            self.seed, self.elapsed, self.delivered, self.hash
        )?;
        self.why().fmt(f)
    }
}

/// Maximum connections that [`Report::why`] prints; the others are counted.
const MAX_PRINTED: usize = 8;

/// The answers of a report, largest connections first.
struct Why<'a>(&'a Report);

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut largest: Vec<&ConnectionReport> = self.0.connections.iter().collect();
        largest.sort_by_key(|connection| std::cmp::Reverse(connection.bytes.iter().sum::<u64>()));
        for connection in largest.iter().take(MAX_PRINTED) {
            let ConnectionReport {
                client,
                server,
                bytes,
                elapsed,
                sentence,
                answer,
                ..
            } = connection;
            writeln!(
                f,
                "{} {} -> {} {}, {} bytes there, {} back, {elapsed:?}\n  {sentence}",
                client.0, client.1, server.0, server.1, bytes[0], bytes[1]
            )?;
            for (label, text) in answer.iter().flat_map(|answer| answer.lines()) {
                writeln!(f, "  {label}: {text}")?;
            }
        }
        if let Some(others @ 1..) = largest.len().checked_sub(MAX_PRINTED) {
            writeln!(f, "and {others} smaller connections")?;
        }
        match self.0.unanalyzed {
            0 => Ok(()),
            left_out => writeln!(
                f,
                "and later connections with {left_out} SYNs, not analyzed"
            ),
        }
    }
}
