//! Graphs of the connections of a capture, for several commands: a page, files for xplot, CSV.
//!
//! The capture is read twice. The first pass finds the largest connections and the size of their
//! graphs. In the second, threads share the connections that are drawn and skip all others. No
//! existing file is overwritten without `--overwrite`.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use gigatcp_analyze::{CaptureInfo, Chosen, Options, Source, Visitor};
use gigatcp_flows::{Connection, Observed, Side, Verdict};
use gigatcp_report::escape::terminal;
use gigatcp_report::graph::csv::Csv;
use gigatcp_report::graph::xplot::{self, Picture, Xplot};
use gigatcp_report::graph::{DiagnosisText, PAGE_BUDGET, Page, Plotted, Span, Watch, Watched};
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Bytes, Rate};

use super::flows::{self, facts};
use crate::atomic_file::{AtomicFile, refused};
use crate::failure::Failure;
use crate::output;

/// Maximum number of connections drawn by default.
const MAX_DRAWN: usize = 8;

/// Maximum number of intervals named in graphs for xplot, the longest ones.
const MAX_NAMED: usize = 200;

/// Files a command can write in addition to its output.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Outputs {
    /// Write the report page: causes, rate, RTT, bytes in flight and losses over time, to zoom into
    #[arg(long, value_name = "FILE", help_heading = "Graphs")]
    report: Option<PathBuf>,

    /// Write the same graphs for xplot, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Graphs")]
    xplot: Option<PathBuf>,

    /// Write every segment as a line of CSV
    #[arg(long, value_name = "CSV", help_heading = "Graphs")]
    csv: Option<PathBuf>,

    /// Only this connection, by its number; may be repeated [default: the 8 largest; all for --csv]
    #[arg(long, value_name = "N", help_heading = "Graphs")]
    connection: Vec<usize>,

    /// Replace files that exist and are named here
    #[arg(long, help_heading = "Graphs")]
    overwrite: bool,

    /// A copy of the capture with comments, which only some commands write.
    #[arg(skip)]
    annotated: Option<PathBuf>,
}

impl Outputs {
    /// Whether the capture has to be read a second time.
    pub(crate) fn reads_again(&self) -> bool {
        self.draws() || self.annotated.is_some()
    }

    /// Whether a graph or table of packets is written.
    pub(super) fn draws(&self) -> bool {
        self.report.is_some() || self.xplot.is_some() || self.csv.is_some()
    }

    /// The same outputs with a copy of the capture with comments.
    pub(super) fn with_annotated(&self, file: Option<&PathBuf>) -> Self {
        Self {
            annotated: file.cloned(),
            ..self.clone()
        }
    }

    /// The copy of the capture with comments, if it is requested.
    pub(super) fn annotated(&self) -> Option<&Path> {
        self.annotated.as_deref()
    }

    /// Checks that the outputs can be written, before long work begins.
    pub(crate) fn check(&self, captures: usize) -> Result<(), Failure> {
        if !self.reads_again() {
            if self.connection.is_empty() && !self.overwrite {
                return Ok(());
            }
            return Err(Failure::new(
                "--connection and --overwrite apply to --report, --xplot and --csv, and none is given",
            )
            .hint("as in `--report page.html --overwrite`"));
        }
        if captures != 1 {
            let what = if self.draws() {
                "graphs are"
            } else {
                "an annotated copy is"
            };
            return Err(
                Failure::new(format!("{what} of one capture, and {captures} are named"))
                    .hint("call it once for each"),
            );
        }
        for file in self.report.iter().chain(&self.csv).chain(&self.annotated) {
            if file.is_file() && !self.overwrite {
                return Err(exists(file));
            }
            AtomicFile::check(file)?;
        }
        match &self.xplot {
            Some(directory) if directory.exists() && !directory.is_dir() => {
                Err(Failure::new(format!(
                    "{} is a file, and graphs for xplot are several",
                    directory.display()
                ))
                .effect("nothing was written")
                .hint("name a directory"))
            }
            Some(directory) if directory.as_os_str() == "-" => Err(Failure::new(
                "`-` is standard output, and graphs for xplot are several files",
            )
            .effect("nothing was written")
            .hint("name a directory; one of that name is `./-`")),
            _ => Ok(()),
        }
    }

