//! One connection: both directions, its handshake, its end.

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Ecn, Flags, SeqNumber};

use crate::direction::{Direction, Seen};
use crate::key::{Key, Pair};
use crate::packet_summary::{Packet, PacketSummary};
use crate::round_trips::Sample;
use crate::sent::Pool;
use crate::sequence::{self, Around};
use crate::{Endpoint, Kind, Kinds, Observed, acknowledgment};

/// A side of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Side {
    /// The side that opened the connection. If that was not seen, the side with a port for clients
    /// where the other has one for services; if ports do not tell, the side that was seen first.
    #[default]
    Client,
    /// The other side.
    Server,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// Other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// State of window scaling, as far as known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scaling {
    /// Both sides offered it.
    Used,
    /// A side did not offer it: windows are unscaled.
    Unused,
    /// A SYN is missing or its options were cut off. Windows may be larger than they seem.
    Unknown,
}

const HAS_ACCECN: u8 = 1;
const IS_CLIENT_FIRST: u8 = 2;
const HAS_ROUND_TRIP: u8 = 4;
const IS_SUCCESSOR: u8 = 8;
/// The scale of windows is known.
pub(crate) const KNOWS_SCALE: u8 = 16;

/// One connection of a capture.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) key: Key,
    pub(crate) traits: u8,
    first_at: Instant,
    pub(crate) last_at: Instant,
    /// Zero of the connection's time, in nanoseconds modulo 2^64. It moves if the capture's clock
    /// steps back, so that the connection's time never does.
    pub(crate) origin: u64,
    /// Time from the SYN to the acknowledgment of the SYN-ACK.
    handshake: Duration,
    pub(crate) sides: [Direction; 2],
}

/// Whether services listen on that port: hosts give clients ports from 32768 on (Linux) or 49152
/// (RFC 6335 section 6).
const fn is_service(port: u16) -> bool {
    port < 32_768
}

impl Connection {
    pub(crate) fn new(pair: &Pair, packet: &PacketSummary) -> Self {
        // A SYN-ACK comes from the side that did not open.
        let is_answer = if packet.flags.contains(Flags::SYN) {
            packet.flags.contains(Flags::ACK)
        } else {
            let [from, to] = [pair.is_first, !pair.is_first].map(|end| pair.key.endpoint(end).port);
            is_service(from) && !is_service(to)
        };
        let is_client_first = pair.is_first != is_answer;
        Self {
            key: pair.key,
            traits: if is_client_first { IS_CLIENT_FIRST } else { 0 },
            first_at: packet.at,
            last_at: packet.at,
            origin: packet.at.as_nanos(),
            handshake: Duration::ZERO,
            sides: [Direction::default(), Direction::default()],
        }
    }

    /// Creates the connection after another one between the same endpoints.
    pub(crate) fn succeeding(pair: &Pair, packet: &PacketSummary) -> Self {
        let mut connection = Self::new(pair, packet);
        connection.traits |= IS_SUCCESSOR;
        connection
    }

    /// Sets the scales of the windows that the first and the second end of its key advertise, as
    /// its SYNs would have.
    pub(crate) fn set_window_scales(&mut self, scales: [u8; 2]) {
        for (is_first, scale) in [(true, scales[0]), (false, scales[1])] {
            let index = self.index(is_first);
            self.sides[index].set_window_scale(scale);
        }
    }

    /// Whether a SYN without ACK begins another connection of the same ports. It does if its
    /// sequence number differs, or this connection has ended.
    pub(crate) fn is_begun_anew(&self, packet: &PacketSummary, is_first: bool) -> bool {
        if !packet.flags.contains(Flags::SYN) || packet.flags.contains(Flags::ACK) {
            return false;
        }
        let data = &self.sides[self.index(is_first)];
        let mut sides = self.sides.iter();
        let has_ended = sides.any(|side| side.has_fin() || side.has_reset());
        data.is_started() && (data.base as u32 != packet.seq.as_u32() || has_ended)
    }

    #[inline(always)]
    const fn index(&self, is_first: bool) -> usize {
        (is_first != (self.traits & IS_CLIENT_FIRST != 0)) as usize
    }

    /// Side that a packet comes from.
    pub(crate) const fn side(&self, is_first: bool) -> Side {
        Side::BOTH[self.index(is_first)]
    }

