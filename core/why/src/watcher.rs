//! All connections of a capture, followed packet by packet.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_flows::{FlowTable, Kind, Observed, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use crate::between::Between;
use crate::brief::Brief;
use crate::case::{Other, other};
use crate::trail::{Shown, Trail};
use crate::verdict::Diagnosis;

/// Both directions of one connection.
#[derive(Clone, Default, Debug)]
struct Followed {
    first: Option<Instant>,
    last: Instant,
    last_packet: u64,
    first_packet: u64,
    /// Halves of the handshake's round trip, as sampled here: from SYN to
    /// SYN-ACK, and on to its acknowledgment.
    halves: [Option<Duration>; 2],
    trails: [Option<Box<Trail>>; 2],
}

/// Follows the connections of a capture.
///
/// Hand in every packet, then ask for a [`Diagnosis`] of each connection.
#[derive(Debug)]
pub struct Watcher {
    table: FlowTable,
    followed: Vec<Followed>,
    packets: u64,
}

impl Watcher {
    /// Nothing seen yet. The seed protects the table of connections, see
    /// [`FlowTable::new`]; results do not depend on it.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            table: FlowTable::new(seed),
            followed: Vec::new(),
            packets: 0,
        }
    }

    /// Takes a packet in. `number` is what evidence calls it by.
    pub fn handle_packet(&mut self, number: u64, packet: &Observed) {
        self.packets += 1;
        let verdict = self.table.handle_packet(packet);
        let index = verdict.connection;
        if self.followed.len() <= index {
            self.followed.resize_with(index + 1, Followed::default);
        }
        let Some(connection) = self.table.connection(index) else {
            return;
        };
        let shown = Shown {
            packet,
            verdict: &verdict,
            connection,
            number,
        };
        self.followed[index].handle(&shown);
    }

    /// The connections and their counts.
    #[must_use]
    pub const fn table(&self) -> &FlowTable {
        &self.table
    }

    /// Why the direction of this connection that carried more was not faster.
    /// Nothing where no data was seen.
    #[must_use]
    pub fn diagnose(&self, index: usize) -> Option<Diagnosis> {
        let connection = self.table.connection(index)?;
        let (trail, start) = self.followed.get(index)?.lived(self.sender(index)?)?;
        Some(Diagnosis::of(connection, &trail, start, None))
    }

    /// The same with what another capture of the connection knows, which was
    /// taken nearer to the receiver of the data: there it has the number `index`.
    #[must_use]
    pub fn diagnose_with(
        &self,
        index: usize,
        (far, far_index): (&Self, usize),
        between: &Between,
    ) -> Option<Diagnosis> {
        let connection = self.table.connection(index)?;
        let (trail, start) = self.followed.get(index)?.lived(self.sender(index)?)?;
        let from = connection.endpoint(trail.side);
        let there = far.table.connection(far_index)?;
        let side = if there.endpoint(Side::Client) == from {
            Side::Client
        } else {
            Side::Server
        };
        let (other, _) = far.followed.get(far_index)?.lived(side)?;
        let other = Other {
            trail: &other,
            between,
        };
        Some(Diagnosis::of(connection, &trail, start, Some(other)))
    }

    /// Which side of a connection sent more.
    #[must_use]
    pub fn sender(&self, index: usize) -> Option<Side> {
        let connection = self.table.connection(index)?;
        let bytes = |side: Side| connection.direction(side).unique_bytes();
        Some(if bytes(Side::Server) > bytes(Side::Client) {
            Side::Server
        } else {
            Side::Client
        })
    }

    /// The same in figures alone. What was remembered of the connection for it
    /// is given up: ask once, and after the last packet.
    #[must_use]
    pub fn conclude(&mut self, index: usize) -> Option<Brief> {
        let sender = self.sender(index)?;
        let connection = self.table.connection(index)?;
        let followed = self.followed.get_mut(index)?;
        let [client, server] = core::mem::take(&mut followed.trails);
        let mut trail = match sender {
            Side::Client => client?,
            Side::Server => server?,
        };
        trail.finish(followed.last, followed.last_packet);
        Some(Brief::of(connection, &trail, followed.first?))
    }

    /// The number of the first packet of that connection.
    #[must_use]
    pub fn first_packet(&self, index: usize) -> Option<u64> {
        Some(self.followed.get(index)?.first_packet)
    }
}

impl Followed {
    /// The direction from `side` up to the end of the capture, and when the
    /// connection begins in it.
    fn lived(&self, side: Side) -> Option<(Box<Trail>, Instant)> {
        let mut trail = self.trails[side as usize].clone()?;
        trail.finish(self.last, self.last_packet);
        Some((trail, self.first?))
    }

    fn handle(&mut self, shown: &Shown<'_>) {
        let packet = shown.packet;
        let first = *self.first.get_or_insert(packet.at);
        if self.first_packet == 0 {
            self.first_packet = shown.number;
        }
        self.last = self.last.max(packet.at);
        self.last_packet = shown.number;
        let from = shown.verdict.from;
        self.note_handshake(shown, from);
        let to = other(from);
        if packet.payload_len > 0 && self.trails[from as usize].is_none() {
            let mut trail = Trail::new(from, first, self.first_packet);
            if let Some(turn) = self.halves[other(from) as usize] {
                trail.set_turn(turn);
            }
            self.trails[from as usize] = Some(trail);
        }
        if let Some(trail) = &mut self.trails[from as usize] {
            trail.on_sent(shown);
        }
        if let Some(trail) = &mut self.trails[to as usize] {
            trail.on_heard(shown);
        }
    }

    /// The first sample of either side is of its SYN: what it takes from here
    /// to the other side and back.
    fn note_handshake(&mut self, shown: &Shown<'_>, from: Side) {
        let is_opening = shown.connection.direction(Side::Client).has_syn()
            && shown.connection.direction(Side::Server).has_syn();
        let half = &mut self.halves[other(from) as usize];
        if is_opening
            && half.is_none()
            && !shown.packet.flags.contains(Flags::RST)
            && !shown.verdict.kinds.contains(Kind::AckedUnseen)
            && let Some(trip) = shown.verdict.round_trip
        {
            *half = Some(trip);
        }
    }
}
