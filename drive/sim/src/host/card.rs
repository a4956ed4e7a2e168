//! The receive side of the network card, up to the stack: descriptors and
//! buffers, interrupts, and what pins a buffer until it is read.
//!
//! Each receive queue has its own rings and interrupts, with its own moderation. Its
//! number is that of the processor that it interrupts.
//!
//! A buffer comes back when the stack is done with its frame: at once where the
//! frame brought nothing new, else when the application has read its last
//! octet. So do clusters of the kernel's pool. On a host without rings and pool none of this is
//! kept.

use std::collections::{BTreeMap, VecDeque};

use gigatcp_events::Cause;
use gigatcp_path::{ClusterPool, DropCause, Drops, Parcel, ReceiveRings, RingsConfig, Tally, Work};
use gigatcp_tcp::Received;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Payload;

use super::datagram::{FIRST, Waiting};
use super::held::Held;
use super::{Host, Lost};
use crate::config::HostConfig;
use crate::packet::{Content, Packet};

/// A packet that the card has received. ICMP errors go past the card.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// When it arrived.
    pub(super) at: Instant,
    /// The socket that it is for.
    pub(super) socket: u32,
    pub(super) packet: Packet,
    /// What it lies in, where that is counted.
    pub(super) held: Held,
}

/// The receive side of a card and its driver.
#[derive(Debug)]
pub(super) struct Card {
    queues: Vec<Queue>,
    coalesce: Duration,
    coalesce_packets: usize,
    reneges: bool,
    /// The kernel's clusters, where they have a limit.
    pub(super) pool: Option<ClusterPool>,
    /// What waits until the application of a socket has read up to the given offset of
    /// the stream.
    pinned: BTreeMap<(u32, u64), Vec<Held>>,
    /// Where there are rings: what the driver has taken up since the last request,
    /// which is what a capture on this host sees.
    taken: VecDeque<Packet>,
}

/// A receive queue of a card.
#[derive(Debug)]
struct Queue {
    /// Arrived, not yet shown to the processor: the card holds its interrupt
    /// back.
    waiting: VecDeque<Frame>,
    /// When it next interrupts, or the handler is done with a frame; far future
    /// while it holds nothing.
    interrupt_at: Instant,
    last_interrupt: Option<Instant>,
    /// Whether the handler of an interrupt runs: it takes frames one by one.
    is_handling: bool,
    /// Whether it is polled: it does not interrupt.
    is_polled: bool,
    interrupts: u64,
    /// Descriptors and buffers, where they may run short.
    rings: Option<ReceiveRings>,
    /// Segments that found no descriptor since the last interrupt.
    overrun: Vec<Lost>,
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
            reneges: host.reneges,
            pool: host.clusters.map(ClusterPool::new),
            pinned: BTreeMap::new(),
            taken: VecDeque::new(),
        }
    }

    /// When a queue next interrupts.
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

    /// A packet reaches the card; each wire packet takes a descriptor.
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
            queue.overrun.extend(overrun(packet));
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
}

impl Card {
    /// The application of a socket has read all octets before `offset`: buffers that it
    /// has emptied come back.
    #[inline]
    pub(super) fn release_read(&mut self, socket: u32, offset: u64) {
        if self.counts() {
            self.release_range((socket, 0), (socket, offset));
        }
    }

    /// Whether it keeps count of what packets lie in.
    #[inline]
    fn counts(&self) -> bool {
        self.has_rings() || self.pool.is_some()
    }

    /// Whether descriptors or buffers may run short.
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

    /// What lay in a buffer has been read, or dropped.
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

    /// A socket is gone: its buffers come back.
    pub(super) fn release_all(&mut self, socket: u32) {
        self.release_read(socket, u64::MAX);
    }

    /// What waits for an interrupt.
    pub(super) fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.queues.iter().flat_map(|queue| &queue.waiting)
    }

    /// Whether a packet for a socket waits for an interrupt.
    pub(super) fn holds(&self, socket: u32) -> bool {
        self.frames().any(|frame| frame.socket == socket)
    }
}

/// A packet, counted.
pub(super) fn tally(packet: &Packet) -> Tally {
    Tally::new(packet.wire_packets() as u64, packet.ip_bytes())
}

/// What a packet with data that found no place in a ring leaves behind.
fn overrun(packet: &Packet) -> Option<Lost> {
    Lost::of(packet, Cause::RxRingOverrun)
}

