//! Hierarchical timer wheel (Varghese and Lauck 1987): the timer of each connection.
//!
//! Nine levels of 64 slots cover every instant. A slot of the lowest level is 16.4 microseconds
//! wide, one of each next level 64 times as wide. A member is on the level of the highest six
//! bits in which its time differs from that of the wheel. So all members of a level are due
//! before those of the next, and setting, moving and cancelling take one step whatever the number
//! of members. A member moves to a lower level at most eight times.
//!
//! Times are rounded up: no timer fires early, and the wheel delays none by more than one slot.

use alloc::vec::Vec;

use gigatcp_units::Instant;

/// Width of a slot of the lowest level in nanoseconds, as a power of two.
const SLOT_BITS: u32 = 14;
/// Number of slots of a level, as a power of two.
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;
const LEVELS: usize = 9;
/// No member.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Member {
    /// Due time in slots of the lowest level.
    at: u64,
    /// Level of the member; meaningless while it is not on the wheel.
    level: u8,
    slot: u8,
    is_set: bool,
    previous: u32,
    next: u32,
}

const IDLE: Member = Member {
    at: 0,
    level: 0,
    slot: 0,
    is_set: false,
    previous: NONE,
    next: NONE,
};

/// Hierarchical timer wheel of connections by their numbers.
#[derive(Debug)]
pub struct Wheel {
    /// Time up to which all timers have fired.
    now: u64,
    /// First member of each slot.
    first: [[u32; SLOTS]; LEVELS],
    /// Bitmap of the slots of each level that have members.
    occupied: [u64; LEVELS],
    members: Vec<Member>,
}

impl Wheel {
    /// An empty wheel.
    pub fn new(now: Instant) -> Self {
        Self {
            now: now.as_nanos() >> SLOT_BITS,
            first: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            members: Vec::new(),
        }
    }

    /// Sets the only timer of `member`; `None` cancels it.
    #[inline]
    pub fn set(&mut self, member: u32, at: Option<Instant>) {
        let place = member as usize;
        if place >= self.members.len() {
            self.members.resize(place + 1, IDLE);
        }
        let Some(at) = at else {
            self.unlink(member);
            return;
        };
        let at = at.as_nanos().div_ceil(1 << SLOT_BITS).max(self.now + 1);
        let before = self.members[place];
        if before.is_set && before.at == at {
            return;
        }
        self.unlink(member);
        self.members[place].at = at;
        self.link(member);
    }

    /// A time before which no member is due; `None` if no timer is set.
    pub fn next(&self) -> Option<Instant> {
        let (at, ..) = self.next_slot()?;
        Some(Instant::from_nanos(at << SLOT_BITS))
    }

    /// Removes all members that are due at `now` and appends them to `due`.
    pub fn expire(&mut self, now: Instant, due: &mut Vec<u32>) {
        let target = now.as_nanos() >> SLOT_BITS;
        while let Some((at, level, slot)) = self.next_slot() {
            if at > target {
                break;
            }
            debug_assert!(
                at > self.now,
                "the wheel turns from {} back to {at}",
                self.now
            );
            self.now = at;
            self.occupied[level] &= !(1 << slot);
            let mut member = core::mem::replace(&mut self.first[level][slot], NONE);
            while member != NONE {
                let entry = &mut self.members[member as usize];
                debug_assert!(
                    entry.is_set
                        && (usize::from(entry.level), usize::from(entry.slot)) == (level, slot),
                    "{entry:?} stands in slot {slot} of level {level}"
                );
                debug_assert!(
                    entry.at >> (LEVEL_BITS * level as u32) == at >> (LEVEL_BITS * level as u32),
                    "slot {slot} of level {level} has a timer of another slot, for {}, at {at}",
                    entry.at
                );
                let (next, is_due) = (entry.next, entry.at <= at);
                entry.is_set = false;
                if is_due {
                    due.push(member);
                } else {
                    self.link(member);
                }
                member = next;
            }
        }
        self.now = self.now.max(target);
    }

    /// Earliest slot with members: its start, level and index.
    fn next_slot(&self) -> Option<(u64, usize, usize)> {
        let level = self.occupied.iter().position(|slots| *slots != 0)?;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let shift = LEVEL_BITS * level as u32;
        let above = self.now >> (shift + LEVEL_BITS) << (shift + LEVEL_BITS);
        Some((above | (slot as u64) << shift, level, slot))
    }

