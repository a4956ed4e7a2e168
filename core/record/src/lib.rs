//! `run.json`: everything a run found out, schema `gigatcp.run/4`.
//!
//! The report, `--json` and later readers see this and nothing else. Field
//! names carry their unit (`_ns`, `_bytes`, `_bps`, `_fraction`); times count
//! from the start of the simulation, stream offsets from the SYN (0 = SYN,
//! 1 = first octet of data). Fields may be added within a schema version;
//! renaming or removing one makes a new version.

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod growth;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// The schema this code writes.
pub const SCHEMA: &str = "gigatcp.run/4";

/// One call of `gigatcp run`: a plan and all its series.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// `gigatcp.run/4`.
    pub schema: String,
    /// Name of the plan.
    pub name: String,
    /// One line of what the plan shows.
    pub title: String,
    /// The plan text as read, with overrides in [`RunRecord::overrides`].
    pub plan: String,
    /// `--set` overrides, in order, as `key=value`.
    pub overrides: Vec<String>,
    /// Fingerprint of plan, overrides, chosen series, seed and repeats: 16 hex digits,
    /// part of the directory's name. Empty of a test between two hosts.
    pub plan_hash: String,
    /// Version of the tool.
    pub version: String,
    /// The seed all random streams derive from.
    pub seed: u64,
    /// How often every series was repeated (with seeds `seed`, `seed + 1`, …).
    pub repeat: u32,
    /// Whether the run was interrupted: series may be missing or cut short.
    pub partial: bool,
    /// Results, in plan order; one entry per series and repeat.
    pub series: Vec<SeriesRecord>,
}

impl RunRecord {
    /// Whether it is a test between two hosts, which has neither plan nor seed.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.plan_hash.is_empty()
    }
}

/// One series, run once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// Identifier within the plan, e.g. `cubic-100-60MB`.
    pub name: String,
    /// What a reader calls it, e.g. `CUBIC, initial_ssthresh 100, 60 MB`.
    pub title: String,
    /// 0-based repeat.
    pub repeat: u32,
    /// Seed of this repeat.
    pub seed: u64,
    /// If this series replaces a part that should emerge by a declared,
    /// fitted input: what was fitted, one line each. Empty = nothing fitted.
    pub fitted: Vec<String>,
    /// The series whose result without the fit stands next to this one.
    pub fit_of: Option<String>,
    /// Whether the series was cut short.
    pub partial: bool,
    /// Time at the end, simulated or real.
    pub duration_ns: u64,
    /// Fingerprint of every packet that reached a host and every drop, 16 hex digits;
    /// empty for a run in real time, which nothing repeats.
    pub event_hash: String,
    /// Wire packets delivered to hosts, data and acknowledgments.
    pub packets: u64,
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
    /// One per host whose work took time or that dropped something, or that has a link of
    /// its own; ideal hosts are not listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRecord>,
    /// What there is to know about a run in real time; absent for one in virtual
    /// time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveRecord>,
    /// When it ran, of a test between two hosts; absent for other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<TestRecord>,
    /// The same series with further seeds, where a flow saw too few loss events for one
    /// seed to say much; absent where the run was not repeated for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherRecord>,
}

/// When a test between two hosts ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TestRecord {
    /// When data began to flow, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The same of the first of the runs that one command made: they are one batch.
    pub batch_unix_ms: u64,
    /// What this host's TCP carries to itself; absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingRecord>,
}

/// The loopback ceiling of the host that ran a test, with the same block and number of streams.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CeilingRecord {
    /// What TCP inside the host carries, in bit/s.
    pub loopback_bps: u64,
    /// What the test moved, both directions together, in bit/s.
    pub result_bps: u64,
    /// Whether the tester itself may be the limit: the result is near the ceiling.
    pub is_near: bool,
}

/// Further seeds of a series, run because loss is random and one seed saw little of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FurtherRecord {
    /// What of the series is random, one line each.
    pub random: Vec<String>,
    /// Fewest loss events of a flow with the first seed.
    pub loss_events: u64,
    /// Further seeds wanted.
    pub wanted: u32,
    /// Why there are not more runs: `seeds` (as many as wanted), `time` (the limit for all
    /// series together) or `interrupt`.
    pub ended_by: String,
    /// The runs, in the order of their seeds.
    pub runs: Vec<FurtherRun>,
}

