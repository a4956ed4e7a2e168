//! Timestamps option: RFC 7323 sections 3 to 5.
//!
//! * The clock: ticks of the profile's length since an offset of the connection.
//! * TS.Recent (section 4.3): copied if TSval is not older and the segment begins at or before
//!   Last.ACK.sent. So the echo for a delayed or out-of-order segment gives the sender the true
//!   RTT.
//! * PAWS (section 5.3): a segment with an older TSval is an old duplicate from a wrapped sequence
//!   space.
//!
//! Literally (R1) PAWS also drops a late original. A retransmission for an earlier gap may leave
//! after the original, arrive before it, and advance TS.Recent past it. With much reordering each
//! retransmission turns late segments into true losses, which cause the next retransmissions,
//! without end. The tolerance prevents that. An old duplicate is older by at least the time to
//! send the sequence space minus a window. With the largest window this is 0.26 s at 100 Gbit/s. A
//! segment older by less cannot be an old duplicate. Zero tolerance follows the RFC literally.

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Timestamps;

/// Age at which TS.Recent expires (section 5.5). The clock may then have advanced by half its
/// range.
const RECENT_EXPIRES: Duration = Duration::from_secs(24 * 24 * 3600);

/// State of the timestamps option on a connection that negotiated it.
#[derive(Clone, Debug)]
pub struct TimestampClock {
    tick: Duration,
    offset: u32,
    /// Ticks by which a segment may be older than TS.Recent.
    tolerance: i32,
    /// TS.Recent and the time it was taken.
    recent: Option<(u32, Instant)>,
}

impl TimestampClock {
    /// A clock with the given tick that starts at `offset`.
    pub fn new(tick: Duration, offset: u32) -> Self {
        debug_assert!(
            !tick.is_zero(),
            "a timestamp clock that stands still (RFC 7323 section 5.4)"
        );
        Self {
            tick,
            offset,
            tolerance: 0,
            recent: None,
        }
    }

    /// Sets the PAWS tolerance. A segment older than TS.Recent by up to `tolerance` is late, not
    /// an old duplicate: see the module header.
    pub fn with_tolerance(mut self, tolerance: Duration) -> Self {
        let ticks = tolerance.as_nanos() / self.tick.as_nanos();
        self.tolerance = i32::try_from(ticks).unwrap_or(i32::MAX);
        self
    }

    /// Whether the peer has sent a timestamp: the option is negotiated.
    pub fn has_begun(&self) -> bool {
        self.recent.is_some()
    }

    /// Option to send at `now`.
    #[inline]
    pub fn stamp(&self, now: Instant) -> Timestamps {
        Timestamps {
            val: self.ticks(now),
            ecr: self.recent.map_or(0, |(val, _)| val),
        }
    }

    #[inline]
    fn ticks(&self, now: Instant) -> u32 {
        let ticks = now.as_nanos() / self.tick.as_nanos();
        self.offset.wrapping_add(ticks as u32)
    }

    /// PAWS test R1: whether a segment with this TSval is too old.
    #[inline]
    pub fn is_old(&self, now: Instant, val: u32) -> bool {
        self.recent.is_some_and(|(recent, taken)| {
            (recent.wrapping_sub(val) as i32) > self.tolerance
                && now.saturating_since(taken) < RECENT_EXPIRES
        })
    }

    /// Compares a TSval of the peer with TS.Recent (RFC 6191 section 2). Without TS.Recent it is
    /// newer.
    pub fn compare_with_recent(&self, val: u32) -> core::cmp::Ordering {
        let Some((recent, _)) = self.recent else {
            return core::cmp::Ordering::Greater;
        };
        (val.wrapping_sub(recent) as i32).cmp(&0)
    }

    /// Time at which TS.Recent was taken.
    pub fn recent_taken_at(&self) -> Option<Instant> {
        self.recent.map(|(_, taken)| taken)
    }

    /// Updates TS.Recent from a segment that starts at `seq` (section 4.3, (2)). An older TSval is
    /// also accepted if TS.Recent has expired (section 5.5).
    #[inline]
    pub fn on_segment(&mut self, now: Instant, val: u32, seq: u64, last_ack_sent: u64) {
        let newer = self.recent.is_none_or(|(recent, taken)| {
            val.wrapping_sub(recent) as i32 >= 0 || now.saturating_since(taken) >= RECENT_EXPIRES
        });
        debug_assert!(
            self.recent.is_none_or(|(_, taken)| taken <= now),
            "TS.Recent was taken at {:?}, after {now:?}",
            self.recent
        );
        if newer && seq <= last_ack_sent {
            self.recent = Some((val, now));
        }
    }

