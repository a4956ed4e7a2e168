//! `gigatcp diff --variance`: splits the variance between stored tests by source.
//!
//! The rate of every interval of every run is an observation, in nested groups. Connections of one
//! command are a batch. Batches since the same boot of both hosts are a boot. Nothing is left out:
//! the first intervals contain slow start, and runs that were cut short count with the intervals
//! they have. Files without intervals are named.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use gigatcp_plan::record::{RunRecord, SeriesRecord};
use gigatcp_report::escape::terminal;
use gigatcp_report::number;
use gigatcp_theory::nested::{Component, Nested};
use serde_json::{Value, json};

use super::super::why::stored;
use crate::failure::Failure;
use crate::output;

/// Levels, coarsest first. Each has a source of variance, the name of a group, and advice that
/// reduces the uncertainty of the mean.
const LEVELS: [(&str, &str, &str); 4] = [
    ("between boots", "boot", "repeat the test after reboots"),
    ("between batches", "batch", "repeat the test at other hours"),
    ("between connections", "run", "more runs (--repeat)"),
    ("within a connection", "interval", "longer tests (-t)"),
];

/// Significance level: a level with a lower p-value differs.
const CERTAIN: f64 = 0.05;

/// Maximum depth of directories searched below the one given.
const MAX_DEPTH: usize = 4;

/// A stored run of a test.
struct Run {
    place: PathBuf,
    /// Parameters of the test: only runs with equal ones are compared.
    plan: String,
    title: String,
    boot: String,
    batch: u64,
    started: u64,
    is_partial: bool,
    rates: Vec<f64>,
}

/// Prints the variance components of the tests at these places.
pub(super) fn run(places: &[&Path], is_json: bool) -> Result<(), Failure> {
    let mut files = Vec::new();
    for place in places {
        find(place, 0, &mut files)?;
    }
    files.sort();
    let (mut groups, mut others) = (BTreeMap::<String, Vec<Run>>::new(), Vec::new());
    for file in files {
        match stored::read(&file)
            .ok()
            .and_then(|record| read(&file, &record))
        {
            Some(run) => groups.entry(run.plan.clone()).or_default().push(run),
            None => others.push(file),
        }
    }
    if groups.is_empty() {
        return Err(Failure::new("no stored test is there")
            .effect("nothing was computed")
            .hint("gigatcp test HOST --repeat 10 --save DIR stores some"));
    }
    let groups: Vec<Group> = groups.into_values().map(Group::of).collect();
    if is_json {
        return output::print_json(&json!({
            "schema": "gigatcp-variance/1",
            "tests": groups.iter().map(Group::value).collect::<Vec<_>>(),
            "other_files": others,
        }));
    }
    let mut text: Vec<String> = groups.iter().map(Group::text).collect();
    if !others.is_empty() {
        let names = others
            .iter()
            .map(|file| terminal(&file.display().to_string()));
        let names: Vec<String> = names.collect();
        text.push(format!("Not a stored test: {}\n", names.join(", ")));
    }
    output::print(&text.join("\n"))
}

/// Files at a place, and in the directories below.
fn find(place: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !place.is_dir() {
        files.push(place.to_path_buf());
        return Ok(());
    }
    let failed = |error| Failure::io(&format!("read {}", place.display()), &error);
    for entry in std::fs::read_dir(place).map_err(failed)? {
        let inner = entry.map_err(failed)?.path();
        let is_result = inner.extension().is_some_and(|end| end == "json");
        if is_result || (inner.is_dir() && depth < MAX_DEPTH) {
            find(&inner, depth + 1, files)?;
        }
    }
    Ok(())
}

/// A record as a run of a test; `None` if it is something else.
fn read(place: &Path, record: &RunRecord) -> Option<Run> {
    let series = record.series.first().filter(|_| record.is_test())?;
    let boots = series.hosts.iter().map(|host| host.boot_id.as_deref());
    let boots: Vec<&str> = boots.map(|boot| boot.unwrap_or("unknown")).collect();
    let times = series.test.as_ref();
    Some(Run {
        place: place.to_path_buf(),
        plan: record.plan.clone(),
        title: record.title.clone(),
        boot: boots.join(" "),
        batch: times.map_or(0, |times| times.batch_unix_ms),
        started: times.map_or(0, |times| times.started_unix_ms),
        is_partial: record.partial,
        rates: rates(series),
    })
}

/// Rate of each interval, all streams together, in bit/s.
fn rates(series: &SeriesRecord) -> Vec<f64> {
    let count = series.flows.iter().map(|flow| flow.intervals.len()).max();
    let rate = |index: usize| {
        let all = series
            .flows
            .iter()
            .filter_map(|flow| flow.intervals.get(index));
        let first = all.clone().next()?;
        let time = first
            .end_ns
            .checked_sub(first.start_ns)
            .filter(|time| *time > 0)?;
        let bytes: u64 = all.map(|interval| interval.bytes).sum();
        Some(8e9 * bytes as f64 / time as f64)
    };
    (0..count.unwrap_or(0)).filter_map(rate).collect()
}

