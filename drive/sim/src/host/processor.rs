//! CPUs of a host: scheduling and cost of work.
//!
//! Interrupts come first and delay the task in progress, but not segments that the engine has
//! already sent. Next comes protocol work on received packets, up to a budget if there is one. Then
//! come the applications, one call of each in turn, reading before writing. Several CPUs
//! ([`Scheduling`](crate::Scheduling)) work in parallel. Segments that an application call makes
//! the engine send are charged to the CPU of the call. All other segments of a connection are
//! charged to the CPU of its receive queue.

use std::collections::VecDeque;

use gigatcp_path::{Cpu, Parcel, Steal, Work, WorkKind, rss_queue};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Payload, Phantom, Segment};

use super::Host;
use super::card::Frame;
use super::listening::ACCEPTING;
use crate::config::{HostConfig, Scheduling};
use crate::packet::Packet;

/// Task of a CPU.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Protocol work on a received frame.
    Receive(Frame),
    /// Copying for a write of a socket, of this many bytes.
    Write(u32, u64),
    /// Copying for a read of a socket, of this many bytes.
    Read(u32, u64),
    /// Copying of a datagram out of the receive buffer of a socket.
    ReadDatagram(u32),
    /// Accepting a connection.
    Accept,
}

impl Task {
    /// Socket the task is for.
    pub(super) fn socket(&self) -> u32 {
        match self {
            Self::Receive(frame) => frame.socket,
            Self::Write(socket, _) | Self::Read(socket, _) | Self::ReadDatagram(socket) => *socket,
            Self::Accept => ACCEPTING,
        }
    }
}

/// A CPU of a host.
#[derive(Default, Debug)]
pub(super) struct Processor {
    cpu: Cpu,
    /// Current task and its end.
    task: Option<(Instant, Task)>,
    /// Frames of its receive queue that wait for protocol work.
    pub(super) inbox: VecDeque<Frame>,
    /// Frames handled since an application last had a turn.
    frames_since_call: u32,
    /// Work for packets without a buffer that is not yet done.
    pub(super) drop_work: Work,
    /// End of CPU steal, or of the handler's work after its last frame.
    pub(super) unavailable_until: Instant,
    /// Times of CPU steal.
    steal: Option<Steal>,
    /// Work in calls of applications.
    in_calls: Work,
    /// Sockets whose application has work here, in turn. Only on a host with several sockets.
    pub(super) ready: VecDeque<u32>,
    /// Datagrams in the receive buffers of the sinks that are read here.
    pub(super) unread_datagrams: u64,
    /// Sink that was read last.
    pub(super) last_sink: usize,
    /// Whether the last call read a datagram: connections and datagrams take turns.
    reads_datagram: bool,
}

/// CPU time by use.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuShares {
    /// Interrupts, protocol work on received packets, and the segments sent in response.
    pub interrupt: Duration,
    /// Application calls: copies, and the segments they make the engine send.
    pub system: Duration,
    /// Applications themselves.
    pub user: Duration,
    /// None of these.
    pub idle: Duration,
}

impl CpuShares {
    /// Sums of the times.
    fn plus(self, other: Self) -> Self {
        Self {
            interrupt: self.interrupt + other.interrupt,
            system: self.system + other.system,
            user: self.user + other.user,
            idle: self.idle + other.idle,
        }
    }
}

impl Processor {
    /// CPUs of a host. Steal affects those of its receive queues, each at its own times.
    pub(super) fn of_host(config: &HostConfig, name: &str, seed: u64) -> Vec<Self> {
        let Scheduling {
            processors,
            receive_queues,
            ..
        } = config.scheduling;
        assert!(
            (1..=processors).contains(&receive_queues),
            "each receive queue has a processor"
        );
        let steal = |number: u16| {
            let of_queue = config.steal.filter(|_| number < receive_queues);
            of_queue.map(|steal| match number {
                0 => Steal::new(steal, seed, name),
                _ => Steal::new(steal, seed, &format!("{name}, processor {number}")),
            })
        };
        let one = |number| Self {
            steal: steal(number),
            ..Self::default()
        };
        (0..processors).map(one).collect()
    }

    /// Current task and its end.
    pub(super) const fn task(&self) -> Option<&(Instant, Task)> {
        self.task.as_ref()
    }

    /// Whether the CPU has a packet.
    pub(super) fn has_work(&self) -> bool {
        self.task.is_some() || !self.inbox.is_empty() || self.unread_datagrams > 0
    }

    /// Does the work of an interrupt, which delays the current task. Returns when it is done.
    pub(super) fn interrupt(&mut self, now: Instant, work: Work) -> Instant {
        let before = self.cpu.busy_until().max(now);
        let span = self.cpu.start(now, work).saturating_since(before);
        if let Some((finish, _)) = &mut self.task {
            *finish += span;
        }
        self.unavailable_until.max(now) + span
    }

    /// Begins CPU steal when it is due. The current task is finished first.
    fn begin_steal(&mut self, now: Instant) {
        if let Some(steal) = &mut self.steal
            && steal.next() <= now
        {
            self.unavailable_until = self.cpu.take_away(now, steal.take());
        }
    }

