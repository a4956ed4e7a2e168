//! Captures of simulated transfers: compares the prediction for a change with its effect.

use crate::captured::captured;
use gigatcp_run::scenario;
use gigatcp_run::whatif::{Certainty, Change, Transfer, engine};

/// A transfer of Linux hosts that fills its receive window.
const WINDOW: &str = r#"
name = "window"
[path]
rate = "40 Mbit/s"
rtt = "40 ms"
queue = "200 packets"
[sender]
profile = "linux-6.18"
[receiver]
profile = "linux-6.18"
buffer = "30000 B"
[[flow]]
congestion_control = "cubic-linux"
duration = "5 s"
"#;

/// The same transfer, limited by its send buffer.
const SEND_BUFFER: &str = r#"
name = "send-buffer"
[path]
rate = "40 Mbit/s"
rtt = "40 ms"
queue = "200 packets"
[sender]
profile = "linux-6.18"
buffer = "40000 B"
[receiver]
profile = "linux-6.18"
[[flow]]
congestion_control = "cubic-linux"
duration = "5 s"
"#;

/// A transfer over random losses.
const LOSSY: &str = r#"
name = "lossy"
[path]
rate = "40 Mbit/s"
rtt = "20 ms"
queue = "200 packets"
loss = 0.004
[sender]
profile = "linux-6.18"
[receiver]
profile = "linux-6.18"
[[flow]]
congestion_control = "reno"
duration = "5 s"
"#;

/// A transfer that is paced at a fifth of the rate of its path.
const PACED: &str = r#"
name = "paced"
[path]
rate = "40 Mbit/s"
rtt = "20 ms"
queue = "200 packets"
[sender]
profile = "linux-6.18"
pacing = true
max_pacing_rate = "8 Mbit/s"
[receiver]
profile = "linux-6.18"
[[flow]]
congestion_control = "cubic-linux"
duration = "5 s"
"#;

/// A transfer whose window grows by a segment for each RTT, as after an early end of slow start.
const GROWING: &str = r#"
name = "growing"
[path]
rate = "100 Mbit/s"
rtt = "40 ms"
queue = "400 packets"
[sender]
profile = "linux-6.18"
[receiver]
profile = "linux-6.18"
[[flow]]
congestion_control = "reno"
initial_ssthresh = 12
bytes = "400 kB"
"#;

/// Goodput of a plan with a change, in bit/s.
fn goodput(plan: &str, change: &str) -> f64 {
    let plan = gigatcp_plan::parse("changed", plan.as_bytes(), &[change.to_owned()]);
    let config = scenario::world_of(&plan.expect("a plan"), None, 1).expect("a series");
    engine::measure(config, 1).expect("it runs")
}

/// Asserts that a change is predicted within 10 % and inside of the interval.
fn assert_predicted(plan: &str, change: &str, limit: &str) {
    let predicted = captured(plan)
        .predict(&[change.to_owned()], &[])
        .expect("a prediction");
    let truth = goodput(plan, change);
    let error = predicted.goodput_bps / truth - 1.0;
    assert!(error.abs() < 0.1, "{predicted:?}, it is {truth}");
    let [low, high] = predicted.interval_bps;
    assert!(
        (low..=high).contains(&truth),
        "{predicted:?}, it is {truth}"
    );
    assert_eq!(predicted.limit, limit, "{predicted:?}");
}

#[test]
fn requested_receive_buffer_doubled_predicts_the_window_that_linux_advertises() {
    assert_predicted(WINDOW, "receiver.buffer=60000 B", "receive-window-limited");
}

#[test]
fn window_of_few_segments_lacks_those_that_the_receiver_waits_with() {
    let stretched = WINDOW.replace(
        "buffer = \"30000 B\"",
        "buffer = \"60000 B\"\nack_every = 8",
    );
    for buffer in [30_000, 40_000] {
        let change = format!("receiver.buffer={buffer} B");
        assert_predicted(&stretched, &change, "receive-window-limited");
    }
}

