//! Classifies a segment by its acknowledgment.

use gigatcp_units::Duration;
use gigatcp_wire::Flags;

use crate::direction::{Direction, Seen};
use crate::sent::Pool;
use crate::{Kind, Kinds, Observed};

/// Maximum window (RFC 7323 section 2.3). An acknowledgment further beyond everything seen does not
/// belong to a packet that the capture lacks.
const MAX_WINDOW: u64 = 1 << 30;

/// Effect of an acknowledgment on the other direction.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Acknowledged {
    pub kinds: Kinds,
    /// RTT sample of the segment at which it ends; `None` if there is none (Karn).
    pub round_trip: Option<Duration>,
}

/// Analyzes the acknowledgment of `packet`, sent by `from`, of the data in `data`.
#[inline]
pub(crate) fn on_acknowledgment(
    from: &Direction,
    data: &mut Direction,
    packet: &Observed,
    pool: &mut Pool,
) -> Acknowledged {
    let mut done = Acknowledged::default();
    if !data.is_started() {
        // The capture has one direction only, or the other one begins later.
        data.start(packet.ack);
        data.seen.set(Seen::UNA, true);
        return done;
    }
    let ack = data.position(packet.ack);
    if ack > data.next {
        on_unseen(data, ack, &mut done.kinds);
        if ack > data.next {
            done.kinds.add(Kind::OldAck);
            return done;
        }
    }
    if ack > data.una || !data.seen.has(Seen::UNA) {
        done.round_trip = on_advance(data, packet, ack, pool, &mut done.kinds);
        if !packet.sack.is_empty() {
            on_sack(data, packet, ack, &mut done.kinds);
        }
    } else if ack == data.una {
        on_same(from, data, packet, ack, &mut done.kinds);
    } else {
        done.kinds.add(Kind::OldAck);
        on_sack(data, packet, ack, &mut done.kinds);
    }
    done
}

/// Handles an acknowledgment of data that is not in the capture.
#[cold]
fn on_unseen(data: &mut Direction, ack: u64, kinds: &mut Kinds) {
    if ack - data.next > MAX_WINDOW {
        return;
    }
    // If the capture has no packet of that direction, it did not lose any.
    if data.packets() > 0 {
        let missing = ack - data.next;
        data.rare().unseen += missing;
        kinds.add(Kind::AckedUnseen);
    }
    data.next = ack;
    data.first_sample_position = data.first_sample_position.max(ack);
}

#[inline]
fn on_advance(
    data: &mut Direction,
    packet: &Observed,
    ack: u64,
    pool: &mut Pool,
    kinds: &mut Kinds,
) -> Option<Duration> {
    debug_assert!(
        ack <= data.next,
        "SND.UNA moves to {ack}, SND.NXT as far as seen is {}",
        data.next
    );
    let una = core::mem::replace(&mut data.una, ack);
    let is_sample = una >= data.first_sample_position && data.seen.has(Seen::UNA);
    data.seen.set(Seen::UNA, true);
    data.duplicates = 0;
    if let Some(rare) = &mut data.rare {
        rare.repair.on_advance(ack);
        if let Some(stamps) = packet.timestamps {
            let spurious = rare.repair.on_echo(una, ack, stamps.ecr);
            if spurious > 0 {
                rare.spurious_segments += spurious;
                kinds.add(Kind::ShowsSpurious);
            }
        }
    }
    let in_flight = data.in_flight.as_mut()?;
    let sent_at = in_flight.on_acknowledged(ack);
    if !in_flight.gaps.is_empty() {
        let missing = in_flight.gaps.close_below(ack);
        if missing > 0 {
            data.rare().unseen += missing;
            kinds.add(Kind::AckedUnseen);
        }
    }
    if data.in_flight.as_ref().is_some_and(|held| held.is_empty())
        && let Some(empty) = data.in_flight.take()
    {
        pool.give(empty);
    }
    let sample = packet.at.saturating_since(sent_at?);
    // An octet that arrived twice gives no sample.
    if !is_sample {
        return None;
    }
    data.rtt.add(sample);
    Some(sample)
}

/// Handles an acknowledgment that leaves SND.UNA in place. RFC 5681 section 2 defines duplicates by
/// five conditions; one is that the window did not change.
fn on_same(from: &Direction, data: &mut Direction, packet: &Observed, ack: u64, kinds: &mut Kinds) {
    let is_bare = packet.payload_len == 0
        && !packet
            .flags
            .intersects(Flags::SYN | Flags::FIN | Flags::RST);
    let reports_more = on_sack(data, packet, ack, kinds);
    // The window of a SYN is not scaled, so the first window after it may or may not be a change.
    if !is_bare || !from.seen.has(Seen::WINDOW) && !reports_more {
        return;
    }
    let is_same_window = packet.wnd == from.wnd;
    if data.seen.has(Seen::PROBE) && packet.wnd == 0 {
        kinds.add(Kind::ZeroWindowProbeAck);
    } else if data.seen.has(Seen::KEEP_ALIVE) && is_same_window {
        kinds.add(Kind::KeepAliveAck);
    } else if !is_same_window && !reports_more {
        kinds.add(Kind::WindowUpdate);
    } else if (data.next > ack || data.packets() == 0) && !kinds.contains(Kind::DuplicateReport) {
        kinds.add(Kind::DuplicateAck);
        data.duplicates = data.duplicates.saturating_add(1);
    }
}

/// Reads SACK blocks; returns whether they report new data. The first block is a D-SACK if it lies
/// below the acknowledgment or inside the second block (RFC 2883 section 4).
#[inline]
fn on_sack(data: &mut Direction, packet: &Observed, ack: u64, kinds: &mut Kinds) -> bool {
    let blocks = packet.sack.as_slice();
    if blocks.is_empty() {
        return false;
    }
    let place = |block: &gigatcp_wire::SackBlock| {
        let left = data.position(block.left);
        (left, data.position(block.right).max(left))
    };
    let first = place(&blocks[0]);
    let is_inside = blocks
        .get(1)
        .map(place)
        .is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
    let is_duplicate = first.1 <= ack || is_inside;
    let high = blocks
        .iter()
        .map(|block| place(block).1)
        .filter(|right| *right > ack && *right <= data.next)
        .max()
        .unwrap_or(ack);
    let rare = data.rare();
    if is_duplicate {
        kinds.add(Kind::DuplicateReport);
        let spurious = rare.repair.on_duplicate_report(first.0, first.1);
        if spurious > 0 {
            rare.spurious_segments += spurious;
            kinds.add(Kind::ShowsSpurious);
        }
    }
    let is_more = high > rare.repair.high_sacked;
    rare.repair.high_sacked = rare.repair.high_sacked.max(high);
    is_more
}
