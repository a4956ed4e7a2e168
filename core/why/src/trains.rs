//! The bottleneck's rate, from the arrival times of trains of packets of one size.
//!
//! A train that is sent faster than the bottleneck serves leaves it at its rate: n packets in the
//! time from one arrival to the n-th after it. What disturbs this is removed, or nothing is found:
//!
//! | disturbance | treatment |
//! |---|---|
//! | interrupts, offloads and slots deliver several packets at once | time runs from the last packet of one delivery to the last of another |
//! | a token bucket passes its burst at another rate | only the last half of the train counts if its halves differ |
//! | a busy host delays packets | the median of pieces and the mean differ: nothing is found |
//! | cross traffic, a rate that varies | quarters, or trains, that differ by more than `MAX_SPREAD`: nothing is found |
//! | the sender is slower than the bottleneck | a train that arrives as it was sent: nothing is found |
//! | losses | arrivals are counted, whatever their numbers |
//!
//! Packet trains: Dovrolis, Ramanathan, Moore, "What do packet dispersion techniques measure?",
//! INFOCOM 2001. Trains of a length for which cross traffic averages out measure the asymptotic
//! dispersion rate, between available bandwidth and capacity; agreement of the quarters is required
//! because of that.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use crate::measures::quartile;

/// Largest quotient of two rates that agree.
const MAX_SPREAD: f64 = 1.15;

/// Minimum number of intervals between deliveries in a piece of a train whose rate is used.
const MIN_DELIVERIES: usize = 2;

/// Minimum number of packets in a piece.
const MIN_PACKETS: u32 = 2;

/// Maximum number of pieces whose median rate is compared with that of the whole.
const PIECES: usize = 32;

/// Largest quotient of that median and the rate of the whole. Pieces have fewer packets than halves,
/// and vary more.
const MAX_SKEW: f64 = 1.25;

/// A train that arrives in less than this multiple of the time in which it was sent shows the sender's
/// rate.
const MIN_STRETCH: f64 = 1.2;

/// A train of packets of one size, as it arrived.
#[derive(Clone, PartialEq, Debug)]
pub struct Train {
    /// Number of packets that arrived.
    pub packets: u32,
    /// Time from the first arrival to the last.
    pub arrived_in: Duration,
    /// Deliveries, as [`deliveries`] finds them; some may be left out.
    pub deliveries: Vec<Delivery>,
    /// Time in which its packets were sent. `None`: the sender waited for its interface, so it was
    /// fast enough.
    pub sent_in: Option<Duration>,
}

/// The last packet of those that arrived together: its place among the arrivals, and its time since
/// the first arrival.
pub type Delivery = (u32, Duration);

/// A rate of packets per second with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PacketRate {
    /// Lowest rate of a part of the trains.
    pub low: f64,
    /// Rate of the longest train.
    pub rate: f64,
    /// Highest rate of a part of the trains.
    pub high: f64,
}

impl PacketRate {
    /// The bottleneck's rate, from the trains of a path. `None` if they do not show it.
    ///
    /// The longest train decides: bursts of a token bucket disturb it less, and so does the
    /// grain of timestamps. Trains of at least a quarter of its packets must agree.
    #[must_use]
    pub fn of(trains: &[Train]) -> Option<Self> {
        let longest = trains.iter().max_by_key(|train| train.packets)?;
        let mut found = longest.rate()?;
        let is_other = |train: &&Train| {
            !core::ptr::eq(*train, longest) && 4 * train.packets >= longest.packets
        };
        for other in trains.iter().filter(is_other).filter_map(Train::rate) {
            found.low = found.low.min(other.rate);
            found.high = found.high.max(other.rate);
        }
        (found.high <= MAX_SPREAD * found.low).then_some(found)
    }
}

impl Train {
    /// Packets per second from the first arrival to the last; `None` without any time between.
    #[must_use]
    pub fn arrival_rate(&self) -> Option<f64> {
        let time = self.arrived_in.as_secs_f64();
        (time > 0.0).then(|| f64::from(self.packets.saturating_sub(1)) / time)
    }

    /// Whether it arrived as it was sent, so that the bottleneck may be faster.
    #[must_use]
    pub fn is_sender_paced(&self) -> bool {
        let arrived_in = self.arrived_in.as_secs_f64();
        self.sent_in
            .is_some_and(|sent_in| arrived_in < MIN_STRETCH * sent_in.as_secs_f64())
    }

    /// The bottleneck's rate, as this train shows it.
    fn rate(&self) -> Option<PacketRate> {
        if self.is_sender_paced() {
            return None;
        }
        let halves = |bounds: [f64; 3]| {
            let [from, middle, to] = bounds;
            let [first, second] = [self.part(from, middle)?, self.part(middle, to)?];
            let (low, high) = (first.min(second), first.max(second));
            let rate = self.part(from, to)?;
            // Pauses of a busy host lower the mean, and not the median.
            let median = self.median(from, to).unwrap_or(rate);
            let is_steady = (1.0 / MAX_SKEW..=MAX_SKEW).contains(&(median / rate));
            (is_steady && high <= MAX_SPREAD * low).then_some(PacketRate { low, rate, high })
        };
        halves([0.0, 0.5, 1.0]).or_else(|| halves([0.5, 0.75, 1.0]))
    }

    /// Median of the rates of equal pieces, at most [`PIECES`]; `None` if there are too few deliveries.
    fn median(&self, from: f64, to: f64) -> Option<f64> {
        let deliveries = (to - from) * self.deliveries.len() as f64;
        let count = (deliveries as usize / (MIN_DELIVERIES + 2)).min(PIECES);
        let step = (to - from) / count as f64;
        let begin = |piece: usize| from + step * piece as f64;
        let rates = (0..count).filter_map(|piece| self.part(begin(piece), begin(piece + 1)));
        quartile(rates.collect(), 2)
    }