    /// Checks that no output would replace one of `inputs` or another output, which `--overwrite`
    /// does not allow either.
    pub(super) fn check_distinct(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let outputs = [&self.report, &self.csv, &self.annotated]
            .into_iter()
            .flatten();
        let mut places: Vec<PathBuf> = inputs.iter().map(|file| resolved(file)).collect();
        // A device can have several uses.
        for file in outputs.filter(|file| file.is_file() || !file.exists()) {
            let place = resolved(file);
            if places.contains(&place) {
                let name = file.display();
                return Err(
                    Failure::new(format!("{name} has another use in this command"))
                        .effect("nothing was written")
                        .hint("name a file for each output that is no input"),
                );
            }
            places.push(place);
        }
        Ok(())
    }

    /// Connections to draw, the largest first.
    fn drawn(&self, survey: &Survey<'_>) -> Result<Vec<usize>, Failure> {
        let count = survey.connections.len();
        if self.connection.is_empty() {
            let bytes = |index: &usize| {
                let (connection, _) = survey.connections[*index];
                let both = Side::BOTH.map(|side| connection.direction(side).bytes());
                core::cmp::Reverse(both[0] + both[1])
            };
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by_key(bytes);
            order.truncate(MAX_DRAWN);
            return Ok(order);
        }
        self.named(count)
    }

    /// Requested ones of `count` connections, in the order given. Empty if none is given.
    pub(super) fn named(&self, count: usize) -> Result<Vec<usize>, Failure> {
        let mut named = Vec::new();
        for number in &self.connection {
            let index = number.wrapping_sub(1);
            if index >= count {
                return Err(Failure::new(format!(
                    "there is no connection {number}: the file has {count}"
                ))
                .hint("`gigatcp flows FILE` shows those of a capture with their numbers"));
            }
            if !named.contains(&index) {
                named.push(index);
            }
        }
        Ok(named)
    }

    /// Checks the outputs of commands that also describe connections in text. Unlike `check`, it
    /// accepts `--connection` without a graph.
    pub(super) fn check_with_text(&self, captures: usize) -> Result<(), Failure> {
        if self.reads_again() || self.overwrite || self.connection.is_empty() {
            return self.check(captures);
        }
        if captures == 1 {
            return Ok(());
        }
        Err(Failure::new(format!(
            "--connection is a number in one capture, and {captures} are named"
        ))
        .hint("call it once for each"))
    }
}

/// The place of a file that may not exist, symbolic links followed.
fn resolved(file: &Path) -> PathBuf {
    if let Ok(place) = file.canonicalize() {
        return place;
    }
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
        .canonicalize();
    match (folder, file.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => file.to_owned(),
    }
}

fn exists(file: &Path) -> Failure {
    Failure::new(format!("{} exists already", file.display()))
        .effect("nothing was written")
        .hint("--overwrite replaces it")
}

/// The longest intervals, in the order of time.
fn longest(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| core::cmp::Reverse(span.to_ns - span.from_ns));
    spans.truncate(MAX_NAMED);
    spans.sort_by_key(|span| span.from_ns);
    spans
}

/// Limits of a stream for its graph. They consist of intervals of one cause each, and the answer.
#[derive(Default)]
pub(super) struct StreamDiagnosis {
    pub(super) spans: Vec<Span>,
    pub(super) said: DiagnosisText,
}

/// Results of the first pass over a capture.
pub(super) struct Survey<'a> {
    pub(super) name: &'a str,
    pub(super) info: &'a CaptureInfo,
    pub(super) segments: u64,
    /// In order, each with the number of its first packet.
    pub(super) connections: Vec<(&'a Connection, u64)>,
    /// Resolution: all times are multiples of it.
    pub(super) unit_ns: u64,
    /// Number of threads, if given.
    pub(super) threads: Option<u32>,
}

