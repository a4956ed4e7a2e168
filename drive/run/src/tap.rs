//! Writes packets to a capture file, as an observer at the sender's interface sees them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gigatcp_capture::{CaptureError, Interface, InterfaceId, PcapngWriter};
use gigatcp_sim::Tap;
use gigatcp_sim::address::endpoints;
use gigatcp_sim::packet::Packet;
use gigatcp_units::Instant;
use gigatcp_wire::IpHeader;

use crate::lock;

/// A capture being written, shared by the simulation and its caller.
///
/// The caller checks for its errors.
#[derive(Clone)]
pub struct CaptureTap {
    state: Arc<Mutex<State>>,
}

struct State {
    writer: Option<PcapngWriter<File>>,
    interface: InterfaceId,
    path: PathBuf,
    error: Option<CaptureError>,
}

impl CaptureTap {
    /// Starts a capture in the file at `path`.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn create(path: &Path, comment: &str) -> Result<Self, CaptureError> {
        let file = File::create(path).map_err(|source| CaptureError::Write {
            what: format!("{}, the file", path.display()),
            source,
        })?;
        let mut writer = PcapngWriter::with_comment(file, comment)?;
        let interface = Interface::new("sender").with_expanded_super_segments();
        let interface = writer.add_interface(interface)?;
        let state = State {
            writer: Some(writer),
            interface,
            path: path.to_path_buf(),
            error: None,
        };
        Ok(Self {
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// Ends the capture and returns its path.
    ///
    /// # Errors
    /// The first error since it began.
    pub fn finish(&self) -> Result<PathBuf, CaptureError> {
        let mut state = lock(&self.state);
        if let Some(error) = state.error.take() {
            return Err(error);
        }
        if let Some(writer) = state.writer.take() {
            writer.finish()?;
        }
        Ok(state.path.clone())
    }
}

impl Tap for CaptureTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        if at_sender {
            lock(&self.state).write(now, packet);
        }
    }
}

impl State {
    fn write(&mut self, now: Instant, packet: &Packet) {
        let (Some(writer), Some(segment)) = (&mut self.writer, packet.segment()) else {
            return;
        };
        let header = IpHeader {
            ident: segment.ident,
            dont_fragment: packet.ip.is_whole(),
            ..IpHeader::new(endpoints(
                packet.ip.version(),
                packet.flow,
                packet.reverse(),
            ))
        };
        if let Err(error) = writer.write_segment(self.interface, now, &header, segment) {
            // No more is written; the run continues and reports the error at its end.
            self.error = Some(error);
            self.writer = None;
        }
    }
}
