//! `analyze`: diagnoses the connections of captures, as objects; returns their packets as Arrow
//! tables.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType::{Int64, UInt32, UInt64, Utf8};
use arrow_schema::{DataType, Field, Schema};
use gigatcp_analyze::{Answer, Error, Options, Source, follow};
use gigatcp_flows::{Kind, Side};
use gigatcp_report::graph::row::{Row, Rows};
use gigatcp_why::CAUSES;
use pyo3::prelude::*;

use crate::error::failed;
use crate::html;
use crate::table::Table;
use crate::wait::released;

/// Rows of a batch.
const BATCH: usize = 1 << 16;

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
    gain: Option<Py<Gain>>,
    /// Known limits, the lowest first.
    limits: Vec<Py<Limit>>,
    /// From the trigger to the effect, in sentences, if TCP's reaction took the time.
    chain: Vec<String>,
    /// Facts in the capture, the most telling first.
    evidence: Vec<Py<Evidence>>,
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
    verdicts: Vec<Py<Verdict>>,
    /// Start and length (ns) of each interval, and the id of its cause.
    spans: Vec<(u64, u64, Option<&'static str>)>,
}

/// Rate that a connection would reach without its cause.
#[pyclass(frozen, get_all, module = "gigatcp")]
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
    evidence: Vec<Py<Evidence>>,
    /// Advice, with figures for this path; None if unsure, or if nothing is to be changed.
    fix: Option<String>,
    time_ns: u64,
    share: f64,
    /// Whether it is reported even if it took little time.
    is_note: bool,
}

