//! All connections of a capture, found by both endpoints.
//!
//! A table of slots with linear probing over connections that never move:
//! growing the table moves eight octets for each. A pair of endpoints leads to
//! its latest connection; the ones before stay in the list.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::Duration;

use crate::key::Key;
use crate::sent::Pool;
use crate::{Connection, Kinds, Observed, Side};

/// Connections in one piece of memory.
const PIECE: usize = 256;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Of which connection: an index into [`FlowTable::connections`].
    pub connection: usize,
    /// Which side sent it.
    pub from: Side,
    /// What it is.
    pub kinds: Kinds,
    /// From the segment that it acknowledges to its passing here, where that is
    /// a sample (Karn).
    pub round_trip: Option<Duration>,
}

/// A slot: high bits of a hash, and the index of a connection and one.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    hash: u32,
    place: u32,
}

/// The connections of a capture.
#[derive(Debug)]
pub struct FlowTable {
    seed: u64,
    slots: Box<[Slot]>,
    pieces: Vec<Vec<Connection>>,
    pool: Pool,
    /// Of the last packet: packets come in trains.
    latest: usize,
}

impl FlowTable {
    /// An empty table. Results do not depend on the seed; who sends packets and
    /// does not know it cannot make the table slow.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            slots: alloc::vec![Slot::default(); PIECE].into_boxed_slice(),
            pieces: Vec::new(),
            pool: Pool::default(),
            latest: 0,
        }
    }

    /// Takes a packet in and says what it is.
    #[inline]
    pub fn handle_packet(&mut self, packet: &Observed) -> Verdict {
        let (key, is_first) = Key::of(packet);
        let mut index = self.latest;
        if self.at(index).is_none_or(|latest| latest.key != key) {
            index = self.find(key, packet, is_first);
        }
        let connection = &mut self.pieces[index / PIECE][index % PIECE];
        if connection.is_begun_anew(packet, is_first) {
            index = self.begin_anew(key, packet, is_first);
        }
        self.latest = index;
        let connection = &mut self.pieces[index / PIECE][index % PIECE];
        let (from, kinds, round_trip) = connection.handle(packet, is_first, &mut self.pool);
        Verdict {
            connection: index,
            from,
            kinds,
            round_trip,
        }
    }

    #[inline]
    fn at(&self, index: usize) -> Option<&Connection> {
        self.pieces.get(index / PIECE)?.get(index % PIECE)
    }

    /// How many connections there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let whole = self.pieces.len().saturating_sub(1) * PIECE;
        whole + self.pieces.last().map_or(0, Vec::len)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// One of them.
    #[must_use]
    pub fn connection(&self, index: usize) -> Option<&Connection> {
        self.at(index)
    }

    /// All of them, in the order of their first packets.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.pieces.iter().flatten()
    }

    /// The latest connection between these endpoints, a new one if there was
    /// none.
    #[inline]
    fn find(&mut self, key: Key, packet: &Observed, is_first: bool) -> usize {
        let hash = key.hash(self.seed);
        let slot = self.slot_of(&key, hash);
        match self.slots[slot].place {
            0 => self.insert(slot, hash, Connection::new(key, packet, is_first)),
            place => place as usize - 1,
        }
    }

    /// Where the key is, or would be.
    #[inline]
    fn slot_of(&self, key: &Key, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let found = self.slots[slot];
            let is_it = found.place == 0
                || found.hash == (hash >> 32) as u32
                    && self
                        .at(found.place as usize - 1)
                        .is_some_and(|connection| connection.key == *key);
            if is_it {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn begin_anew(&mut self, key: Key, packet: &Observed, is_first: bool) -> usize {
        let hash = key.hash(self.seed);
        let slot = self.slot_of(&key, hash);
        self.insert(slot, hash, Connection::succeeding(key, packet, is_first))
    }

    fn insert(&mut self, slot: usize, hash: u64, connection: Connection) -> usize {
        let index = self.len();
        if self.pieces.last().is_none_or(|piece| piece.len() == PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(connection);
        }
        self.slots[slot] = Slot {
            hash: (hash >> 32) as u32,
            place: index as u32 + 1,
        };
        // Successors take no slot of their own, so this grows early rather
        // than late.
        if (index + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        index
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.slots.len() * 2;
        let old = core::mem::replace(
            &mut self.slots,
            alloc::vec![Slot::default(); len].into_boxed_slice(),
        );
        for slot in old.into_iter().filter(|slot| slot.place > 0) {
            let Some(connection) = self.at(slot.place as usize - 1) else {
                continue;
            };
            let hash = connection.key.hash(self.seed);
            let mut place = hash as usize & (len - 1);
            while self.slots[place].place > 0 {
                place = (place + 1) & (len - 1);
            }
            self.slots[place] = slot;
        }
    }
}
