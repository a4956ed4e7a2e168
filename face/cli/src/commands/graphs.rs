//! Graphs of the connections of a capture, for whichever command shows one: a
//! page, files for xplot, CSV.
//!
//! The capture is read a second time: the first pass says which connections
//! are the largest and how large their graphs will be. Nothing that exists is
//! written over unless that is asked for; only the page that comes unasked
//! replaces an older one of its kind.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use gigatcp_flows::{Connection, FlowTable, Side};
use gigatcp_report::escape::terminal;
use gigatcp_report::graph::csv::Csv;
use gigatcp_report::graph::xplot::{self, Picture, Xplot};
use gigatcp_report::graph::{PAGE_BUDGET, Page, Plotted, Span, Watch, Watched};
use gigatcp_report::html::is_page;
use gigatcp_units::Bytes;
use gigatcp_units::grammar::{human_bytes, human_duration};

use super::flows::{Capture, Source, facts, read};
use crate::failure::Failure;
use crate::output;

/// Connections that are drawn where none is named.
const MOST_DRAWN: usize = 8;

/// The page that is written where none is named.
pub(super) const REPORT: &str = "report.html";

/// What can be asked for beside what a command prints.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Outputs {
    /// Write a page of graphs to zoom into: time and sequence, throughput, octets in flight, round
    /// trips
    #[arg(long, value_name = "HTML", help_heading = "Graphs")]
    graph: Option<PathBuf>,

    /// Write the same graphs for xplot, into this folder
    #[arg(long, value_name = "DIR", help_heading = "Graphs")]
    xplot: Option<PathBuf>,

    /// Write every segment as a line of CSV
    #[arg(long, value_name = "CSV", help_heading = "Graphs")]
    csv: Option<PathBuf>,

    /// Only this connection, by its number; may be repeated [default: the 8 largest; all for --csv]
    #[arg(long, value_name = "N", help_heading = "Graphs")]
    connection: Vec<usize>,

    /// Replace files that exist
    #[arg(long, help_heading = "Graphs")]
    overwrite: bool,

    /// The page to write although nobody asked for one.
    #[arg(skip)]
    unasked: Option<PathBuf>,
}

impl Outputs {
    /// The same with [`REPORT`] in the working folder, where no page is named.
    /// What stands there is replaced if it is such a page; else that is said.
    pub(crate) fn with_report(&self) -> Self {
        let mut outputs = self.clone();
        let file = Path::new(REPORT);
        if self.graph.is_some() {
            return outputs;
        }
        if file.exists() && !self.overwrite && !is_report(file) {
            output::say(&format!(
                "{REPORT} exists and is no page of gigatcp's: it stays, and none is written \
                 (--graph names another, --no-report wants none)"
            ));
            return outputs;
        }
        outputs.unasked = Some(file.to_owned());
        outputs
    }

    /// Whether the capture has to be read a second time.
    pub(crate) fn reads_again(&self) -> bool {
        self.graph.is_some() || self.unasked.is_some() || self.xplot.is_some() || self.csv.is_some()
    }

    /// Whether it can be done, before long work is begun.
    pub(crate) fn check(&self, captures: usize) -> Result<(), Failure> {
        if !self.reads_again() {
            if self.connection.is_empty() && !self.overwrite {
                return Ok(());
            }
            return Err(Failure::new(
                "--connection and --overwrite are about --graph, --xplot and --csv, and none is asked for",
            ));
        }
        if captures != 1 {
            return Err(Failure::new(format!(
                "graphs are of one capture, and {captures} are named"
            ))
            .hint("call it once for each"));
        }
        for file in self.graph.iter().chain(&self.csv) {
            if file.exists() && !self.overwrite {
                return Err(taken(file));
            }
        }
        Ok(())
    }

    /// Whether nothing but the page that comes by itself is to be written.
    fn is_unasked(&self) -> bool {
        self.unasked.is_some() && self.xplot.is_none() && self.csv.is_none()
    }

