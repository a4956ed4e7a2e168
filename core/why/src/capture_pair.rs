//! What two captures of one connection know together: what was lost between
//! them, packet by packet, and on which way a queue is.
//!
//! The place nearer to the sender of the data is where the connection is
//! followed; the other one says what became of each packet. One-way delays are
//! measured above the minimum delay of their direction, so that an offset between the clocks does
//! not matter; their drift is taken out as `gigatcp_flows` knows it.
//!
//! What was lost is counted by bytes, and only while both captured: super-segments of
//! one place are segments at the other.
//!
//! Out of scope: packets that a place saw twice (without timestamps a
//! repair looks like what it repairs), which are left out.

use alloc::vec::Vec;

use gigatcp_flows::{Bytes, Clocks, Crossing, PacketTimes, Side};
use gigatcp_units::{Duration, Instant};

/// Packets before a loss whose delays tell how long the queue was.
const NEAR: usize = 3;

/// Minimum number of packets lost within an RTT for a loss burst.
const FLOOD: usize = 16;

/// One way between the two places.
#[derive(Clone, Debug)]
struct Way {
    /// In order of when they passed the first place of this way.
    crossings: Vec<Crossing>,
    /// How much longer than at its shortest each took; lost packets are not in it.
    late: Vec<Option<Duration>>,
}

/// What passed between two places.
#[derive(Clone, Debug)]
pub struct CapturePair {
    forth: Way,
    /// Of acknowledgments: where they passed the place near the receiver.
    back: Way,
    clocks: Clocks,
    bytes: Bytes,
}

/// One-way delay between two capture points.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Delay {
    /// Half of the min RTT between the two: clocks tell no more.
    pub min: Duration,
    /// Mean of all packets that passed both.
    pub mean: Duration,
    /// The longest.
    pub max: Duration,
}

impl CapturePair {
    /// By what passed near the sender of the data, which comes from `sender`, and
    /// at the other place; `None` if too few packets passed both.
    #[must_use]
    pub fn new(near: &PacketTimes, far: &PacketTimes, sender: Side) -> Option<Self> {
        let clocks = near.compare(far)?;
        let data = near.crossings(sender, far);
        let data = data.into_iter().filter(|one| one.has_data).collect();
        let forth = Way::new(data, clocks.drift);
        let acks = far.crossings(sender.other(), near);
        let acks = acks.into_iter().filter(|one| !one.has_data).collect();
        let back = Way::new(acks, -clocks.drift);
        let bytes = near.bytes(sender, far, &clocks, forth.most())?;
        Some(Self {
            forth,
            back,
            clocks,
            bytes,
        })
    }

    /// The two clocks.
    #[must_use]
    pub const fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Bytes of data that passed both places, that were lost between them, before the
    /// first and behind the second: while both captured.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// One-way delay of the data, and of what came back.
    #[must_use]
    pub fn delays(&self) -> (Delay, Delay) {
        let min = Duration::from_nanos(self.clocks.uncertainty_ns);
        (self.forth.delay(min), self.back.delay(min))
    }

    /// Data packets that left the first place, and how many of them never came
    /// to the second.
    #[must_use]
    pub fn data(&self) -> (u64, u64) {
        self.forth.count()
    }

    /// The same of what came back.
    #[must_use]
    pub fn acknowledgments(&self) -> (u64, u64) {
        self.back.count()
    }

    /// The most that queues added between the places: on the forward path, and
    /// on that of the acknowledgments.
    #[must_use]
    pub fn queues(&self) -> (Duration, Duration) {
        (self.forth.most(), self.back.most())
    }

