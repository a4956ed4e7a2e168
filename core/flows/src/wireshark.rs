//! tshark's `tcp.analysis.*` flags of a packet, by its rules.
//!
//! The rules are those of Wireshark 4.0 with its default preferences, as its output shows them. It
//! keeps the highest sequence number, the last acknowledgment and the window of each direction.
//! Data repeated within 20 ms of two duplicates is a fast retransmission. Data within the
//! handshake's RTT of the highest segment is out of order, whether or not it was there before. The
//! limit is 3 ms if that RTT is unknown. Data below the last acknowledgment is spurious. (4.4 also
//! considers SACK blocks and what was there before.)
//!
//! Two properties look like bugs and are kept. A SYN at time zero counts as none, so the
//! simulator's captures have no RTT. And of acknowledgments beyond everything seen without a gap,
//! it reports only the first of a direction.
//!
//! These flags are for comparison with [`crate::Kinds`], which describe what happened. Out of
//! scope: RTTs, bytes in flight, reassembly.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Flags, SeqNumber};

use crate::kinds::named;
use crate::{Observed, Side};

/// A duplicate is recent for this long.
const RECENT: Duration = Duration::from_millis(20);

/// Maximum age of the highest packet for out of order, if no RTT is known.
const OUT_OF_ORDER: Duration = Duration::from_millis(3);

named! {
    /// One of tshark's flags; its name follows `tcp.analysis.`.
    #[expect(missing_docs, reason = "the names are tshark's, and so is the meaning")]
    pub enum WiresharkFlag {
        Retransmission "retransmission",
        FastRetransmission "fast_retransmission",
        SpuriousRetransmission "spurious_retransmission",
        OutOfOrder "out_of_order",
        LostSegment "lost_segment",
        AckLostSegment "ack_lost_segment",
        DuplicateAck "duplicate_ack",
        WindowUpdate "window_update",
        WindowFull "window_full",
        ZeroWindow "zero_window",
        ZeroWindowProbe "zero_window_probe",
        ZeroWindowProbeAck "zero_window_probe_ack",
        KeepAlive "keep_alive",
        KeepAliveAck "keep_alive_ack",
        ReusedPorts "reused_ports",
    }
}

/// tshark's flags of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct WiresharkFlags(u16);

impl WiresharkFlags {
    pub(crate) const fn add(&mut self, flag: WiresharkFlag) {
        self.0 |= 1 << flag as u8;
    }

    /// Whether no flag is set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the packet has the flag.
    #[must_use]
    pub const fn contains(self, flag: WiresharkFlag) -> bool {
        self.0 & 1 << flag as u8 != 0
    }

    /// Returns the flags, in order.
    pub fn iter(self) -> impl Iterator<Item = WiresharkFlag> {
        WiresharkFlag::ALL
            .into_iter()
            .filter(move |flag| self.contains(*flag))
    }
}

impl FromIterator<WiresharkFlag> for WiresharkFlags {
    fn from_iter<T: IntoIterator<Item = WiresharkFlag>>(flags: T) -> Self {
        let mut set = Self::default();
        flags.into_iter().for_each(|flag| set.add(flag));
        set
    }
}

#[derive(Clone, Default, Debug)]
struct TsharkDirection {
    next: Option<SeqNumber>,
    next_at: Instant,
    /// End of the contiguous data.
    contiguous: Option<SeqNumber>,
    last_ack: Option<SeqNumber>,
    last_ack_at: Instant,
    window: u16,
    /// `None` if no SYN shows it.
    scale: Option<u8>,
    has_acked: bool,
    duplicates: u32,
    last: WiresharkFlags,
    /// Whether data beyond all of it was acknowledged and reported.
    is_exceeded: bool,
}

/// One connection as tshark sees it.
#[derive(Clone, Default, Debug)]
struct View {
    ways: [TsharkDirection; 2],
    syn_at: Option<Instant>,
    round_trip: Option<Duration>,
}

/// tshark's analysis of a capture.
#[derive(Default, Debug)]
pub struct Wireshark {
    views: Vec<View>,
}

impl Wireshark {
    /// Creates an empty analysis.
    #[must_use]
    pub const fn new() -> Self {
        Self { views: Vec::new() }
    }

    /// Returns tshark's flags of the packet, given the connection and side of its
    /// [`crate::Verdict`]. Packets of a connection must come in order.
    pub fn handle_packet(
        &mut self,
        connection: usize,
        is_successor: bool,
        from: Side,
        packet: &Observed,
    ) -> WiresharkFlags {
        if self.views.len() <= connection {
            self.views.resize_with(connection + 1, View::default);
        }
        // tshark waits for the other fragments, and does not see the segment.
        if packet.fragmentation == Fragmentation::First {
            return WiresharkFlags::default();
        }
        let view = &mut self.views[connection];
        let is_first = view.ways.iter().all(|way| way.next.is_none());
        let mut flags = view.handle(from, packet);
        if is_successor && is_first {
            flags.add(WiresharkFlag::ReusedPorts);
        }
        flags
    }
}

