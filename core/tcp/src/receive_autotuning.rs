//! Receive buffer autotuning: dynamic right-sizing (Fisk and Feng 2001), with the growth of Linux
//! (`tcp_rcv_space_adjust`).
//!
//! Once per round trip the receiver measures how much the application read: the window must be
//! that large. A sender in slow start doubles it by the next round trip, and a window advertised
//! now is used one round trip later still. So with `copied` octets now and `space` in the best
//! round trip before:
//!
//! > window = (2 copied + 16 MSS) (1 + 2 (copied - space) / space)
//!
//! This is six times the octets read while they double, and twice at rest.
//!
//! Unread data does not count as read. While much is unread, the measurement waits: an application
//! reads in pieces. Data read over several round trips counts for one. A slow application, or one
//! that sleeps and then reads everything, is no reason for a larger buffer. Nor is a filled gap,
//! as data beyond it counts when it arrived.
//!
//! Linux 6.18 measures more simply, and so does [`Counting::Read`]: octets read since the last
//! measurement count, however long it lasted, minus those unread. So a filled gap, behind which a
//! round trip's data waited, counts as a burst, and the window grows with losses. It also grows by
//! the span of the data that waits beyond a gap, and there are no additional segments (measured on
//! 6.18).
//!
//! A host that only receives measures its RTT from the echoes of its own timestamps
//! (`tcp_rcv_rtt_measure_ts`), and before the first of them from the handshake. An echo spans a
//! number of clock ticks, plus or minus one; after a pause of the sender its next echo is old. So
//! an estimate falls immediately, rises by at most an eighth per echo, and stays if the echo does
//! not contradict it. Without timestamps the estimate is the handshake's, or the time in which a
//! whole window arrives: never less than an RTT.
//!
//! The buffer only grows; the profile bounds it.

use gigatcp_units::{Duration, Instant};

use crate::space::{Offset, RightEdge};

/// Segments that the window exceeds twice the octets read.
const SLACK_SEGMENTS: u64 = 16;

/// Divisor of the octets read: maximum part left unread.
const MOST_UNREAD: u64 = 8;

/// Assumed segments of a first window.
const FIRST_SEGMENTS: u64 = 10;

/// Octets that count as read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// Those that have arrived and are not waiting to be read.
    Arrived,
    /// Those that the application has read.
    Read,
}

/// Amounts at a read, in octets.
#[derive(Clone, Copy, Debug)]
pub struct Amounts {
    /// Data in order that has arrived so far.
    pub in_order: u64,
    /// Data held beyond gaps.
    pub held: u64,
    /// Octets from RCV.NXT to the end of the data held.
    pub span: u64,
    /// Data in order that is not yet read.
    pub unread: u64,
}

/// State of receive buffer autotuning.
#[derive(Clone, Debug)]
pub struct ReceiveAutotuning {
    /// RTT measured by the receiver.
    rtt: Option<Duration>,
    /// Newest echo used.
    last_echo: u32,
    /// Start of the current measurement, and octets received by then.
    since: Instant,
    from: u64,
    /// Earliest end of the current measurement.
    until: Instant,
    /// Most octets read in a round trip so far.
    space: u64,
    /// Without timestamps: offset at which a whole window has arrived, and its start time.
    whole_window: (u64, Instant),
}

impl ReceiveAutotuning {
    /// Begins measuring at `now`. A round trip's octets count as growth if they exceed ten segments,
    /// or `most` if that is less.
    pub fn new(now: Instant, most: u64, mss: u64) -> Self {
        Self {
            rtt: None,
            last_echo: 0,
            since: now,
            from: 1,
            until: now,
            space: most.min(FIRST_SEGMENTS * mss).max(1),
            whole_window: (u64::MAX, now),
        }
    }

    /// RTT, if known.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Most octets read in a round trip so far.
    pub fn space(&self) -> u64 {
        self.space
    }

