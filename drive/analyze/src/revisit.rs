//! A second look at chosen connections of a capture, packet by packet.
//!
//! What is drawn is known after the first pass only. In the second, threads share
//! the chosen connections, and skip all other packets after one glance.

use std::collections::HashMap;

use gigatcp_flows::{Connection, FlowTable, Observed, Packet, Side, Verdict};

use crate::capture::seed;
use crate::error::{Error, Halt};
use crate::options::Options;
use crate::shares::{self, Share};
use crate::source::Source;
use crate::walk::{CapturedRecord, Walk};

/// Classes of connections by their endpoints, nearly all of which are skipped.
const CLASSES: u32 = 1 << 16;

/// Looks at the packets of one connection.
pub trait Visitor {
    /// What is left after the last packet.
    type Output: Send;

    /// Takes a packet with its number, what it is, and the connection as it is after it.
    fn handle_packet(
        &mut self,
        number: u64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    );

    /// The capture is over.
    fn finish(self) -> Self::Output;
}

/// A connection that is looked at again.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// Its counts from the first pass.
    pub connection: &'a Connection,
    /// The number of its first packet.
    pub first_packet: u64,
}

/// Looks at these connections once more and returns what each visitor found, in their order.
///
/// `begin` makes the visitor of a connection.
///
/// # Errors
/// [`Error`] if the source cannot be read again.
pub fn revisit<V: Visitor>(
    source: &Source,
    options: &Options<'_>,
    chosen: &[Chosen<'_>],
    begin: impl Fn(&Connection) -> V + Sync,
) -> Result<Vec<V::Output>, Error> {
    let work = |reader, share: Share| {
        let dealt = dealt(chosen, share.count as usize);
        let visitors = dealt[share.index as usize].iter().map(|&index| {
            let one = chosen[index];
            (one.first_packet, (index, begin(one.connection)))
        });
        let walk = Walk::new(reader, source, options, share.is_first());
        visit(walk, source, visitors.collect())
    };
    let parts = shares::read(source, options, work)?;
    let mut found: Vec<(usize, V::Output)> = parts.into_iter().flatten().collect();
    found.sort_by_key(|(index, _)| *index);
    Ok(found.into_iter().map(|(_, output)| output).collect())
}

/// Which thread visits which connections: each goes to the one that has the fewest packets.
fn dealt(chosen: &[Chosen<'_>], threads: usize) -> Vec<Vec<usize>> {
    let mut dealt = vec![(0, Vec::new()); threads];
    for (index, one) in chosen.iter().enumerate() {
        let packets = Side::BOTH.map(|side| one.connection.direction(side).packets());
        if let Some((all, list)) = dealt.iter_mut().min_by_key(|(all, _)| *all) {
            *all += packets.iter().sum::<u64>();
            list.push(index);
        }
    }
    dealt.into_iter().map(|(_, list)| list).collect()
}

/// One thread's visits. A packet of any other connection is skipped after one
/// glance: from its first packet on it is known of which class a chosen one is.
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
    let mut table = FlowTable::new(seed());
    let selection = source.selection();
    // Of each connection in the table, if it is visited.
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
