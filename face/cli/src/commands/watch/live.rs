//! Periodic snapshots, one connection in depth, and the summary at the end.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use gigatcp_linux::clock;
use gigatcp_meter::filter::Filter;
use gigatcp_meter::watch::{Connection, Watch};
use gigatcp_report::escape::terminal;
use gigatcp_report::why::answer::{self, ConnectionLabel};
use gigatcp_report::why::detail;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_why::counters::End;

use super::metrics::Metrics;
use super::recorder::Recording;
use super::{Arguments, json, record, table};
use crate::atomic_file::AtomicFile;
use crate::commands::Outcome;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::values;

/// Maximum number of connections listed; the others are counted.
const LINES: usize = 20;

/// Maximum number of connections in the summary.
const SUMMARY: usize = 8;

/// Minimum bytes of a connection in the summary, unless it is the only one.
const MIN_BYTES: Bytes = Bytes::new(10_000);

/// Time slices kept for one connection in depth.
const DEEP: usize = 512;

/// Time between two lines of one connection in depth.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Takes snapshots until Ctrl-C or until the count is reached.
pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let filter =
        Filter::parse(&arguments.filter.join(" "), &values::addresses).map_err(|what| {
            Failure::new(format!("the filter cannot be read: {what}"))
                .effect("nothing is watched")
                .hint("as in `gigatcp watch 'dport = :443 and not dst 10.0.0.0/8'`")
        })?;
    let interrupt = Interrupt::listen()?;
    let watch = Watch::new(filter).map_err(|error| cannot(&error))?;
    match arguments.connection {
        Some(id) => deep(arguments, watch.with_slices(DEEP), id, &interrupt),
        None => list(arguments, watch, &interrupt),
    }
}

fn cannot(error: &io::Error) -> Failure {
    Failure::io("list the kernel's connections (sock_diag)", error)
        .hint("the kernel needs CONFIG_INET_DIAG, or `modprobe inet_diag tcp_diag`")
}

pub(super) fn now() -> Instant {
    Instant::from_nanos(clock::monotonic().unsigned_abs())
}

/// Waits until `until`, or until the program is to end.
fn wait(until: Instant, stop: &AtomicBool) {
    /// Interval between checks of `stop`.
    const STEP: Duration = Duration::from_millis(50);
    while !stop.load(Ordering::SeqCst) {
        let left = until.saturating_since(now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(STEP).into());
    }
}

/// Schedule of snapshots: every `interval`; one that is overdue is skipped.
struct Schedule {
    next: Instant,
    interval: Duration,
    left: Option<u64>,
}

impl Schedule {
    fn new(interval: Duration, count: Option<u64>) -> Self {
        Self {
            next: now(),
            interval,
            left: count,
        }
    }

    /// Waits for the next snapshot; `None` if there is none.
    fn next(&mut self, stop: &AtomicBool) -> Option<Instant> {
        match &mut self.left {
            Some(0) => return None,
            Some(left) => *left -= 1,
            None => {}
        }
        wait(self.next, stop);
        let at = now();
        while self.next <= at {
            self.next += self.interval;
        }
        (!stop.load(Ordering::SeqCst)).then_some(at)
    }
}

/// Watches all connections.
fn list(
    arguments: &Arguments,
    mut watch: Watch,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let interval = arguments.interval.unwrap_or(Duration::from_secs(1));
    // The first snapshot has no rates and is not shown.
    let mut schedule = Schedule::new(interval, arguments.count.map(|count| count + 1));
    let record = arguments.record.as_deref();
    let mut recording = record
        .map(|place| Recording::begin(place, interval, interrupt))
        .transpose()?;
    let mut metrics = arguments.open_metrics.map(Metrics::serve).transpose()?;
    let refreshes = io::stdout().is_terminal() && !arguments.json_lines;
    // A recorder runs for weeks: a table for each sample would fill a log.
    let is_silent = recording.is_some() && !refreshes && !arguments.json_lines;
    if is_silent && metrics.is_none() {
        watch = watch.with_slices(0);
    }
    let mut is_first = true;
    while let Some(at) = schedule.next(interrupt.stop()) {
        watch.sample(at).map_err(|error| cannot(&error))?;
        if let Some(recording) = &mut recording {
            recording.add(&watch, at);
        }
        if std::mem::take(&mut is_first) {
            continue;
        }
        if is_silent {
            recording
                .iter_mut()
                .for_each(|recording| recording.say_hourly(at));
            if metrics.is_none() {
                continue;
            }
        }
        let all = watch.connections();
        if let Some(metrics) = &mut metrics {
            metrics.put(&all, at);
        }
        if arguments.json_lines {
            output::print(&json::lines(&all))?;
        } else if !is_silent {
            let width = output::columns();
            output::print(&table::snapshot(&all, LINES, refreshes, width))?;
            if let Some(recording) = recording.as_ref().filter(|_| refreshes) {
                output::print_lines(&recording.line())?;
            }
        }
    }
    if !arguments.json_lines && !is_silent {
        output::print(&summary(&watch))?;
    }
    if let Some(recording) = recording {
        recording.finish(&watch)?;
    }
    Ok(ended(interrupt))
}

