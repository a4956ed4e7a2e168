//! Types of `run.json`, the complete record of a run, schema `gigatcp.run/5`.
//!
//! The report, `--json` and later readers use this record only. Field names carry their unit
//! (`_ns`, `_bytes`, `_bps`, `_fraction`). Times count from the start of the simulation, stream
//! offsets from the SYN (0 = SYN, 1 = first octet of data). Fields may be added within a schema
//! version; renaming or removing one makes a new version.

pub mod growth;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// Schema written by this crate.
pub const SCHEMA: &str = "gigatcp.run/5";

/// One call of `gigatcp run`: a plan and all its series.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// `gigatcp.run/5`.
    pub schema: String,
    /// Name of the plan.
    pub name: String,
    /// One line of what the plan shows.
    pub title: String,
    /// The plan text as read, with overrides in [`RunRecord::overrides`].
    pub plan: String,
    /// `--set` overrides, in order, as `key=value`.
    pub overrides: Vec<String>,
    /// Fingerprint of plan, overrides, chosen series, seed and repeats: 16 hex digits. Part of the
    /// directory's name. Empty for a test between two hosts.
    pub plan_hash: String,
    /// Version of the tool.
    pub version: String,
    /// Seed from which all random streams derive.
    pub seed: u64,
    /// Number of runs of every series (with seeds `seed`, `seed + 1`, …).
    pub repeat: u32,
    /// Whether the run was interrupted: series may be missing or cut short.
    pub partial: bool,
    /// Results, in plan order; one entry per series and repeat.
    pub series: Vec<SeriesRecord>,
}

impl RunRecord {
    /// Whether it is a test between two hosts, which has neither plan nor seed.
    pub fn is_test(&self) -> bool {
        self.plan_hash.is_empty()
    }
}

/// One series, run once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesRecord {
    /// Identifier within the plan, e.g. `cubic-100-60MB`.
    pub name: String,
    /// Display name, e.g. `CUBIC, initial_ssthresh 100, 60 MB`.
    pub title: String,
    /// 0-based repeat.
    pub repeat: u32,
    /// Seed of this repeat.
    pub seed: u64,
    /// Declared, fitted inputs that replace a part that should emerge, one line each. Empty:
    /// nothing is fitted.
    pub fitted: Vec<String>,
    /// Series whose result without the fit is shown next to this one.
    pub fit_of: Option<String>,
    /// Whether the series was cut short.
    pub partial: bool,
    /// Time at the end, simulated or real.
    pub duration_ns: u64,
    /// Fingerprint of every packet that reached a host and every drop: 16 hex digits. Empty for a
    /// run in real time, which is not reproducible.
    pub event_hash: String,
    /// Wire packets delivered to hosts, data and acknowledgments.
    pub packets: u64,
    /// Interval between samples at the end, if it became longer than planned to limit the size of
    /// this record. Spans and intervals of the tester are then no shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_every_ns: Option<u64>,
    /// One per flow, in plan order.
    pub flows: Vec<FlowRecord>,
    /// One per process of arrivals: flows that began during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<ArrivalsRecord>,
    /// One per source of datagrams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datagrams: Vec<DatagramsRecord>,
    /// One per path element: forward, then reverse. Links of single hosts are not
    /// listed; an Ethernet is one entry, for both directions.
    pub hops: Vec<HopRecord>,
    /// One per host whose work took time, that dropped packets, or that has its own link. Ideal
    /// hosts are not listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRecord>,
    /// Data on a run in real time; absent for one in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveRecord>,
    /// Start times of a test between two hosts; absent for other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<TestRecord>,
    /// Pings before and during a test, by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyRecord>,
    /// Runs of this series with further seeds, if one seed saw too few loss events. Absent if the
    /// series was not repeated for that reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherRecord>,
}