    /// Sets TS.Recent unconditionally, from the SYN that opens the connection.
    pub fn start(&mut self, now: Instant, val: u32) {
        self.recent = Some((val, now));
    }

    /// TSval of a segment that leaves at `now`.
    pub fn val(&self, now: Instant) -> u32 {
        self.ticks(now)
    }

    /// Latest possible send time of the segment whose TSval `ecr` echoes at `received_at`. `None`
    /// if the echo cannot be ours.
    pub fn left_by(&self, received_at: Instant, ecr: u32) -> Option<Instant> {
        let ago = self.ticks(received_at).wrapping_sub(ecr) as i32;
        let tick = self.tick.as_nanos();
        let next = (received_at.as_nanos() / tick + 1).checked_sub(u64::try_from(ago).ok()?)?;
        Some(Instant::from_nanos((next * tick).saturating_sub(1)))
    }

    /// RTT from an echo (section 4.1). `None` if the echo cannot be ours. The resolution is one
    /// tick.
    pub fn rtt_by_echo(&self, received_at: Instant, ecr: u32) -> Option<Duration> {
        let ticks = self.ticks(received_at).wrapping_sub(ecr) as i32;
        let ticks = u64::try_from(ticks).ok()?.max(1);
        Some(self.tick * ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> TimestampClock {
        TimestampClock::new(Duration::from_millis(1), 0)
    }

    /// Receives segments A, B, C … of one octet each with TSval 1, 2, 3. Returns the echo of each
    /// acknowledgment.
    fn echoes<const N: usize>(arrivals: [(u64, u32, bool); N]) -> alloc::vec::Vec<u32> {
        let mut clock = clock();
        let mut last_ack_sent = 0;
        let mut have = alloc::collections::BTreeSet::new();
        let mut echoes = alloc::vec::Vec::new();
        for (seq, val, ack_now) in arrivals {
            clock.on_segment(Instant::ZERO, val, seq, last_ack_sent);
            have.insert(seq);
            if ack_now {
                echoes.push(clock.stamp(Instant::ZERO).ecr);
                last_ack_sent = (0..).find(|octet| !have.contains(octet)).unwrap();
            }
        }
        echoes
    }

    #[test]
    fn a_delayed_ack_echoes_the_earliest_segment_as_rfc_7323_section_4_3_draws() {
        assert_eq!(echoes([(0, 1, false), (1, 2, false), (2, 3, true)]), [1]);
    }

    #[test]
    fn a_hole_keeps_the_echo_until_it_is_filled_as_rfc_7323_section_4_3_draws() {
        let arrivals = [
            (0, 1, true),
            (2, 3, true),
            (1, 2, true),
            (4, 5, true),
            (3, 4, true),
        ];
        assert_eq!(echoes(arrivals), [1, 1, 2, 2, 4]);
    }

    #[test]
    fn within_the_tolerance_an_older_segment_is_late_and_does_not_turn_the_clock_back() {
        let tolerant = |ms| clock().with_tolerance(Duration::from_millis(ms));
        for (ms, old) in [(0, true), (4, true), (5, false), (200, false)] {
            let mut clock = tolerant(ms);
            clock.start(Instant::ZERO, 3);
            assert_eq!(clock.is_old(Instant::ZERO, u32::MAX - 1), old, "{ms} ms");
            clock.on_segment(Instant::ZERO, u32::MAX - 1, 0, 0);
            assert_eq!(clock.stamp(Instant::ZERO).ecr, 3);
        }
    }

    #[test]
    fn an_echo_tells_by_when_the_segment_had_left() {
        let clock = TimestampClock::new(Duration::from_millis(1), u32::MAX);
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        let left_by = clock.left_by(at(90_000), clock.val(at(50_300))).unwrap();
        assert!(at(50_999) <= left_by && left_by < at(51_000));
        assert_eq!(clock.left_by(at(90_000), clock.val(at(91_000))), None);
    }

    #[test]
    fn paws_rejects_the_past_across_the_wrap_and_forgets_after_24_days() {
        let mut clock = clock();
        clock.start(Instant::ZERO, u32::MAX - 1);
        assert!(!clock.is_old(Instant::ZERO, 3), "newer across the wrap");
        assert!(clock.is_old(Instant::ZERO, u32::MAX - 2));
        assert!(!clock.is_old(Instant::ZERO + RECENT_EXPIRES, u32::MAX - 2));
    }
}
