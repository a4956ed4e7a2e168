//! Slow start: growth of a window below ssthresh.
//!
//! Shared by every control that uses the slow start of the RFCs. For an ACK of N new octets the
//! window grows by
//!
//! * per ACK: SMSS, however large N is (RFC 2581 section 3.1);
//! * by bytes: min(N, L·SMSS), RFC 5681 section 3.1 eq. (2) with the limit L of RFC 3465 section
//!   2.2; L is 1 in the slow start that follows a timeout (RFC 3465 section 2.3);
//! * without a limit: N.
//!
//! Variants that grow more carefully, or end before a queue overflows, have one file each
//! ([`SlowStart`] names them): `limited`, `hystart`, `hystart_plus_plus`, `search`. If one finds
//! the end, ssthresh becomes cwnd. Other variants pay one dispatch per ACK in slow start.
//!
//! Congestion saves the state and `undo` restores it, including the search for an end and the
//! limit L.
//!
//! Growth stops at ssthresh exactly. What an ACK covers beyond that is not counted in congestion
//! avoidance, which costs the growth of one ACK, once.

mod hystart;
mod hystart_plus_plus;
mod limited;
mod search;

use alloc::boxed::Box;

use gigatcp_units::{Bytes, Instant};

use self::hystart::HyStart;
use self::hystart_plus_plus::HyStartPlusPlus;
use self::limited::Limited;
use self::search::{Finding, Search, Window};
use super::{Ack, Config, CongestionKind, Counting, SlowStart};

/// Slow-start variant, with its state.
#[derive(Clone, Debug)]
enum Variant {
    /// Growth by acknowledged octets until ssthresh or congestion.
    Standard,
    Limited(Limited),
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
    /// Boxed because the bins take 400 octets.
    Search(Box<Search>),
}

impl Variant {
    fn new(config: &Config) -> Self {
        let chosen = match config.slow_start {
            SlowStart::Usual => config.usual_slow_start,
            chosen => chosen,
        };
        match chosen {
            SlowStart::Usual | SlowStart::Standard => Self::Standard,
            SlowStart::Limited { max_ssthresh } => Self::Limited(Limited::new(max_ssthresh)),
            SlowStart::HyStart => Self::HyStart(HyStart::new(config.paced)),
            SlowStart::HyStartPlusPlus => Self::HyStartPlusPlus(HyStartPlusPlus::new(config.paced)),
            SlowStart::Search => Self::Search(Box::new(Search::new())),
        }
    }

    /// Variant after congestion. `HyStart++` (RFC 9406 section 4.2) and SEARCH apply only to the
    /// first slow start, when nothing is known about the path.
    fn after(&self, kind: CongestionKind) -> Self {
        match self {
            Self::Limited(limited) => Self::Limited(*limited),
            Self::HyStart(hystart) => Self::HyStart(match kind {
                CongestionKind::Timeout => hystart.after_timeout(),
                CongestionKind::Loss | CongestionKind::Ecn => hystart.after_reduction(),
            }),
            Self::Standard | Self::HyStartPlusPlus(_) | Self::Search(_) => Self::Standard,
        }
    }
}

/// State of slow start besides the window.
#[derive(Clone, Debug)]
pub(super) struct SlowStartState {
    smss: u64,
    /// Minimum to which SEARCH reduces the window.
    initial_window: u64,
    counting: Counting,
    after_timeout: bool,
    variant: Variant,
    /// `after_timeout` and `variant` before the last congestion.
    saved: Option<Box<(bool, Variant)>>,
}

