//! Ways of reading: immediately, with a pause, or at a rate.
//!
//! [`Sink`] reads and counts, and closes after the peer. [`Gated`] limits the reading of any
//! application by a [`Reader`]'s pause and rate.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::settings::Parameter;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::application::Application;
use crate::registry::{Entry, Make};
use crate::report::Report;

/// Entry of the registry: reading immediately.
pub(crate) const AT_ONCE: Entry = Entry {
    name: "at-once",
    summary: "reads whatever is there, in calls of a size",
    parameters: &[READ_SIZE],
    make: Make::Reader(|settings| Reader {
        read_size: Bytes::new(settings.whole(&READ_SIZE)),
        ..Reader::default()
    }),
};

/// Entry of the registry: reading with a pause.
pub(crate) const PAUSED: Entry = Entry {
    name: "paused",
    summary: "reads, and stops once for some time",
    parameters: &[AFTER, FOR, READ_SIZE],
    make: Make::Reader(|settings| Reader {
        read_size: Bytes::new(settings.whole(&READ_SIZE)),
        pause: Some((Bytes::new(settings.whole(&AFTER)), settings.time(&FOR))),
        rate: None,
    }),
};

/// Entry of the registry: reading at a rate.
pub(crate) const AT_RATE: Entry = Entry {
    name: "at-rate",
    summary: "reads at a rate, as a slow disk lets it",
    parameters: &[RATE, READ_SIZE],
    make: Make::Reader(|settings| Reader {
        read_size: Bytes::new(settings.whole(&READ_SIZE)),
        pause: None,
        rate: settings.rate(&RATE),
    }),
};

const READ_SIZE: Parameter = Parameter::octets("read_size", Some(65_536), "bytes of a read call");
const AFTER: Parameter = Parameter::octets("after", Some(1_000_000), "bytes before the pause");
const FOR: Parameter =
    Parameter::time("for", Some(Duration::from_secs(1)), "duration of the pause");
const RATE: Parameter = Parameter::rate("rate", Some(Rate::from_bps(10_000_000)), "maximum rate");

/// Reading behavior of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader {
    /// Maximum octets per read call.
    pub read_size: Bytes,
    /// A single pause: after a number of octets, for a duration.
    pub pause: Option<(Bytes, Duration)>,
    /// Maximum reading rate. `None`: unlimited.
    pub rate: Option<Rate>,
}

impl Default for Reader {
    /// 64 KiB per read, as testers use, without pause.
    fn default() -> Self {
        Self {
            read_size: Bytes::new(65_536),
            pause: None,
            rate: None,
        }
    }
}

impl Reader {
    /// Whether it reads available data without delay.
    pub const fn is_prompt(&self) -> bool {
        self.pause.is_none() && self.rate.is_none()
    }

    /// Application with this reading behavior.
    pub fn gate(self, application: Box<dyn Application>) -> Box<dyn Application> {
        if self.is_prompt() {
            application
        } else {
            Box::new(Gated::new(self, application))
        }
    }
}

/// An application that reads, counts, and closes after its peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sink {
    read_size: u64,
    read: u64,
    peer_closed: bool,
    failed: bool,
}

impl Sink {
    /// A sink that reads `read_size` per call.
    pub fn new(read_size: Bytes) -> Self {
        Self {
            read_size: read_size.as_u64().max(1),
            read: 0,
            peer_closed: false,
            failed: false,
        }
    }
}

impl Application for Sink {
    fn writes(&self) -> bool {
        false
    }

    #[inline]
    fn handle_read(&mut self, _now: Instant, _socket: u32, octets: u64) {
        self.read += octets;
    }

    fn handle_written(&mut self, _now: Instant, _socket: u32, _octets: u64) {}

    fn handle_peer_closed(&mut self, _now: Instant, _socket: u32, _unread: u64) {
        self.peer_closed = true;
    }

