//! A capture, read to its end.

use std::hash::{BuildHasher, Hasher, RandomState};

use gigatcp_capture::CaptureReader;
use gigatcp_why::Watcher;

use crate::connections::Connections;
use crate::error::{Error, Halt};
use crate::options::Options;
use crate::shares::{self, Share};
use crate::source::Source;
use crate::walk::{CaptureInfo, CapturedRecord, Unit, Walk};

/// A capture that was read, and its connections.
#[derive(Debug)]
pub struct Capture {
    source: Source,
    info: CaptureInfo,
    segments: u64,
    unit: Unit,
    connections: Connections,
}

impl Capture {
    /// Reads a capture and tracks its connections.
    ///
    /// # Errors
    /// [`Error`] if it cannot be read, is cut off before its first packet, or was stopped.
    pub fn read(source: &Source, options: &Options<'_>) -> Result<Self, Error> {
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
            first.get_or_insert(part.info);
        }
        Ok(Self {
            source: source.clone(),
            info: first.expect("at least one thread reads"),
            segments,
            unit,
            connections: Connections::new(watchers),
        })
    }

    /// Returns its source.
    #[must_use]
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the name of its source.
    #[must_use]
    pub fn name(&self) -> String {
        self.source.name()
    }

    /// Returns its format, number of packets, and notes on what was not read.
    #[must_use]
    pub const fn info(&self) -> &CaptureInfo {
        &self.info
    }

    /// Returns the number of TCP segments that were analyzed.
    #[must_use]
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    /// Returns its connections.
    #[must_use]
    pub const fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Returns the unit of its times in nanoseconds: 1000 or 1.
    #[must_use]
    pub const fn time_unit_ns(&self) -> u64 {
        self.unit.as_nanos()
    }
}

/// Returns a hash seed unknown to senders of packets, so that they cannot provoke collisions.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Result of one thread.
struct Part {
    watcher: Watcher,
    segments: u64,
    unit: Unit,
    info: CaptureInfo,
}

/// Reads one thread's share of the connections.
fn part(
    source: &Source,
    options: &Options<'_>,
    reader: CaptureReader,
    share: Share,
    seed: u64,
) -> Result<Part, Halt> {
    let mut watcher = Watcher::new(seed).with_window_scales(source.window_scales());
    let (mut segments, mut unit) = (0, Unit::default());
    let selection = source.selection();
    let mut take = |found: CapturedRecord<'_>| {
        unit.add(found.at);
        if let Some(error) = found.icmp_error
            && selection.is_none_or(|is_kept| is_kept(found.number))
        {
            // Watchers of other threads do not know the connection.
            watcher.handle_icmp_error(found.number, found.at, error);
        }
        if let Some(segment) = &found.segment
            && share.has(segment)
            && selection.is_none_or(|is_kept| is_kept(found.number))
        {
            segments += 1;
            watcher.handle_packet(found.number, segment);
        }
    };
    let mut walk = Walk::new(reader, source, options, share.is_first());
    walk.all(&mut take)?;
    Ok(Part {
        watcher,
        segments,
        unit,
        info: walk.info(),
    })
}
