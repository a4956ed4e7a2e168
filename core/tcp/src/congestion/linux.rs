//! Arithmetic common to the controls that follow modules of Linux: ticks and whole segments.

use gigatcp_units::{Bytes, Instant};

use super::WindowBounds;

/// Clock ticks per second.
pub(super) const HZ: u64 = 1000;
/// "Unset": the kernel's largest ssthresh.
pub(super) const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// C of CUBIC in 1/1024: `bic_scale`·10.
const CUBE_RTT_SCALE: u64 = 41 * 10;
/// Number of fraction bits of time: `BICTCP_HZ`.
const TIME_BITS: u32 = 10;
/// Scale of the cubic function: 10 bits of C and three times those of time.
const CUBE_BITS: u32 = 10 + 3 * TIME_BITS;
/// Reciprocal of C, scaled: `cube_factor`.
pub(super) const CUBE_FACTOR: u64 = (1 << CUBE_BITS) / CUBE_RTT_SCALE;

/// Clock tick of a time.
pub(super) fn ticks(at: Instant) -> u64 {
    at.as_nanos() / (1_000_000_000 / HZ)
}

/// Cubic function at `elapsed` ticks. It reaches the plateau `origin` after `k`/1024 s.
pub(super) fn cubic(origin: u64, k: u64, elapsed: u64) -> u64 {
    let t = (elapsed.min(1 << 40) << TIME_BITS) / HZ;
    // Seventeen years: the bound keeps the product within 128 bits.
    let distance = u128::from(t.abs_diff(k).min(1 << 39));
    let cube = (u128::from(CUBE_RTT_SCALE) * distance * distance * distance) >> CUBE_BITS;
    let change = u64::try_from(cube).unwrap_or(u64::MAX);
    if t < k {
        origin.saturating_sub(change)
    } else {
        origin.saturating_add(change)
    }
}

/// Window that Reno would have, in segments.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct RenoWindow {
    /// ACKs or ACKed segments not yet counted in `cwnd`: `ack_cnt`.
    pub uncounted: u64,
    /// `tcp_cwnd`.
    pub cwnd: u64,
}

impl RenoWindow {
    /// Maximum ACKs per segment with which `cwnd` does not fall behind. Reno's window grows by a
    /// segment per `eighths`/8 windows.
    pub(super) fn max_acks(&mut self, cwnd: u64, eighths: u64) -> u64 {
        let per_segment = (cwnd * eighths / 8).max(1);
        let steps = self.uncounted.saturating_sub(1) / per_segment;
        self.uncounted -= steps * per_segment;
        self.cwnd = self.cwnd.saturating_add(steps);
        match self.cwnd.saturating_sub(cwnd) {
            0 => u64::MAX,
            behind => cwnd / behind,
        }
    }
}

pub(super) fn ssthresh_octets(segments: u32, smss: u32) -> Bytes {
    match segments {
        INFINITE_SSTHRESH => Bytes::MAX,
        segments => Bytes::new(u64::from(segments) * u64::from(smss)),
    }
}

/// A window of `octets` in whole segments, 1 at least.
pub(super) fn segments(octets: u64, smss: u32) -> u32 {
    u32::try_from(octets / u64::from(smss))
        .unwrap_or(u32::MAX)
        .max(1)
}

/// Limits ssthresh and the remembered maximum to the bounds of an unvalidated window.
pub(super) fn limit_unvalidated(
    ssthresh: &mut u32,
    last_max_cwnd: &mut u32,
    bounds: &WindowBounds,
    smss: u32,
) {
    let segments = |octets: Bytes| {
        let segments = octets.as_u64() / u64::from(smss);
        u32::try_from(segments).unwrap_or(INFINITE_SSTHRESH)
    };
    let most = segments(bounds.ssthresh_at_most).max(2);
    *ssthresh = (*ssthresh)
        .max(segments(bounds.ssthresh_at_least))
        .min(most);
    // A maximum that was never in use does not count.
    *last_max_cwnd = (*last_max_cwnd).min(most.saturating_mul(2));
}

/// A window, in segments of `from` octets, in segments of `to` octets.
pub(super) fn rescaled(segments: u32, from: u32, to: u32) -> u32 {
    let segments = u64::from(segments) * u64::from(from) / u64::from(to);
    u32::try_from(segments).unwrap_or(u32::MAX)
}

/// Returns ssthresh in segments of `to` octets; "unset" stays.
pub(super) fn rescaled_ssthresh(segments: u32, from: u32, to: u32) -> u32 {
    match segments {
        INFINITE_SSTHRESH => INFINITE_SSTHRESH,
        segments => rescaled(segments, from, to).clamp(2, INFINITE_SSTHRESH - 1),
    }
}
