//! Datagram sockets: a source that sends at its rate, a sink with a receive buffer.
//!
//! On a host with a CPU every datagram costs what a packet costs, and its copy what a copy costs. A
//! source sends only while the CPU is free, so a busy host delays it. A datagram that arrives waits
//! in the receive buffer of its socket until the application copies it out. One that finds the
//! buffer full is dropped, after its protocol work has cost CPU time: so interrupts starve a
//! reader.
//!
//! A source that finds the network card's queue full waits until half of it has left.

use std::collections::VecDeque;

use gigatcp_app::datagrams::{Datagram, Sink, Source};
use gigatcp_path::{Drops, Parcel};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Endpoints;

use super::Host;
use super::held::Held;
use crate::address::datagram_hash;
use crate::packet::{Content, Ip, Packet};

/// Number of the first datagram socket of a host.
pub(super) const FIRST: u32 = 1 << 31;

/// A source of datagrams on a host.
#[derive(Debug)]
pub struct DatagramSource {
    source: Source,
    flow: u32,
    route: u16,
    ip: Ip,
    /// CPU of its calls.
    caller: u16,
    /// Start time; far future once it has begun.
    starts_at: Instant,
    /// Time until which the CPU or the network card delays it.
    held_until: Instant,
}

/// A sink of datagrams on a host.
#[derive(Debug)]
pub struct DatagramSink {
    sink: Sink,
    /// CPU of its receive queue.
    pub(super) home: u16,
    /// CPU of its application's calls.
    caller: u16,
    /// Bytes of payload that may wait to be read.
    buffer: u64,
    waiting: VecDeque<Waiting>,
    waiting_octets: u64,
    /// Datagrams dropped because the buffer was full or the checksum wrong.
    pub(super) drops: Drops,
}

/// A datagram in a receive buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Time at which it reached the card.
    pub(super) at: Instant,
    pub(super) sent_at: Instant,
    pub(super) datagram: Datagram,
    /// Buffers it occupies.
    pub(super) held: Held,
}

impl DatagramSink {
    /// Sink with its counters.
    pub fn sink(&self) -> &Sink {
        &self.sink
    }

    /// Numbers of the datagrams that wait to be read.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u64> {
        self.waiting.iter().map(|waiting| waiting.datagram.seq)
    }

    /// Datagrams dropped because the buffer was full or the checksum wrong.
    pub const fn drops(&self) -> &Drops {
        &self.drops
    }
}

impl DatagramSource {
    /// Source.
    pub fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) const fn flow(&self) -> u32 {
        self.flow
    }

    fn next_timer(&self) -> Instant {
        let next = self
            .starts_at
            .min(self.source.poll_timeout().unwrap_or(Instant::FAR_FUTURE));
        next.max(self.held_until)
    }
}

impl Host {
    /// Adds a source of datagrams that begins at `starts_at`; returns its number.
    pub fn add_source(
        &mut self,
        source: Source,
        (flow, route): (u32, u16),
        ip: Ip,
        starts_at: Instant,
    ) -> u32 {
        let number = self.sources.len() as u32;
        let turn = (number % u32::from(self.scheduling.processors)) as u16;
        self.sources.push(DatagramSource {
            source,
            flow,
            route,
            ip,
            caller: self.scheduling.caller(number, turn),
            starts_at,
            held_until: Instant::ZERO,
        });
        self.sources_at = self.sources_at.min(starts_at);
        number
    }

    /// Adds a sink with a receive buffer for datagrams between these addresses. Returns its
    /// socket's number.
    pub fn add_sink(&mut self, arriving: Endpoints, buffer: Bytes) -> u32 {
        let number = self.sinks.len() as u32;
        let (home, caller) = self.processors_of(number, || datagram_hash(arriving));
        self.sinks.push(DatagramSink {
            sink: Sink::new(),
            home,
            caller,
            buffer: buffer.as_u64(),
            waiting: VecDeque::new(),
            waiting_octets: 0,
            drops: Drops::default(),
        });
        FIRST + number
    }

    /// Source with this number.
    pub fn source(&self, number: u32) -> &DatagramSource {
        &self.sources[number as usize]
    }

    /// Sink with this socket number.
    pub fn sink(&self, socket: u32) -> &DatagramSink {
        &self.sinks[(socket - FIRST) as usize]
    }