/// Writes the requested graphs. `known` describes a connection by index and side.
pub(super) fn write(
    outputs: &Outputs,
    source: &Source,
    first: &Survey<'_>,
    known: impl Fn(usize, Side) -> Result<StreamDiagnosis, Failure>,
) -> Result<(), Failure> {
    if first.connections.is_empty() {
        return Err(Failure::new(format!(
            "{} has no TCP connection to draw",
            first.name
        )));
    }
    let drawn = outputs.drawn(first)?;
    if let Some(file) = &outputs.csv {
        write_csv(outputs, source, file, &drawn)?;
    }
    let mut graphs = Vec::new();
    if outputs.report.is_some() || outputs.xplot.is_some() {
        graphs = watch(source, first, &drawn)?;
    }
    if let Some(file) = &outputs.report {
        let page = page(first, &graphs, &known)?.html(PAGE_BUDGET);
        AtomicFile::write(file, page.as_bytes())?;
        wrote(file);
    }
    if let Some(directory) = &outputs.xplot {
        for (_, watched) in &mut graphs {
            watched.graph.drop_points(xplot::DETAIL);
        }
        write_xplot(outputs, directory, first, &graphs, &known)?;
    }
    Ok(())
}

/// Writes every segment as a line of CSV.
fn write_csv(
    outputs: &Outputs,
    source: &Source,
    file: &Path,
    drawn: &[usize],
) -> Result<(), Failure> {
    let out = BufWriter::with_capacity(1 << 16, AtomicFile::begin(file)?);
    let mut csv = Csv::new(out).map_err(|error| refused(file, &error))?;
    flows::read(source, |step| {
        let verdict = step.verdict;
        let is_listed = outputs.connection.is_empty() || drawn.contains(&verdict.connection);
        match step.table.connection(verdict.connection) {
            Some(connection) if is_listed => csv
                .write(step.frame, step.packet, &verdict, connection)
                .map_err(|error| refused(file, &error)),
            _ => Ok(()),
        }
    })?;
    finish(csv.finish().map_err(|error| refused(file, &error))?, file)
}

/// Graphs of the drawn connections, in their order.
fn watch(
    source: &Source,
    first: &Survey<'_>,
    drawn: &[usize],
) -> Result<Vec<(usize, Watched)>, Failure> {
    let options = Options {
        threads: first.threads,
        ..Options::default()
    };
    let chosen = drawn.iter().map(|index| {
        let (connection, first_packet) = first.connections[*index];
        Chosen {
            connection,
            first_packet,
        }
    });
    let chosen: Vec<Chosen<'_>> = chosen.collect();
    let begin = |_, connection: &Connection| Drawing(Watch::new(connection, first.unit_ns));
    let graphs = gigatcp_analyze::revisit(source, &options, &chosen, begin)?;
    let graphs = drawn
        .iter()
        .zip(graphs)
        .flat_map(|(index, graphs)| graphs.into_iter().map(|watched| (*index, watched)));
    Ok(graphs.collect())
}

/// Builds the graphs of a connection as its packets pass.
struct Drawing(Watch);

impl Visitor for Drawing {
    type Output = Vec<Watched>;

    fn handle_packet(
        &mut self,
        number: u64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) {
        self.0.handle(number, packet, verdict, connection);
    }

    fn finish(self) -> Vec<Watched> {
        self.0.finish()
    }
}

/// Completes a file that was written in parts.
pub(super) fn finish(out: BufWriter<AtomicFile>, file: &Path) -> Result<(), Failure> {
    let all = out.into_inner().map_err(io::IntoInnerError::into_error);
    let finished = all.and_then(AtomicFile::finish);
    finished.map_err(|error| refused(file, &error))?;
    wrote(file);
    Ok(())
}

fn wrote(file: &Path) {
    let size = fs::metadata(file).map_or(0, |about| about.len());
    let name = terminal(&file.display().to_string());
    output::say(&format!("wrote {name} ({})", human_bytes(Bytes::new(size))));
}

fn ends(connection: &Connection, from: Side) -> String {
    let (from, to) = (connection.endpoint(from), connection.endpoint(from.other()));
    format!("{from} to {to}")
}