/// Runs of the same test.
struct Group {
    runs: Vec<Run>,
    /// `None` if no run has an interval.
    nested: Option<Nested>,
    /// Numbers of boots, batches, runs with intervals, and intervals.
    counts: [usize; 4],
}

impl Group {
    fn of(mut runs: Vec<Run>) -> Self {
        // A run that never began does not know its boots: it gets those of its batch.
        let known: Vec<(u64, String)> = runs
            .iter()
            .filter(|run| !run.rates.is_empty())
            .map(|run| (run.batch, run.boot.clone()))
            .collect();
        for run in runs.iter_mut().filter(|run| run.rates.is_empty()) {
            if let Some((_, boot)) = known.iter().find(|(batch, _)| *batch == run.batch) {
                run.boot.clone_from(boot);
            }
        }
        runs.sort_by_key(|run| run.started);
        let (mut boots, mut batches) = (Vec::new(), Vec::new());
        let (mut paths, mut values) = (Vec::new(), Vec::new());
        let mut count = 0;
        for run in runs.iter().filter(|run| !run.rates.is_empty()) {
            let boot = place(&mut boots, &run.boot);
            // A result without a time is a batch of its own.
            let name = match run.batch {
                0 => run.place.display().to_string(),
                batch => batch.to_string(),
            };
            let batch = place(&mut batches, &format!("{} {name}", run.boot));
            for rate in &run.rates {
                paths.push(vec![boot, batch, count]);
                values.push(*rate);
            }
            count += 1;
        }
        Self {
            nested: Nested::of(&paths, &values),
            counts: [boots.len(), batches.len(), count, values.len()],
            runs,
        }
    }

    fn text(&self) -> String {
        let title = terminal(&self.runs[0].title);
        let counted = |place: usize| counted(self.counts[place], LEVELS[place].1);
        let Some(nested) = &self.nested else {
            return format!("{title}: no run has an interval\n{}", self.others());
        };
        let mut text = format!(
            "{title}: {} on average of {} ({} in {}, {})\n",
            number::rate(nested.mean),
            counted(3),
            counted(2),
            counted(1),
            counted(0)
        );
        text.push_str(&self.sentence(nested));
        let _ = writeln!(
            text,
            "  {:20} {:>4}  {:>14} {:>8} {:>8}  {:27} p",
            "standard deviation", "n", "", "of mean", "variance", "95 % interval"
        );
        for (place, level) in nested.levels.iter().enumerate() {
            let _ = writeln!(text, "{}", self.row(nested, place, level.as_ref()));
        }
        text + &self.extremes() + &self.others()
    }

    /// Returns the largest component, its significance, and how to reduce the uncertainty of the
    /// mean.
    fn sentence(&self, nested: &Nested) -> String {
        let largest = nested
            .levels
            .iter()
            .enumerate()
            .filter_map(|(place, level)| Some((place, level.as_ref()?)))
            .max_by(|a, b| a.1.variance.total_cmp(&b.1.variance));
        let Some((place, level)) = largest.filter(|(_, level)| level.variance > 0.0) else {
            return "The rates do not differ, or there is one only.\n".to_owned();
        };
        let (name, _, advice) = LEVELS[place];
        let share = 100.0 * level.variance / nested.total();
        let certain = match level.p {
            Some(p) if p >= CERTAIN => format!("not certain, p = {p:.2}: more of them first"),
            Some(p) if p < 0.001 => format!("p < 0.001; for a certain mean: {advice}"),
            Some(p) => format!("p = {p:.3}; for a certain mean: {advice}"),
            None => format!("for a certain mean: {advice}"),
        };
        format!("Most of the variance ({share:.0} %) is {name} ({certain}).\n")
    }

    fn row(&self, nested: &Nested, place: usize, level: Option<&Component>) -> String {
        let (name, group, _) = LEVELS[place];
        let count = self.counts[place];
        let Some(level) = level else {
            let reason = match (count, place) {
                (1, _) => format!("unknown: one {group} only"),
                (_, 0) => "unknown".to_owned(),
                _ => format!(
                    "one {group} for each {}: contained in that line",
                    LEVELS[place - 1].1
                ),
            };
            return format!("  {name:20} {count:>4}  {reason}");
        };
        let deviation = level.variance.sqrt();
        let (low, high) = level.interval;
        let range = match high {
            // The estimate is zero: differences of the finer level cancel out, as with a pacer.
            Some(0.0) => "finer differences cancel".to_owned(),
            Some(high) => format!(
                "{} to {}",
                number::rate(low.sqrt()),
                number::rate(high.sqrt())
            ),
            None => format!("above {}", number::rate(low.sqrt())),
        };
        format!(
            "  {name:20} {count:>4}  {:>14} {:>7.2}% {:>7.0}%  {:27} {}",
            number::rate(deviation),
            100.0 * deviation / nested.mean.max(1e-9),
            100.0 * level.variance / nested.total().max(1e-300),
            range,
            level.p.map_or_else(String::new, p_value)
        )
    }