impl Host {
    /// Whether the card has rings that may run short.
    #[must_use]
    pub fn has_rings(&self) -> bool {
        self.card.has_rings()
    }

    /// The rings that the packets of a socket fill, if there are any.
    #[must_use]
    pub fn rings_of(&self, socket: u32) -> Option<&ReceiveRings> {
        let queue = self.queue_of(socket);
        self.card.queues[queue as usize].rings.as_ref()
    }

    /// The receive queue of the packets for a socket.
    #[inline]
    pub(super) fn queue_of(&self, socket: u32) -> u16 {
        match socket.checked_sub(FIRST) {
            None => self.sockets[socket as usize].home,
            Some(sink) => self.sinks[sink as usize].home,
        }
    }

    /// On a host with rings: the next packet that the driver has taken up,
    /// which is where a capture on the host sees it.
    #[inline]
    pub fn poll_taken(&mut self) -> Option<Packet> {
        self.card.taken.pop_front()
    }

    /// Receive queues show their processors what has arrived, each at most once per
    /// coalescing interval.
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
            self.processors[number].inbox.append(waiting);
            return;
        }
        while let Some(frame) = self.card.queues[number].waiting.pop_front() {
            self.take_frame(frame);
        }
    }

    /// The handler of an interrupt, where that costs something: it takes frames one by
    /// one, before any other work, until there are none. Where the card is polled, it
    /// only sees to that.
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
                    processor.away_until = processor.interrupt(now, work);
                    Instant::FAR_FUTURE
                }
            };
        }
    }

    /// The next frame for protocol work of a processor: from its queue, or from the card
    /// if that is polled. With nothing left the card interrupts again.
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

    /// A frame leaves the card.
    fn take_frame(&mut self, frame: Frame) {
        if self.card.has_rings() {
            self.take_up(frame);
        } else {
            self.queue_frame(frame);
        }
    }

    /// A frame waits for the processor, if there is room in the queue and in the pool.
    fn queue_frame(&mut self, mut frame: Frame) {
        let limit = self.scheduling.input_queue;
        let inbox = &mut self.processors[frame.held.queue as usize].inbox;
        let cause = if limit.is_some_and(|limit| inbox.len() >= limit as usize) {
            DropCause::InputQueue
        } else if self.card.take_clusters(&mut frame) {
            inbox.push_back(frame);
            return;
        } else {
            DropCause::Clusters
        };
        self.card.release(frame.held);
        self.drop_frame(&frame, cause);
    }

    /// A frame does not reach the stack. A socket that waited for it has nothing more to
    /// wait for.
    fn drop_frame(&mut self, frame: &Frame, cause: DropCause) {
        self.drops.add(cause, tally(&frame.packet));
        self.lost.extend(overrun(&frame.packet));
        if self.is_shared && frame.socket < FIRST {
            self.several.acted.push(frame.socket);
        }
    }

    /// Counts what the host dropped of a socket.
    #[cold]
    pub(super) fn count_drop(&mut self, socket: u32, cause: DropCause, packet: &Packet) {
        let drops = match self.sink_mut(socket) {
            Some(sink) => &mut sink.drops,
            None => &mut self.sockets[socket as usize].drops,
        };
        drops.add(cause, tally(packet));
        self.drops.add(cause, tally(packet));
    }

    /// What it dropped, by cause.
    #[must_use]
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// Interrupts of its network card.
    #[must_use]
    pub fn interrupts(&self) -> u64 {
        let queues = self.card.queues.iter();
        queues.map(|queue| queue.interrupts).sum()
    }

    /// The driver takes a frame up, if there is a buffer to put in its place.
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

    /// The host is short of buffers, and connections give back what they may:
    /// the frame that found none is lost, the next will find one.
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

    /// The stack takes a frame; what it keeps pins the frame's buffer.
    pub(super) fn handle_frame(&mut self, now: Instant, frame: Frame) {
        let Content::Segment(segment) = frame.packet.content else {
            return;
        };
        let number = frame.socket as usize;
        let before = self.received_and_held(number);
        let end = segment.payload.offset + segment.payload.len() as u64;
        let at = frame.at;
        self.handle_segment(now, number, Received { at, segment });
        let after = self.received_and_held(number);
        if after > before && self.card.counts() {
            let key = (frame.socket, end);
            self.card.pinned.entry(key).or_default().push(frame.held);
        } else {
            self.card.release(frame.held);
        }
    }

    /// The stack takes a datagram, which waits in its buffer for the application, or drops
    /// what is damaged.
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