    /// Analyzes a packet; returns its sender, its kinds and its RTT sample.
    #[inline(always)]
    pub(crate) fn handle(
        &mut self,
        packet: &impl Packet,
        summary: &PacketSummary,
        is_first: bool,
        pool: &mut Pool,
    ) -> (Side, Kinds, Sample) {
        let index = self.index(is_first);
        match self.take_expected(summary, index, pool) {
            Some(expected) => (Side::BOTH[index], expected.kinds, expected.sample),
            None => self.handle_unexpected(&packet.observed(), is_first, pool),
        }
    }

    /// Analyzes any packet without header prediction.
    #[inline(never)]
    pub(crate) fn handle_unexpected(
        &mut self,
        packet: &Observed,
        is_first: bool,
        pool: &mut Pool,
    ) -> (Side, Kinds, Sample) {
        let index = self.index(is_first);
        let back = self.last_at.saturating_since(packet.at);
        self.origin = self.origin.wrapping_sub(back.as_nanos());
        self.last_at = packet.at;
        if !back.is_zero() {
            self.on_step_back(back);
        }
        let before = self.sides.each_ref().map(Direction::standing);
        if packet.flags.contains(Flags::SYN) {
            self.on_syn(packet, index);
        }
        let scaling = self.scaling();
        let round_trip = self.round_trip(index);
        let [client, server] = &mut self.sides;
        let (from, peer) = if index == 0 {
            (client, server)
        } else {
            (server, client)
        };
        let mut sample = None;
        let summary = packet.summary();
        from.weigh(&summary, peer);
        let (wire_segments, segment_size) = from.segments_of(&summary, peer);
        let mut kinds = if packet.flags.contains(Flags::RST) {
            judge_reset(from, peer, packet)
        } else {
            let around = Around {
                round_trip,
                knows_scale: scaling != Scaling::Unknown,
                wire_segments,
                segment_size,
            };
            sequence::on_segment(from, peer, packet, &around, pool)
        };
        let is_bare_copy = kinds.contains(Kind::CapturedTwice) && packet.seq_len() == 0;
        if says_what_arrived(peer, packet) && !is_bare_copy {
            let done = acknowledgment::on_acknowledgment(from, peer, packet, pool);
            kinds = kinds.with(done.kinds);
            sample = done.round_trip;
        }
        Self::offer(from, peer, packet, scaling, &mut kinds);
        if packet
            .flags
            .intersects(Flags::FIN | Flags::ECE | Flags::CWR)
            || packet.ecn == Ecn::Ce
        {
            mark(from, packet, self.traits & HAS_ACCECN != 0, &mut kinds);
        }
        from.seen
            .set(Seen::KEEP_ALIVE, kinds.contains(Kind::KeepAlive));
        from.seen
            .set(Seen::PROBE, kinds.contains(Kind::ZeroWindowProbe));
        if let Some(stamps) = packet.timestamps {
            from.ts_val = stamps.val;
        }
        let time = self.time();
        for (side, before) in self.sides.iter_mut().zip(before) {
            side.settle(before, time);
        }
        let from = &mut self.sides[index];
        from.count(&packet.summary(), wire_segments);
        from.count_kinds(kinds);
        if self.traits & HAS_ROUND_TRIP == 0 {
            self.time_handshake(packet);
        }
        let [client, server] = &self.sides;
        let may_time = client.has_syn() && server.has_syn();
        let is_timed = self.traits & HAS_ROUND_TRIP != 0 || !may_time;
        self.look_ahead(is_timed);
        (Side::BOTH[index], kinds, sample.into())
    }

    /// Handles a step back of the capture's clock. Data in flight gives no RTT sample, unless RTTs
    /// are much longer than the step.
    #[cold]
    fn on_step_back(&mut self, back: Duration) {
        for side in &mut self.sides {
            if side.rtt.min().is_none_or(|trip| back > trip / 8) {
                side.first_sample_position = side.first_sample_position.max(side.next);
            }
        }
    }

    /// Connection's time at its last packet.
    const fn time(&self) -> u64 {
        self.last_at.as_nanos().wrapping_sub(self.origin)
    }

    fn on_syn(&mut self, packet: &Observed, index: usize) {
        let data = &mut self.sides[index];
        if !data.is_started() || !data.has_syn() {
            data.read_syn(packet);
        }
        // RFC 9768 section 3.1.1: all three flags request AccECN.
        if packet.flags.contains(Flags::ACE) && !packet.flags.contains(Flags::ACK) {
            self.traits |= HAS_ACCECN;
        } else if packet.flags.contains(Flags::ACK) && !packet.flags.intersects(Flags::AE) {
            // RFC 3168 answers with ECE alone; most other answers are of AccECN.
            let is_accepted = packet.flags.contains(Flags::CWR);
            if !is_accepted {
                self.traits &= !HAS_ACCECN;
            }
        }
    }

