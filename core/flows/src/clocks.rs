//! Offset and relative drift of the clocks of two captures of one connection.
//!
//! A packet that passed both capture points has two timestamps. In one direction their difference
//! is the path's delay plus the clock offset, in the other the offset less the delay. No delay is
//! negative. So packets of one direction bound the offset from above, and packets of the other from
//! below (Paxson, "On Calibrating Measurements of Packet Transit Times", SIGMETRICS 1998). The
//! drift is the one that leaves most room between the bounds. With any other, packets of minimum
//! delay at one end of the connection are not minimal at the other. These are the lines below and
//! above all points of Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew", INFOCOM 1999,
//! both fitted simultaneously.
//!
//! Packets are identified by fields that no path changes: sequence numbers, window, timestamps, the
//! last SACK block. A super-segment is identified by its first byte, so that one capture may
//! contain the pieces of what the other captured whole.
//!
//! Out of scope: clocks that are set during the capture, and paths whose minimum delay changes.
//! Both make the bounds cross, and then there is no result. If the two directions differ in delay,
//! the offset is wrong by half of the difference. Two captures cannot show that; `uncertainty`
//! bounds it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use crate::sequence_ranges::{Bytes, Overlap, SequenceRanges};
use crate::{Observed, Side};

/// Maximum number of packets remembered per connection. Beyond it, packets of every second hash are
/// dropped, the same ones in both captures.
const MAX_SIGHTINGS: usize = 1 << 16;

/// Minimum number of packets per direction that both capture points saw.
const LEAST_MATCHED: usize = 4;

/// Maximum drift of a computer's clock: one thousandth.
const MAX_DRIFT: f64 = 1e-3;

/// Differences below this number of seconds count as zero.
const EXACT: f64 = 1e-9;

/// Fraction of the room within which two drifts count as equally good. The greatest drift during a
/// packet's transit is half of it.
const NEARLY: f64 = 2.0 * MAX_DRIFT;

/// Fraction by which the minimum delay may vary.
const VARIES: f64 = 0.01;

/// Fields that distinguish a packet from all others of its connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Mark {
    is_client: bool,
    seq: u32,
    ack: u32,
    wnd: u16,
    flags: u16,
    has_data: bool,
    ts: (u32, u32),
    sack: u32,
    /// IPv4 identification of a packet without data. With data it changes: pieces of a
    /// super-segment have others.
    ident: u16,
}

impl Mark {
    fn of(from: Side, packet: &Observed) -> Self {
        // Pieces of a super-segment differ in these.
        let flags = packet.flags.without(Flags::PSH).without(Flags::FIN);
        let stamps = packet.timestamps;
        let sack = packet.sack.as_slice().first();
        let has_data = packet.payload_len > 0;
        Self {
            is_client: from == Side::Client,
            seq: packet.seq.as_u32(),
            ack: packet.ack.as_u32(),
            wnd: packet.wnd,
            flags: flags.bits(),
            has_data,
            ts: stamps.map_or((0, 0), |stamps| (stamps.val, stamps.ecr)),
            sack: sack.map_or(0, |block| block.right.as_u32()),
            ident: if has_data { 0 } else { packet.ident },
        }
    }

