//! Detailed counts of a direction: the remaining counts of `tcptrace -l -r`, each with its own
//! rule.
//!
//! [`crate::Connection`] has what verdicts need, at a cost per packet that is always paid. The
//! detailed counts cost several hundred instructions per packet and an entry for each segment in
//! flight. So they are separate from the table, receive its verdicts, and only the detailed view
//! has them.
//!
//! Kinds decide: what [`crate::Kind`] calls a retransmission, a copy or a duplicate acknowledgment
//! is one here. Docs/notes/tcptrace.md compares each count with tcptrace's.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;
use gigatcp_wire::link::Fragmentation;

use crate::transmissions::Transmissions;
use crate::{Connection, FlowTable, Kind, Observed, Side, Spread, Verdict};

/// Counts of the packets that one side sent, and of the answers to them.
#[derive(Clone, Default, Debug)]
pub struct Detail {
    /// Packets with ACK.
    pub ack_packets: u64,
    /// Pure ACKs: packets without payload, SYN, FIN or RST.
    pub pure_acks: u64,
    /// Packets with SYN.
    pub syn_packets: u64,
    /// Packets with FIN.
    pub fin_packets: u64,
    /// Packets with SACK blocks (RFC 2018).
    pub sack_packets: u64,
    /// Maximum number of SACK blocks in one packet.
    pub most_sack_blocks: u8,
    /// Packets with payload and PSH.
    pub pushed_packets: u64,
    /// Packets with payload and URG.
    pub urgent_packets: u64,
    /// Their bytes before the urgent pointer. RFC 6093 section 2; every transmission counts.
    pub urgent_bytes: u64,
    /// Packets whose payload the snap length cut.
    pub truncated_packets: u64,
    /// Their payload bytes that were not captured.
    pub truncated_bytes: u64,
    /// Payload bytes in zero-window probes.
    pub probe_bytes: u64,
    /// Smallest nonzero payload of a packet.
    pub least_segment: Option<u32>,
    outstanding: Outstanding,
    /// Packets with data sent before any of it was acknowledged, and their bytes.
    initial: (u64, u64),
    data_times: Option<(Instant, Instant)>,
    /// Packets that were reassembled from fragments.
    pub fragmented_packets: u64,
    /// First fragments whose remainder did not arrive.
    pub lone_first_fragments: u64,
    handshake: Option<Duration>,
    /// Third duplicate acknowledgments in a row of its data. RFC 5681 section 3.2: the fast
    /// retransmit.
    pub triple_duplicates: u64,
    /// Acknowledgments of segments that waited for a retransmission. These end at a segment that
    /// waited while earlier data was retransmitted. They are no RTT samples either.
    pub post_loss_acks: u64,
    /// Segments acknowledged by an acknowledgment that ends beyond them.
    pub cumulatively_acked: u64,
    full: Full,
    again: Option<Box<RetransmissionCounts>>,
    transmissions: Transmissions,
}

/// Bytes in flight after each segment with data.
#[derive(Clone, Copy, Default, Debug)]
struct Outstanding {
    least: Option<u64>,
    sum: u128,
    segments: u64,
}

/// RTTs of segments of the largest size.
#[derive(Clone, Copy, Default, Debug)]
struct Full {
    octets: u64,
    trips: Spread,
}

/// Counts that only a direction with retransmissions has.
#[derive(Clone, Default, Debug)]
struct RetransmissionCounts {
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
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self { sides: Vec::new() }
    }

    /// Counts a packet that `table` has just analyzed.
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

    /// Detail of one side of the connection with this table index.
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
    /// Counts a packet of this side.
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
            self.initial.0 += 1;
            self.initial.1 += u64::from(len);
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
        // Acknowledged data is not waiting.
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

    /// Counts a packet of the peer.
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
        debug_assert!(
            covered.exact.is_none() || covered.segments > 0,
            "the segment that ends there is covered: {covered:?}"
        );
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

    /// Minimum in flight after a segment with data, in bytes. `None` if no data was sent, or none
    /// was ever known to be in flight.
    pub const fn least_outstanding(&self) -> Option<u64> {
        self.outstanding.least
    }

    /// Mean in flight after segments with data, in bytes, over these segments. It exceeds the mean
    /// over time, since segments leave while much is in flight.
    pub fn mean_outstanding(&self) -> Option<f64> {
        let Outstanding { sum, segments, .. } = self.outstanding;
        (segments > 0).then(|| sum as f64 / segments as f64)
    }

    /// Number of new packets with payload before any was acknowledged. `None` if the SYN was not
    /// seen, since the first of them is then unknown.
    pub fn initial_window_packets(&self, connection: &Connection, side: Side) -> Option<u64> {
        let is_known = connection.direction(side).has_syn();
        is_known.then_some(self.initial.0)
    }

    /// Number of their payload bytes.
    pub fn initial_window_bytes(&self, connection: &Connection, side: Side) -> Option<u64> {
        let is_known = connection.direction(side).has_syn();
        is_known.then_some(self.initial.1)
    }

    /// Time from its first packet with payload to its last.
    pub fn data_time(&self) -> Option<Duration> {
        self.data_times
            .map(|(first, last)| last.saturating_since(first))
    }

    /// Time from its SYN to the first acknowledgment of it. `None` if it is no sample.
    pub const fn handshake_round_trip(&self) -> Option<Duration> {
        self.handshake
    }

    /// Number of acknowledgments that end at a retransmitted segment. It is unknown which
    /// transmission they answer (Karn).
    pub fn ambiguous_acks(&self) -> u64 {
        self.again.as_ref().map_or(0, |again| again.trips.count())
    }

    /// Times from the last transmission of that segment to these acknowledgments.
    pub fn last_round_trips(&self) -> Spread {
        self.again
            .as_ref()
            .map_or_else(Spread::default, |again| again.trips)
    }

    /// Maximum number of retransmissions of one segment while it waited.
    pub fn most_repeats(&self) -> u32 {
        self.again.as_ref().map_or(0, |again| again.most)
    }

    /// Times between two transmissions of a waiting segment. Each retransmitted packet counts the
    /// time since its first byte last passed.
    pub fn repeat_intervals(&self) -> Spread {
        self.again
            .as_ref()
            .map_or_else(Spread::default, |again| again.intervals)
    }

    /// RTTs of the largest segments that gave a sample.
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
