//! Captures of simulated transfers: what is predicted for a change, and what the change brings.

use gigatcp_analyze::{Options, Source};
use gigatcp_run::Job;
use gigatcp_twin::{NoFit, Transfer, Twin, world};

/// A transfer that fills 24 kB of 100 kB: limited by the receive buffer.
const WINDOW: &str = r#"
name = "window"
[path]
rate = "20 Mbit/s"
rtt = "40 ms"
queue = "60 packets"
[receiver]
buffer = "24000 B"
[[flow]]
bytes = "1 MB"
"#;

/// A transfer that nothing passes for two seconds.
const OUTAGE: &str = r#"
name = "outage"
[path]
rate = "20 Mbit/s"
rtt = "40 ms"
loss = 1.0
loss_from = "300 ms"
loss_until = "2300 ms"
[[flow]]
bytes = "2 MB"
"#;

/// Captures the transfer of a plan at its sender and fits it.
fn fitted(plan: &str) -> Result<Twin, NoFit> {
    let directory = tempfile::tempdir().expect("a directory");
    let parsed = gigatcp_plan::parse("original", plan.as_bytes(), &[]).expect("a plan");
    let name = format!("{}.pcapng", parsed.series[0].name);
    let job = Job {
        captures: Some(directory.path().into()),
        ..Job::of(parsed)
    };
    job.records().expect("it runs");
    let source = Source::file(directory.path().join(name));
    let transfer = Transfer::read(&source, &Options::default(), None).expect("a transfer");
    Twin::fit(transfer, &[])
}

/// Asserts that a change is predicted within 10 % and inside of the interval.
fn assert_predicted(plan: &str, change: &str) {
    let changes = [change.to_owned()];
    let twin = fitted(plan).expect("a fit");
    let predicted = twin.predict(&changes).expect("a prediction");
    let truth = world::run(plan, &changes, 1).expect("it runs").goodput_bps;
    let error = predicted.goodput_bps / truth - 1.0;
    assert!(error.abs() < 0.1, "{predicted:?}, it is {truth}");
    let [low, high] = predicted.interval_bps;
    assert!(
        (low..=high).contains(&truth),
        "{predicted:?}, it is {truth}"
    );
}

#[test]
fn a_larger_receive_buffer_brings_what_is_predicted() {
    assert_predicted(WINDOW, "receiver.buffer=64 kB");
}

#[test]
fn what_the_twin_has_no_model_of_is_refused_with_the_reason() {
    let refused = fitted(OUTAGE).expect_err("no fit");
    assert!(refused.reason.contains("no model"), "{}", refused.reason);
}
