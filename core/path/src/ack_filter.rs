//! ACK filters: drop ACKs that a newer one of the same connection makes redundant (RFC 3449 section
//! 5.2.1). A slow reverse path then carries fewer.
//!
//! A filter may drop an ACK that reports only "more bytes have arrived", compared with the ACK
//! before it:
//!
//! ```text
//! plain(a, before) = a.ack > before.ack, and a.flags, a.sack as before's        (1)
//! ```
//!
//! So these are kept: the first ACK of a connection, duplicate ACKs and window updates (which
//! acknowledge nothing new), ACKs whose SACK blocks or ECE, CWR and AE flags differ from those
//! before. Packets other than a [`PureAck`] are never dropped: data, SYN, FIN, RST, URG, unknown
//! options, ECN-capable packets. The rule is that of CAKE's `ack-filter` (Linux `sch_cake.c`), but
//! compares each ACK with the one before it.
//!
//! * [`AckFilter::Queue`]: a plain ACK replaces the newest waiting one, as in cable modems. The
//!   waiting one must be plain too, and no other packet of the connection may have arrived since.
//!   The new ACK leaves when the older one would have left, and overtakes no packet of its
//!   connection.
//! * [`AckFilter::Every`]: of each run of plain ACKs every n-th passes, immediately; the others are
//!   dropped. The last of a run may be dropped; then the sender waits for its tail loss probe or
//!   timeout. A filter in a queue never causes this.
//!
//! The filter stores one ACK of each of [`SLOTS`] connections, which share slots by a hash of their
//! flow. On a collision, both connections pass unfiltered. Memory is fixed, and an ACK costs one
//! table lookup.

use alloc::boxed::Box;

/// Rule of an ACK filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckFilter {
    /// Replaces ACKs waiting in the queue.
    Queue,
    /// Lets every n-th plain ACK pass, without a queue; 1 filters nothing.
    Every(u32),
}

/// A pure ACK, reduced to the fields that an ACK filter uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PureAck {
    /// Number of connection and direction, unique to each.
    pub connection: u64,
    /// SEG.ACK.
    pub ack: u32,
    /// ACK, ECE, CWR and AE.
    pub flags: u16,
    /// Left and right edges of the SACK blocks in their order; unused entries are zero.
    pub sack: [u32; 8],
}

impl PureAck {
    /// Whether the ACK is plain: equation (1).
    fn is_plain_after(&self, before: &Self) -> bool {
        let newly_acked = self.ack.wrapping_sub(before.ack);
        self.connection == before.connection
            && newly_acked != 0
            && newly_acked < 1 << 31
            && self.flags == before.flags
            && self.sack == before.sack
    }
}

/// Number of connections stored.
pub(crate) const SLOTS: usize = 1024;

/// State of a connection.
#[derive(Clone, Copy, Debug)]
struct Slot<W> {
    last: PureAck,
    /// The filter's additional state.
    note: W,
}

/// A slot for each connection, or for several.
#[derive(Clone, Debug)]
struct Slots<W>(Box<[Option<Slot<W>>]>);

impl<W: Copy> Slots<W> {
    fn new() -> Self {
        Self(alloc::vec![None; SLOTS].into())
    }

    /// Slot of a flow. Multiplicative hash: the upper bits of a product with 2^32 over the golden
    /// ratio.
    fn of(&mut self, flow: u32) -> &mut Option<Slot<W>> {
        let hash = flow.wrapping_mul(0x9e37_79b9) >> (32 - SLOTS.ilog2());
        &mut self.0[hash as usize]
    }
}

/// Running state of [`AckFilter::Every`].
#[derive(Clone, Debug)]
pub(crate) struct EveryNth {
    n: u32,
    /// Plain ACKs dropped since the last one passed.
    slots: Slots<u32>,
}

impl EveryNth {
    pub(crate) fn new(n: u32) -> Self {
        Self {
            n,
            slots: Slots::new(),
        }
    }

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

/// Place of a waiting packet: number under which it is held, and number of its arrival.
pub(crate) type Waiting = (u32, u64);

/// Running state of [`AckFilter::Queue`].
#[derive(Clone, Debug)]
pub(crate) struct Replacing {
    /// Place of the newest ACK, if it is plain and may be replaced.
    slots: Slots<Option<Waiting>>,
}

impl Replacing {
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(),
        }
    }

    /// Processes an arriving ACK of the flow. Returns `None` if the ACK must be kept. Otherwise
    /// returns the place of the ACK before it, which it may replace if that still waits.
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

    /// Records that the plain ACK that has just arrived waits at `place`.
    pub(crate) fn on_queued(&mut self, flow: u32, place: Waiting) {
        if let Some(slot) = self.slots.of(flow) {
            slot.note = Some(place);
        }
    }

    /// Processes another packet of the flow: later ACKs must not take a place before it.
    pub(crate) fn on_other(&mut self, flow: u32) {
        if let Some(slot) = self.slots.of(flow) {
            slot.note = None;
        }
    }
}
