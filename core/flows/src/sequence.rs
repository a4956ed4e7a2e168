//! Classifies a segment by its sequence numbers.

use core::ops::Range;

use gigatcp_units::Duration;
use gigatcp_wire::Flags;

use crate::direction::{Direction, Seen};
use crate::gaps::{Gap, Opener};
use crate::retransmission::{self, RetransmittedRange};
use crate::sent::Pool;
use crate::{Kind, Kinds, Observed};

/// Context of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    /// RTT of the path, if known.
    pub round_trip: Option<Duration>,
    /// Whether the scale of the windows advertised to it is known.
    pub knows_scale: bool,
    /// Number of wire segments, and their size.
    pub wire_segments: u64,
    pub segment_size: u32,
}

/// Places the segment in its direction, `data`. `peer` is the other direction.
#[inline]
pub(crate) fn on_segment(
    data: &mut Direction,
    peer: &Direction,
    packet: &Observed,
    around: &Around,
    pool: &mut Pool,
) -> Kinds {
    let mut kinds = Kinds::NONE;
    if !data.is_started() {
        data.start(packet.seq);
        if packet.flags.contains(Flags::SYN) {
            data.seen.set(Seen::UNA, true);
        }
    }
    let len = u64::from(packet.seq_len());
    let start = data.position(packet.seq);
    let end = start + len;
    if is_captured_twice(data, peer, packet, (start, end)) {
        kinds.add(Kind::CapturedTwice);
        data.rare().repeated += u64::from(packet.payload_len);
        return kinds;
    }
    if start == data.next && len > 0 && !is_closed(data, peer, packet) {
        data.send_next(end - data.next, packet.at, pool);
    } else {
        on_odd(data, peer, packet, (start, end), around, pool, &mut kinds);
    }
    let is_probe = kinds.contains(Kind::ZeroWindowProbe) || kinds.contains(Kind::KeepAlive);
    if packet.payload_len > 0 && around.knows_scale && !is_probe {
        judge_window(data, peer, end, around, &mut kinds);
    }
    kinds
}

/// Whether the last packet of this side was captured again. SYN and FIN count: a retransmission has
/// another IPv4 identification. Without one (IPv6, and the SYN-ACKs of Linux) it is a copy if it
/// comes sooner than any timer retransmits. A single byte may be a probe. What fills a gap is no
/// copy.
fn is_captured_twice(
    data: &Direction,
    peer: &Direction,
    packet: &Observed,
    (start, end): (u64, u64),
) -> bool {
    const BEFORE_ANY_TIMER: Duration = Duration::from_millis(1);
    if is_earlier_packet(data, packet, (start, end)) {
        return true;
    }
    let is_same =
        packet.ident == data.ident && packet.seq.as_u32() == data.last_seq && data.packets() > 0;
    if !is_same || packet.seq_len() == 0 {
        return is_same && packet.ident != 0 && says_nothing_new(data, peer, packet);
    }
    if end > data.next || data.has_gap(start, end) {
        return false;
    }
    packet.ident != 0
        || end == data.next
            && packet.payload_len != 1
            && packet.at.saturating_since(data.last_at) < BEFORE_ANY_TIMER
}

/// Whether data came again in the packet that it came in before, as at the mirror port of a switch that
/// passes the copies of a burst later: a retransmission has a later identification.
fn is_earlier_packet(data: &Direction, packet: &Observed, (start, end): (u64, u64)) -> bool {
    const SOON: Duration = Duration::from_millis(20);
    data.has_seen_ident(packet.ident)
        && packet.payload_len > 1
        && end <= data.next
        && packet.at.saturating_since(data.last_at) < SOON
        && !data.has_gap(start, end)
}

/// Whether a pure ACK carries nothing beyond the previous ones. Some hosts number them anyway, so
/// more fields must agree than for data.
fn says_nothing_new(data: &Direction, peer: &Direction, packet: &Observed) -> bool {
    let stamps = packet.timestamps;
    let reported = peer.rare.as_ref().map_or(0, |rare| rare.repair.high_sacked);
    let blocks = packet.sack.as_slice();
    packet.flags == Flags::ACK
        && packet.seq.as_u32() == data.next as u32
        && peer.is_started()
        && peer.position(packet.ack) == peer.una
        && packet.wnd == data.wnd
        && stamps.is_none_or(|stamps| stamps.val == data.ts_val)
        && blocks
            .iter()
            .all(|block| peer.position(block.right) <= reported.max(peer.una))
}

/// Whether the peer's window is closed and all data in it acknowledged.
#[inline]
fn is_closed(data: &Direction, peer: &Direction, packet: &Observed) -> bool {
    peer.wnd == 0
        && peer.seen.has(Seen::WINDOW)
        && data.next == data.una
        && packet.payload_len == 1
        && !packet.flags.intersects(Flags::SYN | Flags::FIN)
}

