//! `gigatcp show`: tables, effects and plots of a stored sweep, or one of its cells.

use std::fs;
use std::path::{Path, PathBuf};

use gigatcp_plan::design::Cell;
use gigatcp_plan::design::grid::Grid;
use gigatcp_plan::design::space::Memory;
use gigatcp_report::sweep::SweepReport;
use gigatcp_run::sweep::Sweep;
use gigatcp_run::sweep::rows::find_metric;
use serde::Serialize;

use super::{Outcome, run as alone, sweep};
use crate::atomic_file::AtomicFile;
use crate::failure::Failure;
use crate::{nearest, output};
use gigatcp_report::escape::quoted;

/// Command-line arguments of `show`.
#[derive(clap::Args, Default, Debug)]
#[command(
    about = "Show a stored sweep: tables by any axis, effects, plots",
    long_about = "\
Show a stored sweep: tables by any axis, effects, plots.

SWEEP is the directory of a plan's sweeps, as in runs/my-sweep, of which the newest question is \
shown, or the directory of one question in it. Values of axes that are not in the table are \
pooled. Only `--cell` runs anything.

Below the table are the shares of the variance that each axis, each pair of axes and repetitions \
explain, each with the probability of a share this large by chance. For axes of two levels the \
effect has its 95 % confidence interval.

--cell N runs cell N from the plan and seed that the sweep stored, as `gigatcp run` does, and \
writes its page into the directory of results. The page of `--plot` shows the number of each cell.

Plots are SVG without style sheets around them. `rsvg-convert --zoom 3 lines.svg > lines.png` \
makes a PNG for a paper, `rsvg-convert -f pdf` a PDF.",
    after_help = "\
Examples:
  gigatcp show runs/my-sweep
  gigatcp show runs/my-sweep --by path.rtt
  gigatcp show runs/my-sweep --metric retransmitted_segments --compare flow.congestion_control
  gigatcp show runs/my-sweep --by path.rtt --report by-rtt.html
  gigatcp show runs/my-sweep --svg figures
  gigatcp show runs/my-sweep --cell 17
  gigatcp show runs/my-sweep --json | jq '.cells[].values'"
)]
pub(crate) struct Arguments {
    /// Directory of a sweep
    #[arg(value_name = "SWEEP")]
    pub(super) sweep: PathBuf,

    /// Metric to show, instead of the sweep's
    #[arg(long, value_name = "NAME")]
    pub(super) metric: Option<String>,

    /// Axis whose levels are rows. May be repeated [default: all but the last one with few levels]
    #[arg(long, value_name = "KEY")]
    pub(super) by: Vec<String>,

    /// Compare the levels of this axis with its first, pair by pair
    #[arg(long, value_name = "KEY")]
    pub(super) compare: Option<String>,

    /// Write a page with plots, and the plots as SVG, into the directory of the sweep
    #[arg(long)]
    pub(super) plot: bool,

    /// Write the page to this file
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Write the plots as SVG into this directory
    #[arg(long, value_name = "DIR")]
    pub(super) svg: Option<PathBuf>,

    /// Run only this cell and write its page
    #[arg(long, value_name = "N")]
    pub(super) cell: Option<u64>,

    /// Print all rows
    #[arg(long)]
    pub(super) all: bool,

    /// Print the values as JSON instead of tables; with --cell, its run.json
    #[arg(long)]
    pub(super) json: bool,
}

/// Shows the sweep.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let given = &arguments.sweep;
    let is_question = given
        .join(gigatcp_run::sweep::stored_question::FILE)
        .exists();
    let found = if is_question {
        Some(given.clone())
    } else {
        sweep::newest(given)
    };
    let directory = found.ok_or_else(|| {
        Failure::new(format!("{} has no sweep", given.display()))
            .effect("nothing is shown")
            .hint("the directory that `gigatcp sweep` names, as in `gigatcp show runs/my-sweep`")
    })?;
    let sweep = Sweep::stored(&directory).map_err(sweep::unreadable)?;
    say_flaws(&sweep);
    if let Some(number) = arguments.cell {
        return run_cell(&sweep, number, arguments);
    }
    let command = format!("gigatcp show {}", directory.display());
    show(&sweep, arguments, &command)?;
    Ok(Outcome::Done)
}

/// Prints the tables of a sweep, and writes its page if requested.
pub(crate) fn show(sweep: &Sweep, view: &Arguments, command: &str) -> Result<(), Failure> {
    let stored = sweep.question();
    let column = sweep::column(view.metric.as_ref().unwrap_or(&stored.question.metric))?;
    let (grid, missing) = sweep
        .results()
        .grid(column)
        .map_err(|error| Failure::caused(&error).effect("nothing is shown"))?;
    if view.json {
        return output::print_json(&json(&grid, column.unit));
    }
    let batches = match sweep.space().draws().next() {
        Some(_) => 0..stored.question.batches,
        None => 0..0,
    };
    let draws = batches.map(|batch| {
        sweep
            .space()
            .drawn(batch)
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>()
            .join("  ")
    });
    let draws: Vec<String> = draws.collect();
    let theory = (column.name == "goodput_bps").then(|| find_metric("theory_bps"));
    let theory = theory
        .flatten()
        .and_then(|theory| sweep.results().grid(theory).ok());
    let report = SweepReport {
        name: &stored.name,
        title: &stored.title,
        grid: &grid,
        theory: theory.as_ref().map(|(grid, _)| grid),
        unit: column.unit,
        meaning: column.meaning,
        missing,
        batches: (stored.question.repeat, stored.question.batches),
        draws: &draws,
    };
    let rows = view.by.iter().map(|name| factor(&grid, name));
    let table = gigatcp_report::sweep::View {
        rows: rows.collect::<Result<_, _>>()?,
        all: view.all,
        compare: view
            .compare
            .as_ref()
            .map(|name| factor(&grid, name))
            .transpose()?,
    };
    let mut text = report.text(&table);
    let directory = sweep.directory();
    let own_page = view.plot.then(|| directory.join("sweep.html"));
    let page = view.report.clone().or(own_page);
    let page_written = page.as_ref().map_or(Ok(()), |page| {
        let one = format!(
            "gigatcp show {} --cell",
            quoted(&directory.to_string_lossy())
        );
        write_page(page, &report.page(&table, command, &one))
    });
    if let Some(page) = page.filter(|_| page_written.is_ok()) {
        text.push_str(&format!("\npage in {}", page.display()));
    }
    let plots = view.plot.then_some(directory).into_iter();
    for directory in plots.chain(view.svg.as_deref()) {
        let made = fs::create_dir_all(directory);
        made.map_err(|error| Failure::at("create", directory, &error))?;
        for plot in report.plots() {
            write(&directory.join(format!("{}.svg", plot.name)), &plot.file)?;
        }
    }
    text.push_str(&format!("\nstored in {}", directory.display()));
    output::print_lines(&text)?;
    page_written
}

