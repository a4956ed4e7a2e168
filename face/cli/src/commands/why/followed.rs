//! The connections of a capture, in the order of their first packets, whichever
//! thread followed them.

use gigatcp_flows::{Connection, Side};
use gigatcp_why::{Diagnosis, Watcher};

/// All connections of a capture.
pub(super) struct Followed {
    watchers: Vec<Watcher>,
    /// The first packet of each, its watcher, and its index there.
    places: Vec<(u64, usize, usize)>,
}

impl Followed {
    /// What these have followed, each connection by one of them.
    pub(super) fn new(watchers: Vec<Watcher>) -> Self {
        let places = watchers.iter().enumerate().flat_map(|(which, watcher)| {
            let all = 0..watcher.table().len();
            all.filter_map(move |index| Some((watcher.first_packet(index)?, which, index)))
        });
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        Self { watchers, places }
    }

    /// How many connections there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Who followed that connection, and what its index is there.
    pub(super) fn at(&self, index: usize) -> Option<(&Watcher, usize)> {
        let (_, which, place) = *self.places.get(index)?;
        Some((&self.watchers[which], place))
    }

    /// The connections, each with the number of its first packet.
    pub(super) fn connections(&self) -> impl Iterator<Item = (&Connection, u64)> {
        self.places.iter().filter_map(|(first, which, index)| {
            let connection = self.watchers[*which].table().connection(*index)?;
            Some((connection, *first))
        })
    }

    /// One of them.
    pub(super) fn connection(&self, index: usize) -> Option<&Connection> {
        let (watcher, place) = self.at(index)?;
        watcher.table().connection(place)
    }

    /// Why it was not faster.
    pub(super) fn diagnose(&self, index: usize) -> Option<Diagnosis> {
        let (watcher, place) = self.at(index)?;
        watcher.diagnose(place)
    }

    /// Which side of it sent more.
    pub(super) fn sender(&self, index: usize) -> Option<Side> {
        let (watcher, place) = self.at(index)?;
        watcher.sender(place)
    }

    /// All who followed some.
    pub(super) fn watchers(&self) -> &[Watcher] {
        &self.watchers
    }
}