    /// A hash of all bits. It uses the finalizer of Steele, Lea, Flood, "Fast Splittable
    /// Pseudorandom Number Generators" (OOPSLA 2014).
    fn hash(&self) -> u64 {
        let low = u64::from(self.seq) << 32 | u64::from(self.ack);
        let high = u64::from(self.ts.0) << 32 | u64::from(self.sack);
        let rest =
            u64::from(self.ident) << 32 | u64::from(self.wnd) << 1 | u64::from(self.is_client);
        let mut word = low ^ high.rotate_left(17) ^ rest.rotate_left(40);
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

/// Times at which the packets of a connection passed one capture point.
#[derive(Clone, Default, Debug)]
pub struct PacketTimes {
    /// `None` if a packet passed more than once.
    seen: BTreeMap<Mark, Option<Instant>>,
    /// Number of trailing zero bits in the hashes of remembered packets.
    zeros: u32,
    /// Data by sequence ranges, of client and server.
    data: [SequenceRanges; 2],
    /// Times of the first and the last packet.
    span: Option<(Instant, Instant)>,
}

impl PacketTimes {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a packet from that side.
    pub fn add(&mut self, from: Side, packet: &Observed) {
        let (start, end) = self.span.unwrap_or((packet.at, packet.at));
        self.span = Some((start.min(packet.at), end.max(packet.at)));
        self.data[from as usize].add(packet);
        let mark = Mark::of(from, packet);
        if mark.hash().trailing_zeros() < self.zeros {
            return;
        }
        self.seen
            .entry(mark)
            .and_modify(|at| *at = None)
            .or_insert(Some(packet.at));
        if self.seen.len() > MAX_SIGHTINGS {
            self.zeros += 1;
            let zeros = self.zeros;
            self.seen
                .retain(|mark, _| mark.hash().trailing_zeros() >= zeros);
        }
    }

    /// Fate, on the way to `other`, of packets from `from` that passed here. They are in order of
    /// time here, without those that passed several times. A super-segment is represented by its
    /// first byte.
    pub fn crossings(&self, from: Side, other: &Self) -> Vec<Crossing> {
        let zeros = self.zeros.max(other.zeros);
        let is_kept = |mark: &Mark| mark.hash().trailing_zeros() >= zeros;
        let mut crossings: Vec<Crossing> = self
            .seen
            .iter()
            .filter(|(mark, _)| mark.is_client == (from == Side::Client) && is_kept(mark))
            .filter_map(|(mark, here)| {
                let there = match other.seen.get(mark) {
                    Some(None) => return None,
                    Some(Some(there)) => Some(*there),
                    None => None,
                };
                Some(Crossing {
                    seq: mark.seq,
                    has_data: mark.has_data,
                    here: (*here)?,
                    there,
                })
            })
            .collect();
        self.match_ranges(from, other, &mut crossings);
        crossings.sort_by_key(|crossing| (crossing.here, crossing.seq));
        crossings
    }

    /// Completes the crossings of data that passed `other` in other packets. The time there is that
    /// of the first byte, between this transmission of it and the next. Crossings that cannot be
    /// determined are removed.
    fn match_ranges(&self, from: Side, other: &Self, crossings: &mut Vec<Crossing>) {
        let delays = crossings
            .iter()
            .filter_map(|crossing| Some(signed(crossing.here, crossing.there?)));
        let Some(least) = delays.min() else { return };
        let here = self.data[from as usize].sorted();
        let there = other.data[from as usize].sorted();
        crossings.retain_mut(|crossing| {
            if crossing.there.is_some() || !crossing.has_data {
                return true;
            }
            let (Some(sent), Some(came)) = (here.times(crossing.seq), there.times(crossing.seq))
            else {
                return false;
            };
            let next = sent.into_iter().find(|at| *at > crossing.here);
            crossing.there = came.into_iter().find(|at| {
                signed(crossing.here, *at) >= least
                    && next.is_none_or(|next| signed(next, *at) < least)
            });
            true
        });
    }

    /// Compares the data bytes from that side that passed here and `other` while both captured.
    /// `other` is downstream of this capture point.
    pub fn bytes(&self, from: Side, other: &Self, path: &PathBetween) -> Option<Bytes> {
        let PathBetween { clocks, .. } = path;
        let (start, end) = self.span?;
        let (other_start, other_end) = other.span?;
        let drift = clocks.drift.abs() * signed(start, end).max(0) as f64;
        let room = path.most + Duration::from_nanos(drift as u64) + Duration::from_micros(50);
        let (least, most) = (
            clocks.uncertainty_ns,
            clocks.uncertainty_ns + room.as_nanos(),
        );
        let there =
            |at: Instant, by: u64| shifted(at, i128::from(clocks.offset_ns) + i128::from(by));
        let back =
            |at: Instant, by: u64| shifted(at, -i128::from(clocks.offset_ns) - i128::from(by));
        // A packet that passed both shows that both captured then.
        let [first, last] = path.crossed;
        let overlap = Overlap {
            here: (
                start.max(back(other_start, least)).min(first.0),
                end.min(back(other_end, most)).max(last.0),
            ),
            there: (
                other_start.max(there(start, most)).min(first.1),
                other_end.min(there(end, least)).max(last.1),
            ),
            reordering: room.max(Duration::from_millis(3)),
            segment_size: path.segment_size,
        };
        self.data[from as usize].compare(&other.data[from as usize], &overlap)
    }

    /// Compares the clock of `other` with the clock of these. `None` if too few packets passed
    /// both, or the clocks contradict each other.
    pub fn compare(&self, other: &Self) -> Option<Clocks> {
        let mut ways = [Vec::new(), Vec::new()];
        let mut first = None;
        for (mark, here) in &self.seen {
            let there = other.seen.get(mark).copied().flatten();
            if let (Some(here), Some(there)) = (*here, there) {
                let origin = *first.get_or_insert((here, there));
                ways[usize::from(mark.is_client)].push(Point::new(origin, here, there));
            }
        }
        let origin = first?;
        let [server, client] = ways;
        let matched = client.len() + server.len();
        if client.len().min(server.len()) < LEAST_MATCHED {
            return None;
        }
        // The capture point nearer to the client sees its packets first: try both.
        let near = Bounds::new(&client, &server);
        let far = Bounds::new(&server, &client);
        let is_near = near.width(near.roomiest()) >= far.width(far.roomiest());
        let bounds = if is_near { near } else { far };
        let roomiest = bounds.roomiest();
        let room = bounds.width(roomiest);
        if room < 0.0 {
            return None;
        }
        debug_assert!(
            room.is_finite() && (-MAX_DRIFT..=MAX_DRIFT).contains(&roomiest),
            "a drift of {roomiest} leaves {room} s"
        );
        let drift = bounds.likeliest(bounds.with_room(roomiest, room * (1.0 - NEARLY) - EXACT));
        let (low, high) = bounds.with_room(roomiest, room * (1.0 - VARIES) - EXACT);
        let (below, above) = bounds.at(drift);
        debug_assert!(
            low <= roomiest && roomiest <= high,
            "the drift that leaves most room is {roomiest}, not from {low} to {high}"
        );
        // Offsets are relative to the time of the first packet here.
        let early = client.iter().chain(&server).map(|point| point.x);
        let start = early.fold(f64::INFINITY, f64::min);
        let middle = (below + above) / 2.0 + drift * start;
        let base = signed(origin.0, origin.1);
        Some(Clocks {
            offset_ns: base.saturating_add(libm::round(middle * 1e9) as i64),
            uncertainty_ns: libm::round((above - below) / 2.0 * 1e9) as u64,
            drift,
            drift_uncertainty: (drift - low).max(high - drift),
            is_nearer_to_client: is_near,
            matched: matched as u64,
        })
    }
}

/// A packet that passed one capture point, and when it passed the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// SEG.SEQ.
    pub seq: u32,
    /// Whether it carries data.
    pub has_data: bool,
    /// Time when it passed here, by the clock of this capture point.
    pub here: Instant,
    /// Time when it passed there, by that capture point's clock; `None` if never.
    pub there: Option<Instant>,
}

/// Path between two capture points, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct PathBetween {
    /// Relation of the clocks, of [`PacketTimes::compare`].
    pub clocks: Clocks,
    /// Maximum delay above the minimum.
    pub most: Duration,
    /// Payload bytes of a full wire segment: the unit of losses, whatever super-segments they
    /// passed in.
    pub segment_size: u64,
    /// Times here and there of the first and the last data packet that passed both.
    pub crossed: [(Instant, Instant); 2],
}