    fn handle_failed(&mut self, _now: Instant, _socket: u32) {
        self.failed = true;
    }

    #[inline]
    fn poll_read(&self, _now: Instant, _socket: u32) -> u64 {
        self.read_size
    }

    #[inline]
    fn poll_close(&self, _now: Instant, _socket: u32) -> bool {
        self.peer_closed
    }

    fn report(&self, _now: Instant) -> Report {
        Report {
            read: Bytes::new(self.read),
            failures: u64::from(self.failed),
            ..Report::default()
        }
    }
}

/// State of the pause and the rate of one socket.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Gate {
    reader: Reader,
    read: u64,
    /// Time of the next read after a pause or at its rate. Far future while it reads.
    resume_at: Instant,
    /// Start of its pause.
    paused_at: Option<Instant>,
    pauses: u64,
    /// Total duration of past pauses.
    paused: Duration,
    /// Time from which its rate allows the next read.
    next_read_at: Instant,
}

impl Gate {
    fn new(reader: Reader) -> Self {
        Self {
            reader,
            read: 0,
            resume_at: Instant::FAR_FUTURE,
            paused_at: None,
            pauses: 0,
            paused: Duration::ZERO,
            next_read_at: Instant::ZERO,
        }
    }

    /// Octets it would read in one call.
    fn wants(&self) -> u64 {
        let size = self.reader.read_size.as_u64().max(1);
        match self.reader.pause {
            _ if self.resume_at != Instant::FAR_FUTURE => 0,
            Some((after, _)) if self.read < after.as_u64() => size.min(after.as_u64() - self.read),
            _ => size,
        }
    }

    /// Processes `octets` read; it may then pause.
    fn on_read(&mut self, now: Instant, octets: u64) {
        self.read += octets;
        if let Some(rate) = self.reader.rate
            && octets > 0
        {
            self.next_read_at = self.next_read_at.max(now) + rate.time_for(Bytes::new(octets));
            self.pause_until(now, self.next_read_at);
        }
        debug_assert!(
            self.reader
                .pause
                .is_none_or(|(after, _)| self.read <= after.as_u64()),
            "no more is read than up to the pause: {} of {:?}",
            self.read,
            self.reader
        );
        if let Some((after, span)) = self.reader.pause
            && self.read == after.as_u64()
        {
            self.pause_until(now, self.next_read_at.max(now + span));
            self.reader.pause = None;
        }
    }

    fn pause_until(&mut self, now: Instant, until: Instant) {
        self.resume_at = until;
        if self.paused_at.is_none() {
            self.paused_at = Some(now);
            self.pauses += 1;
        }
    }

    /// Resumes when its pause is over.
    fn end_pause(&mut self, now: Instant) {
        if self.resume_at <= now {
            self.resume_at = Instant::FAR_FUTURE;
            if let Some(at) = self.paused_at.take() {
                self.paused += now.saturating_since(at);
            }
        }
    }

    fn paused_time(&self, now: Instant) -> Duration {
        let open = self.paused_at.map(|at| now.saturating_since(at));
        self.paused + open.unwrap_or(Duration::ZERO)
    }
}

/// An application whose reading is limited, on each of its sockets.
#[derive(Debug)]
pub struct Gated {
    application: Box<dyn Application>,
    gates: Vec<Gate>,
}

impl Gated {
    /// Application with the reading behavior of `reader`.
    pub fn new(reader: Reader, application: Box<dyn Application>) -> Self {
        let sockets = application.sockets();
        Self {
            application,
            gates: (0..sockets).map(|_| Gate::new(reader)).collect(),
        }
    }
}

impl Application for Gated {
    fn sockets(&self) -> u32 {
        self.application.sockets()
    }

    fn writes(&self) -> bool {
        self.application.writes()
    }

    fn handle_opened(&mut self, now: Instant, socket: u32) {
        self.application.handle_opened(now, socket);
    }

