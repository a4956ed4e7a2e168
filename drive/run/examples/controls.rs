//! Table of an experiment's series under every congestion control.
//!
//!     cargo run --release -p gigatcp-run --example controls -- lte --series deep-cubic [--set KEY=VALUE ...]
//!
//! Each line is a run with `flow.congestion_control` of that name and nothing else changed.
//! `cargo xtask controls-table` puts the table into the experiment's README.
//!
//! RTTs are smoothed ones, sampled after `tester.omit`. A series whose flows end by bytes has the
//! goodput of all bytes up to the last one, and timeouts instead of RTTs. Of several repeats each
//! figure is the median.
//!
//! A control with router feedback (`xcp`) has its discipline at each queue of the forward path. It
//! is left out if a link follows a trace, since routers do not know its rate.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gigatcp_path::queue::{self, QueueConfig};
use gigatcp_path::{HopConfig, RateSource};
use gigatcp_plan::record::{FlowRecord, SeriesRecord};
use gigatcp_plan::{Plan, Scenario, Stop};
use gigatcp_run::Job;
use gigatcp_run::files::PlanDirectory;
use gigatcp_tcp::congestion::{Entry, Family, REGISTRY};

/// Selection of a table.
struct Request {
    directory: PathBuf,
    series: Vec<String>,
    set: Vec<String>,
}

impl Request {
    fn of(words: &[String]) -> Result<Self, String> {
        let (name, rest) = words.split_first().ok_or("which experiment?")?;
        let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut request = Self {
            directory: experiments.join(name),
            series: Vec::new(),
            set: Vec::new(),
        };
        for pair in rest.chunks(2) {
            match pair {
                [key, value] if key == "--series" => request.series.push(value.clone()),
                [key, value] if key == "--set" => request.set.push(value.clone()),
                _ => {
                    return Err(format!(
                        "{} is not --series NAME or --set KEY=VALUE",
                        pair[0]
                    ));
                }
            }
        }
        match request.series.is_empty() {
            true => Err("which series? --series NAME".into()),
            false => Ok(request),
        }
    }

    /// Plan under that control. `None` if its routers do not know a link's rate.
    fn plan(&self, control: &Entry) -> Result<Option<Plan>, String> {
        let file = self.directory.join("plan.toml");
        let text = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut set = self.set.clone();
        set.push(format!("flow.congestion_control={}", control.name));
        let mut plan =
            gigatcp_plan::parse_with("plan.toml", &text, &set, &PlanDirectory(&self.directory))
                .map_err(|findings| findings.to_string())?;
        if control.family == Family::Explicit {
            let discipline = queue::find(control.name).ok_or("a router is a queue of that name")?;
            let asked = plan.series.iter_mut();
            for series in asked.filter(|series| self.series.contains(&series.name)) {
                for hop in &mut series.scenario.forward {
                    if follows_a_trace(hop) {
                        return Ok(None);
                    }
                    hop.queue = QueueConfig {
                        discipline,
                        ..QueueConfig::default()
                    };
                }
            }
        }
        Ok(Some(plan))
    }

    /// Prints the table, line by line.
    fn print(&self) -> Result<(), String> {
        for (number, control) in REGISTRY.iter().enumerate() {
            let Some(plan) = self.plan(control)? else {
                continue;
            };
            let scenario = |name: &String| {
                let found = plan.series.iter().find(|series| series.name == *name);
                found.map(|series| &series.scenario)
            };
            let scenarios = self
                .series
                .iter()
                .map(scenario)
                .collect::<Option<Vec<&Scenario>>>()
                .ok_or("the plan lacks a series of that name")?;
            if number == 0 {
                println!("{}", heading(&self.series, &scenarios));
            }
            let job = Job {
                only: self.series.clone(),
                repeat: plan.repeat.unwrap_or(1),
                ..Job::of(plan.clone())
            };
            let records = job.records().map_err(|error| error.to_string())?;
            let mut line = format!("| `{}` |", control.name);
            for (name, scenario) in self.series.iter().zip(scenarios) {
                let runs: Vec<_> = records.iter().filter(|run| run.name == *name).collect();
                for cell in cells(scenario, &runs) {
                    line += &format!(" {cell} |");
                }
            }
            println!("{line}");
        }
        Ok(())
    }
}