/// Relation of two clocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clocks {
    /// Offset of the other clock from this one, in nanoseconds. It applies when the first packet
    /// passed here.
    pub offset_ns: i64,
    /// Uncertainty of the offset either way: half of the minimum RTT between both.
    pub uncertainty_ns: u64,
    /// Seconds that the other clock gains each second of this one.
    pub drift: f64,
    /// Uncertainty of the drift either way, if the minimum delay varied by a hundredth. It is large
    /// for a short connection, and for one whose queue only grew.
    pub drift_uncertainty: f64,
    /// Whether this capture point is nearer to the client than the other.
    pub is_nearer_to_client: bool,
    /// Packets that passed both capture points, of those remembered.
    pub matched: u64,
}

/// A packet that passed both capture points. `x` is the seconds since the first one here. `y` is
/// how much later it was there, less the same difference of the first one.
#[derive(Clone, Copy, Debug)]
struct Point {
    x: f64,
    y: f64,
}

impl Point {
    fn new(origin: (Instant, Instant), here: Instant, there: Instant) -> Self {
        let x = signed(origin.0, here);
        let y = signed(here, there).saturating_sub(signed(origin.0, origin.1));
        Self {
            x: x as f64 / 1e9,
            y: y as f64 / 1e9,
        }
    }
}

fn shifted(at: Instant, by: i128) -> Instant {
    let ns = (i128::from(at.as_nanos()) + by).clamp(0, i128::from(u64::MAX));
    Instant::from_nanos(ns as u64)
}

/// Time from `a` to `b` in nanoseconds.
const fn signed(a: Instant, b: Instant) -> i64 {
    b.as_nanos().wrapping_sub(a.as_nanos()).cast_signed()
}

/// Two sets of points, upper and lower bounds of the offset, and their corners.
struct Bounds<'a> {
    over: Vec<Point>,
    under: Vec<Point>,
    all_over: &'a [Point],
    all_under: &'a [Point],
}

