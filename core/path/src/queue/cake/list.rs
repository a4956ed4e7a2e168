//! Lists of queues by number: moves from any place in constant time.

/// Number that stands for no queue.
const NONE: u16 = u16::MAX;

/// Neighbors of a queue in its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbors {
    before: u16,
    after: u16,
}

impl Default for Neighbors {
    fn default() -> Self {
        Self {
            before: NONE,
            after: NONE,
        }
    }
}

/// A list; the neighbors of each queue are in a table of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u16,
    last: u16,
}

impl Default for List {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
        }
    }
}

impl List {
    /// First queue.
    pub(super) fn first(&self) -> Option<u16> {
        (self.first != NONE).then_some(self.first)
    }

    /// Queues in order.
    pub(super) fn iter<'a>(&self, neighbors: &'a [Neighbors]) -> impl Iterator<Item = u16> + 'a {
        core::iter::successors(self.first(), |number| {
            let after = neighbors[usize::from(*number)].after;
            (after != NONE).then_some(after)
        })
    }

    /// Appends a queue that is in no list.
    pub(super) fn push(&mut self, neighbors: &mut [Neighbors], number: u16) {
        neighbors[usize::from(number)] = Neighbors {
            before: self.last,
            after: NONE,
        };
        match self.last {
            NONE => self.first = number,
            last => neighbors[usize::from(last)].after = number,
        }
        self.last = number;
    }

    /// Removes a queue of this list.
    pub(super) fn remove(&mut self, neighbors: &mut [Neighbors], number: u16) {
        let Neighbors { before, after } = neighbors[usize::from(number)];
        match before {
            NONE => self.first = after,
            before => neighbors[usize::from(before)].after = after,
        }
        match after {
            NONE => self.last = before,
            after => neighbors[usize::from(after)].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn queue_removed_from_any_place_leaves_the_others_in_order() {
        for (removed, expected) in [(0, [1, 2]), (1, [0, 2]), (2, [0, 1])] {
            let mut neighbors = [Neighbors::default(); 3];
            let mut list = List::default();
            for number in 0..3 {
                list.push(&mut neighbors, number);
            }
            list.remove(&mut neighbors, removed);
            assert_eq!(list.iter(&neighbors).collect::<Vec<_>>(), expected);
            list.push(&mut neighbors, removed);
            assert_eq!(list.iter(&neighbors).last(), Some(removed));
        }
    }
}
