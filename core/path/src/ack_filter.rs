//! ACK filters: of several acknowledgments of one connection the newest says all
//! (RFC 3449 section 5.2.1), so that a slow reverse path carries fewer.
//!
//! What a filter may take is an ACK that says nothing but "more bytes have arrived", as
//! far as the ACK before it tells:
//!
//! ```text
//! plain(a, before) = a.ack > before.ack, and a.flags, a.sack as before's        (1)
//! ```
//!
//! So these are kept: the first ACK of a connection, duplicate ACKs and window updates
//! (which acknowledge nothing new), ACKs whose SACK blocks or ECE, CWR and AE flags differ
//! from those before. What is no [`PureAck`] at all is never taken: data, SYN, FIN, RST,
//! URG, options that the filter does not know, packets capable of ECN. The rule is that of
//! CAKE's `ack-filter` (Linux `sch_cake.c`), but compares each ACK with the one before it.
//!
//! * [`AckFilter::Queue`]: a plain ACK takes the place of the newest waiting one, if that is
//!   plain too and nothing else of the connection has come since: as cable modems do. It
//!   leaves when the older one would have left, and overtakes no packet of its connection.
//! * [`AckFilter::Every`]: of each run of plain ACKs every n-th passes, at once; the others
//!   are dropped. The last of a run may be among them, and then the sender waits for its
//!   tail loss probe or timeout, which a filter in a queue never causes.
//!
//! What is remembered is one ACK of each of [`SLOTS`] connections, which share slots by a
//! hash of their flow: where two meet, both pass unfiltered. Memory is fixed, and an ACK
//! costs one look into a table.

use alloc::boxed::Box;

/// What an ACK filter does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckFilter {
    /// Replaces what waits in the queue.
    Queue,
    /// Lets every n-th plain ACK pass, without a queue; 1 filters nothing.
    Every(u32),
}

/// A segment that does nothing but acknowledge, as far as an ACK filter reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PureAck {
    /// The connection and direction: different numbers for different ones.
    pub connection: u64,
    /// SEG.ACK.
    pub ack: u32,
    /// ACK, ECE, CWR and AE.
    pub flags: u16,
    /// Left and right edges of the SACK blocks in their order; zeros where there is none.
    pub sack: [u32; 8],
}

impl PureAck {
    /// Equation (1).
    fn is_plain_after(&self, before: &Self) -> bool {
        let newly_acked = self.ack.wrapping_sub(before.ack);
        self.connection == before.connection
            && newly_acked != 0
            && newly_acked < 1 << 31
            && self.flags == before.flags
            && self.sack == before.sack
    }
}

/// Connections that are remembered.
pub(crate) const SLOTS: usize = 1024;

/// What is known of a connection.
#[derive(Clone, Copy, Debug)]
struct Slot<W> {
    last: PureAck,
    /// The filter's own state with it.
    note: W,
}

/// A slot for each connection, or for several.
#[derive(Clone, Debug)]
struct Slots<W>(Box<[Option<Slot<W>>]>);

impl<W: Copy> Slots<W> {
    fn new() -> Self {
        Self(alloc::vec![None; SLOTS].into())
    }

    /// The slot of a flow: the upper bits of a product with 2^32 over the golden ratio.
    fn of(&mut self, flow: u32) -> &mut Option<Slot<W>> {
        let hash = flow.wrapping_mul(0x9e37_79b9) >> (32 - SLOTS.ilog2());
        &mut self.0[hash as usize]
    }
}

/// [`AckFilter::Every`] at work.
#[derive(Clone, Debug)]
pub(crate) struct EveryNth {
    n: u32,
    /// Plain ACKs taken since one has passed.
    slots: Slots<u32>,
}

impl EveryNth {
    pub(crate) fn new(n: u32) -> Self {
        Self {
            n,
            slots: Slots::new(),
        }
    }

    /// Whether an ACK of the flow passes.
    pub(crate) fn passes(&mut self, flow: u32, ack: PureAck) -> bool {
        let slot = self.slots.of(flow);
        let before = slot.filter(|slot| ack.is_plain_after(&slot.last));
        let taken = before.map_or(0, |slot| slot.note + 1);
        let passes = before.is_none() || taken >= self.n;
        debug_assert!(
            taken <= self.n.max(1),
            "{taken} plain ACKs in a row were taken, every {} passes",
            self.n
        );
        *slot = Some(Slot {
            last: ack,
            note: if passes { 0 } else { taken },
        });
        passes
    }
}

/// Where a packet waits: the number under which it is held, and which arrival it was.
pub(crate) type Waiting = (u32, u64);

/// [`AckFilter::Queue`] at work.
#[derive(Clone, Debug)]
pub(crate) struct Replacing {
    /// The newest ACK, where it waits, if it is plain and may be replaced.
    slots: Slots<Option<Waiting>>,
}

impl Replacing {
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(),
        }
    }

    /// An ACK of the flow arrives: `None` if it is to be kept for good, else the place of
    /// the one before it, which it may take if that still waits.
    pub(crate) fn on_ack(&mut self, flow: u32, ack: PureAck) -> Option<Option<Waiting>> {
        let slot = self.slots.of(flow);
        let before = slot.filter(|slot| ack.is_plain_after(&slot.last));
        let note = before.map(|slot| slot.note);
        *slot = Some(Slot {
            last: ack,
            note: note.flatten(),
        });
        note
    }

    /// The ACK that has just arrived and is plain waits at `place`.
    pub(crate) fn on_queued(&mut self, flow: u32, place: Waiting) {
        if let Some(slot) = self.slots.of(flow) {
            slot.note = Some(place);
        }
    }

    /// Something else of the flow arrives: no ACK behind it takes a place before it.
    pub(crate) fn on_other(&mut self, flow: u32) {
        if let Some(slot) = self.slots.of(flow) {
            slot.note = None;
        }
    }
}