    /// Returns the slowest and the fastest run. States whether the slowest was the first of its
    /// boot.
    fn extremes(&self) -> String {
        let with_data = self.runs.iter().filter(|run| !run.rates.is_empty());
        let mean = |run: &&Run| run.rates.iter().sum::<f64>() / run.rates.len() as f64;
        let slowest = with_data.clone().min_by(|a, b| mean(a).total_cmp(&mean(b)));
        let fastest = with_data.max_by(|a, b| mean(a).total_cmp(&mean(b)));
        let (Some(slowest), Some(fastest)) = (slowest, fastest) else {
            return String::new();
        };
        let name = |run: &Run| terminal(&run.place.display().to_string());
        let first = self.runs.iter().find(|run| run.boot == slowest.boot);
        let is_first = first.is_some_and(|first| first.place == slowest.place);
        let first = match is_first && self.counts[2] > 1 {
            true => ", the first run since its boot",
            false => "",
        };
        format!(
            "Slowest run: {} ({}{first}); fastest: {} ({})\n",
            number::rate(mean(&slowest)),
            name(slowest),
            number::rate(mean(&fastest)),
            name(fastest)
        )
    }

    /// Runs that are not complete.
    fn others(&self) -> String {
        let names = |is: fn(&Run) -> bool| {
            let some = self.runs.iter().filter(|run| is(run));
            let names = some.map(|run| terminal(&run.place.display().to_string()));
            names.collect::<Vec<_>>().join(", ")
        };
        [
            ("No interval in", names(|run| run.rates.is_empty())),
            (
                "Cut short, counted with what they have",
                names(|run| run.is_partial && !run.rates.is_empty()),
            ),
        ]
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {names}\n"))
        .collect()
    }

    fn value(&self) -> Value {
        let level = |(place, component): (usize, &Option<Component>)| {
            let known = component.as_ref();
            json!({
                "level": LEVELS[place].0,
                "groups": self.counts[place],
                "degrees_of_freedom": known.map(|level| level.df),
                "mean_square_bps2": known.map(|level| level.mean_square),
                "variance_bps2": known.map(|level| level.variance),
                "interval_bps2": known.map(|level| [Some(level.interval.0), level.interval.1]),
                "p": known.and_then(|level| level.p),
            })
        };
        let nested = self.nested.as_ref();
        let levels = nested
            .iter()
            .flat_map(|nested| nested.levels.iter().enumerate());
        let run = |run: &Run| {
            json!({
                "file": run.place,
                "boot": run.boot,
                "batch_unix_ms": run.batch,
                "started_unix_ms": run.started,
                "partial": run.is_partial,
                "rates_bps": run.rates,
            })
        };
        json!({
            "title": self.runs[0].title,
            "requested": self.runs[0].plan,
            "mean_bps": nested.map(|nested| nested.mean),
            "levels": levels.map(level).collect::<Vec<_>>(),
            "runs": self.runs.iter().map(run).collect::<Vec<_>>(),
        })
    }
}

/// Returns the index of a name, which is added if it is new.
fn place(names: &mut Vec<String>, name: &str) -> usize {
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

fn counted(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "batch") => format!("{count} batches"),
        _ => format!("{count} {noun}s"),
    }
}

/// Formats a p-value with three decimals.
fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "< 0.001".to_owned(),
        p => format!("{p:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(boot: &str, batch: u64, started: u64, rates: &[f64]) -> Run {
        Run {
            place: format!("{started}.json").into(),
            plan: String::new(),
            title: "Test with host:5201".into(),
            boot: boot.into(),
            batch,
            started,
            is_partial: false,
            rates: rates.to_vec(),
        }
    }

    #[test]
    fn boots_that_differ_are_named_and_a_run_without_data_is_not_dropped() {
        // Boots 60 and 70 Mbit/s, everything below them within 1: the published pattern (E20).
        let mut runs = Vec::new();
        for (boot, base) in [("a", 60e6), ("b", 70e6), ("c", 57e6)] {
            for batch in 0..2_u64 {
                for connection in 0..3_u64 {
                    let started = 100 * base as u64 + 10 * batch + connection;
                    let small = 0.2e6 * (batch + connection) as f64;
                    let rates = [base + small, base + small + 0.3e6];
                    runs.push(run(boot, base as u64 + batch, started, &rates));
                }
            }
        }
        let mut failed = run("", 60e6 as u64, 1, &[]);
        failed.is_partial = true;
        runs.push(failed);
        let text = Group::of(runs).text();
        assert!(text.contains("is between boots (p < 0.001"), "{text}");
        assert!(text.contains("No interval in: 1.json"), "{text}");
        assert!(text.contains("(18 runs in 6 batches, 3 boots)"), "{text}");
    }

    #[test]
    fn a_single_boot_says_nothing_of_boots() {
        let runs = vec![run("a", 1, 1, &[1e6, 2e6]), run("a", 1, 2, &[1e6, 2e6])];
        let text = Group::of(runs).text();
        assert!(text.contains("unknown: one boot only"), "{text}");
        assert!(text.contains("within a connection"), "{text}");
    }
}
