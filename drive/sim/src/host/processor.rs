//! The processors of a host: whose turn it is, and the cost of work.
//!
//! Interrupts come first, and hold up what the processor is doing; what the engine was
//! made to send before is not held up. Then comes protocol work on what has arrived, up
//! to a budget if there is one. Then come the applications, a call of one and then a call
//! of the next, reading before writing. Where applications have a processor of their own, both go on at once, and
//! what the engine sends costs the processor on which it was made to send.

use gigatcp_path::{Cpu, Parcel, Work, WorkKind};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Payload, Phantom, Segment};

use super::Host;
use super::card::Frame;
use super::listening::ACCEPTING;
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
    /// Copying of a datagram out of the receive buffer of a socket.
    ReadDatagram(u32),
    /// Accepting a connection.
    Accept,
}

impl Second {
    /// What it does, and until when.
    pub(super) const fn task(&self) -> Option<&(Instant, Task)> {
        self.task.as_ref()
    }
}

impl Task {
    /// The socket that it is for.
    pub(super) fn socket(&self) -> u32 {
        match self {
            Self::Receive(frame) => frame.socket,
            Self::Write(socket, _) | Self::Read(socket, _) | Self::ReadDatagram(socket) => *socket,
            Self::Accept => ACCEPTING,
        }
    }
}

/// The processor of the applications, if they have one of their own.
#[derive(Debug)]
pub(super) struct Second {
    cpu: Cpu,
    task: Option<(Instant, Task)>,
}

/// How the time of the processors of a host was spent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuShares {
    /// Interrupts and protocol work on what arrived, with what that made the engine send.
    pub interrupt: Duration,
    /// Calls of applications: copies, and what they made the engine send.
    pub system: Duration,
    /// Applications themselves.
    pub user: Duration,
    /// Neither, of all processors together.
    pub idle: Duration,
}

impl Second {
    pub(super) fn new() -> Self {
        Self {
            cpu: Cpu::new(),
            task: None,
        }
    }
}

impl Host {
    /// Number of processors.
    #[must_use]
    pub fn processors(&self) -> u64 {
        1 + u64::from(self.second.is_some())
    }

    /// Processor time used so far, by all processors.
    #[must_use]
    pub fn cpu_busy(&self, now: Instant) -> Duration {
        let second = self.second.as_ref();
        self.cpu.busy_time(now) + second.map_or(Duration::ZERO, |two| two.cpu.busy_time(now))
    }

    /// Processor time used so far, with what others took of it; of the busier one.
    #[must_use]
    pub fn cpu_occupied(&self, now: Instant) -> Duration {
        let second = self.second.as_ref();
        let other = second.map_or(Duration::ZERO, |two| two.cpu.occupied_time(now));
        self.cpu.occupied_time(now).max(other)
    }

    /// How the processors spent their time. Work that was accepted and is not done yet
    /// counts; time that others had counts as idle.
    #[must_use]
    pub fn cpu_shares(&self, now: Instant) -> CpuShares {
        let total = now.saturating_since(Instant::ZERO);
        let mut shares = CpuShares::default();
        let second = self.second.as_ref().map(|two| &two.cpu);
        for cpu in [Some(&self.cpu), second].into_iter().flatten() {
            shares.interrupt += cpu.accepted().total();
            shares.idle += total.saturating_sub(cpu.busy_time(now));
        }
        let calls = self.spent_in_calls.total();
        shares.user = self.spent_in_calls.of(WorkKind::User);
        shares.system = calls.saturating_sub(shares.user);
        shares.interrupt = shares.interrupt.saturating_sub(calls);
        shares
    }

    /// Whether a copy for a write of a socket is in progress.
    pub(super) fn is_copying(&self, socket: u32) -> bool {
        let is_write = |task: &Option<(Instant, Task)>| matches!(task, Some((_, Task::Write(one, _))) if *one == socket);
        is_write(&self.task) || self.second.as_ref().is_some_and(|two| is_write(&two.task))
    }

    /// Whether a processor is at work for a socket.
    pub(super) fn has_task_of(&self, socket: u32) -> bool {
        let second = self.second.as_ref().and_then(|two| two.task.as_ref());
        let mut tasks = self.task.iter().chain(second);
        tasks.any(|(_, task)| task.socket() == socket)
    }

