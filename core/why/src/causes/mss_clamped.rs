//! Segments smaller than both hosts advertised (RFC 6691, RFC 1191 section 7).

use super::prelude::*;
use crate::segment_size::{SegmentSize, SizeCause};

pub(crate) const CAUSE: Cause = Cause {
    id: "mss-clamped",
    name: "a small MSS",
    meaning: "Full segments are smaller than what both hosts offered, or both offer less than any \
              host takes: a path MTU from a cache or a route, a small MTU of the interfaces, or a \
              device that rewrites the MSS. Each segment costs the hosts the same, so \
              fewer bytes pass, and a loss costs more.",
    confidence: "Very high by the MSS options; high by flights of such segments. Messages of one \
                 size are no evidence.",
    capture_points: "sender, receiver, mid-path",
    fix: "Look at the route's MTU on the sender (Linux: ip route get): a learned value is removed \
          with ip route flush cache. Find the device where the SYNs differ at both ends.",
    references: &[
        "RFC 1191 section 7.1, table 7-1",
        "RFC 6691",
        "Shalunov 2001, small payloads (E27, E28)",
    ],
    is_fault: true,
    states: NEVER,
    note: Some(note),
    ..Cause::explained_by(explain)
};

/// Evidence that full segments are small.
#[derive(Clone, Copy)]
enum SmallSegments {
    /// One SYN advertises a small MSS, the other a much larger one, or both a smaller one than the
    /// default. Segments have the size that the smaller one allows.
    Offered { least: u64, most: u64, size: u64 },
    /// Full segments follow each other in flights of several, below the effective send MSS.
    Flights(SegmentSize),
}

fn shown(m: &Measures<'_>) -> Option<SmallSegments> {
    let size = m.segment_size();
    let flights = matches!(size.cause, SizeCause::Plateau | SizeCause::PathMtu)
        && size.packet >= 576
        && in_flights(m, &size) >= MIN_FULL;
    if flights {
        return Some(SmallSegments::Flights(size));
    }
    let (own, other) = (m.data().options()?, m.receiver().options()?);
    let (least, most) = (own.mss?.min(other.mss?), own.mss?.max(other.mss?));
    let (least, most) = (u64::from(least), u64::from(most));
    let has_stamps = own.timestamps && other.timestamps;
    let size = least.saturating_sub(if has_stamps { 12 } else { 0 });
    let is_small = least < MAX_SMALL && least * 2 <= most || most < DEFAULT_MSS;
    (is_small && is_multiple(m, size)).then_some(SmallSegments::Offered { least, most, size })
}

/// Whether the usual segment is a message of the application: at most three quarters of what both
/// SYNs allow, in a packet smaller than any path of IPv6 carries (RFC 8200 section 5) and no
/// plateau, and not released by ACKs one after the other, as full segments are.
pub(crate) fn are_messages(m: &Measures<'_>) -> bool {
    /// Minimum MTU of IPv6.
    const LEAST_MTU: u64 = 1280;
    let size = m.segment_size();
    let is_small = size
        .allowed
        .is_some_and(|allowed| size.octets * 4 <= allowed * 3);
    let is_below = is_small && size.packet < LEAST_MTU && size.cause == SizeCause::PathMtu;
    is_below && in_flights(m, &size) < MIN_FULL
}

/// Whether the rounds sent multiples of that size, as with segments of that size. By chance one
/// round in `size` does. Super-segments do not hide it.
fn is_multiple(m: &Measures<'_>, size: u64) -> bool {
    const MIN_ROUNDS: usize = 4;
    let sent = || m.rounds.iter().map(|round| round.sent);
    let full = sent().filter(|sent| *sent >= size && size > 64 && sent % size == 0);
    let (full, all) = (full.count(), sent().filter(|sent| *sent > 0).count());
    full >= MIN_ROUNDS && full * 5 >= all * 4
}

/// Minimum number of full segments for the finding.
const MIN_FULL: u64 = 20;

/// An MSS below this is less than any path carries with IPv6. RFC 8200 section 5.
const MAX_SMALL: u64 = 1220;

/// What every host takes of a segment without the option, over IPv4. RFC 9293 section 3.7.1.
const DEFAULT_MSS: u64 = 536;

/// The MTU of Ethernet (RFC 894), which is no plateau of RFC 1191.
const ETHERNET: u64 = 1500;