    /// Takes the RTT of the handshake.
    pub fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.rtt = Some(rtt);
        self.since = now;
        self.until = now + rtt;
    }

    /// Whether data with the echo `ecr` is the first with it.
    #[inline]
    pub fn is_new_echo(&mut self, ecr: u32) -> bool {
        core::mem::replace(&mut self.last_echo, ecr) != ecr
    }

    /// Takes an RTT sample of `age` from a new echo. Its error is up to a `tick`.
    pub fn on_echo(&mut self, age: Duration, tick: Duration) {
        let (least, most) = (age.saturating_sub(tick), age + tick);
        self.rtt = Some(match self.rtt {
            Some(rtt) if rtt > most => most,
            Some(rtt) if rtt < least => rtt + (age.min(rtt * 2) - rtt).min(rtt) / 8,
            Some(rtt) => rtt,
            None => age,
        });
    }

    /// Takes an RTT without timestamps. RCV.NXT is at `nxt` and the window ends at `edge`.
    pub fn on_arrival(&mut self, now: Instant, Offset(nxt): Offset, RightEdge(edge): RightEdge) {
        let (whole, since) = self.whole_window;
        if nxt < whole && whole != u64::MAX {
            return;
        }
        if whole != u64::MAX {
            let span = now.saturating_since(since);
            self.rtt = Some(self.rtt.map_or(span, |rtt| rtt.min(span)));
        }
        self.whole_window = (edge.max(nxt + 1), now);
    }

    /// Processes a read. Returns the window the buffer should back, if it grew.
    #[inline]
    pub fn on_read(
        &mut self,
        now: Instant,
        counting: Counting,
        amounts: Amounts,
        mss: u64,
    ) -> Option<u64> {
        if now < self.until {
            return None;
        }
        match counting {
            Counting::Arrived => {
                self.measure(now, amounts.in_order + amounts.held, amounts.unread, mss)
            }
            Counting::Read => self.measure_reads(now, amounts),
        }
    }

    fn measure_reads(&mut self, now: Instant, amounts: Amounts) -> Option<u64> {
        let rtt = self.rtt?;
        if now.saturating_since(self.since) < rtt {
            self.until = self.since + rtt;
            return None;
        }
        let read = amounts.in_order.saturating_sub(amounts.unread);
        let read_since = read.saturating_sub(self.from);
        let copied = read_since.saturating_sub(amounts.unread);
        self.since = now;
        self.from = read;
        self.until = now + rtt;
        if copied <= self.space {
            return None;
        }
        let window = copied.saturating_mul(2);
        let growth = share(window, copied - self.space, self.space);
        self.space = copied;
        Some(
            window
                .saturating_add(growth.saturating_mul(2))
                .saturating_add(amounts.span),
        )
    }

    fn measure(&mut self, now: Instant, arrived: u64, unread: u64, mss: u64) -> Option<u64> {
        let rtt = self.rtt?;
        let elapsed = now.saturating_since(self.since);
        if elapsed < rtt {
            // The RTT proved longer than assumed.
            self.until = self.since + rtt;
            return None;
        }
        let read = arrived.saturating_sub(unread);
        let read_since = read.saturating_sub(self.from);
        if unread.saturating_mul(MOST_UNREAD) > read_since {
            // The application is still reading: measure when it is done.
            return None;
        }
        let taken = read_since - unread;
        let copied = share(taken, rtt.as_nanos(), elapsed.as_nanos());
        self.since = now;
        self.from = read;
        self.until = now + rtt;
        if copied <= self.space {
            return None;
        }
        let window = copied
            .saturating_mul(2)
            .saturating_add(SLACK_SEGMENTS * mss);
        let growth = share(window, copied - self.space, self.space);
        debug_assert!(
            copied > self.space && copied <= taken,
            "{copied} octets per round trip, of {taken} in {elapsed:?}, {} before",
            self.space
        );
        self.space = copied;
        Some(window.saturating_add(growth.saturating_mul(2)))
    }
}

