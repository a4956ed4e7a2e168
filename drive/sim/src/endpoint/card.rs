//! The receive side of the network card, up to the stack: descriptors and
//! buffers, interrupts, and what pins a buffer until it is read.
//!
//! A buffer comes back when the stack is done with its frame: at once where the
//! frame brought nothing new, else when the application has read its last
//! octet. On a host without rings nothing of this is kept.

use std::collections::{BTreeMap, VecDeque};

use gigatcp_events::Cause;
use gigatcp_path::{Parcel, ReceiveRings, Ring, RingDrop};
use gigatcp_tcp::Received;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Payload;

use super::Endpoint;
use crate::config::HostConfig;
use crate::ledger::end_of;
use crate::packet::{Content, Packet};

/// A packet that the card has received. ICMP errors go past the card.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// When it arrived.
    pub(super) at: Instant,
    pub(super) packet: Packet,
    /// The buffer it lies in, if buffers are counted.
    buffer: Option<Ring>,
}

/// The receive side of a card and its driver.
#[derive(Debug)]
pub(super) struct Card {
    /// Arrived, not yet shown to the processor: the card holds its interrupt
    /// back.
    waiting: VecDeque<Frame>,
    coalesce: Duration,
    /// When the card next interrupts; far future while it holds nothing.
    interrupt_at: Instant,
    last_interrupt: Option<Instant>,
    buffers: Option<Buffers>,
    /// Offsets after the last octets of what found no descriptor since the last query.
    overrun: Vec<u64>,
}

/// Buffers that may run short.
#[derive(Debug)]
struct Buffers {
    rings: ReceiveRings,
    reneges: bool,
    /// Rings whose buffers wait until the application has read up to the given
    /// offset of the stream.
    pinned: BTreeMap<u64, Vec<Ring>>,
    /// What the driver has taken up since somebody last asked: what a capture
    /// on this host sees.
    taken: VecDeque<Packet>,
}

impl Card {
    pub(super) fn new(host: &HostConfig) -> Self {
        Self {
            waiting: VecDeque::new(),
            coalesce: host.coalesce,
            interrupt_at: Instant::FAR_FUTURE,
            last_interrupt: None,
            buffers: host.rings.map(|rings| Buffers {
                rings: ReceiveRings::new(rings),
                reneges: host.reneges,
                pinned: BTreeMap::new(),
                taken: VecDeque::new(),
            }),
            overrun: Vec::new(),
        }
    }

    pub(super) fn interrupt_at(&self) -> Instant {
        self.interrupt_at
    }

    /// A packet reaches the card; each wire packet takes a descriptor.
    pub(super) fn handle_packet(&mut self, now: Instant, mut packet: Packet) {
        if self.buffers.is_some() {
            while packet.wire_packets() > 1 {
                let front = packet.split_front(1);
                self.handle_wire_packet(now, front);
            }
        }
        self.handle_wire_packet(now, packet);
    }

    fn handle_wire_packet(&mut self, now: Instant, packet: Packet) {
        if let Some(buffers) = &mut self.buffers
            && buffers.rings.handle_frame(packet.ip_bytes()).is_err()
        {
            self.overrun.extend(end_of(&packet));
            return;
        }
        self.waiting.push_back(Frame {
            at: now,
            packet,
            buffer: None,
        });
        if self.interrupt_at == Instant::FAR_FUTURE {
            let earliest = self.last_interrupt.map_or(now, |last| last + self.coalesce);
            self.interrupt_at = earliest.max(now);
        }
    }
}

impl Buffers {
    /// The application has read all octets before `offset`.
    fn on_read(&mut self, offset: u64) {
        while let Some(first) = self.pinned.first_entry()
            && *first.key() <= offset
        {
            for ring in first.remove() {
                self.rings.release(ring);
            }
        }
    }

    /// The stack has given back everything from `offset` on.
    fn on_reneged(&mut self, offset: u64) {
        for ring in self.pinned.split_off(&(offset + 1)).into_values().flatten() {
            self.rings.release(ring);
        }
    }
}

impl Endpoint {
    /// The rings of the card, where there are any.
    #[must_use]
    pub fn rings(&self) -> Option<&ReceiveRings> {
        self.card.buffers.as_ref().map(|buffers| &buffers.rings)
    }

    /// On a host with rings: the next packet that the driver has taken up,
    /// which is where a capture on the host sees it.
    #[inline]
    pub fn poll_taken(&mut self) -> Option<Packet> {
        self.card.buffers.as_mut()?.taken.pop_front()
    }

    /// The card shows the processor what has arrived, at most once per
    /// coalescing interval.
    pub(super) fn take_interrupt(&mut self, now: Instant) {
        if self.card.interrupt_at > now {
            return;
        }
        let overrun = self.card.overrun.drain(..);
        self.lost
            .extend(overrun.map(|end| (end, Cause::RxRingOverrun)));
        self.card.interrupt_at = Instant::FAR_FUTURE;
        self.card.last_interrupt = Some(now);
        if self.card.buffers.is_none() {
            self.inbox.append(&mut self.card.waiting);
            return;
        }
        while let Some(frame) = self.card.waiting.pop_front() {
            self.take_up(frame);
        }
    }

    /// The driver takes a frame up, if there is a buffer to put in its place.
    fn take_up(&mut self, mut frame: Frame) {
        let ip_bytes = frame.packet.ip_bytes();
        let Some(buffers) = &mut self.card.buffers else {
            return;
        };
        match buffers.rings.take_up(ip_bytes) {
            Ok(buffer) => {
                frame.buffer = buffer;
                buffers.taken.push_back(frame.packet.clone());
                self.inbox.push_back(frame);
            }
            Err(drop) => {
                let is_short = drop == RingDrop::NoBuffer && buffers.reneges;
                let overrun = Cause::RxRingOverrun;
                let end = end_of(&frame.packet);
                self.lost.extend(end.map(|end| (end, overrun)));
                if is_short {
                    self.renege();
                }
            }
        }
    }

    /// The host is short of buffers, and connections give back what they may:
    /// the frame that found none is lost, the next will find one.
    #[cold]
    fn renege(&mut self) {
        if let (Some(connection), Some(buffers)) = (&mut self.connection, &mut self.card.buffers)
            && connection.renege() > 0
        {
            buffers.on_reneged(self.read_offset + connection.readable());
        }
    }

    /// The stack takes a frame; what it keeps pins the frame's buffer.
    pub(super) fn handle_frame(&mut self, now: Instant, frame: Frame) {
        let Content::Segment(segment) = frame.packet.content else {
            return;
        };
        let before = self.received_and_held();
        let end = segment.payload.offset + segment.payload.len() as u64;
        let at = frame.at;
        self.handle_segment(now, Received { at, segment });
        if let (Some(ring), Some(buffers)) = (frame.buffer, &mut self.card.buffers) {
            let after = self
                .connection
                .as_ref()
                .map_or(0, |c| c.received_and_held());
            if after > before {
                buffers.pinned.entry(end).or_default().push(ring);
            } else {
                buffers.rings.release(ring);
            }
        }
    }

    fn received_and_held(&self) -> u64 {
        self.connection
            .as_ref()
            .map_or(0, |c| c.received_and_held())
    }

    /// The application has read: buffers it has emptied come back.
    pub(super) fn release_buffers(&mut self) {
        if let Some(buffers) = &mut self.card.buffers {
            buffers.on_read(self.read_offset);
        }
    }
}
