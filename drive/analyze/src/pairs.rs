//! Joins two captures of one connection into one answer.
//!
//! Both sources are read a second time, so neither can be standard input unless it is
//! [`Source::rereadable`].

use std::collections::{HashMap, HashSet};

use gigatcp_flows::{Connection, Endpoint, FlowTable, Observed, PacketTimes, Side};
use gigatcp_why::{CAUSES, CapturePair, Diagnosis, Watcher};

use crate::NoteKind;
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
    /// Key of a connection, and whether its client is the second endpoint.
    pub fn of(table: &FlowTable, index: usize) -> Option<(Self, bool)> {
        let sorted = |connection: &Connection| {
            let [client, server] = Side::BOTH.map(|side| connection.endpoint(side));
            (client.min(server), client.max(server))
        };
        let connection = table.connection(index)?;
        let (low, high) = sorted(connection);
        // Without predecessors the count is zero.
        let earlier = if connection.is_successor() {
            table
                .connections()
                .take(index)
                .filter(|earlier| sorted(earlier) == (low, high))
                .count()
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
    /// Index of the capture that the diagnosis is of: the one nearer to the sender of the data, unless
    /// only the other shows how long the handshake took.
    ///
    /// Packet numbers of the diagnosis are those of this capture.
    pub near: usize,
    /// Diagnosis of the connection.
    pub diagnosis: Diagnosis,
    /// Loss and delay between the capture points; `None` if the writer of one left packets out, so
    /// that what only the other shows was not lost.
    pub between: Option<CapturePair>,
}

/// Diagnoses the `chosen` connections of the first capture that are in both captures.
///
/// Endpoints may differ by an address translation between the capture points. Connections that have
/// too few packets in common, or no data, are left out.
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
    let client = |indices: &[usize; 2], place: usize| {
        let ends = clients(first, second, *indices)?;
        Some(ends[place])
    };
    let see = |place: usize| {
        let clients = pairs.iter().map(|indices| client(indices, place));
        let clients: Vec<Option<Endpoint>> = clients.collect();
        see(captures[place].source(), place, &pairs, &clients, options)
    };
    let (here, there) = (see(0)?, see(1)?);
    let joined = pairs.iter().enumerate().filter_map(|(at, indices)| {
        let seen = [&here[at], &there[at]];
        let sender = first.sender(indices[0])?;
        let clocks = seen[0].compare(seen[1])?;
        let near = usize::from(clocks.is_nearer_to_client != (sender == Side::Client));
        let far = 1 - near;
        let (watcher, index) = captures[near].connections().at(indices[near])?;
        let connections = [0, 1].map(|place| {
            let all = captures[place].connections();
            all.connection(indices[place])
        });
        let is_whole =
            |known: &Option<&Connection>| known.is_some_and(|known| !known.is_one_sided());
        let is_partial = captures.iter().any(|capture| is_excerpt(capture));
        if is_partial || !connections.iter().all(is_whole) {
            let [diagnosis, other] = [near, far].map(|place| {
                let (watcher, index) = captures[place].connections().at(indices[place])?;
                watcher.diagnose(index)
            });
            return Some(PairedDiagnosis {
                indices: *indices,
                near,
                diagnosis: diagnosis?.joined_with(&other?),
                between: None,
            });
        }
        let context = watcher.capture_context(index, sender)?;
        let between = CapturePair::new(seen[near], seen[far], sender, context.segments.octets)?;
        let other = captures[far].connections().at(indices[far])?;
        let mut diagnosis = watcher.diagnose_with(index, other, &between)?;
        let mut shown = near;
        if connections.iter().all(|known| known.is_some_and(has_syns))
            && let Some(own) = opened_earlier(other, &diagnosis)
        {
            diagnosis = Diagnosis {
                joined: diagnosis.joined,
                ..own
            };
            shown = far;
        }
        if let Some(joined) = &mut diagnosis.joined {
            joined.push_str(&translations(captures, *indices, near));
        }
        let connections = captures[shown].connections();
        connections.explain(indices[shown], &mut diagnosis);
        // Only one of them may have passed the questions.
        if diagnosis.lookup.is_none() {
            let other = captures[1 - shown].connections();
            other.explain_lookup(indices[1 - shown], &mut diagnosis);
        }
        Some(PairedDiagnosis {
            indices: *indices,
            near: shown,
            diagnosis,
            between: (shown == near).then_some(between),
        })
    });
    Ok(joined.collect())
}

