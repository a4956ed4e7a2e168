//! From a transfer and the facts of a host to changes with predictions.

use crate::captured::captured;
use gigatcp_meter::doctor::Direction;
use gigatcp_meter::doctor::facts::{HostFacts, Interface, Qdisc, Route, RouteMetrics};
use gigatcp_run::whatif::model::Estimate;
use gigatcp_run::whatif::{Certainty, Evidence, Fix, FixPlan, Place, Transfer};

/// Payload rate of a path of 40 Mbit/s.
const PATH: f64 = 37.7e6;

/// A transfer over 40 Mbit/s and 40 ms, with further keys of sender and receiver.
fn transfer(sender: &str, receiver: &str) -> Transfer {
    queued("200 packets", sender, receiver)
}

/// The same with a queue of this length.
fn queued(queue: &str, sender: &str, receiver: &str) -> Transfer {
    let plan = format!(
        "name = \"transfer\"\n[path]\nrate = \"40 Mbit/s\"\nrtt = \"40 ms\"\nqueue = \"{queue}\"\n\
         [sender]\nprofile = \"linux-6.18\"\n{sender}\n[receiver]\nprofile = \"linux-6.18\"\n{receiver}\n\
         [[flow]]\ncongestion_control = \"cubic-linux\"\nduration = \"5 s\"\n"
    );
    captured(&plan)
}

/// A host with the defaults of Linux, but for these settings.
fn host(settings: &[(&str, &str)]) -> HostFacts {
    let usual = [
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_window_scaling", "1"),
        ("net.ipv4.tcp_moderate_rcvbuf", "1"),
        ("net.ipv4.tcp_sack", "1"),
        ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ];
    let all = usual.iter().chain(settings);
    HostFacts {
        kernel: Some("6.18.1".into()),
        sysctls: all
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        destination: Some("192.0.2.7".into()),
        route: Some(Route {
            spec: "default via 198.51.100.1 dev eth0".into(),
            device: "eth0".into(),
            ..Route::default()
        }),
        ..HostFacts::default()
    }
}

fn plan(transfer: &Transfer, facts: &HostFacts, direction: Direction) -> FixPlan {
    let evidence = Evidence {
        transfer,
        host: Some((facts, direction)),
        capacity: Some(Estimate::about(PATH, 0.02)),
        within_burst: None,
        wanted: None,
    };
    evidence.plan().expect("a plan")
}

/// The first change that is worth a try.
fn first(plan: &FixPlan) -> &Fix {
    let first = plan.fixes.first().expect("a change");
    assert!(first.is_worth, "{plan:#?}");
    first
}

fn predicted(fix: &Fix) -> f64 {
    fix.prediction.as_ref().expect("a prediction").goodput_bps
}

#[test]
fn capped_receive_buffer_is_raised_with_the_path_as_the_next_limit() {
    let slow = transfer("", "buffer = \"30000 B\"");
    let facts = host(&[("net.ipv4.tcp_rmem", "4096 60000 60000")]);
    let plan = plan(&slow, &facts, Direction::Receive);
    let fix = first(&plan);
    assert_eq!(fix.ids, ["receive-buffer-max"], "{plan:#?}");
    assert!(fix.can_be_tried());
    assert_eq!(
        fix.steps[0].undo.as_deref(),
        Some("sysctl -w net.ipv4.tcp_rmem='4096 60000 60000'")
    );
    let prediction = fix.prediction.as_ref().expect("a prediction");
    assert_eq!(prediction.limit, "path-saturated");
    assert!(predicted(fix) > 0.8 * PATH, "{prediction:?}");
}

#[test]
fn of_two_limits_the_lower_is_lifted_first_and_the_other_is_predicted() {
    let slow = transfer("", "buffer = \"20000 B\"");
    // 40 segments over 40 ms: 11.6 Mbit/s.
    let mut facts = host(&[("net.ipv4.tcp_rmem", "4096 40000 40000")]);
    let route = facts.route.as_mut().expect("a route");
    route.metrics = RouteMetrics {
        cwnd_segments: Some(40),
        locks: 1 << RouteMetrics::CWND,
        ..RouteMetrics::default()
    };
    let both = plan(&slow, &facts, Direction::Both);
    let fix = first(&both);
    assert_eq!(fix.ids, ["receive-buffer-max"], "{both:#?}");
    let prediction = fix.prediction.as_ref().expect("a prediction");
    assert_eq!(prediction.limit, "route-cwnd");
    assert!((10e6..13e6).contains(&predicted(fix)), "{prediction:?}");
}

