//! SEARCH: slow start exit at the right choke point.
//!
//! draft-chung-ccwg-search-09, section 3.2; "SEARCH 4.0" of its authors, whose code determined
//! what the draft leaves open. In slow start the amount sent doubles every RTT. As long as the
//! path is not full, all of it is delivered one RTT later. When less is delivered, the path is
//! full, whatever its delay does. On radio links, where delay jumps without congestion, this
//! signal is more reliable.
//!
//! * Octets sent and delivered are counted in bins of 0.35 first RTTs; ten bins make a window of
//!   3.5.
//! * At the end of a bin the window delivered until now (`curr_delv`) is compared with the one
//!   sent until one RTT ago (`prev_sent`, interpolated between two bins): `norm_diff` =
//!   (`prev_sent` − `curr_delv`) / `prev_sent`. At 0.26 and above the search is over.
//! * By then more is in flight than the path holds. cwnd is reduced, with one segment sent for
//!   three delivered, to the amount delivered in the last first RTT: what the path holds with an
//!   empty queue. Then ssthresh = cwnd, at least the initial window. Congestion during the
//!   reduction ends it, too.
//!
//! An application or a receiver that is slower than the path does not end slow start, since only
//! sent data is compared. (Up to version 04 the draft compared with twice what had been
//! delivered, and ended.)
//!
//! Bins hold running totals, so that a sum is a difference. After idle time longer than a window
//! the bins are stale: the search restarts (an option in the draft), with the current RTT as
//! first RTT.
//!
//! The draft interpolates towards the later of two bins. The code of its authors and this one
//! take the earlier, which is where one RTT ago lies.
//!
//! The signal is late. Five RTTs after the path became full its queue holds four times what the
//! path holds. With a shorter queue there is loss first.
//!
//! Out of scope: bins of 16 bits that are shifted as totals grow, which save 180 octets. Without
//! enough bins to look back over a grown RTT (5.2 times the first) the search does not work, as
//! in the draft; loss then ends slow start.

use gigatcp_units::{Duration, Instant};

use super::super::Ack;

/// W: number of bins in a window.
const W: u64 = 10;
/// Additional bins, to look one RTT back: `EXTRA_BINS`.
const EXTRA_BINS: u64 = 15;
/// Bins of delivered octets: both ends of a window.
const NUM_ACKED_BINS: usize = (W + 1) as usize;
/// Bins of sent octets.
const NUM_SENT_BINS: usize = NUM_ACKED_BINS + EXTRA_BINS as usize;
/// Window in hundredths of the first RTT.
const WINDOW_PERCENT: u64 = 350;
/// THRESH in hundredths.
const THRESH_PERCENT: u128 = 26;
/// Segments that must be delivered for one to be sent, while cwnd is reduced.
const DELIVERED_PER_SENT: u64 = 3;

/// Result of the search for one ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finding {
    /// Slow start continues.
    Open,
    /// The path is full: the window, while it is reduced.
    Drain(u64),
    /// Slow start ends at this window.
    End(u64),
}

/// Current window and its minimum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) cwnd: u64,
    pub(super) smss: u64,
    /// Minimum of the window.
    pub(super) least: u64,
}

/// Reduction of cwnd after the path was found full.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Window at its end.
    target: u64,
    /// Octets delivered for which no segment was sent yet.
    credit: u64,
}

impl Drain {
    /// Window after an ACK. It allows the data in flight and one segment for three delivered.
    fn on_ack(&mut self, ack: &Ack, window: Window) -> Finding {
        let acked = ack.acked.as_u64();
        self.credit = self.credit.saturating_add(acked);
        let price = window.smss * DELIVERED_PER_SENT;
        let allowance = (self.credit / price).saturating_mul(window.smss);
        self.credit %= price;
        let in_flight = ack.prior_in_flight.as_u64().saturating_sub(acked);
        let room = in_flight.saturating_add(allowance).min(window.cwnd);
        // SMSS may have grown since the target was set.
        let target = self.target.max(window.least);
        if room <= target {
            Finding::End(target.min(window.cwnd))
        } else {
            Finding::Drain(room)
        }
    }
}

