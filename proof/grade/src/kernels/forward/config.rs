//! Configuration of a forwarded path, as the forwarder reads it from a file.

use serde::{Deserialize, Serialize};

/// A path: two interfaces and the behavior between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathConfig {
    /// Seed of all random streams.
    pub seed: u64,
    /// Interfaces: towards the data sender, towards the data receiver.
    pub interfaces: [String; 2],
    /// Direction from sender to receiver.
    pub forward: DirectionConfig,
    /// Direction from receiver to sender.
    pub reverse: DirectionConfig,
    /// Changes during the connection, in time order.
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

/// Behavior of one direction of a path; zero and `None` mean "not at all".
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
    /// Whether losses of `loss` and `burst` occur behind the queue, not before it.
    pub loss_behind: bool,
    /// Loss in bursts.
    pub burst: Option<Burst>,
    /// Token bucket without a queue.
    pub policer: Option<Bucket>,
    /// Delay of single packets.
    pub reorder: Option<Reorder>,
    /// Probability that a packet is duplicated.
    pub duplicate: f64,
    /// Intervals without any delivery, in seconds after the first data packet.
    pub outages: Vec<[f64; 2]>,
    /// Queue length in packets from which ECT packets are marked; 0 never marks.
    pub mark_above: usize,
    /// Probability that an ECT packet is marked.
    pub mark: f64,
    /// IP packets above this size are dropped silently; 0 drops none.
    pub mtu: usize,
    /// Start of the MTU's effect, in seconds after the first data packet.
    pub mtu_from_s: f64,
    /// Indices (from 0) of first transmissions with data that are dropped.
    pub listed: Vec<u64>,
    /// Loss at the end of each response.
    pub tail: Option<Tail>,
    /// Probability that a pure ACK is lost.
    pub ack_loss: f64,
    /// Only each n-th pure ACK is kept; 0 and 1 keep all.
    pub ack_keep: u64,
    /// Whether a later pure ACK replaces a waiting one.
    pub ack_filter: bool,
    /// Cross traffic through the same queue.
    pub cross: Option<Cross>,
}

/// Cross traffic, which leaves the path behind the queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cross {
    /// Bits per second while it sends.
    pub rate_bps: f64,
    /// Bytes of a packet.
    pub bytes: usize,
    /// Seconds of sending, then of pause.
    pub on_off_s: [f64; 2],
}

/// Gilbert-Elliott model of bursts of consecutive losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Probability per packet of entering the bad state.
    pub enter: f64,
    /// Probability per packet of leaving the bad state.
    pub leave: f64,
    /// Probability of loss in the bad state.
    pub loss: f64,
}

/// Token bucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Bits per second of Ethernet frames.
    pub rate_bps: f64,
    /// Capacity in bytes.
    pub bytes: f64,
}

/// Random reordering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reorder {
    /// Probability that a packet is delayed.
    pub probability: f64,
    /// Additional delay of such a packet.
    pub extra_us: f64,
}

/// Loss of the last packets of each response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Bytes of a response.
    pub response: u64,
    /// Number of bytes at its end that are subject to loss.
    pub bytes: u64,
    /// Number of packets per response that are dropped there.
    pub packets: u64,
    /// Probability that loss applies to a response.
    pub probability: f64,
}
