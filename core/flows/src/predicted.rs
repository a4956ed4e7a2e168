//! Header prediction (Jacobson, 1990), for an observer.
//!
//! Nearly every segment is expected: the next data in order, an acknowledgment of data in flight,
//! both, or an acknowledgment without news. A few comparisons show that. Then all changes are made
//! here, and nothing else of the connection is read.
//!
//! All other segments go through `sequence.rs` and `acknowledgment.rs`, which classify them. For
//! expected segments these produce the same result: a test runs both on random input, for which
//! [`crate::FlowTable::without_prediction`] exists.
//!
//! Two things make the fast path short. First, what a comparison would have to calculate is
//! prepared: the slow path [looks ahead](Connection::look_ahead). It notes whether no state exists
//! that a segment could affect ([`Seen::STEADY`]), in which direction acknowledgments carry no
//! other information ([`Seen::QUIET`]), and how long a segment may be. Second, what can be derived
//! later is not counted now: payload from SND.NXT, the sum of windows from the packets since the
//! last change, the bytes in flight over time from the packets that changed them.

use gigatcp_units::Instant;
use gigatcp_wire::Flags;

use crate::connection::{Connection, KNOWS_SCALE};
use crate::direction::{Direction, Seen};
use crate::packet_summary::PacketSummary;
use crate::round_trips::Sample;
use crate::sent::Pool;
use crate::{Kind, Kinds, Scaling};

/// Minimum segment size assumed, options included.
const LEAST_SEGMENT: u32 = 576;

/// Result of an expected segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub kinds: Kinds,
    /// The RTT sample of its acknowledgment, if it is one.
    pub sample: Sample,
}

impl Connection {
    /// Analyzes a packet of that side if it is expected; otherwise changes nothing.
    #[inline(always)]
    pub(crate) fn take_expected(
        &mut self,
        packet: &PacketSummary,
        index: usize,
        pool: &mut Pool,
    ) -> Option<Expected> {
        let [client, server] = &mut self.sides;
        let (from, peer) = if index == 0 {
            (client, server)
        } else {
            (server, client)
        };
        let len = u64::from(packet.payload_len);
        let acked = u64::from(packet.ack.as_u32().wrapping_sub(peer.una as u32));
        let waiting = peer.next.wrapping_sub(peer.una);
        // A zero window, SACK blocks and marks carry information. Beyond 2 GiB a sequence number is
        // ambiguous.
        let is_next = packet.seq.as_u32() == from.next as u32
            && packet.flags.without(Flags::PSH) == Flags::ACK
            && from.seen.has(Seen::STEADY)
            && acked <= waiting
            && waiting >> 31 == 0
            && packet.at >= self.last_at
            && packet.wnd != 0
            && !packet.has_sack_or_ce;
        if !is_next {
            return None;
        }
        if acked > 0 {
            if !peer.seen.has(Seen::QUIET) {
                return None;
            }
        } else if len == 0 {
            // It may be a duplicate capture of the last packet.
            let is_alike = packet.ident == from.ident && packet.ident != 0;
            if is_alike || waiting == 0 && peer.packets() == 0 {
                return None;
            }
        }
        // Last, since it weighs what it accepts.
        let mut extra_segments = 0;
        if len > 0 {
            let knows_scale = self.traits & KNOWS_SCALE != 0;
            extra_segments = from.segments_beyond_one(packet, peer, knows_scale)?;
        }

        self.last_at = packet.at;
        (from.is_fresh, peer.is_fresh) = (len > 0, acked > 0);
        let time = packet.at.as_nanos().wrapping_sub(self.origin);
        let wnd = u32::from(packet.wnd) << from.shift;
        let mut expected = Expected {
            kinds: Kinds::NONE,
            sample: Sample::NONE,
        };
        if acked > 0 {
            expected.sample = peer.acknowledge(acked, waiting, packet.at, time, pool);
        } else if len == 0 {
            expected.kinds = from.classify_pure_ack(peer, packet, waiting > 0);
        }
        from.record_packet(packet, wnd);
        if len > 0 {
            from.data_packets += 1;
            from.extra_segments += extra_segments;
            from.send(len, packet.at, time, pool);
        } else {
            from.bare_packets += 1;
        }
        peer.edge = peer.edge.max(peer.una + u64::from(wnd));
        Some(expected)
    }
}

impl Direction {
    /// Number of wire segments of the data beyond one. `None` if it may be more than the next data:
    /// a probe, a packet captured twice, or data that may fill the window.
    #[inline(always)]
    fn segments_beyond_one(
        &mut self,
        packet: &PacketSummary,
        peer: &Self,
        knows_scale: bool,
    ) -> Option<u64> {
        let len = packet.payload_len;
        let reaches = self.next + u64::from(len) + u64::from(self.single.max(LEAST_SEGMENT));
        let is_at_edge = reaches > self.edge && knows_scale;
        let is_again =
            packet.ident == self.ident && packet.seq.as_u32() == self.last_seq && packet.ident != 0;
        if is_at_edge || is_again {
            return None;
        }
        if len <= self.single.saturating_sub(packet.options_len.into()) {
            if len > self.largest {
                self.largest = len;
            }
            return Some(0);
        }
        self.weigh(packet, peer);
        let (segments, _) = self.segments_of(packet, peer);
        if segments == 1 {
            self.largest = self.largest.max(len);
        } else {
            self.seen.set(Seen::SUPER, true);
        }
        Some(segments - 1)
    }

