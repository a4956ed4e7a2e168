//! A socket: a connection, and the application that writes to it and reads from it.
//!
//! On a host with a CPU the application writes and reads in calls of limited size, each of which
//! costs copying. On an ideal host it writes and reads all data at the instant it can.

use gigatcp_app::Application;
use gigatcp_path::Drops;
use gigatcp_tcp::events::{Limit, State};
use gigatcp_tcp::{Connection, ConnectionConfig, FourTuple, Received};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Phantom;

use super::Host;
use crate::config::Reader;
use crate::meter::Meter;
use crate::packet::Ip;

/// Configuration of a socket.
#[derive(Clone, Copy, Debug)]
pub struct SocketConfig<'a> {
    /// Number of its flow, carried by its packets.
    pub flow: u32,
    /// The route of its packets: odd ones lead from receivers to senders.
    pub route: u16,
    /// Addresses and ports, as this end names them.
    pub tuple: FourTuple,
    /// The engine's configuration.
    pub tcp: &'a ConnectionConfig,
    /// When it opens the connection. `None`: it listens for a SYN.
    pub opens_at: Option<Instant>,
    /// Bytes per write of its application.
    pub write_size: Bytes,
    /// Reading behavior of its application.
    pub reader: Reader,
    /// Length of the tester's intervals.
    pub interval: Duration,
}

/// A socket.
#[derive(Debug)]
pub struct Socket {
    pub(super) flow: u32,
    pub(super) route: u16,
    /// IPv4 identification of the next wire packet.
    pub(super) ident: u16,
    /// IP variant of the packets it sends.
    pub(super) ip: Ip,
    pub(super) tcp: ConnectionConfig,
    pub(super) connection: Option<Box<Connection<Phantom>>>,
    pub(super) is_active: bool,
    /// When it opens the connection, or when a timer of its application is due.
    pub(super) wake_at: Instant,
    /// Number of its application on the host, and its own number in that application.
    pub(super) program: u32,
    pub(super) port: u32,
    /// CPU of its receive queue.
    pub(super) home: u16,
    /// CPU of its application's calls.
    pub(super) caller: u16,
    /// Whether it waits for its turn on the CPU.
    pub(super) is_ready: bool,
    /// Whether it waits for its turn on the network card.
    pub(super) is_held_back: bool,
    /// Whether the application reads all available data immediately.
    reads_all: bool,
    /// Whether the application never writes.
    only_reads: bool,
    /// Whether the application was notified that the connection is established.
    opened: bool,
    /// Whether the application was notified that the peer has closed.
    peer_closed: bool,
    /// Whether the application was notified that the connection has failed.
    failed: bool,
    /// Whether the application has closed.
    closed: bool,
    write_size: u64,
    /// Bytes of a call that reach the engine together. 0: as many as fit.
    write_chunk: u64,
    /// Bytes that the current call still writes without checking the buffer again.
    batch: u64,
    /// Whether the last call had more to write than fitted: the next write continues it.
    call_goes_on: bool,
    written: u64,
    /// Clusters that its send buffer takes.
    pub(super) clusters: u32,
    /// Stream offset up to which the application has read; used to check integrity.
    pub(super) read_offset: u64,
    /// Packets dropped for a wrong checksum.
    pub(super) drops: Box<Drops>,
    meter: Meter,
}

impl Socket {
    pub(super) fn new(
        config: &SocketConfig<'_>,
        ideal: bool,
        (program, port): (u32, u32),
        only_reads: bool,
    ) -> Self {
        Self {
            flow: config.flow,
            route: config.route,
            ident: 0,
            ip: Ip::new(config.tcp.ip, config.tcp.transport.profile.path_mtu.pmtud),
            tcp: config.tcp.clone(),
            connection: None,
            is_active: config.opens_at.is_some(),
            wake_at: config.opens_at.unwrap_or(Instant::FAR_FUTURE),
            program,
            port,
            home: 0,
            caller: 0,
            is_ready: false,
            is_held_back: false,
            reads_all: ideal && config.reader.is_prompt(),
            only_reads,
            opened: false,
            peer_closed: false,
            failed: false,
            closed: false,
            write_size: config.write_size.as_u64().max(1),
            write_chunk: u64::from(config.tcp.transport.profile.buffers.write_chunk),
            batch: 0,
            call_goes_on: false,
            written: 0,
            clusters: 0,
            read_offset: 0,
            drops: Box::default(),
            meter: Meter::new(config.interval),
        }
    }