    /// Packets per second between two shares of the packets; `None` if too little lies between.
    fn part(&self, from: f64, to: f64) -> Option<f64> {
        let all = &self.deliveries;
        let (first, last) = (f64::from(all.first()?.0), f64::from(all.last()?.0));
        let place = |share: f64| first + share * (last - first);
        let begin = all
            .iter()
            .position(|delivery| f64::from(delivery.0) >= place(from))?;
        let end = all
            .iter()
            .rposition(|delivery| f64::from(delivery.0) <= place(to))?;
        let (begin_at, end_at) = (all.get(begin)?, all.get(end)?);
        let packets = end_at.0.saturating_sub(begin_at.0);
        let time = end_at.1.saturating_sub(begin_at.1).as_secs_f64();
        let is_enough = end >= begin + MIN_DELIVERIES && packets >= MIN_PACKETS;
        (is_enough && time > 0.0).then(|| f64::from(packets) / time)
    }
}

/// The deliveries of a train that arrived at these times since its first packet, in order.
///
/// Packets closer than half of the mean distance came together. The last delivery may lack packets
/// that were to follow, and is left out if deliveries are of several packets.
#[must_use]
pub fn deliveries(arrivals: &[Duration]) -> Vec<Delivery> {
    let total = arrivals.last().copied().unwrap_or_default();
    let grain = Duration::from_nanos(total.as_nanos() / 2 / arrivals.len().max(1) as u64);
    let next = arrivals.iter().skip(1).map(Some).chain([None]);
    let mut ends: Vec<Delivery> = (0..)
        .zip(arrivals)
        .zip(next)
        .filter(|((_, time), next)| next.is_none_or(|next| next.saturating_sub(**time) > grain))
        .map(|((place, time), _)| (place, *time))
        .collect();
    if 2 * ends.len() < arrivals.len() {
        ends.pop();
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A train whose packets arrive at these microseconds.
    fn train(arrivals: impl Iterator<Item = u64>) -> Train {
        let arrivals: Vec<u64> = arrivals.collect();
        let since_first = |at: &u64| Duration::from_micros(at - arrivals[0]);
        let times: Vec<Duration> = arrivals.iter().map(since_first).collect();
        Train {
            packets: times.len() as u32,
            arrived_in: *times.last().unwrap(),
            deliveries: deliveries(&times),
            sent_in: Some(Duration::from_micros(10)),
        }
    }

    fn rate_of(trains: &[Train]) -> Option<f64> {
        PacketRate::of(trains).map(|found| found.rate)
    }

    fn assert_close(found: Option<f64>, expected: f64) {
        let rate = found.expect("a rate");
        assert!((rate / expected - 1.0).abs() < 0.02, "{rate}, {expected}");
    }

    #[test]
    fn evenly_spaced_train_shows_the_rate_of_the_bottleneck() {
        assert_close(
            rate_of(&[train((0..8).map(|n| n * 12_000))]),
            1e6 / 12_000.0,
        );
    }

    #[test]
    fn deliveries_of_several_packets_do_not_change_the_rate() {
        // 100 us a packet, delivered every 1 ms.
        let slots = train((0..205).map(|n| (n * 100_u64).div_ceil(1000) * 1000));
        assert_close(rate_of(&[slots]), 10_000.0);
    }

    #[test]
    fn burst_of_a_token_bucket_is_left_out() {
        let burst = (0..40).map(|n| n * 2);
        let rest = (0..88).map(|n| 80 + n * 1200);
        assert_close(rate_of(&[train(burst.chain(rest))]), 1e6 / 1200.0);
    }

    #[test]
    fn train_within_the_burst_of_a_token_bucket_yields_to_a_longer_one() {
        let short = train((0..8).map(|n| n * 20));
        let long = train(
            (0..20)
                .map(|n| n * 20)
                .chain((0..108).map(|n| 400 + n * 1200)),
        );
        assert_close(rate_of(&[short, long]), 1e6 / 1200.0);
    }

    #[test]
    fn trains_that_do_not_agree_show_no_rate() {
        let slow = train((0..64).map(|n| n * 200));
        let fast = train((0..128).map(|n| n * 100));
        assert_eq!(rate_of(&[slow, fast]), None);
    }

    #[test]
    fn train_whose_rate_varies_shows_no_rate() {
        // The distance doubles from one quarter to the next.
        let mut at = 0;
        let varying = train((0..64_u64).map(|n| {
            at += 100 << (n / 16);
            at
        }));
        assert_eq!(rate_of(&[varying]), None);
    }

    #[test]
    fn train_that_arrives_as_it_was_sent_shows_no_rate() {
        let mut paced = train((0..64).map(|n| n * 100));
        paced.sent_in = Some(Duration::from_micros(6000));
        assert_eq!(rate_of(&[paced.clone()]), None);
        paced.sent_in = None;
        assert_close(rate_of(&[paced]), 10_000.0);
    }

    #[test]
    fn train_that_a_busy_host_delayed_again_and_again_shows_no_rate() {
        // 10 us a packet, and a pause of 1 ms after each 150.
        let paused = train((0..1600_u64).map(|n| n * 10 + n / 150 * 1000));
        assert_eq!(rate_of(&[paused]), None);
    }

    #[test]
    fn empty_and_simultaneous_trains_show_no_rate() {
        assert_eq!(rate_of(&[]), None);
        assert_eq!(rate_of(&[train([7].into_iter())]), None);
        assert_eq!(rate_of(&[train([7; 50].into_iter())]), None);
    }
}