/// Start times of a test between two hosts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestRecord {
    /// Time at which data began to flow, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Time at which data began to flow in the first run of the batch. A batch is all runs of one
    /// command. In milliseconds since 1970.
    pub batch_unix_ms: u64,
    /// Loopback ceiling of this host's TCP; absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingRecord>,
    /// Lines of the answer on the path, delays and this host: label and text. Without a label, a line
    /// has that of the line before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
}

/// Loopback ceiling of the host that ran a test. It was measured with the same block size and
/// number of streams.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CeilingRecord {
    /// TCP throughput over the host's loopback, in bit/s.
    pub loopback_bps: u64,
    /// Throughput of the test, both directions together, in bit/s.
    pub result_bps: u64,
    /// Whether the tester itself may be the limit: the result is near the ceiling.
    pub is_near: bool,
}

/// Further seeds of a series. They are run because loss is random and one seed saw few loss events.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FurtherRecord {
    /// Random parts of the series, one line each.
    pub random: Vec<String>,
    /// Minimum over the flows of loss events with the first seed.
    pub loss_events: u64,
    /// Number of further seeds requested.
    pub wanted: u32,
    /// Reason why there are not more runs: `seeds`, `time` or `interrupt`. `seeds`: all requested
    /// runs were made; `time`: the limit for all series together was reached.
    pub ended_by: String,
    /// Runs, in the order of their seeds.
    pub runs: Vec<FurtherRun>,
}

/// Summary of a series run with a further seed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FurtherRun {
    /// Seed of this run.
    pub seed: u64,
    /// Fingerprint of its packets and drops, as [`SeriesRecord::event_hash`].
    pub event_hash: String,
    /// One per flow, in the order of [`SeriesRecord::flows`].
    pub flows: Vec<FurtherFlow>,
}

/// A flow with a further seed; fields as in [`FlowRecord`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FurtherFlow {
    /// Bytes the receiving application read.
    pub bytes: u64,
    /// Time at which the tester's clock started.
    pub clock_start_ns: u64,
    /// Duration over which the goodput is averaged.
    pub average_ns: u64,
    /// Goodput, bit/s.
    pub goodput_bps: f64,
    /// Time to 90 % of the plateau; null when never reached.
    pub time_to_90_ns: Option<u64>,
    /// Retransmitted wire segments, all causes.
    pub retransmitted_segments: u64,
    /// Loss events.
    pub loss_events: u64,
    /// Reductions of cwnd for congestion marks.
    pub mark_reductions: u64,
    /// CPU share of the sending host.
    pub sender_cpu_fraction: f64,
    /// CPU share of the receiving host.
    pub receiver_cpu_fraction: f64,
}

impl From<&FlowRecord> for FurtherFlow {
    fn from(flow: &FlowRecord) -> Self {
        Self {
            bytes: flow.bytes,
            clock_start_ns: flow.clock_start_ns,
            average_ns: flow.average_ns,
            goodput_bps: flow.goodput_bps,
            time_to_90_ns: flow.time_to_90_ns,
            retransmitted_segments: flow.retransmitted_segments,
            loss_events: flow.loss_events,
            mark_reductions: flow.mark_reductions,
            sender_cpu_fraction: flow.sender_cpu_fraction,
            receiver_cpu_fraction: flow.receiver_cpu_fraction,
        }
    }
}

/// A host. Shares are of the time of all its CPUs, from the start to the end of the run, and add up
/// to 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostRecord {
    /// Name of its node; without nodes `sender` or `receiver`. With several flows, the flow is
    /// added.
    pub name: String,
    /// Number of its CPUs.
    pub processors: u64,
    /// Share of application code.
    pub user_fraction: f64,
    /// Share of system calls of applications: copies, and the sending that they cause.
    pub system_fraction: f64,
    /// Share of interrupts and protocol work on arrivals, including the sending that they cause.
    pub interrupt_fraction: f64,
    /// Share without work, or with the CPU taken away.
    pub idle_fraction: f64,
    /// Shares of each CPU, those of the receive queues first. Absent for a host with one CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each_processor: Vec<ProcessorRecord>,
    /// Interrupts of its network card.
    pub interrupts: u64,
    /// Wire packets that it dropped, by cause ([Drops](#drops)). Zeros are left out.
    pub drops: BTreeMap<String, u64>,
    /// Share of the time during which its own link was busy; null without one.
    pub link_utilization_fraction: Option<f64>,
    /// In a test between two hosts: the saturated core, and what to change. Absent if no core was
    /// saturated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturated: Option<String>,
    /// In a test between two hosts: the host's boot ID. Absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Time of that boot, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booted_unix_s: Option<u64>,
}

