//! From the engine to the wire: the CPU prepares a segment, the network card queues it.
//!
//! A full card holds the host back.

use gigatcp_path::{DropCause, Parcel, Routed, Work};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Flags, Payload, Phantom, Segment};

use super::{Host, LostSegment, Socket};
use crate::ledger::cause_of;
use crate::packet::{Content, Packet};

impl Host {
    /// Sends segments of a socket's engine until the network card is full. Returns whether anything
    /// was sent.
    pub(super) fn pump(&mut self, now: Instant, socket: usize, out: &mut Vec<Packet>) -> bool {
        if !self.is_shared {
            self.resume_at = Instant::FAR_FUTURE;
        } else if self.resume_at != Instant::FAR_FUTURE {
            self.wait_for_card(socket);
            return false;
        }
        let mut has_sent = false;
        loop {
            if self.link.is_some() && self.is_card_full(now) {
                self.hold_back(now, socket);
                return has_sent;
            }
            let Some(connection) = &mut self.sockets[socket].connection else {
                return has_sent;
            };
            let Some(segment) = connection.poll_transmit(now) else {
                return has_sent;
            };
            self.send(now, socket, segment, out);
            has_sent = true;
        }
    }

    /// Lets sockets that wait for the card send in turn, once it has space again.
    pub(super) fn resume(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.resume_at = Instant::FAR_FUTURE;
        while self.resume_at == Instant::FAR_FUTURE
            && let Some(socket) = self.shared.held_back.pop_front()
        {
            self.sockets[socket as usize].is_held_back = false;
            self.act(now, socket as usize, out);
        }
    }

    /// Queues a socket for its turn on the card, on a host with several sockets.
    fn wait_for_card(&mut self, socket: usize) {
        let one = &mut self.sockets[socket];
        if self.is_shared && !one.is_held_back {
            one.is_held_back = true;
            self.shared.held_back.push_back(socket as u32);
        }
    }

    /// Whether the card's queue is full, including packets the CPU is preparing.
    pub(super) fn is_card_full(&mut self, now: Instant) -> bool {
        let preparing = self.departures.len() as u64;
        match &mut self.link {
            Some(link) => link.backlog(now).packets + preparing >= self.tx_queue,
            None => false,
        }
    }

    /// Holds back a socket until half of the full card's queue has left.
    fn hold_back(&mut self, now: Instant, socket: usize) {
        let wait = self
            .link
            .as_ref()
            .map_or(Duration::ZERO, |l| l.wait(now) / 2);
        let preparing = self.departures.back().map_or(now, |(at, _)| *at);
        self.resume_at = (now + wait)
            .max(preparing)
            .max(now + Duration::from_nanos(1));
        if let Some(connection) = &mut self.sockets[socket].connection
            && connection.unsent() > 0
        {
            connection.note_path_limit(now);
        }
        self.wait_for_card(socket);
    }

    #[inline(always)]
    pub(super) fn send(
        &mut self,
        now: Instant,
        socket: usize,
        segment: Segment<Phantom>,
        out: &mut Vec<Packet>,
    ) {
        if self.ideal && self.link.is_none() {
            let packet = self.numbered(socket, segment);
            out.push(packet);
        } else {
            self.send_at_cost(now, socket, segment, out);
        }
    }

    /// Packet of a segment, with the next IP identifications of the connection. They advance for
    /// every wire packet sent, whatever becomes of it.
    #[inline(always)]
    fn numbered(&mut self, number: usize, mut segment: Segment<Phantom>) -> Packet {
        let next = &mut self.sockets[number].ident;
        segment.ident = *next;
        *next = next.wrapping_add(segment.wire_segments() as u16);
        self.packet(number, segment)
    }

    #[inline(always)]
    pub(super) fn packet(&self, socket: usize, segment: Segment<Phantom>) -> Packet {
        let socket = &self.sockets[socket];
        Packet {
            ip: socket.ip,
            flow: socket.flow,
            route: socket.route,
            stage: 0,
            content: Content::Segment(segment),
        }
    }

