//! Times of records: resolution, offset, and backward steps of clocks.

use gigatcp_units::Instant;

const NANOS: u64 = 1_000_000_000;

/// Tick of an interface's clock (`if_tsresol`, draft-ietf-opsawg-pcapng section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// Nanoseconds per tick.
    Nanoseconds(u64),
    /// Ticks per nanosecond: finer than is kept.
    TicksPerNanosecond(u64),
    /// Base-2 logarithm of the ticks per second.
    BinaryFraction(u8),
}

impl Resolution {
    /// Microseconds, the default of the format.
    pub const DEFAULT: Self = Self::Nanoseconds(1000);

    /// Resolution that the byte of the option encodes. `None` if a 64-bit count of such ticks never
    /// reaches a nanosecond.
    pub fn from_option(octet: u8) -> Option<Self> {
        let power = octet & 0x7f;
        if octet & 0x80 != 0 {
            return Some(Self::BinaryFraction(power));
        }
        let exponent = u32::from(power);
        Some(match power {
            0..=9 => Self::Nanoseconds(10_u64.pow(9 - exponent)),
            10..=28 => Self::TicksPerNanosecond(10_u64.pow(exponent - 9)),
            _ => return None,
        })
    }

    /// Converts ticks to nanoseconds.
    #[inline]
    pub fn nanoseconds(self, ticks: u64) -> Option<u64> {
        match self {
            Self::Nanoseconds(each) => ticks.checked_mul(each),
            Self::TicksPerNanosecond(many) => Some(ticks / many),
            Self::BinaryFraction(power) => {
                // 64 bits times 30 bits fit 128.
                let scaled = u128::from(ticks) * u128::from(NANOS);
                u64::try_from(scaled >> power).ok()
            }
        }
    }
}

/// State of an interface's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    /// Resolution of a tick; `None` if it is invalid.
    pub resolution: Option<Resolution>,
    /// Seconds to add (`if_tsoffset`).
    pub offset_s: i64,
    last: Instant,
}

impl Clock {
    /// A clock of that resolution.
    pub const fn new(resolution: Resolution) -> Self {
        Self {
            resolution: Some(resolution),
            offset_s: 0,
            last: Instant::ZERO,
        }
    }

    /// Converts ticks to a time; `None` if it is out of range.
    #[inline]
    pub fn time(&self, ticks: u64) -> Option<Instant> {
        let nanos = self.resolution?.nanoseconds(ticks)?;
        if self.offset_s == 0 {
            return Some(Instant::from_nanos(nanos));
        }
        let offset = i128::from(self.offset_s) * i128::from(NANOS);
        let shifted = i128::from(nanos) + offset;
        u64::try_from(shifted).ok().map(Instant::from_nanos)
    }

    /// Time of the last record.
    pub const fn last(&self) -> Instant {
        self.last
    }

    /// Records the next time. Returns by how many nanoseconds the clock stepped back, if it did.
    #[inline]
    pub fn on_time(&mut self, time: Instant) -> Option<u64> {
        let last = std::mem::replace(&mut self.last, time);
        let back = last.as_nanos().checked_sub(time.as_nanos())?;
        (back > 0).then_some(back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanoseconds(option: u8, ticks: u64) -> Option<u64> {
        Resolution::from_option(option)?.nanoseconds(ticks)
    }

    #[test]
    fn every_resolution_of_the_option_comes_to_nanoseconds() {
        assert_eq!(nanoseconds(0, 3), Some(3_000_000_000));
        assert_eq!(nanoseconds(6, 3), Some(3_000));
        assert_eq!(nanoseconds(9, 3), Some(3));
        assert_eq!(nanoseconds(12, 3_999), Some(3));
        assert_eq!(nanoseconds(28, u64::MAX), Some(1));
        assert_eq!(nanoseconds(29, u64::MAX), None);
        assert_eq!(nanoseconds(0x80, 5), Some(5_000_000_000));
        assert_eq!(nanoseconds(0x80 | 10, 1536), Some(1_500_000_000));
        assert_eq!(nanoseconds(0xff, u64::MAX), Some(0));
    }

    #[test]
    fn times_that_64_bits_do_not_hold_are_none() {
        assert_eq!(nanoseconds(0, u64::MAX), None);
        assert_eq!(nanoseconds(0x80, u64::MAX), None);
        let mut clock = Clock::new(Resolution::Nanoseconds(1));
        clock.offset_s = -1;
        assert_eq!(clock.time(999_999_999), None);
        assert_eq!(clock.time(1_000_000_001), Some(Instant::from_nanos(1)));
        clock.offset_s = i64::MAX;
        assert_eq!(clock.time(0), None);
    }

    #[test]
    fn a_step_back_is_told_with_its_size_and_standing_still_is_none() {
        let mut clock = Clock::new(Resolution::DEFAULT);
        let steps = [5, 5, 9, 2, 3].map(|ns| clock.on_time(Instant::from_nanos(ns)));
        assert_eq!(steps, [None, None, None, Some(7), None]);
    }
}
