//! Fragments of IPv4 packets (RFC 791 section 3.2): what routers make of a packet that is
//! too large for a link and may be cut, and the receiving host puts together.
//!
//! A packet of fragments is carried as one, each of them being a wire packet; a link that
//! drops one splits it. The receiver needs all of them within [`PATIENCE`], else what it has
//! is dropped: the loss of one fragment loses the packet. A fragment may be cut again.
//!
//! Reassembly takes no processor time beyond that of the packet itself. ICMP errors about
//! packets that were not completed (RFC 792) are not sent.

use std::collections::{BTreeMap, VecDeque};

use gigatcp_units::{Duration, Instant};

use crate::packet::Content;

/// Bytes of the IP header of each fragment; packets have no IP options.
const HEADER: u64 = 20;

/// How long a host keeps fragments of an incomplete packet (Linux `ipfrag_time`; RFC 1122
/// section 3.3.2 asks for 60 to 120 s, of another time).
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Incomplete packets that a host keeps at most; the oldest gives way.
const MOST: usize = 1024;

/// Fragments of one packet, one behind the other.
#[derive(Clone, Debug)]
pub struct Fragments {
    /// What was cut.
    pub(crate) content: Content,
    /// A number of its own for each packet that is cut.
    id: u64,
    /// Where their payload begins in that of the whole, in bytes.
    offset: u32,
    /// Bytes of their payload.
    len: u32,
    /// Bytes of the payload of each but the last.
    each: u32,
    /// Bytes of the payload of the whole.
    total: u32,
}

impl Fragments {
    /// Cuts an IP packet of `bytes`, or a fragment, into fragments of at most `mtu` bytes.
    ///
    /// # Errors
    /// The packet, if the MTU leaves no room for payload.
    pub(crate) fn cut(content: Content, bytes: u64, mtu: u64, id: u64) -> Result<Self, Content> {
        let each = mtu.saturating_sub(HEADER) / 8 * 8;
        let payload = bytes.saturating_sub(HEADER);
        let (Ok(each @ 8..), Ok(len)) = (u32::try_from(each), u32::try_from(payload)) else {
            return Err(content);
        };
        Ok(match content {
            Content::Fragments(fragments) => Self { each, ..*fragments },
            content => Self {
                content,
                id,
                offset: 0,
                len,
                each,
                total: len,
            },
        })
    }

    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        self.len.div_ceil(self.each).max(1) as usize
    }

    /// Bytes of all of them, IP headers included.
    pub(crate) fn bytes(&self) -> u64 {
        HEADER * self.count() as u64 + u64::from(self.len)
    }

    /// Bytes of the first.
    pub(crate) fn leading_bytes(&self) -> u64 {
        HEADER + u64::from(self.len.min(self.each))
    }

    /// Takes off the first `n`, fewer than all.
    pub(crate) fn split_front(&mut self, n: usize) -> Self {
        let cut = self.each * n as u32;
        let front = Self {
            len: cut,
            ..self.clone()
        };
        self.offset += cut;
        self.len -= cut;
        front
    }
}

/// Whose packet it is: its socket and its number.
type Key = (u32, u64);

/// Incomplete packets of a host.
#[derive(Clone, Default, Debug)]
pub(crate) struct Reassembly {
    incomplete: BTreeMap<Key, Incomplete>,
    /// The same in the order in which they began; those that were completed are in it
    /// until they come first.
    order: VecDeque<(Instant, Key)>,
}

/// What has come of a packet.
#[derive(Clone, Debug)]
struct Incomplete {
    since: Instant,
    /// Where its payload has come, in order and apart.
    ranges: Vec<(u32, u32)>,
    /// Whether a fragment had a congestion mark (RFC 3168 section 5.3).
    is_marked: bool,
}

impl Incomplete {
    /// Adds what lies from `start` to `end`.
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
    /// Fragments for a socket arrive; returns the packet if that completes it.
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

    /// Drops what has waited too long, or is too much.
    fn forget(&mut self, now: Instant) {
        while let Some((since, key)) = self.order.front() {
            let one = self.incomplete.get(key);
            let is_there = one.is_some_and(|one| one.since == *since);
            let is_late = now.saturating_since(*since) >= PATIENCE;
            if is_there && !is_late && self.incomplete.len() < MOST {
                break;
            }
            if is_there {
                self.incomplete.remove(key);
            }
            self.order.pop_front();
        }
    }
}
