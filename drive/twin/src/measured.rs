//! Measures one transfer from its packets near the sender, captured or simulated.
//!
//! Original and refitted run use the same [`Meter`], so an error of the measurement is in both.
//! Times are seconds since the first packet.

use std::collections::BTreeMap;

use gigatcp_flows::{Connection, Kind, Observed, Packet, Side, Verdict};
use gigatcp_units::Instant;
use gigatcp_wire::Flags;

use crate::trains::{Advance, TrainRates};

/// Points of the delivery curve.
pub const CURVE: usize = 20;

/// A lost segment: retransmitted, and not proven spurious.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Loss {
    /// Number of data segments sent before its last transmission.
    pub number: u64,
    /// Time of its retransmission, in seconds.
    pub at: f64,
    /// The last RTT sample before that, in seconds; zero if there was none.
    pub rtt: f64,
    /// Bytes in flight just before the retransmission.
    pub flight: u64,
}

/// Minimum, quartiles and 95th percentile of the RTT, in seconds.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct RttQuantiles {
    /// Minimum.
    pub min: f64,
    /// First quartile.
    pub p25: f64,
    /// Median.
    pub p50: f64,
    /// Third quartile.
    pub p75: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// Pieces written by an application, delimited by segments shorter than full ones.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Pieces {
    /// Number of pieces.
    pub count: u64,
    /// Median bytes of a piece.
    pub bytes: f64,
    /// Median time from the end of one to the end of the next, in seconds.
    pub every: f64,
}

/// Measures of one transfer.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Measured {
    /// Bytes acknowledged.
    pub bytes: u64,
    /// Time from the first packet to the acknowledgment of the last byte, in seconds.
    pub elapsed: f64,
    /// Time of the first data segment.
    pub began: f64,
    /// Data segments, retransmissions included.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Retransmissions after a timeout.
    pub timeouts: u64,
    /// Retransmissions that were proven spurious.
    pub spurious: u64,
    /// Echoes of congestion marks.
    pub echoes: u64,
    /// RTT samples.
    pub rtt: RttQuantiles,
    /// Time at which each twentieth of the bytes was acknowledged.
    pub curve: [f64; CURVE],
    /// Median of the bytes in flight, over ACKs.
    pub flight_p50: f64,
    /// 95th percentile of the bytes in flight, over ACKs.
    pub flight_p95: f64,
    /// Advertised window of the first segment after data began: a SYN's is not scaled.
    pub window_first: u64,
    /// Maximum advertised window.
    pub window_max: u64,
    /// Minimum advertised window after data began.
    pub window_min: u64,
    /// Share of ACKs after which the advertised window was full, to two segments.
    pub window_full: f64,
    /// Bytes sent before the first ACK of data.
    pub first_flight: u64,
    /// Time over which the first flight was sent.
    pub first_flight_time: f64,
    /// Median of the bytes that an ACK acknowledges.
    pub bytes_per_ack: f64,
    /// Payload of a full segment.
    pub full_segment: u64,
    /// Losses in the order of their retransmissions.
    pub losses: Vec<Loss>,
    /// Pieces of the application.
    pub pieces: Pieces,
    /// Maximum delivery rate over a tenth of the transfer, in bytes per second.
    pub best_rate: f64,
    /// Bottleneck rates, from trains that it stretched.
    pub trains: TrainRates,
}

impl Measured {
    /// Returns the goodput in bits per second: bytes acknowledged per time since the first packet.
    #[must_use]
    pub fn goodput_bps(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.elapsed.max(1e-9)
    }
}

/// Measures the packets of one connection.
#[derive(Debug)]
pub struct Meter {
    side: Side,
    began_at: Option<Instant>,
    /// End of the data sent, and of the data acknowledged, as stream positions.
    next: u64,
    acked: u64,
    origin: Option<u64>,
    first_acked: bool,
    wnd: u64,
    acks: u64,
    full_acks: u64,
    rtts: Vec<f64>,
    flights: Vec<u64>,
    per_ack: Vec<f64>,
    /// Each ACK that advanced.
    advances: Vec<Advance>,
    /// Send time of each unacknowledged segment, by position; without retransmissions.
    sent: BTreeMap<u64, Option<f64>>,
    /// Number of the last transmission, by position.
    numbers: BTreeMap<u64, u64>,
    /// Time and position of each segment shorter than a full one.
    ends: Vec<(f64, u64)>,
    sizes: BTreeMap<u32, u64>,
    measured: Measured,
}

