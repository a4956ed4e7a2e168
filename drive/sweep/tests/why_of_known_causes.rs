//! Worlds with one known cause, captured at three places: what `why` says of the
//! capture alone. The worlds are those of `cargo xtask grade`, which counts many
//! more; here are the causes that must be found without fail.

#[allow(dead_code)]
#[path = "../examples/grade/diagnosis.rs"]
mod diagnosis;
#[allow(dead_code)]
#[path = "../examples/grade/draw.rs"]
mod draw;
#[allow(dead_code)]
#[path = "../examples/grade/views.rs"]
mod views;
#[allow(dead_code)]
#[path = "../examples/grade/worlds.rs"]
mod worlds;

use std::sync::atomic::AtomicBool;

use gigatcp_analyze::{Capture, Diagnosis, Options, Source};
use gigatcp_sweep::{Ground, Job, Progress, run};
use worlds::Paths;

/// What is said of the world with this cause, from each place.
fn diagnoses(cause: &str, seed: u64, paths: Paths) -> [Option<Diagnosis>; 3] {
    let case = worlds::world(cause, seed, paths);
    let captures = views::captures(&case, seed);
    captures.map(|octets| diagnosis::diagnose(diagnosis::Captured::whole(octets)))
}

/// The account of each adds up to the run.
fn check(diagnosis: &Diagnosis) {
    let told = diagnosis
        .verdicts
        .iter()
        .fold(diagnosis.unknown, |sum, verdict| sum + verdict.time);
    assert_eq!(told, diagnosis.duration, "{}", diagnosis.limited_by());
}

#[test]
fn causes_that_show_everywhere_are_found_from_every_place() {
    for cause in [
        "receive-window-limited",
        "no-window-scaling",
        "cwnd-growth-limited",
        "delayed-ack-stall",
        "mss-clamped",
        "capture-artifact",
    ] {
        for (place, diagnosis) in diagnoses(cause, 3, Paths::Usual).into_iter().enumerate() {
            let diagnosis = diagnosis.expect("data was sent");
            check(&diagnosis);
            let said = diagnosis.headline().map(|first| first.cause.id);
            let place = views::VIEWS[place];
            assert_eq!(said, Some(cause), "{place}: {}", diagnosis.limited_by());
        }
    }
}

#[test]
fn causes_of_the_sending_host_and_its_path_are_found_at_the_sender() {
    for cause in [
        "path-saturated",
        "send-buffer-limited",
        "rto-backoff",
        "pmtu-black-hole",
        "sender-cpu-limited",
        "reordering-mistaken-for-loss",
    ] {
        let [at_sender, _, _] = diagnoses(cause, 3, Paths::Usual);
        let diagnosis = at_sender.expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.cause.id);
        assert_eq!(said, Some(cause), "{}", diagnosis.limited_by());
    }
}

#[test]
fn a_full_path_of_thousands_of_segments_is_one_from_every_place() {
    // 700 Mbit/s, 97 ms: 5600 segments fill it.
    for diagnosis in diagnoses("path-saturated", 1, Paths::Fat) {
        let diagnosis = diagnosis.expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.cause.id);
        assert_eq!(said, Some("path-saturated"), "{}", diagnosis.limited_by());
    }
}

#[test]
fn what_limits_long_fat_paths_is_found_far_from_the_sender() {
    for (cause, seed) in [
        // A short queue, and a policer, each with one flood that ends slow start.
        ("queue-overflow", 3),
        ("policer", 2),
        ("ack-path", 1),
        ("sender-cpu-limited", 10),
        // The window closes, and what is under way fills it.
        ("receiver-cpu-limited", 2),
    ] {
        let [_, at_receiver, _] = diagnoses(cause, seed, Paths::Fat);
        let diagnosis = at_receiver.expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.cause.id);
        assert_eq!(said, Some(cause), "{}", diagnosis.limited_by());
    }
}

#[test]
fn the_place_of_capture_is_found_out() {
    let found = diagnoses("receive-window-limited", 2, Paths::Usual).map(|diagnosis| {
        let diagnosis = diagnosis.expect("data was sent");
        diagnosis.capture_point.name()
    });
    assert_eq!(found, views::VIEWS[..3]);
}

#[test]
fn two_captures_say_together_what_was_lost_between_them_and_why() {
    for (cause, seed, paths) in [
        ("random-loss", 3, Paths::Usual),
        ("queue-overflow", 3, Paths::Usual),
        ("path-saturated", 3, Paths::Usual),
        // Losses go on while the queue drains.
        ("policer", 4, Paths::Fat),
    ] {
        let case = worlds::world(cause, seed, paths);
        let captures = views::captures(&case, seed).map(diagnosis::Captured::whole);
        let [sender, receiver, _] = captures;
        let diagnosis = diagnosis::diagnose_both(sender, receiver).expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.cause.id);
        assert_eq!(said, Some(cause), "{}", diagnosis.limited_by());
        let joined = diagnosis.joined.expect("they are of one connection");
        assert!(joined.starts_with("Seen in both captures: of "), "{joined}");
    }
}