/// A CPU of a host with several. Shares are of its own time, as for the host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessorRecord {
    /// Share of application code.
    pub user_fraction: f64,
    /// Share of system calls of applications.
    pub system_fraction: f64,
    /// Share of interrupts and of protocol work.
    pub interrupt_fraction: f64,
    /// Share without work, or with the CPU taken away.
    pub idle_fraction: f64,
}

/// A run in real time: TCP stacks at both ends, and effects of the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LiveRecord {
    /// TCP stack of the sender: `engine`, or the kernel's name and version.
    pub sender_stack: String,
    /// TCP stack of the receiver.
    pub receiver_stack: String,
    /// Settings of the plan that this run did not apply, one line each: key and reason.
    pub not_modelled: Vec<String>,
    /// Times that the path's thread was stalled for 10 ms or more.
    pub stalls: u64,
    /// Total duration of these stalls.
    pub stalled_ns: u64,
    /// Share of one CPU used by carrying the packets.
    pub path_cpu_fraction: f64,
    /// Number of the CPU reserved for the path. Null if the path shared one with the hosts at its
    /// ends.
    #[serde(default)]
    pub path_processor: Option<usize>,
    /// Whether all CPUs were kept out of deep idle states while packets came
    /// (`/dev/cpu_dma_latency`).
    #[serde(default)]
    pub cpu_idle_inhibited: bool,
    /// Whether engines at the ends had priority over ordinary threads, as a kernel's TCP has. The
    /// priority holds while they use less than half of a CPU. True without engines.
    #[serde(default)]
    pub engines_first: bool,
    /// CPU steal time: share of this machine's CPU time that its hypervisor gave to others. 0 to 1;
    /// null if the system does not report it.
    #[serde(default)]
    pub steal_fraction: Option<f64>,
    /// Largest interval between two samples, in excess of the interval of the plan.
    pub samples_late_ns: u64,
    /// Both directions, data first.
    pub directions: Vec<DirectionRecord>,
}

/// One direction of a path in real time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DirectionRecord {
    /// `data` or `ACKs`.
    pub name: String,
    /// Lateness of delivery, median; null without packets.
    pub late_p50_ns: Option<u64>,
    /// Lateness of delivery, 99th percentile; null without packets.
    pub late_p99_ns: Option<u64>,
    /// Lateness of delivery, maximum.
    pub late_max_ns: u64,
    /// Packets or super-segments dropped before they reached the path, because the machine is too
    /// slow. Null if unknown.
    pub dropped_before_path: Option<u64>,
    /// Packets or super-segments that the host at the end of the path did not accept.
    pub refused: u64,
    /// Times at which reading paused because the packet memory was full.
    pub memory_full: u64,
    /// Whether packets in equal packets out, dropped and inside.
    pub conserved: bool,
}