impl SlowStartState {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            smss: u64::from(config.smss.max(1)),
            initial_window: config.initial_window.as_u64(),
            counting: config.counting,
            after_timeout: false,
            variant: Variant::new(config),
            saved: None,
        }
    }

    /// Rule by which ACKs are counted.
    pub(super) fn counting(&self) -> Counting {
        self.counting
    }

    /// Sets the segment size.
    pub(super) fn set_smss(&mut self, smss: u32) {
        self.smss = u64::from(smss.max(1));
    }

    /// Handles congestion. After a timeout L is 1 until slow start is over.
    pub(super) fn on_congestion(&mut self, kind: CongestionKind) {
        let after = self.variant.after(kind);
        let variant = core::mem::replace(&mut self.variant, after);
        self.saved = Some(Box::new((self.after_timeout, variant)));
        self.after_timeout |= kind == CongestionKind::Timeout;
    }

    /// Restores the state before the last congestion event, which was spurious.
    pub(super) fn on_undo(&mut self) {
        if let Some(before) = self.saved.take() {
            (self.after_timeout, self.variant) = *before;
        }
    }

    /// Handles an ACK in congestion avoidance: the window has reached ssthresh.
    pub(super) fn on_leaving(&mut self, now: Instant) {
        self.after_timeout = false;
        if let Variant::HyStart(hystart) = &mut self.variant {
            hystart.on_avoidance(now);
        }
    }

    /// Handles an ACK that may grow a window of `cwnd` octets below `ssthresh`.
    ///
    /// Returns both after it, equal if slow start has ended. An ACK of nothing new grows nothing,
    /// but reports data above a gap. Its RTT sample is valid. With reordering it is the better
    /// one: an ACK that waited for the gap would look delayed.
    pub(super) fn grow(&mut self, ack: &Ack, cwnd: u64, ssthresh: u64) -> (u64, u64) {
        let mut counted = self.counted(ack.acked.as_u64());
        let mut ends = false;
        match &mut self.variant {
            Variant::Standard => {}
            Variant::Limited(limited) => {
                if ack.cwnd_limited {
                    counted = limited.growth(cwnd, counted, self.smss);
                }
            }
            Variant::HyStart(hystart) => {
                if hystart.ends(ack, cwnd, self.smss) {
                    return (cwnd, cwnd);
                }
            }
            Variant::HyStartPlusPlus(plus) => {
                counted = plus.growth(counted, self.smss);
                ends = plus.ends(ack);
            }
            // SEARCH uses acknowledged data, not RTTs.
            Variant::Search(_) if ack.acked == Bytes::ZERO => {}
            Variant::Search(search) => {
                let window = Window {
                    cwnd,
                    smss: self.smss,
                    least: self.initial_window.min(cwnd).max(self.smss),
                };
                let finding = search.on_ack(ack, window);
                debug_assert!(
                    !matches!(finding, Finding::Drain(left) | Finding::End(left) if left > cwnd),
                    "SEARCH leads cwnd {cwnd} down: {finding:?}"
                );
                match finding {
                    Finding::Open => {}
                    Finding::Drain(cwnd) => return (cwnd, ssthresh),
                    Finding::End(cwnd) => {
                        self.variant = Variant::Standard;
                        return (cwnd, cwnd);
                    }
                }
            }
        }
        let growth = if ack.cwnd_limited { counted } else { 0 };
        let cwnd = cwnd + growth.min(ssthresh.saturating_sub(cwnd));
        if ends {
            self.variant = Variant::Standard;
            return (cwnd, cwnd);
        }
        (cwnd, ssthresh)
    }

    /// Octets this ACK counts for: N of RFC 3465.
    fn counted(&self, acked: u64) -> u64 {
        match self.counting {
            _ if acked == 0 => 0,
            Counting::PerAck => self.smss,
            Counting::Bytes { .. } if self.after_timeout => acked.min(self.smss),
            Counting::Bytes { limit } => acked.min(self.octets(limit)),
            Counting::All => acked,
        }
    }

    fn octets(&self, segments: u32) -> u64 {
        self.smss * u64::from(segments)
    }
}

/// ACKs for the tests of all variants.
#[cfg(test)]
mod testing {
    use crate::events::Phase;
    use gigatcp_units::{Bytes, Duration, Instant};

    use super::Ack;

