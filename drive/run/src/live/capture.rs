//! Captures packets at one end of the path into a pcapng file.
//!
//! The file has wire packets, as the path counts them, with their checksums. Those of one
//! super-segment have the same time.

use std::fs::File;
use std::path::Path;

use gigatcp_capture::{CaptureError, Interface, InterfaceId, PcapngWriter, SnapLength};
use gigatcp_emulate::{Changed, PacketEvent, Side, Watch, wire_octets};
use gigatcp_linux::clock;
use gigatcp_path::Difference;
use gigatcp_units::{Duration, Instant};

use crate::capture_file::{CaptureFile, create};

/// Bytes kept of each packet: more than its headers.
pub const HEADERS: SnapLength = SnapLength::Octets(128);

/// A capture written by the thread of the path.
pub struct Capture {
    side: Side,
    interface: InterfaceId,
    /// Whether times are of the wall clock; else they count from the path's start.
    is_real_time: bool,
    origin: Duration,
    scratch: Vec<u8>,
    file: CaptureFile,
}

impl Capture {
    /// Starts a capture of the packets at `side` into the file at `path`, with `snap_length`.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn begin(
        path: &Path,
        side: Side,
        snap_length: SnapLength,
    ) -> Result<(Self, CaptureFile), CaptureError> {
        Self::begin_in(create(path)?, side, snap_length)
    }

    /// Starts a capture into an existing file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin_in(
        file: File,
        side: Side,
        snap_length: SnapLength,
    ) -> Result<(Self, CaptureFile), CaptureError> {
        let end = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        let place = Interface {
            snap_length,
            ..Interface::new(end)
        };
        let mut writer = PcapngWriter::new(file)?;
        let interface = writer.add_interface(place)?;
        let file = CaptureFile::new(writer);
        let capture = Self {
            side,
            interface,
            is_real_time: false,
            origin: Duration::ZERO,
            scratch: Vec::with_capacity(1 << 16),
            file: file.clone(),
        };
        Ok((capture, file))
    }

    /// Selects wall-clock times of packets, instead of times since the path's start.
    #[must_use]
    pub fn in_real_time(self) -> Self {
        Self {
            is_real_time: true,
            ..self
        }
    }
}

impl Watch for Capture {
    fn on_start(&mut self, at: Instant) {
        if self.is_real_time {
            let ahead = clock::realtime().saturating_sub(clock::monotonic());
            let began = at.saturating_since(Instant::ZERO);
            self.origin = Duration::from_nanos(ahead.unsigned_abs()) + began;
        }
    }

    fn on_packet(&mut self, event: &PacketEvent<'_>) {
        if event.side != self.side {
            return;
        }
        let (interface, at) = (self.interface, event.at + self.origin);
        let scratch = &mut self.scratch;
        self.file.write(|writer| {
            let mut written = Ok(());
            wire_octets(event.packet, scratch, |octets| {
                if written.is_ok() {
                    written = writer.write_packet(interface, at, octets, octets.len() as u32);
                }
            });
            written
        });
    }

    /// Writes each change as a comment on the next packet.
    fn on_change(&mut self, changed: &[Changed]) {
        self.file.write(|writer| {
            let mut comments = changed.iter().map(comment);
            comments.try_for_each(|text| writer.comment_next(&text))
        });
    }
}

/// A change as a comment.
///
/// Example: `path changed at 12.3 s, client to server, bottleneck: rate 10 Mbit/s -> 5 Mbit/s`.
fn comment(changed: &Changed) -> String {
    let direction = match changed.from {
        Side::Client => "client to server",
        Side::Server => "server to client",
    };
    let seconds = changed.at.saturating_since(Instant::ZERO).as_secs_f64();
    let Difference { what, from, to } = &changed.difference;
    let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
    format!(
        "path changed at {seconds:.6} s, {direction}, {}: {what} {} -> {}",
        changed.hop,
        or_none(from),
        or_none(to)
    )
}