impl Meter {
    /// Creates a meter of the data that `side` sends.
    #[must_use]
    pub fn new(side: Side) -> Self {
        Self {
            side,
            began_at: None,
            next: 0,
            acked: 0,
            origin: None,
            first_acked: false,
            wnd: 0,
            acks: 0,
            full_acks: 0,
            rtts: Vec::new(),
            flights: Vec::new(),
            per_ack: Vec::new(),
            advances: Vec::new(),
            sent: BTreeMap::new(),
            numbers: BTreeMap::new(),
            ends: Vec::new(),
            sizes: BTreeMap::new(),
            measured: Measured::default(),
        }
    }

    /// Handles a packet, its verdict, and the connection after it.
    pub fn handle_packet(&mut self, packet: &Observed, verdict: &Verdict, connection: &Connection) {
        let began = *self.began_at.get_or_insert(packet.at);
        let at = packet.at.saturating_since(began).as_secs_f64();
        if let Some(rtt) = verdict.round_trip()
            && verdict.from != self.side
            && self.origin.is_some()
        {
            self.rtts.push(rtt.as_secs_f64());
        }
        if verdict.from == self.side {
            if packet.payload_len > 0 {
                self.handle_data(at, packet, verdict, connection);
            }
        } else {
            self.handle_ack(at, packet, verdict, connection);
        }
    }

    fn handle_data(
        &mut self,
        at: f64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) {
        let position = connection.position(self.side, packet.seq);
        let length = u64::from(packet.payload_len);
        let size = connection.segment_size(self.side, &packet.summary());
        let size = u64::from(size.max(1));
        let count = length.div_ceil(size);
        if self.origin.is_none() {
            self.origin = Some(position);
            (self.next, self.acked) = (position, position);
            self.measured.began = at;
            self.measured.window_min = u64::MAX;
        }
        if verdict.kinds.is_retransmission() {
            self.handle_retransmission(at, (position, count, size), verdict);
        }
        self.measured.segments += count;
        if position + length <= self.next {
            return;
        }
        for index in 0..count {
            let number = self.measured.segments - count + index;
            self.numbers.insert(position + index * size, number);
            self.sent.insert(position + index * size, Some(at));
        }
        *self.sizes.entry(size as u32).or_default() += length / size;
        if !length.is_multiple_of(size) || length < size {
            self.ends.push((at, position + length));
        }
        self.next = position + length;
        if !self.first_acked {
            self.measured.first_flight += length;
            self.measured.first_flight_time = at - self.measured.began;
        }
    }

    fn handle_retransmission(
        &mut self,
        at: f64,
        (position, count, size): (u64, u64, u64),
        verdict: &Verdict,
    ) {
        self.measured.retransmitted += count;
        for (_, sent) in self.sent.range_mut(position..position + count * size) {
            *sent = None;
        }
        let kinds = verdict.kinds;
        if kinds.contains(Kind::TimeoutRetransmission) {
            self.measured.timeouts += 1;
        }
        if kinds.contains(Kind::SpuriousRetransmission) || kinds.contains(Kind::TailProbe) {
            return;
        }
        let before = self.numbers.range(..=position).next_back();
        let number = before.map_or(self.measured.segments, |(_, number)| *number);
        for index in 0..count {
            // If the retransmission is lost too, its number counts.
            let number = match self.numbers.get_mut(&(position + index * size)) {
                Some(last) => std::mem::replace(last, self.measured.segments + index),
                None => number + index,
            };
            self.measured.losses.push(Loss {
                number,
                at,
                rtt: self.rtts.last().copied().unwrap_or(0.0),
                flight: self.next.saturating_sub(self.acked),
            });
        }
    }

