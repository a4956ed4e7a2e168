//! Order of the answered connections: the largest first.
//!
//! Connections of a few kilobytes, and those that control a tester's others, say little about a path and
//! are only counted. So are connections
//! after the [`SHOWN`] largest. A connection of two captures is listed once.

use gigatcp_analyze::PairedDiagnosis;

use super::AnsweredCapture;

/// Default maximum number of connections answered.
pub const SHOWN: usize = 8;

/// Minimum bytes of an answered connection, except the largest.
pub const MIN_SHOWN_BYTES: u64 = 10_000;

/// A connection of one of the captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Index of the capture.
    pub capture: usize,
    /// Index of the connection in it.
    pub index: usize,
    /// Unique bytes of its data.
    pub bytes: u64,
    /// Whether it controls the others of its program, as that of a tester.
    pub is_control: bool,
}

impl Place {
    const fn is_small(self) -> bool {
        self.bytes < MIN_SHOWN_BYTES || self.is_control
    }
}

/// Connections sorted by size, and how many of them are answered.
#[derive(Debug)]
pub struct Order {
    ranked: Vec<Place>,
    shown: usize,
}

impl Order {
    /// Ranks the connections that carried data. A pair is listed in the capture that its packet
    /// numbers refer to.
    pub fn of(captures: &[&AnsweredCapture], pairs: &[PairedDiagnosis], shows_all: bool) -> Self {
        let mut ranked = Vec::new();
        for (capture, loaded) in captures.iter().enumerate() {
            let connections = loaded.capture.connections();
            let is_far = |index: &usize| {
                pairs
                    .iter()
                    .any(|pair| pair.near != capture && pair.indices[capture] == *index)
            };
            let all = loaded.candidates();
            let controls = connections.controls();
            ranked.extend(
                all.into_iter()
                    .filter(|index| !is_far(index))
                    .map(|index| Place {
                        capture,
                        index,
                        bytes: connections.data_bytes(index),
                        is_control: controls.contains(&index),
                    }),
            );
        }
        ranked.sort_by_key(|place| {
            let size = std::cmp::Reverse(place.bytes);
            (place.is_control, size, place.capture, place.index)
        });
        let is_chosen = captures.iter().any(|loaded| !loaded.chosen.is_empty());
        let shown = if shows_all || is_chosen {
            ranked.len()
        } else {
            shown(&ranked)
        };
        Self { ranked, shown }
    }

    /// Answered connections.
    pub fn shown(&self) -> &[Place] {
        &self.ranked[..self.shown]
    }

    /// Connections that are only counted: those beyond the limit, and the small ones.
    pub fn counted(&self) -> [&[Place]; 2] {
        let rest = self.all_counted();
        let small = rest.partition_point(|place| !place.is_small());
        let (many, small) = rest.split_at(small);
        [many, small]
    }

    /// Both, the largest first.
    pub fn all_counted(&self) -> &[Place] {
        &self.ranked[self.shown..]
    }

    /// Connections with data.
    pub(super) fn len(&self) -> usize {
        self.ranked.len()
    }
}

/// How many of the largest are answered: at least one.
fn shown(ranked: &[Place]) -> usize {
    let large = ranked.partition_point(|place| !place.is_small());
    large.clamp(1, SHOWN).min(ranked.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(sizes: &[u64]) -> Order {
        let place = |(index, bytes): (usize, &u64)| Place {
            capture: 0,
            index,
            bytes: *bytes,
            is_control: false,
        };
        let ranked: Vec<Place> = sizes.iter().enumerate().map(place).collect();
        let shown = shown(&ranked);
        Order { ranked, shown }
    }

    #[test]
    fn of_small_connections_only_the_largest_is_answered() {
        let order = order(&[9_999, 5_000, 1]);
        assert_eq!(order.shown().len(), 1);
        assert_eq!(order.counted().map(<[Place]>::len), [0, 2]);
    }

    #[test]
    fn eight_of_many_are_answered_and_small_ones_are_counted_apart() {
        let mut sizes = vec![1 << 20; 11];
        sizes.extend([10_000, 9_999, 10]);
        let order = order(&sizes);
        assert_eq!(order.shown().len(), 8);
        assert_eq!(order.counted().map(<[Place]>::len), [4, 2]);
    }

    #[test]
    fn without_connections_nothing_is_answered() {
        assert!(order(&[]).shown().is_empty());
    }
}