    /// Frees what the socket holds.
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

    /// Wire packets dropped for a wrong checksum.
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// Number of its flow; `u32::MAX` if the socket is removed.
    #[inline]
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// Whether its packets travel from the flow's receiver to its sender.
    #[inline]
    pub fn is_reverse(&self) -> bool {
        self.route & 1 == 1
    }

    /// Engine, once the connection exists.
    #[inline]
    pub fn connection(&self) -> Option<&Connection<Phantom>> {
        self.connection.as_deref()
    }

    /// Tester's meter.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Bytes that the application has written.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether no more data can arrive.
    ///
    /// Either the peer has closed and all its data has been read, or the connection has failed.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.connection().is_some_and(|connection| {
            connection.state() != State::Established
                && (connection.is_finished_reading() || connection.failure().is_some())
        })
    }

    /// Whether the connection has failed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.connection().is_some_and(|c| c.failure().is_some())
    }

    /// Whether the connection needs no more packets: it is closed or in TIME-WAIT.
    pub fn is_closed(&self) -> bool {
        self.connection()
            .is_some_and(|c| matches!(c.state(), State::Closed | State::TimeWait))
    }

    /// When its timer or its application's is due.
    #[inline]
    pub(super) fn next_timer(&self) -> Instant {
        let timer = self.connection.as_ref().and_then(|c| c.poll_timeout());
        self.wake_at.min(timer.unwrap_or(Instant::FAR_FUTURE))
    }

    /// Whether the send buffer has space for a write.
    #[inline(always)]
    pub(super) fn may_write(&self) -> bool {
        !self.only_reads
            && self.opened
            && !self.closed
            && self.connection.as_ref().is_some_and(|c| c.send_space() > 0)
    }

    /// Notifies the application of changes of the connection: established, closed by the peer,
    /// failed.
    #[inline(never)]
    fn notify(&mut self, now: Instant, program: &mut dyn Application) {
        let Some(connection) = &self.connection else {
            return;
        };
        if let Some(at) = connection.established_at()
            && !self.opened
        {
            self.opened = true;
            self.meter.start(at);
            program.handle_opened(at, self.port);
        }
        let has_closed = matches!(
            connection.state(),
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait
        );
        if has_closed && !self.peer_closed {
            self.peer_closed = true;
            program.handle_peer_closed(now, self.port, connection.readable());
        }
        if connection.failure().is_some() && !self.failed {
            self.failed = true;
            self.closed = true;
            program.handle_failed(now, self.port);
        }
        self.wake_at = program.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
    }

    /// Bytes the application reads next: available data, at most one call.
    #[inline]
    fn next_read(&self, now: Instant, program: &dyn Application) -> u64 {
        match &self.connection {
            Some(connection) if connection.readable() > 0 => {
                let wanted = program.poll_read(now, self.port);
                connection.readable().min(wanted)
            }
            _ => 0,
        }
    }

    /// Bytes the application would write now, in one call.
    pub(super) fn next_call(&self, now: Instant, program: &dyn Application) -> u64 {
        let Some(connection) = self.connection.as_ref().filter(|_| self.may_write()) else {
            return 0;
        };
        let space = connection.send_space();
        // A blocking write sleeps until the buffer has space for all of it, or the space at which
        // the profile wakes writers. Then it writes a part.
        let wanted = program.poll_write(now, self.port).min(self.left_of_call());
        if self.batch > 0 {
            return wanted.min(self.batch).min(self.write_chunk);
        }
        let worth_waking = wanted.min(connection.send_wake_space());
        if space < worth_waking {
            0
        } else if self.write_chunk > 0 {
            wanted.min(space).min(self.write_chunk)
        } else {
            wanted.min(space)
        }
    }

    /// Bytes of the current call that are not yet written. If calls are not split, the rest of a
    /// call is a call like any other.
    fn left_of_call(&self) -> u64 {
        match self.write_chunk {
            0 => self.write_size,
            _ => self.write_size - self.written % self.write_size,
        }
    }

    /// Reads up to `len` bytes and checks that they are those that were written.
    fn read(&mut self, now: Instant, program: &mut dyn Application, len: u64) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let mut left = len;
        while left > 0
            && let Some(piece) = connection.read(now, usize::try_from(left).unwrap_or(usize::MAX))
        {
            assert_eq!(
                piece.offset, self.read_offset,
                "octets delivered out of order, twice, or not at all"
            );
            let octets = u64::from(piece.len);
            self.read_offset += octets;
            left -= octets;
            self.meter.on_read(now, octets);
        }
        program.handle_read(now, self.port, len - left);
    }

    /// Offers `len` bytes to the engine; returns the number accepted.
    #[inline]
    fn write(&mut self, now: Instant, program: &mut dyn Application, len: u64) -> u64 {
        let payload = Phantom {
            offset: self.written,
            len: len as u32,
        };
        let connection = self.connection.as_mut();
        let accepted = connection
            .and_then(|connection| connection.write(payload).ok())
            .unwrap_or(0) as u64;
        self.written += accepted;
        if accepted > 0 {
            program.handle_written(now, self.port, accepted);
        }
        accepted
    }

    /// Writes `len` bytes of a call: what fitted when their copying began. The call sleeps before
    /// the rest, so the engine is told that the next write is not a new one.
    fn write_part(&mut self, now: Instant, program: &mut dyn Application, len: u64) {
        let wanted = program.poll_write(now, self.port).min(self.left_of_call());
        if self.call_goes_on
            && let Some(connection) = &mut self.connection
        {
            connection.set_write_blocked(true);
        }
        self.write(now, program, len);
        self.call_goes_on = len < wanted;
    }

    /// Writes `len` bytes of a call that reaches the engine in pieces.
    fn write_piece(&mut self, now: Instant, program: &mut dyn Application, len: u64) {
        if self.batch == 0 {
            self.batch = self.send_space().min(self.left_of_call());
        }
        self.write(now, program, len);
        self.batch = self.batch.saturating_sub(len);
        let Some(connection) = &mut self.connection else {
            return;
        };
        if connection.send_space() == 0 {
            // The call sleeps before the rest: data held back for it would wait indefinitely.
            self.batch = 0;
        }
        let has_more = self.batch > 0 && program.poll_write(now, self.port) > 0;
        connection.set_more_to_come(has_more);
    }

    /// Runs the application on an ideal host: it reads and writes all data it can. Then it closes,
    /// or the engine is given the limit that applies when it has nothing to send.
    #[inline]
    fn run_ideal(&mut self, now: Instant, program: &mut dyn Application) {
        self.notify_all(now, program);
        self.transfer_ideal(now, program);
        self.wake_at = program.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
    }

    /// Notifies the application of changes of its connection, and of its timer.
    #[inline(always)]
    fn notify_all(&mut self, now: Instant, program: &mut dyn Application) {
        let state = self
            .connection
            .as_ref()
            .map(|connection| connection.state());
        if state != Some(State::Established) || !self.opened {
            self.notify(now, program);
        }
        if self.wake_at <= now {
            program.handle_timeout(now);
        }
    }

    #[inline(always)]
    fn transfer_ideal(&mut self, now: Instant, program: &mut dyn Application) {
        loop {
            let len = self.next_read(now, program);
            if len == 0 {
                break;
            }
            self.read(now, program, if self.reads_all { u64::MAX } else { len });
        }
        if self.only_reads && !self.peer_closed {
            return;
        }
        let mut limit = Limit::Application;
        while self.opened && !self.closed {
            let wanted = program.poll_write(now, self.port);
            if wanted == 0 {
                limit = Limit::Application;
                self.close_if_done(now, program);
                break;
            }
            limit = Limit::SendBuffer;
            let len = wanted.min(u64::from(u32::MAX));
            if self.write(now, program, len) < len {
                break;
            }
        }
        if let Some(connection) = &mut self.connection {
            connection.set_idle_limit(limit);
        }
    }

    fn send_space(&self) -> u64 {
        let connection = self.connection.as_ref();
        connection.map_or(0, |connection| connection.send_space())
    }

    fn close_if_done(&mut self, now: Instant, program: &mut dyn Application) {
        if program.poll_close(now, self.port)
            && let Some(connection) = &mut self.connection
        {
            self.closed = true;
            connection.shutdown(now);
        }
    }

    /// Runs the application on a host with a CPU; its calls wait for their turn.
    ///
    /// It does immediately what needs no copying. `copying`: its write is in progress;
    /// `has_memory`: clusters are available for a write.
    fn run_with_cpu(
        &mut self,
        now: Instant,
        program: &mut dyn Application,
        (copying, has_memory): (bool, bool),
    ) {
        let mut limit = Limit::Application;
        if self.opened && !self.closed {
            if program.poll_write(now, self.port) > 0 {
                // If there is space, only the CPU delays the data.
                let has_room = copying || has_memory && self.next_call(now, program) > 0;
                limit = if has_room {
                    Limit::HostCpu
                } else {
                    Limit::SendBuffer
                };
            } else if !copying {
                self.close_if_done(now, program);
            }
        }
        if let Some(connection) = &mut self.connection {
            connection.set_idle_limit(limit);
        }
    }
}