/// A series with a further seed, summed up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FurtherRun {
    /// Its seed.
    pub seed: u64,
    /// As [`SeriesRecord::event_hash`].
    pub event_hash: String,
    /// One per flow, in the order of [`SeriesRecord::flows`].
    pub flows: Vec<FurtherFlow>,
}

/// A flow with a further seed; fields as in [`FlowRecord`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FurtherFlow {
    /// Bytes the receiving application read.
    pub bytes: u64,
    /// When the tester's clock started.
    pub clock_start_ns: u64,
    /// Time that the goodput is over.
    pub average_ns: u64,
    /// Goodput, bit/s.
    pub goodput_bps: f64,
    /// Time to 90 % of the plateau; null when never reached.
    pub time_to_90_ns: Option<u64>,
    /// Retransmitted wire segments, all causes.
    pub retransmitted_segments: u64,
    /// Loss events.
    pub loss_events: u64,
    /// Reductions of cwnd for marks.
    pub mark_reductions: u64,
    /// CPU share of the sending host.
    pub sender_cpu_fraction: f64,
    /// CPU share of the receiving host.
    pub receiver_cpu_fraction: f64,
}

/// A host. Shares are of the time of all its processors, from the start to the end of the
/// run, and add up to 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostRecord {
    /// Name of its node; without nodes `sender` or `receiver`, of which flow if there are
    /// several.
    pub name: String,
    /// Number of its processors.
    pub processors: u64,
    /// Share of applications themselves.
    pub user_fraction: f64,
    /// Share of calls of applications: copies, and what they made TCP send.
    pub system_fraction: f64,
    /// Share of interrupts and of protocol work on what arrived, with what that made TCP
    /// send.
    pub interrupt_fraction: f64,
    /// Share without work, or with the processor taken away.
    pub idle_fraction: f64,
    /// The shares of each of its processors, those of the receive queues first; absent
    /// with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each_processor: Vec<ProcessorRecord>,
    /// Interrupts of its network card.
    pub interrupts: u64,
    /// Wire packets that it dropped, by cause ([Drops](#drops)); zeros are left out.
    pub drops: BTreeMap<String, u64>,
    /// Share of the time that its own link was busy; null without one.
    pub link_utilization_fraction: Option<f64>,
    /// Of a test between two hosts: the core that had no time left, and what to change; absent
    /// if every core had some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturated: Option<String>,
    /// Of a test between two hosts: the random name of the time since its last boot; absent if it
    /// is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// When that boot was, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booted_unix_s: Option<u64>,
}

/// A processor of a host with several: shares of its time, as those of the host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProcessorRecord {
    /// Share of applications themselves.
    pub user_fraction: f64,
    /// Share of calls of applications.
    pub system_fraction: f64,
    /// Share of interrupts and of protocol work.
    pub interrupt_fraction: f64,
    /// Share without work, or with the processor taken away.
    pub idle_fraction: f64,
}

/// A run in real time: who took part, and what the machine did to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LiveRecord {
    /// Whose TCP sent: `engine`, or the kernel's name and version.
    pub sender_stack: String,
    /// Whose TCP received.
    pub receiver_stack: String,
    /// What the plan says and this run did not do, one line each: the key, and
    /// why.
    pub not_modelled: Vec<String>,
    /// Times that the path's thread was stalled for 10 ms or more.
    pub stalls: u64,
    /// And for how long in all.
    pub stalled_ns: u64,
    /// Share of one processor that carrying the packets took.
    pub path_cpu_fraction: f64,
    /// The processor that the path had to itself, by its number; null where it
    /// shared one with the hosts at its ends.
    #[serde(default)]
    pub path_processor: Option<usize>,
    /// Whether all processors were kept awake while packets came
    /// (`/dev/cpu_dma_latency`).
    #[serde(default)]
    pub cpu_idle_inhibited: bool,
    /// Whether engines at the ends came before ordinary threads (while they take less
    /// than half of a processor), as a kernel's TCP does; true without engines.
    #[serde(default)]
    pub engines_first: bool,
    /// Share of the time of this machine's CPUs that its hypervisor gave to
    /// others (`steal`), 0 to 1; null if the system does not report it.
    #[serde(default)]
    pub steal_fraction: Option<f64>,
    /// Largest distance between two samples beyond what the plan asks for.
    pub samples_late_ns: u64,
    /// Of both directions, data first.
    pub directions: Vec<DirectionRecord>,
}