    fn handle_read(&mut self, now: Instant, socket: u32, octets: u64) {
        if let Some(gate) = self.gates.get_mut(socket as usize) {
            gate.on_read(now, octets);
        }
        self.application.handle_read(now, socket, octets);
    }

    fn handle_written(&mut self, now: Instant, socket: u32, octets: u64) {
        self.application.handle_written(now, socket, octets);
    }

    fn handle_peer_closed(&mut self, now: Instant, socket: u32, unread: u64) {
        self.application.handle_peer_closed(now, socket, unread);
    }

    fn handle_failed(&mut self, now: Instant, socket: u32) {
        self.application.handle_failed(now, socket);
    }

    fn handle_timeout(&mut self, now: Instant) {
        for gate in &mut self.gates {
            gate.end_pause(now);
        }
        if self
            .application
            .poll_timeout()
            .is_some_and(|due| due <= now)
        {
            self.application.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let gates = self.gates.iter().filter_map(|gate| gate.resume_at.if_due());
        gates.chain(self.application.poll_timeout()).min()
    }

    fn poll_write(&self, now: Instant, socket: u32) -> u64 {
        self.application.poll_write(now, socket)
    }

    fn poll_read(&self, now: Instant, socket: u32) -> u64 {
        let gate = self.gates.get(socket as usize).map_or(0, Gate::wants);
        gate.min(self.application.poll_read(now, socket))
    }

    fn poll_close(&self, now: Instant, socket: u32) -> bool {
        self.application.poll_close(now, socket)
    }

    fn paused(&self, now: Instant) -> Duration {
        let times = self.gates.iter().map(|gate| gate.paused_time(now));
        times.fold(self.application.paused(now), |sum, time| sum + time)
    }

    fn report(&self, now: Instant) -> Report {
        let mut report = self.application.report(now);
        for gate in &self.gates {
            report.pauses += gate.pauses;
            report.paused += gate.paused_time(now);
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn gated(reader: Reader) -> Box<dyn Application> {
        reader.gate(Box::new(Sink::new(reader.read_size)))
    }

    #[test]
    fn a_pause_begins_after_its_bytes_and_ends_with_its_time() {
        let pause = Some((Bytes::new(100_000), Duration::from_millis(40)));
        let mut reader = gated(Reader {
            pause,
            ..Reader::default()
        });
        assert_eq!(reader.poll_read(at(0), 0), 65_536);
        reader.handle_read(at(0), 0, 65_536);
        assert_eq!(reader.poll_read(at(0), 0), 100_000 - 65_536);
        reader.handle_read(at(3), 0, 100_000 - 65_536);
        assert_eq!(reader.poll_read(at(3), 0), 0);
        assert_eq!(reader.poll_timeout(), Some(at(43)));
        reader.handle_timeout(at(43));
        assert_eq!(reader.poll_read(at(43), 0), 65_536);
        assert_eq!(reader.paused(at(50)), Duration::from_millis(40));
        assert_eq!(reader.report(at(50)).pauses, 1);
    }

    #[test]
    fn a_rate_spaces_reads_and_does_not_save_up() {
        let mut reader = gated(Reader {
            read_size: Bytes::new(1000),
            pause: None,
            rate: Some(Rate::from_bps(8_000_000)),
        });
        reader.handle_read(at(0), 0, 1000);
        assert_eq!(reader.poll_timeout(), Some(at(1)));
        reader.handle_timeout(at(1));
        assert_eq!(reader.poll_read(at(1), 0), 1000);
        reader.handle_read(at(10), 0, 500);
        assert_eq!(
            reader.poll_timeout(),
            Some(at(10) + Duration::from_micros(500))
        );
    }

    #[test]
    fn a_prompt_reader_needs_no_gate() {
        let sink = gated(Reader::default());
        assert_eq!(sink.poll_timeout(), None);
        assert!(Reader::default().is_prompt());
    }
}