fn page<'a>(
    first: &Survey<'_>,
    graphs: &'a [(usize, Watched)],
    known: &impl Fn(usize, Side) -> Result<StreamDiagnosis, Failure>,
) -> Result<Page<'a>, Failure> {
    let mut plotted = graphs
        .iter()
        .map(|(index, watched)| {
            let (connection, _) = first.connections[*index];
            let mut known = known(*index, watched.side)?;
            let has_verdict = !known.said.headline.is_empty();
            if !has_verdict {
                known.said.headline = counted(connection, watched.side);
            }
            let plotted = Plotted {
                label: format!("{}: {}", index + 1, ends(connection, watched.side)),
                facts: stream_facts(connection, watched.side),
                graph: &watched.graph,
                knows_windows: watched.knows_windows,
                spans: known.spans,
                said: known.said,
                notes: Vec::new(),
            };
            Ok((has_verdict, plotted))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    // The page opens on the first: a direction with a verdict.
    plotted.sort_by_key(|(has_verdict, _)| !has_verdict);
    let count = first.connections.len();
    let drawn = graphs
        .iter()
        .map(|(index, _)| index)
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    let about = if drawn < count {
        format!("{drawn} of {count} connections, the largest first")
    } else {
        String::new()
    };
    let facts = [
        ("Format", first.info.format.to_string()),
        ("Packets", first.info.packets.to_string()),
        ("TCP segments", first.segments.to_string()),
        ("Connections", count.to_string()),
    ];
    Ok(Page {
        title: first.name.to_owned(),
        about,
        facts: facts.map(|(name, value)| (name.into(), value)).to_vec(),
        graphs: plotted.into_iter().map(|(_, graph)| graph).collect(),
    })
}

/// The rate of a stream without a verdict, as a headline.
fn counted(connection: &Connection, side: Side) -> String {
    let bytes = Bytes::new(connection.direction(side).unique_bytes());
    let elapsed = connection.elapsed();
    let rate = human_rate(Rate::from_amount(bytes, elapsed));
    let (bytes, elapsed) = (human_bytes(bytes), human_duration(elapsed));
    format!("{rate}: {bytes} in {elapsed}")
}

/// Facts to show next to a graph.
fn stream_facts(connection: &Connection, side: Side) -> Vec<(String, String)> {
    const SHOWN: [&str; 9] = [
        "unique_bytes",
        "retransmitted_segments",
        "spurious_segments",
        "out_of_order",
        "rtt_min_ns",
        "rtt_mean_ns",
        "rtt_max_ns",
        "outstanding_max_bytes",
        "idle_max_ns",
    ];
    let mut shown = vec![("duration".to_owned(), human_duration(connection.elapsed()))];
    let known = facts::of(facts::Whose {
        connection,
        side,
        detail: None,
        context: None,
    });
    for key in SHOWN {
        let fact = known.iter().find(|fact| fact.key == key);
        shown.extend(fact.map(|fact| (fact.label.to_owned(), fact.value.text())));
    }
    shown
}

fn write_xplot(
    outputs: &Outputs,
    directory: &Path,
    first: &Survey<'_>,
    graphs: &[(usize, Watched)],
    known: &impl Fn(usize, Side) -> Result<StreamDiagnosis, Failure>,
) -> Result<(), Failure> {
    let made = fs::create_dir_all(directory);
    made.map_err(|error| {
        Failure::at("create the directory", directory, &error)
            .effect("no graphs were written for xplot")
            .hint("name a directory that can be created, as in `--xplot graphs`")
    })?;
    let name = |index: usize, side: Side, picture: Picture| {
        let file = format!("{}-{}_{}.xpl", index + 1, side.name(), picture.suffix());
        directory.join(file)
    };
    for (index, watched) in graphs {
        for picture in Picture::ALL {
            let file = name(*index, watched.side, picture);
            if file.exists() && !outputs.overwrite {
                return Err(exists(&file));
            }
        }
    }
    for (index, watched) in graphs {
        let (connection, _) = first.connections[*index];
        let xplot = Xplot {
            graph: &watched.graph,
            title: &ends(connection, watched.side),
            first_at: connection.first_at(),
            knows_windows: watched.knows_windows,
            spans: &longest(known(*index, watched.side)?.spans),
        };
        for picture in Picture::ALL {
            let file = name(*index, watched.side, picture);
            let mut out = BufWriter::new(AtomicFile::begin(&file)?);
            let written = xplot.write(picture, &mut out);
            written.map_err(|error| refused(&file, &error))?;
            finish(out, &file)?;
        }
    }
    Ok(())
}
