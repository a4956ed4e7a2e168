//! The detailed counts of a direction: the rest of
//! tcptrace's list (`tcptrace -l -r`), each by a rule of its own.
//!
//! [`crate::Connection`] has what verdicts need, at a cost that every packet
//! pays. These cost several hundred instructions a packet and an entry for each
//! segment in flight, so they are a second thing next to the table, fed with its
//! verdicts, that only the detailed view has.
//!
//! Kinds decide: what [`crate::Kind`] calls a retransmission, a copy or a
//! duplicate acknowledgment is one here. Docs/notes/tcptrace.md has each count
//! next to tcptrace's.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;
use gigatcp_wire::link::Fragmentation;

use crate::transmissions::Transmissions;
use crate::{Connection, FlowTable, Kind, Observed, Side, Spread, Verdict};

/// Counts of what one side sent, and of what came back for it.
#[derive(Clone, Default, Debug)]
pub struct Detail {
    ack_packets: u64,
    pure_acks: u64,
    syn_packets: u64,
    fin_packets: u64,
    sack_packets: u64,
    most_sack_blocks: u8,
    pushed_packets: u64,
    urgent_packets: u64,
    urgent_bytes: u64,
    truncated_packets: u64,
    truncated_bytes: u64,
    probe_bytes: u64,
    least_segment: Option<u32>,
    outstanding: Outstanding,
    initial: Initial,
    data_times: Option<(Instant, Instant)>,
    fragmented_packets: u64,
    lone_first_fragments: u64,
    handshake: Option<Duration>,
    triple_duplicates: u64,
    post_loss_acks: u64,
    cumulatively_acked: u64,
    full: Full,
    again: Option<Box<Again>>,
    transmissions: Transmissions,
}

/// Octets in flight behind each segment with data.
#[derive(Clone, Copy, Default, Debug)]
struct Outstanding {
    least: Option<u64>,
    sum: u128,
    segments: u64,
}

/// Data sent before any of it was acknowledged.
#[derive(Clone, Copy, Default, Debug)]
struct Initial {
    packets: u64,
    bytes: u64,
}

/// Round trips of segments of the largest size.
#[derive(Clone, Copy, Default, Debug)]
struct Full {
    octets: u64,
    trips: Spread,
}

/// What only a direction with retransmissions has.
#[derive(Clone, Default, Debug)]
struct Again {
    most: u32,
    intervals: Spread,
    trips: Spread,
}

/// The [`Detail`] of every connection of a [`FlowTable`] that retires none.
#[derive(Default, Debug)]
pub struct Details {
    sides: Vec<[Detail; 2]>,
}

impl Details {
    /// Of no connection yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { sides: Vec::new() }
    }

    /// Takes in a packet that `table` has just analyzed.
    pub fn handle_packet(&mut self, table: &FlowTable, verdict: &Verdict, packet: &Observed) {
        let Some(connection) = table.connection(verdict.connection) else {
            return;
        };
        if self.sides.len() <= verdict.connection {
            self.sides
                .resize_with(verdict.connection + 1, Default::default);
        }
        let [client, server] = &mut self.sides[verdict.connection];
        let (from, peer) = match verdict.from {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        from.count(connection, verdict, packet);
        peer.on_answer(connection, verdict, packet);
    }

    /// That of one side of a connection, by its index in the table.
    #[must_use]
    pub fn of(&self, connection: usize, side: Side) -> Option<&Detail> {
        self.sides.get(connection).map(|both| &both[side as usize])
    }
}

impl Outstanding {
    fn add(&mut self, octets: u64) {
        if octets > 0 {
            self.least = Some(self.least.map_or(octets, |least| least.min(octets)));
            self.sum += u128::from(octets);
            self.segments += 1;
        }
    }
}

impl Detail {
    /// Its own packet.
    fn count(&mut self, connection: &Connection, verdict: &Verdict, packet: &Observed) {
        match packet.fragmentation {
            Fragmentation::Whole => {}
            Fragmentation::First => self.lone_first_fragments += 1,
            Fragmentation::Reassembled => self.fragmented_packets += 1,
        }
        let flags = packet.flags;
        let has_data = packet.payload_len > 0;
        if flags.contains(Flags::ACK) {
            self.ack_packets += 1;
            let is_control = flags.intersects(Flags::SYN | Flags::FIN | Flags::RST);
            self.pure_acks += u64::from(!has_data && !is_control);
        }
        self.syn_packets += u64::from(flags.contains(Flags::SYN));
        self.fin_packets += u64::from(flags.contains(Flags::FIN));
        let blocks = packet.sack.as_slice().len() as u8;
        self.sack_packets += u64::from(blocks > 0);
        self.most_sack_blocks = self.most_sack_blocks.max(blocks);
        if has_data {
            self.count_data(connection, verdict, packet);
        }
        if packet.seq_len() > 0 && !flags.contains(Flags::RST) {
            self.note_sent(connection, verdict, packet);
        }
    }

