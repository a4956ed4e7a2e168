//! Writers: everything immediately, a given amount, or piece by piece.
//!
//! Three names of the registry are this one application: `bulk` writes for some time, `amount` a
//! number of bytes, and `paced` data that becomes available piece by piece, as from a camera or a
//! disk. With `two_way` the other end writes as well, and both read.

use alloc::boxed::Box;

use gigatcp_units::settings::{Parameter, Settings};
use gigatcp_units::{Bytes, Duration, Instant};

use crate::application::{Application, Role};
use crate::reader::Sink;
use crate::registry::{Build, Entry, Make};
use crate::report::Report;

/// Entry of the registry: bulk data.
pub(crate) const BULK: Entry = Entry {
    name: "bulk",
    summary: "writes as much as it can until its time is over",
    parameters: &[FOR, TWO_WAY],
    make: Make::Stream(|build, role| make(build, role, stop(build.settings, &FOR, None), None)),
};

/// Entry of the registry: a given amount.
pub(crate) const AMOUNT: Entry = Entry {
    name: "amount",
    summary: "writes a number of bytes and closes",
    parameters: &[SIZE, TWO_WAY],
    make: Make::Stream(|build, role| {
        make(build, role, stop(build.settings, &FOR, Some(&SIZE)), None)
    }),
};

/// Entry of the registry: data that becomes available piece by piece.
pub(crate) const PACED: Entry = Entry {
    name: "paced",
    summary: "writes pieces as they become available, and makes up for what was late",
    parameters: &[PIECE, EVERY, UNTIL, FOR, TOTAL, TWO_WAY],
    make: Make::Stream(|build, role| {
        let supply = Supply {
            amount: Bytes::new(build.settings.whole(&PIECE)),
            every: build.settings.time(&EVERY),
            until: build.settings.maybe_time(&UNTIL),
        };
        let stop = stop(build.settings, &FOR, Some(&TOTAL));
        make(build, role, stop, Some(supply))
    }),
};

const FOR: Parameter = Parameter::time(
    "for",
    None,
    "how long it writes, from the moment the connection is established; off: to the end of the run",
);
const SIZE: Parameter = Parameter::octets("size", Some(1_000_000), "bytes it writes");
const TOTAL: Parameter = Parameter::octets("size", None, "bytes it writes in all");
const PIECE: Parameter = Parameter::octets("piece", Some(1_000_000), "bytes of a piece");
const EVERY: Parameter = Parameter::time(
    "every",
    Some(Duration::from_secs(1)),
    "time from one piece to the next",
);
const UNTIL: Parameter = Parameter::time("until", None, "when all the rest becomes available");
const TWO_WAY: Parameter = Parameter::flag("two_way", "the other end writes the same");

/// Condition under which a writer stops and closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// After a number of bytes.
    Bytes(Bytes),
    /// After a time, counted from the establishment of its connection.
    After(Duration),
}

/// Data that becomes available to a writer piece by piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Supply {
    /// Bytes per piece.
    pub amount: Bytes,
    /// Time from one piece to the next.
    pub every: Duration,
    /// Time from the first write after which everything else is available. `None`: never.
    pub until: Option<Duration>,
}

/// Stop condition: an amount if one is set, else a time, else none.
fn stop(settings: &Settings, time: &Parameter, size: Option<&Parameter>) -> Stop {
    let octets = size.and_then(|size| settings.maybe_whole(size));
    match (octets, settings.maybe_time(time)) {
        (Some(octets), _) => Stop::Bytes(Bytes::new(octets)),
        (None, Some(time)) => Stop::After(time),
        (None, None) => Stop::After(Duration::MAX),
    }
}

fn make(build: &Build<'_>, role: Role, stop: Stop, supply: Option<Supply>) -> Box<dyn Application> {
    let two_way = build.settings.flag(&TWO_WAY);
    match role {
        Role::Server if !two_way => Box::new(Sink::new(build.reader.read_size)),
        _ => Box::new(Writer {
            reads: two_way,
            ..Writer::new(stop, supply)
        }),
    }
}

/// A writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Writer {
    stop: Stop,
    /// Pieces in which data becomes available.
    supply: Option<Supply>,
    /// Time from which it writes; far future until the connection is established.
    writes_from: Instant,
    /// Time of its next timer: it stops, or more becomes available.
    wake_at: Instant,
    written: u64,
    /// Whether it also reads.
    reads: bool,
    read: u64,
    failed: bool,
}

impl Writer {
    /// A writer that has not started.
    pub fn new(stop: Stop, supply: Option<Supply>) -> Self {
        Self {
            stop,
            supply: supply.map(|supply| Supply {
                amount: supply.amount.max(Bytes::new(1)),
                every: supply.every.max(Duration::from_nanos(1)),
                ..supply
            }),
            writes_from: Instant::FAR_FUTURE,
            wake_at: Instant::FAR_FUTURE,
            written: 0,
            reads: false,
            read: 0,
            failed: false,
        }
    }

    /// Octets available and not yet written. A separate function: most writers have everything
    /// available and are polled for each packet.
    #[inline(never)]
    fn available(&self, now: Instant) -> u64 {
        let Some(supply) = self.supply.filter(|_| !self.is_supplied(now)) else {
            return u64::MAX;
        };
        let come = supply.amount.as_u64().saturating_mul(self.supplies(now));
        come.saturating_sub(self.written)
    }

