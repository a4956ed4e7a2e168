//! The application of a host: a tester that writes, or one that reads and
//! counts.
//!
//! On a host with a processor it writes and reads in calls of a size, each of
//! which costs copying; on an ideal one it takes and gives all there is.

use gigatcp_events::{Limit, State};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Phantom;

use super::{Endpoint, Task};
use crate::config::{FlowConfig, Reader, Stop, Supply};
use crate::meter::Meter;

/// Which end of its flow a host is.
#[derive(Clone, Debug)]
pub(super) enum Application {
    /// Writes.
    Source(Source),
    /// Reads and counts.
    Sink(Sink),
}

/// The reading application.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    meter: Meter,
    reader: Reader,
    /// When it reads again after a pause, or at its rate; far future while it reads.
    resume_at: Instant,
    /// When its pause began.
    paused_at: Option<Instant>,
    /// Length of a pause that is over.
    paused: Duration,
    /// When its rate allows the next read.
    next_read_at: Instant,
}

/// The writing application.
#[derive(Clone, Debug)]
pub(super) struct Source {
    stop: Stop,
    write_size: u64,
    /// Octets of one call that reach the engine at a time; 0: all there is room for.
    write_chunk: u64,
    /// Octets that the call at hand still takes without asking for room again.
    batch: u64,
    /// How data becomes available to it.
    supply: Option<Supply>,
    /// From when on it writes; set when the connection is established.
    writes_from: Instant,
    /// When the application next acts by the clock: it opens, begins to
    /// write, stops writing.
    pub(super) wake_at: Instant,
    written: u64,
    closed: bool,
}

impl Endpoint {
    /// Octets the reading application takes next: what is there, at most one
    /// read.
    pub(super) fn next_read(&self) -> u64 {
        match (&self.application, &self.connection) {
            (Application::Sink(sink), Some(connection)) => {
                connection.readable().min(sink.wants(self.read_offset))
            }
            _ => 0,
        }
    }

    pub(super) fn wants_to_read(&self) -> bool {
        self.next_read() > 0
    }

    pub(super) fn run_application(&mut self, now: Instant) {
        if let Application::Sink(sink) = &mut self.application {
            sink.end_pause(now);
            self.serve_sink(now);
            return;
        }
        self.wind_clock(now);
        let mut may_write = !self.ideal;
        if self.ideal {
            let len = self.next_write(now);
            if len > 0 {
                self.write(len);
                may_write = true;
            }
        }
        self.close_if_done(now);
        self.tell_idle_limit(now, may_write);
    }

    /// Sets the application's next act by the clock: writing begins when the
    /// connection is established and may end some time after that.
    fn wind_clock(&mut self, now: Instant) {
        let (Application::Source(source), Some(connection)) =
            (&mut self.application, &self.connection)
        else {
            return;
        };
        if source.writes_from == Instant::FAR_FUTURE
            && let Some(at) = connection.established_at()
        {
            source.writes_from = at;
            source.wake_at = source.writes_from;
        }
        if source.wake_at <= now {
            source.wake_at = match source.stop {
                Stop::After(span) if now < source.writes_from + span => source.writes_from + span,
                _ => Instant::FAR_FUTURE,
            }
            .min(source.next_supply(now));
        }
    }

    /// The reading application: on an ideal host it reads at once; it closes
    /// after the peer.
    fn serve_sink(&mut self, now: Instant) {
        let (Application::Sink(sink), Some(connection)) =
            (&mut self.application, &mut self.connection)
        else {
            return;
        };
        if let Some(at) = connection.established_at() {
            sink.meter.start(at);
        }
        if self.ideal {
            self.read(now, u64::MAX);
        }
        if let Some(connection) = &mut self.connection
            && connection.state() == State::CloseWait
        {
            connection.close(now);
        }
    }

    /// Reads up to `len` octets and checks that they are what was written.
    pub(super) fn read(&mut self, now: Instant, len: u64) {
        let (Application::Sink(sink), Some(connection)) =
            (&mut self.application, &mut self.connection)
        else {
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
            sink.meter.on_read(now, octets);
        }
        sink.begin_pause(now, self.read_offset, len - left);
        self.release_buffers();
    }