/// One direction of a path in real time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DirectionRecord {
    /// `data` or `ACKs`.
    pub name: String,
    /// Half of the packets were delivered late by this at most; null without packets.
    pub late_p50_ns: Option<u64>,
    /// 99 of 100.
    pub late_p99_ns: Option<u64>,
    /// The latest of all.
    pub late_max_ns: u64,
    /// Packets or super-segments dropped before the path saw them, because the machine
    /// is too slow; null if unknown.
    pub dropped_before_path: Option<u64>,
    /// Packets or super-segments that the host at the end of the path did not
    /// take.
    pub refused: u64,
    /// Times that nothing was read because the memory for packets was full.
    pub memory_full: u64,
    /// Whether packets in are packets out, dropped and inside.
    pub conserved: bool,
}

/// One TCP connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Name of the flow.
    pub name: String,
    /// What it and the flows like it are called together: those of one table `[[flow]]`, or
    /// the connections of one application. Absent for a flow that is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Congestion control in effect.
    pub congestion_control: String,
    /// Profile that the sender started from.
    pub sender_profile: String,
    /// Profile that the receiver started from.
    pub receiver_profile: String,
    /// When the sender's connection was established; 0 if it never was.
    pub established_ns: u64,
    /// When the receiver had read everything, or the run ended before.
    pub ended_ns: u64,
    /// When the tester's clock started: the receiver's side was established; 0 if it
    /// never was.
    pub clock_start_ns: u64,
    /// The tester's intervals, by the receiver's clock; whole ones only.
    pub intervals: Vec<IntervalRecord>,
    /// Octets the receiving application read.
    pub bytes: u64,
    /// From the start of the tester's clock to the last octet read.
    pub elapsed_ns: u64,
    /// Time that `goodput_bps` is over: `elapsed_ns`, or of a flow that did not deliver
    /// everything, until its sender was to stop or the run ended.
    #[serde(default)]
    pub average_ns: u64,
    /// From the start of the flow to the last octet read, of a flow with an amount to send;
    /// null if it did not deliver everything.
    #[serde(default)]
    pub completion_ns: Option<u64>,
    /// `bytes` over `average_ns`, both without the whole intervals that the
    /// plan's `tester.omit` leaves out.
    pub goodput_bps: f64,
    /// Median rate from the interval of fastest growth on, as `core/record/src/growth.rs`
    /// defines it; null while still growing.
    pub plateau_bps: Option<f64>,
    /// From the start of the tester's clock to the end of the first interval
    /// at 90 % of the plateau; null when never reached.
    pub time_to_90_ns: Option<u64>,
    /// Data segments put on the wire, retransmissions included.
    pub segments_sent: u64,
    /// Retransmitted wire segments, all causes.
    pub retransmitted_segments: u64,
    /// Of these, in fast recovery.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Loss events: reductions of cwnd for loss, one per window of data at most.
    #[serde(default)]
    pub loss_events: u64,
    /// Of the segments delivered, those reported to have met a congestion mark
    /// (`tcpi_delivered_ce`); 0 without ECN.
    #[serde(default)]
    pub marked_segments: u64,
    /// Reductions of cwnd for such reports.
    #[serde(default)]
    pub mark_reductions: u64,
    /// Goodput by an equation of the literature; absent where none holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theory: Option<TheoryRecord>,
    /// Segments without data that the receiver sent; `segments_sent / acks_sent` is the
    /// mean number of segments per acknowledgment.
    pub acks_sent: u64,
    /// Why the sender's connection failed, if it did; absent if it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What the receive rings of the receiver's network card did, where it has
    /// any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receive_rings: Vec<RingRecord>,
    /// Wire packets of the flow that its hosts dropped for a wrong checksum, by cause
    /// ([Drops](#drops)); zeros are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host_drops: BTreeMap<String, u64>,
    /// Share of one processor used by the sending host, 0 to 1; live, by the thread of
    /// that end and its engine (which all flows share), without what the kernel does
    /// elsewhere.
    pub sender_cpu_fraction: f64,
    /// The same of the receiving host.
    pub receiver_cpu_fraction: f64,
    /// Share of the run in which the sending host's own link was busy; null without one.
    #[serde(default)]
    pub sender_link_fraction: Option<f64>,
    /// The same of the receiving host's link, which ACKs cross.
    #[serde(default)]
    pub receiver_link_fraction: Option<f64>,
    /// What would have had to change for the flow to be faster: nanoseconds by cause, none
    /// with zero. They add up to the time from the first SYN to `ended_ns`.
    #[serde(default)]
    pub limited_by: Vec<CauseShare>,
    /// The same over time. Changes closer than the sampling step, or within an RTT, are
    /// merged to the cause that took most of it.
    #[serde(default)]
    pub limited_by_timeline: Vec<CauseSpan>,
    /// Times at which cwnd was reduced for losses, marks or a timeout: the first 1000; in real
    /// time, when a sample showed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reduction_times_ns: Vec<u64>,
    /// Reductions after these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reduction_times_left_out: u64,
    /// The mechanism behind it: nanoseconds under each limit of the sender's stack, adding
    /// up to the time from `established_ns` to `ended_ns`.
    pub limits: Vec<LimitShare>,
    /// State of the connection over time, evenly sampled (`record.sample` of the plan).
    pub samples: Vec<Sample>,
    /// Requested, granted and effective values: all of a kernel's, of an engine's
    /// those that differ.
    pub negotiated: Vec<Negotiated>,
    /// Fields of this record that the sender's stack does not tell and that
    /// therefore say nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<String>,
    /// What the users of its application noticed, where the plan names one; of all its
    /// connections together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationRecord>,
    /// Time-sequence data, for the flows the plan requested.
    pub time_sequence: Option<TimeSequence>,
    /// What `gigatcp why` says of the packets alone, where they were analyzed;
    /// [`FlowRecord::limited_by`] is what the run itself measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyRecord>,
}