#[test]
fn two_ceilings_of_the_same_height_are_lifted_together() {
    let slow = transfer("", "buffer = \"30000 B\"");
    // 26 segments over 40 ms are 7.5 Mbit/s, about the rate of the buffer.
    let mut facts = host(&[("net.ipv4.tcp_rmem", "4096 60000 60000")]);
    let route = facts.route.as_mut().expect("a route");
    route.metrics.cwnd_segments = Some(26);
    route.metrics.locks = 1 << RouteMetrics::CWND;
    let both = plan(&slow, &facts, Direction::Both);
    let fix = first(&both);
    assert_eq!(fix.steps.len(), 2, "{both:#?}");
    assert!(predicted(fix) > 0.8 * PATH, "{fix:#?}");
}

#[test]
fn healthy_host_on_a_full_path_gets_no_advice() {
    let full = transfer("", "");
    for direction in [Direction::Send, Direction::Receive] {
        let plan = plan(&full, &host(&[]), direction);
        assert!(plan.fixes.iter().all(|fix| !fix.is_worth), "{plan:#?}");
    }
}

#[test]
fn setting_that_the_transfer_refutes_is_not_advised() {
    let full = transfer("", "");
    // It would allow 8 Mbit/s: the program requested another buffer.
    let facts = host(&[("net.ipv4.tcp_rmem", "4096 60000 60000")]);
    let plan = plan(&full, &facts, Direction::Receive);
    assert!(plan.fixes.iter().all(|fix| !fix.is_worth), "{plan:#?}");
}

#[test]
fn window_of_the_other_host_is_advice_for_that_host() {
    let slow = transfer("", "buffer = \"30000 B\"");
    let plan = plan(&slow, &host(&[]), Direction::Send);
    let fix = first(&plan);
    assert_eq!((fix.place, fix.can_be_tried()), (Place::Far, false));
    assert!(
        fix.steps[0]
            .command
            .starts_with("sysctl -w net.ipv4.tcp_rmem="),
        "{fix:?}"
    );
    assert!(predicted(fix) > 2.0 * plan.goodput_bps, "{fix:?}");
}

#[test]
fn window_without_a_setting_that_explains_it_is_advice_for_the_program() {
    let slow = transfer("", "buffer = \"30000 B\"");
    let plan = plan(&slow, &host(&[]), Direction::Receive);
    let fix = first(&plan);
    assert_eq!(fix.place, Place::Program);
    assert!(fix.steps[0].command.contains("SO_RCVBUF"), "{fix:?}");
}

#[test]
fn causes_of_the_far_sender_that_look_alike_are_advised_together() {
    let mut slow = transfer("buffer = \"40000 B\"", "");
    let cause = |id| gigatcp_why::find(id).expect("a cause");
    let diagnosis = &mut slow.diagnosis;
    diagnosis.verdicts.truncate(1);
    diagnosis.verdicts[0].cause = cause("pacing-limited");
    diagnosis.verdicts[0].confidence = 0.4;
    diagnosis.alternative = Some(cause("send-buffer-limited"));
    let plan = plan(&slow, &host(&[]), Direction::Receive);
    let fix = first(&plan);
    assert_eq!(fix.place, Place::Far);
    assert_eq!(fix.ids, ["pacing-limited", "send-buffer-limited"]);
    let commands = fix.steps.iter().map(|step| step.command.as_str());
    assert!(
        commands.clone().any(|command| command.contains("tcp_wmem")),
        "{fix:?}"
    );
    assert!(predicted(fix) > 0.8 * PATH, "{fix:?}");
}

#[test]
fn full_buffer_that_looks_like_a_pause_is_lifted_by_the_setting_that_explains_it() {
    let mut slow = transfer("buffer = \"40000 B\"", "");
    let diagnosis = &mut slow.diagnosis;
    diagnosis.verdicts.truncate(1);
    diagnosis.verdicts[0].cause = gigatcp_why::find("application-limited").expect("a cause");
    diagnosis.verdicts[0].confidence = 0.4;
    let facts = host(&[("net.ipv4.tcp_wmem", "4096 16384 80000")]);
    let plan = plan(&slow, &facts, Direction::Send);
    let fix = first(&plan);
    assert_eq!(fix.ids, ["send-buffer-max"], "{plan:#?}");
    assert!(predicted(fix) > 0.8 * PATH, "{fix:?}");
}

