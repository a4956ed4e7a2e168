//! RTTs of one direction: from a segment to its acknowledgment, as both passed the capture point.
//!
//! Samples are taken if an acknowledgment ends exactly at a segment and covers no retransmitted
//! data (Karn). Near the sender this is the RTT of the path; near the receiver it is the receiver's
//! own delay.

use gigatcp_units::Duration;

use crate::Spread;

/// A sample or none, in one word.
///
/// It is passed on with every packet. Two words would go through memory, written one by one and
/// read as one, which the CPU cannot forward from its stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample(u64);

impl Sample {
    /// No sample; no duration is that long.
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

/// Statistics of RTTs.
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

    /// Number of samples.
    pub const fn count(&self) -> u64 {
        self.spread.count()
    }

    /// Sum of all samples. Its increase with a packet is that packet's sample.
    pub const fn total(&self) -> Duration {
        self.spread.total()
    }

    /// Minimum.
    pub fn min(&self) -> Option<Duration> {
        self.spread.min()
    }

    /// Maximum.
    pub fn max(&self) -> Option<Duration> {
        self.spread.max()
    }

    /// Mean.
    pub fn mean(&self) -> Option<Duration> {
        self.spread.mean()
    }

    /// Standard deviation of the samples; `None` for fewer than two.
    pub fn deviation(&self) -> Option<Duration> {
        self.spread.deviation()
    }

    /// SRTT (RFC 6298) after the last sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.srtt_ns))
    }

    /// RFC 6298 timeout, with a minimum of 200 ms instead of 1 s.
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
