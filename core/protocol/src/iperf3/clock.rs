//! Offset between the clocks of two ends of this project, by an exchange of times.
//!
//! If a client announces it ([`is_announced`]), a server sends CLOCK before CREATE_STREAMS and
//! before EXCHANGE_RESULTS, while no data flows. The client then sends CLOCK up to [`MAX_PROBES`]
//! times; each is answered with the server's time. CLOCK_DONE ends the exchange. As in NTP (RFC
//! 5905 section 8), for a request sent at t1 and answered at t4 with the time t2:
//!
//! ```text
//! rtt    = t4 - t1                                                      (1)
//! offset = t2 - (t1 + t4) / 2,  wrong by at most rtt / 2                (2)
//! ```
//!
//! The answer with the smallest RTT of an exchange counts. Between two exchanges the offset is
//! interpolated, which removes a constant drift. An asymmetric path shifts the offset within its
//! bound, and cannot be detected.

use gigatcp_units::{Duration, Instant};
use serde_json::{Value, json};

use super::Parameters;

/// Maximum number of requests of an exchange that a server answers.
pub const MAX_PROBES: u32 = 64;

/// Number of requests of an exchange on a short path.
const PROBES: u32 = 24;

/// Minimum number of requests of an exchange, on a long path.
const MIN_PROBES: u32 = 3;

/// Maximum duration of an exchange with more than the minimum number of requests.
const LONGEST: Duration = Duration::from_millis(500);

/// Version of the exchange.
const VERSION: u64 = 1;

/// Private parameter by which a client announces a clock exchange.
pub fn announcement() -> (&'static str, Value) {
    ("clock", json!(VERSION))
}

/// Whether a client announces a clock exchange.
pub fn is_announced(parameters: &Parameters) -> bool {
    let private = parameters.private.as_ref();
    private.is_some_and(|private| private["clock"].as_u64() == Some(VERSION))
}

/// Offset of the server's clock at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockOffset {
    /// The time, by the client's clock.
    pub at: Instant,
    /// Server's clock less the client's, in nanoseconds.
    pub offset_ns: i64,
    /// RTT of the exchange: the error of the offset is at most half of it.
    pub rtt: Duration,
}

impl ClockOffset {
    /// Offset from a packet that the client sent (t1) and that came back (t4), and that the server
    /// received (t2) and returned (t3). Times are in nanoseconds of the clock of each.
    pub fn between([t1, t2, t3, t4]: [u64; 4]) -> Self {
        let [there, back] =
            [(t2, t1), (t4, t3)].map(|(to, from)| i128::from(to) - i128::from(from));
        let rtt = u64::try_from(there + back).unwrap_or(0);
        Self {
            at: Instant::from_nanos(t1 / 2 + t4 / 2),
            offset_ns: saturated((there - back) / 2),
            rtt: Duration::from_nanos(rtt),
        }
    }

    /// Offset from a request that the server answered with its time. `sent` and `answered` are by
    /// the client's clock. Saturates for a time that no clock has.
    fn of(sent: Instant, answered: Instant, server: u64) -> Self {
        let rtt = answered.saturating_since(sent);
        let at = sent + Duration::from_nanos(rtt.as_nanos() / 2);
        let offset = i128::from(server) - i128::from(at.as_nanos());
        Self {
            at,
            offset_ns: saturated(offset),
            rtt,
        }
    }
}

fn saturated(number: i128) -> i64 {
    let bound = if number < 0 { i64::MIN } else { i64::MAX };
    i64::try_from(number).unwrap_or(bound)
}

/// A client's side of one exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    began_at: Instant,
    sent_at: Instant,
    answers: u32,
    best: Option<ClockOffset>,
}

impl Exchange {
    /// Begins an exchange with a request sent at `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began_at: now,
            sent_at: now,
            answers: 0,
            best: None,
        }
    }

    /// Handles an answer. Returns the best offset if it was the last; otherwise the caller must
    /// send the next request at `now`.
    pub(super) fn handle_answer(&mut self, now: Instant, server: u64) -> Option<ClockOffset> {
        let offset = ClockOffset::of(self.sent_at, now, server);
        let best = self.best.filter(|best| best.rtt <= offset.rtt);
        let best = *self.best.insert(best.unwrap_or(offset));
        self.answers += 1;
        self.sent_at = now;
        let is_long = now.saturating_since(self.began_at) >= LONGEST;
        let enough = if is_long { MIN_PROBES } else { PROBES };
        (self.answers >= enough).then_some(best)
    }
}

