//! Times of the first drops and marks of an element.

use alloc::vec::Vec;

use gigatcp_units::Instant;

use crate::drops::DropCause;

/// Maximum number of times kept, of drops and of marks each.
pub const MAX_TIMES: usize = 1000;

/// The first [`MAX_TIMES`] events of a kind, and the number of further ones.
#[derive(Clone, Debug)]
pub struct Times<E> {
    kept: Vec<E>,
    left_out: u64,
}

impl<E> Default for Times<E> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            left_out: 0,
        }
    }
}

impl<E: Copy> Times<E> {
    /// Adds `event` once for each of `packets`.
    pub fn add(&mut self, event: E, packets: u64) {
        let room = MAX_TIMES.saturating_sub(self.kept.len());
        let kept = usize::try_from(packets).map_or(room, |packets| packets.min(room));
        self.kept.resize(self.kept.len() + kept, event);
        self.left_out += packets - kept as u64;
    }

    /// First events, in order.
    pub fn kept(&self) -> &[E] {
        &self.kept
    }

    /// Number of further events.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// Drops and marks of an element, one entry per wire packet.
#[derive(Clone, Default, Debug)]
pub struct EventTimes {
    /// Times and causes of drops.
    pub drops: Times<(Instant, DropCause)>,
    /// Times of marks.
    pub marks: Times<Instant>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_events_are_kept_and_all_others_counted() {
        let mut times = Times::default();
        times.add(1, 3);
        times.add(2, MAX_TIMES as u64);
        times.add(3, 5);
        assert_eq!(times.kept().len(), MAX_TIMES);
        assert_eq!(times.kept()[..4], [1, 1, 1, 2]);
        assert_eq!(times.left_out(), 8);
    }
}
