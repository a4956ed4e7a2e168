//! How large the receive buffer should be: dynamic right-sizing (Fisk and Feng
//! 2001), with the growth of Linux (`tcp_rcv_space_adjust`).
//!
//! Once per round trip the receiver asks how much the application took in it:
//! that is what the window has to be. A sender in slow start doubles it by the
//! next one, and what is offered now is used up one round trip later still, so
//! with `copied` octets now and `space` in the best round trip before:
//!
//! > window = (2 copied + 16 MSS) (1 + 2 (copied - space) / space)
//!
//! that is six times what was taken while it doubles, and twice at rest.
//!
//! What is not yet read does not count as taken (while it is much, nothing is
//! concluded: an application reads in pieces), and what was read over several
//! round trips counts for one: an application that is slow, or that sleeps and
//! then takes everything, is no reason for a larger buffer. Nor is a hole that
//! is filled at last: what waited beyond it counts for when it arrived. (Linux
//! counts what was read, whenever it came, and grows with each loss.)
//!
//! The round-trip time of a host that only receives comes from the echoes of
//! its own timestamps (`tcp_rcv_rtt_measure_ts`), and before the first of them
//! from the handshake. An echo spans a number of ticks of the clock, give or take
//! one; a sender that paused makes its next echo old. So an estimate falls at
//! once, rises by an eighth at most per echo, and one that the echo does not
//! contradict stays as it is. Without timestamps the handshake's stands, or the
//! time in which a whole window arrives: never less than a round trip.
//!
//! The buffer only grows; its bounds are the profile's.

use gigatcp_units::{Duration, Instant};

use crate::space::{Offset, RightEdge};

/// Octets the window has over what was taken, in segments.
const SLACK_SEGMENTS: u64 = 16;

/// The part of what was read that may be left unread, as a divisor.
const MOST_UNREAD: u64 = 8;

/// Segments a first window is taken to have.
const FIRST_SEGMENTS: u64 = 10;

/// What has been measured.
#[derive(Clone, Debug)]
pub struct ReceiveAutotuning {
    /// Round-trip time as the receiver sees it.
    rtt: Option<Duration>,
    /// The newest echo it was taken from.
    last_echo: u32,
    /// When the measurement in progress began, and what had arrived by then.
    since: Instant,
    from: u64,
    /// When it ends at the earliest.
    until: Instant,
    /// Most octets taken in a round trip so far.
    space: u64,
    /// Without timestamps: where a whole window has arrived, and since when.
    whole_window: (u64, Instant),
}

impl ReceiveAutotuning {
    /// Begins to measure at `now`, with a window of `window` octets.
    pub fn new(now: Instant, window: u64, mss: u64) -> Self {
        Self {
            rtt: None,
            last_echo: 0,
            since: now,
            from: 1,
            until: now,
            space: window.min(FIRST_SEGMENTS * mss).max(1),
            whole_window: (u64::MAX, now),
        }
    }

    /// The round-trip time, if it is known.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Most octets taken in a round trip so far.
    pub fn space(&self) -> u64 {
        self.space
    }

    /// The handshake took so long.
    pub fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.rtt = Some(rtt);
        self.since = now;
        self.until = now + rtt;
    }

    /// Data came with the echo `ecr`; whether it is the first with it.
    #[inline]
    pub fn is_new_echo(&mut self, ecr: u32) -> bool {
        core::mem::replace(&mut self.last_echo, ecr) != ecr
    }

    /// A new echo is `ticks` old: the round trip took that long, less or more
    /// by up to a tick.
    pub fn on_echo(&mut self, age: Duration, tick: Duration) {
        let (least, most) = (age.saturating_sub(tick), age + tick);
        self.rtt = Some(match self.rtt {
            Some(rtt) if rtt > most => most,
            Some(rtt) if rtt < least => rtt + (age.min(rtt * 2) - rtt).min(rtt) / 8,
            Some(rtt) => rtt,
            None => age,
        });
    }

    /// Without timestamps: RCV.NXT is at `nxt` and the window ends at `edge`.
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

    /// The application has read. `arrived` octets have come so far, in order or
    /// not, of which it could read `unread` more. Gives the window the buffer
    /// should back, where that is news.
    #[inline]
    pub fn on_read(&mut self, now: Instant, arrived: u64, unread: u64, mss: u64) -> Option<u64> {
        if now < self.until {
            return None;
        }
        self.measure(now, arrived, unread, mss)
    }

    fn measure(&mut self, now: Instant, arrived: u64, unread: u64, mss: u64) -> Option<u64> {
        let rtt = self.rtt?;
        let elapsed = now.saturating_since(self.since);
        if elapsed < rtt {
            // The round trip has turned out longer than it was taken for.
            self.until = self.since + rtt;
            return None;
        }
        let read = arrived.saturating_sub(unread);
        let read_since = read.saturating_sub(self.from);
        if unread.saturating_mul(MOST_UNREAD) > read_since {
            // The application is at it: what it takes shows when it is done.
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

/// `amount` times `part` of `whole`.
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

    #[test]
    fn a_reader_that_doubles_gets_six_times_what_it_took_and_one_at_rest_twice() {
        let mut tuning = tuning();
        assert_eq!(tuning.on_read(at(99), 20_001, 0, MSS), None);
        // Ten segments were expected, twenty taken.
        let window = tuning.on_read(at(100), 20_001, 0, MSS);
        assert_eq!(window, Some(3 * (2 * 20_000 + 16 * MSS)));
        // The same again is no news.
        assert_eq!(tuning.on_read(at(200), 40_001, 0, MSS), None);
        let window = tuning.on_read(at(300), 60_201, 0, MSS);
        assert_eq!(window, Some(40_400 + 16_000 + 2 * (56_400 * 200 / 20_000)));
    }

    #[test]
    fn what_is_not_read_and_what_took_longer_does_not_count() {
        let mut tuning = tuning();
        assert_eq!(tuning.on_read(at(100), 20_001, 15_000, MSS), None);
        // A second's sleep, then all of it: a tenth of that per round trip.
        assert_eq!(tuning.on_read(at(1000), 100_001, 0, MSS), None);
        let window = tuning.on_read(at(2000), 300_001, 0, MSS);
        assert_eq!(window, Some(3 * (2 * 20_000 + 16 * MSS)));
    }

    #[test]
    fn an_estimate_falls_at_once_and_is_not_led_astray_by_one_old_echo() {
        let mut tuning = tuning();
        tuning.on_echo(Duration::from_millis(80), TICK);
        assert_eq!(tuning.rtt(), Some(Duration::from_millis(81)));
        // The tick of the clock contradicts nothing.
        tuning.on_echo(Duration::from_millis(82), TICK);
        assert_eq!(tuning.rtt(), Some(Duration::from_millis(81)));
        // A sender that had paused for an hour.
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
        let window = tuning.on_read(at(100), u64::MAX, 0, MSS);
        assert_eq!(window, Some(u64::MAX));
    }
}
