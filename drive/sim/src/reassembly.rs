//! Reassembly of IPv4 packets from [`Fragments`] by the receiving host (RFC 791 section 3.2).
//!
//! It needs all fragments of a packet within [`REASSEMBLY_TIMEOUT`], else it drops those it has: the
//! loss of one fragment loses the packet.
//!
//! Reassembly takes no CPU time beyond that of the packet itself. ICMP errors about incomplete
//! packets (RFC 792) are not sent.

use std::collections::{BTreeMap, VecDeque};

use gigatcp_units::{Duration, Instant};

use crate::packet::{Content, Fragments};

/// Time for which a host keeps fragments of an incomplete packet (Linux `ipfrag_time`).
///
/// RFC 1122 section 3.3.2 recommends 60 to 120 s, for the networks of 1989.
const REASSEMBLY_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum of incomplete packets on a host; beyond it the oldest is dropped.
const MAX_INCOMPLETE: usize = 1024;

/// Key of a packet: its socket and its identification.
type Key = (u32, u64);

/// Incomplete packets of a host.
#[derive(Clone, Default, Debug)]
pub(crate) struct Reassembly {
    incomplete: BTreeMap<Key, Incomplete>,
    /// Keys in the order in which the packets began. A completed packet stays until it is first.
    order: VecDeque<(Instant, Key)>,
}

/// Received part of a packet.
#[derive(Clone, Debug)]
struct Incomplete {
    since: Instant,
    /// Received ranges of the payload, disjoint and in order.
    ranges: Vec<(u32, u32)>,
    /// Whether a fragment had a congestion mark (RFC 3168 section 5.3).
    is_marked: bool,
}

impl Incomplete {
    /// Adds the range from `start` to `end`.
    fn add(&mut self, mut start: u32, mut end: u32) {
        self.ranges.retain(|(from, to)| {
            let touches = *from <= end && start <= *to;
            if touches {
                start = start.min(*from);
                end = end.max(*to);
            }
            !touches
        });
        self.ranges.push((start, end));
    }
}

impl Reassembly {
    /// Handles fragments for a socket; returns the packet if they complete it.
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        socket: u32,
        fragments: Fragments,
    ) -> Option<Content> {
        let Fragments {
            mut content,
            id,
            offset,
            len,
            total,
            ..
        } = fragments;
        let key = (socket, id);
        self.forget(now);
        let one = self.incomplete.entry(key).or_insert_with(|| {
            self.order.push_back((now, key));
            Incomplete {
                since: now,
                ranges: Vec::new(),
                is_marked: false,
            }
        });
        one.is_marked |= content.is_marked();
        one.add(offset, offset + len);
        if one.ranges != [(0, total)] {
            return None;
        }
        if one.is_marked {
            content.mark();
        }
        self.incomplete.remove(&key);
        Some(content)
    }

    /// Drops packets older than [`REASSEMBLY_TIMEOUT`] or beyond [`MAX_INCOMPLETE`].
    fn forget(&mut self, now: Instant) {
        while let Some((since, key)) = self.order.front() {
            let one = self.incomplete.get(key);
            let is_there = one.is_some_and(|one| one.since == *since);
            let is_late = now.saturating_since(*since) >= REASSEMBLY_TIMEOUT;
            if is_there && !is_late && self.incomplete.len() < MAX_INCOMPLETE {
                break;
            }
            if is_there {
                self.incomplete.remove(key);
            }
            self.order.pop_front();
        }
    }
}
