//! A socket: a connection, and the application that writes to it and reads from it.
//!
//! On a host with a processor it writes and reads in calls of a size, each of
//! which costs copying; on an ideal one it takes and gives all there is.

use gigatcp_app::Application;
use gigatcp_events::{Limit, State};
use gigatcp_tcp::{Config as TcpConfig, Connection};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Phantom;

use super::{Host, Task};
use crate::config::Reader;
use crate::meter::Meter;

/// What a socket is made of.
#[derive(Clone, Copy, Debug)]
pub struct SocketConfig<'a> {
    /// Number of its flow: the mark of its packets.
    pub flow: u32,
    /// Whether its packets travel from the flow's receiver to its sender.
    pub reverse: bool,
    /// The engine's configuration.
    pub tcp: &'a TcpConfig,
    /// When it opens the connection. None: it waits for a SYN.
    pub opens_at: Option<Instant>,
    /// Octets that its application writes at once.
    pub write_size: Bytes,
    /// How its application reads.
    pub reader: Reader,
    /// Length of the tester's intervals.
    pub interval: Duration,
}

/// A socket.
#[derive(Debug)]
pub struct Socket {
    pub(super) flow: u32,
    pub(super) reverse: bool,
    pub(super) tcp: TcpConfig,
    pub(super) connection: Option<Box<Connection<Phantom>>>,
    pub(super) is_active: bool,
    /// When it opens, or its application acts by the clock.
    pub(super) wake_at: Instant,
    /// Number of its application on the host, and its own number there.
    pub(super) program: u32,
    pub(super) port: u32,
    /// Whether it waits for its turn at the processor.
    pub(super) is_ready: bool,
    /// Whether it waits for its turn at the network card.
    pub(super) is_held_back: bool,
    /// Whether the application takes all there is at once.
    reads_all: bool,
    /// Whether the application knows that the connection is established.
    opened: bool,
    /// Whether it knows that the peer has closed.
    peer_closed: bool,
    /// Whether it knows that the connection has failed.
    failed: bool,
    /// Whether it has closed.
    closed: bool,
    write_size: u64,
    /// Octets of one call that reach the engine at a time; 0: all there is room for.
    write_chunk: u64,
    /// Octets that the call at hand still takes without asking for room again.
    batch: u64,
    written: u64,
    /// What the application has read, as a stream offset: integrity.
    pub(super) read_offset: u64,
    meter: Meter,
}

impl Socket {
    pub(super) fn new(config: &SocketConfig<'_>, ideal: bool, program: u32, port: u32) -> Self {
        Self {
            flow: config.flow,
            reverse: config.reverse,
            tcp: config.tcp.clone(),
            connection: None,
            is_active: config.opens_at.is_some(),
            wake_at: config.opens_at.unwrap_or(Instant::FAR_FUTURE),
            program,
            port,
            is_ready: false,
            is_held_back: false,
            reads_all: ideal && config.reader.is_prompt(),
            opened: false,
            peer_closed: false,
            failed: false,
            closed: false,
            write_size: config.write_size.as_u64().max(1),
            write_chunk: u64::from(config.tcp.profile.write_chunk),
            batch: 0,
            written: 0,
            read_offset: 0,
            meter: Meter::new(config.interval),
        }
    }

    /// Gives back what it holds.
    pub(super) fn clear(&mut self) {
        self.connection = None;
        self.flow = u32::MAX;
        self.is_active = true;
        self.wake_at = Instant::FAR_FUTURE;
        self.is_ready = false;
        self.is_held_back = false;
        self.opened = false;
        self.meter = Meter::new(self.meter.interval());
    }

    /// Number of its flow; `u32::MAX` if it is gone.
    #[must_use]
    #[inline]
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// Whether its packets travel from the flow's receiver to its sender.
    #[must_use]
    #[inline]
    pub fn is_reverse(&self) -> bool {
        self.reverse
    }

    /// The engine, once the connection exists.
    #[must_use]
    #[inline]
    pub fn connection(&self) -> Option<&Connection<Phantom>> {
        self.connection.as_deref()
    }

    /// The engine, to take its events.
    pub fn connection_mut(&mut self) -> Option<&mut Connection<Phantom>> {
        self.connection.as_deref_mut()
    }

