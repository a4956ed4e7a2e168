//! What is said of captures, and of nothing else.

use gigatcp_capture::CaptureReader;
use gigatcp_flows::{Observed, Side, Sightings};
use gigatcp_units::Instant;
use gigatcp_why::{Between, Diagnosis, Watcher};

use crate::draw::Draw;

/// A capture, as a file.
#[derive(Clone)]
pub struct Captured {
    pub octets: Vec<u8>,
    /// Chance that a packet of it is not looked at.
    pub loss: f64,
    /// Which ones.
    pub seed: u64,
}

impl Captured {
    /// All of it.
    pub const fn whole(octets: Vec<u8>) -> Self {
        Self {
            octets,
            loss: 0.0,
            seed: 0,
        }
    }
}

/// What is said of the capture alone.
pub fn diagnose(captured: Captured) -> Option<Diagnosis> {
    watch(captured).0.diagnose(0)
}

/// What is said of the capture at the sender with that at the receiver.
pub fn diagnose_both(sender: Captured, receiver: Captured) -> Option<Diagnosis> {
    let (near, near_seen) = watch(sender);
    let (far, far_seen) = watch(receiver);
    let between = Between::new(&near_seen, &far_seen, near.sender(0)?);
    match between {
        Some(between) => near.diagnose_with(0, (&far, 0), &between),
        None => near.diagnose(0),
    }
}

fn watch(captured: Captured) -> (Watcher, Sightings) {
    let mut reader = CaptureReader::from_octets(captured.octets).expect("a capture");
    let mut watcher = Watcher::new(1);
    let mut seen = Sightings::new();
    let mut now = Instant::ZERO;
    let mut draw = Draw::new(captured.seed);
    while let Ok(Some(record)) = reader.next_record() {
        now = record.time.unwrap_or(now);
        let number = record.number;
        if captured.loss > 0.0 && draw.unit() < captured.loss {
            continue;
        }
        if let Ok(segment) = record.dissect() {
            let packet = Observed::new(now, &segment);
            watcher.handle_packet(number, &packet);
            let connection = watcher.table().connection(0);
            let from = connection.map(|one| one.endpoint(Side::Client));
            let is_client = from.is_some_and(|from| {
                from.port == packet.src_port && { packet.endpoints.src() == from.address }
            });
            seen.add(
                if is_client {
                    Side::Client
                } else {
                    Side::Server
                },
                &packet,
            );
        }
    }
    (watcher, seen)
}
