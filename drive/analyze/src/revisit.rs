//! A second pass over chosen connections of a capture, packet by packet.
//!
//! Which connections to draw is known only after the first pass. In the second, threads share the
//! chosen connections and skip all other packets after a brief check.

use std::collections::HashMap;

use gigatcp_flows::{Connection, FlowTable, Observed, Packet, Side, Verdict};

use crate::capture::seed;
use crate::error::{Error, Halt};
use crate::options::Options;
use crate::shares::{self, Share};
use crate::source::Source;
use crate::tracker::CLASSES;
use crate::walk::{CapturedRecord, Walk};

/// Receives the packets of one connection.
pub trait Visitor {
    /// Result after the last packet.
    type Output: Send;

    /// Handles a packet. The arguments are its number, its kind, and the connection after it.
    fn handle_packet(
        &mut self,
        number: u64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    );

    /// Ends the visit at the end of the capture.
    fn finish(self) -> Self::Output;
}

/// A connection of the second pass.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// Its counts from the first pass.
    pub connection: &'a Connection,
    /// Number of its first packet.
    pub first_packet: u64,
}

/// Reads these connections again and returns the result of each visitor, in their order.
///
/// `begin` creates the visitor of a connection, given its place in `chosen`.
///
/// # Errors
/// [`Error`] if the source cannot be read again.
pub fn revisit<V: Visitor>(
    source: &Source,
    options: &Options<'_>,
    chosen: &[Chosen<'_>],
    begin: impl Fn(usize, &Connection) -> V + Sync,
) -> Result<Vec<V::Output>, Error> {
    let work = |reader, share: Share| {
        let dealt = dealt(chosen, share.count as usize);
        let visitors = dealt[share.index as usize].iter().map(|&index| {
            let one = chosen[index];
            (one.first_packet, (index, begin(index, one.connection)))
        });
        let walk = Walk::new(reader, source, options, share.is_first());
        visit(walk, source, visitors.collect())
    };
    let parts = shares::read(source, options, work)?;
    let mut found: Vec<(usize, V::Output)> = parts.into_iter().flatten().collect();
    found.sort_by_key(|(index, _)| *index);
    Ok(found.into_iter().map(|(_, output)| output).collect())
}

/// Distributes connections over threads, each to the thread with the fewest packets.
fn dealt(chosen: &[Chosen<'_>], threads: usize) -> Vec<Vec<usize>> {
    let mut dealt = vec![(0, Vec::new()); threads];
    for (index, one) in chosen.iter().enumerate() {
        let packets = Side::BOTH.map(|side| one.connection.direction(side).packets());
        if let Some((load, list)) = dealt.iter_mut().min_by_key(|(load, _)| *load) {
            *load += packets.iter().sum::<u64>();
            list.push(index);
        }
    }
    dealt.into_iter().map(|(_, list)| list).collect()
}

/// Runs one thread's visits. Packets of other connections are skipped after a brief check: the
/// class of a chosen connection is known from its first packet.
fn visit<V: Visitor>(
    mut walk: Walk<'_>,
    source: &Source,
    mut visitors: HashMap<u64, (usize, V)>,
) -> Result<Vec<(usize, V::Output)>, Halt> {
    if visitors.is_empty() {
        return Ok(Vec::new());
    }
    let mut begins: Vec<u64> = visitors.keys().copied().collect();
    begins.sort_unstable_by(|a, b| b.cmp(a));
    let mut is_watched = vec![false; CLASSES as usize];
    let mut table = FlowTable::new(seed()).with_window_scales(source.window_scales());
    let selection = source.selection();
    // Visited connections, by index in the table.
    let mut places: Vec<Option<(usize, V)>> = Vec::new();
    let mut take = |found: CapturedRecord<'_>| {
        let Some(segment) = found.segment else {
            return;
        };
        let class = segment.pair().share(CLASSES) as usize;
        if begins.last() == Some(&found.number) {
            begins.pop();
            is_watched[class] = true;
        }
        if !is_watched[class] || selection.is_some_and(|is_kept| !is_kept(found.number)) {
            return;
        }
        let packet = segment.observed();
        let (verdict, _, connection) = table.follow(&segment);
        if verdict.connection == places.len() {
            places.push(visitors.remove(&found.number));
        }
        if let Some((_, visitor)) = &mut places[verdict.connection] {
            visitor.handle_packet(found.number, &packet, &verdict, connection);
        }
    };
    walk.all(&mut take)?;
    let done = places.into_iter().flatten();
    Ok(done
        .map(|(index, visitor)| (index, visitor.finish()))
        .collect())
}
