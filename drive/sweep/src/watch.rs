//! The packets of a run judged as they pass, without a file.
//!
//! What the senders' engines send and hear is what passes their doors, packet by
//! packet: it goes to `gigatcp-why` as it would from a capture taken there, with
//! the same verdicts. Deliberately not here: the engine's own account of its
//! limits, which a capture cannot know; the record has it beside.

use std::sync::{Arc, Mutex, PoisonError};

use gigatcp_flows::{Observed, Side};
use gigatcp_record::{FlowRecord, WhyRecord, WhyVerdict};
use gigatcp_sim::Tap;
use gigatcp_sim::packet::Packet;
use gigatcp_units::Instant;
use gigatcp_why::{Diagnosis, Watcher};

use crate::tap::endpoints;

/// The first port of senders, in virtual time and live; each further flow has the
/// next one.
pub const FIRST_PORT: u16 = 40_000;

/// Watches the senders' doors; shared between the world and whoever asks.
#[derive(Clone)]
pub struct WatchTap(Arc<Mutex<State>>);

struct State {
    watcher: Watcher,
    packets: u64,
    /// IPv4 identification per flow and direction.
    idents: Vec<[u16; 2]>,
}

impl WatchTap {
    /// Nothing seen yet of `flows` flows.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            watcher: Watcher::new(0),
            packets: 0,
            idents: vec![[0; 2]; flows],
        })))
    }

    /// Puts what is said of each flow into its record.
    pub fn judge(&self, flows: &mut [FlowRecord]) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        judge(&state.watcher, flows);
    }
}

impl Tap for WatchTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let (true, Some(segment)) = (at_sender, packet.segment()) else {
            return;
        };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let endpoints = endpoints(packet.ip, packet.flow, packet.reverse);
        let ident = &mut state.idents[packet.flow as usize][usize::from(packet.reverse)];
        let mut see = |segment: &_| {
            state.packets += 1;
            let observed = Observed::of_segment(now, endpoints, *ident, segment);
            *ident = ident.wrapping_add(1);
            state.watcher.handle_packet(state.packets, &observed);
        };
        if segment.wire_segments() == 1 {
            return see(segment);
        }
        let mut rest = segment.clone();
        while rest.wire_segments() > 1 {
            see(&rest.split_front(1));
        }
        see(&rest);
    }
}

/// Two observers of one world.
pub(crate) struct Both<A, B>(pub A, pub B);

impl<A: Tap, B: Tap> Tap for Both<A, B> {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        self.0.on_packet(now, packet, at_sender);
        self.1.on_packet(now, packet, at_sender);
    }
}

/// Puts what `watcher` says of each connection into the record of its flow.
pub fn judge(watcher: &Watcher, flows: &mut [FlowRecord]) {
    for (index, connection) in watcher.table().connections().enumerate() {
        let port = connection.endpoint(Side::Client).port;
        let number = usize::from(port.wrapping_sub(FIRST_PORT));
        if let Some(flow) = flows.get_mut(number) {
            flow.why = watcher.diagnose(index).map(|one| in_record(&one));
        }
    }
}

fn in_record(diagnosis: &Diagnosis) -> WhyRecord {
    let verdicts = diagnosis.verdicts.iter().map(|verdict| WhyVerdict {
        id: verdict.cause.id.to_owned(),
        finding: verdict.finding.clone(),
        confidence: (verdict.confidence * 1000.0).round() / 1000.0,
        time_ns: verdict.time.as_nanos(),
        cost_bps: verdict.cost.rate.as_bps(),
    });
    WhyRecord {
        dominant: diagnosis.headline().map(|first| first.cause.id.to_owned()),
        limited_by: diagnosis.limited_by(),
        paragraph: diagnosis.limited_by(),
        unknown_ns: diagnosis.unknown.as_nanos(),
        verdicts: verdicts.collect(),
    }
}
