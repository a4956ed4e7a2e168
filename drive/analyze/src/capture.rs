//! A capture, read to its end.

use std::hash::{BuildHasher, Hasher, RandomState};

use gigatcp_capture::CaptureReader;
use gigatcp_why::{Diagnosis, Watcher};

use crate::connections::Connections;
use crate::diagnoses::Diagnoses;
use crate::error::{Error, Halt};
use crate::held::Held;
use crate::name_lookups::{LookupsByAddress, NameLookups};
use crate::options::Options;
use crate::shares::{self, Share};
use crate::source::Source;
use crate::tracker::Tracker;
use crate::walk::{CaptureInfo, CapturedRecord, Unit, Walk};

/// A capture that was read, and its connections.
#[derive(Debug)]
pub struct Capture {
    source: Source,
    info: CaptureInfo,
    segments: u64,
    unit: Unit,
    connections: Connections,
    threads: Option<u32>,
}

impl Capture {
    /// Reads a capture and tracks its connections. It is read again if senders filled windows of
    /// unknown scale, and so showed it.
    ///
    /// # Errors
    /// [`Error`] if it cannot be read, is cut off before its first packet, or was stopped.
    pub fn read(source: &Source, options: &Options<'_>) -> Result<Self, Error> {
        let first = Self::read_once(source, options)?;
        let shown = first.connections.shown_window_scales();
        if shown.is_empty() || source.is_read_once() {
            return Ok(first);
        }
        // Both would be in memory.
        drop(first);
        Self::read_once(&source.clone().with_more_window_scales(shown), options)
    }

    fn read_once(source: &Source, options: &Options<'_>) -> Result<Self, Error> {
        let seed = seed();
        let work = |reader, share| part(source, options, reader, share, seed);
        let parts = shares::read(source, options, work)?;
        let (mut segments, mut unit) = (0, Unit::default());
        let mut watchers = Vec::new();
        let mut first = None;
        for part in parts {
            segments += part.segments;
            unit = unit.or(part.unit);
            watchers.push(part.watcher);
            // All threads walked over the same records.
            first.get_or_insert((part.info, part.lookups));
        }
        let (info, lookups) = first.expect("at least one thread reads");
        Ok(Self {
            source: source.clone(),
            info,
            segments,
            unit,
            connections: Connections::new(watchers, lookups),
            threads: options.threads,
        })
    }

    /// Its source.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Name of its source.
    pub fn name(&self) -> String {
        self.source.name()
    }

    /// Returns its format, number of packets, and notes on what was not read.
    pub const fn info(&self) -> &CaptureInfo {
        &self.info
    }

    /// Number of TCP segments that were analyzed.
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    /// Its connections.
    pub const fn connections(&self) -> &Connections {
        &self.connections
    }

    /// What limited each of these connections, with its index, in their order. Those without data
    /// are left out.
    ///
    /// Connections whose state was not [held](Options::held) are read again, thousands in one pass.
    pub const fn diagnoses(&self, indices: Vec<usize>) -> Diagnoses<'_> {
        Diagnoses::new(self, self.threads, indices)
    }

    /// What limited a connection; `None` if it carried no data. Reads it again if its state was not
    /// [held](Options::held).
    ///
    /// # Errors
    /// [`Error`] if it cannot be read again.
    pub fn diagnose(&self, index: usize) -> Result<Option<Diagnosis>, Error> {
        let diagnosed = self.diagnoses(vec![index]).next().transpose()?;
        Ok(diagnosed.map(|(_, diagnosis)| diagnosis))
    }

    /// Unit of its times in nanoseconds: 1000 or 1.
    pub const fn time_unit_ns(&self) -> u64 {
        self.unit.as_nanos()
    }
}

/// A hash seed unknown to senders of packets, so that they cannot provoke collisions.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Result of one thread.
struct Part {
    watcher: Watcher,
    segments: u64,
    unit: Unit,
    info: CaptureInfo,
    lookups: LookupsByAddress,
}

/// Reads one thread's share of the connections.
fn part(
    source: &Source,
    options: &Options<'_>,
    reader: CaptureReader,
    share: Share,
    seed: u64,
) -> Result<Part, Halt> {
    let mut walk = Walk::new(reader, source, options, share.is_first());
    // All threads walk over the same records.
    if share.is_first() {
        walk.keep_lookups();
    }
    let mut tracker = Tracker::new(source, seed, share);
    let limit = options.held.filter(|_| !source.is_read_once());
    let mut held = limit.map(Held::new);
    while walk.next_batch(&mut |found: CapturedRecord<'_>| tracker.take(found))? {
        if let Some(held) = &mut held {
            held.release_small(&mut tracker);
        }
    }
    Ok(Part {
        watcher: tracker.watcher,
        segments: tracker.segments,
        unit: tracker.unit,
        info: walk.info(),
        lookups: (walk.lookups()).map_or_else(LookupsByAddress::default, NameLookups::by_address),
    })
}
