//! Header prediction (Jacobson, 1990), for an observer.
//!
//! Nearly every segment is what was expected: the next octets in order, an
//! acknowledgment of octets that wait for one, both, or an acknowledgment that
//! says nothing new. A few comparisons show that; then all it changes is changed
//! here, and nothing else of the connection is looked at.
//!
//! Everything else takes the way through `sequence.rs` and `acknowledgment.rs`,
//! which decide what a segment is. They come to the same for segments that are
//! expected: a test runs both on whatever it can think of, and
//! [`crate::FlowTable::without_prediction`] is there for it.
//!
//! Two things make the short way short. What a comparison would have to work out
//! is known beforehand: the long way [looks ahead](Connection::look_ahead) and
//! leaves behind where nothing is going on that any segment could be part of
//! ([`Seen::STEADY`]), in which direction acknowledgments say nothing else
//! ([`Seen::QUIET`]), how long a segment may be. And what can be settled later is
//! not counted now, but follows from what is known anyway: payload from SND.NXT,
//! the sum of windows from the packets since the last one that was another, the
//! octets in flight over time from those that changed them.

use gigatcp_units::Instant;
use gigatcp_wire::Flags;

use crate::connection::{Connection, KNOWS_SCALE};
use crate::direction::{Direction, Seen};
use crate::packet_summary::PacketSummary;
use crate::round_trips::Sample;
use crate::sent::Pool;
use crate::{Kind, Kinds, Scaling};

/// The minimum size that a segment is taken for, options included.
const LEAST_SEGMENT: u32 = 576;

/// What an expected segment came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub kinds: Kinds,
    /// The round trip that its acknowledgment shows, if it is a sample.
    pub sample: Sample,
}

impl Connection {
    /// Takes in a packet of that side if it is one that was expected; otherwise
    /// nothing is changed.
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
        // A closed window, SACK blocks and marks say something. Beyond 2 GiB a
        // sequence number may mean two places.
        let is_next = packet.seq.as_u32() == from.next as u32
            && packet.flags.without(Flags::PSH) == Flags::ACK
            && from.seen.has(Seen::STEADY)
            && acked <= waiting
            && waiting >> 31 == 0
            && packet.at >= self.last_at
            && packet.wnd != 0
            && !packet.says_more;
        if !is_next {
            return None;
        }
        if acked > 0 {
            if !peer.seen.has(Seen::QUIET) {
                return None;
            }
        } else if len == 0 {
            // It may be the last one, captured twice.
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
            expected.kinds = from.say_again(peer, packet, waiting > 0);
        }
        from.hear(packet, wnd);
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
    /// How many segments beyond one the data is on the wire; `None` if it
    /// may be more than the next data: a probe, the same packet captured twice,
    /// or so near to the edge of the window that it may fill it.
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

    /// What every packet leaves behind of its sender; it is not counted yet.
    #[inline(always)]
    fn hear(&mut self, packet: &PacketSummary, wnd: u32) {
        let idle = packet.at.saturating_since(self.last_at);
        if idle > self.idle_max {
            self.idle_max = idle;
        }
        self.last_at = packet.at;
        if wnd != self.offered {
            self.change_window(wnd);
        }
        self.wnd = packet.wnd;
        self.ident = packet.ident;
        self.last_seq = packet.seq.as_u32();
        if let Some(stamps) = packet.timestamps {
            self.ts_val = stamps.val;
        }
    }

    /// The next octets pass.
    #[inline(always)]
    fn send(&mut self, len: u64, at: Instant, time: u64, pool: &mut Pool) {
        let waiting = self.next - self.una;
        if waiting > self.owin_max {
            self.owin_max = waiting;
        }
        self.owin_changes -= (u128::from(len) * u128::from(time)) as i128;
        self.send_next(len, at, pool);
    }

    /// The same without what it means for the octets in flight.
    #[inline(always)]
    pub(crate) fn send_next(&mut self, len: u64, at: Instant, pool: &mut Pool) {
        self.next += len;
        let in_flight = self.in_flight.get_or_insert_with(|| pool.take());
        in_flight.on_sent(self.next, at);
    }

    /// SND.UNA moves on by that many octets of those that wait, none of which
    /// was missing or retransmitted.
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
        let is_sample = self.una >= self.karn;
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
        // An octet that arrived twice gives no sample.
        match sent_at {
            Some(sent_at) if is_sample => {
                let sample = at.saturating_since(sent_at);
                self.rtt.add(sample);
                Sample::of(sample)
            }
            _ => Sample::NONE,
        }
    }

    /// A bare segment that acknowledges nothing new: RFC 5681 section 2 calls it
    /// a duplicate where something waits and the window is the same.
    #[inline]
    fn say_again(
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

    /// Whether the beginning of a direction is known, no probe is in progress, and its
    /// window is open.
    const fn is_steady(&self) -> bool {
        let is_known = self.is_started() && self.seen.has(Seen::UNA);
        let is_closed = self.wnd == 0 && self.seen.has(Seen::WINDOW);
        is_known && !is_closed && !self.seen.has(Seen::KEEP_ALIVE) && !self.seen.has(Seen::PROBE)
    }

    /// Whether an acknowledgment of it changes nothing but SND.UNA and the
    /// number of duplicates.
    fn is_quiet(&self) -> bool {
        let has_gaps = self.in_flight.as_ref().is_some_and(|it| it.has_gaps());
        let is_repairing = match &self.rare {
            Some(rare) => rare.repair.is_going_on(self.una),
            None => false,
        };
        !has_gaps && !is_repairing
    }
}

impl Connection {
    /// Notes what the next packets are held against.
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
    /// What its next packets are held against.
    fn look_ahead(&mut self, peer: &Self, scaling: Scaling, is_steady: bool) {
        // Its first window cannot be told from a changed one.
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
            // So large that anything may fill the window.
            (None, _) => u32::MAX,
        };
    }
}
