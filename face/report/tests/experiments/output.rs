//! Terminal output of each experiment; the snapshots are the specification.

use std::path::Path;

use gigatcp_plan::record::{RunRecord, SCHEMA};
use gigatcp_report::Report;

use crate::Experiment;

impl Experiment {
    fn record(&self) -> RunRecord {
        RunRecord {
            schema: SCHEMA.to_owned(),
            name: self.plan.name.clone(),
            title: self.plan.title.clone(),
            plan: String::new(),
            overrides: Vec::new(),
            plan_hash: String::new(),
            version: String::new(),
            seed: self.plan.seed,
            repeat: self.repeat,
            partial: false,
            series: self.records.clone(),
        }
    }

    /// Terminal output of one series.
    pub(crate) fn series_text(&self, series: &str) -> String {
        let record = self.record();
        let report = Report::new(&record, self.published.as_ref());
        report.text_series(self.record_of(series))
    }

    /// Checks the whole output against its snapshot.
    pub(crate) fn assert_output(&self) {
        let record = self.record();
        let report = Report::new(&record, self.published.as_ref());
        insta::assert_snapshot!(self.plan.name.as_str(), brief(&report.text()));
    }
}

/// An output of more than 1,000 lines as its first and last twenty and a hash of all.
fn brief(text: &str) -> String {
    const ENDS: usize = 20;
    let lines: Vec<_> = text.lines().collect();
    if lines.len() <= 1000 {
        return text.to_owned();
    }
    // FNV-1a: the same on every machine and with every release of Rust.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    });
    format!(
        "{}\n[{} lines, FNV-1a {hash:016x}]\n{}\n",
        lines[..ENDS].join("\n"),
        lines.len(),
        lines[lines.len() - ENDS..].join("\n"),
    )
}

/// Other tests compare with published numbers; this one compares with earlier output.
#[test]
fn what_a_terminal_shows_of_fink_slow_start() {
    Experiment::run("fink-slow-start").assert_output();
}

#[test]
fn what_a_terminal_shows_of_the_stall() {
    Experiment::run("shalunov-stall").assert_output();
}

#[test]
fn what_a_terminal_shows_of_the_examples() {
    for name in [
        "dumbbell",
        "single-flow",
        "boots",
        "cost-budget",
        "estimators",
        "fat-pipe",
        "questions",
        "sosend",
    ] {
        Experiment::run(name).assert_output();
    }
}

/// All four runs of each pair of buffers, as a user sees them with `--all`.
#[test]
fn what_a_terminal_shows_of_lance() {
    Experiment::run_as_often_as_planned("lance").assert_output();
}

#[test]
fn every_experiment_has_its_whole_output_here_but_those_of_running_kernels() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/experiments/snapshots");
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for entry in std::fs::read_dir(experiments).expect("the experiments") {
        let file_name = entry.expect("an entry").file_name();
        let name = file_name.to_str().expect("a name");
        let is_live = ["duel", "fink-today"].contains(&name);
        let snapshot = tests.join(format!("experiments__output__{name}.snap"));
        assert_eq!(snapshot.exists(), !is_live, "{name}");
    }
}