/// One TCP connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FlowRecord {
    /// Name of the flow.
    pub name: String,
    /// Common name of this flow and the flows like it. These are the flows of one table `[[flow]]`,
    /// or the connections of one application. Absent for a flow that is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Congestion control in effect.
    pub congestion_control: String,
    /// Initial profile of the sender.
    pub sender_profile: String,
    /// Initial profile of the receiver.
    pub receiver_profile: String,
    /// Time at which the sender's connection was established; 0 if it never was.
    pub established_ns: u64,
    /// Time at which the receiver had read everything, or the run ended before.
    pub ended_ns: u64,
    /// Time at which the tester's clock started: the receiver's side was established. 0 if it never
    /// was.
    pub clock_start_ns: u64,
    /// The tester's intervals, by the receiver's clock; complete ones only.
    pub intervals: Vec<IntervalRecord>,
    /// Bytes the receiving application read.
    pub bytes: u64,
    /// Time from the start of the tester's clock to the last byte read.
    pub elapsed_ns: u64,
    /// Duration over which `goodput_bps` is averaged, usually `elapsed_ns`. If the flow did not
    /// deliver everything: until its sender was to stop or the run ended.
    #[serde(default)]
    pub average_ns: u64,
    /// Time from the start of the flow to the last byte read. Null without a fixed amount to send,
    /// or if not all of it was delivered.
    #[serde(default)]
    pub completion_ns: Option<u64>,
    /// `bytes` over `average_ns`. Both exclude the complete intervals that the plan's `tester.omit`
    /// leaves out.
    pub goodput_bps: f64,
    /// Median rate from the interval of fastest growth on. Defined in `core/plan/src/record/growth.rs`;
    /// null while still growing.
    pub plateau_bps: Option<f64>,
    /// Time from the start of the tester's clock to 90 % of the plateau. It ends with the first
    /// interval at 90 %; null when never reached.
    pub time_to_90_ns: Option<u64>,
    /// Data segments put on the wire, retransmissions included.
    pub segments_sent: u64,
    /// Retransmitted wire segments, all causes.
    pub retransmitted_segments: u64,
    /// Wire segments retransmitted in fast recovery.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Loss events: reductions of cwnd for loss, one per window of data at most.
    #[serde(default)]
    pub loss_events: u64,
    /// Delivered segments that were reported as congestion-marked (`tcpi_delivered_ce`). 0 without
    /// ECN.
    #[serde(default)]
    pub marked_segments: u64,
    /// Reductions of cwnd for congestion marks.
    #[serde(default)]
    pub mark_reductions: u64,
    /// Goodput by an equation of the literature; absent if none applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theory: Option<TheoryRecord>,
    /// Segments without data sent by the receiver. `segments_sent / acks_sent` is the mean number
    /// of segments per acknowledgment.
    pub acks_sent: u64,
    /// Reason why the sender's connection failed; absent if it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Counters of the receive rings of the receiver's network card, if it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receive_rings: Vec<RingRecord>,
    /// Wire packets of the flow that its hosts dropped for a wrong checksum. By cause
    /// ([Drops](#drops)); zeros are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host_drops: BTreeMap<String, u64>,
    /// Share of one CPU used by the sending host, 0 to 1. Live: used by the thread of that end and
    /// its engine, which all flows share. This excludes work of the kernel elsewhere.
    pub sender_cpu_fraction: f64,
    /// Share of one CPU used by the receiving host, measured as for the sender.
    pub receiver_cpu_fraction: f64,
    /// Share of the run in which the sending host's own link was busy. Null without one.
    #[serde(default)]
    pub sender_link_fraction: Option<f64>,
    /// Share of the run in which the receiving host's link, which ACKs cross, was busy. Null
    /// without one.
    #[serde(default)]
    pub receiver_link_fraction: Option<f64>,
    /// Time by cause: what would have to change for the flow to be faster. Zeros are left out. The
    /// times add up to the time from the first SYN to `ended_ns`.
    #[serde(default)]
    pub limited_by: Vec<CauseShare>,
    /// Causes over time. Changes closer than the sampling step, or within an RTT, are merged to the
    /// cause that took most of it.
    #[serde(default)]
    pub limited_by_timeline: Vec<CauseSpan>,
    /// Times at which cwnd was reduced for losses, marks or a timeout. The first 1000; in real
    /// time, the times of the samples that showed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reduction_times_ns: Vec<u64>,
    /// Number of further reductions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reduction_times_left_out: u64,
    /// Time under each limit of the sender's stack, the mechanism behind the cause. The times add
    /// up to the time from `established_ns` to `ended_ns`.
    pub limits: Vec<LimitShare>,
    /// State of the connection over time, evenly sampled (`record.sample` of the plan).
    pub samples: Vec<Sample>,
    /// End whose kernel counted the samples and intervals, `sender` or `receiver`. Absent in runs
    /// of a plan, where samples are the sender's and intervals the receiver's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<String>,
    /// Requested, granted and effective values: for a kernel all, for an engine those that differ.
    pub negotiated: Vec<Negotiated>,
    /// Fields of this record that the sender's stack does not report. Their values are meaningless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<String>,
    /// User-visible performance of its application, all connections together. Absent if the plan
    /// names no application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationRecord>,
    /// Time-sequence data, for the flows the plan requested.
    pub time_sequence: Option<TimeSequence>,
    /// Diagnosis of `gigatcp why` from packets only; absent if they were not analyzed.
    /// [`FlowRecord::limited_by`] is what the run itself measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyRecord>,
}

