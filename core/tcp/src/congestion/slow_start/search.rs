//! SEARCH: slow start exit at the right choke point (draft-chung-ccwg-search,
//! as of version 04, "SEARCH 3"; the line numbers are those of its algorithm).
//!
//! In slow start what is delivered doubles every round-trip time. When it no
//! longer does, the path is full, whatever its delay does: on radio links,
//! where delay jumps without congestion, this is the surer sign.
//!
//! * Delivered octets are noted in bins of 0.35 first round-trip times, ten of
//!   which make a window of 3.5 (lines 1 to 6).
//! * At the end of a bin, the window that ends now (`curr_delv`) is compared
//!   with the one that ended a round-trip time ago (`prev_delv`, interpolated
//!   between two bins): `norm_diff` = (2·`prev_delv` − `curr_delv`)/(2·`prev_delv`).
//!   At 0.35 and above slow start is over (lines 12 to 20).
//! * That is about two round-trip times late, so that cwnd is reduced by what
//!   was delivered in two first round-trip times, and ssthresh = cwnd (lines 39
//!   to 42); not below the initial window.
//!
//! Bins hold running totals, so that a sum is a difference. A silence of more
//! than a whole window makes the bins stale: the search starts over.
//!
//! Not here: version 09 of the draft, which compares with octets sent instead
//! of delivered, at 0.26, and lowers cwnd little by little. Without enough
//! bins to look back over a grown round-trip time (4.9 times the first) the
//! search is blind, as in the draft; loss then ends slow start.

use gigatcp_units::{Duration, Instant};

use super::super::Ack;

/// W: bins in a window.
const W: u64 = 10;
/// Bins more, to look a round-trip time back: `EXTRA_BINS`.
const EXTRA_BINS: u64 = 15;
/// Bins kept: both ends of a window are needed, and one more to interpolate.
const NUM_BINS: usize = (W + EXTRA_BINS + 2) as usize;
/// Window in hundredths of the first round-trip time.
const WINDOW_PERCENT: u64 = 350;
/// THRESH in hundredths.
const THRESH_PERCENT: u128 = 35;

/// What an ACK showed: slow start is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Choke {
    /// Octets delivered since the path was full.
    pub(super) overshoot: u64,
}

/// The bins.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// Octets delivered up to the end of each bin, by number of the bin.
    bins: [u64; NUM_BINS],
    /// Octets delivered so far.
    delivered: u64,
    /// `BIN_DURATION`; zero before the first round-trip time.
    bin_duration: Duration,
    /// First round-trip time.
    initial_rtt: Duration,
    bin_end: Instant,
    /// Number of the newest complete bin: `curr_idx`, from 0.
    newest: u64,
}

impl Search {
    pub(super) fn new() -> Self {
        Self {
            bins: [0; NUM_BINS],
            delivered: 0,
            bin_duration: Duration::ZERO,
            initial_rtt: Duration::ZERO,
            bin_end: Instant::ZERO,
            newest: 0,
        }
    }

    /// An ACK (lines 10 to 23). Answers whether the path is full.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<Choke> {
        self.delivered = self.delivered.saturating_add(ack.acked.as_u64());
        let rtt = ack.rtt?;
        if self.bin_duration.is_zero() {
            self.begin(ack.now, rtt);
            return None;
        }
        if ack.now <= self.bin_end {
            return None;
        }
        self.update_bins(ack.now, rtt).then_some(())?;
        self.check(rtt)
    }

    /// The first bin begins (lines 1 to 9).
    fn begin(&mut self, now: Instant, rtt: Duration) {
        self.initial_rtt = rtt;
        let window = rtt.saturating_mul(WINDOW_PERCENT) / 100;
        self.bin_duration = (window / W).max(Duration::from_micros(1));
        self.bin_end = now + self.bin_duration;
        self.newest = 0;
        self.bins[0] = self.delivered;
    }

    /// Closes the bins that have passed (lines 24 to 31). Answers whether what
    /// they hold is still of use.
    fn update_bins(&mut self, now: Instant, rtt: Duration) -> bool {
        let late = now.saturating_since(self.bin_end).as_nanos();
        let passed = late / self.bin_duration.as_nanos() + 1;
        if passed > W {
            self.begin(now, rtt);
            return false;
        }
        let before = self.bins[slot(self.newest)];
        for skipped in 1..passed {
            self.bins[slot(self.newest + skipped)] = before;
        }
        self.newest += passed;
        self.bins[slot(self.newest)] = self.delivered;
        self.bin_end += self.bin_duration.saturating_mul(passed);
        true
    }

    /// Compares the windows, where there are bins enough (lines 12 to 20).
    fn check(&self, rtt: Duration) -> Option<Choke> {
        let bin = self.bin_duration.as_nanos();
        let back = rtt.as_nanos() / bin;
        // One bin more than the window, for the interpolation.
        if back >= EXTRA_BINS || self.newest < back + W + 1 {
            return None;
        }
        let current = self.delivered_in(self.newest - W, self.newest);
        let previous = self.newest - back;
        let later = self.delivered_in(previous - W, previous);
        let earlier = self.delivered_in(previous - W - 1, previous - 1);
        let fraction = rtt.as_nanos() % bin;
        let previous = (u128::from(earlier) * u128::from(fraction)
            + u128::from(later) * u128::from(bin - fraction))
            / u128::from(bin);
        is_full(2 * previous, u128::from(current)).then(|| Choke {
            overshoot: self.overshoot(),
        })
    }

    /// What was delivered in the last two first round-trip times (lines 39
    /// and 40).
    fn overshoot(&self) -> u64 {
        let back = self.initial_rtt.as_nanos() * 2 / self.bin_duration.as_nanos();
        self.delivered_in(self.newest - back.min(W), self.newest)
    }

    /// Octets delivered from the end of one bin to the end of another.
    fn delivered_in(&self, from: u64, to: u64) -> u64 {
        self.bins[slot(to)] - self.bins[slot(from)]
    }
}

