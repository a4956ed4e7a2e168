//! Diagnoses of many connections, with memory for some of them.

use gigatcp_flows::Side;
use gigatcp_why::{Diagnosis, Watcher};

use crate::capture::{Capture, seed};
use crate::connections::Connections;
use crate::error::Error;
use crate::name_lookups::LookupsByAddress;
use crate::options::Options;
use crate::shares::{self, Share};
use crate::tracker::{EndsSet, Tracker, ordered};
use crate::walk::{CapturedRecord, Walk};

/// Minimum number of connections that another pass reads. Of more connections a pass reads a
/// fraction of this size, so that the number of passes does not grow with theirs.
const MIN_BATCH: usize = 4096;
const FRACTION: usize = 32;

/// Diagnoses of connections, one after the other; see [`Capture::diagnoses`].
#[derive(Debug)]
pub struct Diagnoses<'a> {
    capture: &'a Capture,
    threads: Option<u32>,
    indices: Vec<usize>,
    next: usize,
    /// Connections of the latest other pass.
    again: Option<Connections>,
}

impl<'a> Diagnoses<'a> {
    pub(crate) const fn new(
        capture: &'a Capture,
        threads: Option<u32>,
        indices: Vec<usize>,
    ) -> Self {
        Self {
            capture,
            threads,
            indices,
            next: 0,
            again: None,
        }
    }

    /// Diagnosis of a connection, as of a part of its program; `None` if it carried no data.
    fn diagnose(&mut self, index: usize) -> Result<Option<Diagnosis>, Error> {
        let mut diagnosed = self.diagnose_alone(index)?;
        if let Some(diagnosis) = &mut diagnosed {
            self.capture.connections().explain(index, diagnosis);
        }
        Ok(diagnosed)
    }

    fn diagnose_alone(&mut self, index: usize) -> Result<Option<Diagnosis>, Error> {
        let connections = self.capture.connections();
        if !is_released(connections, index) {
            return Ok(connections.diagnose_alone(index));
        }
        if self.read(index).is_none() {
            self.again = Some(self.read_again()?);
        }
        let (watcher, index) = self.read(index).ok_or_else(|| Error::Changed {
            name: self.capture.name(),
        })?;
        Ok(watcher.diagnose(index))
    }

    /// A connection of the latest other pass.
    fn read(&self, index: usize) -> Option<(&Watcher, usize)> {
        let first_packet = self.capture.connections().first_packet(index)?;
        self.again.as_ref()?.beginning_at(first_packet)
    }

    /// Reads the next connections without state, from the latest index on.
    fn read_again(&mut self) -> Result<Connections, Error> {
        // First, since both would be in memory.
        self.again = None;
        let connections = self.capture.connections();
        let next = self.indices[self.next - 1..].iter().copied();
        let ends = next
            .filter(|index| is_released(connections, *index))
            .take(MIN_BATCH.max(connections.len() / FRACTION))
            .filter_map(|index| connections.connection(index))
            .map(|known| {
                let [client, server] = Side::BOTH.map(|side| known.endpoint(side));
                ordered(client, server)
            });
        let only = EndsSet::of(ends);
        let (source, seed) = (self.capture.source(), seed());
        let options = Options {
            threads: self.threads,
            ..Options::default()
        };
        // A capture that grows meanwhile ends where its counts do.
        let last = self.capture.info().packets;
        let watchers = shares::read(source, &options, |reader, share: Share| {
            let mut tracker = Tracker::new(source, seed, share).only(&only);
            Walk::quiet(reader).all(&mut |found: CapturedRecord<'_>| {
                if found.number <= last {
                    tracker.take(found);
                }
            })?;
            Ok(tracker.watcher)
        })?;
        Ok(Connections::new(watchers, LookupsByAddress::default()))
    }
}

impl Iterator for Diagnoses<'_> {
    type Item = Result<(usize, Diagnosis), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let index = *self.indices.get(self.next)?;
            self.next += 1;
            let diagnosed = self.diagnose(index).transpose();
            if let Some(diagnosed) = diagnosed {
                // What is missing now is missing for all others: each would read the file again.
                if diagnosed.is_err() {
                    self.next = self.indices.len();
                }
                return Some(diagnosed.map(|diagnosis| (index, diagnosis)));
            }
        }
    }
}

/// Whether the state of a connection is not held.
fn is_released(connections: &Connections, index: usize) -> bool {
    let at = connections.at(index);
    at.is_some_and(|(watcher, index)| watcher.is_released(index))
}