/// Goodput that an equation of the literature predicts for a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TheoryRecord {
    /// The equation and its assumptions.
    pub model: String,
    /// Loss probability put into the equation.
    pub loss_fraction: f64,
    /// RTT put into the equation.
    pub rtt_ns: u64,
    /// Predicted goodput, bit/s.
    pub goodput_bps: f64,
}

/// User-visible performance of an application.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApplicationRecord {
    /// The application and its settings, as in a plan.
    pub application: String,
    /// Requests, or bursts, that were generated.
    pub requests: u64,
    /// Those that were answered, or delivered.
    pub answered: u64,
    /// Requests sent more than once.
    pub repeated: u64,
    /// Largest number of requests that waited for a free connection.
    pub max_waiting: u64,
    /// Mean time from a request to the last byte of its answer. Null without answers.
    pub response_mean_ns: Option<u64>,
    /// Median of the time from a request to the last byte of its answer.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the time from a request to the last byte of its answer.
    pub response_p99_ns: Option<u64>,
    /// Times at which the reading end paused or the player stalled.
    pub pauses: u64,
    /// Total duration of these pauses.
    pub paused_ns: u64,
}

/// Flows that began during a run, each with an amount of data, and ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArrivalsRecord {
    /// Name of the flow in the plan.
    pub name: String,
    /// The process and its settings, as in a plan.
    pub application: String,
    /// Flows that began.
    pub flows: u64,
    /// Flows whose receiver had read everything before the end of the run.
    pub completed: u64,
    /// Bytes of the completed flows.
    pub bytes: u64,
    /// Wire segments retransmitted, by all flows.
    pub retransmitted_segments: u64,
    /// Mean time from the start of a flow to the last byte read. Null if none completed.
    pub completion_mean_ns: Option<u64>,
    /// Median of the time from the start of a flow to the last byte read.
    pub completion_p50_ns: Option<u64>,
    /// 99th percentile of the time from the start of a flow to the last byte read.
    pub completion_p99_ns: Option<u64>,
}

/// Datagrams from a constant-rate source to a sink that counts them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DatagramsRecord {
    /// Name of the flow in the plan.
    pub name: String,
    /// The source and its settings, as in a plan.
    pub application: String,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received, each number counted once.
    pub received: u64,
    /// Bytes of payload received.
    pub bytes: u64,
    /// Datagrams lost: at the end of the run neither received nor in flight.
    pub lost: u64,
    /// Datagrams received more than once.
    pub duplicates: u64,
    /// Reordered datagrams (RFC 4737 section 3).
    pub reordered: u64,
    /// Largest extent of reordering, RFC 4737 section 4.2.
    pub max_reordering_extent: u64,
    /// Datagrams that the receiving host dropped, by cause ([Drops](#drops)). Reasons: a full
    /// receive buffer, or a wrong checksum. Zeros are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host_drops: BTreeMap<String, u64>,
    /// Interarrival jitter at the end, RFC 3550 section 6.4.1.
    pub jitter_ns: u64,
    /// Maximum interarrival jitter.
    pub max_jitter_ns: u64,
    /// Intervals of a test, as this end counted them. Absent in runs of a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<DatagramsInterval>,
    /// One-way delays of consecutive datagrams. Absent without clocks at both ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<DelayRecord>,
}