    fn count_data(&mut self, connection: &Connection, verdict: &Verdict, packet: &Observed) {
        let len = packet.payload_len;
        self.pushed_packets += u64::from(packet.flags.contains(Flags::PSH));
        if packet.flags.contains(Flags::URG) {
            self.urgent_packets += 1;
            self.urgent_bytes += u64::from(u32::from(packet.urgent).min(len));
        }
        let missing = u64::from(packet.uncaptured_len.min(len));
        self.truncated_packets += u64::from(missing > 0);
        self.truncated_bytes += missing;
        if verdict.kinds.contains(Kind::ZeroWindowProbe) {
            self.probe_bytes += u64::from(len);
        }
        self.least_segment = Some(self.least_segment.map_or(len, |least| least.min(len)));
        let first = self.data_times.map_or(packet.at, |(first, _)| first);
        self.data_times = Some((first, packet.at));
        let direction = connection.direction(verdict.from);
        self.outstanding.add(direction.owin());
        // The SYN is acknowledged before any data is.
        let is_unanswered = direction
            .acked_position()
            .is_some_and(|acked| acked <= direction.first_position() + 1);
        let is_new =
            !verdict.kinds.is_retransmission() && !verdict.kinds.contains(Kind::CapturedTwice);
        if is_unanswered && is_new && direction.has_syn() {
            self.initial.packets += 1;
            self.initial.bytes += u64::from(len);
        }
    }

    fn note_sent(&mut self, connection: &Connection, verdict: &Verdict, packet: &Observed) {
        let kinds = verdict.kinds;
        let is_aside = kinds.contains(Kind::CapturedTwice)
            || kinds.contains(Kind::KeepAlive)
            || kinds.contains(Kind::ZeroWindowProbe);
        if is_aside {
            return;
        }
        let direction = connection.direction(verdict.from);
        let start = connection.position(verdict.from, packet.seq);
        let end = start + u64::from(packet.seq_len());
        // What is acknowledged waits no more.
        let start = direction
            .acked_position()
            .map_or(start, |acked| start.max(acked));
        if start >= end {
            return;
        }
        let is_again = kinds.is_retransmission();
        let passed = self.transmissions.on_sent(start, end, packet.at, is_again);
        if let Some((after, repeats)) = passed {
            let again = self.again.get_or_insert_default();
            again.intervals.add(after);
            again.most = again.most.max(repeats);
        }
    }

    /// A packet of the peer.
    fn on_answer(&mut self, connection: &Connection, verdict: &Verdict, packet: &Observed) {
        let side = verdict.from.other();
        let direction = connection.direction(side);
        let is_duplicate = verdict.kinds.contains(Kind::DuplicateAck);
        if is_duplicate && direction.duplicates_at_edge() == 3 {
            self.triple_duplicates += 1;
        }
        let Some(acked) = direction.acked_position() else {
            return;
        };
        let is_of_syn = direction.has_syn() && acked == direction.first_position() + 1;
        if is_of_syn && self.handshake.is_none() {
            self.handshake = verdict.round_trip();
        }
        let covered = self.transmissions.on_acknowledged(acked, packet.at);
        self.cumulatively_acked += covered.segments - u64::from(covered.exact.is_some());
        let Some(exact) = covered.exact else {
            return;
        };
        if exact.is_overtaken {
            self.post_loss_acks += 1;
        } else if exact.was_repeated {
            self.again.get_or_insert_default().trips.add(exact.after);
        } else if let Some(sample) = verdict.round_trip() {
            self.full.add(exact.octets, sample);
        }
    }

    /// The minimum that was in flight behind a segment with data, octets; `None` if
    /// none was sent, or none of it was ever known to be in flight.
    #[must_use]
    pub const fn least_outstanding(&self) -> Option<u64> {
        self.outstanding.least
    }

    /// What was in flight behind segments with data, octets, on average over these
    /// segments: more than over time, since segments leave while much is in flight.
    #[must_use]
    pub fn mean_outstanding(&self) -> Option<f64> {
        let Outstanding { sum, segments, .. } = self.outstanding;
        (segments > 0).then(|| sum as f64 / segments as f64)
    }

    /// Packets that came in fragments and were reassembled.
    #[must_use]
    pub const fn fragmented_packets(&self) -> u64 {
        self.fragmented_packets
    }

    /// First fragments whose rest did not come: packets of what they hold.
    #[must_use]
    pub const fn lone_first_fragments(&self) -> u64 {
        self.lone_first_fragments
    }

    /// Packets with ACK.
    #[must_use]
    pub const fn ack_packets(&self) -> u64 {
        self.ack_packets
    }

    /// Packets with ACK and nothing else: no payload, SYN, FIN or RST.
    #[must_use]
    pub const fn pure_acks(&self) -> u64 {
        self.pure_acks
    }

