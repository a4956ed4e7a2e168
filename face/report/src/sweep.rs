//! A sweep as tables of any axes, effects, and a page with plots.
//!
//! Everything shown is computed from the values of one column by `gigatcp_plan::design`. Values of
//! factors that are not in a table are pooled. A mean is followed by half its 95 % confidence
//! interval; `n` is the number of values, failures not counted.

use gigatcp_plan::design::effects::{Effects, Unbalanced};
use gigatcp_plan::design::grid::{Grid, Pooled};
use gigatcp_plan::design::statistics::{self, CONFIDENCE};
use gigatcp_theory::sample::Summary;

use crate::grid::named_grid;
use crate::prose::wrap;

pub mod page;
pub mod plot;
mod svg;

/// Maximum number of columns of a table: a terminal has few.
const MOST_COLUMNS: usize = 8;

/// Rows of a table at most, unless all are wanted.
const MOST_ROWS: usize = 20;

/// Number of resamples of a bootstrap.
const RESAMPLES: usize = 2_000;

/// A sweep and what to show of it.
#[derive(Clone, Copy, Debug)]
pub struct SweepReport<'a> {
    /// Name of the plan.
    pub name: &'a str,
    /// Title in one line.
    pub title: &'a str,
    /// The values.
    pub grid: &'a Grid,
    /// What equations predict for the same cells; `None` if they predict another quantity.
    pub theory: Option<&'a Grid>,
    /// Unit of the values; empty: none.
    pub unit: &'a str,
    /// Meaning of the values.
    pub meaning: &'a str,
    /// Number of repetitions without a row.
    pub missing: u64,
    /// Repetitions of a batch, and batches.
    pub batches: (u32, u32),
    /// Draws of each batch; empty if there are none.
    pub draws: &'a [String],
}

/// Selection of a table.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Factors of the rows; if empty, all except that of the columns, which is the last one with
    /// few levels.
    pub rows: Vec<usize>,
    /// Whether all rows are printed.
    pub all: bool,
    /// Factor whose levels are compared with its first.
    pub compare: Option<usize>,
}

/// A unit that leaves few digits before the point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Divisor of a value.
    pub factor: f64,
    /// The unit.
    pub unit: &'static str,
}

