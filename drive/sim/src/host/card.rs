//! Receive side of the network card, up to the stack: descriptors and buffers, interrupts, and data
//! that pins a buffer until it is read.
//!
//! Each receive queue has its own rings and interrupts, with its own moderation. It has the number
//! of the CPU that it interrupts.
//!
//! A buffer is released when the stack is done with its frame. If the frame brought nothing new,
//! this is immediately, else when the application has read its last byte. The same holds for
//! clusters of the kernel's pool. A host without rings and pool keeps no account of them.

use std::collections::{BTreeMap, VecDeque};

use gigatcp_path::{ClusterPool, DropCause, Drops, Parcel, ReceiveRings, RingsConfig, Tally, Work};
use gigatcp_tcp::Received;
use gigatcp_tcp::events::Cause;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Payload;

use super::datagram::{FIRST, Waiting};
use super::held::Held;
use super::{Host, LostSegment, receive_offload};
use crate::config::HostConfig;
use crate::packet::{Content, Packet};

/// A packet that the card has received. ICMP errors bypass the card.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// When it arrived.
    pub(super) at: Instant,
    /// The socket that it is for.
    pub(super) socket: u32,
    pub(super) packet: Packet,
    /// Buffers it occupies, if they are counted.
    pub(super) held: Held,
}

/// The receive side of a card and its driver.
#[derive(Debug)]
pub(super) struct Card {
    queues: Vec<Queue>,
    coalesce: Duration,
    coalesce_packets: usize,
    /// Whether segments are joined.
    pub(super) joins: bool,
    reneges: bool,
    /// The kernel's clusters, if they are limited.
    pub(super) pool: Option<ClusterPool>,
    /// Buffers pinned until the application of a socket has read up to a stream offset.
    pinned: BTreeMap<(u32, u64), Vec<Held>>,
    /// Packets the driver has taken since the last request, on a host with rings. A capture on the
    /// host shows these.
    taken: VecDeque<Packet>,
}

/// A receive queue of a card.
#[derive(Debug)]
struct Queue {
    /// Frames that arrived before the next interrupt.
    waiting: VecDeque<Frame>,
    /// Time of the next interrupt, or of the handler's next frame. Far future while the queue is
    /// empty.
    interrupt_at: Instant,
    last_interrupt: Option<Instant>,
    /// Whether the interrupt handler is running. It takes frames one by one.
    is_handling: bool,
    /// Whether it is polled and does not interrupt.
    is_polled: bool,
    interrupts: u64,
    /// Descriptors and buffers, if they are limited.
    rings: Option<ReceiveRings>,
    /// Segments that found no descriptor since the last interrupt.
    overrun: Vec<LostSegment>,
}

impl Queue {
    fn new(rings: Option<RingsConfig>) -> Self {
        Self {
            waiting: VecDeque::new(),
            interrupt_at: Instant::FAR_FUTURE,
            last_interrupt: None,
            is_handling: false,
            is_polled: false,
            interrupts: 0,
            rings: rings.map(ReceiveRings::new),
            overrun: Vec::new(),
        }
    }
}

impl Card {
    pub(super) fn new(host: &HostConfig) -> Self {
        let queues = 0..host.scheduling.receive_queues;
        Self {
            queues: queues.map(|_| Queue::new(host.rings)).collect(),
            coalesce: host.coalesce,
            coalesce_packets: host
                .coalesce_packets
                .map_or(usize::MAX, |most| most as usize),
            joins: host.receive_offload && host.rings.is_none() && host.clusters.is_none(),
            reneges: host.reneges,
            pool: host.clusters.map(ClusterPool::new),
            pinned: BTreeMap::new(),
            taken: VecDeque::new(),
        }
    }

    /// Time of the next interrupt of any queue.
    pub(super) fn interrupt_at(&self) -> Instant {
        let queues = self.queues.iter();
        let next = queues.map(|queue| queue.interrupt_at).min();
        next.unwrap_or(Instant::FAR_FUTURE)
    }

    /// Whether frames wait in a queue for the next poll.
    pub(super) fn has_frames_to_poll(&self, queue: usize) -> bool {
        let queue = self.queues.get(queue);
        queue.is_some_and(|queue| queue.is_polled && !queue.waiting.is_empty())
    }

