//! Checks the claims in the experiments' READMEs by running their plans.
//!
//! A plan cannot see published numbers; only here and in the report are they compared. Bounds
//! follow the closeness classes: A 1 %, B 10 %, C order and shape, D no claim. For a known
//! deviation, the test checks the deviation stated in the README.

mod backlog;
mod boots;
mod bufferbloat;
mod coexistence;
mod collapse;
mod cost_budget;
mod estimators;
mod fat_pipe;
mod gateways;
mod high_speed;
mod incast;
mod kern_6032;
mod lance;
mod leo;
mod livelock;
mod lte;
mod mtu_in_seconds;
mod output;
mod pairs;
mod questions;
mod rpc;
mod satnet;
mod shalunov_lan_sweep;
mod shalunov_mss;
mod shalunov_mtu;
mod shalunov_wan;
mod sosend;
mod wifi;
mod workloads;

use std::path::{Path, PathBuf};

use gigatcp_plan::record::{FlowRecord, SeriesRecord};
use gigatcp_plan::{Files, Plan};
use gigatcp_report::published::Published;
use gigatcp_run::Job;

/// Files that a plan refers to, in its directory.
struct Near<'a>(&'a Path);

impl Files for Near<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())
    }
}

fn plan_of(name: &str) -> (PathBuf, Plan) {
    plan_with(name, &[])
}

/// Directory and plan, changed as by `--set`.
fn plan_with(name: &str, set: &[String]) -> (PathBuf, Plan) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments")
        .join(name);
    let text = std::fs::read(folder.join("plan.toml")).expect("the plan");
    let plan = gigatcp_plan::parse_with("plan.toml", &text, set, &Near(&folder))
        .unwrap_or_else(|findings| panic!("{findings}"));
    assert!(plan.warnings.list.is_empty(), "{}", plan.warnings);
    (folder, plan)
}

/// An experiment of the repository, and its results.
struct Experiment {
    plan: Plan,
    published: Option<Published>,
    records: Vec<SeriesRecord>,
    /// Number of runs of each series.
    repeat: u32,
}

impl Experiment {
    /// Runs every series of the plan once.
    fn run(name: &str) -> Self {
        Self::run_so_often(name, |_| 1)
    }

    /// Runs every series with the plan's number of repeats.
    fn run_as_often_as_planned(name: &str) -> Self {
        Self::run_so_often(name, |plan| plan.repeat.unwrap_or(1))
    }

    /// Runs some series of the plan, changed as by `--set`. For long plans CI runs a part only.
    fn run_short(name: &str, only: &[&str], set: &[&str]) -> Self {
        let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
        let (folder, plan) = plan_with(name, &set);
        let job = Job {
            only: only.iter().map(|&name| name.to_owned()).collect(),
            ..Job::of(plan.clone())
        };
        let records = job.records();
        Self {
            plan,
            published: Published::in_folder(&folder).expect("readable published numbers"),
            records: records.expect("a run"),
            repeat: 1,
        }
    }

    fn run_so_often(name: &str, repeat: fn(&Plan) -> u32) -> Self {
        let (folder, plan) = plan_of(name);
        let job = Job {
            repeat: repeat(&plan),
            ..Job::of(plan.clone())
        };
        let records = job.records();
        Self {
            plan,
            published: Published::in_folder(&folder).expect("readable published numbers"),
            records: records.expect("a run"),
            repeat: job.repeat,
        }
    }

    fn published(&self) -> &Published {
        self.published.as_ref().expect("published numbers")
    }

    fn record_of(&self, series: &str) -> &SeriesRecord {
        let found = self.records.iter().find(|record| record.name == series);
        found.unwrap_or_else(|| panic!("no series {series}"))
    }

    fn flow(&self, series: &str) -> &FlowRecord {
        &self.record_of(series).flows[0]
    }

    /// Sampled RTTs of a flow in ms, sorted, from `from_second` on.
    fn round_trips(&self, series: &str, flow: &str, from_second: u64) -> Vec<f64> {
        let flows = &self.record_of(series).flows;
        let flow = flows.iter().find(|known| known.name == flow);
        let samples = &flow.expect("the flow").samples;
        let counted = samples
            .iter()
            .filter(|sample| sample.at_ns >= from_second * 1_000_000_000);
        let mut found: Vec<f64> = counted
            .filter_map(|sample| sample.srtt_ns)
            .map(|srtt| srtt as f64 / 1e6)
            .collect();
        found.sort_by(f64::total_cmp);
        found
    }

    /// Rate of a series in Mbit/s.
    fn rate(&self, series: &str) -> f64 {
        self.flow(series).goodput_bps / 1e6
    }

    /// Our rate divided by the middle of the published rates.
    fn ratio(&self, series: &str) -> f64 {
        let record = self
            .records
            .iter()
            .find(|record| record.name == series)
            .unwrap_or_else(|| panic!("no series {series}"));
        let published = self.published().matching(record, &self.records);
        let average = published.and_then(|published| published.average());
        let theirs = average.unwrap_or_else(|| panic!("nothing published for {series}"));
        self.rate(series) / theirs.middle()
    }

    /// Checks that every fitted series is declared as such, with these inputs.
    fn assert_fitted(&self, is_fitted: impl Fn(&str) -> bool, inputs: &[&str]) {
        for series in &self.plan.series {
            let expected = if is_fitted(&series.name) { inputs } else { &[] };
            assert_eq!(series.fitted, expected, "{}", series.name);
        }
    }

    /// Checks that every series with published numbers is in the plan.
    fn assert_published_series_are_run(&self) {
        for published in &self.published().series {
            let known = self.records.iter().any(|ours| ours.name == published.name);
            assert!(known, "{} is published and not run", published.name);
        }
    }
}

fn assert_within(experiment: &Experiment, series: &str, bar: f64) {
    let ratio = experiment.ratio(series);
    println!("{series}: {ratio:.3} of published");
    assert!(
        (ratio - 1.0).abs() <= bar,
        "{series}: {ratio:.3} of published"
    );
}