    /// Times the handshake: SYN, SYN-ACK, ACK. Wherever the capture point is, the RTT is the sum of
    /// both halves.
    fn time_handshake(&mut self, packet: &Observed) {
        let [client, server] = &self.sides;
        let is_over = client.has_syn()
            && server.has_syn()
            && !packet.flags.contains(Flags::SYN)
            && server.una > server.base;
        if is_over {
            self.traits |= HAS_ROUND_TRIP;
            let half = |side: &Direction| side.rtt.min().unwrap_or_default();
            self.handshake = half(client) + half(server);
        }
    }

    /// RTT of data from that side, at any place of the capture point.
    #[inline]
    fn round_trip(&self, index: usize) -> Option<Duration> {
        let measured = self.sides[index].rtt.smoothed();
        let handshake = (self.traits & HAS_ROUND_TRIP != 0).then_some(self.handshake);
        measured.max(handshake)
    }

    /// Records the window that the packet advertises.
    #[inline]
    fn offer(
        from: &mut Direction,
        peer: &mut Direction,
        packet: &Observed,
        scaling: Scaling,
        kinds: &mut Kinds,
    ) {
        if packet.flags.contains(Flags::RST) {
            from.count_no_window();
            return;
        }
        // RFC 7323 section 2.2: the window of a SYN is not scaled.
        let is_syn = packet.flags.contains(Flags::SYN);
        let shift = match scaling {
            Scaling::Used if !is_syn => from.own_scale(),
            _ => 0,
        };
        let wnd = u32::from(packet.wnd) << shift;
        if is_syn {
            from.count_no_window();
        } else {
            let is_answer = packet.flags.contains(Flags::ACK) && peer.is_started();
            if is_answer && from.may_have_scale() && !from.has_window() {
                let arrived = peer
                    .position(packet.ack)
                    .saturating_sub(peer.first_position());
                from.note_window_after_syn(from.wnd, packet.wnd, arrived);
            }
            from.count_window(wnd);
        }
        from.wnd = packet.wnd;
        if packet.wnd == 0 && !packet.flags.intersects(Flags::SYN | Flags::FIN) {
            kinds.add(Kind::ZeroWindow);
        }
        if packet.flags.contains(Flags::ACK) && peer.is_started() {
            let edge = peer.position(packet.ack) + u64::from(wnd);
            peer.edge = peer.edge.max(edge);
        }
    }

    /// Payload bytes of a wire segment that a packet of `side` consists of.
    pub fn segment_size(&self, side: Side, packet: &PacketSummary) -> u32 {
        let (_, size) = self
            .direction(side)
            .segments_of(packet, self.direction(side.other()));
        size.min(packet.payload_len)
    }

    /// Address and port of that side.
    pub fn endpoint(&self, side: Side) -> Endpoint {
        let is_client_first = self.traits & IS_CLIENT_FIRST != 0;
        self.key.endpoint((side == Side::Client) == is_client_first)
    }

    /// Direction of the data that this side sent.
    pub const fn direction(&self, side: Side) -> &Direction {
        &self.sides[side as usize]
    }

    /// Capture time of its first packet.
    pub const fn first_at(&self) -> Instant {
        self.first_at
    }

    /// Capture time of its last packet.
    pub const fn last_at(&self) -> Instant {
        self.last_at
    }

    /// Time from the first packet to the last.
    pub const fn elapsed(&self) -> Duration {
        self.last_at.saturating_since(self.first_at)
    }

    /// Maximum number of bytes in flight of that side's data.
    pub fn most_outstanding(&self, side: Side) -> u64 {
        let data = self.direction(side);
        let now = if data.is_fresh { 0 } else { data.owin() };
        data.owin_max.max(now)
    }

    /// Mean number of bytes in flight of that side's data, weighted by time.
    pub fn mean_outstanding(&self, side: Side) -> Option<f64> {
        let data = self.direction(side);
        let sum = data.owin_changes + i128::from(data.owin()) * i128::from(self.time());
        let elapsed = self.elapsed();
        (!elapsed.is_zero()).then(|| sum as f64 / elapsed.as_nanos() as f64)
    }

    /// RTT of the handshake, from SYN to the ACK of the SYN-ACK. `None` if part of it was not
    /// captured.
    pub fn handshake_round_trip(&self) -> Option<Duration> {
        (self.traits & HAS_ROUND_TRIP != 0).then_some(self.handshake)
    }

