//! Combined findings of two captures of one connection.
//!
//! They show which packets were lost between the capture points, and in which direction queueing
//! occurs. The connection is followed at the capture point nearer to the sender of the data; the
//! other one shows what became of each packet. One-way delays are measured above the minimum delay
//! of their direction, so that an offset between the clocks does not matter. Their drift is removed
//! as calculated by `gigatcp_flows`.
//!
//! Losses of data are counted by sequence ranges, and only while both captured: a super-segment at one capture point
//! is several segments at the other.
//!
//! Out of scope: packets that a capture point saw twice (without timestamps a retransmission looks
//! like its original), which are left out.

use alloc::vec::Vec;

use gigatcp_flows::{Bytes, Clocks, Crossing, PacketTimes, PathBetween, Side};
use gigatcp_units::{Duration, Instant};

/// One direction between the two capture points.
#[derive(Clone, Debug)]
struct Way {
    /// In order of time at the first capture point of this direction.
    crossings: Vec<Crossing>,
    /// Delay of each packet above the minimum; `None` if it was lost.
    late: Vec<Option<Duration>>,
}

/// Packets between two capture points.
#[derive(Clone, Debug)]
pub struct CapturePair {
    forward: Way,
    /// Of acknowledgments: first at the capture point near the receiver.
    reverse: Way,
    clocks: Clocks,
    bytes: Bytes,
}

/// One-way delay between two capture points.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Delay {
    /// Half of the minimum RTT between the two: the clocks do not show more.
    pub min: Duration,
    /// Mean of all packets that passed both.
    pub mean: Duration,
    /// Maximum.
    pub max: Duration,
}

impl CapturePair {
    /// Compares the packets at the capture point near the sender with those at the other. The data
    /// comes from `sender`, in segments of `segment_size` bytes. `None` if too few packets passed
    /// both.
    #[must_use]
    pub fn new(
        near: &PacketTimes,
        far: &PacketTimes,
        sender: Side,
        segment_size: u64,
    ) -> Option<Self> {
        let clocks = near.compare(far)?;
        let mut data = near.crossings(sender, far);
        data.retain(|crossing| crossing.has_data);
        let forward = Way::new(data, clocks.drift);
        let mut acks = far.crossings(sender.other(), near);
        acks.retain(|crossing| !crossing.has_data);
        let reverse = Way::new(acks, -clocks.drift);
        let path = PathBetween {
            clocks,
            most: forward.most(),
            segment_size,
            crossed: forward.ends()?,
        };
        let bytes = near.bytes(sender, far, &path)?;
        Some(Self {
            forward,
            reverse,
            clocks,
            bytes,
        })
    }

    /// Relation of the two clocks.
    #[must_use]
    pub const fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Bytes that passed both capture points or were lost. Losses are between the two, before the
    /// first, and after the second, while both captured.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// One-way delays of the data and of the reverse path.
    #[must_use]
    pub fn delays(&self) -> (Delay, Delay) {
        let min = Duration::from_nanos(self.clocks.uncertainty_ns);
        (self.forward.delay(min), self.reverse.delay(min))
    }

    /// Wire segments with data at the first capture point, and those lost before the second. They
    /// are counted by sequence ranges, so super-segments at either do not matter.
    #[must_use]
    pub const fn data(&self) -> (u64, u64) {
        self.bytes.segments
    }

    /// Acknowledgments at the far capture point, and those lost before the near one.
    #[must_use]
    pub fn acknowledgments(&self) -> (u64, u64) {
        self.reverse.count()
    }

    /// Maximum queueing delay between the capture points. First on the forward path, then on the
    /// ACK path.
    #[must_use]
    pub fn queues(&self) -> (Duration, Duration) {
        (self.forward.most(), self.reverse.most())
    }

    /// Mean queueing delay in both directions between these times.
    pub(crate) fn queues_in(&self, start: Instant, end: Instant) -> Option<(Duration, Duration)> {
        let forward = self.forward.mean(start, end)?;
        // The other clock: exact enough for a mean.
        let shift = |at: Instant| {
            let ns = i128::from(at.as_nanos()) + i128::from(self.clocks.offset_ns);
            Instant::from_nanos(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
        };
        let reverse = self.reverse.mean(shift(start), shift(end))?;
        Some((forward, reverse))
    }
}

impl Way {
    /// Removes packets before the first and after the last that passed both. They show nothing: the
    /// other capture may not have begun, or have ended.
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
            .find_map(|crossing| Some((crossing.here, crossing.there?)));
        let delays: Vec<Option<f64>> = crossings
            .iter()
            .map(|crossing| {
                let (origin_here, origin_there) = first?;
                let here = signed(origin_here, crossing.here);
                Some(signed(origin_there, crossing.there?) - here - drift * here)
            })
            .collect();
        debug_assert!(
            crossings.is_sorted_by_key(|crossing| crossing.here),
            "crossings are in the order of time: they are searched by halves"
        );
        let least = delays.iter().flatten().copied().fold(f64::MAX, f64::min);
        let late = delays
            .iter()
            .map(|delay| delay.map(|delay| Duration::from_nanos((delay - least) as u64)))
            .collect();
        Self { crossings, late }
    }

    /// Times of the first and the last packet that passed both.
    fn ends(&self) -> Option<[(Instant, Instant); 2]> {
        let passed = |one: &Crossing| Some((one.here, one.there?));
        Some([
            passed(self.crossings.first()?)?,
            passed(self.crossings.last()?)?,
        ])
    }

    fn count(&self) -> (u64, u64) {
        let lost = self.late.iter().filter(|late| late.is_none()).count();
        (self.late.len() as u64, lost as u64)
    }

    fn delay(&self, min: Duration) -> Delay {
        Delay {
            min,
            mean: min + mean(&self.late).unwrap_or_default(),
            max: min + self.most(),
        }
    }

    fn most(&self) -> Duration {
        let late = self.late.iter().flatten();
        late.max().copied().unwrap_or_default()
    }

    fn mean(&self, start: Instant, end: Instant) -> Option<Duration> {
        let from = self
            .crossings
            .partition_point(|crossing| crossing.here < start);
        let until = self
            .crossings
            .partition_point(|crossing| crossing.here < end);
        mean(&self.late[from..until])
    }
}

/// Mean delay of packets that passed.
fn mean(late: &[Option<Duration>]) -> Option<Duration> {
    let (mut sum, mut count) = (Duration::ZERO, 0);
    for late in late.iter().flatten() {
        sum += *late;
        count += 1;
    }
    (count > 0).then(|| sum / count)
}

/// Nanoseconds from `a` to `b`.
fn signed(a: Instant, b: Instant) -> f64 {
    b.as_nanos().wrapping_sub(a.as_nanos()).cast_signed() as f64
}