    /// Which connections are drawn, the largest first.
    fn drawn(&self, table: &FlowTable) -> Result<Vec<usize>, Failure> {
        if self.connection.is_empty() {
            let octets = |connection: &Connection| {
                Side::BOTH
                    .map(|side| connection.direction(side).bytes())
                    .iter()
                    .sum::<u64>()
            };
            let mut order: Vec<(u64, usize)> = table
                .connections()
                .enumerate()
                .map(|(index, connection)| (octets(connection), index))
                .collect();
            order.sort_by_key(|(octets, index)| (core::cmp::Reverse(*octets), *index));
            order.truncate(MOST_DRAWN);
            return Ok(order.into_iter().map(|(_, index)| index).collect());
        }
        let mut drawn = Vec::new();
        for number in &self.connection {
            let index = number.wrapping_sub(1);
            if table.connection(index).is_none() {
                return Err(Failure::new(format!(
                    "there is no connection {number}: the capture has {}",
                    table.len()
                ))
                .hint("numbers are those of the first column, without --connection"));
            }
            if !drawn.contains(&index) {
                drawn.push(index);
            }
        }
        Ok(drawn)
    }
}

/// Whether the file is a page that was written here before.
fn is_report(file: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(file).and_then(|file| file.take(4096).read_to_end(&mut start));
    read.is_ok() && is_page(&start)
}

fn taken(file: &Path) -> Failure {
    Failure::new(format!("{} exists already", file.display()))
        .effect("nothing was written")
        .hint("--overwrite replaces it")
}

/// Writes what is asked for. `spans` gives stretches of time of a connection to
/// be named beneath its graph, by index and side.
pub(super) fn write(
    outputs: &Outputs,
    source: &Source,
    first: &Capture,
    spans: impl Fn(usize, Side) -> Vec<Span>,
) -> Result<(), Failure> {
    if first.table.is_empty() && outputs.is_unasked() {
        return Ok(());
    }
    if first.table.is_empty() {
        return Err(Failure::new(format!(
            "{} has no TCP connection to draw",
            first.name
        )));
    }
    let drawn = outputs.drawn(&first.table)?;
    let mut watches = BTreeMap::new();
    if outputs.graph.is_some() || outputs.unasked.is_some() || outputs.xplot.is_some() {
        for index in &drawn {
            if let Some(connection) = first.table.connection(*index) {
                watches.insert(*index, Watch::new(connection, first.unit_ns));
            }
        }
    }
    let mut csv = match &outputs.csv {
        Some(file) => {
            let out = BufWriter::with_capacity(1 << 16, create(file, outputs.overwrite)?);
            Some(Csv::new(out).map_err(|error| refused(file, &error))?)
        }
        None => None,
    };
    read(source, |step| {
        let verdict = step.verdict;
        let Some(connection) = step.table.connection(verdict.connection) else {
            return Ok(());
        };
        if let Some(watch) = watches.get_mut(&verdict.connection) {
            watch.handle(step.frame, step.packet, &verdict, connection);
        }
        let is_listed = outputs.connection.is_empty() || drawn.contains(&verdict.connection);
        if let (Some(csv), Some(file), true) = (&mut csv, &outputs.csv, is_listed) {
            let written = csv.write(step.frame, step.packet, &verdict, connection);
            return written.map_err(|error| refused(file, &error));
        }
        Ok(())
    })?;
    if let (Some(csv), Some(file)) = (csv, &outputs.csv) {
        csv.finish().map_err(|error| refused(file, &error))?;
        wrote(file);
    }
    let mut graphs = Vec::new();
    for index in drawn {
        if let Some(watch) = watches.remove(&index) {
            graphs.extend(watch.finish().into_iter().map(|watched| (index, watched)));
        }
    }
    if let Some(file) = &outputs.graph {
        let page = page(first, &graphs, &spans).html(PAGE_BUDGET);
        let written = create(file, outputs.overwrite)?.write_all(page.as_bytes());
        written.map_err(|error| refused(file, &error))?;
        wrote(file);
    }
    if let Some(file) = &outputs.unasked {
        let page = page(first, &graphs, &spans).html(PAGE_BUDGET);
        match fs::write(file, page) {
            Ok(()) => wrote(file),
            // What was asked for is still to be had.
            Err(error) => output::say(&format!(
                "cannot write {REPORT}: {error} (--no-report wants none)"
            )),
        }
    }
    if let Some(folder) = &outputs.xplot {
        for (_, watched) in &mut graphs {
            watched.graph.let_go(xplot::DETAIL);
        }
        write_xplot(outputs, folder, first, &graphs, &spans)?;
    }
    Ok(())
}