impl Scale {
    /// Scale for values up to `largest`.
    pub fn of(unit: &str, largest: f64) -> Self {
        const RATES: [(f64, &str); 5] = [
            (1e12, "Tbit/s"),
            (1e9, "Gbit/s"),
            (1e6, "Mbit/s"),
            (1e3, "kbit/s"),
            (1.0, "bit/s"),
        ];
        const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
        const BYTES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
        let steps: &[(f64, &'static str)] = match unit {
            "bit/s" => &RATES,
            "ns" => &TIMES,
            "bytes" => &BYTES,
            "packets" => &[(1.0, "packets")],
            "segments" => &[(1.0, "segments")],
            _ => &[(1.0, "")],
        };
        let step = steps.iter().find(|(factor, _)| largest.abs() >= *factor);
        let (factor, unit) = *step.unwrap_or(&steps[steps.len() - 1]);
        Self { factor, unit }
    }

    /// Formats a value in this unit, with four significant digits and without the unit.
    pub fn number(self, value: f64) -> String {
        let size = (value / self.factor).abs();
        if size > 0.0 && size < 0.001 {
            return format!("{:.2e}", value / self.factor);
        }
        let text = self.fixed(value, self.decimals(value));
        match self.unit {
            // Counts are mostly whole.
            "" | "packets" | "segments" if text.contains('.') => {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            _ => text,
        }
    }

    /// Decimals for four significant digits.
    fn decimals(self, value: f64) -> usize {
        let size = (value / self.factor).abs();
        if size == 0.0 || size >= 1000.0 || !size.is_finite() {
            return 0;
        }
        let digits = size.log10().floor().clamp(-3.0, 3.0);
        (3.0 - digits) as usize
    }

    fn fixed(self, value: f64, decimals: usize) -> String {
        match value.is_finite() {
            true => format!("{:.decimals$}", value / self.factor),
            false => "-".to_owned(),
        }
    }
}

impl SweepReport<'_> {
    /// Unit for all its values.
    pub fn scale(&self) -> Scale {
        let values = self
            .grid
            .arms
            .iter()
            .flat_map(|arm| arm.values)
            .copied()
            .filter(|value| value.is_finite());
        Scale::of(self.unit, values.map(f64::abs).fold(0.0, f64::max))
    }

    /// Factors that vary.
    pub fn varying(&self) -> Vec<usize> {
        let factors = 0..self.grid.scales.len();
        let varies = |factor: &usize| self.grid.scales[*factor].labels.len() > 1;
        factors.filter(varies).collect()
    }

    /// All of it as plain text.
    pub fn text(&self, view: &View) -> String {
        let answer = self.answer().map(|answer| wrap(&answer, 0) + "\n");
        answer.unwrap_or_default() + &self.tables(view)
    }

    /// Tables of a view, without the answer.
    fn tables(&self, view: &View) -> String {
        let mut text = self.heading();
        text.push_str(&self.table(view));
        if let Some(factor) = view.compare {
            text.push_str(&self.comparison(factor));
        }
        text.push_str(&self.effects());
        text.push_str(&self.between_batches());
        text
    }

    fn heading(&self) -> String {
        let axes = self.grid.scales.iter().map(|scale| {
            let levels = scale.labels.len();
            format!(
                "{} ({})",
                scale.name,
                crate::number::counted(levels as u64, "level")
            )
        });
        let axes: Vec<String> = axes.collect();
        let cells = crate::number::counted(self.grid.arms.len() as u64, "cell");
        let runs: usize = self.grid.arms.iter().map(|arm| arm.values.len()).sum();
        let failed: u32 = self.grid.arms.iter().map(|arm| arm.failures).sum();
        let mut text = format!("{}: {}\n", self.name, self.title);
        match axes.is_empty() {
            true => text.push_str("no axes\n"),
            false => text.push_str(&format!("axes: {}\n", axes.join(", "))),
        }
        text.push_str(&format!(
            "{cells}, {}",
            crate::number::counted(runs as u64, "run")
        ));
        if failed > 0 {
            text.push_str(&format!(", {failed} failed"));
        }
        if self.missing > 0 {
            text.push_str(&format!(", {} not run yet", self.missing));
        }
        text.push('\n');
        text
    }

    /// Rows and columns of the table of a view.
    fn axes_of(&self, view: &View) -> (Vec<usize>, Option<usize>) {
        let varying = self.varying();
        let few = |factor: &usize| self.grid.scales[*factor].labels.len() <= MOST_COLUMNS;
        let column = varying
            .iter()
            .rev()
            .copied()
            .filter(few)
            .find(|factor| !view.rows.contains(factor))
            .filter(|_| varying.len() > 1 || !view.rows.is_empty());
        let rows = match view.rows.is_empty() {
            true => varying
                .into_iter()
                .filter(|factor| Some(*factor) != column)
                .collect(),
            false => view.rows.clone(),
        };
        (rows, column)
    }

    fn table(&self, view: &View) -> String {
        let (rows, column) = self.axes_of(view);
        let shown = if view.all { usize::MAX } else { MOST_ROWS };
        let pivot = self.grid.first_rows(&rows, column, shown);
        let scale = self.scale();
        let count = match self.grid.arms.iter().map(|arm| arm.values.len()).max() {
            Some(1) => "value",
            _ => "mean ± half the 95 % confidence interval",
        };
        let unit = match scale.unit {
            "" => String::new(),
            unit => format!(" in {unit}"),
        };
        let mut text = format!("\n{}{unit}, {count} ({})\n", self.grid.metric, self.meaning);
        let mut head: Vec<String> = rows
            .iter()
            .map(|row| self.grid.scales[*row].name.clone())
            .collect();
        match column {
            Some(column) => {
                let labels = pivot
                    .columns
                    .iter()
                    .map(|level| self.grid.label(column, *level));
                head.extend(labels.map(ToOwned::to_owned));
            }
            None => head.push(self.grid.metric.clone()),
        }
        let mut lines = vec![head];
        for (levels, cells) in &pivot.cells {
            let labels = rows
                .iter()
                .zip(levels)
                .map(|(row, level)| self.grid.label(*row, *level).to_owned());
            let values = cells.iter().map(|cell| value(cell, scale));
            lines.push(labels.chain(values).collect());
        }
        if let Some(column) = column {
            text.push_str(&format!("columns: {}\n", self.grid.scales[column].name));
        }
        text.push_str(&named_grid(rows.len(), &lines));
        if pivot.left_out > 0 {
            let more = pivot.left_out;
            text.push_str(&format!("{more} rows are not shown; --all shows them\n"));
        }
        text
    }

    /// Compares the levels of a factor with its first. Values are paired by cell and repetition.
    fn comparison(&self, factor: usize) -> String {
        let scale = self.scale();
        let labels = &self.grid.scales[factor].labels;
        let mut text = format!(
            "\n{} by {}, paired by cell and seed: difference to `{}` ± half the 95 % confidence \
             interval\n",
            self.grid.metric, self.grid.scales[factor].name, labels[0]
        );
        let mut lines = Vec::new();
        for (level, label) in labels.iter().enumerate().skip(1) {
            let differences = self.differences(factor, level as u32);
            let Some(summary) = Summary::of(&differences) else {
                continue;
            };
            let interval = statistics::bootstrap(&differences, RESAMPLES, 1);
            let bootstrap = interval.map_or(String::new(), |(low, high)| {
                let (low, high) = (scale.number(low), scale.number(high));
                format!("bootstrap {low} to {high}")
            });
            let difference = with_interval(&summary, scale);
            let unit = scale.unit;
            let count = format!("n {}", summary.n);
            lines.push(vec![
                label.clone(),
                format!("{difference} {unit}"),
                count,
                bootstrap,
            ]);
        }
        text.push_str(&named_grid(1, &lines));
        text
    }

    /// Values of a level minus those of the first, with all else equal.
    fn differences(&self, factor: usize, level: u32) -> Vec<f64> {
        let place = |levels: &[Option<u32>]| {
            let mut others = levels.to_vec();
            others[factor] = None;
            others
        };
        let arms = |level: u32| {
            self.grid
                .arms
                .iter()
                .filter(move |arm| arm.levels[factor] == Some(level))
                .map(|arm| (place(arm.levels), arm.values))
        };
        let first: std::collections::BTreeMap<_, _> = arms(0).collect();
        let pairs = arms(level).filter_map(|(place, values)| Some((*first.get(&place)?, values)));
        let differences = pairs.flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| b - a));
        differences.filter(|value| value.is_finite()).collect()
    }

    fn effects(&self) -> String {
        let varying = self.varying();
        if varying.is_empty() {
            return String::new();
        }
        let effects = match Effects::of(self.grid) {
            Ok(effects) => effects,
            Err(Unbalanced::Constant) => return String::new(),
            Err(Unbalanced::Missing) => {
                return "\nno effects: combinations of levels are missing or occur unequally often, \
                        or runs failed\n"
                    .to_owned();
            }
        };
        let scale = self.scale();
        let mut text = "\nshare of the variance of all values\n".to_owned();
        let mut lines = Vec::new();
        for source in &effects.sources {
            let names = source
                .factors
                .iter()
                .map(|factor| self.grid.scales[*factor].name.as_str());
            let names: Vec<&str> = names.collect();
            let effect = source.effect.as_ref().map_or(String::new(), |effect| {
                let which = match source.factors.as_slice() {
                    [one] => {
                        let labels = &self.grid.scales[*one].labels;
                        format!("{} less {}", labels[1], labels[0])
                    }
                    _ => "interaction".to_owned(),
                };
                format!("{} {} ({which})", with_interval(effect, scale), scale.unit)
            });
            let p = source.p.map_or(String::new(), probability);
            lines.push(vec![names.join(" x "), percent(source.share), p, effect]);
        }
        let rest = [
            ("more than two factors together", effects.beyond),
            ("repetitions within cells", effects.within),
        ];
        for (name, share) in rest {
            lines.push(vec![
                name.to_owned(),
                percent(share),
                String::new(),
                String::new(),
            ]);
        }
        text.push_str(&named_grid(1, &lines));
        text
    }

    fn between_batches(&self) -> String {
        let (repeat, batches) = self.batches;
        if batches < 2 {
            return String::new();
        }
        let scale = self.scale();
        let mut text = format!(
            "\n{batches} batches of {repeat}: mean of the batches, standard deviation within \
             and between, and the share of the variance that is between\n"
        );
        let mut lines = Vec::new();
        for arm in self.grid.arms.iter() {
            let values: Vec<&[f64]> = arm.values.chunks(repeat as usize).collect();
            let Some(found) = statistics::batches(&values) else {
                continue;
            };
            let labels = (0..self.grid.scales.len())
                .map(|factor| self.grid.label(factor, arm.levels[factor]));
            let name = labels.collect::<Vec<_>>().join(", ");
            let within = format!("within {}", scale.number(found.within.sqrt()));
            let between = format!("between {}", scale.number(found.between.sqrt()));
            let share = percent(found.between / (found.between + found.within));
            // Runs of a batch are not independent: the interval is over batches.
            let means: Vec<f64> = values
                .iter()
                .filter_map(|batch| gigatcp_theory::sample::mean(batch))
                .collect();
            let mean =
                Summary::of(&means).map_or(String::new(), |summary| with_interval(&summary, scale));
            lines.push(vec![
                name,
                mean,
                within,
                between,
                share,
                probability(found.p),
            ]);
        }
        text.push_str(&named_grid(1, &lines[..lines.len().min(MOST_ROWS)]));
        let draws = self
            .draws
            .iter()
            .enumerate()
            .take(MOST_ROWS)
            .map(|(batch, drawn)| vec![format!("batch {batch}"), drawn.clone()]);
        text.push_str(&named_grid(2, &draws.collect::<Vec<_>>()));
        text
    }
}

fn value(cell: &Pooled, scale: Scale) -> String {
    let failed = match cell.failures {
        0 => String::new(),
        failures => format!(" ({failures} failed)"),
    };
    match &cell.summary {
        Some(summary) => format!("{}{failed}", with_interval(summary, scale)),
        None if cell.failures > 0 => "failed".to_owned(),
        None => "-".to_owned(),
    }
}

fn with_interval(summary: &Summary, scale: Scale) -> String {
    let mean = scale.number(summary.mean);
    let Some(half) = summary.half_width(CONFIDENCE) else {
        return mean;
    };
    // The same number of decimals as the mean.
    let decimals = mean
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let half = match mean.contains('e') {
        true => scale.number(half),
        false => scale.fixed(half, decimals),
    };
    format!("{mean} ± {half}")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn probability(p: f64) -> String {
    match p {
        p if p.is_nan() => String::new(),
        p if p < 0.001 => "p < 0.001".to_owned(),
        p => format!("p {p:.3}"),
    }
}
