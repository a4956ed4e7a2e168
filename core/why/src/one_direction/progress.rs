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

/// Progress of a stream of data.
#[derive(Clone, Default, Debug)]
pub(super) struct Progress {
    bytes: u64,
    count: u64,
    first: Option<Stamped>,
    last: Option<Stamped>,
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
        self.last.map(|last| last.at)
    }

    /// Time from its first byte to its last.
    pub fn elapsed(&self) -> Duration {
        let Some((first, last)) = self.first.zip(self.last) else {
            return Duration::ZERO;
        };
        last.at.saturating_since(first.at)
    }

    pub fn advance(&mut self, to: Stamped, bytes: u64) {
        let first = *self.first.get_or_insert(to);
        let gap = to.at.saturating_since(self.last().unwrap_or(to.at));
        self.bytes += bytes;
        self.count += 1;
        self.last = Some(to);
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

    /// Whether the sender's clock ticks as expected, so that lateness means something.
    fn is_clock_known(&self) -> bool {
        const MIN_TICKS: u32 = 20;
        let Some((first, last)) = self.first.zip(self.last) else {
            return false;
        };
        let Some((from, to)) = first.stamp.zip(last.stamp) else {
            return false;
        };
        let ticks = to.wrapping_sub(from);
        let passed = last.at.saturating_since(first.at).as_secs_f64() * 1e3;
        (MIN_TICKS..1 << 31).contains(&ticks) && (0.7..1.6).contains(&(passed / f64::from(ticks)))
    }

    /// Median wait on the way here above the minimum, over the slots with data: a standing queue.
    /// `None` unless timestamps show it. Two clocks may drift apart by 100 us a second.
    pub fn queue(&self) -> Option<Duration> {
        let late = || self.slots.iter().filter_map(|slot| slot.late);
        let least = late().min().filter(|_| self.is_clock_known())?;
        let mut all: Vec<i64> = late().map(|late| late - least).collect();
        all.sort_unstable();
        let median = *all.get(all.len() / 2)?;
        let drift = (self.elapsed().as_secs_f64() * 100.0) as i64;
        let sure = (median - drift - 2 * TICK_US).max(0);
        Some(Duration::from_micros(sure.unsigned_abs()))
    }
}
