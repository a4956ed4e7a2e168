//! What the hosts' interfaces see: the analysis of `gigatcp why`, and a capture on request.
//!
//! Each host has a view of its own, so that a connection can be diagnosed as the sender of its data
//! saw it. A connection over the loopback has two views at one host, one for each end.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use gigatcp_analyze::Analyzer;
use gigatcp_capture::{CaptureError, Interface, InterfaceId, PcapngWriter};
use gigatcp_flows::Observed;
use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, Flags, IpHeader, Octets, Segment, SeqNumber};

use crate::packet::{Content, IpFields, Packet};

/// Maximum connections that one view analyzes: the first ones. An analysis has a few kilobytes.
const MAX_ANALYZED: usize = 10_000;

/// What one host sees of its connections.
#[derive(Default)]
struct View {
    analyzer: Analyzer,
    /// Initial sequence numbers of the connections that are analyzed, by hashes of their ends.
    analyzed: HashMap<u64, SeqNumber>,
    /// Number of connections that were analyzed.
    begun: usize,
    /// First SYNs beyond the limit, with their retransmissions.
    left_out: u64,
}

/// Views of the hosts, and the capture.
#[derive(Default)]
pub(crate) struct Observers {
    /// Two views per node.
    views: Vec<Option<Box<View>>>,
    /// Whether connections are analyzed.
    is_off: bool,
    capture: Option<Capture>,
    /// Names of the nodes, for interfaces.
    names: Vec<String>,
}

/// A capture file, with an interface for each host.
struct Capture {
    writer: PcapngWriter<File>,
    interfaces: HashMap<u32, InterfaceId>,
    path: PathBuf,
    error: Option<CaptureError>,
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capture = self.capture.as_ref().map(|capture| &capture.path);
        f.debug_struct("Observers")
            .field("views", &self.views.len())
            .field("capture", &capture)
            .finish()
    }
}

impl Observers {
    /// Analyzes no further connections.
    pub(crate) fn stop_analysis(&mut self) {
        self.is_off = true;
        self.views.clear();
    }

    /// Names the next node.
    pub(crate) fn add_node(&mut self, name: &str) {
        self.names.push(name.to_owned());
    }

    pub(crate) fn is_capturing(&self) -> bool {
        self.capture.is_some()
    }

    /// Begins a capture.
    pub(crate) fn capture(&mut self, path: &Path, comment: &str) -> Result<(), String> {
        let fail = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
        let file = File::create(path).map_err(|error| fail(&error))?;
        let writer = PcapngWriter::with_comment(file, comment).map_err(|error| fail(&error))?;
        self.capture = Some(Capture {
            writer,
            interfaces: HashMap::new(),
            path: path.to_owned(),
            error: None,
        });
        Ok(())
    }

    /// Ends the capture; returns its path, or why it is incomplete.
    pub(crate) fn finish_capture(&mut self) -> Option<Result<PathBuf, String>> {
        let Capture {
            writer,
            path,
            error,
            ..
        } = self.capture.take()?;
        let done = match error {
            Some(error) => Err(error),
            None => writer.finish().map(drop),
        };
        Some(done.map_err(|error| error.to_string()).map(|()| path))
    }

    /// Handles a packet that arrives at its host, or leaves a host or a router.
    #[inline]
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        node: u32,
        packet: &Packet,
        arrives: bool,
        is_loopback: bool,
    ) {
        let view = match (is_loopback, arrives) {
            (false, _) => 0,
            (true, false) => packet.loopback_direction(),
            (true, true) => 1 - packet.loopback_direction(),
        };
        self.analyze(now, node, view, packet);
        // A capture of a loopback has each packet once.
        let is_captured = !(arrives && is_loopback);
        if let Some(capture) = self.capture.as_mut().filter(|_| is_captured) {
            capture.write(now, (node, &self.names), packet);
        }
    }

    fn analyze(&mut self, now: Instant, node: u32, view: usize, packet: &Packet) {
        let Some(segment) = packet.sent_segment().filter(|_| !self.is_off) else {
            return;
        };
        let place = node as usize * 2 + view;
        if self.views.len() <= place {
            self.views.resize_with(place + 1, || None);
        }
        let view = self.views[place].get_or_insert_default();
        if !view.analyzes(packet, segment) {
            return;
        }
        let mut see = |segment: &Segment<Octets>| {
            let observed = Observed::of_segment(now, packet.endpoints, segment.ident, segment);
            view.analyzer.handle_packet(&observed);
        };
        if segment.wire_segments() == 1 {
            return see(segment);
        }
        for segment in segment.clone().into_wire_segments() {
            see(&segment);
        }
    }

    /// Views with their nodes; the second value is which of two views of a loopback it is.
    pub(crate) fn views(&self) -> impl Iterator<Item = (u32, usize, &Analyzer)> {
        self.views.iter().enumerate().filter_map(|(place, view)| {
            let analyzer = &view.as_deref()?.analyzer;
            Some((place as u32 / 2, place % 2, analyzer))
        })
    }

    /// Connections that some view did not analyze.
    pub(crate) fn left_out(&self) -> u64 {
        let views = self.views.iter().flatten();
        views.map(|view| view.left_out).max().unwrap_or(0)
    }
}