/// One interval of a stream of datagrams.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DatagramsInterval {
    /// Start, from the start of the test.
    pub start_ns: u64,
    /// End, from the start of the test.
    pub end_ns: u64,
    /// Bytes of payload sent or received in it.
    pub bytes: u64,
    /// Datagrams sent, or received, in it.
    pub datagrams: u64,
    /// Counts of the receiver; absent if this end sent and the other does not tell them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<DatagramsQuality>,
}

/// What a receiver of datagrams found in an interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DatagramsQuality {
    /// Datagrams lost, less late ones that were counted as lost before.
    pub lost: i64,
    /// Reordered datagrams (RFC 4737 section 3).
    pub reordered: u64,
    /// Interarrival jitter at its end, RFC 3550 section 6.4.1.
    pub jitter_ns: u64,
}

/// One-way delay of consecutive datagrams.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DelayRecord {
    /// Arrival of the first, from that of the first of the test.
    pub at_ns: u64,
    /// Smallest delay. Negative if the clocks' offset is less certain than the delay.
    pub min_ns: i64,
    /// Largest delay.
    pub max_ns: i64,
}

/// RTTs of pings before and during a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencyRecord {
    /// `icmp`, `udp`, `tcp`, which is a handshake, or `request`, which is a request on its connection.
    pub kind: String,
    /// RTTs before data flowed, in the order of the replies.
    pub idle_ns: Vec<u64>,
    /// RTTs while data flowed, in the order of the replies.
    pub loaded_ns: Vec<u64>,
    /// Pings without a reply while data flowed.
    pub lost: u64,
}

/// Factors that limited a connection, from packets only.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhyRecord {
    /// Id of the cause that the sentence names; null if it names none.
    pub primary_cause: Option<String>,
    /// Diagnosis in one sentence.
    pub sentence: String,
    /// Lines below the sentence, each as (label, text); the label is empty if it is that of the
    /// line before. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(String, String)>,
    /// Shares of the time by cause, in one line.
    pub limited_by: String,
    /// Time whose cause the packets do not show.
    pub unknown_ns: u64,
    /// Causes, in descending order of the time attributed to them.
    pub verdicts: Vec<WhyVerdict>,
}

/// A cause found from packets only.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhyVerdict {
    /// Id of the cause, as in `gigatcp explain`.
    pub id: String,
    /// Finding, in a sentence.
    pub finding: String,
    /// Probability that it is right, 0 to 1.
    pub confidence: f64,
    /// Time attributed to it; zero for a note.
    pub time_ns: u64,
    /// Additional rate of payload without this cause, averaged over the time.
    pub cost_bps: u64,
    /// Whether the cost may be higher, because the path may carry more than the packets show.
    #[serde(default)]
    pub cost_at_least: bool,
    /// Recommended change, with figures for this path; empty if the cause is unsure, and in
    /// records of schema 1.
    #[serde(default)]
    pub fix: String,
    /// Figures behind the verdict, the most important first. Only in tests and `watch`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// One interval of the tester, by the receiver's clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IntervalRecord {
    /// Start, from the start of the tester's clock.
    pub start_ns: u64,
    /// End, from the start of the tester's clock.
    pub end_ns: u64,
    /// Bytes the receiving application read in it.
    pub bytes: u64,
    /// Wire segments the sender retransmitted in it.
    pub retransmitted_segments: u64,
}

