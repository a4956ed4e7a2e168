//! Diagnoses of `why` for flows that share a path, a sender behind its own interface, and a
//! constant window: short plans, captured at the sender.

use gigatcp_analyze::{Capture, Diagnosis, Options, Source};
use gigatcp_run::Job;

/// Checks that the times of a diagnosis add up to the run.
fn check(diagnosis: &Diagnosis) {
    let told = diagnosis
        .verdicts
        .iter()
        .fold(diagnosis.unknown, |sum, verdict| sum + verdict.time);
    assert_eq!(told, diagnosis.duration, "{}", diagnosis.limited_by());
}

/// Diagnoses at the sender of the first `count` connections of a plan.
fn at_sender(text: &str, only: &[&str], count: usize) -> Vec<Diagnosis> {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = gigatcp_plan::parse("plan.toml", text.as_bytes(), &[]).expect("a valid plan");
    let job = Job {
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        captures: Some(folder.path().to_path_buf()),
        ..Job::of(plan)
    };
    job.records().expect("a run");
    let mut files = std::fs::read_dir(folder.path()).expect("a folder");
    let file = files.next().expect("a capture").expect("a capture").path();
    let capture = Capture::read(&Source::file(file), &Options::default()).expect("a capture");
    let diagnose = |index| {
        capture
            .connections()
            .diagnose(index)
            .expect("data was sent")
    };
    (0..count).map(diagnose).collect()
}

/// Diagnoses of two flows of one sender that share a queue.
fn sharing(path: &str) -> Vec<Diagnosis> {
    let flow = "congestion_control = \"cubic-linux\"\nslow_start = \"hystart\"";
    let plan = format!(
        "name = \"sharing\"\n[path]\n{path}\n[[flow]]\nname = \"a\"\n{flow}\nduration = \"8 s\"\n\
         [[flow]]\nname = \"b\"\n{flow}\nduration = \"8 s\"\nstart = \"0.3 s\"\n"
    );
    at_sender(&plan, &[], 2)
}

/// Diagnosis of a sender whose interface of that rate is the bottleneck.
fn behind_interface(rate: &str, mtu: u32, rtt: &str) -> Diagnosis {
    let plan = format!(
        "name = \"interface\"\n[path]\nrate = \"40 Gbit/s\"\nrtt = \"{rtt}\"\n[sender]\nmtu = {mtu}\n\
         [sender.link]\nname = \"interface\"\nrate = \"{rate}\"\n[receiver]\nmtu = {mtu}\n\
         [[flow]]\nduration = \"4 s\"\n"
    );
    at_sender(&plan, &[], 1).remove(0)
}

#[test]
fn the_senders_own_interface_is_told_from_a_slow_host() {
    for (rate, mtu, rtt) in [
        ("100 Mbit/s", 1500, "30 ms"),
        ("1 Gbit/s", 1500, "20 ms"),
        ("1 Gbit/s", 9000, "2 ms"),
        ("1 Gbit/s", 4470, "100 us"),
        ("2.5 Gbit/s", 1500, "5 ms"),
    ] {
        let diagnosis = behind_interface(rate, mtu, rtt);
        check(&diagnosis);
        let told = diagnosis.limited_by();
        let said = diagnosis.headline().map(|most| most.cause.id);
        let is_queue = matches!(said, Some("local-queue" | "path-saturated"));
        // With three segments per RTT it may be unsure, but must not blame a host.
        let blames_host = said == Some("sender-cpu-limited");
        let may_be_unsure = rtt == "100 us" && diagnosis.is_unsure() && !blames_host;
        assert!(is_queue || may_be_unsure, "{rate}, {mtu}, {rtt}: {told}");
    }
}

#[test]
fn a_window_told_in_units_stands_still_too() {
    let plan = include_str!("../../../../experiments/shalunov-stall/plan.toml");
    let diagnosis = at_sender(plan, &["modern-receiver"], 1).remove(0);
    check(&diagnosis);
    let share = |id: &str| {
        let found = diagnosis
            .verdicts
            .iter()
            .find(|verdict| verdict.cause.id == id);
        found.map_or(0.0, |verdict| verdict.time.as_secs_f64()) / diagnosis.duration.as_secs_f64()
    };
    // The pause; the sender's interface behind it is indistinguishable from it.
    let told = diagnosis.limited_by();
    assert!(share("rx-ring-overrun") > 0.1, "{told}");
    assert_eq!(share("random-loss"), 0.0, "{told}");
}

#[test]
fn what_is_lost_in_a_queue_that_others_fill_too_met_neither_a_policer_nor_chance() {
    for path in [
        "rate = \"67 Mbit/s\"\nrtt = \"4.5 ms\"\nqueue = \"1.14 BDP\"",
        "rate = \"200 Mbit/s\"\nrtt = \"12 ms\"\nqueue = \"0.8 BDP\"",
        "rate = \"40 Mbit/s\"\nrtt = \"30 ms\"\nqueue = \"1 BDP\"",
    ] {
        for diagnosis in sharing(path) {
            check(&diagnosis);
            // A single loss does not distinguish them.
            let mut verdicts = diagnosis.verdicts.iter();
            let is_wrong = verdicts.any(|verdict| match verdict.cause.id {
                "policer" => true,
                "random-loss" => verdict.time * 50 > diagnosis.duration,
                _ => false,
            });
            assert!(!is_wrong, "{path}: {}", diagnosis.limited_by());
            let most = diagnosis.headline().map(|first| first.cause.id);
            let is_right = matches!(
                most,
                Some("path-saturated" | "cross-traffic" | "queue-overflow")
            );
            assert!(is_right, "{path}: {}", diagnosis.limited_by());
        }
    }
}