    /// What queues added on both ways to what passed between these times, on
    /// average.
    pub(crate) fn queues_in(&self, start: Instant, end: Instant) -> Option<(Duration, Duration)> {
        let forth = self.forth.mean(start, end)?;
        // The other clock: near enough for a mean.
        let shift = |at: Instant| {
            let ns = i128::from(at.as_nanos()) + i128::from(self.clocks.offset_ns);
            Instant::from_nanos(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
        };
        let back = self.back.mean(shift(start), shift(end))?;
        Some((forth, back))
    }

    /// What became of the first transmission of the octet with this sequence
    /// number that left before `by`, and of those behind it for a `round`: `None`
    /// if it is not known.
    pub(crate) fn fate(&self, seq: u32, by: Instant, round: Duration) -> Option<Fate> {
        let way = &self.forth;
        let until = way.crossings.partition_point(|one| one.here < by);
        let sent = &way.crossings[..until];
        let exact = sent.iter().rposition(|one| one.seq == seq);
        // Of a long connection a sample is remembered: then what was before it.
        let is_before = |one: &Crossing| seq.wrapping_sub(one.seq) >> 31 == 0;
        let index = exact.or_else(|| sent.iter().rposition(is_before))?;
        let flood = way.flood(index, round);
        if exact.is_none() && flood.is_none() {
            return None;
        }
        let is_lost = exact.is_none_or(|exact| sent[exact].there.is_none());
        let before = way.late[..index].iter().rev().flatten().take(NEAR);
        Some(Fate {
            is_lost,
            queue: before.max().copied().unwrap_or_default(),
            flood,
        })
    }
}

/// What became of a packet, and how long the queue before it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    pub is_lost: bool,
    pub queue: Duration,
    /// Where many were lost within a round trip: how long the queue was before
    /// all but a tenth of them. What a full queue drops finds it full, each time; a
    /// policer does not ask for the queue.
    pub flood: Option<Duration>,
}

impl Way {
    /// What passed before the first packet of both places, or behind the last, says
    /// nothing: the other place may not have captured yet, or not any more.
    fn overlap(mut crossings: Vec<Crossing>) -> Vec<Crossing> {
        let passed = |one: &Crossing| one.there.is_some();
        let first = crossings.iter().position(passed);
        let last = crossings.iter().rposition(passed);
        let Some((first, last)) = first.zip(last) else {
            return Vec::new();
        };
        crossings.truncate(last + 1);
        crossings.drain(..first);
        crossings
    }

    fn new(crossings: Vec<Crossing>, drift: f64) -> Self {
        let crossings = Self::overlap(crossings);
        let first = crossings
            .iter()
            .find_map(|one| Some((one.here, one.there?)));
        let delays: Vec<Option<f64>> = crossings
            .iter()
            .map(|one| {
                let (origin_here, origin_there) = first?;
                let here = signed(origin_here, one.here);
                Some(signed(origin_there, one.there?) - here - drift * here)
            })
            .collect();
        debug_assert!(
            crossings.is_sorted_by_key(|one| one.here),
            "crossings are in the order of time: they are searched by halves"
        );
        let least = delays.iter().flatten().copied().fold(f64::MAX, f64::min);
        let late = delays
            .iter()
            .map(|delay| delay.map(|delay| Duration::from_nanos((delay - least) as u64)))
            .collect();
        Self { crossings, late }
    }

    /// The queue before all but a tenth of what was lost from this packet on for a
    /// `round`, where that is a flood.
    fn flood(&self, first: usize, round: Duration) -> Option<Duration> {
        let until = self.crossings[first].here + round;
        let until = self.crossings.partition_point(|one| one.here < until);
        let mut queue = *self.late[..first].iter().rev().flatten().next()?;
        let mut queues = Vec::new();
        for late in &self.late[first..until] {
            match late {
                Some(late) => queue = *late,
                None => queues.push(queue),
            }
        }
        queues.sort_unstable();
        (queues.len() >= FLOOD).then(|| queues[queues.len() / 10])
    }

    fn count(&self) -> (u64, u64) {
        let lost = self.late.iter().filter(|late| late.is_none()).count();
        (self.late.len() as u64, lost as u64)
    }

    fn delay(&self, min: Duration) -> Delay {
        let (mut sum, mut count) = (Duration::ZERO, 0);
        for late in self.late.iter().flatten() {
            sum += *late;
            count += 1;
        }
        Delay {
            min,
            mean: min + sum / count.max(1),
            max: min + self.most(),
        }
    }

    fn most(&self) -> Duration {
        self.late
            .iter()
            .flatten()
            .max()
            .copied()
            .unwrap_or_default()
    }

    fn mean(&self, start: Instant, end: Instant) -> Option<Duration> {
        let from = self.crossings.partition_point(|one| one.here < start);
        let until = self.crossings.partition_point(|one| one.here < end);
        let mut sum = Duration::ZERO;
        let mut count = 0;
        for late in self.late[from..until].iter().flatten() {
            sum += *late;
            count += 1;
        }
        (count > 0).then(|| sum / count)
    }
}

/// Nanoseconds from `a` to `b`.
fn signed(a: Instant, b: Instant) -> f64 {
    b.as_nanos().wrapping_sub(a.as_nanos()).cast_signed() as f64
}
