//! Converts the results of `gigatcp-flows` for packets to points.
//!
//! The packets of a run are seen once, from the first on. A capture is read twice. The first pass
//! finds where the streams of a connection begin, the number of packets, and the direction of the
//! data. These determine the graph that the second pass fills.

use gigatcp_flows::{Connection, Kind, Observed, Scaling, Side, Verdict};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use super::builder::{Graph, GraphBuilder};
use super::point::{Effect, Point, SackRange};

/// Ratio of data packets below which the lesser direction is not drawn.
const LESSER: u64 = 16;

/// Kinds of packets that carry data.
const OF_DATA: u32 = Point::of_kinds(&Kind::RETRANSMISSIONS)
    | Point::of_kinds(&[
        Kind::OutOfOrder,
        Kind::AfterGap,
        Kind::CapturedTwice,
        Kind::WindowFull,
        Kind::BeyondWindow,
        Kind::KeepAlive,
        Kind::ZeroWindowProbe,
        Kind::ResetExact,
        Kind::ResetInWindow,
        Kind::ResetOutOfWindow,
        Kind::CongestionExperienced,
        Kind::CongestionWindowReduced,
    ]);

/// Kinds of answers.
const OF_ANSWERS: u32 = Point::of_kinds(&[
    Kind::DuplicateAck,
    Kind::OldAck,
    Kind::WindowUpdate,
    Kind::ZeroWindow,
    Kind::KeepAliveAck,
    Kind::ZeroWindowProbeAck,
    Kind::AckedUnseen,
    Kind::DuplicateReport,
    Kind::ShowsSpurious,
    Kind::ResetExact,
    Kind::ResetInWindow,
    Kind::ResetOutOfWindow,
    Kind::CongestionExperienced,
    Kind::EcnEcho,
]);

/// A drawn stream, with its state between packets.
#[derive(Debug)]
struct Stream {
    side: Side,
    origin: u64,
    builder: GraphBuilder,
    round_trips: Duration,
    una: u64,
    window: u32,
}

/// Draws one connection of a capture.
#[derive(Debug)]
pub struct Watch {
    first_at: Instant,
    knows_windows: bool,
    streams: Vec<Stream>,
}

/// A graph, and the sender of its stream.
#[derive(Debug)]
pub struct Watched {
    /// Sender of the stream.
    pub side: Side,
    /// Whether window sizes are known; they are not if a SYN is missing.
    pub knows_windows: bool,
    /// Its graph.
    pub graph: Graph,
}

impl Watch {
    /// Draws a connection that a first pass described in `connection`; times are whole `unit_ns`
    /// nanoseconds.
    pub fn new(connection: &Connection, unit_ns: u64) -> Self {
        let data = |side| connection.direction(side).data_packets();
        let points = Side::BOTH.map(|side| connection.direction(side).packets());
        let stream = |side: Side| {
            let builder = GraphBuilder::new(points[0] + points[1], unit_ns);
            Stream::new(connection, side, builder)
        };
        let mut sides = Side::BOTH;
        sides.sort_by_key(|side| core::cmp::Reverse(data(*side)));
        let [greater, lesser] = sides;
        let mut streams = vec![stream(greater)];
        if data(lesser) > 0 && data(lesser).saturating_mul(LESSER) >= data(greater) {
            streams.push(stream(lesser));
        }
        Self {
            first_at: connection.first_at(),
            knows_windows: connection.scaling() != Scaling::Unknown,
            streams,
        }
    }

    /// Draws the client's stream of a connection of which `connection` has seen the SYN, as its
    /// packets pass. Times are those of the packets, and `max_detail` is the maximum number of bytes
    /// of packed points.
    pub fn of_run(connection: &Connection, max_detail: usize) -> Self {
        let builder = GraphBuilder::growing(1).with_detail_limit(max_detail);
        Self {
            first_at: Instant::ZERO,
            knows_windows: true,
            streams: vec![Stream::new(connection, Side::Client, builder)],
        }
    }