    /// Records what every packet changes in its sender's direction; it is not counted yet.
    #[inline(always)]
    fn record_packet(&mut self, packet: &PacketSummary, wnd: u32) {
        let idle = packet.at.saturating_since(self.last_at);
        if idle > self.idle_max {
            self.idle_max = idle;
        }
        self.last_at = packet.at;
        if wnd != self.offered {
            self.change_window(wnd);
        }
        self.wnd = packet.wnd;
        self.note_ident(packet.ident, packet.seq.as_u32());
        if let Some(stamps) = packet.timestamps {
            self.ts_val = stamps.val;
        }
    }

    /// Records the next data in order.
    #[inline(always)]
    fn send(&mut self, len: u64, at: Instant, time: u64, pool: &mut Pool) {
        let waiting = self.next - self.una;
        if waiting > self.owin_max {
            self.owin_max = waiting;
        }
        self.owin_changes -= (u128::from(len) * u128::from(time)) as i128;
        self.send_next(len, at, pool);
    }

    /// Advances SND.NXT without counting the bytes in flight over time.
    #[inline(always)]
    pub(crate) fn send_next(&mut self, len: u64, at: Instant, pool: &mut Pool) {
        self.next += len;
        let in_flight = self.in_flight.get_or_insert_with(|| pool.take());
        in_flight.on_sent(self.next, at);
    }

    /// Advances SND.UNA by `acked` bytes, none of which was missing or retransmitted.
    #[inline(always)]
    fn acknowledge(
        &mut self,
        acked: u64,
        waiting: u64,
        at: Instant,
        time: u64,
        pool: &mut Pool,
    ) -> Sample {
        if waiting > self.owin_max {
            self.owin_max = waiting;
        }
        self.owin_changes += (u128::from(acked) * u128::from(time)) as i128;
        let is_sample = self.una >= self.first_sample_position;
        self.una += acked;
        self.duplicates = 0;
        let Some(in_flight) = self.in_flight.as_mut() else {
            return Sample::NONE;
        };
        let sent_at = in_flight.on_acknowledged(self.una);
        if in_flight.is_empty()
            && let Some(empty) = self.in_flight.take()
        {
            pool.give(empty);
        }
        // A byte that arrived twice gives no sample.
        match sent_at {
            Some(sent_at) if is_sample => {
                let sample = at.saturating_since(sent_at);
                self.rtt.add(sample);
                Sample::of(sample)
            }
            _ => Sample::NONE,
        }
    }

    /// Classifies a pure ACK that acknowledges no new data. RFC 5681 section 2 calls it a duplicate
    /// if data is in flight and the window is unchanged.
    #[inline]
    fn classify_pure_ack(
        &mut self,
        peer: &mut Self,
        packet: &PacketSummary,
        something_waits: bool,
    ) -> Kinds {
        let mut kinds = Kinds::NONE;
        if packet.wnd != self.wnd {
            kinds.add(Kind::WindowUpdate);
            self.count_kinds(kinds);
        } else if something_waits {
            self.duplicate_acks += 1;
            peer.duplicates = peer.duplicates.saturating_add(1);
            kinds.add(Kind::DuplicateAck);
        }
        kinds
    }

    /// Whether its beginning is known, no probe is in progress, and its window is open.
    const fn is_steady(&self) -> bool {
        let is_known = self.is_started() && self.seen.has(Seen::UNA);
        let is_closed = self.wnd == 0 && self.seen.has(Seen::WINDOW);
        is_known && !is_closed && !self.seen.has(Seen::KEEP_ALIVE) && !self.seen.has(Seen::PROBE)
    }

    /// Whether an acknowledgment of it changes only SND.UNA and the number of duplicates.
    fn is_quiet(&self) -> bool {
        let has_gaps = self
            .in_flight
            .as_ref()
            .is_some_and(|in_flight| in_flight.has_gaps());
        let rare = self.rare.as_ref();
        let is_repairing = rare.is_some_and(|rare| rare.repair.is_going_on(self.una));
        !has_gaps && !is_repairing
    }
}

impl Connection {
    /// Prepares the comparisons of the next packets.
    pub(crate) fn look_ahead(&mut self, may_be: bool) {
        let scaling = self.scaling();
        let [client, server] = &mut self.sides;
        let is_steady = may_be && client.is_steady() && server.is_steady();
        client.look_ahead(server, scaling, is_steady);
        server.look_ahead(client, scaling, is_steady);
        let knows_scale = scaling != Scaling::Unknown;
        self.traits = self.traits & !KNOWS_SCALE | if knows_scale { KNOWS_SCALE } else { 0 };
    }
}

impl Direction {
    /// Prepares the comparisons of its next packets.
    fn look_ahead(&mut self, peer: &Self, scaling: Scaling, is_steady: bool) {
        // Its first window may or may not be a change.
        let may_be = is_steady && self.seen.has(Seen::WINDOW);
        self.seen.set(Seen::STEADY, may_be);
        self.seen.set(Seen::QUIET, self.is_quiet());
        self.shift = match scaling {
            Scaling::Used => self.own_scale(),
            Scaling::Unused | Scaling::Unknown => 0,
        };
        self.single = match (peer.mss(), scaling) {
            (Some(mss), _) => self.single_with(mss),
            (None, Scaling::Unknown) => Self::ETHERNET,
            // So large that any data may fill the window.
            (None, _) => u32::MAX,
        };
    }
}