/// `amount` times `part` over `whole`.
fn share(amount: u64, part: u64, whole: u64) -> u64 {
    let exact = u128::from(amount) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(exact).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RTT: Duration = Duration::from_millis(100);
    const TICK: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn tuning() -> ReceiveAutotuning {
        let mut tuning = ReceiveAutotuning::new(at(0), 65_535, MSS);
        tuning.on_handshake(at(0), RTT);
        tuning
    }

    fn in_order(in_order: u64, unread: u64) -> Amounts {
        Amounts {
            in_order,
            held: 0,
            span: 0,
            unread,
        }
    }

    #[test]
    fn reads_after_a_filled_gap_count_as_a_burst_where_arrivals_do_not() {
        let after_gap = |counting| {
            let mut tuning = ReceiveAutotuning::new(at(0), 65_535, MSS);
            tuning.on_handshake(at(0), RTT);
            // 10 kB of 20 waited beyond a gap, which the next round trip fills.
            let beyond = Amounts {
                held: 10_000,
                span: 11_000,
                ..in_order(10_001, 0)
            };
            assert_eq!(
                tuning.on_read(at(100), counting, beyond, MSS).is_some(),
                counting == Counting::Arrived
            );
            tuning.on_read(at(200), counting, in_order(40_001, 0), MSS)
        };
        assert_eq!(after_gap(Counting::Arrived), None);
        // 30 kB instead of the 10 before: 2·30 + 2·60·(30 − 10)/10.
        assert_eq!(after_gap(Counting::Read), Some(300_000));
    }

    #[test]
    fn a_reader_that_doubles_gets_six_times_what_it_took_and_one_at_rest_twice() {
        let mut tuning = tuning();
        assert_eq!(
            tuning.on_read(at(99), Counting::Arrived, in_order(20_001, 0), MSS),
            None
        );
        // Ten segments were expected, twenty read.
        let window = tuning.on_read(at(100), Counting::Arrived, in_order(20_001, 0), MSS);
        assert_eq!(window, Some(3 * (2 * 20_000 + 16 * MSS)));
        // The same amount again changes nothing.
        assert_eq!(
            tuning.on_read(at(200), Counting::Arrived, in_order(40_001, 0), MSS),
            None
        );
        let window = tuning.on_read(at(300), Counting::Arrived, in_order(60_201, 0), MSS);
        assert_eq!(window, Some(40_400 + 16_000 + 2 * (56_400 * 200 / 20_000)));
    }

    #[test]
    fn what_is_not_read_and_what_took_longer_does_not_count() {
        let mut tuning = tuning();
        assert_eq!(
            tuning.on_read(at(100), Counting::Arrived, in_order(20_001, 15_000), MSS),
            None
        );
        // One second of sleep, then all of it: a tenth of that per round trip.
        assert_eq!(
            tuning.on_read(at(1000), Counting::Arrived, in_order(100_001, 0), MSS),
            None
        );
        let window = tuning.on_read(at(2000), Counting::Arrived, in_order(300_001, 0), MSS);
        assert_eq!(window, Some(3 * (2 * 20_000 + 16 * MSS)));
    }

    #[test]
    fn an_estimate_falls_at_once_and_is_not_led_astray_by_one_old_echo() {
        let mut tuning = tuning();
        tuning.on_echo(Duration::from_millis(80), TICK);
        assert_eq!(tuning.rtt(), Some(Duration::from_millis(81)));
        // One tick of the clock contradicts nothing.
        tuning.on_echo(Duration::from_millis(82), TICK);
        assert_eq!(tuning.rtt(), Some(Duration::from_millis(81)));
        // The sender had paused for an hour.
        tuning.on_echo(Duration::from_secs(3600), TICK);
        assert_eq!(tuning.rtt().unwrap().as_micros(), 91_125);
        for _ in 0..60 {
            tuning.on_echo(Duration::from_millis(200), TICK);
        }
        assert!(tuning.rtt().unwrap().as_millis() >= 195);
    }

    #[test]
    fn a_path_shorter_than_a_tick_keeps_the_handshakes_estimate() {
        let mut tuning = tuning();
        let short = Duration::from_micros(90);
        tuning.on_handshake(at(0), short);
        for _ in 0..1000 {
            tuning.on_echo(TICK, TICK);
        }
        assert_eq!(tuning.rtt(), Some(short));
    }

    #[test]
    fn without_timestamps_the_fastest_whole_window_is_the_bound() {
        let mut tuning = ReceiveAutotuning::new(at(0), 65_535, MSS);
        tuning.on_arrival(at(0), Offset(1), RightEdge(10_001));
        tuning.on_arrival(at(60), Offset(5_001), RightEdge(15_001));
        assert_eq!(tuning.rtt(), None);
        tuning.on_arrival(at(120), Offset(10_001), RightEdge(20_001));
        assert_eq!(tuning.rtt(), Some(Duration::from_millis(120)));
        tuning.on_arrival(at(200), Offset(20_001), RightEdge(30_001));
        tuning.on_arrival(at(900), Offset(30_001), RightEdge(40_001));
        assert_eq!(tuning.rtt(), Some(Duration::from_millis(80)));
    }

    #[test]
    fn no_amount_overflows() {
        let mut tuning = tuning();
        let window = tuning.on_read(at(100), Counting::Arrived, in_order(u64::MAX, 0), MSS);
        assert_eq!(window, Some(u64::MAX));
    }
}