fn follows_a_trace(hop: &HopConfig) -> bool {
    matches!(hop.rate_source, Some(RateSource::Trace(_)))
}

fn ends_by_bytes(scenario: &Scenario) -> bool {
    let mut stops = scenario.flows.iter().map(|flow| flow.stop);
    stops.all(|stop| matches!(stop, Stop::Bytes(_)))
}

/// Two lines above the figures.
fn heading(names: &[String], scenarios: &[&Scenario]) -> String {
    let mut columns = vec!["control".to_owned()];
    for (name, scenario) in names.iter().zip(scenarios) {
        columns.push(format!("`{name}`: Mbit/s"));
        if ends_by_bytes(scenario) {
            columns.push("timeouts".into());
        } else {
            columns.extend((scenario.flows.len() > 1).then(|| "Jain".to_owned()));
            columns.push("RTT 95 %, ms".into());
        }
        columns.push("retransmitted".into());
    }
    let rule = "---|".repeat(columns.len());
    format!("| {} |\n|{rule}", columns.join(" | "))
}

fn cells(scenario: &Scenario, runs: &[&SeriesRecord]) -> Vec<String> {
    let sum = |of: fn(&FlowRecord) -> u64| {
        median(runs, |run| {
            run.flows.iter().map(|flow| of(flow) as f64).sum()
        })
    };
    let retransmitted = format!("{:.0}", sum(|flow| flow.retransmitted_segments));
    if ends_by_bytes(scenario) {
        let goodput = median(runs, |run| {
            let ended = run.flows.iter().map(|flow| flow.ended_ns).max();
            let bytes: u64 = run.flows.iter().map(|flow| flow.bytes).sum();
            bytes as f64 * 8e3 / ended.unwrap_or(1) as f64
        });
        let timeouts = format!("{:.0}", sum(|flow| flow.timeouts));
        return vec![rate(goodput), timeouts, retransmitted];
    }
    let shares = |run: &SeriesRecord| -> Vec<f64> {
        run.flows
            .iter()
            .map(|flow| flow.goodput_bps / 1e6)
            .collect()
    };
    let mut cells = vec![rate(median(runs, |run| shares(run).iter().sum()))];
    if scenario.flows.len() > 1 {
        cells.push(format!("{:.2}", median(runs, |run| jain(&shares(run)))));
    }
    let omit = scenario.tester.omit.as_nanos();
    cells.push(format!("{:.0}", median(runs, |run| high_rtt(run, omit))));
    cells.push(retransmitted);
    cells
}

/// Formats Mbit/s with three digits.
fn rate(mbps: f64) -> String {
    let places = if mbps < 9.995 {
        2
    } else {
        usize::from(mbps < 99.95)
    };
    format!("{mbps:.places$}")
}

/// Jain's fairness index.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    sum * sum / (shares.len() as f64 * squares)
}

/// 95th percentile of the smoothed RTT samples from `omit` on, in ms.
fn high_rtt(run: &SeriesRecord, omit: u64) -> f64 {
    let samples = run.flows.iter().flat_map(|flow| &flow.samples);
    let counted = samples.filter(|sample| sample.at_ns >= omit);
    let mut found: Vec<u64> = counted.filter_map(|sample| sample.srtt_ns).collect();
    found.sort_unstable();
    found
        .get(found.len() * 95 / 100)
        .map_or(f64::NAN, |ns| *ns as f64 / 1e6)
}

fn median(runs: &[&SeriesRecord], of: impl Fn(&SeriesRecord) -> f64) -> f64 {
    let mut found: Vec<f64> = runs.iter().map(|run| of(run)).collect();
    found.sort_by(f64::total_cmp);
    found[found.len() / 2]
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match Request::of(&words).and_then(|request| request.print()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("controls: {what}");
            ExitCode::from(2)
        }
    }
}
