//! Captures of simulated transfers: compares the prediction for a change with its effect.

use gigatcp_analyze::{Options, Source};
use gigatcp_run::Job;
use gigatcp_twin::{Certainty, NoFit, Transfer, Twin, world};

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

/// A transfer over random losses.
const LOSSY: &str = r#"
name = "lossy"
[path]
rate = "40 Mbit/s"
rtt = "20 ms"
queue = "200 packets"
loss = 0.004
[[flow]]
congestion_control = "reno"
bytes = "3 MB"
"#;

/// A transfer that is paced at a twentieth of the rate of its path.
const PACED: &str = r#"
name = "paced"
[path]
rate = "60 Mbit/s"
rtt = "20 ms"
queue = "200 packets"
[sender]
pacing = true
max_pacing_rate = "3 Mbit/s"
[[flow]]
bytes = "1 MB"
"#;

/// A transfer whose window is a small part of its BDP, without a burst.
const SMALL_WINDOW: &str = r#"
name = "small-window"
[path]
rate = "400 Mbit/s"
rtt = "20 ms"
queue = "900 packets"
[sender]
pacing = true
initial_window = 4
[receiver]
buffer = "30000 B"
[[flow]]
bytes = "1 MB"
"#;

/// A transfer interrupted for two seconds.
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

#[test]
fn random_losses_are_replayed_and_what_bbr_brings_over_them_is_bounded() {
    let twin = fitted(LOSSY).expect("a fit");
    let likeness = &twin.fits[0].likeness;
    assert!((0.97..1.03).contains(&likeness.goodput), "{likeness:?}");
    let changes = ["flow.congestion_control=bbr".to_owned()];
    let predicted = twin.predict(&changes).expect("a prediction");
    let truth = world::run(LOSSY, &changes, 1).expect("it runs").goodput_bps;
    assert!(predicted.certainty != Certainty::Unsure, "{predicted:?}");
    assert!(
        predicted.interval_bps[0] < truth,
        "{predicted:?}, it is {truth}"
    );
    assert!(
        predicted.gain_stated() > 1.1,
        "{predicted:?}, it is {truth}"
    );
}

#[test]
fn where_the_capture_does_not_show_the_rate_there_is_a_lower_bound_at_most() {
    let twin = fitted(SMALL_WINDOW).expect("a fit");
    let changes = ["receiver.buffer=4 MB".to_owned()];
    let predicted = twin.predict(&changes).expect("a prediction");
    assert!(!twin.shows_rate);
    assert_eq!(predicted.certainty, Certainty::AtLeast, "{predicted:?}");
    let truth = world::run(SMALL_WINDOW, &changes, 1).expect("it runs");
    assert!(
        predicted.interval_bps[0] <= truth.goodput_bps,
        "{predicted:?}, it is {}",
        truth.goodput_bps
    );
}

#[test]
fn parallel_connections_of_a_limited_host_are_refused() {
    let twin = fitted(PACED).expect("a fit");
    let changes = ["flow.count=4".to_owned()];
    let refused = twin.predict(&changes).expect_err("no prediction");
    assert!(refused.contains("parallel connections"), "{refused}");
}

#[test]
fn the_first_burst_of_a_paced_transfer_shows_what_its_path_carries() {
    let twin = fitted(PACED).expect("a fit");
    assert!(twin.shows_rate);
    let changes = ["sender.max_pacing_rate=100 Mbit/s".to_owned()];
    let predicted = twin.predict(&changes).expect("a prediction");
    let truth = world::run(PACED, &changes, 1).expect("it runs").goodput_bps;
    let [low, high] = predicted.interval_bps;
    assert!((low..high).contains(&truth), "{predicted:?}, it is {truth}");
}
