//! Pacing: the rate, the size of a release, the flight at the next departure.
//!
//! * rate = gain · bw · 0.99; it only rises before the pipe is full;
//! * first rate = 2.887 · cwnd / (SRTT or 1 ms);
//! * a super-segment takes 1 ms (2^-10 s), at least 2 segments, 1 below 1.2 Mbit/s.

use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::model::{BW_SCALE, rate_of};
use super::{Bbr, HIGH_GAIN, UNIT};

/// Maximum super-segment of the model: 64 KiB with headers.
const MAX_GOAL: u64 = 65_535 - 320;
/// Maximum super-segment that is sent.
const MAX_RELEASE: u64 = 65_535;
/// Rate in octets per second below which single segments leave.
const MIN_TSO_RATE: u64 = 1_200_000 / 8;
/// Maximum segments of the goal.
const MAX_SEGMENTS: u64 = 0x7f;
/// Maximum pacing rate, in octets per second.
const MAX_RATE: u128 = 1 << 50;

impl Bbr {
    fn pacing_rate_of(&self, bw: u64, gain: u64) -> u64 {
        let rate = u128::from(bw) * u128::from(self.mss) * u128::from(gain) / u128::from(UNIT);
        // A second has 10^6 microseconds; the margin is 1 %.
        ((rate * 990_000) >> BW_SCALE).clamp(1, MAX_RATE) as u64
    }

    pub(super) fn rate(&self) -> Rate {
        Rate::from_bps(8 * self.pacing_rate)
    }

    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Duration>) {
        self.has_seen_rtt |= srtt.is_some();
        let us = srtt.map_or(1000, |srtt| srtt.as_micros().max(1));
        let octets = self.cwnd * self.mss;
        self.pacing_rate = self.pacing_rate_of(rate_of(octets, self.mss, us), HIGH_GAIN);
    }

    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.pacing_rate_of(self.bw(), gain);
        if self.full_pipe.is_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn min_tso_segments(&self) -> u64 {
        if self.pacing_rate < MIN_TSO_RATE {
            1
        } else {
            2
        }
    }

    /// Segments of a super-segment, for the model (`bbr_tso_segs_goal`).
    pub(super) fn tso_goal(&self) -> u64 {
        let segments = (self.pacing_rate >> 10).min(MAX_GOAL) / self.mss;
        segments.max(self.min_tso_segments()).min(MAX_SEGMENTS)
    }

    /// Octets of a release (`tcp_tso_autosize`): more on a very short path.
    pub(super) fn release_size(&self) -> Bytes {
        let short = self.model.min_rtt_us.map_or(0, |us| {
            MAX_RELEASE
                .checked_shr((us >> 9).min(64) as u32)
                .unwrap_or(0)
        });
        let octets = ((self.pacing_rate >> 10) + short).min(MAX_RELEASE);
        Bytes::new((octets / self.mss).max(self.min_tso_segments()) * self.mss)
    }

    /// How many of `packets` are still in flight when the next segment may leave. Pacing has queued
    /// departures ahead (`bbr_packets_in_net_at_edt`).
    pub(super) fn packets_at_departure(&self, packets: u64, now: Instant) -> u64 {
        let ahead = self.departs_at.saturating_since(now).as_micros();
        let delivered = (u128::from(self.bw()) * u128::from(ahead)) >> BW_SCALE;
        let probing = if self.pacing_gain > UNIT {
            self.tso_goal()
        } else {
            0
        };
        let packets = packets.saturating_add(probing);
        packets.saturating_sub(u64::try_from(delivered).unwrap_or(u64::MAX))
    }
}