/// Whether the SYNs of both sides are in the capture.
fn has_syns(connection: &Connection) -> bool {
    let mut sides = Side::BOTH.iter();
    sides.all(|side| connection.direction(*side).has_syn())
}

/// The diagnosis of the capture near the receiver by itself, if the connection was longer by a fifth
/// there although both saw its SYNs, and what it began with took most time: the first SYNs were lost on
/// the way to the sender of the data.
fn opened_earlier((watcher, index): (&Watcher, usize), near: &Diagnosis) -> Option<Diagnosis> {
    let own = watcher.diagnose(index)?;
    let is_longer = own.duration.as_secs_f64() >= 1.2 * near.duration.as_secs_f64();
    let beginning = own.spans.first()?.cause?;
    let is_setup = own.headline()?.cause.id == CAUSES[beginning].id;
    (is_longer && is_setup && !own.is_unsure()).then_some(own)
}

/// Whether the writer of a text left packets out.
fn is_excerpt(capture: &Capture) -> bool {
    let mut notes = capture.info().notes.iter();
    notes.any(|note| note.kind == NoteKind::Omission)
}

/// Chosen connections of the first capture that are also in the second: by their endpoints, and
/// those that are left by their initial sequence numbers, which no address translation changes.
fn pairs(first: &Connections, second: &Connections, chosen: &[usize]) -> Vec<[usize; 2]> {
    let key = |connections: &Connections, index: usize| {
        let (table, place) = connections.table_of(index)?;
        Some(ConnectionKey::of(table, place)?.0)
    };
    let there: HashMap<ConnectionKey, usize> = (0..second.len())
        .filter_map(|index| Some((key(second, index)?, index)))
        .collect();
    let mut taken = HashSet::new();
    let mut pairs = Vec::new();
    let mut left = Vec::new();
    for index in chosen {
        match key(first, *index).and_then(|key| there.get(&key)) {
            Some(other) => {
                taken.insert(*other);
                pairs.push([*index, *other]);
            }
            None => left.push(*index),
        }
    }
    if !left.is_empty() {
        let here = by_initial_numbers(first, left.into_iter());
        let there = (0..second.len()).filter(|index| !taken.contains(index));
        let there = by_initial_numbers(second, there);
        let translated = here.iter().filter_map(|(numbers, index)| {
            let other = *there.get(numbers)?;
            Some([(*index)?, other?])
        });
        pairs.extend(translated);
    }
    let ranks: HashMap<usize, usize> = chosen.iter().copied().zip(0..).collect();
    pairs.sort_by_key(|[index, _]| ranks.get(index).copied());
    pairs
}

/// Connections by the initial sequence numbers of client and server; `None` in place of several
/// with the same. Those without both SYNs are left out.
fn by_initial_numbers(
    connections: &Connections,
    indices: impl Iterator<Item = usize>,
) -> HashMap<[u32; 2], Option<usize>> {
    let mut found = HashMap::new();
    for index in indices {
        let Some(connection) = connections.connection(index) else {
            continue;
        };
        if has_syns(connection) {
            let sides = Side::BOTH.map(|side| connection.direction(side));
            let numbers = sides.map(|side| side.first_position() as u32);
            let unique = found.entry(numbers).or_insert(Some(index));
            if *unique != Some(index) {
                *unique = None;
            }
        }
    }
    found
}

/// Endpoint of the client of the first capture, as each capture names it.
fn clients(
    first: &Connections,
    second: &Connections,
    [here, there]: [usize; 2],
) -> Option<[Endpoint; 2]> {
    let client = first.connection(here)?.endpoint(Side::Client);
    let other = second.connection(there)?;
    let is_known = Side::BOTH
        .iter()
        .any(|side| other.endpoint(*side) == client);
    let named = if is_known {
        client
    } else {
        other.endpoint(Side::Client)
    };
    Some([client, named])
}

/// Names the endpoints that have another name at the far capture point, in sentences.
fn translations(captures: [&Capture; 2], indices: [usize; 2], near: usize) -> String {
    let far = 1 - near;
    let [here, there] = [near, far].map(|place| {
        let connection = captures[place].connections().connection(indices[place]);
        connection.map(|known| Side::BOTH.map(|side| known.endpoint(side)))
    });
    let Some((here, there)) = here.zip(there) else {
        return String::new();
    };
    if here.iter().all(|end| there.contains(end)) {
        return String::new();
    }
    here.iter()
        .zip(there)
        .filter(|(near, far)| **near != *far)
        .map(|(near, far)| format!(" Address translation between them: {near} is {far} behind it."))
        .collect()
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