/// Clock offsets before and after the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocks {
    /// Before the data.
    pub start: ClockOffset,
    /// After the data.
    pub end: ClockOffset,
}

impl Clocks {
    /// Server's clock less client's, in nanoseconds, at a time of the client's.
    pub fn offset_at(&self, at: Instant) -> f64 {
        let since = at.as_nanos() as f64 - self.start.at.as_nanos() as f64;
        self.start.offset_ns as f64 + since * self.drift()
    }

    /// Offset in nanoseconds at a time of the server's clock.
    pub fn offset_at_server(&self, at: Instant) -> f64 {
        let by_client = saturated(i128::from(at.as_nanos()) - i128::from(self.start.offset_ns));
        self.offset_at(Instant::from_nanos(by_client.max(0).cast_unsigned()))
    }

    /// Server clock's gain in seconds per second of the client's; 0 if unknown.
    pub fn drift(&self) -> f64 {
        let elapsed = self.end.at.saturating_since(self.start.at).as_nanos();
        let gained = self.end.offset_ns as f64 - self.start.offset_ns as f64;
        if elapsed == 0 {
            return 0.0;
        }
        gained / elapsed as f64
    }

    /// Maximum error of any offset between the two.
    pub fn uncertainty(&self) -> Duration {
        Duration::from_nanos(self.start.rtt.max(self.end.rtt).as_nanos() / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn the_answer_with_the_smallest_rtt_counts() {
        let mut exchange = Exchange::new(at(1000));
        let mut now = 1000;
        let mut last = None;
        for probe in 0..PROBES {
            // The server is 5 s ahead; the delay is 100 us each way, and queues lengthen the way
            // there.
            let queue = if probe == 7 {
                0
            } else {
                300 + u64::from(probe)
            };
            let server = (now + 100 + queue + 5_000_000) * 1000;
            now += 200 + queue;
            assert!(last.is_none());
            last = exchange.handle_answer(at(now), server);
        }
        let best = last.unwrap();
        assert_eq!((best.offset_ns, best.rtt.as_micros()), (5_000_000_000, 200));
    }

    #[test]
    fn an_exchange_over_a_long_path_ends_after_three_answers() {
        let mut exchange = Exchange::new(at(0));
        assert!(exchange.handle_answer(at(300_000), 0).is_none());
        assert!(exchange.handle_answer(at(600_000), 0).is_none());
        assert!(exchange.handle_answer(at(900_000), 0).is_some());
    }

    #[test]
    fn drift_between_both_exchanges_is_taken_out() {
        let offset = |at_us, offset_ns| ClockOffset {
            at: at(at_us),
            offset_ns,
            rtt: Duration::from_micros(40),
        };
        // 50 us in 10 s: 5 ppm.
        let clocks = Clocks {
            start: offset(0, -1_000_000),
            end: offset(10_000_000, -950_000),
        };
        assert!((clocks.drift() - 5e-6).abs() < 1e-12);
        assert!((clocks.offset_at(at(5_000_000)) + 975_000.0).abs() < 1.0);
        assert!((clocks.offset_at_server(at(4_999_000)) + 975_000.0).abs() < 1.0);
        assert_eq!(clocks.uncertainty().as_micros(), 20);
    }

    #[test]
    fn times_that_no_clock_has_saturate() {
        for server in [0, 1 << 63, u64::MAX] {
            let far = ClockOffset::of(at(5), Instant::FAR_FUTURE, server);
            let near = ClockOffset::of(at(5), at(4), server);
            for (start, end) in [(far, near), (near, far)] {
                let clocks = Clocks { start, end };
                for at in [Instant::ZERO, Instant::FAR_FUTURE] {
                    assert!(clocks.offset_at(at).is_finite());
                    assert!(clocks.offset_at_server(at).is_finite());
                }
                assert!(clocks.drift().is_finite());
            }
        }
    }
}
