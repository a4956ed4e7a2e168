//! Capture point and segment size of connections, for captures of very many.
//!
//! A [`crate::Watcher`] needs some 4 kB for each direction with data, since it reports what limited
//! it. Capture point and segment size need neither rounds nor losses, only the turnaround, which
//! follows from the handshake, and the sizes of new data. Both follow the rules of
//! `sender_view.rs`, and a test compares the results.
//!
//! If the handshake was not seen, the turnaround follows from timestamps (`echoes.rs`), which costs
//! up to 512 ticks of the peer's clock.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_flows::{Connection, FlowTable, Kind, Observed, Packet, Side, Verdict};
use gigatcp_units::Duration;
use gigatcp_wire::Flags;

use crate::capture_point::CapturePoint;
use crate::echoes::Echoes;
use crate::monotone::Monotone;
use crate::segment_size::{SegmentSize, Sizes, vote, wire_segment};

/// Outline of one direction: capture point and segment size, without a diagnosis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaptureContext {
    /// Capture point.
    pub view: CapturePoint,
    /// Size of its full segments, and its cause.
    pub segments: SegmentSize,
}

/// Unique bytes of data of one side: those in the capture, or those that the other side acknowledged if
/// none of its packets were captured.
#[must_use]
pub fn shown_bytes(connection: &Connection, side: Side) -> u64 {
    /// A SYN and a FIN are one byte each.
    const CONTROL: u64 = 2;
    let direction = connection.direction(side);
    if direction.packets() > 0 {
        return direction.unique_bytes();
    }
    let acked = direction.acked_position().unwrap_or(0);
    acked.saturating_sub(direction.first_position() + CONTROL)
}

/// Side of a connection that sent more data.
#[must_use]
pub fn data_sender(connection: &Connection) -> Side {
    let bytes = |side: Side| shown_bytes(connection, side);
    if bytes(Side::Server) > bytes(Side::Client) {
        Side::Server
    } else {
        Side::Client
    }
}

/// The [`CaptureContext`] of every connection of a [`FlowTable`] that retires none.
#[derive(Default, Debug)]
pub struct Outlines {
    connections: Vec<Both>,
}

/// Both directions of one connection.
#[derive(Clone, Default, Debug)]
struct Both {
    clock: Monotone,
    halves: Halves,
    sides: [Option<Outline>; 2],
}

/// Halves of the handshake's RTT, as sampled here. From SYN to SYN-ACK, and from there to its
/// acknowledgment.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Halves([Option<Duration>; 2]);

/// A direction with data.
#[derive(Clone, Debug)]
struct Outline {
    sizes: Sizes,
    /// Time from here to the sender and back.
    turn: Option<Duration>,
    /// Source of the turnaround if no handshake was seen.
    echoes: Option<Box<Echoes>>,
}

impl Outlines {
    /// Creates an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            connections: Vec::new(),
        }
    }

    /// Processes a packet that `table` has just analyzed.
    pub fn handle_packet(&mut self, table: &FlowTable, verdict: &Verdict, packet: &Observed) {
        let index = verdict.connection;
        let Some(connection) = table.connection(index) else {
            return;
        };
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, Both::default);
        }
        self.connections[index].handle(connection, verdict, packet);
    }

    /// Outline of that side's data, by the connection's index in the table. `None` if it sent none.
    #[must_use]
    pub fn of(&self, table: &FlowTable, index: usize, side: Side) -> Option<CaptureContext> {
        let connection = table.connection(index)?;
        let outline = self.connections.get(index)?.sides[side as usize].as_ref()?;
        let trip = connection.direction(side).round_trips().min();
        Some(CaptureContext {
            view: CapturePoint::infer(trip, outline.turn),
            segments: SegmentSize::of(connection, side, &outline.sizes),
        })
    }
}

impl Both {
    fn handle(&mut self, connection: &Connection, verdict: &Verdict, packet: &Observed) {
        let packet = &Observed {
            at: self.clock.time(packet.at),
            ..*packet
        };
        let from = verdict.from;
        self.halves.note(connection, verdict, packet.flags);
        if packet.payload_len > 0 && self.sides[from as usize].is_none() {
            self.sides[from as usize] = Some(Outline::new(self.halves.turn_of(from)));
        }
        if let Some(outline) = &mut self.sides[from as usize] {
            outline.on_sent(connection, verdict, packet);
        }
        if let Some(outline) = &mut self.sides[from.other() as usize] {
            outline.on_heard(packet);
        }
    }
}

impl Halves {
    /// Records the first sample of either side, which is of its SYN. It is the time from here to
    /// the other side and back.
    #[inline(always)]
    pub fn note(&mut self, connection: &Connection, verdict: &Verdict, flags: Flags) {
        if let Some(trip) = verdict.round_trip()
            && self.0[verdict.from.other() as usize].is_none()
        {
            self.note_first(connection, verdict, flags, trip);
        }
    }

    fn note_first(
        &mut self,
        connection: &Connection,
        verdict: &Verdict,
        flags: Flags,
        trip: Duration,
    ) {
        let is_opening = connection.direction(Side::Client).has_syn()
            && connection.direction(Side::Server).has_syn();
        if is_opening && !flags.contains(Flags::RST) && !verdict.kinds.contains(Kind::AckedUnseen) {
            self.0[verdict.from.other() as usize] = Some(trip);
        }
    }

    /// Time from here to that side and back.
    pub const fn turn_of(self, side: Side) -> Option<Duration> {
        self.0[side.other() as usize]
    }
}

impl Outline {
    fn new(turn: Option<Duration>) -> Self {
        Self {
            sizes: Sizes::default(),
            turn,
            echoes: turn.is_none().then(Box::default),
        }
    }

    /// Processes a packet of the sender.
    fn on_sent(&mut self, connection: &Connection, verdict: &Verdict, packet: &Observed) {
        let kinds = verdict.kinds;
        let is_other = packet.flags.intersects(Flags::RST | Flags::SYN)
            || packet.seq_len() == 0
            || kinds.contains(Kind::CapturedTwice)
            || kinds.contains(Kind::KeepAlive);
        if is_other {
            return;
        }
        if let Some(stamps) = packet.timestamps {
            self.sizes.has_stamps = true;
            let echoes = self.echoes.as_mut();
            if let Some(turn) = echoes.and_then(|echoes| echoes.on_echo(stamps.ecr, packet.at).0) {
                self.turn = Some(self.turn.map_or(turn, |known| known.min(turn)));
            }
        }
        if !kinds.is_retransmission() {
            let segment = wire_segment(connection, verdict.from, &packet.summary());
            self.sizes.mss = self.sizes.mss.max(segment);
            self.sizes.usual = vote(self.sizes.usual, packet.payload_len.into());
            self.sizes.segments += 1;
        }
    }

    /// Processes a packet of the receiver.
    fn on_heard(&mut self, packet: &Observed) {
        if let Some(echoes) = &mut self.echoes
            && let Some(stamps) = packet.timestamps
            && packet.flags.contains(Flags::ACK)
            && !packet.flags.contains(Flags::RST)
        {
            // No evidence cites the packet number.
            echoes.on_val(stamps.val, packet.at, 0);
        }
    }
}