    fn is_supplied(&self, now: Instant) -> bool {
        let until = self.supply.and_then(|supply| supply.until);
        until.is_some_and(|until| now >= self.writes_from + until)
    }

    /// Number of pieces that have become available.
    fn supplies(&self, now: Instant) -> u64 {
        self.supply.map_or(0, |supply| {
            let passed = now.saturating_since(self.writes_from);
            passed.as_nanos() / supply.every.as_nanos() + 1
        })
    }

    /// When more becomes available; far future if never.
    fn next_supply(&self, now: Instant) -> Instant {
        match self.supply {
            Some(supply) if self.left(now) > 0 && !self.is_supplied(now) => {
                let next = self.writes_from + supply.every.saturating_mul(self.supplies(now));
                let until = supply.until.map(|until| self.writes_from + until);
                until.map_or(next, |until| until.min(next))
            }
            _ => Instant::FAR_FUTURE,
        }
    }

    /// Octets it still intends to write after `now`.
    #[inline]
    fn left(&self, now: Instant) -> u64 {
        match self.stop {
            Stop::Bytes(total) => total.as_u64() - self.written,
            Stop::After(span) if now < self.writes_from + span => u64::MAX,
            Stop::After(_) => 0,
        }
    }

    /// Sets its next timer.
    fn set_timer(&mut self, now: Instant) {
        let stops_at = match self.stop {
            Stop::After(span) if now < self.writes_from + span => self.writes_from + span,
            _ => Instant::FAR_FUTURE,
        };
        self.wake_at = stops_at.min(self.next_supply(now));
        debug_assert!(
            self.wake_at > now,
            "what it acts on next comes after {now:?}: {:?}",
            self.wake_at
        );
    }
}

impl Application for Writer {
    fn handle_opened(&mut self, now: Instant, _socket: u32) {
        self.writes_from = now;
        self.set_timer(now);
    }

    fn handle_read(&mut self, _now: Instant, _socket: u32, octets: u64) {
        self.read += octets;
    }

    #[inline]
    fn handle_written(&mut self, _now: Instant, _socket: u32, octets: u64) {
        self.written += octets;
    }

    fn handle_failed(&mut self, _now: Instant, _socket: u32) {
        self.failed = true;
        self.wake_at = Instant::FAR_FUTURE;
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.wake_at <= now {
            self.set_timer(now);
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.wake_at.if_due()
    }

    #[inline]
    fn poll_write(&self, now: Instant, _socket: u32) -> u64 {
        if now < self.writes_from {
            0
        } else if self.supply.is_some() {
            self.left(now).min(self.available(now))
        } else {
            self.left(now)
        }
    }

    fn poll_read(&self, _now: Instant, _socket: u32) -> u64 {
        if self.reads { u64::MAX } else { 0 }
    }

    #[inline]
    fn poll_close(&self, now: Instant, _socket: u32) -> bool {
        now >= self.writes_from && self.left(now) == 0
    }

    fn report(&self, _now: Instant) -> Report {
        Report {
            written: Bytes::new(self.written),
            read: Bytes::new(self.read),
            failures: u64::from(self.failed),
            ..Report::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn an_amount_is_written_and_then_closed() {
        let mut writer = Writer::new(Stop::Bytes(Bytes::new(100)), None);
        assert_eq!(writer.poll_write(at(0), 0), 0);
        writer.handle_opened(at(10), 0);
        assert_eq!(writer.poll_write(at(10), 0), 100);
        assert!(!writer.poll_close(at(10), 0));
        writer.handle_written(at(11), 0, 100);
        assert_eq!(writer.poll_write(at(11), 0), 0);
        assert!(writer.poll_close(at(11), 0));
        assert_eq!(writer.report(at(11)).written, Bytes::new(100));
    }

    #[test]
    fn bulk_ends_with_its_time_and_wakes_up_for_it() {
        let mut writer = Writer::new(Stop::After(Duration::from_millis(50)), None);
        writer.handle_opened(at(10), 0);
        assert_eq!(writer.poll_timeout(), Some(at(60)));
        assert_eq!(writer.poll_write(at(59), 0), u64::MAX);
        writer.handle_timeout(at(60));
        assert!(writer.poll_close(at(60), 0));
        assert_eq!(writer.poll_timeout(), None);
    }

    #[test]
    fn pieces_become_available_one_by_one_and_the_rest_at_the_end() {
        let supply = Supply {
            amount: Bytes::new(10),
            every: Duration::from_millis(5),
            until: Some(Duration::from_millis(12)),
        };
        let mut writer = Writer::new(Stop::Bytes(Bytes::new(1000)), Some(supply));
        writer.handle_opened(at(0), 0);
        assert_eq!(writer.poll_write(at(0), 0), 10);
        writer.handle_written(at(0), 0, 10);
        assert_eq!(writer.poll_write(at(4), 0), 0);
        assert_eq!(writer.poll_timeout(), Some(at(5)));
        writer.handle_timeout(at(5));
        assert_eq!(writer.poll_timeout(), Some(at(10)));
        assert_eq!(writer.poll_write(at(10), 0), 20);
        writer.handle_timeout(at(10));
        assert_eq!(writer.poll_timeout(), Some(at(12)));
        assert_eq!(writer.poll_write(at(12), 0), 990);
    }
}