/// Handles everything except the next data in order.
#[inline(never)]
fn on_odd(
    data: &mut Direction,
    peer: &Direction,
    packet: &Observed,
    (start, end): (u64, u64),
    around: &Around,
    pool: &mut Pool,
    kinds: &mut Kinds,
) {
    let is_plain = !packet.flags.intersects(Flags::SYN | Flags::FIN);
    let is_window_closed = peer.seen.has(Seen::WINDOW) && peer.wnd == 0;
    let is_before_next = start + 1 == data.next && packet.payload_len <= 1 && is_plain;
    let all_acked = data.una > start || !data.seen.has(Seen::UNA);
    let is_first_probe = start == data.next && is_closed(data, peer, packet);
    let is_later_probe = is_before_next && is_window_closed && data.una >= start;
    if is_first_probe || is_later_probe {
        kinds.add(Kind::ZeroWindowProbe);
        if end > data.next {
            data.send_next(end - data.next, packet.at, pool);
            // A receiver often refuses the byte of a probe.
            data.first_sample_position = data.first_sample_position.max(end);
        } else {
            on_byte_again(data, packet, start, end);
        }
    } else if is_before_next && all_acked && data.packets() > 0 {
        kinds.add(Kind::KeepAlive);
        on_byte_again(data, packet, start, end);
    } else if start > data.next {
        kinds.add(Kind::AfterGap);
        open_gap(data, packet, start, pool);
        if end > start {
            data.send_next(end - data.next, packet.at, pool);
        }
    } else if end > start {
        on_old(data, peer, packet, (start, end), around, pool, kinds);
    }
}

/// Counts the byte of a probe that was sent before, or fills the gap left by it.
fn on_byte_again(data: &mut Direction, packet: &Observed, start: u64, end: u64) {
    let (filled, _) = data.fill_gaps(start, end);
    data.rare().repeated += u64::from(packet.payload_len) - filled;
}

fn open_gap(data: &mut Direction, packet: &Observed, start: u64, pool: &mut Pool) {
    let opener = Opener {
        at: packet.at,
        ts_val: packet.timestamps.map(|stamps| stamps.val),
        ident: packet.ident,
    };
    let in_flight = data.in_flight.get_or_insert_with(|| pool.take());
    in_flight.gaps.open(Gap {
        start: data.next,
        end: start,
        opener,
    });
    data.next = start;
}

/// Positions of the payload, up to `old_end`. SYN and FIN have positions of their own.
fn payload_range(packet: &Observed, start: u64, old_end: u64) -> Range<u64> {
    let from = start + u64::from(packet.flags.contains(Flags::SYN));
    let to = from + u64::from(packet.payload_len);
    from.min(old_end)..to.min(old_end)
}

/// Handles a segment that begins before SND.NXT: retransmitted or reordered.
fn on_old(
    data: &mut Direction,
    peer: &Direction,
    packet: &Observed,
    (start, end): (u64, u64),
    around: &Around,
    pool: &mut Pool,
    kinds: &mut Kinds,
) {
    let old_end = end.min(data.next);
    let payload = payload_range(packet, start, old_end);
    let (filled, opener_of_payload) = data.fill_gaps(payload.start, payload.end);
    let (filled_by_fin, opener_of_fin) = data.fill_gaps(payload.end, old_end);
    let opener = opener_of_payload.or(opener_of_fin);
    let base = if data.has_syn() { start } else { data.base };
    let before_capture = base.clamp(start, old_end) - start;
    let seen_before = old_end - start - filled - filled_by_fin - before_capture;
    let payload_from = base.clamp(payload.start, payload.end);
    let payload_again = payload.end - payload_from - filled;
    if before_capture > 0 {
        data.base = start;
    }
    if payload_again > 0 {
        data.rare().repeated += payload_again;
    }
    let is_again = seen_before > 0
        || match &opener {
            Some(opener) => retransmission::is_again(packet, opener, around.round_trip),
            // Data from before the capture: only the sender's timestamps can show which it is.
            None => packet
                .timestamps
                .is_some_and(|stamps| retransmission::is_older(data.ts_val, stamps.val)),
        };
    if is_again {
        let octets = if seen_before > 0 {
            seen_before
        } else {
            old_end - start
        };
        let segments = if octets == end - start {
            around.wire_segments
        } else {
            octets.div_ceil(u64::from(around.segment_size)).max(1)
        };
        let again = RetransmittedRange {
            start,
            end: old_end,
            segments,
            octets: if seen_before > 0 {
                payload_again
            } else {
                payload.end - payload.start
            },
        };
        let kind = retransmission::on_again(data, packet, again, peer.last_at, around.round_trip);
        kinds.add(kind);
    } else {
        kinds.add(Kind::OutOfOrder);
    }
    data.first_sample_position = data.first_sample_position.max(old_end);
    if end > data.next {
        data.send_next(end - data.next, packet.at, pool);
    }
}

/// Compares the segment with the right edge of every window advertised so far. The edge never moves
/// left (RFC 9293 SHLD-14 requires that of receivers). A full window has no room for what a sender
/// would send. That is a segment, or half of the largest window if a segment is larger than that
/// (RFC 9293 section 3.8.6.2.1).
#[inline]
fn judge_window(data: &Direction, peer: &Direction, end: u64, around: &Around, kinds: &mut Kinds) {
    if data.edge == data.base {
        return;
    }
    let fin = u64::from(data.has_fin());
    if end > data.edge + fin {
        kinds.add(Kind::BeyondWindow);
    } else if end == data.next && data.edge.saturating_sub(end) < peer.least_worth(around) {
        kinds.add(Kind::WindowFull);
    }
}

impl Direction {
    /// Minimum room, in bytes, that a sender would use.
    fn least_worth(&self, around: &Around) -> u64 {
        let segment = u64::from(around.segment_size);
        match self.windows() {
            Some(windows) => segment.min((windows.most / 2).max(1)),
            None => segment,
        }
    }
}