#[test]
fn transfer_of_other_hosts_gets_advice_that_names_the_end() {
    let slow = transfer("", "buffer = \"30000 B\"");
    let evidence = Evidence {
        transfer: &slow,
        host: None,
        capacity: None,
        within_burst: None,
        wanted: None,
    };
    let plan = evidence.plan().expect("a plan");
    let fix = first(&plan);
    assert!(
        fix.steps[0].command.starts_with("on the receiver: sysctl"),
        "{fix:?}"
    );
}

#[test]
fn control_that_the_kernel_lacks_is_named_and_not_tried() {
    let mut slow = transfer("", "");
    slow.diagnosis.quantities.lost = 40;
    slow.diagnosis.quantities.loss_events = 40;
    slow.diagnosis.quantities.overflows = 0.0;
    slow.diagnosis.verdicts.clear();
    let facts = host(&[
        ("net.ipv4.tcp_congestion_control", "reno"),
        ("net.ipv4.tcp_available_congestion_control", "reno"),
    ]);
    let plan = plan(&slow, &facts, Direction::Send);
    let lacking = plan
        .fixes
        .iter()
        .find(|fix| fix.ids == ["congestion-control"]);
    let fix = lacking.expect("a change of the control");
    assert!(fix.lacks.is_some() && !fix.can_be_tried(), "{fix:?}");
}

#[test]
fn burst_of_this_hosts_bucket_shows_what_the_path_carries_without_it() {
    let mut shaped = queued("5000 packets", "", "");
    let mut facts = host(&[]);
    facts.interface = Some(Interface {
        name: "eth0".into(),
        ..Interface::default()
    });
    facts.qdiscs = Some(vec![Qdisc {
        kind: "tbf".into(),
        handle: "8001:".into(),
        parent: "root".into(),
        rate_bps: Some(40_000_000),
        burst_bytes: Some(30_000),
        limit_bytes: Some(100_000),
        ..Qdisc::default()
    }]);
    // The bucket spaces packets as a program that pauses does.
    for looks_paused in [false, true] {
        if looks_paused {
            let diagnosis = &mut shaped.diagnosis;
            diagnosis.verdicts.truncate(1);
            diagnosis.verdicts[0].cause =
                gigatcp_why::find("application-limited").expect("a cause");
            diagnosis.verdicts[0].confidence = 0.4;
        }
        let evidence = Evidence {
            transfer: &shaped,
            host: Some((&facts, Direction::Send)),
            capacity: Some(Estimate::about(PATH, 0.02)),
            within_burst: Some(2.0 * PATH),
            wanted: None,
        };
        let plan = evidence.plan().expect("a plan");
        let fix = first(&plan);
        assert_eq!(fix.ids, ["qdisc-rate"], "{plan:#?}");
        let prediction = fix.prediction.as_ref().expect("a prediction");
        assert_eq!(prediction.certainty, Certainty::Number, "{prediction:?}");
        assert!(
            (1.6 * PATH..2.1 * PATH).contains(&predicted(fix)),
            "{prediction:?}"
        );
    }
}

#[test]
fn buffer_that_the_programs_requested_is_advice_for_them() {
    let mut slow = transfer("", "buffer = \"30000 B\"");
    slow.sets_buffers = Some(true);
    let plan = plan(&slow, &host(&[]), Direction::Send);
    let fix = first(&plan);
    assert_eq!(fix.place, Place::Program);
    assert!(fix.steps[0].command.contains("SO_RCVBUF"), "{fix:?}");
}

#[test]
fn windows_that_only_this_host_would_scale_are_advice_for_the_other_one() {
    let slow = transfer("window_scaling = false", "");
    let plan = plan(&slow, &host(&[]), Direction::Receive);
    let fix = first(&plan);
    assert_eq!(fix.place, Place::Far);
    assert_eq!(
        fix.steps[0].command,
        "sysctl -w net.ipv4.tcp_window_scaling='1'"
    );
}