    /// The tester's meter.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Octets that the application has written.
    #[must_use]
    #[inline]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether everything the peer sent has been read and the peer has closed, or the
    /// connection has failed.
    #[must_use]
    #[inline]
    pub fn is_over(&self) -> bool {
        let over = |c: &Connection<Phantom>| c.is_finished_reading() || c.failure().is_some();
        self.connection().is_some_and(over)
    }

    /// Whether the connection has failed.
    #[must_use]
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.connection().is_some_and(|c| c.failure().is_some())
    }

    /// Whether the connection needs no more packets: it is closed, or waits for old
    /// duplicates only.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.connection()
            .is_some_and(|c| matches!(c.state(), State::Closed | State::TimeWait))
    }

    /// When its timer, or its application's, is due.
    #[inline]
    pub(super) fn poll_timeout(&self) -> Instant {
        match &self.connection {
            Some(connection) => self.wake_at.min(connection.poll_timeout()),
            None => self.wake_at,
        }
    }

    /// Octets of the call at hand that are not written yet. Where a call is not cut
    /// into pieces, what is left of it is a call like any other.
    fn left_of_call(&self) -> u64 {
        match self.write_chunk {
            0 => self.write_size,
            _ => self.write_size - self.written % self.write_size,
        }
    }
}

impl Host {
    #[inline(always)]
    fn program_of(&self, socket: &Socket) -> &dyn Application {
        &*self.programs[socket.program as usize].application
    }

    /// The application of a socket, to call it, and its number there.
    #[inline(always)]
    fn program_mut(&mut self, socket: usize) -> (&mut dyn Application, u32) {
        let socket = &self.sockets[socket];
        let program = &mut self.programs[socket.program as usize];
        (&mut *program.application, socket.port)
    }

    /// Octets the application reads next: what is there, at most one call.
    pub(super) fn next_read(&self, socket: usize, now: Instant) -> u64 {
        let socket = &self.sockets[socket];
        match &socket.connection {
            Some(connection) if connection.readable() > 0 => {
                let wanted = self.program_of(socket).poll_read(now, socket.port);
                connection.readable().min(wanted)
            }
            _ => 0,
        }
    }

    /// Octets the application would write now: one write on a host with a
    /// processor, all that fits on an ideal one.
    #[inline(always)]
    pub(super) fn next_write(&self, socket: usize, now: Instant) -> u64 {
        let socket = &self.sockets[socket];
        let Some(connection) = &socket.connection else {
            return 0;
        };
        if !socket.opened || socket.closed {
            return 0;
        }
        let space = connection.send_space();
        if space == 0 {
            return 0;
        }
        let remaining = self.program_of(socket).poll_write(now, socket.port);
        if self.ideal {
            return remaining.min(space).min(u64::from(u32::MAX));
        }
        // A blocking write sleeps until there is room for it or as much as the
        // profile wakes writers for; then it takes a part.
        let wanted = remaining.min(socket.left_of_call());
        if socket.batch > 0 {
            return wanted.min(socket.batch).min(socket.write_chunk);
        }
        let worth_waking = wanted.min(connection.send_wake_space());
        if space < worth_waking {
            0
        } else if socket.write_chunk > 0 {
            wanted.min(space).min(socket.write_chunk)
        } else {
            wanted.min(space)
        }
    }

    /// The application learns what has happened and acts.
    pub(super) fn run_application(&mut self, now: Instant, socket: usize) {
        let one = &self.sockets[socket];
        let state = one.connection.as_ref().map(|connection| connection.state());
        if state != Some(State::Established) || !one.opened {
            self.notify(now, socket);
        }
        if self.sockets[socket].wake_at <= now {
            self.program_mut(socket).0.handle_timeout(now);
        }
        let mut may_write = !self.ideal;
        if self.ideal {
            self.read_at_once(now, socket);
            may_write = self.write_at_once(now, socket);
        }
        self.close_or_wait(now, socket, may_write);
        self.sockets[socket].wake_at = self.program_mut(socket).0.poll_timeout();
    }

    /// Tells the application of the connection's life: established, closed by the peer,
    /// failed.
    #[inline(never)]
    fn notify(&mut self, now: Instant, socket: usize) {
        let one = &mut self.sockets[socket];
        let program = &mut self.programs[one.program as usize].application;
        let Some(connection) = &one.connection else {
            return;
        };
        if let Some(at) = connection.established_at()
            && !one.opened
        {
            one.opened = true;
            one.meter.start(at);
            program.handle_opened(at, one.port);
        }
        let has_closed = matches!(
            connection.state(),
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait
        );
        if has_closed && !one.peer_closed {
            one.peer_closed = true;
            program.handle_peer_closed(now, one.port, connection.readable());
        }
        if connection.failure().is_some() && !one.failed {
            one.failed = true;
            one.closed = true;
            program.handle_failed(now, one.port);
        }
        one.wake_at = program.poll_timeout();
    }

