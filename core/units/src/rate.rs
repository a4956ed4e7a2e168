//! Rates in bit/s.

use crate::{Bytes, Duration};

/// A rate in bits per second. Zero means "stands still".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Rate(u64);

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);

    /// A rate of `bps` bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// The rate at which `amount` passes in `span`; zero for an empty span.
    #[must_use]
    pub fn from_amount(amount: Bytes, span: Duration) -> Self {
        if span.is_zero() {
            return Self::ZERO;
        }
        let bits = u128::from(amount.as_u64()) * 8 * 1_000_000_000;
        Self((bits / u128::from(span.as_nanos())) as u64)
    }

    /// The rate in bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Time `amount` takes to pass, rounded up to the nanosecond so that a
    /// link never carries more than its rate; forever at rate zero.
    #[must_use]
    pub fn time_for(self, amount: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // 18 MB is the most that fits 64 bits here; every frame does.
        if let Some(bit_ns) = amount.as_u64().checked_mul(8_000_000_000) {
            return Duration::from_nanos(bit_ns.div_ceil(self.0));
        }
        let bit_ns = u128::from(amount.as_u64()) * 8_000_000_000;
        let span = bit_ns.div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
    }

    /// Bytes that pass in `span`, rounded down.
    #[must_use]
    pub fn amount_in(self, span: Duration) -> Bytes {
        let bit_ns = u128::from(self.0) * u128::from(span.as_nanos());
        Bytes::new((bit_ns / 8_000_000_000) as u64)
    }
}
