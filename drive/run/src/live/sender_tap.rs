//! Observes packets at the senders' end of the path in memory: `--why` without a capture, and
//! time-sequence graphs.
//!
//! The path's thread keeps the first bytes of each packet, which hold its headers. A separate
//! thread analyzes them as if they were captured there. It may fall behind: waiting packets are
//! held in memory, [`HEADERS`] bytes each.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use gigatcp_emulate::{PacketEvent, Side, Watch, wire_octets};
use gigatcp_flows::Observed;
use gigatcp_plan::record::FlowRecord;
use gigatcp_units::Instant;
use gigatcp_wire::link::{LinkType, dissect};

use crate::watch::{FIRST_PORT, Observer};

/// Bytes kept of each packet: more than its headers.
const HEADERS: usize = 128;

/// Number of packets passed together.
const BATCH: usize = 512;

/// First bytes of a packet.
struct Kept {
    at: Instant,
    wire_len: u32,
    len: usize,
    octets: [u8; HEADERS],
}

/// Observer of the senders' end of the path.
pub(crate) struct SenderTap {
    scratch: Vec<u8>,
    batch: Vec<Kept>,
    to: Sender<Vec<Kept>>,
}

/// Analysis of the packets that a [`SenderTap`] sees.
pub(crate) struct Analysis(JoinHandle<Observer>);

impl SenderTap {
    /// A tap at the senders' end, whose packets go to `observer`, and its analysis.
    ///
    /// # Errors
    /// If no thread can be started for it.
    pub(crate) fn open(observer: Observer) -> io::Result<(Self, Analysis)> {
        let (to, from) = channel();
        let named = thread::Builder::new().name("why".into());
        let thread = named.spawn(move || analyze(&from, observer))?;
        let tap = Self {
            scratch: Vec::with_capacity(1 << 16),
            batch: Vec::with_capacity(BATCH),
            to,
        };
        Ok((tap, Analysis(thread)))
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // Without an analyzer the packets are dropped.
        let _ = self.to.send(batch);
    }
}

impl Watch for SenderTap {
    fn on_packet(&mut self, event: &PacketEvent<'_>) {
        if event.side != Side::Client {
            return;
        }
        let batch = &mut self.batch;
        wire_octets(event.packet, &mut self.scratch, |octets| {
            let len = octets.len().min(HEADERS);
            let mut kept = Kept {
                at: event.at,
                wire_len: octets.len() as u32,
                len,
                octets: [0; HEADERS],
            };
            kept.octets[..len].copy_from_slice(&octets[..len]);
            batch.push(kept);
        });
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
    }
}

impl Drop for SenderTap {
    fn drop(&mut self) {
        self.hand_over();
    }
}

impl Analysis {
    /// Writes diagnoses and graphs into the records of the flows. The run must have ended.
    pub(crate) fn finish(self, flows: &mut [FlowRecord]) {
        let joined = self.0.join();
        let observer = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        observer.finish(flows);
    }
}

/// Analyzes packets until the capture ends.
fn analyze(from: &Receiver<Vec<Kept>>, mut observer: Observer) -> Observer {
    for kept in from.iter().flatten() {
        let octets = &kept.octets[..kept.len];
        if let Ok(segment) = dissect(LinkType::RAW, octets, kept.wire_len) {
            let packet = Observed::new(kept.at, &segment);
            let sender = packet.src_port.max(packet.dst_port);
            observer.handle_packet(usize::from(sender.wrapping_sub(FIRST_PORT)), &packet);
        }
    }
    observer
}
