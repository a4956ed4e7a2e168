//! `analyze`: diagnoses the connections of captures, as objects; returns their packets as Arrow
//! tables.

use std::path::PathBuf;

use gigatcp_analyze::{Answer, Error, Options, Source, follow};
use gigatcp_flows::Side;
use gigatcp_report::graph::row::{Row, Rows};
use gigatcp_run::sweep::arrow::BatchBuilder;
use gigatcp_run::sweep::rows::{Kind, Value};
use gigatcp_run::sweep::tables::Field;
use gigatcp_why::CAUSES;
use pyo3::prelude::*;

use crate::error::failed;
use crate::html;
use crate::table::Table;
use crate::wait::released;

/// Connections and packets of captures.
#[pyclass(frozen, module = "gigatcp")]
pub struct Analysis {
    sources: Vec<Source>,
    /// Packets read, of all captures.
    #[pyo3(get)]
    packet_count: u64,
    /// Oddities of the captures.
    #[pyo3(get)]
    notes: Vec<String>,
    connections: Vec<Py<Connection>>,
}

/// A connection and its diagnosis.
#[pyclass(frozen, get_all, module = "gigatcp")]
pub struct Connection {
    /// Its number in the capture, from 1.
    number: usize,
    /// Number of its capture, from 0.
    capture: usize,
    sender: String,
    receiver: String,
    /// The answer in one sentence.
    sentence: String,
    /// Id of the cause that the sentence names; None if it names none.
    cause: Option<&'static str>,
    /// Id of the second cause of an unsure answer.
    alternative: Option<&'static str>,
    /// Probability that the cause is right, 0 to 1.
    confidence: Option<f64>,
    /// Share of the time that the cause took.
    share: Option<f64>,
    /// Whether the sentence names no single cause.
    unsure: bool,
    /// Whether nothing that can be changed limited it; None if unsure.
    healthy: Option<bool>,
    /// Rate that it would reach without the cause, in words.
    could_be: String,
    gain: Option<Gain>,
    /// Known limits, the lowest first.
    limits: Vec<Limit>,
    /// From the trigger to the effect, in sentences, if TCP's reaction took the time.
    chain: Vec<String>,
    /// Facts in the capture, the most telling first.
    evidence: Vec<Evidence>,
    /// The change; None if unsure, or if nothing is to be changed.
    fix: Option<String>,
    /// Other causes and unknown, with their shares of the time.
    shares: Vec<(&'static str, f64)>,
    /// Certain faults that took no time.
    notes: Vec<String>,
    /// Losses and queues between two captures of the connection.
    between: Option<String>,
    /// Kind of the answer: limited, or what a rule decided.
    outcome: &'static str,
    /// Where the capture was taken.
    capture_point: &'static str,
    start_ns: u64,
    duration_ns: u64,
    delivered_bytes: u64,
    throughput_bps: u64,
    capacity_bps: u64,
    min_rtt_ns: u64,
    unknown_ns: u64,
    verdicts: Vec<Verdict>,
    /// Start and length (ns) of each interval, and the id of its cause.
    spans: Vec<(u64, u64, Option<&'static str>)>,
}

/// Rate that a connection would reach without its cause.
#[pyclass(frozen, get_all, module = "gigatcp")]
#[derive(Clone)]
pub struct Gain {
    /// Payload rate.
    bps: u64,
    /// That over the achieved rate.
    times: f64,
    /// Whether it may be more.
    at_least: bool,
}

/// A limit of a connection.
#[pyclass(frozen, get_all, module = "gigatcp")]
#[derive(Clone)]
pub struct Limit {
    /// Id of its cause.
    cause: &'static str,
    /// Payload rate that it allows.
    bps: u64,
    /// Whether it may allow more.
    at_least: bool,
    /// Its evidence.
    evidence: String,
}

/// A cause that was found, with its evidence.
#[pyclass(frozen, get_all, module = "gigatcp")]
#[derive(Clone)]
pub struct Verdict {
    /// Id of the cause, as for `gigatcp explain`.
    cause: &'static str,
    name: &'static str,
    subject: String,
    /// The finding in a sentence.
    finding: String,
    /// Probability that the verdict is right, 0 to 1.
    confidence: f64,
    /// Additional rate without this cause.
    cost_bps: u64,
    /// Whether the cost is a lower bound.
    cost_at_least: bool,
    evidence: Vec<Evidence>,
    /// Advice, with figures for this path; None if unsure, or if nothing is to be changed.
    fix: Option<String>,
    time_ns: u64,
    share: f64,
    /// Whether it is reported even if it took little time.
    is_note: bool,
}

/// A fact in a capture.
#[pyclass(frozen, get_all, module = "gigatcp")]
#[derive(Clone)]
pub struct Evidence {
    /// Number of a packet, from 1.
    packet: Option<u64>,
    /// Time since the first packet of the connection.
    at_ns: Option<u64>,
    text: String,
}

#[pymethods]
impl Evidence {
    fn __repr__(&self) -> String {
        match self.packet {
            Some(packet) => format!("<packet {packet}: {}>", self.text),
            None => format!("<{}>", self.text),
        }
    }
}

#[pymethods]
impl Gain {
    fn __repr__(&self) -> String {
        let bound = if self.at_least { "at least " } else { "" };
        format!("<gigatcp.Gain {bound}{} bit/s>", self.bps)
    }
}

#[pymethods]
impl Limit {
    fn __repr__(&self) -> String {
        format!("<gigatcp.Limit {}: {} bit/s>", self.cause, self.bps)
    }
}

#[pymethods]
impl Verdict {
    fn __repr__(&self) -> String {
        format!("<gigatcp.Verdict {}: {}>", self.cause, self.finding)
    }
}

#[pymethods]
impl Connection {
    fn __repr__(&self) -> String {
        format!("<gigatcp.Connection {}: {}>", self.number, self.sentence)
    }

    /// The answer with its evidence, for a notebook.
    fn _repr_html_(&self) -> String {
        let ends = format!("{}: {} to {}", self.number, self.sender, self.receiver);
        let fix = self.fix.as_ref().map(|fix| format!("Fix: {fix}"));
        let gain =
            Some(format!("Could be: {}", self.could_be)).filter(|_| !self.could_be.is_empty());
        let lines = [Some(ends), Some(self.sentence.clone()), gain, fix]
            .into_iter()
            .flatten();
        let lines: String = lines
            .chain(self.notes.clone())
            .map(|line| html::paragraph(&line))
            .collect();
        let rows = self.evidence.iter().map(|evidence| {
            let Evidence { packet, text, .. } = evidence;
            vec![
                packet.map_or_else(String::new, |packet| packet.to_string()),
                text.clone(),
            ]
        });
        lines + &html::table(["packet", "evidence"], rows)
    }
}

#[pymethods]
impl Analysis {
    /// The connections that carried data, the largest first.
    #[getter]
    fn connections(&self, py: Python<'_>) -> Vec<Py<Connection>> {
        let connections = self.connections.iter();
        connections
            .map(|connection| connection.clone_ref(py))
            .collect()
    }

    /// Every TCP packet as a row: the captures are read again.
    #[pyo3(signature = (capture=0))]
    fn packets(&self, py: Python<'_>, capture: usize) -> PyResult<Table> {
        self.read(py, capture, |_| true)
    }

    /// A row for each packet that ends an RTT sample, with the bytes in flight.
    #[pyo3(signature = (capture=0))]
    fn samples(&self, py: Python<'_>, capture: usize) -> PyResult<Table> {
        self.read(py, capture, |row| row.rtt_ns.is_some())
    }

    fn __repr__(&self) -> String {
        let (packets, count) = (self.packet_count, self.connections.len());
        format!("<gigatcp.Analysis: {packets} packets, {count} connections with data>")
    }

    /// A row for each of the largest connections, for a notebook.
    fn _repr_html_(&self) -> String {
        /// Connections that are shown.
        const SHOWN: usize = 10;
        let shown = self.connections.iter().take(SHOWN).map(Py::get);
        let rows = shown.map(|connection| {
            let confidence = connection.confidence.map(|share| format!("{share:.2}"));
            vec![
                connection.number.to_string(),
                connection.sender.clone(),
                connection.receiver.clone(),
                connection.sentence.clone(),
                confidence.unwrap_or_default(),
            ]
        });
        let heading = ["#", "sender", "receiver", "answer", "confidence"];
        let (packets, count) = (self.packet_count, self.connections.len());
        let counts = format!("{packets} packets, {count} connections with data");
        html::table(heading, rows) + &html::paragraph(&counts)
    }

    fn __str__(&self, py: Python<'_>) -> String {
        let lines = self.connections.iter().map(|connection| {
            let Connection {
                sender,
                receiver,
                sentence,
                ..
            } = connection.bind(py).get();
            format!("{sender} to {receiver}: {sentence}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Analysis {
    fn read(&self, py: Python<'_>, capture: usize, is_kept: fn(&Row) -> bool) -> PyResult<Table> {
        let source = self.sources.get(capture).ok_or_else(|| {
            let count = self.sources.len();
            failed(
                format!("there is no capture {capture}"),
                "",
                &format!("{count} were read"),
            )
        })?;
        let read = released(py, &Vec::new(), |stop| {
            let options = Options {
                stop: Some(stop),
                ..Options::default()
            };
            let (mut rows, mut packets) = (Rows::default(), packets());
            let read = follow::<Error>(source, &options, |step| {
                let verdict = step.verdict;
                if let Some(connection) = step.table.connection(verdict.connection) {
                    let row = rows.row(step.frame, step.packet, &verdict, connection);
                    if is_kept(&row) {
                        packets.push(values(&row));
                    }
                }
                Ok(())
            });
            read.map(|_| Table::new(packets.schema(), packets.finish()))
        })?;
        read.map_err(|error| unreadable(&error))
    }
}

fn unreadable(error: &Error) -> PyErr {
    let hint = "pcap, pcapng or printed packets; plain, gzip or zstd";
    let mut what = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let said = error.to_string();
        // Some messages already contain their cause.
        if !what.ends_with(&said) {
            what.push_str(&format!(": {said}"));
        }
        cause = error.source();
    }
    failed(what, "nothing was analyzed", hint)
}

/// Columns of the packets: name, unit, meaning, kind.
const COLUMNS: [(&str, &str, &str, Kind); 13] = [
    (
        "frame",
        "",
        "number of the packet in the capture, from 1",
        Kind::Whole,
    ),
    ("at_ns", "ns", "time of capture", Kind::Whole),
    (
        "connection",
        "",
        "number of the connection, from 1",
        Kind::Whole,
    ),
    ("from", "", "who sent it: client or server", Kind::Text),
    ("seq", "bytes", "first position of its data", Kind::Signed),
    ("len_bytes", "bytes", "its data", Kind::Whole),
    (
        "ack",
        "bytes",
        "position that it acknowledges",
        Kind::Signed,
    ),
    (
        "window_bytes",
        "bytes",
        "window that it advertises",
        Kind::Whole,
    ),
    ("sack", "", "SACK blocks: LEFT-RIGHT", Kind::Text),
    (
        "flags",
        "",
        "control bits, as tcpdump prints them",
        Kind::Text,
    ),
    ("kinds", "", "what it is", Kind::Text),
    (
        "outstanding_bytes",
        "bytes",
        "not acknowledged, of the stream it moves",
        Kind::Whole,
    ),
    ("rtt_ns", "ns", "RTT that it ends", Kind::Whole),
];

/// A table of packets without rows.
fn packets() -> BatchBuilder {
    let field = |(name, unit, meaning, kind): (&'static str, _, _, _)| Field {
        name: name.into(),
        unit,
        meaning,
        kind,
    };
    BatchBuilder::new(&COLUMNS.map(field))
}

/// Values of a packet, in the order of [`COLUMNS`].
fn values(row: &Row) -> Vec<Value> {
    let blocks = row
        .sack
        .iter()
        .map(|(left, right)| format!("{left}-{right}"));
    let kinds: Vec<&str> = row.kinds.iter().map(gigatcp_flows::Kind::name).collect();
    vec![
        row.frame.into(),
        row.at_ns.into(),
        (row.connection as u64).into(),
        row.from.to_owned().into(),
        row.seq.into(),
        u64::from(row.len).into(),
        row.ack.into(),
        row.window_bytes.map(u64::from).into(),
        blocks.collect::<Vec<_>>().join(" ").into(),
        row.letters().collect::<String>().into(),
        kinds.join(" ").into(),
        row.outstanding_bytes.into(),
        row.rtt_ns.into(),
    ]
}

/// Diagnoses the connections of captures. Two captures of one connection, from two capture points,
/// are analyzed jointly. Files (pcap, pcapng, printed packets; gzip, zstd) are given by path, or as
/// bytes.
#[pyfunction]
#[pyo3(signature = (capture, *more, threads=None))]
pub fn analyze(
    py: Python<'_>,
    capture: &Bound<'_, PyAny>,
    more: Vec<Bound<'_, PyAny>>,
    threads: Option<u32>,
) -> PyResult<Analysis> {
    let sources = [capture]
        .into_iter()
        .chain(&more)
        .map(source)
        .collect::<PyResult<Vec<_>>>()?;
    let found = released(py, &Vec::new(), |stop| {
        let options = Options {
            threads,
            stop: Some(stop),
            ..Options::default()
        };
        let analysis = gigatcp_analyze::analyze(&sources, &options)?;
        let answers: Vec<(Answer, [String; 2])> = analysis
            .answers()
            .map(|answer| {
                let connections = analysis.captures()[answer.capture].connections();
                let known = connections.connection(answer.connection);
                let sender = answer.diagnosis.sender;
                let endpoint = |side: Side| {
                    known.map_or_else(String::new, |known| known.endpoint(side).to_string())
                };
                let ends = [endpoint(sender), endpoint(sender.other())];
                (answer, ends)
            })
            .collect();
        let about = analysis.captures().iter().map(|capture| capture.info());
        let packets = about.clone().map(|about| about.packets).sum();
        let notes = about.flat_map(|about| about.notes.iter().map(ToString::to_string));
        Ok((answers, packets, notes.collect()))
    })?;
    let (answers, packet_count, notes) = found.map_err(|error: Error| unreadable(&error))?;
    let connections = answers
        .into_iter()
        .map(|(answer, ends)| Py::new(py, connection(answer, ends)));
    Ok(Analysis {
        connections: connections.collect::<PyResult<Vec<_>>>()?,
        sources,
        packet_count,
        notes,
    })
}

fn source(capture: &Bound<'_, PyAny>) -> PyResult<Source> {
    if let Ok(bytes) = capture.extract::<Vec<u8>>() {
        return Ok(Source::bytes("bytes", bytes));
    }
    Ok(Source::file(capture.extract::<PathBuf>()?))
}

fn connection(answer: Answer, [sender, receiver]: [String; 2]) -> Connection {
    let found = answer.diagnosis;
    let said = found.answer();
    let named = |verdict| self::verdict(verdict, found.fix_of(verdict));
    let spans = found.spans.iter().map(|span| {
        let cause = span.cause.map(|cause| CAUSES[cause].id);
        (span.start.as_nanos(), span.length.as_nanos(), cause)
    });
    Connection {
        number: answer.connection + 1,
        capture: answer.capture,
        sender,
        receiver,
        sentence: said.sentence,
        cause: said.cause.map(|cause| cause.id),
        alternative: said.alternative.map(|cause| cause.id),
        confidence: said.confidence,
        share: said.share,
        unsure: said.is_unsure,
        healthy: said.is_healthy,
        could_be: said.could_be,
        gain: said.gain.map(|gain| Gain {
            bps: gain.rate.as_bps(),
            times: gain.times,
            at_least: gain.is_lower_bound,
        }),
        limits: said.limits.into_iter().map(limit).collect(),
        chain: said.chain,
        evidence: said.evidence.iter().map(evidence).collect(),
        fix: said.fix,
        shares: said.shares,
        notes: said.notes,
        between: said.between,
        outcome: found.outcome.name(),
        capture_point: found.capture_point.name(),
        start_ns: found.start.as_nanos(),
        duration_ns: found.duration.as_nanos(),
        delivered_bytes: found.delivered.as_u64(),
        throughput_bps: found.throughput.as_bps(),
        capacity_bps: found.capacity.rate().as_bps(),
        min_rtt_ns: found.min_rtt.as_nanos(),
        unknown_ns: found.unknown.as_nanos(),
        verdicts: found.verdicts.iter().map(named).collect(),
        spans: spans.collect(),
    }
}

fn limit(limit: gigatcp_why::Limit) -> Limit {
    Limit {
        cause: limit.cause.id,
        bps: limit.rate.as_bps(),
        at_least: limit.is_lower_bound,
        evidence: limit.evidence,
    }
}

fn evidence(piece: &gigatcp_why::Evidence) -> Evidence {
    Evidence {
        packet: piece.packet,
        at_ns: piece.at.map(|at| at.as_nanos()),
        text: piece.text.clone(),
    }
}

fn verdict(found: &gigatcp_why::Verdict, fix: Option<&String>) -> Verdict {
    Verdict {
        cause: found.cause.id,
        name: found.cause.name,
        subject: found.subject.clone(),
        finding: found.finding.clone(),
        confidence: found.confidence,
        cost_bps: found.cost.rate.as_bps(),
        cost_at_least: found.cost.at_least,
        evidence: found.evidence.iter().map(evidence).collect(),
        fix: fix.cloned(),
        time_ns: found.time.as_nanos(),
        share: found.share,
        is_note: found.is_note,
    }
}
