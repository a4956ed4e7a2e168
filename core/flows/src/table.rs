//! All connections of a capture, found by both endpoints.
//!
//! A pair of endpoints leads to its latest connection (`connection_map.rs`); earlier ones stay in the list.
//!
//! A caller that is done with a finished connection can [retire](FlowTable::retire) it. Its index
//! goes to another connection, and only the pair of endpoints remains. So a packet that arrives
//! later is recognized as one of its own ([`FlowTable::strays`]).

use alloc::vec::Vec;

use gigatcp_units::Duration;
use gigatcp_wire::Flags;

use crate::connection_map::{ConnectionMap, Place};
use crate::key::{Key, Pair};
use crate::packet_summary::{Packet, PacketSummary};
use crate::round_trips::Sample;
use crate::sent::Pool;
use crate::window_scales::WindowScales;
use crate::{Connection, Endpoint, Kinds, Side};

/// Analysis of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Index of its connection in [`FlowTable::connections`].
    pub connection: usize,
    /// Side that sent it.
    pub from: Side,
    /// Its kinds.
    pub kinds: Kinds,
    pub(crate) sample: Sample,
}

impl Verdict {
    /// RTT sample: the time from the segment it acknowledges to its own passing. `None` if it is no
    /// sample (Karn).
    #[inline(always)]
    pub const fn round_trip(&self) -> Option<Duration> {
        self.sample.get()
    }
}

/// The connections of a capture.
#[derive(Debug)]
pub struct FlowTable {
    v4: ConnectionMap<2>,
    v6: ConnectionMap<5>,
    connections: Vec<Connection>,
    pool: Pool,
    predicts: bool,
    /// Indices of retired connections.
    free: Vec<usize>,
    strays: Vec<[Endpoint; 2]>,
    window_scales: WindowScales,
}

impl FlowTable {
    /// Creates an empty table. Results do not depend on the seed. A sender of packets that does not
    /// know it cannot make the table slow.
    pub fn new(seed: u64) -> Self {
        Self {
            v4: ConnectionMap::new(seed),
            v6: ConnectionMap::new(!seed),
            connections: Vec::new(),
            pool: Pool::default(),
            predicts: true,
            free: Vec::new(),
            strays: Vec::new(),
            window_scales: WindowScales::default(),
        }
    }

    /// Table with the window scales of connections that begin without a SYN.
    #[must_use]
    pub fn with_window_scales(self, window_scales: WindowScales) -> Self {
        Self {
            window_scales,
            ..self
        }
    }

    /// Creates a table that analyzes every packet on the slow path, for tests. The results are the
    /// same.
    pub fn without_prediction(seed: u64) -> Self {
        Self {
            predicts: false,
            ..Self::new(seed)
        }
    }

    /// Analyzes a packet.
    #[inline]
    pub fn handle_packet(&mut self, packet: &impl Packet) -> Verdict {
        self.follow(packet).0
    }

    /// Analyzes a packet; also returns its summary and its connection afterwards.
    #[inline(always)]
    pub fn follow(&mut self, packet: &impl Packet) -> (Verdict, PacketSummary, &Connection) {
        let pair = packet.pair();
        let summary = packet.summary();
        let mut index = self.find(&pair.key).index();
        if index >= self.connections.len() || summary.flags.contains(Flags::SYN) {
            index = self.begin(&pair, &summary);
        }
        let connection = &mut self.connections[index];
        let pool = &mut self.pool;
        let (from, kinds, sample) = if self.predicts {
            connection.handle(packet, &summary, pair.is_first, pool)
        } else {
            connection.handle_unexpected(&packet.observed(), pair.is_first, pool)
        };
        let verdict = Verdict {
            connection: index,
            from,
            kinds,
            sample,
        };
        (verdict, summary, connection)
    }

    /// Place of the latest connection of these endpoints.
    #[inline(always)]
    fn find(&self, key: &Key) -> Place {
        match key {
            Key::V4(words) => self.v4.find(words),
            Key::V6(words) => self.v6.find(words),
        }
    }

    fn put(&mut self, key: &Key, place: Place) {
        match key {
            Key::V4(words) => self.v4.put(words, place),
            Key::V6(words) => self.v6.put(words, place),
        }
    }

    /// Connection of a packet that may be the first of one. Such a packet has new endpoints, or is
    /// a SYN, which may begin another connection of the same endpoints.
    #[cold]
    fn begin(&mut self, pair: &Pair, packet: &PacketSummary) -> usize {
        let is_syn = packet.flags.contains(Flags::SYN);
        let place = self.find(&pair.key);
        let mut connection = match self.connections.get(place.index()) {
            Some(latest) if !latest.is_begun_anew(packet, pair.is_first) => return place.index(),
            None if place == Place::EMPTY => Connection::new(pair, packet),
            before => {
                if before.is_none() && (!is_syn || packet.flags.contains(Flags::ACK)) {
                    self.strays.push(pair.ends());
                }
                Connection::succeeding(pair, packet)
            }
        };
        // Those of a SYN replace them, unless they were cut off.
        if let Some(scales) = self.window_scales.get(pair.ends()) {
            connection.set_window_scales(scales);
        }
        let index = match self.free.pop() {
            Some(index) => {
                self.connections[index] = connection;
                index
            }
            None => {
                self.connections.push(connection);
                self.connections.len() - 1
            }
        };
        debug_assert!(
            self.connections[index].key == pair.key,
            "connection {index} takes the packets of other endpoints"
        );
        self.put(&pair.key, Place::of(index));
        index
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// A connection.
    pub fn connection(&self, index: usize) -> Option<&Connection> {
        self.connections.get(index)
    }

    /// Index of the latest connection of these endpoints, and the side that the first of the pair
    /// is. For packets about a connection that are not of it.
    pub fn latest(&self, pair: &Pair) -> Option<(usize, Side)> {
        let index = self.find(&pair.key).index();
        let connection = self.connections.get(index)?;
        Some((index, connection.side(pair.is_first)))
    }

    /// All connections, in the order of their first packets.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter()
    }

    /// Retires a connection that is over, and frees its index for another one.
    ///
    /// A SYN of the same endpoints begins a connection, as without retirement. Any other packet of
    /// theirs is a [stray](Self::strays).
    pub fn retire(&mut self, index: usize) {
        let Some(connection) = self.connections.get(index) else {
            return;
        };
        let key = connection.key;
        // The pair may lead to a successor.
        if self.find(&key) == Place::of(index) {
            self.put(&key, Place::RETIRED);
        }
        self.free.push(index);
    }

    /// Endpoints, in order, with a packet after their connection was retired. The report of that
    /// connection is incomplete, and the packet begins a connection of its own.
    pub fn strays(&self) -> &[[Endpoint; 2]] {
        &self.strays
    }
}