    /// Sink with this socket number; `None` if the socket is not a sink.
    pub(super) fn sink_mut(&mut self, socket: u32) -> Option<&mut DatagramSink> {
        let number = socket.checked_sub(FIRST)?;
        self.sinks.get_mut(number as usize)
    }

    /// Makes sources send the datagrams that are due.
    #[inline(never)]
    pub(super) fn send_datagrams(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let mut next = Instant::FAR_FUTURE;
        for number in 0..self.sources.len() {
            self.send_from(now, number, out);
            next = next.min(self.sources[number].next_timer());
        }
        self.sources_at = next;
    }

    fn send_from(&mut self, now: Instant, number: usize, out: &mut Vec<Packet>) {
        let one = &mut self.sources[number];
        if one.starts_at <= now {
            one.starts_at = Instant::FAR_FUTURE;
            one.source.start(now);
        }
        while self.sources[number].next_timer() <= now {
            if let Some(until) = self.held_until(now, number) {
                self.sources[number].held_until = until;
                return;
            }
            let one = &mut self.sources[number];
            let Some(datagram) = one.source.poll_send(now) else {
                return;
            };
            let packet = Packet {
                ip: one.ip,
                flow: one.flow,
                route: one.route,
                stage: 0,
                content: Content::Datagram {
                    datagram,
                    sent_at: now,
                },
            };
            let called = self.costs.called(Bytes::new(u64::from(datagram.size)));
            let summed = self.costs.checksummed(u64::from(datagram.size));
            let dma = self.costs.dma(packet.ip_bytes());
            let work = self.costs.data_sent(1) + summed + called + dma;
            let caller = one.caller;
            self.in_call = Some(caller);
            self.send_packet(now, packet, (caller, work), out);
            self.in_call = None;
        }
    }

    /// When the CPU of a source is free and the card has space. `None`: both now.
    fn held_until(&mut self, now: Instant, number: usize) -> Option<Instant> {
        let soon = now + Duration::from_nanos(1);
        let free_at = self.busy_until(self.sources[number].caller);
        if !self.ideal && free_at > now {
            return Some(free_at);
        }
        if self.is_card_full(now) {
            let wait = self.link.as_ref().map(|link| link.wait(now) / 2);
            return Some((now + wait.unwrap_or_default()).max(soon));
        }
        None
    }

    /// Delivers a datagram on an ideal host, whose application reads it immediately.
    #[cold]
    pub(super) fn take_datagram(
        &mut self,
        now: Instant,
        socket: u32,
        datagram: Datagram,
        sent_at: Instant,
    ) {
        let sink = &mut self.sinks[(socket - FIRST) as usize].sink;
        sink.handle_datagram(now, sent_at, datagram);
    }

    /// Puts a datagram into its receive buffer; returns false if that is full.
    pub(super) fn queue_datagram(&mut self, socket: u32, waiting: Waiting) -> bool {
        let sink = &mut self.sinks[(socket - FIRST) as usize];
        let octets = u64::from(waiting.datagram.size);
        if sink.waiting_octets + octets > sink.buffer {
            return false;
        }
        sink.waiting_octets += octets;
        sink.waiting.push_back(waiting);
        self.processors[sink.caller as usize].unread_datagrams += 1;
        true
    }

    /// Next datagram that a CPU reads, as its socket and bytes. Sinks take turns.
    pub(super) fn next_datagram(&mut self, caller: usize) -> Option<(u32, u64)> {
        let processor = &mut self.processors[caller];
        if processor.unread_datagrams == 0 {
            return None;
        }
        let count = self.sinks.len();
        for step in 1..=count {
            let number = (processor.last_sink + step) % count;
            let sink = &self.sinks[number];
            if sink.caller as usize == caller
                && let Some(first) = sink.waiting.front()
            {
                processor.last_sink = number;
                return Some((FIRST + number as u32, u64::from(first.datagram.size)));
            }
        }
        None
    }

    /// Completes the copy of a datagram out of the receive buffer.
    pub(super) fn finish_datagram(&mut self, socket: u32) {
        let sink = &mut self.sinks[(socket - FIRST) as usize];
        if let Some(read) = sink.waiting.pop_front() {
            sink.waiting_octets -= u64::from(read.datagram.size);
            self.processors[sink.caller as usize].unread_datagrams -= 1;
            // Stamped on arrival, as testers and kernels do.
            sink.sink
                .handle_datagram(read.at, read.sent_at, read.datagram);
            self.card.release(read.held);
        }
    }
}