    /// Time by use. Accepted work counts before it is done; steal time counts as idle.
    fn shares(&self, now: Instant) -> CpuShares {
        let total = now.saturating_since(Instant::ZERO);
        let calls = self.in_calls.total();
        let user = self.in_calls.of(WorkKind::User);
        CpuShares {
            interrupt: self.cpu.accepted().total().saturating_sub(calls),
            system: calls.saturating_sub(user),
            user,
            idle: total.saturating_sub(self.cpu.busy_time(now)),
        }
    }
}

impl Host {
    /// CPUs of a socket's receive queue and of its application's calls.
    ///
    /// The receive queue follows from `hash`, the RSS hash of the packets the socket receives.
    pub(super) fn processors_of(&self, number: u32, hash: impl FnOnce() -> u32) -> (u16, u16) {
        let home = match self.scheduling.receive_queues {
            1 => 0,
            queues => rss_queue(hash(), queues),
        };
        (home, self.scheduling.caller(number, home))
    }

    /// CPU time used so far, by all CPUs.
    pub fn cpu_busy(&self, now: Instant) -> Duration {
        let busy = self
            .processors
            .iter()
            .map(|processor| processor.cpu.busy_time(now));
        busy.fold(Duration::ZERO, |sum, one| sum + one)
    }

    /// CPU time used or stolen so far. Of the CPUs that work for a socket, the busier one counts.
    pub fn cpu_occupied(&self, socket: u32, now: Instant) -> Duration {
        let socket = &self.sockets[socket as usize];
        let occupied = |number: u16| self.processors[number as usize].cpu.occupied_time(now);
        occupied(socket.home).max(occupied(socket.caller))
    }

    /// Time by use, of all CPUs together.
    pub fn cpu_shares(&self, now: Instant) -> CpuShares {
        let shares = self.processor_shares(now);
        shares.fold(CpuShares::default(), CpuShares::plus)
    }

    /// Time by use of each CPU; those of the receive queues come first.
    pub fn processor_shares(&self, now: Instant) -> impl ExactSizeIterator<Item = CpuShares> {
        self.processors
            .iter()
            .map(move |processor| processor.shares(now))
    }

    /// Whether a copy for a write of a socket is in progress.
    pub(super) fn is_copying(&self, socket: u32) -> bool {
        let caller = self.sockets[socket as usize].caller;
        let task = self.processors[caller as usize].task();
        matches!(task, Some((_, Task::Write(one, _))) if *one == socket)
    }

    /// Whether a CPU is working for a socket.
    pub(super) fn has_task_of(&self, socket: u32) -> bool {
        let mut tasks = self.processors.iter().filter_map(Processor::task);
        tasks.any(|(_, task)| task.socket() == socket)
    }

    /// When a CPU has done all accepted work.
    pub(super) fn busy_until(&self, number: u16) -> Instant {
        self.processors[number as usize].cpu.busy_until()
    }

    /// When the CPU of a socket's calls has done all accepted work.
    pub(super) fn caller_busy_until(&self, socket: usize) -> Instant {
        self.busy_until(self.sockets[socket].caller)
    }

    /// Does the work of sending and returns when it is done. The CPU is that of the current
    /// application call, or else `home`.
    pub(super) fn spend(&mut self, now: Instant, home: u16, work: Work) -> Instant {
        match self.in_call {
            Some(caller) => self.spend_in_call(now, caller, work),
            None => self.processors[home as usize].cpu.start(now, work),
        }
    }

    /// Does work of an application call; returns when it is done.
    fn spend_in_call(&mut self, now: Instant, caller: u16, work: Work) -> Instant {
        let processor = &mut self.processors[caller as usize];
        processor.in_calls = processor.in_calls + work;
        processor.cpu.start(now, work)
    }

    /// When the network card or a CPU has work.
    pub(super) fn processor_timeout(&self) -> Instant {
        let mut next = self.card.interrupt_at();
        for (number, one) in self.processors.iter().enumerate() {
            if let Some(steal) = &one.steal {
                next = next.min(steal.next());
            }
            if let Some((finish, _)) = &one.task {
                next = next.min(*finish);
            } else if !one.inbox.is_empty()
                || self.card.has_frames_to_poll(number)
                || self.has_ready_application(number)
            {
                next = next.min(one.cpu.busy_until());
            }
        }
        if let Some((at, _)) = self.departures.front() {
            next = next.min(*at);
        }
        next
    }

    /// Whether an application can copy data on a CPU.
    fn has_ready_application(&self, number: usize) -> bool {
        if self.is_shared {
            let one = &self.processors[number];
            return !one.ready.is_empty() || one.unread_datagrams > 0;
        }
        let Some(socket) = self.sockets.first() else {
            return false;
        };
        let at = self.caller_busy_until(0);
        socket.caller as usize == number
            && (self.next_write(0, at) > 0 || self.next_read(0, at) > 0)
    }