/// Where the bin of that number is kept.
fn slot(bin: u64) -> usize {
    (bin % NUM_BINS as u64) as usize
}

/// Whether `norm_diff` of lines 18 and 19 has reached THRESH.
fn is_full(expected: u128, delivered: u128) -> bool {
    expected > 0 && expected.saturating_sub(delivered) * 100 >= expected * THRESH_PERCENT
}

#[cfg(test)]
mod tests {
    use super::super::testing::ack_at;
    use super::*;
    use gigatcp_units::Bytes;

    const RTT_US: u64 = 100_000;

    /// Delivers 64 pieces per round-trip time, `per_round(n)` octets in round
    /// n; gives the round in which the search ends.
    fn run(
        search: &mut Search,
        per_round: impl Fn(u32) -> u64,
        rounds: u32,
    ) -> Option<(u32, Choke)> {
        for round in 0..rounds {
            for piece in 0..64 {
                let at = u64::from(round) * RTT_US + piece * RTT_US / 64;
                let ack = Ack {
                    acked: Bytes::new(per_round(round) / 64),
                    ..ack_at(at, RTT_US)
                };
                if let Some(choke) = search.on_ack(&ack) {
                    return Some((round, choke));
                }
            }
        }
        None
    }

    #[test]
    fn the_drafts_example_windows_give_0_27_and_0_5() {
        // Section "Threshold": 4+8+16+16 after 2+4+8+16, capacity just reached.
        let norm_diff = |previous: f64, current: f64| (2.0 * previous - current) / (2.0 * previous);
        assert_eq!(libm::round(norm_diff(30.0, 44.0) * 100.0), 27.0);
        assert!(!is_full(60, 44));
        // A round later: 8+16+16+16 after 4+8+16+16.
        assert!(is_full(88, 56));
        // Five round trips later all are 16.
        assert!(is_full(128, 64));
        assert!(!is_full(60, 60) && !is_full(60, 90) && !is_full(0, 0));
        assert!(is_full(100, 65) && !is_full(100, 66));
    }

    #[test]
    fn bins_are_0_35_first_round_trip_times() {
        let mut search = Search::new();
        search.begin(Instant::ZERO, Duration::from_micros(RTT_US));
        assert_eq!(search.bin_duration, Duration::from_millis(35));
    }

    #[test]
    fn doubling_delivery_never_ends_slow_start() {
        let mut search = Search::new();
        assert_eq!(run(&mut search, |round| 64 << round, 40), None);
    }

    #[test]
    fn delivery_that_stops_doubling_ends_it_within_two_to_three_round_trips() {
        for full in [6, 10, 14] {
            let mut search = Search::new();
            let delivery = |round: u32| 6400 << round.min(full);
            let (round, choke) = run(&mut search, delivery, 40).expect("it ends");
            assert!((full + 1..=full + 3).contains(&round), "{full}: {round}");
            // Two round trips at the rate of the path, by whole bins of 0.35.
            let two_rounds = 2 * delivery(full);
            let share = choke.overshoot as f64 / two_rounds as f64;
            assert!((0.6..=1.05).contains(&share), "{share}");
        }
    }

    #[test]
    fn a_long_silence_starts_the_search_over() {
        let mut search = Search::new();
        assert_eq!(run(&mut search, |round| 64 << round, 10), None);
        let after = ack_at(30 * RTT_US, RTT_US);
        assert_eq!(search.on_ack(&after), None);
        assert_eq!(search.newest, 0);
        assert_eq!(search.bins[0], search.delivered);
    }

    #[test]
    fn a_round_trip_time_beyond_the_bins_ends_nothing() {
        let mut search = Search::new();
        run(&mut search, |round| 6400 << round.min(3), 5);
        for bin in 0..100 {
            let ack = ack_at(6 * RTT_US + bin * 36_000, 15 * 35_000);
            assert_eq!(search.on_ack(&ack), None);
        }
    }
}