fn create(file: &Path, overwrite: bool) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    if overwrite {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.open(file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => taken(file),
        _ => refused(file, &error),
    })
}

fn refused(file: &Path, error: &io::Error) -> Failure {
    Failure::io(&format!("write {}", file.display()), error)
        .effect("what stands there is not complete")
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
    first: &Capture,
    graphs: &'a [(usize, Watched)],
    spans: &impl Fn(usize, Side) -> Vec<Span>,
) -> Page<'a> {
    let plotted = graphs.iter().filter_map(|(index, watched)| {
        let connection = first.table.connection(*index)?;
        Some(Plotted {
            label: format!("{}: {}", index + 1, ends(connection, watched.side)),
            facts: stream_facts(connection, watched.side),
            graph: &watched.graph,
            knows_windows: watched.knows_windows,
            spans: spans(*index, watched.side),
            notes: Vec::new(),
        })
    });
    let count = first.table.len();
    let drawn = graphs.iter().map(|(index, _)| index);
    let drawn = drawn.collect::<std::collections::BTreeSet<_>>().len();
    let about = if drawn < count {
        format!("{drawn} of {count} connections, the largest first")
    } else {
        String::new()
    };
    let facts = [
        ("Format", first.format.clone()),
        ("Packets", first.packets.to_string()),
        ("TCP segments", first.segments.to_string()),
        ("Connections", count.to_string()),
    ];
    Page {
        title: first.name.clone(),
        about,
        facts: facts.map(|(name, value)| (name.into(), value)).to_vec(),
        graphs: plotted.collect(),
    }
}

/// What is worth knowing beside a graph.
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
    let mut shown = vec![("time".to_owned(), human_duration(connection.elapsed()))];
    let known = facts::of(connection, side);
    for key in SHOWN {
        let fact = known.iter().find(|fact| fact.key == key);
        shown.extend(fact.map(|fact| (fact.label.to_owned(), fact.text.clone())));
    }
    shown
}

fn write_xplot(
    outputs: &Outputs,
    folder: &Path,
    first: &Capture,
    graphs: &[(usize, Watched)],
    spans: &impl Fn(usize, Side) -> Vec<Span>,
) -> Result<(), Failure> {
    let made = fs::create_dir_all(folder);
    made.map_err(|error| Failure::io(&format!("make {}", folder.display()), &error))?;
    let name = |index: usize, side: Side, picture: Picture| {
        let file = format!("{}-{}_{}.xpl", index + 1, side.name(), picture.suffix());
        folder.join(file)
    };
    for (index, watched) in graphs {
        for picture in Picture::ALL {
            let file = name(*index, watched.side, picture);
            if file.exists() && !outputs.overwrite {
                return Err(taken(&file));
            }
        }
    }
    for (index, watched) in graphs {
        let Some(connection) = first.table.connection(*index) else {
            continue;
        };
        let xplot = Xplot {
            graph: &watched.graph,
            title: &ends(connection, watched.side),
            first_at: connection.first_at(),
            knows_windows: watched.knows_windows,
            spans: &spans(*index, watched.side),
        };
        for picture in Picture::ALL {
            let file = name(*index, watched.side, picture);
            let mut out = BufWriter::new(create(&file, outputs.overwrite)?);
            let written = xplot.write(picture, &mut out).and_then(|()| out.flush());
            written.map_err(|error| refused(&file, &error))?;
            wrote(&file);
        }
    }
    Ok(())
}