impl View {
    /// Whether the connection of a segment is one of the first.
    fn analyzes(&mut self, packet: &Packet, segment: &Segment<Octets>) -> bool {
        let is_full = self.begun >= MAX_ANALYZED;
        let is_first = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        if !is_full && !is_first {
            return true;
        }
        let [src, dst] = packet.ports();
        let mut ends: [SocketAddr; 2] = [
            (packet.endpoints.src(), src).into(),
            (packet.endpoints.dst(), dst).into(),
        ];
        ends.sort_unstable();
        let mut hasher = DefaultHasher::new();
        ends.hash(&mut hasher);
        let ends = hasher.finish();
        let known = self.analyzed.get(&ends);
        if !is_first || known == Some(&segment.seq) {
            return known.is_some();
        }
        if is_full {
            // The same ends, but another connection.
            self.analyzed.remove(&ends);
            self.left_out += 1;
            return false;
        }
        self.analyzed.insert(ends, segment.seq);
        self.begun += 1;
        true
    }
}

impl Capture {
    /// Writes a packet that the interface of a node sees.
    fn write(&mut self, now: Instant, (node, names): (u32, &[String]), packet: &Packet) {
        if self.error.is_some() {
            return;
        }
        let interface = match self.interfaces.get(&node) {
            Some(interface) => *interface,
            None => match self.add_interface(&names[node as usize]) {
                Ok(added) => *self.interfaces.entry(node).or_insert(added),
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
            },
        };
        let written = match &packet.content {
            Content::Segment(segment) => {
                let header = IpHeader {
                    ttl: packet.fields.ttl,
                    dscp: packet.fields.tos >> 2,
                    ..IpHeader::new(packet.endpoints)
                };
                self.writer.write_segment(interface, now, &header, segment)
            }
            Content::Datagram(fragments) if fragments.is_whole() => {
                let octets = udp_packet(packet, fragments.octets());
                let len = octets.len() as u32;
                self.writer.write_packet(interface, now, &octets, len)
            }
            // Fragments, ICMP errors and corrupted packets are not captured.
            _ => Ok(()),
        };
        self.error = written.err();
    }

    fn add_interface(&mut self, name: &str) -> Result<InterfaceId, CaptureError> {
        let interface = Interface::new(name)
            .with_whole_packets()
            .with_expanded_super_segments();
        self.writer.add_interface(interface)
    }
}

/// An IP packet with a UDP datagram.
fn udp_packet(packet: &Packet, datagram: Vec<u8>) -> Vec<u8> {
    const UDP: u8 = 17;
    let IpFields { ttl, tos } = packet.fields;
    let len = datagram.len() as u16;
    let mut octets = match packet.endpoints {
        Endpoints::V4 { src, dst } => {
            let total = (len + 20).to_be_bytes();
            let mut header = vec![0x45, tos, total[0], total[1], 0, 0, 0x40, 0, ttl, UDP, 0, 0];
            header.extend(src.octets());
            header.extend(dst.octets());
            let mut sum = gigatcp_wire::Checksum::default();
            sum.add_octets(&header);
            header[10..12].copy_from_slice(&sum.finish().to_be_bytes());
            header
        }
        Endpoints::V6 { src, dst } => {
            let length = len.to_be_bytes();
            let mut header = vec![
                0x60 | tos >> 4,
                tos << 4,
                0,
                0,
                length[0],
                length[1],
                UDP,
                ttl,
            ];
            header.extend(src.octets());
            header.extend(dst.octets());
            header
        }
    };
    octets.extend(datagram);
    octets
}