    /// Packets with SYN.
    #[must_use]
    pub const fn syn_packets(&self) -> u64 {
        self.syn_packets
    }

    /// Packets with FIN.
    #[must_use]
    pub const fn fin_packets(&self) -> u64 {
        self.fin_packets
    }

    /// Packets with SACK blocks (RFC 2018).
    #[must_use]
    pub const fn sack_packets(&self) -> u64 {
        self.sack_packets
    }

    /// The most SACK blocks of one packet.
    #[must_use]
    pub const fn most_sack_blocks(&self) -> u8 {
        self.most_sack_blocks
    }

    /// Packets with payload and PSH.
    #[must_use]
    pub const fn pushed_packets(&self) -> u64 {
        self.pushed_packets
    }

    /// Packets with payload and URG.
    #[must_use]
    pub const fn urgent_packets(&self) -> u64 {
        self.urgent_packets
    }

    /// Octets of these that lie before the urgent pointer (RFC 6093 section 2),
    /// each transmission of them.
    #[must_use]
    pub const fn urgent_bytes(&self) -> u64 {
        self.urgent_bytes
    }

    /// Packets of which some payload was not captured, as a snap length cuts them.
    #[must_use]
    pub const fn truncated_packets(&self) -> u64 {
        self.truncated_packets
    }

    /// Octets of payload that were not captured of these.
    #[must_use]
    pub const fn truncated_bytes(&self) -> u64 {
        self.truncated_bytes
    }

    /// Octets of payload in probes of a closed window.
    #[must_use]
    pub const fn probe_bytes(&self) -> u64 {
        self.probe_bytes
    }

    /// The smallest payload of a packet that has some.
    #[must_use]
    pub const fn least_segment(&self) -> Option<u32> {
        self.least_segment
    }

    /// Packets with payload that passed for the first time before an
    /// acknowledgment of any payload did; `None` if the SYN was not seen, so
    /// that the first one is unknown.
    #[must_use]
    pub fn initial_window_packets(&self, connection: &Connection, side: Side) -> Option<u64> {
        let is_known = connection.direction(side).has_syn();
        is_known.then_some(self.initial.packets)
    }

    /// Octets of payload of these.
    #[must_use]
    pub fn initial_window_bytes(&self, connection: &Connection, side: Side) -> Option<u64> {
        let is_known = connection.direction(side).has_syn();
        is_known.then_some(self.initial.bytes)
    }

    /// From its first packet with payload to its last.
    #[must_use]
    pub fn data_time(&self) -> Option<Duration> {
        self.data_times
            .map(|(first, last)| last.saturating_since(first))
    }

    /// From its SYN to the first acknowledgment of it, where that is a sample.
    #[must_use]
    pub const fn handshake_round_trip(&self) -> Option<Duration> {
        self.handshake
    }

    /// How often a third duplicate acknowledgment in a row came for what it sent
    /// (RFC 5681 section 3.2: the fast retransmit).
    #[must_use]
    pub const fn triple_duplicates(&self) -> u64 {
        self.triple_duplicates
    }

    /// Acknowledgments that ended at a segment that had been retransmitted, so that
    /// it is not known which transmission they answer (Karn).
    #[must_use]
    pub fn ambiguous_acks(&self) -> u64 {
        self.again.as_ref().map_or(0, |again| again.trips.count())
    }

    /// The times from the last transmission of that segment to them.
    #[must_use]
    pub fn last_round_trips(&self) -> Spread {
        self.again
            .as_ref()
            .map_or_else(Spread::default, |again| again.trips)
    }

    /// Acknowledgments that ended at a segment that waited while something
    /// before it was retransmitted: no round trip either.
    #[must_use]
    pub const fn post_loss_acks(&self) -> u64 {
        self.post_loss_acks
    }

    /// Segments that an acknowledgment covered and went beyond.
    #[must_use]
    pub const fn cumulatively_acked(&self) -> u64 {
        self.cumulatively_acked
    }

    /// The most often that one segment was retransmitted while it waited.
    #[must_use]
    pub fn most_repeats(&self) -> u32 {
        self.again.as_ref().map_or(0, |again| again.most)
    }

    /// The times between two transmissions of a segment that waited: for each
    /// packet that was retransmitted, since its first octet passed before.
    #[must_use]
    pub fn repeat_intervals(&self) -> Spread {
        self.again
            .as_ref()
            .map_or_else(Spread::default, |again| again.intervals)
    }

    /// Round trips of the largest segments that gave one.
    #[must_use]
    pub const fn full_round_trips(&self) -> &Spread {
        &self.full.trips
    }
}

impl Full {
    fn add(&mut self, octets: u64, sample: Duration) {
        if octets > self.octets {
            *self = Self {
                octets,
                trips: Spread::default(),
            };
        }
        if octets == self.octets {
            self.trips.add(sample);
        }
    }
}
