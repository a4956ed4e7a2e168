//! Configuration of a forwarded path, as the forwarder reads it from a file.

use serde::{Deserialize, Serialize};

/// A path: two interfaces and what happens between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathConfig {
    /// Root of all random streams.
    pub seed: u64,
    /// Interfaces: toward the data sender, toward the data receiver.
    pub interfaces: [String; 2],
    /// From sender to receiver.
    pub forward: DirectionConfig,
    /// From receiver to sender.
    pub reverse: DirectionConfig,
    /// Changes during the connection, in order of time.
    pub phases: Vec<Phase>,
}

/// A change of the path, timed from the first data packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phase {
    /// Seconds after the first data packet.
    pub at_s: f64,
    /// New configuration from sender to receiver.
    pub forward: DirectionConfig,
    /// New configuration from receiver to sender.
    pub reverse: DirectionConfig,
}

/// What one direction of a path does; zero and `None` mean "not at all".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectionConfig {
    /// Bits per second of Ethernet frames without FCS; 0 is unlimited.
    pub rate_bps: f64,
    /// Propagation delay.
    pub delay_us: f64,
    /// Maximum number of packets in the queue, the one in service included; 0 is unlimited.
    pub queue_packets: usize,
    /// Maximum bytes in the queue; 0 is unlimited.
    pub queue_bytes: usize,
    /// Probability of random loss.
    pub loss: f64,
    /// Losses of `loss` and `burst` happen behind the queue, not before it.
    pub loss_behind: bool,
    /// Loss in bursts.
    pub burst: Option<Burst>,
    /// Token bucket without a queue.
    pub policer: Option<Bucket>,
    /// Delay of single packets.
    pub reorder: Option<Reorder>,
    /// Probability that a packet is duplicated.
    pub duplicate: f64,
    /// Windows without any delivery: seconds after the first data packet.
    pub outages: Vec<[f64; 2]>,
    /// Queue length in packets from which ECT packets are marked; 0 never marks.
    pub mark_above: usize,
    /// Probability that an ECT packet is marked.
    pub mark: f64,
    /// IP packets above this size are dropped silently; 0 drops none.
    pub mtu: usize,
    /// Start of the MTU's effect, in seconds after the first data packet.
    pub mtu_from_s: f64,
    /// Ordinal numbers (from 0) of first transmissions with data that are dropped.
    pub listed: Vec<u64>,
    /// Loss at the end of each response.
    pub tail: Option<Tail>,
    /// Probability that a pure ACK is lost.
    pub ack_loss: f64,
    /// Only each n-th pure ACK is kept; 0 and 1 keep all.
    pub ack_keep: u64,
    /// A pure ACK that waits is replaced by a later one.
    pub ack_filter: bool,
    /// Traffic of others through the same queue.
    pub cross: Option<Cross>,
}

/// Traffic of others, which leaves the path behind the queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cross {
    /// Bits per second while it sends.
    pub rate_bps: f64,
    /// Bytes of a packet.
    pub bytes: usize,
    /// Seconds of sending, then of pause.
    pub on_off_s: [f64; 2],
}

/// The Gilbert-Elliott model of loss in bursts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Probability per packet of entering the bad state.
    pub enter: f64,
    /// Probability per packet of leaving it.
    pub leave: f64,
    /// Probability of loss in it.
    pub loss: f64,
}

/// A token bucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Bits per second of Ethernet frames.
    pub rate_bps: f64,
    /// Capacity.
    pub bytes: f64,
}

/// Random reordering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reorder {
    /// Probability that a packet is delayed.
    pub probability: f64,
    /// Delay of such a packet.
    pub extra_us: f64,
}

/// Loss of the last packets of each response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Bytes of a response.
    pub response: u64,
    /// Bytes at its end that are lost.
    pub bytes: u64,
    /// Number of packets per response that are dropped there.
    pub packets: u64,
    /// Probability that a response is struck.
    pub probability: f64,
}