    /// When the processor of the applications has done all that it has begun.
    pub(super) fn copier_busy_until(&self) -> Instant {
        let second = self.second.as_ref();
        second.map_or(self.cpu.busy_until(), |two| two.cpu.busy_until())
    }

    /// Does work on the processor that makes the engine send; returns when it is done.
    pub(super) fn spend(&mut self, now: Instant, work: Work) -> Instant {
        if self.in_call {
            self.spend_in_call(now, work)
        } else {
            self.cpu.start(now, work)
        }
    }

    /// From now on a call of an application makes the engine send, or no longer.
    pub(super) fn set_in_call(&mut self, is_in_call: bool) {
        self.in_call = is_in_call;
    }

    /// Does work on the processor of the applications; returns when it is done.
    fn spend_in_call(&mut self, now: Instant, work: Work) -> Instant {
        self.spent_in_calls = self.spent_in_calls + work;
        match &mut self.second {
            Some(two) => two.cpu.start(now, work),
            None => self.cpu.start(now, work),
        }
    }

    /// Does work of an interrupt, which holds up the task at hand; returns when it is
    /// done.
    pub(super) fn interrupt(&mut self, now: Instant, work: Work) -> Instant {
        let before = self.cpu.busy_until().max(now);
        let span = self.cpu.start(now, work).saturating_since(before);
        if let Some((finish, _)) = &mut self.task {
            *finish += span;
        }
        self.away_until.max(now) + span
    }

    /// When network card or processor have something to do.
    pub(super) fn processor_timeout(&self) -> Instant {
        let mut next = self.card.interrupt_at();
        if let Some(steal) = &self.steal {
            next = next.min(steal.next());
        }
        if let Some((finish, _)) = &self.task {
            next = next.min(*finish);
        } else if !self.inbox.is_empty()
            || self.card.has_frames_to_poll()
            || (self.second.is_none() && self.has_ready_application())
        {
            next = next.min(self.cpu.busy_until());
        }
        if let Some(two) = &self.second {
            next = next.min(match &two.task {
                Some((finish, _)) => *finish,
                None if self.has_ready_application() => two.cpu.busy_until(),
                None => Instant::FAR_FUTURE,
            });
        }
        if let Some((at, _)) = self.departures.front() {
            next = next.min(*at);
        }
        next
    }

    /// Whether an application has something to copy and the room for it.
    fn has_ready_application(&self) -> bool {
        if self.is_shared {
            return !self.several.ready.is_empty() || self.unread_datagrams > 0;
        }
        let at = self.copier_busy_until();
        !self.sockets.is_empty() && (self.next_write(0, at) > 0 || self.next_read(0, at) > 0)
    }