    /// Handles a packet that reaches the card; each wire packet takes a descriptor.
    pub(super) fn handle_packet(
        &mut self,
        now: Instant,
        (socket, queue): (u32, u16),
        mut packet: Packet,
        drops: &mut Drops,
    ) {
        let held = Held {
            queue,
            ..Held::default()
        };
        let frame = |packet| Frame {
            at: now,
            socket,
            packet,
            held,
        };
        if self.counts() {
            while packet.wire_packets() > 1 {
                let front = packet.split_front(1);
                self.handle_wire_packet(frame(front), drops);
            }
        }
        self.handle_wire_packet(frame(packet), drops);
    }

    fn handle_wire_packet(&mut self, frame: Frame, drops: &mut Drops) {
        let (now, packet) = (frame.at, &frame.packet);
        let queue = &mut self.queues[frame.held.queue as usize];
        if let Some(rings) = &mut queue.rings
            && let Err(cause) = rings.handle_frame(packet.ip_bytes())
        {
            drops.add(cause, tally(packet));
            queue
                .overrun
                .extend(LostSegment::of(packet, Cause::RxRingOverrun));
            return;
        }
        queue.waiting.push_back(frame);
        if queue.is_polled || queue.is_handling {
            return;
        }
        if queue.interrupt_at == Instant::FAR_FUTURE {
            let earliest = queue.last_interrupt.map(|last| last + self.coalesce);
            queue.interrupt_at = earliest.map_or(now, |earliest| earliest.max(now));
        }
        if queue.waiting.len() >= self.coalesce_packets {
            queue.interrupt_at = now;
        }
    }

    /// Releases the buffers that hold only data before `offset`, which the application has read.
    #[inline]
    pub(super) fn release_read(&mut self, socket: u32, offset: u64) {
        if self.counts() {
            self.release_range((socket, 0), (socket, offset));
        }
    }

    /// Whether buffers of packets are counted.
    #[inline]
    fn counts(&self) -> bool {
        self.has_rings() || self.pool.is_some()
    }

    /// Whether descriptors or buffers are limited.
    #[inline]
    fn has_rings(&self) -> bool {
        self.queues[0].rings.is_some()
    }

    /// Releases what is pinned from `first` to `last`.
    fn release_range(&mut self, first: (u32, u64), last: (u32, u64)) {
        while let Some((&key, _)) = self.pinned.range(first..=last).next() {
            for held in self.pinned.remove(&key).unwrap_or_default() {
                self.release(held);
            }
        }
    }

    /// Releases a buffer whose data has been read or dropped.
    pub(super) fn release(&mut self, held: Held) {
        if let Some(ring) = held.ring
            && let Some(rings) = &mut self.queues[held.queue as usize].rings
        {
            rings.release(ring);
        }
        if let Some(pool) = &mut self.pool {
            pool.release(held.clusters);
        }
    }

    /// Frames that wait for an interrupt.
    pub(super) fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.queues.iter().flat_map(|queue| &queue.waiting)
    }

    /// Whether a packet for a socket waits for an interrupt.
    pub(super) fn holds(&self, socket: u32) -> bool {
        self.frames().any(|frame| frame.socket == socket)
    }
}

/// Wire packets and bytes of a packet.
pub(super) fn tally(packet: &Packet) -> Tally {
    Tally::new(packet.wire_packets() as u64, packet.ip_bytes())
}

impl Host {
    /// Whether the card has limited rings.
    pub fn has_rings(&self) -> bool {
        self.card.has_rings()
    }

    /// Rings that the packets of a socket fill, if there are any.
    pub fn rings_of(&self, socket: u32) -> Option<&ReceiveRings> {
        let queue = self.queue_of(socket);
        self.card.queues[queue as usize].rings.as_ref()
    }

    /// Receive queue of the packets for a socket.
    #[inline]
    pub(super) fn queue_of(&self, socket: u32) -> u16 {
        match socket.checked_sub(FIRST) {
            None => self.sockets[socket as usize].home,
            Some(sink) => self.sinks[sink as usize].home,
        }
    }

    /// Next packet that the driver has taken, on a host with rings. A capture on the host shows it
    /// there.
    #[inline]
    pub fn poll_taken(&mut self) -> Option<Packet> {
        self.card.taken.pop_front()
    }

