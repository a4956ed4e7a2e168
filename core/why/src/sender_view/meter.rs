//! Departures around losses, and how well a meter explains the losses.
//!
//! A full queue and a policer are meters: they accept input at a rate and have room for a depth
//! beyond it (a token bucket, RFC 2475 section 2.3.3.3; a queue of that many packets before a
//! link). Only input that exceeds the depth is lost. So with the right rate the level at each loss
//! is the same, and no data that arrived met a level as high. Random loss has no such level: much
//! data that arrived met higher ones. The rate distinguishes a queue, which drains at the rate of
//! its link, from a policer, which is slower.
//!
//! The meter keeps the latest departures, and of those around losses [`MAX_LOG`] for the end. It
//! keeps nothing before the first loss, which ends slow start and is not typical of others: most
//! connections lose nothing. Out of scope: cross traffic through the same meter, which hides its
//! level.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::SeqNumber;

/// Maximum number of latest departures.
const RECENT: usize = 256;

/// Maximum number of departures kept around losses.
const MAX_LOG: usize = 1536;

/// Departures logged before the first loss of an episode, and after it.
const BEFORE: usize = 128;
const BEHIND: usize = 32;

/// Data sent within this time is one departure.
const AT_ONCE: Duration = Duration::from_micros(30);

/// Minimum number of episodes for a verdict.
const LEAST_LOSSES: usize = 4;

/// Minimum depth of a meter in segments. With less room any segment finds it full or empty, and
/// nothing is shown.
const LEAST_DEPTH: f64 = 2.0;

/// Bytes sent together, stored compactly. Connections with losses keep many of these.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Instant,
    /// Lower half of the position after it, which is sufficient. Positions that are compared are
    /// less than 2 GiB apart (RFC 7323 section 2.2).
    end: SeqNumber,
    octets: u32,
    /// Bytes of it that were lost, and the number before the first of these.
    lost: u32,
    before: u32,
}

/// A departure relative to the previous one, stored compactly: every loss logs many.
#[derive(Clone, Copy, Debug)]
struct Logged {
    /// Microseconds; [`BEGINS`] for the first of a run.
    gap_us: u32,
    octets: u32,
    lost: u32,
    /// Bytes before the first loss of an episode. Later losses of the episode met the same meter;
    /// they have [`FOLLOWS`].
    before: u32,
}

/// Value of `gap_us` for none.
const BEGINS: u32 = u32::MAX;

/// Flag above all possible byte counts.
const FOLLOWS: u32 = 1 << 31;

/// Departures of one direction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Meter {
    /// Whether data was lost.
    is_on: bool,
    recent: VecDeque<Departure>,
    /// Departure time of the latest logged one.
    logged: Option<Instant>,
    log: Vec<Logged>,
    /// Whether losses show as gaps: the meter is before the capture point.
    has_holes: bool,
}

/// A meter that explains the losses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    /// Fraction of delivered data that met a level as high as lost data did.
    pub over: f64,
    /// Difference of the levels at losses, over their median.
    pub spread: f64,
    /// That median: the depth in bytes.
    pub depth: f64,
}

const fn lower_half(place: u64) -> SeqNumber {
    SeqNumber::new(place as u32)
}

fn furthest(one: SeqNumber, place: u64) -> SeqNumber {
    let other = lower_half(place);
    if other.is_after(one) { other } else { one }
}

impl Meter {
    /// Records the departure of bytes up to the position `end`.
    #[inline]
    pub fn on_sent(&mut self, at: Instant, octets: u64, end: u64) {
        if !self.is_on {
            return;
        }
        if let Some(last) = self.recent.back_mut()
            && at.saturating_since(last.at) <= AT_ONCE
        {
            last.octets = last.octets.saturating_add(octets as u32);
            last.end = furthest(last.end, end);
            return;
        }
        self.put(at, octets as u32, end);
    }

