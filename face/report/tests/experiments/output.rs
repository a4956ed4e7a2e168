//! All that a terminal shows of each experiment: the snapshots are the
//! specification.

use gigatcp_record::{RunRecord, SCHEMA};
use gigatcp_report::Report;

use crate::Experiment;

impl Experiment {
    /// What the run as a whole is to its report.
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
            repeat: 1,
            partial: false,
            series: self.records.clone(),
        }
    }

    /// The whole output is as it was.
    pub(crate) fn assert_output(&self) {
        let record = self.record();
        let report = Report::new(&record, self.published.as_ref());
        insta::assert_snapshot!(self.plan.name.as_str(), report.text());
    }

    /// The same of experiments with very many series: the table of all.
    pub(crate) fn assert_summary(&self) {
        let record = self.record();
        let report = Report::new(&record, self.published.as_ref());
        insta::assert_snapshot!(self.plan.name.as_str(), report.text_summary());
    }
}

/// What other tests hold to what was published is here held to what it was.
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
    for name in ["dumbbell", "single-flow"] {
        Experiment::run(name).assert_output();
    }
}