    fn link(&mut self, member: u32) {
        let at = self.members[member as usize].at;
        debug_assert!(
            at > self.now && !self.members[member as usize].is_set,
            "timer {member} for {at} is put on a wheel that is at {}",
            self.now
        );
        let differs = (at ^ self.now).ilog2();
        let level = (differs / LEVEL_BITS) as usize;
        let slot = (at >> (LEVEL_BITS * level as u32)) as usize % SLOTS;
        let next = core::mem::replace(&mut self.first[level][slot], member);
        if next != NONE {
            self.members[next as usize].previous = member;
        }
        self.occupied[level] |= 1 << slot;
        let entry = &mut self.members[member as usize];
        entry.level = level as u8;
        entry.slot = slot as u8;
        entry.is_set = true;
        entry.previous = NONE;
        entry.next = next;
    }

    fn unlink(&mut self, member: u32) {
        let Member {
            level,
            slot,
            is_set,
            previous,
            next,
            ..
        } = self.members[member as usize];
        if !is_set {
            return;
        }
        self.members[member as usize].is_set = false;
        let (level, slot) = (usize::from(level), usize::from(slot));
        debug_assert!(
            self.occupied[level] >> slot & 1 == 1,
            "timer {member} stands in slot {slot} of level {level}, which is marked empty"
        );
        debug_assert!(
            (previous == NONE) == (self.first[level][slot] == member),
            "timer {member} follows {previous}, slot {slot} begins with {}",
            self.first[level][slot]
        );
        if next != NONE {
            self.members[next as usize].previous = previous;
        }
        if previous != NONE {
            self.members[previous as usize].next = next;
            return;
        }
        self.first[level][slot] = next;
        if next == NONE {
            self.occupied[level] &= !(1 << slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use gigatcp_units::Duration;
    use rand_core::{Rng, SeedableRng};

    const SLOT: u64 = 1 << SLOT_BITS;

    fn at(slots: u64) -> Instant {
        Instant::from_nanos(slots * SLOT)
    }

    #[test]
    fn everybody_is_called_once_not_early_and_at_most_one_slot_late() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(7);
        let mut now = 1_234_567_890_123;
        let mut wheel = Wheel::new(Instant::from_nanos(now));
        let mut wanted = vec![u64::MAX; 300];
        let mut due = Vec::new();
        for _ in 0..30_000 {
            let who = random.next_u32() as usize % wanted.len();
            // Times from now to hours ahead, evenly distributed over magnitudes.
            let ahead = random.next_u64() >> (20 + random.next_u32() % 44);
            wanted[who] = match random.next_u32() % 10 {
                0 => u64::MAX,
                _ => now + ahead,
            };
            let is_set = wanted[who] != u64::MAX;
            let time = is_set.then(|| Instant::from_nanos(wanted[who]));
            wheel.set(who as u32, time);
            now += random.next_u64() >> (24 + random.next_u32() % 40);
            due.clear();
            wheel.expire(Instant::from_nanos(now), &mut due);
            for who in &due {
                let at = core::mem::replace(&mut wanted[*who as usize], u64::MAX);
                assert!(at <= now, "{who} was called early");
            }
            let late = wanted
                .iter()
                .filter(|at| **at <= now - now % SLOT && **at + SLOT <= now);
            assert_eq!(late.count(), 0, "somebody was not called");
            let latest = Instant::from_nanos(now - SLOT);
            assert!(wheel.next().is_none_or(|next| next > latest));
        }
    }

    #[test]
    fn a_member_that_is_moved_or_cancelled_is_not_called_at_the_old_time() {
        let mut wheel = Wheel::new(Instant::ZERO);
        let mut due = Vec::new();
        wheel.set(0, Some(at(10)));
        wheel.set(1, Some(at(10)));
        wheel.set(2, Some(at(10)));
        wheel.set(1, Some(at(5_000)));
        wheel.set(2, None);
        wheel.expire(at(100), &mut due);
        assert_eq!(due, [0]);
        wheel.expire(at(4_999), &mut due);
        assert_eq!(due, [0]);
        wheel.expire(at(5_000), &mut due);
        assert_eq!(due, [0, 1]);
        assert_eq!(wheel.next(), None);
    }

    #[test]
    fn what_is_due_at_once_or_in_a_year_is_no_exception() {
        let mut wheel = Wheel::new(at(1 << 40));
        let mut due = Vec::new();
        wheel.set(3, Some(Instant::ZERO));
        let in_a_year = at(1 << 40) + Duration::from_secs(365 * 86_400);
        wheel.set(4, Some(in_a_year));
        wheel.expire(at((1 << 40) + 1), &mut due);
        assert_eq!(due, [3]);
        due.clear();
        let mut days = 0;
        while due.is_empty() {
            days += 1;
            let now = at(1 << 40) + Duration::from_secs(days * 86_400);
            wheel.expire(now, &mut due);
        }
        assert_eq!((days, &due[..]), (365, &[4][..]));
    }
}