/// State of SEARCH.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// Octets delivered up to the end of each bin, by bin number.
    acked_bins: [u64; NUM_ACKED_BINS],
    /// Octets sent up to the end of each bin.
    sent_bins: [u64; NUM_SENT_BINS],
    /// Octets delivered so far.
    delivered: u64,
    /// Octets sent so far.
    sent: u64,
    /// `BIN_DURATION`; zero before the first RTT.
    bin_duration: Duration,
    bin_end: Instant,
    /// Number of the newest complete bin: `curr_idx`, from 0.
    newest: u64,
    drain: Option<Drain>,
}

impl Search {
    pub(super) fn new() -> Self {
        Self {
            acked_bins: [0; NUM_ACKED_BINS],
            sent_bins: [0; NUM_SENT_BINS],
            delivered: 0,
            sent: 0,
            bin_duration: Duration::ZERO,
            bin_end: Instant::ZERO,
            newest: 0,
            drain: None,
        }
    }

    /// Handles an ACK.
    pub(super) fn on_ack(&mut self, ack: &Ack, window: Window) -> Finding {
        if let Some(drain) = &mut self.drain {
            return drain.on_ack(ack, window);
        }
        if !self.is_full(ack) {
            return Finding::Open;
        }
        let target = self.delivered_in_a_first_round_trip().max(window.least);
        if target >= window.cwnd {
            return Finding::End(window.cwnd);
        }
        self.drain = Some(Drain { target, credit: 0 });
        Finding::Drain(window.cwnd)
    }

    /// Counts an ACK; returns whether the path is full.
    fn is_full(&mut self, ack: &Ack) -> bool {
        // All that was sent is delivered or in flight. SACKed data is temporarily neither, so the
        // total must not decrease.
        let sent = self.delivered.saturating_add(ack.prior_in_flight.as_u64());
        self.sent = self.sent.max(sent);
        self.delivered = self.delivered.saturating_add(ack.acked.as_u64());
        let Some(rtt) = ack.rtt else {
            return false;
        };
        if self.bin_duration.is_zero() {
            self.begin(ack.now, rtt);
            return false;
        }
        ack.now > self.bin_end && self.update_bins(ack.now, rtt) && self.has_choked(rtt)
    }

    /// Begins the first bin.
    fn begin(&mut self, now: Instant, rtt: Duration) {
        let window = rtt.saturating_mul(WINDOW_PERCENT) / 100;
        self.bin_duration = (window / W).max(Duration::from_micros(1));
        self.bin_end = now + self.bin_duration;
        self.newest = 0;
        self.note();
    }

    /// Closes the newest bin with the totals delivered and sent until now.
    fn note(&mut self) {
        self.acked_bins[slot::<NUM_ACKED_BINS>(self.newest)] = self.delivered;
        self.sent_bins[slot::<NUM_SENT_BINS>(self.newest)] = self.sent;
    }

    /// Closes the bins that have passed; returns whether their data is still valid.
    fn update_bins(&mut self, now: Instant, rtt: Duration) -> bool {
        let late = now.saturating_since(self.bin_end).as_nanos();
        debug_assert!(
            !self.bin_duration.is_zero() && now >= self.bin_end,
            "at {now:?} a bin of {:?} ends at {:?}",
            self.bin_duration,
            self.bin_end
        );
        let passed = late / self.bin_duration.as_nanos() + 1;
        if passed > W {
            self.begin(now, rtt);
            return false;
        }
        let acked = self.acked_bins[slot::<NUM_ACKED_BINS>(self.newest)];
        let sent = self.sent_bins[slot::<NUM_SENT_BINS>(self.newest)];
        for skipped in self.newest + 1..self.newest + passed {
            self.acked_bins[slot::<NUM_ACKED_BINS>(skipped)] = acked;
            self.sent_bins[slot::<NUM_SENT_BINS>(skipped)] = sent;
        }
        self.newest += passed;
        self.note();
        self.bin_end += self.bin_duration.saturating_mul(passed);
        true
    }