    /// Begins CPU steal on all CPUs for which it is due.
    pub(super) fn begin_steals(&mut self, now: Instant) {
        for one in &mut self.processors {
            one.begin_steal(now);
        }
    }

    /// Finishes and begins tasks of the CPUs as far as `now` allows.
    pub(super) fn work(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.ideal {
            return;
        }
        for number in 0..self.processors.len() {
            self.work_on(now, number, out);
        }
        self.wake_starved(now);
    }

    fn work_on(&mut self, now: Instant, number: usize, out: &mut Vec<Packet>) {
        loop {
            let one = &mut self.processors[number];
            if one.task.as_ref().is_some_and(|(finish, _)| *finish > now) {
                break;
            }
            if let Some((_, task)) = one.task.take() {
                self.finish(now, number, task, out);
            }
            if self.processors[number].cpu.busy_until() > now || !self.begin(now, number) {
                break;
            }
        }
    }

    /// Begins the next task of a CPU, protocol work first; returns whether there was one.
    fn begin(&mut self, now: Instant, number: usize) -> bool {
        let frames_since_call = self.processors[number].frames_since_call;
        let budget = self.scheduling.receive_budget;
        let is_spent = budget.is_some_and(|most| frames_since_call >= most);
        if !is_spent && let Some(frame) = self.next_frame(number) {
            self.receive(now, number, frame);
            return true;
        }
        self.processors[number].frames_since_call = 0;
        if let Some((task, len)) = self.next_copy(now, number) {
            let finish = self.begin_call(now, number, &task, len);
            self.processors[number].task = Some((finish, task));
            return true;
        }
        let Some(frame) = self.next_frame(number) else {
            return false;
        };
        self.receive(now, number, frame);
        true
    }

    /// Begins an application call; returns when it is done.
    fn begin_call(&mut self, now: Instant, number: usize, task: &Task, len: u64) -> Instant {
        let work = match task {
            Task::Accept => self.costs.accepted(),
            _ => self.costs.called(Bytes::new(len)),
        };
        if let Task::Write(..) = task {
            self.card.reserve_clusters(len);
        }
        self.spend_in_call(now, number as u16, work)
    }

    /// Begins protocol work on a frame.
    fn receive(&mut self, now: Instant, number: usize, frame: Frame) {
        let mut work = self.receive_work(&frame) + self.costs.dma(frame.packet.ip_bytes());
        let one = &mut self.processors[number];
        one.frames_since_call += 1;
        if self.scheduling.polls {
            let dropped = std::mem::take(&mut one.drop_work);
            work = work + self.costs.taken(frame.packet.wire_packets()) + dropped;
        }
        let finish = one.cpu.start(now, work);
        one.task = Some((finish, Task::Receive(frame)));
    }

    /// Next application call on a CPU, and its bytes.
    fn next_copy(&mut self, now: Instant, number: usize) -> Option<(Task, u64)> {
        if !self.is_shared {
            let is_here = self.sockets.first()?.caller as usize == number;
            return is_here.then(|| self.copy_of(0, now))?;
        }
        // Datagrams and connections take turns.
        let one = &mut self.processors[number];
        one.reads_datagram = !one.reads_datagram || one.ready.is_empty();
        if one.reads_datagram
            && let Some((socket, len)) = self.next_datagram(number)
        {
            return Some((Task::ReadDatagram(socket), len));
        }
        while let Some(socket) = self.processors[number].ready.pop_front() {
            if socket == ACCEPTING {
                if self.may_accept() {
                    self.processors[number].ready.push_back(ACCEPTING);
                    return Some((Task::Accept, 0));
                }
                continue;
            }
            if let Some(copy) = self.copy_of(socket as usize, now) {
                self.processors[number].ready.push_back(socket);
                return Some(copy);
            }
            self.sockets[socket as usize].is_ready = false;
        }
        let (socket, len) = self.next_datagram(number)?;
        Some((Task::ReadDatagram(socket), len))
    }

    /// Copy that the application of a socket would make.
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

    fn finish(&mut self, now: Instant, number: usize, task: Task, out: &mut Vec<Packet>) {
        let socket = task.socket() as usize;
        match task {
            Task::ReadDatagram(socket) => return self.finish_datagram(socket),
            Task::Accept => {
                self.in_call = Some(number as u16);
                self.accept(now, out);
                self.in_call = None;
                return;
            }
            Task::Receive(frame) if frame.packet.segment().is_none() => {
                return self.take_other_frame(frame);
            }
            Task::Receive(frame) => self.handle_frame(now, frame),
            Task::Write(_, len) => {
                self.in_call = Some(number as u16);
                self.finish_write(now, socket, len);
            }
            Task::Read(_, len) => {
                self.in_call = Some(number as u16);
                self.finish_read(now, socket, len);
            }
        }
        self.act(now, socket, out);
        self.in_call = None;
    }

    /// Protocol work for a frame.
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

    /// Work of searching the list of unacknowledged segments for an ACK.
    ///
    /// A stack that searches it for every ACK with SACK blocks pays for each entry it passes.
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