    /// Adds a packet. The connection must have processed it before.
    #[inline]
    pub fn handle(
        &mut self,
        frame: u64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) {
        let at_ns = packet.at.saturating_since(self.first_at).as_nanos();
        for stream in &mut self.streams {
            let seen = if verdict.from == stream.side {
                stream.data(packet, verdict, connection)
            } else {
                Some(stream.answer(packet, verdict, connection, self.knows_windows))
            };
            if let Some((marks, effect)) = seen {
                stream.builder.add(Point {
                    frame,
                    at_ns,
                    marks: marks | flags(packet),
                    effect,
                });
            }
        }
    }

    /// Graphs, that of the larger stream first.
    pub fn finish(self) -> Vec<Watched> {
        let knows_windows = self.knows_windows;
        let watched = |stream: Stream| Watched {
            side: stream.side,
            knows_windows,
            graph: stream.builder.finish(),
        };
        self.streams.into_iter().map(watched).collect()
    }
}

/// Origin of a stream's offsets. If the SYN was seen, it is the first byte of data; the SYN itself
/// is one before, and drawn at zero.
fn origin(connection: &Connection, side: Side) -> u64 {
    let direction = connection.direction(side);
    direction.first_position() + u64::from(direction.has_syn())
}

#[inline]
fn flags(packet: &Observed) -> u32 {
    const CONTROL: [(Flags, u32); 3] = [
        (Flags::SYN, Point::SYN),
        (Flags::FIN, Point::FIN),
        (Flags::RST, Point::RST),
    ];
    if !packet
        .flags
        .intersects(Flags::SYN | Flags::FIN | Flags::RST)
    {
        return 0;
    }
    let marks = CONTROL
        .iter()
        .filter(|(flag, _)| packet.flags.contains(*flag));
    marks.fold(0, |set, (_, mark)| set | mark)
}

impl Stream {
    fn new(connection: &Connection, side: Side, builder: GraphBuilder) -> Self {
        Self {
            side,
            origin: origin(connection, side),
            builder,
            round_trips: Duration::ZERO,
            una: 0,
            window: 0,
        }
    }

    /// Stream data that the packet carries. `None` for a pure ACK of the other direction.
    #[inline]
    fn data(
        &self,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) -> Option<(u32, Effect)> {
        let marks = verdict.kinds.bits() & OF_DATA;
        let len = packet.seq_len();
        if len == 0 && marks == 0 && !packet.flags.contains(Flags::RST) {
            return None;
        }
        let position = connection.position(self.side, packet.seq);
        let start = position.saturating_sub(self.origin);
        let syn = u32::from(position < self.origin && packet.flags.contains(Flags::SYN));
        let effect = Effect::Data {
            start,
            len: len - syn,
        };
        Some((marks, effect))
    }

    #[inline]
    fn answer(
        &mut self,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
        knows_windows: bool,
    ) -> (u32, Effect) {
        let direction = connection.direction(self.side);
        let total = direction.round_trips().total();
        let sample = total.saturating_sub(self.round_trips);
        self.round_trips = total;
        let offset = |seq| {
            let position = connection.position(self.side, seq);
            position.saturating_sub(self.origin)
        };
        let ack = offset(packet.ack);
        let end = direction.next_position().saturating_sub(self.origin);
        let is_said = packet.flags.contains(Flags::ACK) && ack <= end;
        let is_reset = packet.flags.contains(Flags::RST);
        let mut sack = [SackRange::default(); 4];
        let blocks = packet.sack.as_slice();
        for (range, block) in sack.iter_mut().zip(blocks) {
            let left = offset(block.left);
            let right = offset(block.right).max(left);
            *range = SackRange { left, right };
        }
        // A packet without information leaves the state unchanged.
        let effect = Effect::Ack {
            ack: if is_said { ack } else { self.una },
            window: if is_reset || !is_said || !knows_windows {
                self.window
            } else {
                connection.window_of(verdict.from, packet)
            },
            sack,
            sack_len: blocks.len().min(sack.len()) as u8,
            rtt_ns: (!sample.is_zero()).then(|| sample.as_nanos()),
        };
        if let Effect::Ack { ack, window, .. } = effect
            && ack >= self.una
        {
            (self.una, self.window) = (ack, window);
        }
        (verdict.kinds.bits() & OF_ANSWERS, effect)
    }
}