/// A packet and values derived from it.
#[derive(Clone, Copy)]
struct Step<'a> {
    packet: &'a Observed,
    len: u32,
    is_control: bool,
    /// Without SYN, FIN or RST.
    is_plain: bool,
}

impl View {
    fn handle(&mut self, from: Side, packet: &Observed) -> WiresharkFlags {
        self.time_handshake(packet);
        let is_plain = !packet
            .flags
            .intersects(Flags::SYN | Flags::FIN | Flags::RST);
        let step = Step {
            packet,
            len: packet.payload_len,
            is_control: packet.flags.intersects(Flags::SYN | Flags::FIN),
            is_plain,
        };
        let round_trip = self.round_trip;
        let [client, server] = &mut self.ways;
        let (own, peer) = match from {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        if packet.flags.contains(Flags::SYN) {
            own.scale = Some(packet.window_scale.unwrap_or(u8::MAX));
            if own.scale == Some(u8::MAX) && peer.scale.is_some() {
                peer.scale = own.scale;
            } else if peer.scale == Some(u8::MAX) {
                own.scale = peer.scale;
            }
        }
        let mut flags = WiresharkFlags::default();
        if !judge_bare(own, peer, &step, &mut flags) {
            judge_duplicate(own, &step, &mut flags);
        }
        if own.last_ack != Some(packet.ack) {
            own.duplicates = 0;
        }
        judge_unseen(own, peer, &step, &mut flags);
        if (step.len > 0 || step.is_control) && !flags.contains(WiresharkFlag::KeepAlive) {
            judge_again(own, peer, &step, round_trip, &mut flags);
        }
        own.note(&step, flags);
        flags
    }

    /// Times the handshake: the first acknowledgment after the last SYN ends it.
    fn time_handshake(&mut self, packet: &Observed) {
        if packet.flags.contains(Flags::SYN) {
            if !packet.flags.contains(Flags::ACK) && packet.at > Instant::ZERO {
                self.syn_at = Some(packet.at);
            }
        } else if packet.flags.contains(Flags::ACK)
            && self.round_trip.is_none()
            && let Some(at) = self.syn_at
        {
            self.round_trip = Some(packet.at.saturating_since(at));
        }
    }
}

/// Flags probes, windows, gaps and keep-alives. Returns whether that settles acknowledgments.
fn judge_bare(
    own: &mut TsharkDirection,
    peer: &mut TsharkDirection,
    step: &Step<'_>,
    flags: &mut WiresharkFlags,
) -> bool {
    let Step { packet, len, .. } = *step;
    let seq = packet.seq;
    let is_next = own.next == Some(seq);
    if len == 1 && is_next && peer.window == 0 && peer.next.is_some() {
        flags.add(WiresharkFlag::ZeroWindowProbe);
        return true;
    }
    if packet.wnd == 0 && step.is_plain {
        flags.add(WiresharkFlag::ZeroWindow);
    }
    let is_reset = packet.flags.contains(Flags::RST);
    if own.next.is_some_and(|next| seq.is_after(next)) && !is_reset {
        flags.add(WiresharkFlag::LostSegment);
    }
    if len <= 1 && own.next.is_some_and(|next| seq == next - 1) && step.is_plain {
        flags.add(WiresharkFlag::KeepAlive);
    }
    let is_same_ack = own.last_ack == Some(packet.ack);
    if len == 0
        && packet.wnd != 0
        && packet.wnd != own.window
        && is_next
        && is_same_ack
        && step.is_plain
    {
        flags.add(WiresharkFlag::WindowUpdate);
    }
    judge_full(peer, step, flags);
    if len == 0 && packet.wnd == own.window && is_next && step.is_plain {
        let is_answer = is_same_ack && packet.wnd != 0;
        if is_answer && peer.last.contains(WiresharkFlag::KeepAlive) {
            flags.add(WiresharkFlag::KeepAliveAck);
            return true;
        }
        let is_accepted = own.last_ack.is_some_and(|last| packet.ack == last + 1);
        if packet.wnd == 0
            && (is_same_ack || is_accepted)
            && peer.last.contains(WiresharkFlag::ZeroWindowProbe)
        {
            flags.add(WiresharkFlag::ZeroWindowProbeAck);
            return true;
        }
    }
    false
}

fn judge_full(peer: &TsharkDirection, step: &Step<'_>, flags: &mut WiresharkFlags) {
    let (Some(scale), Some(ack)) = (peer.scale, peer.last_ack) else {
        return;
    };
    // The window of a SYN is not scaled.
    let shift = if peer.has_acked && scale != u8::MAX {
        scale.min(14)
    } else {
        0
    };
    let edge = ack + (u32::from(peer.window) << shift);
    if step.len > 0 && step.packet.seq + step.len == edge && step.is_plain {
        flags.add(WiresharkFlag::WindowFull);
    }
}

fn judge_duplicate(own: &mut TsharkDirection, step: &Step<'_>, flags: &mut WiresharkFlags) {
    let packet = step.packet;
    let is_same = step.len == 0
        && packet.wnd != 0
        && packet.wnd == own.window
        && own.next == Some(packet.seq)
        && own.last_ack == Some(packet.ack)
        && step.is_plain;
    if is_same {
        own.duplicates += 1;
        flags.add(WiresharkFlag::DuplicateAck);
    }
}

fn judge_unseen(
    own: &TsharkDirection,
    peer: &mut TsharkDirection,
    step: &Step<'_>,
    flags: &mut WiresharkFlags,
) {
    let ack = step.packet.ack;
    let is_beyond = peer.contiguous.is_some_and(|end| ack.is_after(end));
    if !step.packet.flags.contains(Flags::ACK) || !is_beyond {
        return;
    }
    // Beyond everything, without a gap: reported once.
    let is_whole = peer.contiguous == peer.next;
    let is_beyond_all = peer.next.is_some_and(|next| ack.is_after(next));
    if is_beyond_all && core::mem::replace(&mut peer.is_exceeded, true) && is_whole {
        return;
    }
    let is_accepted = own.last_ack.is_some_and(|last| ack == last + 1);
    if is_accepted && peer.last.contains(WiresharkFlag::ZeroWindowProbe) {
        flags.add(WiresharkFlag::WindowUpdate);
    } else {
        flags.add(WiresharkFlag::AckLostSegment);
    }
    peer.contiguous = peer.next;
}

/// Flags retransmissions of tshark's three sorts, or out of order.
fn judge_again(
    own: &TsharkDirection,
    peer: &TsharkDirection,
    step: &Step<'_>,
    round_trip: Option<Duration>,
    flags: &mut WiresharkFlags,
) {
    let Step { packet, len, .. } = *step;
    let (seq, end) = (packet.seq, packet.seq + len);
    let Some(next) = own.next else {
        return;
    };
    if len > 1 && next - 1 == seq {
        return;
    }
    // tshark treats an acknowledgment of zero, as a reset has, as none.
    let last_ack = peer.last_ack.filter(|ack| ack.as_u32() != 0);
    let is_acked = last_ack.is_some_and(|ack| !end.is_after(ack));
    if len > 0 && is_acked {
        flags.add(WiresharkFlag::SpuriousRetransmission);
        flags.add(WiresharkFlag::Retransmission);
        return;
    }
    if !seq.is_before(next) {
        return;
    }
    // Its time differences are never negative: an earlier packet is long ago.
    let since = |before: Instant| {
        let is_after = packet.at >= before;
        is_after.then(|| packet.at.saturating_since(before))
    };
    let is_within = |before, limit| since(before).is_some_and(|since| since < limit);
    let is_recent = is_within(peer.last_ack_at, RECENT) && peer.duplicates >= 2;
    let is_fast = is_recent && peer.last_ack == Some(seq);
    if is_fast {
        flags.add(WiresharkFlag::FastRetransmission);
        flags.add(WiresharkFlag::Retransmission);
        return;
    }
    let is_soon = is_within(own.next_at, round_trip.unwrap_or(OUT_OF_ORDER));
    if is_soon && next != end + u32::from(step.is_control) {
        flags.add(WiresharkFlag::OutOfOrder);
    } else {
        flags.add(WiresharkFlag::Retransmission);
    }
}

impl TsharkDirection {
    /// Remembers what the next packets are compared with.
    fn note(&mut self, step: &Step<'_>, flags: WiresharkFlags) {
        let packet = step.packet;
        let is_probe = flags.contains(WiresharkFlag::ZeroWindowProbe);
        let end = packet.seq + step.len + u32::from(step.is_control);
        if self.next.is_none_or(|next| end.is_after(next)) && !is_probe {
            self.next = Some(end);
            self.next_at = packet.at;
        }
        if self.contiguous.is_none_or(|edge| edge == packet.seq) && !is_probe {
            self.contiguous = self.next;
        }
        self.window = packet.wnd;
        self.last_ack = Some(packet.ack);
        self.last_ack_at = packet.at;
        self.has_acked = !packet.flags.contains(Flags::SYN);
        self.last = flags;
    }
}
