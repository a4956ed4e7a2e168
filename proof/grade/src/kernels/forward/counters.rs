//! Counters of the forwarder: packets carried, dropped and delayed, over time.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Length of one slot of a timeline.
pub const SLOT_NS: u64 = 100_000_000;

/// Counters of both directions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PathCounters {
    /// Direction from sender to receiver.
    pub forward: DirectionCounters,
    /// Direction from receiver to sender.
    pub reverse: DirectionCounters,
    /// Lateness of deliveries, median.
    pub late_p50_us: f64,
    /// Lateness of deliveries, 99th percentile.
    pub late_p99_us: f64,
    /// Largest lateness of a delivery.
    pub late_max_us: f64,
    /// Packets that the full packet sockets dropped.
    pub socket_drops: u64,
    /// Sends that the interface refused.
    pub refused: u64,
}

/// Counters of one direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DirectionCounters {
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes that arrived, as Ethernet frames without FCS.
    pub bytes: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// Packets dropped, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Pure ACKs that arrived.
    pub acks: u64,
    /// Pure ACKs that were dropped, ACK filters included.
    pub acks_lost: u64,
    /// Pure ACKs that waited for more than 1 ms.
    pub acks_delayed: u64,
    /// Longest wait of a pure ACK.
    pub ack_wait_max_us: f64,
    /// Mean wait of pure ACKs.
    pub ack_wait_mean_us: f64,
    /// Packets marked CE.
    pub marked: u64,
    /// Packets deliberately delayed.
    pub reordered: u64,
    /// Packets duplicated.
    pub duplicated: u64,
    /// Time that the link was busy.
    pub busy_us: f64,
    /// Monotonic time of the first data packet of a connection with more than 2 kB.
    pub first_data_ns: u64,
    /// Time from the first data packet's arrival to the last one's departure.
    pub span_us: f64,
    /// Maximum queue length in packets.
    pub max_queue_packets: u64,
    /// Maximum queue length in bytes.
    pub max_queue_bytes: u64,
    /// Maximum wait of any packet.
    pub max_wait_us: f64,
    /// Counters per connection.
    pub flows: Vec<FlowCounters>,
    /// Counters per 100 ms since the first data packet.
    pub timeline: Vec<Slot>,
}

impl DirectionCounters {
    /// These slots of the timeline.
    pub(crate) fn slots(&self, range: Range<i64>) -> impl Iterator<Item = &Slot> {
        let slots = (0..).zip(&self.timeline);
        slots.filter_map(move |(index, slot)| range.contains(&index).then_some(slot))
    }
}

/// Counters of one connection in one direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlowCounters {
    /// Source and destination port.
    pub ports: [u16; 2],
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Bytes delivered.
    pub delivered_bytes: u64,
}

/// Counters of one interval of 100 ms.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Slot {
    /// Time that the link was busy.
    pub busy_us: u64,
    /// Bytes served.
    pub bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets dropped because the queue was full.
    pub overflowed: u64,
    /// Maximum queue length.
    pub queue_packets: u64,
    /// Packets marked CE.
    pub marked: u64,
}

/// Histogram of lateness in steps of 10 us.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    max_ns: u64,
}

const STEP_NS: u64 = 10_000;

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: vec![0; 2000],
            max_ns: 0,
        }
    }
}

impl Lateness {
    /// Counts one delivery.
    pub fn add(&mut self, late_ns: u64) {
        let last = self.counts.len() - 1;
        self.counts[((late_ns / STEP_NS) as usize).min(last)] += 1;
        self.max_ns = self.max_ns.max(late_ns);
    }

    /// Lateness that `share` of the deliveries did not exceed.
    pub fn quantile_us(&self, share: f64) -> f64 {
        let all: u64 = self.counts.iter().sum();
        let wanted = all as f64 * share;
        let mut seen = 0;
        for (step, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen as f64 >= wanted {
                return (step + 1) as f64 * STEP_NS as f64 / 1e3;
            }
        }
        self.max_us()
    }

    /// Maximum.
    pub fn max_us(&self) -> f64 {
        self.max_ns as f64 / 1e3
    }
}