impl<'a> Bounds<'a> {
    fn new(over: &'a [Point], under: &'a [Point]) -> Self {
        Self {
            over: corners(over, 1.0),
            under: corners(under, -1.0),
            all_over: over,
            all_under: under,
        }
    }

    /// Highest lower bound and the lowest upper bound for this drift. Both apply to the offset at x
    /// = 0.
    fn at(&self, drift: f64) -> (f64, f64) {
        let rest = |point: &Point| point.y - drift * point.x;
        let below = self
            .under
            .iter()
            .map(rest)
            .fold(f64::NEG_INFINITY, f64::max);
        let above = self.over.iter().map(rest).fold(f64::INFINITY, f64::min);
        (below, above)
    }

    fn width(&self, drift: f64) -> f64 {
        let (below, above) = self.at(drift);
        above - below
    }

    /// Drift that leaves most room. The room is a concave function of the drift, so each step can
    /// discard a third of the interval.
    fn roomiest(&self) -> f64 {
        debug_assert!(
            !self.over.is_empty() && !self.under.is_empty(),
            "bounds of {} and {} corners",
            self.over.len(),
            self.under.len()
        );
        let (mut low, mut high) = (-MAX_DRIFT, MAX_DRIFT);
        for _ in 0..120 {
            let third = (high - low) / 3.0;
            let (left, right) = (low + third, high - third);
            if self.width(left) < self.width(right) {
                low = left;
            } else {
                high = right;
            }
        }
        f64::midpoint(low, high)
    }

    /// Smallest and the greatest drift that leave this much room.
    fn with_room(&self, roomiest: f64, room: f64) -> (f64, f64) {
        let end = |mut outside: f64| {
            let mut inside = roomiest;
            for _ in 0..60 {
                let middle = f64::midpoint(inside, outside);
                if self.width(middle) >= room {
                    inside = middle;
                } else {
                    outside = middle;
                }
            }
            inside
        };
        (end(-MAX_DRIFT), end(MAX_DRIFT))
    }

    /// Drift that brings most packets near their direction's minimum delay. Several drifts may
    /// leave nearly the same room: a queue that only grows contradicts none of them. The search
    /// takes ever finer steps.
    fn likeliest(&self, (low, high): (f64, f64)) -> f64 {
        const STEPS: u8 = 16;
        let (mut from, mut to) = (low, high);
        let mut best = (f64::INFINITY, f64::midpoint(low, high));
        for _ in 0..6 {
            let step = (to - from) / f64::from(STEPS);
            for index in 0..=STEPS {
                let drift = from + step * f64::from(index);
                let strain = self.strain(drift);
                if strain < best.0 {
                    best = (strain, drift);
                }
            }
            (from, to) = ((best.1 - step).max(low), (best.1 + step).min(high));
        }
        best.1
    }

    /// Mean distance of packets from the minimum delay of their direction. Each counts for at most
    /// a tenth of the room.
    fn strain(&self, drift: f64) -> f64 {
        let (below, above) = self.at(drift);
        let cap = ((above - below) / 10.0).max(EXACT);
        let mean = |points: &[Point], bound: f64, sign: f64| {
            let rest = points
                .iter()
                .map(|point| ((point.y - drift * point.x - bound) * sign).min(cap));
            rest.sum::<f64>() / points.len() as f64
        };
        mean(self.all_over, above, 1.0) + mean(self.all_under, below, -1.0)
    }
}

/// Lower corners of the points, or the upper ones if `sign` is negative. Andrew's monotone chain,
/// 1979.
fn corners(points: &[Point], sign: f64) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| {
        a.x.total_cmp(&b.x)
            .then((a.y * sign).total_cmp(&(b.y * sign)))
    });
    let mut hull: Vec<Point> = Vec::new();
    for point in sorted {
        while let [.., a, b] = hull[..] {
            let turn = (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x);
            if turn * sign > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn corners_bound_as_all_points_do(
            points in prop::collection::vec((0_i32..1000, -1000_i32..1000), 1..60),
            slope in -3.0..3.0_f64,
        ) {
            let points: Vec<Point> = points
                .iter()
                .map(|(x, y)| Point { x: f64::from(*x), y: f64::from(*y) })
                .collect();
            let least = |points: &[Point]| {
                let rest = points.iter().map(|point| point.y - slope * point.x);
                rest.fold(f64::INFINITY, f64::min)
            };
            prop_assert!((least(&corners(&points, 1.0)) - least(&points)).abs() < 1e-6);
        }
    }
}