    /// Compares the windows, if there are enough bins.
    fn has_choked(&self, rtt: Duration) -> bool {
        let bin = self.bin_duration.as_nanos();
        let back = rtt.as_nanos() / bin;
        // One bin more than the window, for the interpolation.
        if back >= EXTRA_BINS || self.newest < back + W + 1 {
            return false;
        }
        let previous = self.newest - back;
        let later = self.sent_in(previous - W, previous);
        let earlier = self.sent_in(previous - W - 1, previous - 1);
        let fraction = rtt.as_nanos() % bin;
        let previous = (u128::from(earlier) * u128::from(fraction)
            + u128::from(later) * u128::from(bin - fraction))
            / u128::from(bin);
        let current = self.delivered_in(self.newest - W, self.newest);
        is_short(previous, u128::from(current))
    }

    /// What the path holds: octets delivered in the last first RTT, in whole bins.
    fn delivered_in_a_first_round_trip(&self) -> u64 {
        let bins = (100 * W).div_ceil(WINDOW_PERCENT);
        self.delivered_in(self.newest - bins, self.newest)
    }

    /// Octets delivered from the end of one bin to the end of another.
    fn delivered_in(&self, from: u64, to: u64) -> u64 {
        let total = |bin| self.acked_bins[slot::<NUM_ACKED_BINS>(bin)];
        total(to) - total(from)
    }

    /// Octets sent from the end of one bin to the end of another.
    fn sent_in(&self, from: u64, to: u64) -> u64 {
        let total = |bin| self.sent_bins[slot::<NUM_SENT_BINS>(bin)];
        total(to) - total(from)
    }
}

/// Index of a bin among `BINS`.
fn slot<const BINS: usize>(bin: u64) -> usize {
    (bin % BINS as u64) as usize
}

/// Whether `norm_diff` has reached THRESH.
fn is_short(sent: u128, delivered: u128) -> bool {
    sent > 0 && sent.saturating_sub(delivered) * 100 >= sent * THRESH_PERCENT
}

#[cfg(test)]
mod tests {
    use super::super::testing::ack_at;
    use super::*;
    use alloc::collections::VecDeque;
    use gigatcp_units::Bytes;

    const SMSS: u64 = 1000;
    /// Time steps of an RTT, in each of which data is sent and delivered.
    const MOMENTS: u64 = 64;
    const MOMENT_US: u64 = 1250;
    const RTT_US: u64 = MOMENTS * MOMENT_US;
    const INITIAL_WINDOW: u64 = 10 * SMSS;

    /// A sender in slow start, a bottleneck with an unlimited queue, and the reverse path.
    struct Path {
        search: Search,
        cwnd: u64,
        /// Octets that the bottleneck forwards in a time step.
        rate: u64,
        /// Octets the application writes, or the receiver allows, in flight.
        allowed: u64,
        sent: u64,
        delivered: u64,
        /// Octets queued at the bottleneck, with the time step when they were sent.
        queue: VecDeque<(u64, u64)>,
        /// Octets forwarded in each time step and not yet acknowledged. With the time step when
        /// the last of them was sent.
        under_way: VecDeque<(u64, u64)>,
        moment: u64,
    }

    impl Path {
        fn new(rate: u64) -> Self {
            Self {
                search: Search::new(),
                cwnd: INITIAL_WINDOW,
                rate,
                allowed: u64::MAX,
                sent: 0,
                delivered: 0,
                queue: VecDeque::new(),
                under_way: (0..MOMENTS).map(|_| (0, 0)).collect(),
                moment: 0,
            }
        }

        /// Bandwidth-delay product.
        fn bdp(&self) -> u64 {
            self.rate * MOMENTS
        }

        fn send(&mut self) {
            let in_flight = self.sent - self.delivered;
            let room = self.cwnd.min(self.allowed).saturating_sub(in_flight);
            self.sent += room;
            self.queue.push_back((room, self.moment));
        }

        /// Forwards what the bottleneck can in a time step.
        fn forward(&mut self) {
            let mut room = self.rate;
            let mut sent_at = self.moment;
            while room > 0
                && let Some((octets, at)) = self.queue.front_mut()
            {
                let part = room.min(*octets);
                *octets -= part;
                room -= part;
                sent_at = *at;
                if *octets == 0 {
                    self.queue.pop_front();
                }
            }
            self.under_way.push_back((self.rate - room, sent_at));
        }