/// A fact in a capture.
#[pyclass(frozen, get_all, module = "gigatcp")]
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
            let Evidence { packet, text, .. } = evidence.get();
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
        self.read(py, capture, Packets::new(), |_| true)
    }

    /// A row for each packet that ends an RTT sample, with the bytes in flight.
    #[pyo3(signature = (capture=0))]
    fn samples(&self, py: Python<'_>, capture: usize) -> PyResult<Table> {
        self.read(py, capture, Packets::new(), |row| row.rtt_ns.is_some())
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
    fn read(
        &self,
        py: Python<'_>,
        capture: usize,
        mut packets: Packets,
        is_kept: fn(&Row) -> bool,
    ) -> PyResult<Table> {
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
            let mut rows = Rows::default();
            let read = follow::<Error>(source, &options, |step| {
                let verdict = step.verdict;
                if let Some(connection) = step.table.connection(verdict.connection) {
                    let row = rows.row(step.frame, step.packet, &verdict, connection);
                    if is_kept(&row) {
                        packets.push(&row);
                    }
                }
                Ok(())
            });
            read.map(|_| packets.finish())
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

/// Packets, column by column.
struct Packets {
    schema: Arc<Schema>,
    whole: [UInt64Builder; 3],
    numbers: [UInt32Builder; 2],
    positions: [Int64Builder; 2],
    optional: [UInt64Builder; 2],
    texts: [StringBuilder; 4],
    rows: usize,
    batches: Vec<RecordBatch>,
}

/// Name, unit, meaning and type of the columns of packets.
const COLUMNS: [(&str, &str, &str, DataType); 13] = [
    (
        "frame",
        "",
        "number of the packet in the capture, from 1",
        UInt64,
    ),
    ("at_ns", "ns", "time of capture", UInt64),
    ("connection", "", "number of the connection, from 1", UInt32),
    ("from", "", "who sent it: client or server", Utf8),
    ("seq", "bytes", "first position of its data", Int64),
    ("len_bytes", "bytes", "its data", UInt32),
    ("ack", "bytes", "position that it acknowledges", Int64),
    ("window_bytes", "bytes", "window that it advertises", UInt64),
    ("sack", "", "SACK blocks: LEFT-RIGHT", Utf8),
    ("flags", "", "control bits, as tcpdump prints them", Utf8),
    ("kinds", "", "what it is", Utf8),
    (
        "outstanding_bytes",
        "bytes",
        "not acknowledged, of the stream it moves",
        UInt64,
    ),
    ("rtt_ns", "ns", "RTT that it ends", UInt64),
];

impl Packets {
    fn new() -> Self {
        let fields = COLUMNS.into_iter().map(|(name, unit, meaning, kind)| {
            let metadata = [("unit", unit), ("meaning", meaning)]
                .map(|(key, text)| (key.to_owned(), text.to_owned()));
            Field::new(name, kind, true).with_metadata(metadata.into())
        });
        Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            whole: Default::default(),
            numbers: Default::default(),
            positions: Default::default(),
            optional: Default::default(),
            texts: Default::default(),
            rows: 0,
            batches: Vec::new(),
        }
    }

    fn push(&mut self, row: &Row) {
        let [frames, times, outstanding] = &mut self.whole;
        frames.append_value(row.frame);
        times.append_value(row.at_ns);
        outstanding.append_value(row.outstanding_bytes);
        let [connections, lengths] = &mut self.numbers;
        connections.append_value(row.connection as u32);
        lengths.append_value(row.len);
        let [seqs, acks] = &mut self.positions;
        seqs.append_value(row.seq);
        acks.append_option(row.ack);
        let [windows, rtts] = &mut self.optional;
        windows.append_option(row.window_bytes.map(u64::from));
        rtts.append_option(row.rtt_ns);
        let [from, sack, flags, kinds] = &mut self.texts;
        from.append_value(row.from);
        let blocks = row
            .sack
            .iter()
            .map(|(left, right)| format!("{left}-{right}"));
        sack.append_value(blocks.collect::<Vec<_>>().join(" "));
        flags.append_value(row.letters().collect::<String>());
        let names: Vec<&str> = row.kinds.iter().map(Kind::name).collect();
        kinds.append_value(names.join(" "));
        self.rows += 1;
        if self.rows == BATCH {
            self.take();
        }
    }

    fn take(&mut self) {
        self.rows = 0;
        let [frames, times, outstanding] = &mut self.whole;
        let [connections, lengths] = &mut self.numbers;
        let [seqs, acks] = &mut self.positions;
        let [windows, rtts] = &mut self.optional;
        let [from, sack, flags, kinds] = &mut self.texts;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(frames.finish()),
            Arc::new(times.finish()),
            Arc::new(connections.finish()),
            Arc::new(from.finish()),
            Arc::new(seqs.finish()),
            Arc::new(lengths.finish()),
            Arc::new(acks.finish()),
            Arc::new(windows.finish()),
            Arc::new(sack.finish()),
            Arc::new(flags.finish()),
            Arc::new(kinds.finish()),
            Arc::new(outstanding.finish()),
            Arc::new(rtts.finish()),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        self.batches
            .push(batch.expect("columns are those of the schema"));
    }

    fn finish(mut self) -> Table {
        if self.rows > 0 || self.batches.is_empty() {
            self.take();
        }
        Table::new(self.schema, self.batches)
    }
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
        .map(|(answer, ends)| connection(py, answer, ends));
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

fn connection(
    py: Python<'_>,
    answer: Answer,
    [sender, receiver]: [String; 2],
) -> PyResult<Py<Connection>> {
    let found = answer.diagnosis;
    let said = found.answer();
    let named = |found_cause| verdict(py, found_cause, found.fix_of(found_cause));
    let verdicts = found.verdicts.iter().map(named);
    let spans = found.spans.iter().map(|span| {
        let cause = span.cause.map(|cause| CAUSES[cause].id);
        (span.start.as_nanos(), span.length.as_nanos(), cause)
    });
    let limits = said.limits.iter().map(|said| limit(py, said));
    let connection = Connection {
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
        gain: said.gain.map(|gain| self::gain(py, gain)).transpose()?,
        limits: limits.collect::<PyResult<_>>()?,
        chain: said.chain,
        evidence: evidence(py, &said.evidence)?,
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
        verdicts: verdicts.collect::<PyResult<_>>()?,
        spans: spans.collect(),
    };
    Py::new(py, connection)
}

fn gain(py: Python<'_>, gain: gigatcp_why::Gain) -> PyResult<Py<Gain>> {
    let gain = Gain {
        bps: gain.rate.as_bps(),
        times: gain.times,
        at_least: gain.is_lower_bound,
    };
    Py::new(py, gain)
}

fn limit(py: Python<'_>, limit: &gigatcp_why::Limit) -> PyResult<Py<Limit>> {
    let limit = Limit {
        cause: limit.cause.id,
        bps: limit.rate.as_bps(),
        at_least: limit.is_lower_bound,
        evidence: limit.evidence.clone(),
    };
    Py::new(py, limit)
}

fn evidence(py: Python<'_>, pieces: &[gigatcp_why::Evidence]) -> PyResult<Vec<Py<Evidence>>> {
    let evidence = pieces.iter().map(|piece| {
        let evidence = Evidence {
            packet: piece.packet,
            at_ns: piece.at.map(|at| at.as_nanos()),
            text: piece.text.clone(),
        };
        Py::new(py, evidence)
    });
    evidence.collect()
}

fn verdict(
    py: Python<'_>,
    found: &gigatcp_why::Verdict,
    fix: Option<&String>,
) -> PyResult<Py<Verdict>> {
    let verdict = Verdict {
        cause: found.cause.id,
        name: found.cause.name,
        subject: found.subject.clone(),
        finding: found.finding.clone(),
        confidence: found.confidence,
        cost_bps: found.cost.rate.as_bps(),
        cost_at_least: found.cost.at_least,
        evidence: evidence(py, &found.evidence)?,
        fix: fix.cloned(),
        time_ns: found.time.as_nanos(),
        share: found.share,
        is_note: found.is_note,
    };
    Py::new(py, verdict)
}