    /// Octets the application would write now: one write on a host with a
    /// processor, all that fits on an ideal one.
    #[inline(always)]
    pub(super) fn next_write(&self, now: Instant) -> u64 {
        let (Application::Source(source), Some(connection)) = (&self.application, &self.connection)
        else {
            return 0;
        };
        if now < source.writes_from || source.closed {
            return 0;
        }
        let space = connection.send_space();
        if self.ideal || space == 0 {
            let most = space.min(u64::from(u32::MAX));
            return source.remaining(now).min(most);
        }
        // A blocking write sleeps until there is room for it or as much as the
        // profile wakes writers for; then it takes a part.
        let wanted = source.remaining(now).min(source.left_of_call());
        if source.batch > 0 {
            return wanted.min(source.batch).min(source.write_chunk);
        }
        let worth_waking = wanted.min(connection.send_wake_space());
        if space < worth_waking {
            0
        } else if source.write_chunk > 0 {
            wanted.min(space).min(source.write_chunk)
        } else {
            wanted.min(space)
        }
    }

    pub(super) fn write(&mut self, len: u64) {
        let (Application::Source(source), Some(connection)) =
            (&mut self.application, &mut self.connection)
        else {
            return;
        };
        let payload = Phantom {
            offset: source.written,
            len: len as u32,
        };
        if source.write_chunk == 0 || self.ideal {
            source.written += connection.write(payload) as u64;
            return;
        }
        if source.batch == 0 {
            source.batch = connection.send_space().min(source.left_of_call());
        }
        source.written += connection.write(payload) as u64;
        source.batch = source.batch.saturating_sub(len);
        if connection.send_space() == 0 {
            // It sleeps before the rest: what waits for that would wait for good.
            source.batch = 0;
        }
        connection.set_more_to_come(source.batch > 0 && source.supply.is_none());
    }

    fn close_if_done(&mut self, now: Instant) {
        let (Application::Source(source), Some(connection)) =
            (&mut self.application, &mut self.connection)
        else {
            return;
        };
        let writing = self
            .task
            .as_ref()
            .is_some_and(|(_, t)| matches!(t, Task::Write(_)));
        if !source.closed && now >= source.writes_from && !writing && source.left(now) == 0 {
            source.closed = true;
            connection.close(now);
        }
    }

    /// Tells the engine what it means when it has nothing to send. Whether the
    /// application would write is asked only where it `may_write`.
    fn tell_idle_limit(&mut self, now: Instant, may_write: bool) {
        let copying = matches!(self.task, Some((_, Task::Write(_))));
        let may_write = copying || (may_write && self.next_write(now) > 0);
        let (Application::Source(source), Some(connection)) =
            (&self.application, &mut self.connection)
        else {
            return;
        };
        let has_data = source.remaining(now) > 0;
        let limit = if now < source.writes_from || source.closed || !has_data {
            Limit::Application
        } else if may_write {
            // There is room, and only the processor keeps the data away.
            Limit::HostCpu
        } else {
            Limit::SendBuffer
        };
        connection.set_idle_limit(limit);
    }

    /// Whether the application has something to copy and the room for it.
    pub(super) fn wants_to_write(&self) -> bool {
        self.next_write(self.cpu.busy_until()) > 0
    }
}

impl Application {
    /// When it next acts by the clock.
    pub(super) fn wake_at(&self) -> Instant {
        match self {
            Self::Source(source) => source.wake_at,
            Self::Sink(sink) => sink.resume_at,
        }
    }
}

impl Sink {
    /// The reader of a flow, not yet begun.
    pub(super) fn new(config: &FlowConfig) -> Self {
        Self {
            meter: Meter::new(config.interval),
            reader: config.receiver.reader,
            resume_at: Instant::FAR_FUTURE,
            paused_at: None,
            paused: Duration::ZERO,
            next_read_at: Instant::ZERO,
        }
    }

    /// Time in which it paused, up to `now`.
    pub(super) fn paused_time(&self, now: Instant) -> Duration {
        let open = self.paused_at.map(|at| now.saturating_since(at));
        self.paused + open.unwrap_or(Duration::ZERO)
    }