/// What an equation of the literature has for a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TheoryRecord {
    /// The equation and what it assumes.
    pub model: String,
    /// Loss probability that it is for.
    pub loss_fraction: f64,
    /// Round-trip time that it is for.
    pub rtt_ns: u64,
    /// Its goodput, bit/s.
    pub goodput_bps: f64,
}

/// What the users of an application noticed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ApplicationRecord {
    /// The application and its settings, as a plan has them.
    pub application: String,
    /// Requests, or bursts, that came into being.
    pub requests: u64,
    /// Those that were answered, or delivered.
    pub answered: u64,
    /// Requests sent more than once.
    pub repeated: u64,
    /// Largest number of requests that waited for a free connection.
    pub max_waiting: u64,
    /// Mean time from a request to the last byte of its answer; null without answers.
    pub response_mean_ns: Option<u64>,
    /// Median of the same.
    pub response_p50_ns: Option<u64>,
    /// What 99 of 100 do not exceed.
    pub response_p99_ns: Option<u64>,
    /// Times at which the reading end paused or the player stalled.
    pub pauses: u64,
    /// For how long in all.
    pub paused_ns: u64,
}

/// Flows that began during a run, each with an amount of data, and ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArrivalsRecord {
    /// Name of the flow in the plan.
    pub name: String,
    /// The process and its settings, as a plan has them.
    pub application: String,
    /// Flows that began.
    pub flows: u64,
    /// Those whose receiver had read everything before the end of the run.
    pub completed: u64,
    /// Octets of the completed ones.
    pub bytes: u64,
    /// Wire segments retransmitted, of all.
    pub retransmitted_segments: u64,
    /// Mean time from the start of a flow to the last octet read; null without any.
    pub completion_mean_ns: Option<u64>,
    /// Median of the same.
    pub completion_p50_ns: Option<u64>,
    /// What 99 of 100 do not exceed.
    pub completion_p99_ns: Option<u64>,
}