        /// Runs until the window is the BDP.
        fn fill(&mut self) {
            while self.cwnd < self.bdp() {
                assert_eq!(self.pass(), Finding::Open);
            }
        }

        /// Runs one time step; returns the finding.
        fn pass(&mut self) -> Finding {
            self.send();
            self.forward();
            self.moment += 1;
            let (acked, sent_at) = self.under_way.pop_front().expect("something");
            if acked == 0 {
                return Finding::Open;
            }
            let rtt_us = (self.moment - sent_at) * MOMENT_US;
            let ack = Ack {
                acked: Bytes::new(acked),
                prior_in_flight: Bytes::new(self.sent - self.delivered),
                ..ack_at(self.moment * MOMENT_US, rtt_us)
            };
            self.delivered += acked;
            let window = Window {
                cwnd: self.cwnd,
                smss: SMSS,
                least: INITIAL_WINDOW,
            };
            let finding = self.search.on_ack(&ack, window);
            match finding {
                Finding::Open => self.cwnd += acked,
                Finding::Drain(cwnd) | Finding::End(cwnd) => self.cwnd = cwnd,
            }
            finding
        }

        /// Runs to the first finding of another kind; returns the rounds it took.
        fn pass_while(&mut self, goes_on: fn(Finding) -> bool, rounds: u64) -> Option<f64> {
            let begin = self.moment;
            let end = begin + rounds * MOMENTS;
            while self.moment < end {
                if !goes_on(self.pass()) {
                    return Some((self.moment - begin) as f64 / MOMENTS as f64);
                }
            }
            None
        }
    }

    fn opens(finding: Finding) -> bool {
        finding == Finding::Open
    }

    fn drains(finding: Finding) -> bool {
        matches!(finding, Finding::Drain(_))
    }

    #[test]
    fn a_window_in_which_the_path_fills_up_is_short_by_0_27() {
        // Four rounds of 4, 8, 16 and 32 were sent; the path passes 16.
        let norm_diff = |sent: f64, delivered: f64| (sent - delivered) / sent;
        assert_eq!(libm::round(norm_diff(60.0, 44.0) * 100.0), 27.0);
        assert!(is_short(60, 44));
        // One round before, all was delivered.
        assert!(!is_short(30, 30));
        assert!(is_short(100, 74) && !is_short(100, 75));
        assert!(!is_short(60, 90) && !is_short(0, 0));
    }

    #[test]
    fn bins_are_0_35_first_round_trip_times() {
        let mut search = Search::new();
        search.begin(Instant::ZERO, Duration::from_millis(100));
        assert_eq!(search.bin_duration, Duration::from_millis(35));
        assert_eq!((100 * W).div_ceil(WINDOW_PERCENT), 3);
    }

    #[test]
    fn a_path_without_end_is_never_full() {
        let mut path = Path::new(1 << 50);
        assert_eq!(path.pass_while(opens, 30), None);
        assert!(path.cwnd > 1 << 40);
    }

    #[test]
    fn a_path_that_is_full_is_noticed_within_five_round_trips_with_as_much_in_its_queue() {
        // While norm_diff rises to 0.26, the queue grows by a whole window and the RTT with it. A
        // path of rate C that became full at 0 then has a queue of 0.44 C + 3.9 C. A continuous
        // model gives 4.9 RTTs.
        for rate in [40_000, 400_000, 4_000_000] {
            let mut path = Path::new(rate);
            path.fill();
            let rounds = path.pass_while(opens, 40).expect("it ends");
            assert!((4.0..5.2).contains(&rounds), "{rate}: {rounds}");
            let held = path.cwnd as f64 / path.bdp() as f64;
            assert!((4.5..6.0).contains(&held), "{rate}: {held}");
            // 4.34 by the same model, plus the delay of a bin.
            let queued: u64 = path.queue.iter().map(|(octets, _)| octets).sum();
            let queued = queued as f64 / path.bdp() as f64;
            assert!((4.2..4.9).contains(&queued), "{rate}: {queued}");
        }
    }