impl Host {
    /// Bytes the application of a socket reads next.
    pub(super) fn next_read(&self, socket: usize, now: Instant) -> u64 {
        let socket = &self.sockets[socket];
        let program = &self.programs[socket.program as usize];
        socket.next_read(now, &*program.application)
    }

    /// Bytes the application of a socket would write now.
    ///
    /// On a host with a CPU this is one write, on an ideal host all that fits.
    pub(super) fn next_write(&self, socket: usize, now: Instant) -> u64 {
        let socket = &self.sockets[socket];
        let program = &*self.programs[socket.program as usize].application;
        if !self.ideal {
            let len = socket.next_call(now, program);
            return len.min(self.card.free_bytes());
        }
        match &socket.connection {
            Some(connection) if socket.may_write() => {
                let space = connection.send_space().min(u64::from(u32::MAX));
                program.poll_write(now, socket.port).min(space)
            }
            _ => 0,
        }
    }

    /// Runs the application of a socket.
    #[inline]
    pub(super) fn run_application(&mut self, now: Instant, number: usize) {
        let copying = !self.ideal && self.is_copying(number as u32);
        let has_memory = self.card.free_bytes() > 0;
        let socket = &mut self.sockets[number];
        let program = &mut *self.programs[socket.program as usize].application;
        if socket.connection.is_none() {
            return;
        }
        if self.ideal {
            socket.run_ideal(now, program);
            return;
        }
        socket.notify_all(now, program);
        socket.run_with_cpu(now, program, (copying, has_memory));
        socket.wake_at = program.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
    }