#[test]
fn early_end_of_slow_start_is_simulated_where_the_packets_show_it() {
    let model = captured(GROWING).model(&[]).expect("a model");
    let segments = model.ssthresh.expect("an end of slow start");
    assert!((10.0..=13.0).contains(&segments), "{segments} segments");
    let key = format!("initial_ssthresh = {segments}");
    assert!(model.plan().contains(&key), "{}", model.plan());
}

#[test]
fn ample_receive_buffer_is_limited_by_the_path_next() {
    assert_predicted(WINDOW, "receiver.buffer=1 MB", "path-saturated");
}

#[test]
fn longer_rtt_divides_the_rate_of_a_window() {
    assert_predicted(WINDOW, "path.rtt=80 ms", "receive-window-limited");
}

#[test]
fn larger_send_buffer_predicts_the_mean_flight_between_writes() {
    assert_predicted(SEND_BUFFER, "sender.buffer=80000 B", "send-buffer-limited");
}

#[test]
fn losses_removed_leave_the_path() {
    assert_predicted(LOSSY, "path.loss=0", "path-saturated");
}

#[test]
fn bbr_over_random_losses_fills_the_path() {
    assert_predicted(LOSSY, "flow.congestion_control=bbr", "path-saturated");
}

#[test]
fn higher_pacing_rate_is_achieved_below_the_path() {
    assert_predicted(PACED, "sender.max_pacing_rate=12 Mbit/s", "pacing-limited");
}

#[test]
fn path_behind_a_pacing_rate_is_a_lower_bound_if_no_burst_shows_it() {
    let mut transfer = captured(PACED);
    transfer.diagnosis.bottleneck = None;
    let change = ["sender.max_pacing_rate=unlimited".to_owned()];
    let predicted = transfer.predict(&change, &[]).expect("a prediction");
    assert_eq!(predicted.certainty, Certainty::AtLeast, "{predicted:?}");
    assert!(predicted.interval_bps[0] <= goodput(PACED, "sender.max_pacing_rate=1 Gbit/s"));
}

#[test]
fn closed_form_and_engine_agree_where_both_apply() {
    for (plan, change) in [
        (WINDOW, "path.rtt=60 ms"),
        (WINDOW, "flow.count=2"),
        (WINDOW, "receiver.buffer=50000 B"),
        (SEND_BUFFER, "path.rtt=80 ms"),
        (PACED, "sender.max_pacing_rate=12 Mbit/s"),
    ] {
        let before = captured(plan).model(&[]).expect("a model");
        let after = before.changed(&[Change::parse(change).expect("a change")]);
        assert!(before.is_closed(&after), "{change}: {:?}", after.limits());
        let closed = before.closed(&after).mid;
        let (simulated, _) = before.simulated(&after).expect("it runs");
        let error = closed / simulated.mid - 1.0;
        assert!(
            error.abs() < 0.1,
            "{change}: {closed} by its closed form, {} simulated",
            simulated.mid
        );
    }
}

/// The transfer that its send buffer limits, if `why` is unsure whether its application pauses.
fn doubted() -> Transfer {
    let mut transfer = captured(SEND_BUFFER);
    let cause = |id| gigatcp_why::find(id).expect("a cause");
    let diagnosis = &mut transfer.diagnosis;
    diagnosis.verdicts.truncate(1);
    diagnosis.verdicts[0].cause = cause("application-limited");
    diagnosis.verdicts[0].confidence = 0.5;
    diagnosis.alternative = Some(cause("send-buffer-limited"));
    transfer
}

#[test]
fn change_of_one_of_two_doubted_causes_predicts_up_to_the_next_limit() {
    let change = ["net.ipv4.tcp_wmem=4096 16384 4194304".to_owned()];
    let predicted = doubted().predict(&change, &[]).expect("a prediction");
    let [low, high] = predicted.interval_bps;
    let truth = goodput(SEND_BUFFER, "sender.buffer=4 MB");
    assert!(
        (low..=high).contains(&truth),
        "{predicted:?}, it is {truth}"
    );
    let original = doubted().diagnosis.throughput.as_bps() as f64;
    assert!((low..=high).contains(&original), "{predicted:?}");
    assert_ne!(predicted.certainty, Certainty::Number, "{predicted:?}");
}