/// Datagrams from a source at a rate to a sink that counts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DatagramsRecord {
    /// Name of the flow in the plan.
    pub name: String,
    /// The source and its settings, as a plan has them.
    pub application: String,
    /// Sent.
    pub sent: u64,
    /// Received, each number once.
    pub received: u64,
    /// Octets of payload received.
    pub bytes: u64,
    /// Sent, and at the end of the run neither received nor on their way.
    pub lost: u64,
    /// Received more than once.
    pub duplicates: u64,
    /// Reordered, as RFC 4737 section 3 has it.
    pub reordered: u64,
    /// Largest extent of reordering, RFC 4737 section 4.2.
    pub max_reordering_extent: u64,
    /// Those that the receiving host dropped because they found no room in the receive buffer
    /// or had a wrong checksum, by cause ([Drops](#drops)); zeros are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host_drops: BTreeMap<String, u64>,
    /// Interarrival jitter at the end, RFC 3550 section 6.4.1.
    pub jitter_ns: u64,
    /// The largest.
    pub max_jitter_ns: u64,
}

/// What limited a connection, from its packets only.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WhyRecord {
    /// Id of the cause that took most of the time; `None` if that is unknown.
    #[serde(alias = "dominant")]
    pub primary_cause: Option<String>,
    /// The answer in one sentence.
    #[serde(alias = "paragraph")]
    pub sentence: String,
    /// Shares of the time by cause, in a line.
    pub limited_by: String,
    /// Time whose cause the packets do not show.
    pub unknown_ns: u64,
    /// Causes, in order of the time they took.
    pub verdicts: Vec<WhyVerdict>,
}

/// A cause that was found from packets only.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WhyVerdict {
    /// Its id, as `gigatcp explain` knows it.
    pub id: String,
    /// What was found, in a sentence.
    pub finding: String,
    /// Probability that it is right, 0 to 1.
    pub confidence: f64,
    /// Time attributed to it; zero for a note.
    pub time_ns: u64,
    /// Payload that would have been delivered in addition, by time.
    pub cost_bps: u64,
    /// Whether it may be more, because the path may carry more than the packets show.
    #[serde(default)]
    pub cost_at_least: bool,
    /// What to change, with figures for this path; empty in records of schema 1.
    #[serde(default)]
    pub fix: String,
    /// The figures it rests on, the first one first; of tests and of `watch`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// One interval of the tester, by the receiver's clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IntervalRecord {
    /// Start, from the start of the tester's clock.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Octets the receiving application read in it.
    pub bytes: u64,
    /// Wire segments the sender retransmitted in it.
    pub retransmitted_segments: u64,
}

/// Time that is attributed to one cause.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CauseShare {
    /// Id of the cause, as `gigatcp explain` knows it.
    pub cause: String,
    /// Nanoseconds attributed to it.
    pub spent_ns: u64,
}

/// Time under one limit of the stack: the mechanism that stopped its output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LimitShare {
    /// Name of the limit.
    pub limit: String,
    /// Nanoseconds under it.
    pub spent_ns: u64,
}

/// A span of the limited-by timeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
pub struct Sample {
    /// When.
    pub at_ns: u64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold; null while unset.
    pub ssthresh_bytes: Option<u64>,
    /// Window the receiver advertised.
    pub rwnd_bytes: u64,
    /// Octets in flight.
    pub flight_bytes: u64,
    /// Smoothed round-trip time; null before the first sample.
    pub srtt_ns: Option<u64>,
    /// Octets the receiving application has read so far.
    pub delivered_bytes: u64,
}

/// A value that was requested and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Negotiated {
    /// What, e.g. `receive buffer`.
    pub what: String,
    /// Requested, with unit.
    pub requested: String,
    /// Granted, with unit.
    pub granted: String,
    /// In effect, with unit.
    pub effective: String,
    /// Why they differ.
    pub cause: String,
}

/// Points of a time-sequence graph.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TimeSequence {
    /// The whole connection in equal steps: enough for an overview.
    pub overview: Vec<SequenceStep>,
    /// Intervals in full detail: the start, around the first loss and around the first timeout.
    pub details: Vec<SequenceDetail>,
}