    pub(super) fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// An ACK of one segment of 1000 octets at `at_us`, with an RTT of `rtt_us`.
    pub(super) fn ack_at(at_us: u64, rtt_us: u64) -> Ack {
        let rtt = Some(us(rtt_us));
        Ack {
            now: Instant::from_nanos(at_us * 1000),
            acked: Bytes::new(1000),
            acked_transmissions: 1,
            phase: Phase::Open,
            cwnd_limited: true,
            rtt,
            srtt: rtt,
            min_rtt: rtt,
            ..Ack::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::ack_at;
    use super::*;
    use alloc::format;
    use gigatcp_units::Bytes;

    const SMSS: u64 = 1000;
    const ALL: [SlowStart; 5] = [
        SlowStart::Standard,
        SlowStart::Limited { max_ssthresh: 100 },
        SlowStart::HyStart,
        SlowStart::HyStartPlusPlus,
        SlowStart::Search,
    ];

    fn opening(slow_start: SlowStart, counting: Counting) -> SlowStartState {
        SlowStartState::new(&Config {
            smss: SMSS as u32,
            initial_window: Bytes::new(10 * SMSS),
            slow_start,
            counting,
            ..Config::default()
        })
    }

    fn ack_of(acked: u64) -> Ack {
        Ack {
            acked: Bytes::new(acked),
            ..ack_at(0, 80_000)
        }
    }

    /// Growth of a window of `cwnd` for an ACK of `acked` octets.
    fn growth(opening: &mut SlowStartState, cwnd: u64, acked: u64) -> u64 {
        opening.grow(&ack_of(acked), cwnd, u64::MAX).0 - cwnd
    }

    #[test]
    fn standard_slow_start_doubles_the_window_every_round() {
        let mut standard = opening(SlowStart::Standard, Counting::Bytes { limit: 2 });
        let mut cwnd = SMSS;
        for _ in 0..10 {
            for _ in 0..cwnd / SMSS {
                cwnd += growth(&mut standard, cwnd, SMSS);
            }
        }
        assert_eq!(cwnd, 1024 * SMSS);
        assert_eq!(growth(&mut standard, 10 * SMSS, 300), 300);
        assert_eq!(growth(&mut standard, 10 * SMSS, 2 * SMSS), 2 * SMSS);
        assert_eq!(growth(&mut standard, 10 * SMSS, 9 * SMSS), 2 * SMSS);
    }

    #[test]
    fn counting_by_ack_adds_one_segment_however_much_is_acknowledged() {
        let mut per_ack = opening(SlowStart::Standard, Counting::PerAck);
        assert_eq!(growth(&mut per_ack, 10 * SMSS, 1), SMSS);
        assert_eq!(growth(&mut per_ack, 10 * SMSS, 7 * SMSS), SMSS);
    }

    #[test]
    fn after_a_timeout_an_ack_counts_for_one_segment_until_slow_start_ends() {
        for slow_start in ALL {
            let mut bytes = opening(slow_start, Counting::Bytes { limit: u32::MAX });
            bytes.on_congestion(CongestionKind::Timeout);
            assert_eq!(growth(&mut bytes, SMSS, 8 * SMSS), SMSS, "{slow_start:?}");
            bytes.on_leaving(Instant::ZERO);
            assert_eq!(growth(&mut bytes, SMSS, 8 * SMSS), 8 * SMSS);
        }
        let mut all = opening(SlowStart::Standard, Counting::All);
        all.on_congestion(CongestionKind::Timeout);
        assert_eq!(growth(&mut all, SMSS, 8 * SMSS), 8 * SMSS);
    }

    #[test]
    fn an_undone_timeout_leaves_neither_the_limit_nor_any_other_trace() {
        for slow_start in ALL {
            let mut bytes = opening(slow_start, Counting::Bytes { limit: u32::MAX });
            for n in 0..200 {
                bytes.grow(&ack_at(n * 700, 80_000 + n), 40 * SMSS, u64::MAX);
            }
            let before = format!("{bytes:?}");
            for kind in [
                CongestionKind::Timeout,
                CongestionKind::Loss,
                CongestionKind::Ecn,
            ] {
                bytes.on_congestion(kind);
                bytes.grow(&ack_at(150_000, 80_000), SMSS, 20 * SMSS);
                bytes.on_undo();
                assert_eq!(format!("{bytes:?}"), before);
                bytes.on_undo();
                assert_eq!(format!("{bytes:?}"), before);
            }
        }
    }

    /// Runs rounds of forty ACKs 3 ms apart, too far for a train. With reordering, most ACKs are
    /// of data above a gap; each fourth is of a gap that was filled late.
    fn ends_in_rounds_of_late_holes(slow_start: SlowStart, hears_the_others: bool) -> bool {
        let mut opening = opening(slow_start, Counting::Bytes { limit: 2 });
        let before = opening.grow(&ack_at(0, 80_000), 40 * SMSS, u64::MAX);
        assert_eq!(before.1, u64::MAX);
        (1..2000).any(|n| {
            let late = n % 4 == 0;
            let ack = Ack {
                acked: Bytes::new(if late { SMSS } else { 0 }),
                round_end: n % 40 == 0,
                ..ack_at(n * 3_000, if late { 120_000 } else { 80_000 })
            };
            if !late && !hears_the_others {
                return false;
            }
            let (cwnd, ssthresh) = opening.grow(&ack, 40 * SMSS, u64::MAX);
            assert_eq!(cwnd > 40 * SMSS, late && ssthresh == u64::MAX, "{n}");
            ssthresh != u64::MAX
        })
    }

    #[test]
    fn late_holes_look_like_delay_only_to_who_does_not_hear_what_came_above_them() {
        assert!(ends_in_rounds_of_late_holes(SlowStart::HyStart, false));
        for slow_start in ALL {
            assert!(
                !ends_in_rounds_of_late_holes(slow_start, true),
                "{slow_start:?}"
            );
        }
    }

    #[test]
    fn growth_ends_at_ssthresh_and_an_unused_window_does_not_grow() {
        for slow_start in ALL {
            let mut bytes = opening(slow_start, Counting::Bytes { limit: u32::MAX });
            let full = ack_of(5 * SMSS);
            let unused = Ack {
                cwnd_limited: false,
                ..full
            };
            let (threshold, beyond) = (10 * SMSS, 12 * SMSS);
            assert_eq!(bytes.grow(&unused, 9 * SMSS, threshold).0, 9 * SMSS);
            assert_eq!(
                bytes.grow(&full, 9 * SMSS, threshold),
                (threshold, threshold)
            );
            assert_eq!(bytes.grow(&full, beyond, threshold), (beyond, threshold));
        }
    }

    #[test]
    fn the_profiles_way_is_taken_where_none_is_asked_for() {
        let config = |slow_start, usual_slow_start| Config {
            slow_start,
            usual_slow_start,
            ..Config::default()
        };
        let usual = SlowStartState::new(&config(SlowStart::Usual, SlowStart::HyStart));
        assert!(matches!(usual.variant, Variant::HyStart(_)));
        let asked = SlowStartState::new(&config(SlowStart::Standard, SlowStart::HyStart));
        assert!(matches!(asked.variant, Variant::Standard));
    }

    #[test]
    fn hystart_plus_plus_and_search_are_for_the_first_slow_start_only() {
        for slow_start in [SlowStart::HyStartPlusPlus, SlowStart::Search] {
            for kind in [CongestionKind::Loss, CongestionKind::Timeout] {
                let mut first = opening(slow_start, Counting::Bytes { limit: u32::MAX });
                first.on_congestion(kind);
                assert!(matches!(first.variant, Variant::Standard));
            }
        }
    }

    #[test]
    fn search_leads_the_window_down_in_slow_start_and_ends_it_at_the_initial_one() {
        let mut search = opening(SlowStart::Search, Counting::Bytes { limit: u32::MAX });
        let (mut cwnd, mut ssthresh) = (40 * SMSS, u64::MAX);
        let mut highest = cwnd;
        // The window is always full; eight segments arrive per RTT.
        for n in 0..600 {
            let ack = Ack {
                prior_in_flight: Bytes::new(cwnd),
                acked: Bytes::new(SMSS / 2),
                ..ack_at(n * 5000, 80_000)
            };
            let before = cwnd;
            (cwnd, ssthresh) = search.grow(&ack, cwnd, ssthresh);
            if ssthresh != u64::MAX {
                break;
            }
            highest = highest.max(cwnd);
            assert!(cwnd + SMSS / 2 >= before, "{before} to {cwnd}");
        }
        assert!(highest > 60 * SMSS);
        assert_eq!((cwnd, ssthresh), (10 * SMSS, 10 * SMSS));
        assert!(matches!(search.variant, Variant::Standard));
    }

    #[test]
    fn absurd_settings_do_not_panic() {
        for max_ssthresh in [0, u32::MAX] {
            let limited = SlowStart::Limited { max_ssthresh };
            let mut limited = opening(limited, Counting::Bytes { limit: u32::MAX });
            limited.set_smss(0);
            limited.grow(&ack_of(u64::MAX), u64::MAX, u64::MAX);
        }
    }
}