    /// On an ideal host: the application reads what it wants of what is there.
    #[inline]
    fn read_at_once(&mut self, now: Instant, socket: usize) {
        loop {
            let len = self.next_read(socket, now);
            if len == 0 {
                return;
            }
            let all = self.sockets[socket].reads_all;
            self.read(now, socket, if all { u64::MAX } else { len });
        }
    }

    /// On an ideal host: the application writes as much as there is room for. Returns
    /// whether it wrote.
    #[inline]
    fn write_at_once(&mut self, now: Instant, socket: usize) -> bool {
        let mut has_written = false;
        loop {
            let len = self.next_write(socket, now);
            if len == 0 {
                return has_written;
            }
            if !self.write(now, socket, len) {
                return has_written;
            }
            has_written = true;
        }
    }

    /// Reads up to `len` octets and checks that they are what was written.
    pub(super) fn read(&mut self, now: Instant, socket: usize, len: u64) {
        let one = &mut self.sockets[socket];
        let Some(connection) = &mut one.connection else {
            return;
        };
        let mut left = len;
        while left > 0
            && let Some(piece) = connection.read(now, usize::try_from(left).unwrap_or(usize::MAX))
        {
            assert_eq!(
                piece.offset, one.read_offset,
                "octets delivered out of order, twice, or not at all"
            );
            let octets = u64::from(piece.len);
            one.read_offset += octets;
            left -= octets;
            one.meter.on_read(now, octets);
        }
        let (port, offset) = (one.port, one.read_offset);
        let program = &mut self.programs[one.program as usize].application;
        program.handle_read(now, port, len - left);
        self.card.release_read(socket as u32, offset);
    }

    /// Writes `len` octets, for which there is room; returns whether any were accepted.
    pub(super) fn write(&mut self, now: Instant, socket: usize, len: u64) -> bool {
        let one = &mut self.sockets[socket];
        let Some(connection) = &mut one.connection else {
            return false;
        };
        let program = &mut self.programs[one.program as usize].application;
        let payload = Phantom {
            offset: one.written,
            len: len as u32,
        };
        let is_cut = one.write_chunk > 0 && !self.ideal;
        if is_cut && one.batch == 0 {
            let left_of_call = one.write_size - one.written % one.write_size;
            one.batch = connection.send_space().min(left_of_call);
        }
        let accepted = connection.write(payload) as u64;
        one.written += accepted;
        program.handle_written(now, one.port, accepted);
        if !is_cut {
            return accepted > 0;
        }
        one.batch = one.batch.saturating_sub(len);
        if connection.send_space() == 0 {
            // It sleeps before the rest: what waits for that would wait for good.
            one.batch = 0;
        }
        let has_more = one.batch > 0 && program.poll_write(now, one.port) > 0;
        connection.set_more_to_come(has_more);
        accepted > 0
    }

    /// The application closes, or the engine learns what it means when it has nothing to
    /// send. Whether the application would write is asked only where it `may_write`.
    fn close_or_wait(&mut self, now: Instant, socket: usize, may_write: bool) {
        let number = socket as u32;
        let copying = matches!(self.task, Some((_, Task::Write(one, _))) if one == number);
        let one = &mut self.sockets[socket];
        let program = &*self.programs[one.program as usize].application;
        let Some(connection) = &mut one.connection else {
            return;
        };
        let wanted = match one.opened && !one.closed {
            true => program.poll_write(now, one.port),
            false => 0,
        };
        if wanted == 0 {
            if one.opened && !one.closed && !copying && program.poll_close(now, one.port) {
                one.closed = true;
                connection.close(now);
            }
            connection.set_idle_limit(Limit::Application);
            return;
        }
        let limit = if copying || (may_write && self.next_write(socket, now) > 0) {
            // There is room, and only the processor keeps the data away.
            Limit::HostCpu
        } else {
            Limit::SendBuffer
        };
        if let Some(connection) = &mut self.sockets[socket].connection {
            connection.set_idle_limit(limit);
        }
    }
}
