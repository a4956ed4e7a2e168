//! The transfer of a plan, as captured at its sender.

use gigatcp_analyze::{Options, Source};
use gigatcp_run::Job;
use gigatcp_run::whatif::Transfer;

/// Runs a plan, and reads the transfer of its first series from the sender's packets.
pub fn captured(plan: &str) -> Transfer {
    let directory = tempfile::tempdir().expect("a directory");
    let parsed = gigatcp_plan::parse("original", plan.as_bytes(), &[]).expect("a plan");
    let name = format!("{}.pcapng", parsed.series[0].name);
    let job = Job {
        captures: Some(directory.path().into()),
        ..Job::of(parsed)
    };
    job.records().expect("it runs");
    let source = Source::file(directory.path().join(name));
    Transfer::read(&source, &Options::default(), None).expect("a transfer")
}
