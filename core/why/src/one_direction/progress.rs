//! Progress of a stream of data over time, and how late it was.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::measures::ratio;

/// A time at the capture point, and the sender's clock when the data was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamped {
    pub at: Instant,
    pub stamp: Option<u32>,
}

/// Bytes in an interval, and the minimum lateness in it, us.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    bytes: u64,
    late: Option<i64>,
}

/// Maximum number of slots; two become one where there would be more.
const MAX_SLOTS: usize = 256;

/// Buckets of rates, two for each doubling.
const RATES: usize = 128;

/// A clock of timestamps ticks once a millisecond on nearly all hosts.
const TICK_US: i64 = 1_000;

/// First and last stamp of a clock.
#[derive(Clone, Copy, Default, Debug)]
struct Clock {
    first: Option<Stamped>,
    last: Option<Stamped>,
}

impl Clock {
    /// Adds a stamp, and returns the first.
    fn add(&mut self, stamped: Stamped) -> Stamped {
        self.last = Some(stamped);
        *self.first.get_or_insert(stamped)
    }

    fn passed(&self) -> Duration {
        let both = self.first.zip(self.last);
        both.map_or(Duration::ZERO, |(first, last)| {
            last.at.saturating_since(first.at)
        })
    }

    /// Ticks, and the milliseconds in which they passed. `None` for less than 20 ticks.
    fn ticks(&self) -> Option<(f64, f64)> {
        let stamp = |stamped: Option<Stamped>| stamped?.stamp;
        let ticks = stamp(self.last)?.wrapping_sub(stamp(self.first)?);
        let is_known = (20..1 << 31).contains(&ticks);
        is_known.then(|| (f64::from(ticks), self.passed().as_secs_f64() * 1e3))
    }

    /// Whether it ticks once a millisecond, as far as queues on the way leave that open.
    fn ticks_about_once_a_millisecond(&self) -> bool {
        let ticks = self.ticks();
        ticks.is_some_and(|(ticks, passed)| (0.7..1.6).contains(&(passed / ticks)))
    }
}

/// The time from the peer's clock to the own, ms, and when it was least.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Turns(Option<(i32, Instant)>);

impl Turns {
    /// Time by which data is later than the ACK that released it, if it is more than 10 ms, and than two
    /// clocks drift apart in twenty of these.
    pub fn late(&mut self, at: Instant, turn: i32) -> Duration {
        const SOON: i64 = 10;
        const DRIFT: u64 = 2_000;
        let (least, when) = self.0.filter(|least| least.0 <= turn).unwrap_or((turn, at));
        self.0 = Some((least, when));
        let drift = at.saturating_since(when).as_nanos() / 1_000_000 / DRIFT;
        let late = i64::from(turn) - i64::from(least);
        let is_late = late > SOON + drift as i64;
        Duration::from_millis(if is_late { late.unsigned_abs() } else { 0 })
    }
}

/// Whether lateness rises or falls all the time: then a clock is not as fast as taken for. A queue ends.
fn drifts(late: &[i64]) -> bool {
    let quarter = late.len() / 4;
    if quarter == 0 {
        return false;
    }
    let medians: Vec<i64> = late
        .chunks_exact(quarter)
        .take(4)
        .map(|part| {
            let mut sorted = part.to_vec();
            sorted.sort_unstable();
            sorted[quarter / 2]
        })
        .collect();
    let steps: Vec<i64> = medians.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let [min, max] =
        [steps.iter().min(), steps.iter().max()].map(|step| step.copied().unwrap_or(0));
    min * 2 > max && min > 0 || max * 2 < min && max < 0
}

/// Progress of a stream of data.
#[derive(Clone, Default, Debug)]
pub(super) struct Progress {
    bytes: u64,
    count: u64,
    clock: Clock,
    /// Time in silences: longer gaps than the caller names.
    silent: Duration,
    width: Duration,
    slots: Vec<Slot>,
    /// Seconds that passed at each rate, from one advance to the next, and bytes.
    rates: Vec<[f64; 2]>,
}

impl Progress {
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub const fn count(&self) -> u64 {
        self.count
    }

    pub fn last(&self) -> Option<Instant> {
        self.clock.last.map(|last| last.at)
    }

    /// Time from its first byte to its last without silences.
    pub fn busy(&self) -> Duration {
        self.elapsed().saturating_sub(self.silent)
    }

    /// Time from its first byte to its last.
    pub fn elapsed(&self) -> Duration {
        self.clock.passed()
    }