    /// Handles a segment on an ideal host and runs the application of its socket. Returns the
    /// segment if the socket has no connection.
    #[inline(always)]
    pub(super) fn handle_ideal(
        &mut self,
        number: usize,
        received: Received<Phantom>,
    ) -> Option<Received<Phantom>> {
        let socket = &mut self.sockets[number];
        let Some(connection) = &mut socket.connection else {
            return Some(received);
        };
        let now = received.at;
        connection.handle_segment(now, received);
        let program = &mut *self.programs[socket.program as usize].application;
        socket.run_ideal(now, program);
        None
    }

    /// Completes the read of a socket after its copying.
    pub(super) fn finish_read(&mut self, now: Instant, number: usize, len: u64) {
        let socket = &mut self.sockets[number];
        let program = &mut *self.programs[socket.program as usize].application;
        socket.read(now, program, len);
        self.card.release_read(number as u32, socket.read_offset);
    }

    /// Completes the write of a socket after its copying.
    pub(super) fn finish_write(&mut self, now: Instant, number: usize, len: u64) {
        let socket = &mut self.sockets[number];
        let program = &mut *self.programs[socket.program as usize].application;
        self.card.unreserve_clusters(len);
        if socket.write_chunk > 0 {
            socket.write_piece(now, program, len);
        } else {
            socket.write_part(now, program, len);
        }
        if program.poll_write(now, socket.port) > 0
            && let Some(connection) = &mut socket.connection
        {
            connection.wait_for_send_space();
        }
    }
}