    /// Raises the interrupts that are due, at most one per queue and coalescing interval.
    pub(super) fn take_interrupts(&mut self, now: Instant) {
        for queue in 0..self.card.queues.len() {
            self.take_interrupt(now, queue);
        }
    }

    pub(super) fn take_interrupt(&mut self, now: Instant, number: usize) {
        let queue = &mut self.card.queues[number];
        if queue.interrupt_at > now {
            return;
        }
        self.lost.append(&mut queue.overrun);
        if self.has_handler {
            return self.run_handler(now, number);
        }
        queue.interrupt_at = Instant::FAR_FUTURE;
        queue.last_interrupt = Some(now);
        queue.interrupts += 1;
        if !self.card.counts() && self.scheduling.input_queue.is_none() {
            let waiting = &mut self.card.queues[number].waiting;
            let inbox = &mut self.processors[number].inbox;
            if self.card.joins {
                let separate = inbox.len();
                for frame in waiting.drain(..) {
                    receive_offload::join(inbox, separate, frame);
                }
            } else {
                inbox.append(waiting);
            }
            return;
        }
        while let Some(frame) = self.card.queues[number].waiting.pop_front() {
            self.take_frame(frame);
        }
    }

    /// Runs the interrupt handler, if it costs CPU time. It takes all frames one by one, before any
    /// other work. If the card is polled, it only starts the polling.
    #[inline(never)]
    fn run_handler(&mut self, now: Instant, number: usize) {
        while self.card.queues[number].interrupt_at <= now {
            let queue = &mut self.card.queues[number];
            let mut work = Work::NONE;
            if !queue.is_handling {
                queue.last_interrupt = Some(now);
                queue.interrupts += 1;
                work = self.costs.interrupted();
                if self.scheduling.polls {
                    queue.is_polled = true;
                    queue.interrupt_at = Instant::FAR_FUTURE;
                    self.processors[number].interrupt(now, work);
                    return;
                }
            } else if let Some(frame) = queue.waiting.pop_front() {
                self.take_frame(frame);
                work = std::mem::take(&mut self.processors[number].drop_work);
            }
            let processor = &mut self.processors[number];
            let queue = &mut self.card.queues[number];
            let next = queue.waiting.front();
            queue.is_handling = next.is_some();
            queue.interrupt_at = match next {
                Some(frame) => {
                    let taking = self.costs.taken(frame.packet.wire_packets());
                    processor.interrupt(now, work + taking)
                }
                None => {
                    processor.unavailable_until = processor.interrupt(now, work);
                    Instant::FAR_FUTURE
                }
            };
        }
    }

    /// Next frame for protocol work of a CPU.
    ///
    /// It comes from the CPU's queue, or from the card if that is polled. With no frame left the
    /// card interrupts again.
    pub(super) fn next_frame(&mut self, number: usize) -> Option<Frame> {
        if let Some(frame) = self.processors[number].inbox.pop_front() {
            return Some(frame);
        }
        while let Some(queue) = self.card.queues.get_mut(number)
            && queue.is_polled
        {
            self.lost.append(&mut queue.overrun);
            match queue.waiting.pop_front() {
                Some(frame) => self.take_frame(frame),
                None => queue.is_polled = false,
            }
            if let Some(frame) = self.processors[number].inbox.pop_front() {
                return Some(frame);
            }
        }
        None
    }

    /// Moves a frame from the card to the stack.
    fn take_frame(&mut self, frame: Frame) {
        if self.card.has_rings() {
            self.take_up(frame);
        } else {
            self.queue_frame(frame);
        }
    }

    /// Queues a frame for the CPU, if the queue and the pool have space.
    fn queue_frame(&mut self, mut frame: Frame) {
        let limit = self.scheduling.input_queue;
        let inbox = &mut self.processors[frame.held.queue as usize].inbox;
        let cause = if limit.is_some_and(|limit| inbox.len() >= limit as usize) {
            DropCause::InputQueue
        } else if self.card.joins {
            receive_offload::join(inbox, 0, frame);
            return;
        } else if self.card.take_clusters(&mut frame) {
            inbox.push_back(frame);
            return;
        } else {
            DropCause::Clusters
        };
        self.card.release(frame.held);
        self.drop_frame(&frame, cause);
    }

