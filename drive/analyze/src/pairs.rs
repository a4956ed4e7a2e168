//! Joins two captures of one connection into one answer.
//!
//! Both sources are read a second time, so neither can be standard input unless it is
//! [`Source::rereadable`].

use std::collections::HashMap;

use gigatcp_flows::{Connection, Endpoint, FlowTable, Observed, PacketTimes, Side};
use gigatcp_why::{CapturePair, Diagnosis};

use crate::capture::Capture;
use crate::connections::Connections;
use crate::error::Error;
use crate::follow::follow;
use crate::options::Options;
use crate::source::Source;

/// Identifies a connection in captures from different capture points.
///
/// The key is both endpoints, in an order that is the same in all captures even without a SYN, and
/// the number of earlier connections between them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConnectionKey {
    low: Endpoint,
    high: Endpoint,
    earlier: usize,
}

impl ConnectionKey {
    /// Returns the key of a connection, and whether its client is the second endpoint.
    #[must_use]
    pub fn of(table: &FlowTable, index: usize) -> Option<(Self, bool)> {
        let sorted = |connection: &Connection| {
            let [client, server] = Side::BOTH.map(|side| connection.endpoint(side));
            (client.min(server), client.max(server))
        };
        let connection = table.connection(index)?;
        let (low, high) = sorted(connection);
        // Without predecessors the count is zero.
        let earlier = if connection.is_successor() {
            let earlier = table.connections().take(index);
            earlier.filter(|other| sorted(other) == (low, high)).count()
        } else {
            0
        };
        let is_swapped = connection.endpoint(Side::Client) != low;
        Some((Self { low, high, earlier }, is_swapped))
    }
}

/// Joint diagnosis of one connection in two captures.
#[derive(Clone, Debug)]
pub struct PairedDiagnosis {
    /// Index of the connection in the first and in the second capture.
    pub indices: [usize; 2],
    /// Index of the capture nearer to the sender of the data.
    ///
    /// Packet numbers of the diagnosis are those of this capture.
    pub near: usize,
    /// Diagnosis of the connection.
    pub diagnosis: Diagnosis,
    /// Loss and delay between the capture points.
    pub between: CapturePair,
}

/// Diagnoses the `chosen` connections of the first capture that are in both captures.
///
/// Connections that have too few packets in common, or no data, are left out.
///
/// # Errors
/// [`Error`] if a source cannot be read a second time.
pub fn diagnose_pairs(
    captures: [&Capture; 2],
    chosen: &[usize],
    options: &Options<'_>,
) -> Result<Vec<PairedDiagnosis>, Error> {
    let [first, second] = captures.map(Capture::connections);
    let pairs = pairs(first, second, chosen);
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let client = |[index, _]: &[usize; 2]| {
        let connection = first.connection(*index)?;
        Some(connection.endpoint(Side::Client))
    };
    let clients: Vec<Option<Endpoint>> = pairs.iter().map(client).collect();
    let see = |place: usize| see(captures[place].source(), place, &pairs, &clients, options);
    let (here, there) = (see(0)?, see(1)?);
    let joined = pairs.iter().enumerate().filter_map(|(at, indices)| {
        let seen = [&here[at], &there[at]];
        let sender = first.sender(indices[0])?;
        let clocks = seen[0].compare(seen[1])?;
        let near = usize::from(clocks.is_nearer_to_client != (sender == Side::Client));
        let far = 1 - near;
        let between = CapturePair::new(seen[near], seen[far], sender)?;
        let (watcher, index) = captures[near].connections().at(indices[near])?;
        let other = captures[far].connections().at(indices[far])?;
        let diagnosis = watcher.diagnose_with(index, other, &between)?;
        Some(PairedDiagnosis {
            indices: *indices,
            near,
            diagnosis,
            between,
        })
    });
    Ok(joined.collect())
}

/// Returns the chosen connections of the first capture that are also in the second.
fn pairs(first: &Connections, second: &Connections, chosen: &[usize]) -> Vec<[usize; 2]> {
    let key = |connections: &Connections, index: usize| {
        let (table, place) = connections.table_of(index)?;
        Some(ConnectionKey::of(table, place)?.0)
    };
    let there: HashMap<ConnectionKey, usize> = (0..second.len())
        .filter_map(|index| Some((key(second, index)?, index)))
        .collect();
    let pairs = chosen.iter().filter_map(|index| {
        let key = key(first, *index)?;
        Some([*index, *there.get(&key)?])
    });
    pairs.collect()
}

/// Reads the connections that are in both captures from one of them.
fn see(
    source: &Source,
    place: usize,
    pairs: &[[usize; 2]],
    clients: &[Option<Endpoint>],
    options: &Options<'_>,
) -> Result<Vec<PacketTimes>, Error> {
    let mut seen = vec![PacketTimes::new(); pairs.len()];
    let wanted: HashMap<usize, usize> = pairs
        .iter()
        .enumerate()
        .map(|(at, indices)| (indices[place], at))
        .collect();
    follow(source, options, |step| {
        if let Some(at) = wanted.get(&step.verdict.connection) {
            let is_client = clients[*at].is_some_and(|client| comes_from(step.packet, client));
            let from = if is_client {
                Side::Client
            } else {
                Side::Server
            };
            seen[*at].add(from, step.packet);
        }
        Ok::<(), Error>(())
    })?;
    Ok(seen)
}

fn comes_from(packet: &Observed, end: Endpoint) -> bool {
    packet.src_port == end.port && packet.endpoints.src() == end.address
}