/// Sequence space during one step of the overview.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SequenceStep {
    /// Start of the step.
    pub at_ns: u64,
    /// Lowest stream offset sent in it; absent when nothing was sent.
    pub sent_low: Option<u64>,
    /// Stream offset after the highest octet sent in it.
    pub sent_high: Option<u64>,
    /// SND.UNA at its end.
    pub ack: u64,
    /// Right edge of the send window (SND.UNA + SND.WND) at its end.
    pub window_edge: u64,
    /// Wire segments retransmitted in it.
    pub retransmitted: u32,
}

/// A stretch of a time-sequence graph, segment by segment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SequenceDetail {
    /// Why this interval: `start`, `first loss`, `timeout`.
    pub why: String,
    /// When the first data, retransmission, or retransmission for a timeout was sent. Null in
    /// records of earlier versions.
    #[serde(default)]
    pub at_ns: Option<u64>,
    /// The smoothed RTT then; null if there was none.
    #[serde(default)]
    pub srtt_ns: Option<u64>,
    /// Segments sent, as (time ns, first offset, length, retransmission).
    pub sent: Vec<(u64, u64, u32, bool)>,
    /// Acknowledgments received, as (time ns, ack offset, window edge offset).
    pub acks: Vec<(u64, u64, u64)>,
    /// SACK blocks received, as (time ns, first offset, offset after last).
    pub sacks: Vec<(u64, u64, u64)>,
}

/// One receive ring of a network card, in wire packets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RingRecord {
    /// "large" or "small".
    pub name: String,
    /// Reached the card.
    pub arrived_packets: u64,
    /// Taken up to the stack.
    pub accepted_packets: u64,
    /// Dropped by the card or its driver, by cause ([Drops](#drops)); zeros are left out.
    #[serde(default)]
    pub drops: BTreeMap<String, u64>,
    /// Most buffers that unread packets held at once.
    pub max_held_packets: u32,
    /// Buffers still held at the end.
    pub held_packets: u32,
}

/// One path element.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HopRecord {
    /// Name of the element.
    pub name: String,
    /// Wire packets that arrived.
    pub arrived_packets: u64,
    /// Wire packets handed on.
    pub delivered_packets: u64,
    /// Wire packets dropped, by cause ([Drops](#drops)): every cause of the path, zeros too.
    pub drops: BTreeMap<String, u64>,
    /// Wire packets marked as having met congestion (RFC 3168).
    pub marked_packets: u64,
    /// Wire packets damaged; receiving hosts drop them (`host_drops`).
    #[serde(default)]
    pub corrupted_packets: u64,
    /// Wire packets still inside at the end.
    pub inside_packets: u64,
    /// Largest backlog seen, in packets.
    pub max_backlog_packets: u64,
    /// Sojourn in the queue that half of the packets that left did not exceed, measured from
    /// reaching the queue to the beginning of transmission, to 0.8 %; null where nothing waits.
    #[serde(default)]
    pub queueing_delay_p50_ns: Option<u64>,
    /// The same of 99 % of the packets.
    #[serde(default)]
    pub queueing_delay_p99_ns: Option<u64>,
    /// The queue over time (`record.sample` of the plan), each row until the next: time
    /// (ns), packets and octets waiting and in service, mean sojourn (ns) of the packets that
    /// left in the sample interval that ends here (of the interval before if none left although
    /// some wait), wire packets dropped and marked so far. Rows that say nothing new are left
    /// out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(u64, u64, u64, u64, u64, u64)>,
    /// Share of the time in which the serializer had work, or a station was sending.
    pub utilization_fraction: f64,
    /// On a shared medium, times that a station's frame collided; none elsewhere.
    pub collisions: u64,
    /// Times (ns) of the first 1000 drops, by cause; one per wire packet. Absent without
    /// drops, on a shared medium and for runs in real time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drop_times_ns: BTreeMap<String, Vec<u64>>,
    /// Drops after these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drop_times_left_out: u64,
    /// The same of marks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mark_times_ns: Vec<u64>,
    /// Marks after these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mark_times_left_out: u64,
}

/// Whether a count is left out.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl HopRecord {
    /// Returns how many wire packets were dropped in all.
    #[must_use]
    pub fn dropped_packets(&self) -> u64 {
        self.drops.values().sum()
    }
}
