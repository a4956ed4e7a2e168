//! Label of a case, as stored in its file.

use serde::{Deserialize, Serialize};

use super::facts::Facts;

/// Facts about a case.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Label {
    /// Version of this format.
    pub schema: String,
    /// Family of cases.
    pub family: String,
    /// Seed of its parameters.
    pub seed: u64,
    /// Primary cause.
    pub cause: String,
    /// Other correct answers.
    pub acceptable: Vec<String>,
    /// Second cause, if there are two.
    pub second: Option<String>,
    /// Share of the connection's time for the cause and for the second one.
    pub shares: Vec<(String, f64)>,
    /// Notes that the analysis should add.
    pub notes: Vec<String>,
    /// Whether the counters prove that the cause was the limit.
    pub binding: bool,
    /// The counters that prove it, or the reason they do not.
    pub reason: String,
    /// Parameters of path, hosts and applications.
    pub parameters: Parameters,
    /// The graded connection: `address:port` of sender and receiver.
    pub connection: [String; 2],
    /// Acknowledged payload, bits per second.
    pub goodput_bps: f64,
    /// Payload rate that the path could carry without the cause.
    pub capacity_bps: f64,
    /// Payload rate of the bottleneck link; a policer is not a link.
    pub bottleneck_bps: f64,
    /// Time from the first data to the last progress.
    pub elapsed_s: f64,
    /// Packets of the graded connection lost on the path, from the sender and towards it.
    pub path_loss_packets: [u64; 2],
    /// Pure ACKs dropped on the path.
    pub acks_lost: u64,
    /// Pure ACKs that waited for more than 1 ms in a queue of the path.
    pub acks_delayed: u64,
    /// Share of time that the bottleneck was busy; `None` without a counter for it.
    pub utilization: Option<f64>,
    /// Position of the mid-path capture: `before` or `behind` the bottleneck.
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
    /// RTT without queues.
    pub rtt_ms: f64,
    /// MTU of all interfaces.
    pub mtu: u32,
    /// Congestion control.
    pub control: String,
    /// Sending program.
    pub tool: String,
    /// Whether the sender uses segmentation offload.
    pub tso: bool,
    /// Whether the receiver merges segments.
    pub gro: bool,
    /// Time the receiver waits for more segments to merge.
    pub gro_flush_us: u32,
    /// Sysctls of both hosts.
    pub sysctls: Vec<(String, String)>,
    /// Attributes of the sender's route.
    pub route: String,
    /// Initial ssthresh of the connection, in segments; 0 for unlimited.
    pub first_threshold: u32,
    /// Commands of the shaper.
    pub tc: Vec<String>,
    /// Configuration of the path.
    pub path: serde_json::Value,
    /// Programs.
    pub tasks: Vec<String>,
    /// Offered rate of the application; 0 if unlimited.
    pub offered_bps: f64,
}
