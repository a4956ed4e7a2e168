//! Tracks one thread's share of the connections of a capture: all of them, or chosen ones in another
//! pass.

use std::collections::HashSet;

use gigatcp_flows::{Endpoint, Packet, Pair};
use gigatcp_units::{Duration, Instant};
use gigatcp_why::Watcher;
use gigatcp_wire::Endpoints;
use gigatcp_wire::link::CapturedIcmpError;

use crate::shares::Share;
use crate::source::Source;
use crate::walk::{CapturedRecord, Segment, Unit};

/// Time without a packet after which an ended connection is taken as complete. ACKs arrive within
/// an RTT. Later packets, retransmitted by a timer, are rare, and make it be read again. A
/// connection that waits longer leaves the CPU's cache.
pub(crate) const LINGER: Duration = Duration::from_millis(100);

/// Number of hash classes of connections, nearly all of which another pass skips.
pub(crate) const CLASSES: u32 = 1 << 16;

/// Both endpoints of a connection, in order.
type Ends = [Endpoint; 2];

pub(crate) fn ordered(one: Endpoint, other: Endpoint) -> Ends {
    if one <= other {
        [one, other]
    } else {
        [other, one]
    }
}

/// The endpoints of the connections of another pass.
pub(crate) struct EndsSet {
    ends: HashSet<Ends>,
    /// Which classes have one.
    is_watched: Vec<bool>,
}

impl EndsSet {
    pub(crate) fn of(ends: impl Iterator<Item = Ends>) -> Self {
        let ends: HashSet<Ends> = ends.collect();
        let mut is_watched = vec![false; CLASSES as usize];
        for [low, high] in &ends {
            if let Some(addresses) = Endpoints::new(low.address, high.address) {
                let pair = Pair::of(addresses, low.port, high.port);
                is_watched[pair.share(CLASSES) as usize] = true;
            }
        }
        Self { ends, is_watched }
    }

    pub(crate) fn contains(&self, ends: Ends) -> bool {
        self.ends.contains(&ends)
    }

    /// Whether a packet belongs to one of them. Most packets are skipped after a brief check.
    fn has(&self, segment: &Segment<'_>) -> bool {
        let pair = segment.pair();
        self.is_watched[pair.share(CLASSES) as usize] && self.contains(pair.ends())
    }
}

/// Tracks connections.
pub(crate) struct Tracker<'a> {
    pub(crate) watcher: Watcher,
    source: &'a Source,
    seed: u64,
    share: Share,
    /// Connections to track; `None`: all.
    only: Option<&'a EndsSet>,
    /// Whether it skips some packets of its share.
    is_selective: bool,
    now: Instant,
    /// Segments tracked.
    pub(crate) segments: u64,
    pub(crate) unit: Unit,
}

impl<'a> Tracker<'a> {
    pub(crate) fn new(source: &'a Source, seed: u64, share: Share) -> Self {
        Self {
            watcher: Watcher::new(seed).with_window_scales(source.window_scales()),
            source,
            seed,
            share,
            only: None,
            is_selective: source.selection().is_some(),
            now: Instant::ZERO,
            segments: 0,
            unit: Unit::default(),
        }
    }

    /// A tracker for another pass over the same capture, which tracks these only.
    pub(crate) fn again<'b>(&self, only: &'b EndsSet) -> Tracker<'b>
    where
        'a: 'b,
    {
        Tracker::new(self.source, self.seed, self.share).only(only)
    }

    /// One that tracks these connections only.
    pub(crate) const fn only(mut self, only: &'a EndsSet) -> Self {
        self.only = Some(only);
        self.is_selective = true;
        self
    }

    /// Time that long before the latest record.
    pub(crate) fn before(&self, age: Duration) -> Instant {
        Instant::ZERO + self.now.saturating_since(Instant::ZERO + age)
    }

    /// Processes a record.
    #[inline(always)]
    pub(crate) fn take(&mut self, found: CapturedRecord<'_>) {
        self.now = found.at;
        self.unit.add(found.at);
        if let Some(error) = found.icmp_error {
            self.take_error(&found, error);
        }
        let Some(segment) = &found.segment else {
            return;
        };
        if self.share.has(segment) && (!self.is_selective || self.follows(found.number, segment)) {
            self.segments += 1;
            self.watcher.handle_packet(found.number, segment);
        }
    }

    /// Of connections that are not followed, also those of other threads, the watcher knows nothing.
    #[cold]
    fn take_error(&mut self, found: &CapturedRecord<'_>, error: &CapturedIcmpError) {
        let selection = self.source.selection();
        if selection.is_none_or(|is_kept| is_kept(found.number)) {
            self.watcher
                .handle_icmp_error(found.number, found.at, error);
        }
    }

    /// Whether it tracks the packet. Not inlined: the lookup would take registers from the path of
    /// every packet.
    #[cold]
    #[inline(never)]
    fn follows(&self, number: u64, segment: &Segment<'_>) -> bool {
        let selection = self.source.selection();
        self.only.is_none_or(|only| only.has(segment))
            && selection.is_none_or(|is_kept| is_kept(number))
    }
}