    /// Sends a segment on a host whose CPU or network card takes time.
    #[inline(never)]
    fn send_at_cost(
        &mut self,
        now: Instant,
        socket: usize,
        segment: Segment<Phantom>,
        out: &mut Vec<Packet>,
    ) {
        let mut work = match self.ideal {
            true => Work::NONE,
            false => self.send_work(socket, &segment),
        };
        let packet = self.numbered(socket, segment);
        work = work + self.costs.dma(packet.ip_bytes());
        let home = self.sockets[socket].home;
        self.send_packet(now, packet, (home, work), out);
    }

    /// Sends a packet after the CPU, `home` or the call's, has done its work.
    pub(super) fn send_packet(
        &mut self,
        now: Instant,
        packet: Packet,
        (home, work): (u16, Work),
        out: &mut Vec<Packet>,
    ) {
        let ready = if self.ideal {
            now
        } else {
            self.spend(now, home, work)
        };
        if ready <= now && self.departures.is_empty() {
            self.put_on_link(now, packet, out);
        } else {
            // With several CPUs a packet may be ready before one that was begun earlier.
            let place = self.departures.partition_point(|(at, _)| *at <= ready);
            self.departures.insert(place, (ready, packet));
        }
    }

    fn send_work(&self, socket: usize, segment: &Segment<Phantom>) -> Work {
        let bare = segment.payload.is_empty() && !segment.flags.contains(Flags::SYN);
        if bare {
            self.costs.ack_sent()
        } else {
            let packets = segment.wire_segments();
            let connection = self.sockets[socket].connection();
            let queued = connection.map_or(0, Connection::send_queue);
            self.costs.data_sent(packets)
                + self.costs.checksummed(segment.payload.len() as u64)
                + self.costs.queue_walked(Bytes::new(queued), packets)
        }
    }

    /// Releases segments that the CPU has finished and packets that the card has sent.
    pub(super) fn release(&mut self, now: Instant, out: &mut Vec<Packet>) {
        while let Some((at, _)) = self.departures.front() {
            if *at > now {
                break;
            }
            if let Some((_, packet)) = self.departures.pop_front() {
                self.put_on_link(now, packet, out);
            }
        }
        if let Some(link) = &mut self.link {
            while let Some(packet) = link.poll_delivery(now) {
                out.push(packet);
            }
        }
    }

    /// Removes packets that the host's own link dropped. If the link reports its MTU, the host is
    /// notified of a packet that was too big immediately.
    fn clear_link(&mut self, now: Instant) {
        while let Some(link) = &mut self.link
            && let Some((packet, cause)) = link.poll_dropped()
        {
            let mtu = link.reported_mtu();
            if let Some(cause) = cause_of(cause, mtu.is_some()) {
                self.lost.extend(LostSegment::of(&packet, cause));
            }
            if let (DropCause::TooBig, Some(mtu)) = (cause, mtu)
                && let Some(answer) = packet.too_big(mtu, packet.route(), 0)
            {
                self.take_answer(now, answer);
            }
        }
    }

    /// Notifies an engine, before its next packet, of one too large for the host's link. A router's
    /// answer would have no route to the host.
    #[cold]
    fn take_answer(&mut self, now: Instant, answer: Packet) {
        let is_of = |socket: &Socket| socket.flow == answer.flow && socket.route == answer.route;
        let number = self.sockets.iter().position(is_of);
        if let Content::Icmp { error, .. } = answer.content
            && let Some(number) = number
            && let Some(connection) = &mut self.sockets[number].connection
        {
            connection.handle_icmp(now, error);
            self.resume_at = now + Duration::from_nanos(1);
            self.wait_for_card(number);
        }
    }

    #[inline]
    fn put_on_link(&mut self, now: Instant, packet: Packet, out: &mut Vec<Packet>) {
        if self.link.is_some() {
            self.enter_link(now, packet);
        } else {
            out.push(packet);
        }
    }

    #[inline(never)]
    fn enter_link(&mut self, now: Instant, packet: Packet) {
        if let Some(link) = &mut self.link {
            link.handle_arrival(now, packet);
            self.clear_link(now);
        }
    }
}