    /// Others take the processor when their time has come. Its task is finished first.
    pub(super) fn lose_processor(&mut self, now: Instant) {
        if let Some(steal) = &mut self.steal
            && steal.next() <= now
        {
            self.away_until = self.cpu.take_away(now, steal.take());
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
                    break;
                }
                if let Some((_, task)) = self.task.take() {
                    self.finish(now, task, out);
                }
            }
            if self.cpu.busy_until() > now || !self.begin(now) {
                break;
            }
        }
        if self.second.is_some() {
            self.work_for_applications(now, out);
        }
        self.wake_starved(now);
    }

    /// The same for the processor of the applications.
    #[inline(never)]
    fn work_for_applications(&mut self, now: Instant, out: &mut Vec<Packet>) {
        while let Some(two) = &mut self.second {
            if two.task.as_ref().is_some_and(|(finish, _)| *finish > now) {
                return;
            }
            if let Some((_, task)) = two.task.take() {
                self.finish(now, task, out);
            }
            if self.copier_busy_until() > now {
                return;
            }
            let Some((task, len)) = self.next_copy(now) else {
                return;
            };
            let finish = self.begin_call(now, &task, len);
            if let Some(two) = &mut self.second {
                two.task = Some((finish, task));
            }
        }
    }

    /// Begins the next task, protocol work first; returns whether there was one.
    fn begin(&mut self, now: Instant) -> bool {
        let is_spent = self
            .scheduling
            .receive_budget
            .is_some_and(|most| self.in_a_row >= most);
        if (!is_spent || self.second.is_some())
            && let Some(frame) = self.next_frame()
        {
            self.receive(now, frame);
            return true;
        }
        self.in_a_row = 0;
        let copy = match self.second {
            Some(_) => None,
            None => self.next_copy(now),
        };
        if let Some((task, len)) = copy {
            let finish = self.begin_call(now, &task, len);
            self.task = Some((finish, task));
            return true;
        }
        let Some(frame) = self.next_frame() else {
            return false;
        };
        self.receive(now, frame);
        true
    }

    /// Begins a call of an application; returns when it is done.
    fn begin_call(&mut self, now: Instant, task: &Task, len: u64) -> Instant {
        let work = match task {
            Task::Accept => self.costs.accepted(),
            _ => self.costs.called(Bytes::new(len)),
        };
        if let Task::Write(..) = task {
            self.card.reserve_clusters(len);
        }
        self.spend_in_call(now, work)
    }

    /// Begins protocol work on a frame.
    fn receive(&mut self, now: Instant, frame: Frame) {
        self.in_a_row += 1;
        let mut work = self.receive_work(&frame) + self.costs.dma(frame.packet.ip_bytes());
        if self.scheduling.polls {
            let dropped = std::mem::take(&mut self.drop_work);
            work = work + self.costs.taken(frame.packet.wire_packets()) + dropped;
        }
        let finish = self.cpu.start(now, work);
        self.task = Some((finish, Task::Receive(frame)));
    }

    /// The next call of an application, and its octets.
    fn next_copy(&mut self, now: Instant) -> Option<(Task, u64)> {
        if !self.is_shared {
            return (!self.sockets.is_empty()).then(|| self.copy_of(0, now))?;
        }
        // Datagrams and connections take turns.
        self.reads_datagram = !self.reads_datagram || self.several.ready.is_empty();
        if self.reads_datagram
            && let Some((socket, len)) = self.next_datagram()
        {
            return Some((Task::ReadDatagram(socket), len));
        }
        while let Some(socket) = self.several.ready.pop_front() {
            if socket == ACCEPTING {
                if self.may_accept() {
                    self.several.ready.push_back(ACCEPTING);
                    return Some((Task::Accept, 0));
                }
                continue;
            }
            if let Some(copy) = self.copy_of(socket as usize, now) {
                self.several.ready.push_back(socket);
                return Some(copy);
            }
            self.sockets[socket as usize].is_ready = false;
        }
        let (socket, len) = self.next_datagram()?;
        Some((Task::ReadDatagram(socket), len))
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
            Task::ReadDatagram(socket) => return self.finish_datagram(socket),
            Task::Accept => {
                self.in_call = true;
                self.accept(now, out);
                self.in_call = false;
                return;
            }
            Task::Receive(frame) if frame.packet.segment().is_none() => {
                return self.take_other_frame(frame);
            }
            Task::Receive(frame) => self.handle_frame(now, frame),
            Task::Write(_, len) => {
                self.in_call = true;
                self.finish_write(now, socket, len);
            }
            Task::Read(_, len) => {
                self.in_call = true;
                self.finish_read(now, socket, len);
            }
        }
        self.act(now, socket, out);
        self.in_call = false;
    }

    /// Protocol work on what arrived.
    fn receive_work(&self, frame: &Frame) -> Work {
        let Some(segment) = frame.packet.sent_segment() else {
            let summed = self.costs.checksummed(frame.packet.ip_bytes());
            return self.costs.data_received(1) + summed;
        };
        let connection = self.sockets[frame.socket as usize].connection();
        if segment.payload.is_empty() {
            return self.costs.ack_received() + self.search_work(segment, connection);
        }
        let packets = segment.wire_segments();
        let queued = connection.map_or(0, Connection::receive_queue);
        self.costs.data_received(packets)
            + self.costs.checksummed(segment.payload.len() as u64)
            + self.costs.queue_walked(Bytes::new(queued), packets)
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
