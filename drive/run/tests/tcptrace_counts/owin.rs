//! tcptrace's bytes in flight, by its own rule. Its figures are not a fact of the connection
//! (`docs/notes/tcptrace.md`); that they follow from this rule is shown by computing it.
//!
//! Each packet of a direction is a sample, also without data: its end less the last ACK of the
//! other side, plus one. SYNs, resets, retransmissions and packets out of order are left out. The
//! weight of a sample is the time to the next one of its direction.

use gigatcp_flows::{Kind, Observed, Side, Verdict};
use gigatcp_units::Instant;
use gigatcp_wire::Flags;

/// A larger value is a difference across a wrap of sequence numbers.
const GARBAGE: i64 = 1 << 31;

/// Samples of both directions of a connection.
#[derive(Clone, Default)]
pub struct Sampler {
    /// Last acknowledgment of each side.
    acks: [Option<u32>; 2],
    sides: [Samples; 2],
}

/// Samples of one direction.
#[derive(Clone, Default)]
pub struct Samples {
    least: Option<i64>,
    sum: i64,
    count: i64,
    weighed: i64,
    last: Option<(Instant, i64)>,
    is_garbage: bool,
}

impl Sampler {
    pub fn on_packet(&mut self, verdict: &Verdict, packet: &Observed) {
        let (from, to) = (verdict.from as usize, verdict.from.other() as usize);
        if packet.flags.contains(Flags::SYN) {
            self.acks[to] = Some(packet.seq.as_u32());
        }
        if packet.flags.contains(Flags::RST) {
            return;
        }
        if packet.flags.contains(Flags::ACK) {
            self.acks[from] = Some(packet.ack.as_u32());
        }
        let kinds = verdict.kinds;
        let is_none = packet.flags.contains(Flags::SYN)
            || kinds.is_retransmission()
            || kinds.contains(Kind::OutOfOrder)
            || kinds.contains(Kind::CapturedTwice) && packet.seq_len() > 0;
        if is_none {
            return;
        }
        let len = i64::from(packet.payload_len);
        let end = i64::from(packet.seq.as_u32()) + len;
        // Zero means none.
        let octets = match self.acks[to].filter(|ack| *ack != 0) {
            Some(ack) => end - (i64::from(ack) - 1),
            None => len,
        };
        self.sides[from].add(packet.at, octets);
    }

    pub const fn of(&self, side: Side) -> &Samples {
        &self.sides[side as usize]
    }
}

impl Samples {
    fn add(&mut self, at: Instant, octets: i64) {
        self.is_garbage |= !(0..GARBAGE).contains(&octets);
        if octets > 0 {
            self.least = Some(self.least.map_or(octets, |least| least.min(octets)));
        }
        self.sum += octets;
        self.count += 1;
        if let Some((before, octets)) = self.last {
            let time = at.as_nanos() as i64 - before.as_nanos() as i64;
            // Whole bytes and seconds of each sample are kept.
            self.weighed += (octets as f64 * (time as f64 / 1e9)) as i64;
        }
        self.last = Some((at, octets));
    }

    /// Value of a column; `None` if no difference makes sense.
    pub fn count(&self, column: &str, elapsed: f64) -> Option<f64> {
        if self.is_garbage {
            return None;
        }
        Some(match column {
            "min_non-zero_owin" => self.least.unwrap_or(0) as f64,
            "avg_owin" => self.sum.checked_div(self.count).unwrap_or(0) as f64,
            "wavg_owin" => (self.weighed as f64 / elapsed).trunc(),
            _ => return None,
        })
    }
}