    pub fn advance(&mut self, to: Stamped, bytes: u64, silence: Duration) {
        let gap = to.at.saturating_since(self.last().unwrap_or(to.at));
        let first = self.clock.add(to);
        self.bytes += bytes;
        self.count += 1;
        if gap >= silence {
            self.silent += gap;
        }
        if !gap.is_zero() {
            if self.rates.is_empty() {
                self.rates = alloc::vec![[0.0; 2]; RATES];
            }
            let rate = bytes as f64 / gap.as_secs_f64();
            let bucket = libm::floor(2.0 * libm::log2(rate.max(1.0))) as usize;
            let [seconds, octets] = &mut self.rates[bucket.min(RATES - 1)];
            *seconds += gap.as_secs_f64();
            *octets += bytes as f64;
        }
        let late = to.stamp.zip(first.stamp).map(|(stamp, zero)| {
            let here = to.at.saturating_since(first.at).as_nanos() / 1_000;
            here as i64 - i64::from(stamp.wrapping_sub(zero) as i32) * TICK_US
        });
        let slot = self.slot(to.at.saturating_since(first.at));
        slot.bytes += bytes;
        slot.late = match (slot.late, late) {
            (Some(least), Some(late)) => Some(least.min(late)),
            (least, late) => least.or(late),
        };
    }

    /// The slot of a time since the first byte.
    fn slot(&mut self, since: Duration) -> &mut Slot {
        const FIRST: Duration = Duration::from_millis(10);
        self.width = self.width.max(FIRST);
        while since.as_nanos() / self.width.as_nanos() >= MAX_SLOTS as u64 {
            self.width = self.width * 2;
            let pairs = self.slots.chunks(2).map(|pair| {
                let late = pair.iter().filter_map(|slot| slot.late).min();
                let bytes = pair.iter().map(|slot| slot.bytes).sum();
                Slot { bytes, late }
            });
            self.slots = pairs.collect();
        }
        let index = (since.as_nanos() / self.width.as_nanos()) as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Slot::default());
        }
        &mut self.slots[index]
    }

    /// Fraction of the time, and of the bytes, at rates within a factor of three of each other, the most
    /// frequent ones; the smaller of both. It is near 1 for data that a link or a pacer has spaced, and
    /// small for bursts with silences between them.
    pub fn evenness(&self) -> f64 {
        let sum = |rates: &[[f64; 2]]| {
            rates.iter().fold([0.0; 2], |[seconds, octets], rate| {
                [seconds + rate[0], octets + rate[1]]
            })
        };
        let all = sum(&self.rates);
        let shares = |rates: &[[f64; 2]]| {
            let [seconds, octets] = sum(rates);
            (seconds / all[0].max(1e-9)).min(octets / all[1].max(1.0))
        };
        self.rates.windows(3).map(shares).fold(0.0, f64::max)
    }

    /// Fraction of the intervals of four RTTs, and 100 ms at least, whose bytes are within a third of their
    /// median. The first quarter is left out: slow start.
    pub fn steadiness(&self, trip: Duration) -> f64 {
        const MIN: Duration = Duration::from_millis(100);
        const MIN_INTERVALS: usize = 4;
        let least = (trip * 4).max(MIN).as_nanos();
        let slots = least.div_ceil(self.width.as_nanos().max(1)).max(1) as usize;
        let count = self.slots.len() / slots;
        let intervals = self.slots.chunks_exact(slots).skip(count / 4);
        let mut bytes: Vec<u64> = intervals
            .map(|slots| slots.iter().map(|slot| slot.bytes).sum())
            .collect();
        bytes.sort_unstable();
        if bytes.len() < MIN_INTERVALS {
            return 0.0;
        }
        let median = bytes[bytes.len() / 2];
        let near = bytes
            .iter()
            .filter(|bytes| bytes.abs_diff(median) * 3 <= median);
        ratio(near.count() as f64, bytes.len() as f64)
    }

    /// Minimum lateness of each slot, us.
    fn late(&self) -> Vec<i64> {
        self.slots.iter().filter_map(|slot| slot.late).collect()
    }

    /// Whether the stamps are of a clock of milliseconds.
    pub fn is_timed(&self) -> bool {
        self.clock.ticks_about_once_a_millisecond() && !drifts(&self.late())
    }

    /// Median wait on the way here above the minimum, over the slots with data: a standing queue.
    /// `None` unless timestamps show it. Two clocks may drift apart by 100 us a second.
    pub fn queue(&self) -> Option<Duration> {
        let mut all = self.late();
        if !self.is_timed() {
            return None;
        }
        all.sort_unstable();
        let median = all.get(all.len() / 2)? - all.first()?;
        let drift = (self.elapsed().as_secs_f64() * 100.0) as i64;
        let sure = (median - drift - 2 * TICK_US).max(0);
        Some(Duration::from_micros(sure.unsigned_abs()))
    }
}