    /// Position of a sequence number in the stream of `side`. The position has 64 bits and is the
    /// one nearest to the latest data. The stream begins at [`Direction::first_position`].
    #[inline]
    pub const fn position(&self, side: Side, seq: SeqNumber) -> u64 {
        self.direction(side).position(seq)
    }

    /// Window in bytes that a packet from `side` advertises. It is unscaled in a SYN (RFC 7323
    /// section 2.2) and if the scale is unknown.
    #[inline]
    pub const fn window_of(&self, side: Side, packet: &Observed) -> u32 {
        let is_scaled = matches!(self.scaling(), Scaling::Used);
        if is_scaled && !packet.flags.contains(Flags::SYN) {
            (packet.wnd as u32) << self.direction(side).own_scale()
        } else {
            packet.wnd as u32
        }
    }

    /// Unit of the windows that `side` advertises, in bytes (RFC 7323 section 2.2). It is 1 if they
    /// are not scaled, or that is unknown.
    pub const fn window_unit(&self, side: Side) -> u64 {
        match self.scaling() {
            Scaling::Used => 1 << self.direction(side).own_scale(),
            Scaling::Unused | Scaling::Unknown => 1,
        }
    }

    /// What is known of window scaling.
    #[inline]
    pub const fn scaling(&self) -> Scaling {
        let [client, server] = &self.sides;
        let both = client.seen.has(Seen::WINDOW_SCALE) && server.seen.has(Seen::WINDOW_SCALE);
        if both {
            Scaling::Used
        } else if client.is_unscaled() || server.is_unscaled() {
            Scaling::Unused
        } else {
            Scaling::Unknown
        }
    }

    /// Whether the same endpoints had another connection before this one.
    pub const fn is_successor(&self) -> bool {
        self.traits & IS_SUCCESSOR != 0
    }

    /// Whether both sides have sent their FIN, or one a reset.
    pub fn has_ended(&self) -> bool {
        let [client, server] = &self.sides;
        client.has_fin() && server.has_fin() || client.has_reset() || server.has_reset()
    }

    /// Whether only one direction is in the capture.
    pub const fn is_one_sided(&self) -> bool {
        let [client, server] = &self.sides;
        client.packets() == 0 || server.packets() == 0
    }
}

/// Whether the acknowledgment of `packet` counts. That of a reset counts only if it answers the
/// peer's SYN (RFC 9293 section 3.10.7.1); no other reset has to acknowledge received data.
fn says_what_arrived(peer: &Direction, packet: &Observed) -> bool {
    if !packet.flags.contains(Flags::RST) {
        return packet.flags.contains(Flags::ACK);
    }
    packet.flags.contains(Flags::ACK)
        && peer.has_syn()
        && peer.una == peer.base
        && peer.position(packet.ack) == peer.base + 1
}

/// Classifies a reset by RFC 5961 section 3.2. It is accepted at exactly RCV.NXT, gets a challenge
/// ACK inside the window, and is ignored outside. RCV.NXT is the last acknowledgment seen here.
#[cold]
fn judge_reset(from: &mut Direction, peer: &Direction, packet: &Observed) -> Kinds {
    let mut kinds = Kinds::NONE;
    from.seen.set(Seen::RST, true);
    if !from.is_started() {
        from.start(packet.seq);
    }
    if peer.packets() == 0 {
        return kinds;
    }
    let seq = from.position(packet.seq);
    let is_exact = seq == from.una || seq == from.next;
    let is_inside = seq >= from.una && seq < from.edge;
    kinds.add(if is_exact {
        Kind::ResetExact
    } else if is_inside {
        Kind::ResetInWindow
    } else {
        Kind::ResetOutOfWindow
    });
    kinds
}

/// Records FIN and congestion marks.
#[cold]
fn mark(from: &mut Direction, packet: &Observed, has_accecn: bool, kinds: &mut Kinds) {
    if packet.flags.contains(Flags::FIN) {
        from.seen.set(Seen::FIN, true);
    }
    if packet.ecn == Ecn::Ce {
        kinds.add(Kind::CongestionExperienced);
    }
    // With AccECN the flags are a counter; on a SYN they negotiate.
    if has_accecn || packet.flags.contains(Flags::SYN) {
        return;
    }
    if packet.flags.contains(Flags::ECE) {
        kinds.add(Kind::EcnEcho);
    }
    if packet.flags.contains(Flags::CWR) {
        kinds.add(Kind::CongestionWindowReduced);
    }
}
