//! The processor of a host: whose turn it is, and the cost of work.
//!
//! Protocol work on what has arrived comes first. Then come the applications, a call of
//! one and then a call of the next, reading before writing.

use gigatcp_path::Work;
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Instant};
use gigatcp_wire::{Payload, Phantom, Segment};

use super::Host;
use super::card::Frame;
use crate::packet::Packet;

/// Work of the processor.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Protocol work on what arrived.
    Receive(Frame),
    /// Copying for a write of a socket, of this many octets.
    Write(u32, u64),
    /// Copying for a read of a socket, of this many octets.
    Read(u32, u64),
}

impl Task {
    /// The socket that it is for.
    pub(super) fn socket(&self) -> u32 {
        match self {
            Self::Receive(frame) => frame.socket,
            Self::Write(socket, _) | Self::Read(socket, _) => *socket,
        }
    }
}

impl Host {
    /// When network card or processor have something to do.
    pub(super) fn processor_timeout(&self) -> Instant {
        let mut next = self.card.interrupt_at();
        if let Some(steal) = &self.steal {
            next = next.min(steal.next());
        }
        if let Some((finish, _)) = &self.task {
            next = next.min(*finish);
        } else if !self.inbox.is_empty() || self.has_ready_application() {
            next = next.min(self.cpu.busy_until());
        }
        if let Some((at, _)) = self.departures.front() {
            next = next.min(*at);
        }
        next
    }

    /// Whether an application has something to copy and the room for it.
    fn has_ready_application(&self) -> bool {
        if self.is_shared {
            return !self.several.ready.is_empty();
        }
        let at = self.cpu.busy_until();
        !self.sockets.is_empty() && (self.next_write(0, at) > 0 || self.next_read(0, at) > 0)
    }

    /// Others take the processor when their time has come. Its task is finished first.
    pub(super) fn lose_processor(&mut self, now: Instant) {
        if let Some(steal) = &mut self.steal
            && steal.next() <= now
        {
            self.cpu.take_away(now, steal.take());
        }
    }

    /// Lets the processor finish and begin tasks as far as `now` allows.
    pub(super) fn work(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.ideal {
            return;
        }
        loop {
            if let Some((finish, _)) = &self.task {
                if *finish > now {
                    return;
                }
                if let Some((_, task)) = self.task.take() {
                    self.finish(now, task, out);
                }
            }
            if self.cpu.busy_until() > now || !self.begin(now) {
                return;
            }
        }
    }

    /// Begins the next task, protocol work first; returns whether there was one.
    fn begin(&mut self, now: Instant) -> bool {
        if let Some(frame) = self.inbox.pop_front() {
            let work = self.receive_work(&frame);
            let finish = self.cpu.start(now, work);
            self.task = Some((finish, Task::Receive(frame)));
            return true;
        }
        let Some((task, len)) = self.next_copy(now) else {
            return false;
        };
        let finish = self.cpu.start(now, self.costs.copied(Bytes::new(len)));
        self.task = Some((finish, task));
        true
    }

    /// The next call of an application, and its octets.
    fn next_copy(&mut self, now: Instant) -> Option<(Task, u64)> {
        if !self.is_shared {
            return (!self.sockets.is_empty()).then(|| self.copy_of(0, now))?;
        }
        while let Some(socket) = self.several.ready.pop_front() {
            if let Some(copy) = self.copy_of(socket as usize, now) {
                self.several.ready.push_back(socket);
                return Some(copy);
            }
            self.sockets[socket as usize].is_ready = false;
        }
        None
    }

    /// What the application of a socket would copy.
    fn copy_of(&self, socket: usize, now: Instant) -> Option<(Task, u64)> {
        let number = socket as u32;
        let (len, task) = match self.next_read(socket, now) {
            0 => {
                let len = self.next_write(socket, now);
                (len, Task::Write(number, len))
            }
            len => (len, Task::Read(number, len)),
        };
        (len > 0).then_some((task, len))
    }

    fn finish(&mut self, now: Instant, task: Task, out: &mut Vec<Packet>) {
        let socket = task.socket() as usize;
        match task {
            Task::Receive(frame) => self.handle_frame(now, frame),
            Task::Write(_, len) => self.finish_write(now, socket, len),
            Task::Read(_, len) => self.finish_read(now, socket, len),
        }
        self.act(now, socket, out);
    }

    /// Protocol work on what arrived.
    fn receive_work(&self, frame: &Frame) -> Work {
        let Some(segment) = frame.packet.segment() else {
            return Work::NONE;
        };
        let connection = self.sockets[frame.socket as usize].connection();
        if segment.payload.is_empty() {
            return self.costs.ack_received() + self.search_work(segment, connection);
        }
        let packets = segment.wire_segments();
        let queued = connection.map_or(0, Connection::receive_queue);
        self.costs.data_received(packets) + self.costs.queue_walked(Bytes::new(queued), packets)
    }

    /// A stack that searches its list of unacknowledged segments for every ACK with SACK
    /// blocks pays for each entry it passes.
    fn search_work(
        &self,
        segment: &Segment<Phantom>,
        connection: Option<&Connection<Phantom>>,
    ) -> Work {
        match connection {
            Some(connection) if !segment.options.sack.is_empty() => {
                self.costs.walked(connection.segments_in_flight())
            }
            _ => Work::NONE,
        }
    }
}