    #[inline(never)]
    fn put(&mut self, at: Instant, octets: u32, end: u64) {
        let end = match self.recent.back() {
            Some(last) => furthest(last.end, end),
            None => lower_half(end),
        };
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Departure {
            at,
            end,
            octets,
            lost: 0,
            before: 0,
        });
    }

    /// Records the loss of this number of bytes after the latest departure.
    pub fn on_hole(&mut self, octets: u64) {
        (self.is_on, self.has_holes) = (true, true);
        if let Some(last) = self.recent.back_mut() {
            last.before = last.octets - last.lost;
            last.lost = last.lost.saturating_add(octets as u32);
            last.octets = last.octets.saturating_add(octets as u32);
        }
    }

    /// Records the loss of the first transmission of bytes from `start` on.
    pub fn on_lost(&mut self, start: u64, octets: u64) {
        self.is_on = true;
        if self.has_holes {
            return;
        }
        let start = lower_half(start);
        let place = self
            .recent
            .partition_point(|sent| !sent.end.is_after(start));
        let end_before = place.checked_sub(1).map(|before| self.recent[before].end);
        let Some(sent) = self.recent.get_mut(place) else {
            return;
        };
        let begin = end_before.unwrap_or(sent.end - sent.octets);
        let Ok(before) = u32::try_from(start.distance_from(begin)) else {
            return;
        };
        sent.before = if sent.lost == 0 {
            before
        } else {
            sent.before.min(before)
        };
        sent.lost = sent.lost.saturating_add(octets as u32).min(sent.octets);
    }

    /// Logs the departures up to the last loss, at the end of a recovery.
    pub fn on_repaired(&mut self) {
        let is_new = |one: &Departure| self.logged.is_none_or(|logged| one.at > logged);
        let is_lost = |one: &Departure| one.lost > 0 && is_new(one);
        let (Some(first), Some(last)) = (
            self.recent.iter().position(is_lost),
            self.recent.iter().rposition(is_lost),
        ) else {
            return;
        };
        let from = first.saturating_sub(BEFORE);
        let until = (last + 1).min(first + BEHIND + 1);
        let room = MAX_LOG.saturating_sub(self.log.len());
        self.log.reserve_exact(room.min(until - from));
        let mut before: Option<Instant> = None;
        for (place, one) in self.recent.iter().enumerate().take(until).skip(from) {
            if self.log.len() == MAX_LOG {
                break;
            }
            // Departures logged already are continued.
            if !is_new(one) {
                before = Some(one.at);
                continue;
            }
            debug_assert!(
                one.lost <= one.octets,
                "what left is at least what was lost: {one:?}"
            );
            let gap = before.map(|before| one.at.saturating_since(before).as_nanos() / 1000);
            let gap_us = gap.map(|gap| gap.min(u64::from(BEGINS) - 1) as u32);
            let follows = if place == first { 0 } else { FOLLOWS };
            self.log.push(Logged {
                gap_us: gap_us.unwrap_or(BEGINS),
                octets: one.octets,
                lost: one.lost,
                before: one.before.min(FOLLOWS - 1) | follows,
            });
            before = Some(one.at);
        }
        self.logged = before.or(self.logged);
    }

    /// Discards the latest departures, after the last one.
    pub fn forget_recent(&mut self) {
        self.recent = VecDeque::new();
    }

    /// How well a meter of that rate, in bytes per second, explains the losses.
    pub fn fit(&self, rate: f64, mss: u64) -> Option<Fit> {
        let mut losses: Vec<f64> = Vec::new();
        self.levels(rate, |level, is_lost| {
            if is_lost {
                losses.push(level);
            }
        });
        if losses.len() < LEAST_LOSSES {
            return None;
        }
        losses.sort_by(f64::total_cmp);
        let at = |share: usize| losses[(losses.len() - 1) * share / 8];
        let (low, middle, high) = (at(1), at(4), at(7));
        if middle < LEAST_DEPTH * mss as f64 {
            return None;
        }
        let (mut over, mut count) = (0_u64, 0_u64);
        self.levels(rate, |level, is_lost| {
            if !is_lost {
                count += 1;
                // Data that just fits leaves the level at which the next is lost.
                over += u64::from(level > low + mss as f64 / 8.0);
            }
        });
        Some(Fit {
            over: over as f64 / count.max(1) as f64,
            spread: (high - low) / middle.max(1.0),
            depth: middle,
        })
    }

    /// Passes the level after each delivered departure to `each`. Also passes that at the first
    /// loss of each episode. Levels are known after one has been zero.
    fn levels(&self, rate: f64, mut each: impl FnMut(f64, bool)) {
        let (mut level, mut is_known) = (0.0_f64, false);
        for one in &self.log {
            if one.gap_us == BEGINS {
                (level, is_known) = (0.0, false);
            } else {
                level -= rate * f64::from(one.gap_us) * 1e-6;
            }
            if level < 0.0 {
                (level, is_known) = (0.0, true);
            }
            if is_known && one.lost == 0 {
                each(level + f64::from(one.octets), false);
            } else if is_known {
                let before = f64::from(one.before & !FOLLOWS);
                if before > 0.0 {
                    each(level + before, false);
                }
                if one.before & FOLLOWS == 0 {
                    each(level + before, true);
                }
            }
            level += f64::from(one.octets - one.lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Bursts of one to eight segments in turn, every 20 ms. `is_lost` gets the position of a
    /// segment in its burst and its number.
    fn bursts(mut is_lost: impl FnMut(u64, u64) -> bool) -> Meter {
        let (mut meter, mut end, mut number) = (Meter::default(), 0, 0);
        for round in 0..64_u64 {
            let at = Instant::from_nanos(round * 20_000_000);
            let begin = end;
            let lost: Vec<u64> = (0..=round % 8)
                .filter(|place| {
                    number += 1;
                    is_lost(*place, number)
                })
                .collect();
            for _ in 0..=round % 8 {
                end += MSS;
                meter.on_sent(at, MSS, end);
            }
            for place in &lost {
                meter.on_lost(begin + place * MSS, MSS);
            }
            meter.on_repaired();
        }
        meter
    }

    #[test]
    fn what_finds_no_room_for_more_than_five_is_explained_by_a_meter() {
        let losses = bursts(|place, _| place >= 5);
        let fit = losses.fit(1e6, MSS).expect("losses enough");
        assert!(fit.over < 0.01 && fit.spread < 0.01, "{fit:?}");
        assert!((fit.depth - 5.0 * MSS as f64).abs() < 1.0, "{fit:?}");
    }

    #[test]
    fn what_is_lost_wherever_it_stands_is_not() {
        let fit = bursts(|place, number| number % 17 == 0 && place > 0).fit(1e6, MSS);
        assert!(fit.is_none_or(|fit| fit.over > 0.15), "{fit:?}");
    }
}
