//! Pacing: segments leave spread over the round trip instead of in bursts.
//!
//! A release of `L` octets at `n` octets per `t` delays the next one by `L·t/n`. If the sender
//! waited for the release time, the schedule continues from that time and not from the clock. A
//! driver called late by less than [`LATENESS`] loses nothing. The remainder of the division is
//! carried, so a constant rate is exact to the octet indefinitely. A sender that had nothing to
//! release, or no window for it, begins a new schedule and accumulates no burst.
//!
//! The rate is that of the congestion control if it has one, as BBR does. Otherwise it is a
//! multiple of `cwnd / SRTT`, as in Linux (`tcp_update_pacing_rate`). The default factor is 2.0
//! while cwnd is below half of ssthresh, else 1.2. The profile sets both factors. So pacing
//! follows the window and is never the limit for longer than a fraction of the round trip. One
//! release is the octets of one millisecond (`tcp_tso_autosize`), from `tso_min_segments` up to a
//! super-segment: fewer releases cost less, smaller ones are less bursty.
//!
//! RTTs are unaffected: they are measured from the time a segment really left. The first window
//! (RFC 6928) leaves in one burst, as in Linux: pacing it would cost a short transfer most of a
//! round trip.

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::MAX_SUPER_SEGMENT;

/// Lag behind the schedule that a sender may catch up: lateness of a coarse timer. A larger lag is
/// dropped, not made up by a burst.
const LATENESS: Duration = Duration::from_millis(1);

/// Time whose octets may leave in one release.
const QUANTUM: Duration = Duration::from_millis(1);

/// Pacing rate as a fraction, so that it needs no division before a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Time in which `octets` leave, in nanoseconds.
    nanos: u64,
    octets: u64,
}

impl Pace {
    /// Pace of a rate in bits per second; `None` for zero.
    pub fn from_rate(rate: Rate) -> Option<Self> {
        Self::new(8_000_000_000, rate.as_bps())
    }

    /// Pace of `percent` of a window per RTT; `None` while either is unknown.
    pub fn from_window(window: u64, srtt: Duration, percent: u32) -> Option<Self> {
        Self::new(
            srtt.as_nanos().saturating_mul(100),
            window.saturating_mul(u64::from(percent)),
        )
    }

    fn new(nanos: u64, octets: u64) -> Option<Self> {
        (nanos > 0 && octets > 0).then_some(Self { nanos, octets })
    }

    /// Slower of the two.
    pub fn at_most(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if other.rate() < self.rate() => other,
            _ => self,
        }
    }

    /// Pace in bits per second, rounded down.
    pub fn rate(self) -> Rate {
        Rate::from_amount(Bytes::new(self.octets), Duration::from_nanos(self.nanos))
    }

    /// Octets of one release: those of a millisecond. More on a very short path, where single
    /// segments gain nothing (Linux since 5.18). At least two segments and at most a
    /// super-segment.
    pub fn quantum(self, least: u64, min_rtt: Option<Duration>) -> u64 {
        let most = MAX_SUPER_SEGMENT as u64;
        let of_time = self.octets.saturating_mul(QUANTUM.as_nanos()) / self.nanos;
        let short = min_rtt.map_or(0, |rtt| {
            most.checked_shr((rtt.as_nanos() >> 19) as u32).unwrap_or(0)
        });
        of_time.saturating_add(short).max(least).min(most)
    }
}

/// Schedule of releases.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Time of the next release.
    next: Instant,
    /// Time at which the driver has to return; far future while nothing waits.
    wake: Instant,
    /// Whether the next release has waited for its time.
    waited: bool,
    /// Remainder of the last division.
    carry: u64,
}

impl Pacer {
    /// A schedule without releases.
    pub fn new() -> Self {
        Self {
            next: Instant::ZERO,
            wake: Instant::FAR_FUTURE,
            waited: false,
            carry: 0,
        }
    }

