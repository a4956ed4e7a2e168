//! Links with recorded capacity: traces in the format of mahimahi.
//!
//! A trace is a list of *opportunities*, one decimal number of milliseconds per line, in ascending
//! order. Each allows [`OPPORTUNITY`] bytes to leave. The remainder after a packet goes to the next
//! one if that waits already, and is unused otherwise; a packet may need several opportunities.
//! After the last line the trace repeats, shifted by its number of milliseconds. A trace of the one
//! line `1` is a link of 12.03 Mbit/s.
//!
//! Source: `mm-link` of mahimahi (Netravali et al., *Mahimahi: Accurate
//! Record-and-Replay for HTTP*, USENIX ATC 2015), whose manual says 1500 where its
//! program takes 1504.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use gigatcp_units::{Duration, Instant};

/// Bytes per opportunity: an MTU of 1500 and the 4 bytes a TUN device prepends.
pub const OPPORTUNITY: u64 = 1504;

/// Bytes added to each packet on a link with a trace. These are the 4 of the TUN device. So a
/// packet of 1500 needs one opportunity.
pub const TRACE_OVERHEAD: u64 = 4;

const MILLISECOND: u64 = 1_000_000;

/// Opportunities at which bytes may leave a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// Milliseconds, ascending; several may be equal.
    opportunities: Arc<[u64]>,
}

/// Reason why a text is not a valid trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceError {
    /// No line has a number.
    Empty,
    /// This line, counted from 1, is not a number of milliseconds.
    NoNumber(usize),
    /// The number of this line is less than the one above it.
    Backwards(usize),
    /// The last number is zero: the trace takes no time.
    NoTime,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the trace is empty"),
            Self::NoNumber(line) => {
                write!(f, "line {line} of the trace is no number of milliseconds")
            }
            Self::Backwards(line) => {
                write!(f, "line {line} of the trace goes back in time")
            }
            Self::NoTime => f.write_str("the trace ends at 0 ms: it takes no time"),
        }
    }
}

impl core::error::Error for TraceError {}

impl Trace {
    /// Parses a trace. Empty lines are ignored.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut opportunities = Vec::new();
        for (line, number) in (1..).zip(text.lines().map(str::trim)) {
            if number.is_empty() {
                continue;
            }
            let at: u64 = number.parse().map_err(|_| TraceError::NoNumber(line))?;
            if opportunities.last().is_some_and(|last| at < *last) {
                return Err(TraceError::Backwards(line));
            }
            opportunities.push(at);
        }
        match opportunities.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoTime),
            Some(_) => Ok(Self {
                opportunities: opportunities.into(),
            }),
        }
    }

    /// Duration after which it repeats.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.opportunities.last().copied().unwrap_or(1))
    }

    /// Number of opportunities in one period.
    pub fn opportunities(&self) -> usize {
        self.opportunities.len()
    }

    /// Mean rate over a period, in bit/s.
    pub fn mean_bps(&self) -> u64 {
        let bits = self.opportunities.len() as u64 * OPPORTUNITY * 8;
        bits.saturating_mul(1_000_000_000) / self.period().as_nanos().max(1)
    }
}

/// Running state of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    trace: Trace,
    /// Time from which the trace counts.
    start: Instant,
    /// Start of the current repetition, in milliseconds since `start`.
    round: u64,
    /// Index of the current or the next opportunity.
    next: usize,
    /// Bytes of the current opportunity that are used.
    used: u64,
}

impl Opportunities {
    /// Starts at `start`, from which the milliseconds of the trace count.
    pub(crate) fn new(trace: Trace, start: Instant) -> Self {
        Self {
            trace,
            start,
            round: 0,
            next: 0,
            used: 0,
        }
    }

    fn at(&self) -> Instant {
        let ms = self
            .round
            .saturating_add(self.trace.opportunities[self.next]);
        self.start + Duration::from_nanos(ms.saturating_mul(MILLISECOND))
    }

    fn advance(&mut self) {
        self.used = 0;
        self.next += 1;
        if self.next == self.trace.opportunities.len() {
            self.next = 0;
            self.round += self.trace.period().as_millis();
        }
    }

    /// Skips opportunities that have passed by `now`.
    fn skip(&mut self, now: Instant) {
        let period = self.trace.period().as_millis();
        let passed = now
            .saturating_since(self.start)
            .as_nanos()
            .div_ceil(MILLISECOND);
        let behind = passed.saturating_sub(self.round) / period;
        if behind > 1 {
            self.round += (behind - 1) * period;
            (self.next, self.used) = (0, 0);
        }
        while self.at() < now {
            self.advance();
        }
    }

    /// Uses the opportunities for a packet of `octets` waiting from `now` on. Returns when the last
    /// of it leaves.
    pub(crate) fn serve(&mut self, now: Instant, octets: u64) -> Instant {
        self.skip(now);
        let mut left = octets.max(1);
        loop {
            if self.used == OPPORTUNITY {
                self.advance();
            }
            let part = left.min(OPPORTUNITY - self.used);
            self.used += part;
            left -= part;
            debug_assert!(
                self.used <= OPPORTUNITY && self.at() >= now,
                "{} octets of an opportunity at {:?} are used at {now:?}",
                self.used,
                self.at()
            );
            if left == 0 {
                return self.at();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(instant: Instant) -> u64 {
        assert!(instant.as_nanos().is_multiple_of(MILLISECOND));
        instant.as_nanos() / MILLISECOND
    }

    #[test]
    fn a_trace_is_replayed_to_the_millisecond_and_begins_anew() {
        let trace = Trace::parse("2\n2\n\n7\n10\n").unwrap();
        assert_eq!(trace.period(), Duration::from_millis(10));
        let mut link = Opportunities::new(trace, Instant::ZERO);
        let served = [(); 10].map(|()| ms(link.serve(Instant::ZERO, 1504)));
        assert_eq!(served, [2, 2, 7, 10, 12, 12, 17, 20, 22, 22]);
    }

    #[test]
    fn a_packet_may_need_several_lines_and_several_packets_share_one() {
        let mut link = Opportunities::new(Trace::parse("1").unwrap(), Instant::ZERO);
        assert_eq!(ms(link.serve(Instant::ZERO, 3008)), 2);
        let served = [(); 4].map(|()| ms(link.serve(Instant::ZERO, 752)));
        assert_eq!(served, [3, 3, 4, 4]);
    }

    #[test]
    fn what_nobody_used_is_lost() {
        let mut link = Opportunities::new(Trace::parse("3\n5").unwrap(), Instant::ZERO);
        let late = Instant::from_nanos(1_000_004 * MILLISECOND);
        assert_eq!(ms(link.serve(late, 100)), 1_000_005);
        assert_eq!(ms(link.serve(late, 1404)), 1_000_005);
        assert_eq!(ms(link.serve(late, 1)), 1_000_008);
        let just_after = Instant::from_nanos(1_000_008 * MILLISECOND + 1);
        assert_eq!(ms(link.serve(just_after, 1)), 1_000_010);
    }

    #[test]
    fn texts_that_are_no_trace_are_refused_with_their_line() {
        assert_eq!(Trace::parse("\n"), Err(TraceError::Empty));
        assert_eq!(Trace::parse("1\nx"), Err(TraceError::NoNumber(2)));
        assert_eq!(Trace::parse("5\n4"), Err(TraceError::Backwards(2)));
        assert_eq!(Trace::parse("0\n0"), Err(TraceError::NoTime));
        assert_eq!(Trace::parse("1").unwrap().mean_bps(), 12_032_000);
    }
}