/// Writes a page, unless another one is there.
fn write_page(place: &Path, page: &str) -> Result<(), Failure> {
    if fs::read(place).is_ok_and(|found| found == page.as_bytes()) {
        return Ok(());
    }
    if place.is_file() {
        let text = format!("{} is another page of this sweep", place.display());
        return Err(Failure::new(text)
            .effect("it is kept, and no page was written")
            .hint("`--report FILE` writes this one elsewhere"));
    }
    AtomicFile::write(place, page.as_bytes())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = fs::write(path, text);
    written.map_err(|error| Failure::at("write", path, &error))
}

fn factor(grid: &Grid, name: &str) -> Result<usize, Failure> {
    let names: Vec<&str> = grid
        .scales
        .iter()
        .map(|scale| scale.name.as_str())
        .collect();
    grid.factor(name).ok_or_else(|| {
        Failure::new(format!("the sweep has no axis `{name}`"))
            .effect("nothing is shown")
            .hint(nearest::hint(name, "axes", &names))
    })
}

/// The values of a sweep as JSON.
#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    metric: &'a str,
    unit: &'a str,
    axes: Vec<&'a str>,
    cells: Vec<JsonCell<'a>>,
}

#[derive(Serialize)]
struct JsonCell<'a> {
    cell: u64,
    levels: Vec<Option<&'a str>>,
    values: Vec<Option<f64>>,
    failures: u32,
}

fn json<'a>(grid: &'a Grid, unit: &'a str) -> Json<'a> {
    let cells = grid.arms.iter().map(|arm| {
        let levels = arm
            .levels
            .iter()
            .enumerate()
            .map(|(factor, level)| level.map(|_| grid.label(factor, *level)));
        let values = arm
            .values
            .iter()
            .map(|value| value.is_finite().then_some(*value));
        JsonCell {
            cell: arm.cell,
            levels: levels.collect(),
            values: values.collect(),
            failures: arm.failures,
        }
    });
    Json {
        schema: "gigatcp.show/1",
        metric: &grid.metric,
        unit,
        axes: grid
            .scales
            .iter()
            .map(|scale| scale.name.as_str())
            .collect(),
        cells: cells.collect(),
    }
}

/// Returns plan, series and changes of a cell in a batch.
fn parts(sweep: &Sweep, cell: &Cell) -> (PathBuf, Vec<String>, Vec<String>) {
    let (stored, space) = (sweep.question(), sweep.space());
    let changes = stored.overrides.iter().cloned().chain(cell.overrides());
    let series = match space.series().len() > 1 || !stored.series.is_empty() {
        true => vec![space.template().plan().series[cell.series].name.clone()],
        false => vec![],
    };
    let plan = sweep
        .directory()
        .join(gigatcp_run::sweep::stored_question::PLAN);
    (plan, series, changes.collect())
}

/// Runs the first repetition of a cell as `gigatcp run` does.
fn run_cell(sweep: &Sweep, number: u64, arguments: &Arguments) -> Result<Outcome, Failure> {
    let (stored, space) = (sweep.question(), sweep.space());
    let known = (number < space.count()).then(|| space.cell(number, stored, &Memory::default()));
    let Some(cell) = known.flatten() else {
        let last = space.count().saturating_sub(1);
        return Err(
            Failure::not_run(format!("the sweep has no cell {number}")).hint(format!(
                "a number from 0 to {last} that is not excluded; the page of `--plot` shows them"
            )),
        );
    };
    if stored.version != sweep::version()? {
        output::warn("another build of this program ran the sweep: what comes out may differ");
    }
    let cell = space.in_batch(&cell, 0);
    let (plan, series, changes) = parts(sweep, &cell);
    let seed = stored.question.seed;
    let cell = alone::Arguments::of_cell(plan, (series, changes), seed, arguments.json);
    alone::run(&cell)
}

/// Warns about data in a store that is not part of whole rows.
pub(crate) fn say_flaws(sweep: &Sweep) {
    let flaws = sweep.store().flaws();
    for (path, place) in flaws.corrupt.iter().take(5) {
        output::say(&format!(
            "warning: {} has a corrupt row at byte {place}: it counts as not run, and nothing is removed",
            path.display()
        ));
    }
    if flaws.corrupt.len() > 5 {
        output::say(&format!(
            "warning: {} more corrupt rows",
            flaws.corrupt.len() - 5
        ));
    }
}
