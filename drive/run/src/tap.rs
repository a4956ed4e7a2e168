//! Writes packets to a capture file, as an observer at the sender's interface sees them.

use std::path::Path;

use gigatcp_capture::{CaptureError, Interface, InterfaceId, PcapngWriter};
use gigatcp_sim::Tap;
use gigatcp_sim::address::endpoints;
use gigatcp_sim::packet::Packet;
use gigatcp_units::Instant;
use gigatcp_wire::IpHeader;

use crate::capture_file::{CaptureFile, create};

/// Writes what passes the senders' interfaces of a simulation.
pub(crate) struct CaptureTap {
    file: CaptureFile,
    interface: InterfaceId,
}

impl CaptureTap {
    /// Starts a capture in the file at `path`; the caller ends it.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub(crate) fn begin(path: &Path, comment: &str) -> Result<(Self, CaptureFile), CaptureError> {
        let mut writer = PcapngWriter::with_comment(create(path)?, comment)?;
        let interface = Interface::new("sender").with_expanded_super_segments();
        let interface = writer.add_interface(interface)?;
        let file = CaptureFile::new(writer);
        let tap = Self {
            file: file.clone(),
            interface,
        };
        Ok((tap, file))
    }
}

impl Tap for CaptureTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let (true, Some(segment)) = (at_sender, packet.segment()) else {
            return;
        };
        let ip = packet.ip;
        let header = IpHeader {
            ident: segment.ident,
            dont_fragment: ip.is_whole(),
            ..IpHeader::new(endpoints(ip.version(), packet.flow, packet.reverse()))
        };
        self.file
            .write(|writer| writer.write_segment(self.interface, now, &header, segment));
    }
}