#[test]
fn change_of_neither_doubted_cause_predicts_no_gain() {
    let change = ["receiver.buffer=8 MB".to_owned()];
    let predicted = doubted().predict(&change, &[]).expect("a prediction");
    assert!((predicted.gain - 1.0).abs() < 0.1, "{predicted:?}");
}

#[test]
fn limits_name_each_doubted_cause() {
    let limits = doubted().limits(&[], &[]).expect("limits");
    assert_eq!(limits[0].cause, "application-limited");
    assert!(limits[0].evidence.contains("the send buffer"), "{limits:?}");
}

/// A transfer whose path is down for two seconds.
const OUTAGE: &str = r#"
name = "outage"
[path]
rate = "20 Mbit/s"
rtt = "40 ms"
queue = "100 packets"
loss = 1.0
loss_from = "2 s"
loss_until = "4 s"
[sender]
profile = "linux-6.18"
[receiver]
profile = "linux-6.18"
[[flow]]
congestion_control = "cubic-linux"
bytes = "8 MB"
"#;

#[test]
fn smaller_buffer_limits_what_an_outage_leaves() {
    let mut transfer = captured(OUTAGE);
    let first = transfer.diagnosis.verdicts.first_mut().expect("a verdict");
    first.cause = gigatcp_why::find("outage").expect("a cause");
    let original = transfer.diagnosis.throughput.as_bps() as f64;
    for (bytes, is_less) in [(40_000, true), (4_000_000, false)] {
        let change = format!("receiver.buffer={bytes} B");
        let truth = goodput(OUTAGE, &change);
        let predicted = transfer.predict(&[change], &[]).expect("a prediction");
        let [low, high] = predicted.interval_bps;
        assert!(
            (low..=high).contains(&truth),
            "{predicted:?}, it is {truth}"
        );
        assert_eq!(high < original, is_less, "{predicted:?}");
    }
}

/// A path that drops full packets without a message.
const BLACK_HOLE: &str = r#"
name = "black-hole"
duration = "20 s"
[path]
rate = "20 Mbit/s"
rtt = "40 ms"
queue = "100 packets"
mtu = 1400
icmp = false
[sender]
profile = "linux-6.18"
plpmtud = false
[receiver]
profile = "linux-6.18"
[[flow]]
congestion_control = "cubic-linux"
bytes = "8 MB"
"#;

#[test]
fn nothing_is_predicted_through_a_black_hole_unless_packets_become_smaller() {
    let transfer = captured(BLACK_HOLE);
    let predict = |changes: &[&str]| {
        let changes: Vec<String> = changes.iter().map(|text| (*text).to_owned()).collect();
        transfer.predict(&changes, &[])
    };
    for change in ["sender.initial_window=50", "flow.congestion_control=bbr"] {
        let predicted = predict(&[change]).expect("a prediction");
        assert_eq!(predicted.interval_bps, [0.0, 0.0], "{predicted:?}");
        assert_eq!(goodput(BLACK_HOLE, change), 0.0);
    }
    predict(&["sender.mtu=1300", "receiver.mtu=1300"]).expect_err("nothing shows the path");
}

#[test]
fn no_prediction_exceeds_the_path_that_showed_its_rate() {
    let short = LOSSY.replace("200 packets", "5 packets");
    let transfer = captured(&short.replace("loss = 0.004", ""));
    let path = transfer.model(&[]).expect("a model").path;
    assert!(path.high.is_finite(), "{path:?}");
    for change in ["flow.congestion_control=bbr", "flow.count=8"] {
        let predicted = transfer
            .predict(&[change.to_owned()], &[])
            .expect("a prediction");
        assert!(predicted.interval_bps[1] <= path.high, "{predicted:?}");
    }
}

#[test]
fn faults_of_a_change_are_named() {
    for (change, fault) in [
        ("path.rtt", "is not KEY=VALUE"),
        ("path.rtt=banana", "a time"),
        ("flow.congestion_control=banana", "a congestion control"),
        ("path.loss=2", "a probability"),
        ("path.banana=2", "banana"),
    ] {
        let reason = captured(WINDOW)
            .predict(&[change.to_owned()], &[])
            .expect_err(change);
        assert!(reason.contains(fault), "{change}: {reason}");
    }
}