    /// Drops a frame before it reaches the stack. Wakes a socket that waited for it.
    fn drop_frame(&mut self, frame: &Frame, cause: DropCause) {
        self.drops.add(cause, tally(&frame.packet));
        self.lost
            .extend(LostSegment::of(&frame.packet, Cause::RxRingOverrun));
        if self.is_shared && frame.socket < FIRST {
            self.shared.acted.push(frame.socket);
        }
    }

    /// Counts a packet that the host dropped for a socket.
    #[cold]
    pub(super) fn count_drop(&mut self, socket: u32, cause: DropCause, packet: &Packet) {
        let drops = match self.sink_mut(socket) {
            Some(sink) => &mut sink.drops,
            None => &mut *self.sockets[socket as usize].drops,
        };
        drops.add(cause, tally(packet));
        self.drops.add(cause, tally(packet));
    }

    /// Drops of the host, by cause.
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// Number of interrupts of the network card.
    pub fn interrupts(&self) -> u64 {
        let queues = self.card.queues.iter();
        queues.map(|queue| queue.interrupts).sum()
    }

    /// Takes a frame from its descriptor, if there is a buffer to replace it.
    fn take_up(&mut self, mut frame: Frame) {
        let ip_bytes = frame.packet.ip_bytes();
        let number = frame.held.queue as usize;
        let Some(rings) = &mut self.card.queues[number].rings else {
            return;
        };
        match rings.take_up(ip_bytes) {
            Ok(buffer) => {
                frame.held.ring = buffer;
                self.card.taken.push_back(frame.packet.clone());
                self.queue_frame(frame);
            }
            Err(cause) => {
                let is_short = self.card.reneges;
                let processor = &mut self.processors[number];
                processor.drop_work = processor.drop_work + self.costs.dropped();
                self.drop_frame(&frame, cause);
                if is_short {
                    self.renege();
                }
            }
        }
    }

    /// Makes connections renege when the host is short of buffers. The frame that found no buffer
    /// is lost; the next one will find one.
    #[cold]
    fn renege(&mut self) {
        for (number, socket) in (0..).zip(&mut self.sockets) {
            if let Some(connection) = &mut socket.connection
                && connection.renege() > 0
            {
                let kept = socket.read_offset + connection.readable();
                let beyond = ((number, kept + 1), (number, u64::MAX));
                self.card.release_range(beyond.0, beyond.1);
            }
        }
    }

    /// Passes a frame to the stack; data that the stack keeps pins the frame's buffer.
    pub(super) fn handle_frame(&mut self, now: Instant, frame: Frame) {
        let Content::Segment(segment) = frame.packet.content else {
            return;
        };
        let number = frame.socket as usize;
        let before = self.received_and_held(number);
        let end = segment.payload.offset + segment.payload.len() as u64;
        let at = frame.at;
        if self.card.joins {
            for segment in segment.into_wire_segments() {
                self.handle_segment(now, number, Received { at, segment });
            }
        } else {
            self.handle_segment(now, number, Received { at, segment });
        }
        let after = self.received_and_held(number);
        if after > before && self.card.counts() {
            let key = (frame.socket, end);
            self.card.pinned.entry(key).or_default().push(frame.held);
        } else {
            self.card.release(frame.held);
        }
    }

    /// Passes a datagram to its receive buffer, where it waits for the application. Corrupted
    /// packets are dropped.
    pub(super) fn take_other_frame(&mut self, frame: Frame) {
        match frame.packet.content {
            Content::Datagram { datagram, sent_at } => {
                let waiting = Waiting {
                    at: frame.at,
                    sent_at,
                    datagram,
                    held: frame.held,
                };
                if self.queue_datagram(frame.socket, waiting) {
                    return;
                }
                self.count_drop(frame.socket, DropCause::SocketBuffer, &frame.packet);
            }
            Content::Corrupted(_) => self.drop_corrupted(frame.socket, &frame.packet),
            Content::Segment(_) | Content::Icmp { .. } | Content::Fragments(_) => {}
        }
        self.card.release(frame.held);
    }

    fn received_and_held(&self, socket: usize) -> u64 {
        let connection = self.sockets[socket].connection();
        connection.map_or(0, |c| c.received_and_held())
    }
}
