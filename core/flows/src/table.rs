//! All connections of a capture, found by both endpoints.
//!
//! A pair of endpoints leads to its latest connection (`places.rs`); the ones
//! before stay in the list.
//!
//! A caller that has all it needs of a connection that is over can
//! [retire](FlowTable::retire) it: its place goes to another one, and what is
//! left is the pair of endpoints, so that a packet that comes after all is
//! known for one of its own ([`FlowTable::strays`]).

use alloc::vec::Vec;

use gigatcp_units::Duration;
use gigatcp_wire::Flags;

use crate::key::{Key, Pair};
use crate::packet_summary::{Packet, PacketSummary};
use crate::places::{Place, Places};
use crate::round_trips::Sample;
use crate::sent::Pool;
use crate::{Connection, Endpoint, Kinds, Side};

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Of which connection: an index into [`FlowTable::connections`].
    pub connection: usize,
    /// Which side sent it.
    pub from: Side,
    /// What it is.
    pub kinds: Kinds,
    pub(crate) sample: Sample,
}

impl Verdict {
    /// From the segment that it acknowledges to its passing here, where that is
    /// a sample (Karn).
    #[inline(always)]
    #[must_use]
    pub const fn round_trip(&self) -> Option<Duration> {
        self.sample.get()
    }
}

/// The connections of a capture.
#[derive(Debug)]
pub struct FlowTable {
    v4: Places<2>,
    v6: Places<5>,
    connections: Vec<Connection>,
    pool: Pool,
    predicts: bool,
    /// Indices that were given up.
    free: Vec<usize>,
    strays: Vec<[Endpoint; 2]>,
}

impl FlowTable {
    /// An empty table. Results do not depend on the seed; who sends packets and
    /// does not know it cannot make the table slow.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            v4: Places::new(seed),
            v6: Places::new(!seed),
            connections: Vec::new(),
            pool: Pool::default(),
            predicts: true,
            free: Vec::new(),
            strays: Vec::new(),
        }
    }

    /// The same that takes the long way with every packet and never the short
    /// one for those that are expected, which comes to the same: for tests.
    #[must_use]
    pub fn without_prediction(seed: u64) -> Self {
        Self {
            predicts: false,
            ..Self::new(seed)
        }
    }

    /// Takes a packet in and says what it is.
    #[inline]
    pub fn handle_packet(&mut self, packet: &impl Packet) -> Verdict {
        self.follow(packet).0
    }

    /// The same, and what it came to: the packet at a glance, and the connection
    /// as it stands behind it.
    #[inline(always)]
    pub fn follow(&mut self, packet: &impl Packet) -> (Verdict, PacketSummary, &Connection) {
        let pair = packet.pair();
        let glance = packet.glance();
        let mut index = self.find(&pair.key).index();
        if index >= self.connections.len() || glance.flags.contains(Flags::SYN) {
            index = self.begin(&pair, &glance);
        }
        let connection = &mut self.connections[index];
        let pool = &mut self.pool;
        let (from, kinds, sample) = if self.predicts {
            connection.handle(packet, &glance, pair.is_first, pool)
        } else {
            connection.handle_unexpected(&packet.observed(), pair.is_first, pool)
        };
        let verdict = Verdict {
            connection: index,
            from,
            kinds,
            sample,
        };
        (verdict, glance, connection)
    }

    /// Where the latest connection of these endpoints is.
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

    /// The connection of a packet that may be the first of one: of endpoints
    /// without any, or a SYN, which may begin another one of the same endpoints.
    #[cold]
    fn begin(&mut self, pair: &Pair, packet: &PacketSummary) -> usize {
        let is_syn = packet.flags.contains(Flags::SYN);
        let place = self.find(&pair.key);
        let connection = match self.connections.get(place.index()) {
            Some(latest) if !latest.is_begun_anew(packet, pair.is_first) => return place.index(),
            None if place == Place::EMPTY => Connection::new(pair, packet),
            before => {
                if before.is_none() && (!is_syn || packet.flags.contains(Flags::ACK)) {
                    self.strays.push(pair.ends());
                }
                Connection::succeeding(pair, packet)
            }
        };
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

    /// How many connections there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// One of them.
    #[must_use]
    pub fn connection(&self, index: usize) -> Option<&Connection> {
        self.connections.get(index)
    }

    /// All of them, in the order of their first packets.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter()
    }

    /// Gives up a connection that is over, and its index to another one.
    ///
    /// A SYN of the same endpoints begins a connection, as it would have done;
    /// any other packet of theirs is a [stray](Self::strays).
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

    /// Endpoints, in order, of which a packet came after their connection had
    /// been given up. What was reported of that connection is incomplete, and
    /// the packet stands at the beginning of one of its own.
    #[must_use]
    pub fn strays(&self) -> &[[Endpoint; 2]] {
        &self.strays
    }
}