    fn handle_ack(
        &mut self,
        at: f64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) {
        if packet.flags.contains(Flags::RST) {
            return;
        }
        let other = self.side.other();
        self.wnd = u64::from(connection.window_of(other, packet));
        self.measured.window_max = self.measured.window_max.max(self.wnd);
        if verdict.kinds.contains(Kind::ShowsSpurious) {
            self.measured.spurious += 1;
        }
        if verdict.kinds.contains(Kind::EcnEcho) {
            self.measured.echoes += 1;
        }
        if self.origin.is_none() || !packet.flags.contains(Flags::ACK) {
            return;
        }
        self.measured.window_min = self.measured.window_min.min(self.wnd);
        if self.measured.window_first == 0 {
            self.measured.window_first = self.wnd;
        }
        // An ACK of the FIN acknowledges one more than the data.
        let position = connection.position(self.side, packet.ack).min(self.next);
        if position <= self.acked {
            return;
        }
        let flight = self.next - self.acked;
        self.flights.push(flight);
        self.acks += 1;
        let full = self.sizes.keys().next_back().copied().unwrap_or(1448);
        self.full_acks += u64::from(flight + 2 * u64::from(full) > self.wnd);
        self.per_ack.push((position - self.acked) as f64);
        self.first_acked = true;
        self.acked = position;
        let later = self.sent.split_off(&position);
        let covered = std::mem::replace(&mut self.sent, later);
        let is_whole = covered.values().all(Option::is_some);
        let last = covered.values().next_back().copied().flatten();
        self.advances.push(Advance {
            at,
            position,
            sent: last.filter(|_| is_whole),
        });
        self.numbers = self.numbers.split_off(&position);
    }

    /// Returns the measures after the last packet; `None` if no data was acknowledged.
    #[must_use]
    pub fn finish(mut self) -> Option<Measured> {
        let origin = self.origin?;
        let &Advance {
            at: last,
            position: end,
            ..
        } = self.advances.last()?;
        let mut measured = self.measured;
        measured.bytes = end - origin;
        measured.elapsed = last;
        measured.curve = curve(&self.advances, origin, end);
        measured.best_rate = best_rate(&self.advances, origin, last - measured.began);
        self.rtts.sort_by(f64::total_cmp);
        let of = |share: f64| quantile(&self.rtts, share);
        measured.rtt = RttQuantiles {
            min: of(0.0),
            p25: of(0.25),
            p50: of(0.5),
            p75: of(0.75),
            p95: of(0.95),
        };
        let mut flights: Vec<f64> = self.flights.iter().map(|&flight| flight as f64).collect();
        flights.sort_by(f64::total_cmp);
        measured.flight_p50 = quantile(&flights, 0.5);
        measured.flight_p95 = quantile(&flights, 0.95);
        self.per_ack.sort_by(f64::total_cmp);
        measured.bytes_per_ack = quantile(&self.per_ack, 0.5);
        measured.window_full = self.full_acks as f64 / self.acks.max(1) as f64;
        let most = self.sizes.iter().max_by_key(|(_, count)| **count);
        measured.full_segment = most.map_or(0, |(size, _)| u64::from(*size));
        measured.pieces = pieces(&self.ends, origin);
        let segment = measured.full_segment as f64;
        measured.trains = TrainRates::of(&self.advances, segment, measured.rtt.min);
        Some(measured)
    }
}

/// Returns the sample that `share` of the sorted samples is below, or zero.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let place = (share * last as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(0.0)
}

fn curve(advances: &[Advance], origin: u64, end: u64) -> [f64; CURVE] {
    std::array::from_fn(|index| {
        let wanted = origin + (end - origin) * (index as u64 + 1) / CURVE as u64;
        let place = advances.partition_point(|one| one.position < wanted);
        advances.get(place).map_or(0.0, |one| one.at)
    })
}

fn best_rate(advances: &[Advance], origin: u64, time: f64) -> f64 {
    let span = time / 10.0;
    let mut from = 0;
    let mut best = 0.0_f64;
    for Advance { at, position, .. } in advances {
        while at - advances[from].at > span {
            from += 1;
        }
        let begin = advances[from].at;
        let before = advances[from].position;
        if at - begin > span / 2.0 {
            best = best.max((position - before.max(origin)) as f64 / (at - begin));
        }
    }
    best
}

fn pieces(ends: &[(f64, u64)], origin: u64) -> Pieces {
    let mut bytes: Vec<f64> = Vec::new();
    let mut every: Vec<f64> = Vec::new();
    let mut before = origin;
    for (index, (at, position)) in ends.iter().enumerate() {
        bytes.push((position - before) as f64);
        before = *position;
        if index > 0 {
            every.push(at - ends[index - 1].0);
        }
    }
    bytes.sort_by(f64::total_cmp);
    every.sort_by(f64::total_cmp);
    Pieces {
        count: ends.len() as u64,
        bytes: quantile(&bytes, 0.5),
        every: quantile(&every, 0.5),
    }
}