impl IntervalRecord {
    /// Consecutive intervals as one; there is at least one.
    pub fn joined(lines: &[Self]) -> Self {
        Self {
            start_ns: lines[0].start_ns,
            end_ns: lines[lines.len() - 1].end_ns,
            bytes: lines.iter().map(|line| line.bytes).sum(),
            retransmitted_segments: lines.iter().map(|line| line.retransmitted_segments).sum(),
        }
    }
}

/// Time that is attributed to one cause.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CauseShare {
    /// Id of the cause, as in `gigatcp explain`.
    pub cause: String,
    /// Nanoseconds attributed to it.
    pub spent_ns: u64,
}

/// Time under one limit of the stack: the mechanism that stopped its output.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitShare {
    /// Name of the limit.
    pub limit: String,
    /// Nanoseconds under it.
    pub spent_ns: u64,
}

/// A span of the limited-by timeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CauseSpan {
    /// Start of the span.
    pub start_ns: u64,
    /// End of the span.
    pub end_ns: u64,
    /// Id of the cause that took most of it.
    pub cause: String,
}

/// State of the sender at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sample {
    /// Time of the sample.
    pub at_ns: u64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold; null while unset.
    pub ssthresh_bytes: Option<u64>,
    /// Window the receiver advertised.
    pub rwnd_bytes: u64,
    /// Bytes in flight.
    pub flight_bytes: u64,
    /// Smoothed round-trip time; null before the first sample.
    pub srtt_ns: Option<u64>,
    /// Bytes the receiving application has read so far. By counters of a kernel: acknowledged, if
    /// they are the sender's, or received.
    pub delivered_bytes: u64,
    /// Segments retransmitted so far; absent if they are not sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_segments: Option<u64>,
}

/// A requested value, and the granted and effective ones.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Negotiated {
    /// Name of the value, e.g. `receive buffer`.
    pub what: String,
    /// Requested value, with unit.
    pub requested: String,
    /// Granted value, with unit.
    pub granted: String,
    /// Effective value, with unit.
    pub effective: String,
    /// Reason why they differ.
    pub cause: String,
}

/// A time-sequence graph of the packets at the sender's interface, packed as the page draws it.
///
/// Times are from the start of the run, stream offsets from the first byte of data. A capture of the
/// run (`--capture`) has every packet in a form for other programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimeSequence {
    /// Unit of all times in it.
    pub unit_ns: u64,
    /// Number of packets.
    pub points: u64,
    /// Number of those that it has one by one; the rest is in summaries of neighboring packets.
    pub kept_points: u64,
    /// Whether advertised windows are known.
    pub knows_windows: bool,
    /// Size of the summaries.
    pub head: PackedPart,
    /// Sizes of the chunks of single packets.
    pub chunks: Vec<PackedPart>,
    /// Summaries and chunks, each compressed (zlib), in base64.
    pub octets: String,
}

/// Bytes of a part of a packed graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PackedPart {
    /// Compressed.
    pub packed: u64,
    /// Not compressed.
    pub plain: u64,
}

/// One receive ring of a network card, in wire packets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RingRecord {
    /// `large` or `small`.
    pub name: String,
    /// Packets that reached the card.
    pub arrived_packets: u64,
    /// Packets passed to the stack.
    pub accepted_packets: u64,
    /// Dropped by the card or its driver, by cause ([Drops](#drops)); zeros are left out.
    #[serde(default)]
    pub drops: BTreeMap<String, u64>,
    /// Maximum number of buffers held by unread packets.
    pub max_held_packets: u32,
    /// Buffers still held at the end.
    pub held_packets: u32,
}