/// Number of segments of that size in rounds with several in flight. ACKs released them, or they
/// stood in a queue of the path. Data was waiting, so the sender did not make them small for lack
/// of data.
///
/// A packet of a plateau or of an Ethernet may follow larger ones (a path MTU that was learned
/// later); any other size must be the largest that was sent.
fn in_flights(m: &Measures<'_>, size: &SegmentSize) -> u64 {
    let octets = size.octets;
    let may_follow = size.packet == ETHERNET || size.cause == SizeCause::Plateau;
    let is_full = |round: &Round| {
        if may_follow {
            round.sent * 20 >= round.segments * octets * 19
        } else {
            round.small * 8 <= round.segments
        }
    };
    // A sender that paces is released by its own timer.
    let is_released = |index: usize, round: &Round| {
        let queue = m.standing_queue(index).unwrap_or_default();
        round.clocked * 2 >= round.sent || queue > m.queue_step
    };
    let is_waiting = |(index, round): &(usize, &Round)| {
        round.flight >= 4 * octets
            && is_full(round)
            && is_released(*index, round)
            && round.dry * 4 <= round.length()
    };
    let rounds = m.rounds.iter().enumerate().filter(is_waiting);
    rounds.map(|(_, round)| round.sent).sum::<u64>() / octets
}

fn note(m: &Measures<'_>) -> Option<f64> {
    Some(match shown(m)? {
        SmallSegments::Offered { .. } => 0.95,
        SmallSegments::Flights(size) if size.cause == SizeCause::Plateau => 0.9,
        SmallSegments::Flights(_) => 0.85,
    })
}

fn explain(m: &Measures<'_>, _: &Attributed) -> Explanation {
    match shown(m) {
        Some(SmallSegments::Offered { least, most, size }) => offered(m, (least, most), size),
        _ => in_use(m),
    }
}

/// Explains the finding by the MSS options.
fn offered(m: &Measures<'_>, (least, most): (u64, u64), size: u64) -> Explanation {
    if most < DEFAULT_MSS {
        return both_small(most, size);
    }
    let own = m.data().options().and_then(|options| options.mss);
    let who = if own.is_some_and(|own| u64::from(own) == least) {
        "sender"
    } else {
        "receiver"
    };
    let times = most as f64 / least as f64;
    let text = format!("{times:.1} times as many segments as an MSS of {most} needs");
    Explanation {
        subject: format!("a small MSS ({least} bytes)"),
        finding: format!(
            "The SYN of the {who} offers an MSS of {least} bytes, that of the other side {most}: full \
             segments have {size} bytes.",
        ),
        evidence: vec![Evidence::figure(text)],
        fix: format!(
            "raise the MTU of the {who}'s interface or route (Linux: ip link, ip route get; FreeBSD, \
             macOS: ifconfig, route -n get; Windows: netsh interface ipv4 show subinterfaces), set no \
             TCP_MAXSEG there, or find the device that clamps the MSS"
        ),
    }
}

/// Explains the finding where neither SYN offers what every host takes.
fn both_small(most: u64, size: u64) -> Explanation {
    let times = (ETHERNET - 40) as f64 / most as f64;
    let text =
        format!("{times:.1} times as many segments as over an Ethernet, each with its headers");
    Explanation {
        subject: format!("a small MSS ({most} bytes)"),
        finding: format!(
            "Neither SYN offers an MSS above {most} bytes, and every host takes {DEFAULT_MSS}: \
             full segments have {size} bytes.",
        ),
        evidence: vec![Evidence::figure(text)],
        fix: "raise the MTU of both hosts' interfaces (Linux: ip link; FreeBSD, macOS: ifconfig; \
              Windows: netsh interface ipv4 show subinterfaces), or find the device that clamps the \
              MSS of both"
            .into(),
    }
}

/// Explains the finding by the segments in use.
fn in_use(m: &Measures<'_>) -> Explanation {
    let SegmentSize {
        octets,
        allowed,
        packet,
        cause,
        ..
    } = m.segment_size();
    let both_allow = allowed.unwrap_or_default();
    let times = both_allow as f64 / octets as f64;
    let text = format!("{times:.1} times as many segments as the offered MSS needs");
    let mut evidence = vec![Evidence::figure(text)];
    if cause == SizeCause::Plateau {
        evidence.push(Evidence::figure(format!(
            "{packet} is a plateau of RFC 1191: a guessed or cached path MTU"
        )));
    }
    Explanation {
        subject: format!("a small MSS ({octets} bytes)"),
        finding: format!(
            "Full segments have {octets} bytes although both SYNs allow {both_allow}: the sender \
             takes {packet} for the path MTU."
        ),
        evidence,
        fix: format!(
            "remove a cached MTU of {packet} (Linux: ip route get DESTINATION, ip route flush cache; \
             FreeBSD: net.inet.tcp.hostcache.list and hostcache.purge; macOS: route -n get; Windows: \
             netsh interface ipv4 show destinationcache); otherwise find the device that clamps the \
             MSS"
        ),
    }
}
