//! Captures of a simulated world at three capture points, as pcapng files.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

use gigatcp_capture::{CaptureError, Interface, InterfaceId, PcapngWriter};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Tap, World, WorldConfig};
use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, IpHeader};

use super::patch::Patch;
use crate::draw::Draw;

/// Capture being written.
struct CapturePoint {
    writer: PcapngWriter<Vec<u8>>,
    interface: InterfaceId,
    draw: Draw,
    loss: f64,
    /// First error in writing a packet.
    failure: Option<CaptureError>,
}

impl CapturePoint {
    fn new(loss: f64, seed: u64, expands: bool) -> Result<Self, CaptureError> {
        let mut writer = PcapngWriter::new(Vec::new())?;
        let mut interface = Interface::new("tap");
        if expands {
            interface = interface.with_expanded_super_segments();
        }
        let interface = writer.add_interface(interface)?;
        Ok(Self {
            writer,
            interface,
            draw: Draw::new(seed),
            loss,
            failure: None,
        })
    }

    fn write(&mut self, now: Instant, packet: &Packet) {
        let Some(segment) = packet.segment() else {
            return;
        };
        let endpoints = Endpoints::V4 {
            src: Ipv4Addr::new(10, 1, 0, 1),
            dst: Ipv4Addr::new(10, 2, 0, 1),
        };
        let endpoints = if packet.reverse() {
            endpoints.reversed()
        } else {
            endpoints
        };
        let header = IpHeader {
            ident: segment.ident,
            dont_fragment: packet.ip.is_whole(),
            ..IpHeader::new(endpoints)
        };
        if self.loss > 0.0 && self.draw.unit() < self.loss {
            return;
        }
        let written = self
            .writer
            .write_segment(self.interface, now, &header, segment);
        self.failure = self.failure.take().or(written.err());
    }
}

struct CapturePoints {
    points: [Option<CapturePoint>; 3],
}

#[derive(Clone)]
struct Shared(Arc<Mutex<CapturePoints>>);

impl Shared {
    fn write(&self, place: usize, now: Instant, packet: &Packet) {
        // Only the first flow is graded.
        if packet.flow != 0 {
            return;
        }
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(point) = &mut shared.points[place] {
            point.write(now, packet);
        }
    }
}

impl Tap for Shared {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        self.write(usize::from(!at_sender), now, packet);
    }

    fn on_hop(&mut self, now: Instant, packet: &Packet, hop: usize) {
        // Between the bottleneck and the far side, from the sender's view.
        if hop == usize::from(!packet.reverse()) {
            self.write(2, now, packet);
        }
    }
}

/// Runs the world and returns its captures at the sender, the receiver and mid-path.
pub(crate) fn captures(
    config: WorldConfig,
    patch: &Patch,
    seed: u64,
) -> Result<[Vec<u8>; 3], String> {
    let told = |error: CaptureError| error.to_string();
    // A tap on the path sees wire segments.
    let expands = |place: u64| place == 3 || !patch.super_segments;
    let point = |place: u64| {
        let point = CapturePoint::new(patch.capture_loss, seed ^ place << 40, expands(place));
        point.map(Some).map_err(told)
    };
    let shared = Shared(Arc::new(Mutex::new(CapturePoints {
        points: [point(1)?, point(2)?, point(3)?],
    })));
    let mut world = World::new(config).map_err(|error| error.to_string())?;
    world.set_tap(Box::new(shared.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    drop(world);
    let mut points = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut files = [const { Vec::new() }; 3];
    for (file, point) in files.iter_mut().zip(&mut points.points) {
        let Some(point) = point.take() else { continue };
        match point.failure {
            None => *file = point.writer.finish().map_err(told)?,
            Some(error) => return Err(told(error)),
        }
    }
    Ok(files)
}