/// One path element.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HopRecord {
    /// Name of the element.
    pub name: String,
    /// Wire packets that arrived.
    pub arrived_packets: u64,
    /// Wire packets passed on.
    pub delivered_packets: u64,
    /// Wire packets dropped, by cause ([Drops](#drops)): every cause of the path, including zeros.
    pub drops: BTreeMap<String, u64>,
    /// Wire packets marked with CE (RFC 3168).
    pub marked_packets: u64,
    /// Wire packets corrupted; receiving hosts drop them (`host_drops`).
    #[serde(default)]
    pub corrupted_packets: u64,
    /// Wire packets still inside at the end.
    pub inside_packets: u64,
    /// Maximum backlog, in packets.
    pub max_backlog_packets: u64,
    /// Median queueing delay of the packets that left, accurate to 0.8 %. It is measured from
    /// arrival at the queue to the beginning of transmission. Null if packets never wait here.
    #[serde(default)]
    pub queueing_delay_p50_ns: Option<u64>,
    /// 99th percentile of the queueing delay, measured in the same way.
    #[serde(default)]
    pub queueing_delay_p99_ns: Option<u64>,
    /// The queue over time (`record.sample` of the plan), each row valid until the next. A row has:
    /// time (ns); packets and bytes waiting and in service; mean sojourn (ns); wire packets dropped
    /// and marked so far. The mean sojourn is of the packets that left in the sample interval that
    /// ends here. If none left although some wait, it is that of the interval before. Unchanged
    /// rows are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(u64, u64, u64, u64, u64, u64)>,
    /// Share of the time in which the serializer had work, or a station was sending.
    pub utilization_fraction: f64,
    /// On a shared medium: number of collisions of a station's frame. 0 elsewhere.
    pub collisions: u64,
    /// Times (ns) of the first 1000 drops, by cause; one per wire packet. Absent without drops, on
    /// a shared medium and for runs in real time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drop_times_ns: BTreeMap<String, Vec<u64>>,
    /// Number of further drops.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drop_times_left_out: u64,
    /// Times (ns) of the first 1000 marks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mark_times_ns: Vec<u64>,
    /// Number of further marks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mark_times_left_out: u64,
}

/// Combined rate of flows, bit/s, from the start of the first to the end of the last. Each flow is its
/// start (ns), the time its goodput is over (ns), and that goodput (bit/s).
///
/// A sum of the goodputs of flows that are not simultaneous may exceed the rate of the link.
pub fn combined_rate(flows: impl Iterator<Item = (u64, u64, f64)> + Clone) -> f64 {
    let flows = flows.filter(|(_, time, _)| *time > 0);
    let first = flows.clone().map(|(start, ..)| start).min().unwrap_or(0);
    let last = flows
        .clone()
        .map(|(start, time, _)| start.saturating_add(time))
        .max();
    let span = last.unwrap_or(0).saturating_sub(first) as f64;
    // The share of the time first: it is 1 for a single flow, whose goodput is the sum to the last digit.
    flows
        .map(|(_, time, goodput)| goodput * (time as f64 / span))
        .fold(0.0, |sum, bits| sum + bits)
}

impl FlowRecord {
    /// Its arguments of [`combined_rate`].
    pub fn span(&self) -> (u64, u64, f64) {
        (self.clock_start_ns, self.average_ns, self.goodput_bps)
    }
}

/// Whether a count is omitted from the JSON.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl HopRecord {
    /// Number of wire packets dropped for all causes.
    pub fn dropped_packets(&self) -> u64 {
        self.drops.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_one_after_the_other_carry_together_what_one_does() {
        let second = 1_000_000_000;
        let alone = (0..5).map(|place| (place * second, second, 8e6));
        assert_eq!(combined_rate(alone), 8e6);
        let at_once = (0..5).map(|_| (second, second, 8e6));
        assert_eq!(combined_rate(at_once), 40e6);
        assert_eq!(combined_rate(std::iter::once((0, 0, 0.0))), 0.0);
    }

    /// `UPDATE_DOCUMENTS=1` writes the file anew.
    #[test]
    fn schema_file_is_that_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/run-5.json");
        let schema = schemars::schema_for!(RunRecord);
        let text = serde_json::to_string_pretty(&schema).expect("a schema") + "\n";
        if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
            std::fs::write(path, text).expect("docs/schema can be written");
            return;
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            kept == text,
            "UPDATE_DOCUMENTS=1 cargo test -p gigatcp-plan"
        );
    }
}
