//! The label of a case, as its file holds it.

use serde::{Deserialize, Serialize};

use super::facts::Facts;

/// What is known of a case.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Label {
    /// Version of this format.
    pub schema: String,
    /// Family of cases.
    pub family: String,
    /// Seed of its parameters.
    pub seed: u64,
    /// Dominant cause.
    pub cause: String,
    /// Other answers that are right as well.
    pub acceptable: Vec<String>,
    /// Second cause, if there are two.
    pub second: Option<String>,
    /// Share of the connection's time of the cause and of the second one.
    pub shares: Vec<(String, f64)>,
    /// What the analysis is expected to note besides.
    pub notes: Vec<String>,
    /// True if the counters prove that the cause was the limit.
    pub binding: bool,
    /// The counters that prove it, or why they do not.
    pub reason: String,
    /// Parameters of path, hosts and applications.
    pub parameters: Parameters,
    /// The graded connection: `address:port` of sender and receiver.
    pub connection: [String; 2],
    /// Payload acknowledged per second.
    pub goodput_bps: f64,
    /// Payload per second that the path could carry without the cause.
    pub capacity_bps: f64,
    /// Payload per second that the slowest link carries; a policer is no link.
    pub bottleneck_bps: f64,
    /// Time from the first data to the last progress.
    pub elapsed_s: f64,
    /// The graded connection's packets lost on the path from the sender, and toward it.
    pub path_loss_packets: [u64; 2],
    /// Pure ACKs dropped on the path.
    pub acks_lost: u64,
    /// Pure ACKs that waited for more than 1 ms in a queue of the path.
    pub acks_delayed: u64,
    /// Share of the time that the bottleneck was busy; `None` where no counter says so.
    pub utilization: Option<f64>,
    /// Where the capture on the path was taken: `before` or `behind` the bottleneck.
    pub middle: String,
    /// All counters.
    pub facts: Facts,
}

/// Parameters of a case.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// Rate of the bottleneck, as Ethernet frames.
    pub rate_bps: f64,
    /// Round-trip time without queues.
    pub rtt_ms: f64,
    /// MTU of all interfaces.
    pub mtu: u32,
    /// Congestion control.
    pub control: String,
    /// Program that sends.
    pub tool: String,
    /// Super-segments at the sender.
    pub tso: bool,
    /// Merged segments at the receiver.
    pub gro: bool,
    /// Time that the receiver waits for more to merge.
    pub gro_flush_us: u32,
    /// Settings of both hosts.
    pub sysctls: Vec<(String, String)>,
    /// Attributes of the sender's route.
    pub route: String,
    /// Slow-start threshold that the connection begins with, in segments; 0 is unlimited.
    pub first_threshold: u32,
    /// Commands of the shaper.
    pub tc: Vec<String>,
    /// Configuration of the path.
    pub path: serde_json::Value,
    /// Programs.
    pub tasks: Vec<String>,
    /// Rate that the application offers; 0 if it offers all it can.
    pub offered_bps: f64,
}
