//! Captures packets at one end of the path into a pcapng file.
//!
//! The file has wire packets, as the path counts them, with their checksums. Those of one
//! super-segment have the same time.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use gigatcp_capture::{CaptureError, Interface, InterfaceId, PcapngWriter, SnapLength};
use gigatcp_emulate::{Changed, PacketEvent, Side, Watch, wire_octets};
use gigatcp_linux::clock;
use gigatcp_path::Difference;
use gigatcp_units::{Duration, Instant};

use crate::lock;

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
    shared: Arc<Mutex<State>>,
}

/// State of the file.
struct State {
    writer: Option<PcapngWriter<File>>,
    /// First write error.
    error: Option<CaptureError>,
}

/// Access to a capture in progress, for the code that started it.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Mutex<State>>,
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
    ) -> Result<(Self, Handle), CaptureError> {
        let file = File::create(path).map_err(|source| CaptureError::Write {
            what: format!("{}, the file", path.display()),
            source,
        })?;
        Self::begin_in(file, side, snap_length)
    }

    /// Starts a capture into an existing file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin_in(
        file: File,
        side: Side,
        snap_length: SnapLength,
    ) -> Result<(Self, Handle), CaptureError> {
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
        let shared = Arc::new(Mutex::new(State {
            writer: Some(writer),
            error: None,
        }));
        let handle = Handle {
            shared: Arc::clone(&shared),
        };
        let capture = Self {
            side,
            interface,
            is_real_time: false,
            origin: Duration::ZERO,
            scratch: Vec::with_capacity(1 << 16),
            shared,
        };
        Ok((capture, handle))
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
        let mut state = lock(&self.shared);
        let State { writer, error } = &mut *state;
        let Some(open) = writer else { return };
        let interface = self.interface;
        let at = event.at + self.origin;
        wire_octets(event.packet, &mut self.scratch, |octets| {
            let written = open.write_packet(interface, at, octets, octets.len() as u32);
            if let (Err(first), None) = (written, &error) {
                *error = Some(first);
            }
        });
        if error.is_some() {
            *writer = None;
        }
    }

    /// Writes each change as a comment on the next packet.
    fn on_change(&mut self, changed: &[Changed]) {
        let mut state = lock(&self.shared);
        let state = &mut *state;
        let Some(open) = &mut state.writer else {
            return;
        };
        for changed in changed {
            if let (Err(first), None) = (open.comment_next(&comment(changed)), &state.error) {
                state.error = Some(first);
            }
        }
    }
}

/// Returns a change as a comment.
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

impl Handle {
    /// Ends the file; returns the number of packets in it.
    ///
    /// # Errors
    /// The first error since it began.
    pub fn finish(self) -> Result<u64, CaptureError> {
        let mut state = lock(&self.shared);
        if let Some(error) = state.error.take() {
            return Err(error);
        }
        let Some(writer) = state.writer.take() else {
            return Ok(0);
        };
        let packets = writer.packets();
        writer.finish()?;
        Ok(packets)
    }
}
