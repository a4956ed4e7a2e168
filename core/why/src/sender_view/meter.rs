//! Was it too much? What had left when something was lost, as a meter sees it.
//!
//! A full queue and a policer are meters: they take what comes at a rate and have
//! room for a depth beyond it (a token bucket, RFC 2475 section 2.3.3.3; a queue
//! of that many packets before a link). What exceeds the depth is lost, and nothing else
//! is. So with the right rate the level at each loss is the same, and nothing that
//! arrived found a level as high. Random loss has no level: much that arrived found
//! higher ones. The rate tells a queue, which drains as fast as its link, from a
//! policer, which is slower.
//!
//! What is kept are the departures of the last moments, and of those around losses
//! [`MAX_LOG`] for the end; nothing before the first loss, which ends an opening and
//! is no measure for the others: most connections lose nothing. Out of
//! scope: traffic of others through the same meter, which hides its level.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::SeqNumber;

/// Departures remembered.
const RECENT: usize = 256;

/// Departures around losses kept.
const MAX_LOG: usize = 1536;

/// Of these, the number before the first loss of an episode, and behind it.
const BEFORE: usize = 128;
const BEHIND: usize = 32;

/// What leaves within this time leaves at once.
const AT_ONCE: Duration = Duration::from_micros(30);

/// Minimum number of episodes for a verdict.
const LEAST_LOSSES: usize = 4;

/// Segments that a meter takes at least beyond its rate: with less room any segment
/// finds it full or empty, and nothing is shown.
const LEAST_DEPTH: f64 = 2.0;

/// Octets that left at once, in few of memory: connections that lost something keep
/// many of these.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Instant,
    /// The place behind it, of which the lower half is enough: places that are
    /// compared are no 2 GiB apart (RFC 7323 section 2.2).
    end: SeqNumber,
    octets: u32,
    /// Octets of it that were lost, and how many before the first of these.
    lost: u32,
    before: u32,
}

/// The same, since the one before, in few octets: every loss logs many.
#[derive(Clone, Copy, Debug)]
struct Logged {
    /// Microseconds; [`BEGINS`] for the first of a row.
    gap_us: u32,
    octets: u32,
    lost: u32,
    /// Octets before the first loss of an episode: what was lost behind it met the
    /// same; [`FOLLOWS`] there.
    before: u32,
}

/// No time.
const BEGINS: u32 = u32::MAX;

/// Octets are fewer.
const FOLLOWS: u32 = 1 << 31;

/// Departures of one direction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Meter {
    /// Something was lost.
    is_on: bool,
    recent: VecDeque<Departure>,
    /// When the latest that was logged had left.
    logged: Option<Instant>,
    log: Vec<Logged>,
    /// What is lost shows as holes: the meter is before the capture point.
    has_holes: bool,
}

/// A meter that explains the losses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    /// How many of what arrived found a level as high as what was lost.
    pub over: f64,
    /// How much the levels at losses differ, of their middle.
    pub spread: f64,
    /// That middle: how many octets there is room for.
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
    /// Octets leave, up to the place `end`.
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

    /// This many octets are missing behind what passed last.
    pub fn on_hole(&mut self, octets: u64) {
        (self.is_on, self.has_holes) = (true, true);
        if let Some(last) = self.recent.back_mut() {
            last.before = last.octets - last.lost;
            last.lost = last.lost.saturating_add(octets as u32);
            last.octets = last.octets.saturating_add(octets as u32);
        }
    }

    /// The octets from `start` on were lost when they left first.
    pub fn on_lost(&mut self, start: u64, octets: u64) {
        self.is_on = true;
        if self.has_holes {
            return;
        }
        let start = lower_half(start);
        let place = self.recent.partition_point(|one| !one.end.is_after(start));
        let begin = place.checked_sub(1).map(|before| self.recent[before].end);
        let Some(one) = self.recent.get_mut(place) else {
            return;
        };
        let begin = begin.unwrap_or(one.end - one.octets);
        let Ok(before) = u32::try_from(start.distance_from(begin)) else {
            return;
        };
        one.before = if one.lost == 0 {
            before
        } else {
            one.before.min(before)
        };
        one.lost = one.lost.saturating_add(octets as u32).min(one.octets);
    }

    /// A repair is over: what left up to the last loss goes into the log.
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
            // What was logged already goes on.
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

    /// There is no more to come.
    pub fn forget_recent(&mut self) {
        self.recent = VecDeque::new();
    }

    /// How well a meter of that rate, in octets per second, explains the losses.
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
                // What just fits leaves the level at which the next is lost.
                over += u64::from(level > low + mss as f64 / 8.0);
            }
        });
        Some(Fit {
            over: over as f64 / count.max(1) as f64,
            spread: (high - low) / middle.max(1.0),
            depth: middle,
        })
    }

    /// The level behind each departure that arrived, and at the first loss of each
    /// episode, from where on it is known: where it had once been nothing.
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

    /// Bursts that grow by a segment each 20 ms, eight times from one segment on;
    /// `is_lost` is told the place of a segment in its burst and its number.
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
        let fit = bursts(|place, _| place >= 5).fit(1e6, MSS);
        let fit = fit.expect("losses enough");
        assert!(fit.over < 0.01 && fit.spread < 0.01, "{fit:?}");
        assert!((fit.depth - 5.0 * MSS as f64).abs() < 1.0, "{fit:?}");
    }

    #[test]
    fn what_is_lost_wherever_it_stands_is_not() {
        let fit = bursts(|place, number| number % 17 == 0 && place > 0).fit(1e6, MSS);
        assert!(fit.is_none_or(|fit| fit.over > 0.15), "{fit:?}");
    }
}
