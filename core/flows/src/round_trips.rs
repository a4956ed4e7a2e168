//! Round-trip times of one direction: from a segment to its acknowledgment, as
//! they passed the capture point.
//!
//! Samples are taken where an acknowledgment ends exactly at a segment and
//! covers nothing that was retransmitted (Karn). Near the sender this is the
//! round trip of the path; near the receiver it is the receiver's own delay.

use gigatcp_units::Duration;

use crate::Spread;

/// A sample, or none, in one word.
///
/// It is handed on with every packet. Two words would go through memory, written
/// one by one and read as one, which the processor cannot forward from its stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample(u64);

impl Sample {
    /// There is none; nothing lasts so long.
    pub const NONE: Self = Self(u64::MAX);

    #[inline(always)]
    pub const fn of(sample: Duration) -> Self {
        Self(sample.as_nanos())
    }

    #[inline(always)]
    pub const fn get(self) -> Option<Duration> {
        if self.0 == Self::NONE.0 {
            None
        } else {
            Some(Duration::from_nanos(self.0))
        }
    }
}

impl From<Option<Duration>> for Sample {
    #[inline(always)]
    fn from(sample: Option<Duration>) -> Self {
        sample.map_or(Self::NONE, Self::of)
    }
}

/// Statistics of round-trip times.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RoundTrips {
    spread: Spread,
    /// SRTT and RTTVAR of RFC 6298 section 2.
    srtt_ns: u64,
    rttvar_ns: u64,
}

impl RoundTrips {
    #[inline]
    pub(crate) fn add(&mut self, sample: Duration) {
        let ns = sample.as_nanos();
        if self.spread.count() == 0 {
            self.srtt_ns = ns;
            self.rttvar_ns = ns / 2;
        } else {
            // RFC 6298 section 2.3: weights of an eighth and a quarter.
            let off = self.srtt_ns.abs_diff(ns);
            self.rttvar_ns = self.rttvar_ns - self.rttvar_ns / 4 + off / 4;
            self.srtt_ns = self.srtt_ns - self.srtt_ns / 8 + ns / 8;
        }
        self.spread.add(sample);
    }

    /// How many samples there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.spread.count()
    }

    /// The sum of all: what it gains with a packet is that packet's sample.
    #[must_use]
    pub const fn total(&self) -> Duration {
        self.spread.total()
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        self.spread.min()
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        self.spread.max()
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.spread.mean()
    }

    /// The standard deviation of the samples; `None` for fewer than two.
    #[must_use]
    pub fn deviation(&self) -> Option<Duration> {
        self.spread.deviation()
    }

    /// SRTT (RFC 6298), after the last sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.srtt_ns))
    }

    /// The timeout that RFC 6298 would set, with the usual minimum of 200 ms
    /// in place of its second.
    pub(crate) fn timeout(&self) -> Duration {
        const LEAST: Duration = Duration::from_millis(200);
        if self.count() == 0 {
            return Duration::from_secs(1);
        }
        let rto = self
            .srtt_ns
            .saturating_add(4_u64.saturating_mul(self.rttvar_ns));
        Duration::from_nanos(rto).max(LEAST)
    }
}