/// Watches one connection.
fn deep(
    arguments: &Arguments,
    mut watch: Watch,
    id: u32,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let interval = arguments.interval.unwrap_or(Duration::from_millis(10));
    arguments
        .report
        .iter()
        .try_for_each(|place| AtomicFile::check_new(place))?;
    watch.sample(now()).map_err(|error| cannot(&error))?;
    if watch.connection(id).is_none() {
        return Err(
            Failure::new(format!("no connection that is watched has the ID {id}"))
                .hint("`gigatcp watch` lists them with their IDs"),
        );
    }
    let mut schedule = Schedule::new(interval, arguments.count);
    let mut next_line = now() + LINE_EVERY;
    let mut since = Since::default();
    let mut kept = record::Kept::default();
    if !arguments.json_lines {
        output::print(&table::timeline_head(output::columns()))?;
    }
    while let Some(at) = schedule.next(interrupt.stop()) {
        if !watch.sample_one(id, at).map_err(|error| cannot(&error))? {
            break;
        }
        let Some(connection) = watch.connection(id) else {
            break;
        };
        if arguments.report.is_some() {
            kept.add_snapshot(connection, at);
        }
        if arguments.json_lines {
            output::print(&json::lines(&[connection]))?;
        } else if at >= next_line {
            output::print(&table::timeline(
                connection,
                since.rates(connection, at),
                since.started(at),
                output::columns(),
            ))?;
            next_line += LINE_EVERY;
        } else {
            since.begin(connection, at);
        }
    }
    if !arguments.json_lines
        && let Some(connection) = watch.connection(id)
    {
        output::print(&format!("\n{}", answer(connection, true)))?;
    }
    if let Some(place) = &arguments.report {
        report(place, kept, watch.connection(id))?;
    }
    Ok(ended(interrupt))
}

/// Writes the report page of the connection.
fn report(
    place: &Path,
    kept: record::Kept,
    connection: Option<&Connection>,
) -> Result<(), Failure> {
    let Some(record) = connection.and_then(|connection| kept.record(connection)) else {
        output::say("no report: the connection ended before two looks");
        return Ok(());
    };
    let page = gigatcp_report::Report::new(&record, None).html();
    AtomicFile::write(place, page.as_bytes())?;
    output::say(&format!("report: {}", place.display()));
    Ok(())
}

/// Totals at the last line of a timeline.
#[derive(Default)]
struct Since {
    start: Option<Instant>,
    last: Option<(Instant, [Bytes; 2])>,
}

impl Since {
    fn begin(&mut self, connection: &Connection, at: Instant) {
        self.start.get_or_insert(at);
        self.last.get_or_insert((at, connection.totals()));
    }

    fn started(&self, at: Instant) -> Duration {
        at.saturating_since(self.start.unwrap_or(at))
    }

    /// Rates since the last line.
    fn rates(&mut self, connection: &Connection, at: Instant) -> [gigatcp_units::Rate; 2] {
        let totals = connection.totals();
        let (from, before) = self.last.replace((at, totals)).unwrap_or((at, totals));
        let time = at.saturating_since(from);
        [0, 1].map(|end: usize| {
            gigatcp_units::Rate::from_amount(totals[end].saturating_sub(before[end]), time)
        })
    }
}

fn ended(interrupt: &Interrupt) -> Outcome {
    interrupt
        .signal()
        .map_or(Outcome::Done, Outcome::Interrupted)
}

/// Answers for the largest connections.
fn summary(watch: &Watch) -> String {
    let all = watch.by_size();
    let is_large = |connection: &&&Connection| connection.total() >= MIN_BYTES;
    let large = all.iter().filter(is_large).count();
    let mut text = String::new();
    for connection in all
        .iter()
        .filter(|connection| large == 0 || is_large(connection))
        .take(SUMMARY)
    {
        if connection.total() > Bytes::ZERO {
            text.push_str(&format!("\n{}", answer(connection, false)));
        }
    }
    let others = large.saturating_sub(SUMMARY);
    if others > 0 {
        text.push_str(&format!("\n{} more of 10 kB and above\n", others));
    }
    if text.is_empty() {
        text.push_str("No data was sent or received.\n");
    }
    text
}

fn answer(connection: &Connection, is_verbose: bool) -> String {
    let Some(diagnosis) = connection.diagnosis() else {
        return format!(
            "{} -> {}: no data moved\n",
            connection.local, connection.peer
        );
    };
    let (from, to, end) = match connection.role() {
        End::Sender => (connection.local, connection.peer, "sender"),
        End::Receiver => (connection.peer, connection.local, "receiver"),
    };
    let owner = connection.owner.as_ref().map_or_else(String::new, |owner| {
        format!("{} (process {})", terminal(&owner.name), owner.id)
    });
    let label = ConnectionLabel {
        ends: format!("{from} -> {to}"),
        captured: format!("from the counters of the {end}"),
        place: owner,
        reset_by: None,
        counters: None,
    };
    let mut text = answer::lines(&label, &diagnosis);
    if is_verbose {
        text.push_str(&detail::lines(&diagnosis));
    }
    text
}