    #[test]
    fn the_window_is_led_down_to_what_the_path_holds_and_never_up() {
        let mut path = Path::new(400_000);
        path.pass_while(opens, 40).expect("it ends");
        let (from, bdp) = (path.cwnd, path.bdp());
        assert!(from > 2 * bdp, "{from} of {bdp}");
        let (mut before, sent_before) = (from, path.sent);
        let delivered_before = path.delivered;
        loop {
            let finding = path.pass();
            assert!(path.cwnd <= before);
            before = path.cwnd;
            if !drains(finding) {
                assert_eq!(finding, Finding::End(path.cwnd));
                break;
            }
        }
        let share = path.cwnd as f64 / bdp as f64;
        assert!((0.95..1.1).contains(&share), "{share}");
        // A third of what is delivered meanwhile is sent: no pause.
        let sent = (path.sent - sent_before) as f64;
        let delivered = (path.delivered - delivered_before) as f64;
        assert!(
            (0.3..0.37).contains(&(sent / delivered)),
            "{sent} {delivered}"
        );
    }

    #[test]
    fn a_sender_that_writes_no_more_is_down_as_soon_as_its_excess_is_delivered() {
        let mut path = Path::new(400_000);
        path.pass_while(opens, 40).expect("it ends");
        path.allowed = 0;
        let excess = path.sent - path.delivered - path.bdp();
        let rounds = path.pass_while(drains, 20).expect("it ends");
        let needed = excess as f64 / path.bdp() as f64;
        assert!((rounds - needed).abs() < 0.2, "{rounds} for {needed}");
        let share = path.cwnd as f64 / path.bdp() as f64;
        assert!((0.95..1.1).contains(&share), "{share}");
    }

    #[test]
    fn a_receiver_or_application_slower_than_the_path_is_not_taken_for_its_end() {
        for allowed in [20 * SMSS, 200 * SMSS, 2000 * SMSS] {
            let mut path = Path::new(4_000_000);
            path.allowed = allowed;
            assert_eq!(path.pass_while(opens, 60), None, "{allowed}");
        }
    }

    #[test]
    fn the_way_does_not_lead_below_the_initial_window() {
        // The path holds six segments.
        let mut path = Path::new(100);
        path.pass_while(opens, 40).expect("it ends");
        path.pass_while(drains, 40);
        assert_eq!(path.cwnd, INITIAL_WINDOW);
    }

    #[test]
    fn the_way_does_not_lead_below_a_segment_that_has_grown_meanwhile() {
        let mut drain = Drain {
            target: SMSS,
            credit: 0,
        };
        let window = Window {
            cwnd: 9 * SMSS,
            smss: 9 * SMSS,
            least: 9 * SMSS,
        };
        let finding = drain.on_ack(&ack_at(0, 1000), window);
        assert_eq!(finding, Finding::End(9 * SMSS));
    }

    #[test]
    fn a_long_silence_starts_the_search_over() {
        let mut path = Path::new(1 << 40);
        assert_eq!(path.pass_while(opens, 10), None);
        let after = ack_at(60 * RTT_US, RTT_US);
        assert!(!path.search.is_full(&after));
        let search = &path.search;
        assert_eq!(search.newest, 0);
        assert_eq!(search.acked_bins[0], search.delivered);
        assert_eq!(search.sent_bins[0], search.sent);
    }

    #[test]
    fn bins_in_which_nothing_came_hold_what_the_ones_before_held() {
        let mut search = Search::new();
        let ack = |at_us| Ack {
            prior_in_flight: Bytes::new(5 * SMSS),
            ..ack_at(at_us, 100_000)
        };
        search.is_full(&ack(0));
        search.is_full(&ack(5 * 35_000 + 1));
        assert_eq!(search.newest, 5);
        assert_eq!(search.acked_bins[..6], [1000, 1000, 1000, 1000, 1000, 2000]);
        assert_eq!(search.sent_bins[..6], [5000, 5000, 5000, 5000, 5000, 6000]);
    }

    #[test]
    fn a_round_trip_time_beyond_the_bins_ends_nothing() {
        let mut path = Path::new(40_000);
        path.fill();
        for bin in 1..100 {
            let at_us = path.moment * MOMENT_US + bin * 36_000;
            let ack = ack_at(at_us, 16 * RTT_US * 35 / 100);
            assert!(!path.search.is_full(&ack));
        }
    }
}