    /// The tester's meter.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Octets it would take now that it has read so many.
    fn wants(&self, read: u64) -> u64 {
        let size = self.reader.read_size.as_u64().max(1);
        match self.reader.pause {
            _ if self.resume_at != Instant::FAR_FUTURE => 0,
            Some((after, _)) if read < after.as_u64() => size.min(after.as_u64() - read),
            _ => size,
        }
    }

    /// Having read `read` bytes in all, `last` of them now, it may pause.
    fn begin_pause(&mut self, now: Instant, read: u64, last: u64) {
        if let Some(rate) = self.reader.rate
            && last > 0
        {
            self.next_read_at = self.next_read_at.max(now) + rate.time_for(Bytes::new(last));
            self.resume_at = self.next_read_at;
            self.paused_at.get_or_insert(now);
        }
        if let Some((after, span)) = self.reader.pause
            && read == after.as_u64()
        {
            self.resume_at = self.next_read_at.max(now + span);
            self.paused_at.get_or_insert(now);
            self.reader.pause = None;
        }
    }

    /// It goes on when its pause is over.
    fn end_pause(&mut self, now: Instant) {
        if self.resume_at <= now {
            self.resume_at = Instant::FAR_FUTURE;
            if let Some(at) = self.paused_at.take() {
                self.paused += now.saturating_since(at);
            }
        }
    }
}

impl Source {
    /// The writer of a flow, not yet begun.
    pub(super) fn new(config: &FlowConfig) -> Self {
        Self {
            stop: config.stop,
            write_size: config.write_size.as_u64().max(1),
            write_chunk: u64::from(config.sender.tcp.profile.write_chunk),
            batch: 0,
            supply: config.supply.map(|supply| Supply {
                amount: supply.amount.max(Bytes::new(1)),
                every: supply.every.max(Duration::from_nanos(1)),
                ..supply
            }),
            writes_from: Instant::FAR_FUTURE,
            wake_at: Instant::ZERO + config.start,
            written: 0,
            closed: false,
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

    /// Octets it has to write at `now`.
    #[inline]
    fn remaining(&self, now: Instant) -> u64 {
        if self.supply.is_some() {
            self.left(now).min(self.available(now))
        } else {
            self.left(now)
        }
    }

    /// Octets that it has come to have and not written yet. Apart: most have
    /// everything at once, and are asked for each packet.
    #[inline(never)]
    fn available(&self, now: Instant) -> u64 {
        let Some(supply) = self.supply.filter(|_| !self.is_supplied(now)) else {
            return u64::MAX;
        };
        let come = supply.amount.as_u64().saturating_mul(self.supplies(now));
        come.saturating_sub(self.written)
    }

    /// Whether everything has become available.
    fn is_supplied(&self, now: Instant) -> bool {
        let until = self.supply.and_then(|supply| supply.until);
        until.is_some_and(|until| now >= self.writes_from + until)
    }

    /// How often something has become available.
    fn supplies(&self, now: Instant) -> u64 {
        self.supply.map_or(0, |supply| {
            let passed = now.saturating_since(self.writes_from);
            passed.as_nanos() / supply.every.as_nanos() + 1
        })
    }

    /// When more becomes available, if anything will.
    #[inline(never)]
    fn next_supply(&self, now: Instant) -> Instant {
        match self.supply {
            Some(supply)
                if self.left(now) > 0 && self.writes_from <= now && !self.is_supplied(now) =>
            {
                let next = self.writes_from + supply.every.saturating_mul(self.supplies(now));
                let until = supply.until.map(|until| self.writes_from + until);
                until.map_or(next, |until| until.min(next))
            }
            _ => Instant::FAR_FUTURE,
        }
    }

    /// Octets it still means to write after `now`.
    #[inline]
    fn left(&self, now: Instant) -> u64 {
        match self.stop {
            Stop::Bytes(total) => total.as_u64() - self.written,
            Stop::After(span) if now < self.writes_from + span => u64::MAX,
            Stop::After(_) => 0,
        }
    }
}
