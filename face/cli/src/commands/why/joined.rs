//! Two captures of one connection judged together: which of their connections
//! are the same, what each place saw of them, and what both know.
//!
//! Both files are read a second time for that, so neither can be standard
//! input.

use std::collections::HashMap;

use gigatcp_flows::{Endpoint, Observed, Side, Sightings};
use gigatcp_why::{Between, Diagnosis};

use super::Taken;
use super::followed::Followed;
use crate::commands::flows::clocks::{Key, key_of};
use crate::commands::flows::{self, Source};
use crate::failure::Failure;

/// A connection of both captures and what they say together.
pub(super) struct Joined {
    /// Its places in the first and the second capture.
    pub(super) indices: [usize; 2],
    /// Which of the captures is nearer to the sender of the data.
    pub(super) near: usize,
    pub(super) diagnosis: Diagnosis,
}

/// Judges the connections shown of the first capture that are in the second too.
pub(super) fn join(captures: [&Taken; 2]) -> Result<Vec<Joined>, Failure> {
    let [first, second] = captures.map(|taken| &taken.capture.followed);
    let key = |followed: &Followed, index: usize| {
        let (watcher, place) = followed.at(index)?;
        Some(key_of(watcher.table(), place)?.0)
    };
    let there: HashMap<Key, usize> = (0..second.len())
        .filter_map(|index| Some((key(second, index)?, index)))
        .collect();
    let pairs: Vec<[usize; 2]> = captures[0]
        .shown
        .iter()
        .filter_map(|index| {
            let key = key(first, *index)?;
            Some([*index, *there.get(&key)?])
        })
        .collect();
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let clients: Vec<Option<Endpoint>> = pairs
        .iter()
        .map(|[index, _]| {
            first
                .connection(*index)
                .map(|one| one.endpoint(Side::Client))
        })
        .collect();
    let sightings = [0, 1].map(|place| see(&captures[place].source, place, &pairs, &clients));
    let [here, there] = sightings;
    let (here, there) = (here?, there?);
    let joined = pairs.iter().enumerate().filter_map(|(at, indices)| {
        let sender = first.sender(indices[0])?;
        let clocks = here[at].compare(&there[at])?;
        let near = usize::from(clocks.is_nearer_to_client != (sender == Side::Client));
        let between = if near == 0 {
            Between::new(&here[at], &there[at], sender)
        } else {
            Between::new(&there[at], &here[at], sender)
        }?;
        let far = 1 - near;
        let (watcher, index) = captures[near].capture.followed.at(indices[near])?;
        let other = captures[far].capture.followed.at(indices[far])?;
        let diagnosis = watcher.diagnose_with(index, other, &between)?;
        Some(Joined {
            indices: *indices,
            near,
            diagnosis,
        })
    });
    Ok(joined.collect())
}

/// What one place saw of the connections that are in both.
fn see(
    source: &Source,
    place: usize,
    pairs: &[[usize; 2]],
    clients: &[Option<Endpoint>],
) -> Result<Vec<Sightings>, Failure> {
    let mut seen = vec![Sightings::new(); pairs.len()];
    let wanted: HashMap<usize, usize> = pairs
        .iter()
        .enumerate()
        .map(|(at, indices)| (indices[place], at))
        .collect();
    flows::read(source, |step| {
        if let Some(at) = wanted.get(&step.verdict.connection) {
            let is_client = clients[*at].is_some_and(|client| comes_from(step.packet, client));
            let from = if is_client {
                Side::Client
            } else {
                Side::Server
            };
            seen[*at].add(from, step.packet);
        }
        Ok(())
    })?;
    Ok(seen)
}

fn comes_from(packet: &Observed, end: Endpoint) -> bool {
    packet.src_port == end.port && packet.endpoints.src() == end.address
}