/// What is said at the sender of each of the first `count` connections of a plan.
fn at_sender(text: &str, only: &[&str], count: usize) -> Vec<Diagnosis> {
    let folder = tempfile::tempdir().expect("a folder");
    let job = Job {
        ground: Ground::VirtualTime,
        plan: gigatcp_plan::parse("plan.toml", text.as_bytes(), &[]).expect("a valid plan"),
        only: only.iter().map(|one| (*one).to_owned()).collect(),
        seed: 1,
        repeat: 1,
        captures: Some(folder.path().to_path_buf()),
        judge: false,
    };
    run(&job, &AtomicBool::new(false), &Progress::of(&job), &|_| {}).expect("a run");
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

#[test]
fn what_others_do_to_a_queue_is_no_damage() {
    // A queue of a few packets, into which others send now and then; and damage.
    for (cause, seed) in [("queue-overflow", 8), ("random-loss", 6)] {
        let [at_sender, _, _] = diagnoses(cause, seed, Paths::Shared);
        let diagnosis = at_sender.expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.cause.id);
        assert_eq!(said, Some(cause), "{}", diagnosis.limited_by());
    }
}

/// Two flows of one sender share a queue.
fn sharing(path: &str) -> Vec<Diagnosis> {
    let flow = "congestion_control = \"cubic-linux\"\nslow_start = \"hystart\"";
    let plan = format!(
        "name = \"sharing\"\n[path]\n{path}\n[[flow]]\nname = \"a\"\n{flow}\nduration = \"8 s\"\n\
         [[flow]]\nname = \"b\"\n{flow}\nduration = \"8 s\"\nstart = \"0.3 s\"\n"
    );
    at_sender(&plan, &[], 2)
}

/// What is said of a sender with an interface of that rate, which is the slowest link.
fn behind_interface(rate: &str, mtu: u32, rtt: &str) -> Diagnosis {
    let plan = format!(
        "name = \"interface\"\n[path]\nrate = \"40 Gbit/s\"\nrtt = \"{rtt}\"\n[sender]\nmtu = {mtu}\n\
         [sender.link]\nname = \"interface\"\nrate = \"{rate}\"\n[receiver]\nmtu = {mtu}\n\
         [[flow]]\nduration = \"4 s\"\n"
    );
    at_sender(&plan, &[], 1).remove(0)
}

#[test]
fn the_senders_own_interface_is_told_from_a_slow_host_by_its_speed() {
    for (rate, mtu, rtt) in [
        ("100 Mbit/s", 1500, "30 ms"),
        ("1 Gbit/s", 1500, "20 ms"),
        ("1 Gbit/s", 9000, "2 ms"),
        // Three segments to a round trip.
        ("1 Gbit/s", 4470, "100 us"),
        ("2.5 Gbit/s", 1500, "5 ms"),
    ] {
        let diagnosis = behind_interface(rate, mtu, rtt);
        check(&diagnosis);
        let most = diagnosis.headline().expect("a cause");
        assert_eq!(most.cause.id, "path-saturated", "{rate}, {mtu}, {rtt}");
        let says = format!("an Ethernet of {rate}");
        assert!(most.finding.contains(&says), "{}", most.finding);
    }
    // What is as fast as no Ethernet may be a processor.
    let diagnosis = behind_interface("870 Mbit/s", 1500, "20 ms");
    let most = diagnosis.headline().expect("a cause");
    assert_eq!(
        most.cause.id,
        "sender-cpu-limited",
        "{}",
        diagnosis.limited_by()
    );
}

#[test]
fn a_window_told_in_units_stands_still_too() {
    let plan = include_str!("../../../experiments/shalunov-stall/plan.toml");
    let diagnosis = at_sender(plan, &["modern-receiver"], 1).remove(0);
    check(&diagnosis);
    let share = |id: &str| {
        let found = diagnosis.verdicts.iter().find(|one| one.cause.id == id);
        found.map_or(0.0, |one| one.time.as_secs_f64()) / diagnosis.duration.as_secs_f64()
    };
    // The pause, and then the interface of the sender.
    let told = diagnosis.limited_by();
    assert!(share("rx-ring-overrun") > 0.1, "{told}");
    assert!(share("path-saturated") > 0.5, "{told}");
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
            // A single loss does not tell.
            let mut verdicts = diagnosis.verdicts.iter();
            let is_wrong = verdicts.any(|one| match one.cause.id {
                "policer" => true,
                "random-loss" => one.time * 50 > diagnosis.duration,
                _ => false,
            });
            assert!(!is_wrong, "{path}: {}", diagnosis.limited_by());
            let most = diagnosis.headline().map(|first| first.cause.id);
            let is_right = matches!(most, Some("path-saturated" | "queue-overflow"));
            assert!(is_right, "{path}: {}", diagnosis.limited_by());
        }
    }
}
