//! Packets at one end of the path, into a pcapng file.
//!
//! What is written are wire packets, as the path counts them, with their
//! checksums, a super-segment's all at the same time.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gigatcp_capture::{CaptureError, Interface, InterfaceId, PcapngWriter, SnapLength};
use gigatcp_emulate::{Changed, PacketEvent, Side, Watch, wire_octets};
use gigatcp_linux::clock;
use gigatcp_path::Difference;
use gigatcp_units::{Duration, Instant};

/// Octets kept of each packet: more than headers have.
pub const HEADERS: SnapLength = SnapLength::Octets(128);

/// A capture that the thread of the path writes.
pub struct Capture {
    side: Side,
    interface: InterfaceId,
    /// Whether times are those of the day; else they count from the path's beginning.
    is_real_time: bool,
    origin: Duration,
    scratch: Vec<u8>,
    shared: Arc<Mutex<State>>,
}

/// How the file stands.
struct State {
    writer: Option<PcapngWriter<File>>,
    /// What was said first that could not be written.
    error: Option<CaptureError>,
}

/// Access to a capture in progress, for the code that started it.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Mutex<State>>,
}

impl Capture {
    /// Begins the file at `path`: of the packets at `side`, as much as `snap_length` says.
    ///
    /// # Errors
    /// When the file cannot be made or written.
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

    /// The same into a file that was made.
    ///
    /// # Errors
    /// When it cannot be written.
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
        let begun = PcapngWriter::new(file).and_then(|mut writer| {
            let interface = writer.add_interface(place)?;
            Ok((writer, interface))
        });
        let (writer, interface) = begun?;
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

    /// Writes the time of day at which packets pass, not the time since the path began.
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
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Each change is a comment on the packet that comes next.
    fn on_change(&mut self, changed: &[Changed]) {
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
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

/// A change as a comment: `path changed at 12.3 s, client to server, bottleneck: rate
/// 10 Mbit/s -> 5 Mbit/s`.
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
    /// Ends the file; how many packets are in it.
    ///
    /// # Errors
    /// The first thing that went wrong since it began.
    pub fn finish(self) -> Result<u64, CaptureError> {
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
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