    /// Time of the next release.
    #[inline]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Time at which the driver has to return.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.wake
    }

    /// Whether a release is waiting for its time.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.wake != Instant::FAR_FUTURE
    }

    /// Notes that no segment waits: the driver returned, or something else decides.
    #[inline]
    pub fn disarm(&mut self) {
        self.wake = Instant::FAR_FUTURE;
    }

    /// Handles a passed deadline.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.wake <= now {
            self.disarm();
        }
    }

    /// Returns whether a segment that could leave now has to wait, and records it.
    #[inline]
    pub fn holds(&mut self, now: Instant) -> bool {
        if now >= self.next {
            return false;
        }
        self.wake = self.next;
        self.waited = true;
        true
    }

    /// Notes that `octets` left at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, octets: u64, pace: Pace) {
        // A remainder belongs to its denominator. After a change of pace it is worth less than a
        // nanosecond in either.
        let carry = self.carry.min(pace.octets - 1);
        let exact = octets.saturating_mul(pace.nanos).saturating_add(carry);
        self.carry = exact % pace.octets;
        let span = Duration::from_nanos(exact / pace.octets);
        let base = if self.waited {
            let earliest = now.as_nanos().saturating_sub(LATENESS.as_nanos());
            self.next.max(Instant::from_nanos(earliest))
        } else {
            now.max(self.next)
        };
        self.next = base + span;
        // Still behind: the next release has also waited.
        self.waited &= self.next <= now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1448;

    fn gigabit() -> Pace {
        Pace::from_rate(Rate::from_bps(1_000_000_000)).unwrap()
    }

    /// Releases pieces of `octets` whenever allowed, woken `late` each time. Returns the time of
    /// the last of `count`.
    fn last_release(pace: Pace, octets: u64, count: u64, late: Duration) -> Instant {
        let mut pacer = Pacer::new();
        let mut now = Instant::from_nanos(5);
        for n in 0..count {
            if pacer.holds(now) {
                now = pacer.deadline() + late;
                pacer.handle_timeout(now);
                assert!(!pacer.holds(now));
            }
            if n == 0 {
                assert_eq!(now, Instant::from_nanos(5));
            }
            pacer.on_sent(now, octets, pace);
        }
        now
    }

    #[test]
    fn a_million_releases_at_a_constant_rate_keep_it_to_the_nanosecond() {
        // 1001 octets at 7 Gbit/s take 1144 ns: a rate without whole numbers.
        let pace = Pace::from_rate(Rate::from_bps(7_000_000_001)).unwrap();
        let count = 1_000_000;
        let last = last_release(pace, 1001, count + 1, Duration::ZERO);
        let exact = u128::from(count) * 1001 * 8_000_000_000 / 7_000_000_001;
        assert_eq!(u128::from(last.as_nanos() - 5), exact);
    }

    #[test]
    fn a_driver_that_is_always_late_keeps_the_rate() {
        let late = Duration::from_micros(900);
        let on_time = last_release(gigabit(), 65_160, 1000, Duration::ZERO);
        let lagging = last_release(gigabit(), 65_160, 1000, late);
        assert!(lagging - on_time <= late);
    }

    #[test]
    fn a_sender_that_did_not_wait_saves_nothing_up() {
        let mut pacer = Pacer::new();
        pacer.on_sent(Instant::from_nanos(0), 12_500, gigabit());
        // Ten seconds later a retransmission is due.
        let later = Instant::from_nanos(10_000_000_000);
        assert!(!pacer.holds(later));
        pacer.on_sent(later, 12_500, gigabit());
        assert_eq!(pacer.next() - later, Duration::from_micros(100));
    }

    #[test]
    fn a_long_sleep_is_forgiven_and_not_made_good() {
        let mut pacer = Pacer::new();
        pacer.on_sent(Instant::from_nanos(0), 12_500, gigabit());
        assert!(pacer.holds(Instant::from_nanos(1)));
        let later = Instant::from_nanos(10_000_000_000);
        pacer.on_sent(later, 12_500, gigabit());
        assert_eq!(later - pacer.next(), LATENESS - Duration::from_micros(100));
    }

    #[test]
    fn the_quantum_is_a_millisecond_within_two_segments_and_a_super_segment() {
        let quantum = |bps| {
            let pace = Pace::from_rate(Rate::from_bps(bps)).unwrap();
            pace.quantum(2 * SMSS, Some(Duration::from_millis(80)))
        };
        assert_eq!(quantum(1_000_000), 2 * SMSS);
        assert_eq!(quantum(100_000_000), 12_500);
        assert_eq!(quantum(1_000_000_000), MAX_SUPER_SEGMENT as u64);
        let slow = Pace::from_rate(Rate::from_bps(1_000_000)).unwrap();
        let near = Some(Duration::from_micros(50));
        assert_eq!(slow.quantum(2 * SMSS, near), MAX_SUPER_SEGMENT as u64);
    }

    #[test]
    fn the_pace_of_a_window_is_its_share_of_a_round_trip() {
        let rtt = Duration::from_millis(80);
        let pace = Pace::from_window(10_000_000, rtt, 120).unwrap();
        assert_eq!(pace.rate(), Rate::from_bps(1_200_000_000));
        assert_eq!(Pace::from_window(10_000_000, Duration::ZERO, 120), None);
        assert_eq!(Pace::from_window(0, rtt, 120), None);
        assert_eq!(Pace::from_rate(Rate::ZERO), None);
    }

    #[test]
    fn no_amount_and_no_time_overflows() {
        let mut pacer = Pacer::new();
        let years = Duration::from_nanos(u64::MAX);
        let pace = Pace::from_window(1, years, 1).unwrap();
        pacer.on_sent(Instant::from_nanos(1), u64::MAX, pace);
        assert!(pacer.holds(Instant::from_nanos(u64::MAX / 2)));
        let wide = Pace::from_window(u64::MAX, Duration::from_nanos(1), 1000).unwrap();
        assert_eq!(wide.quantum(2 * SMSS, None), MAX_SUPER_SEGMENT as u64);
    }
}
