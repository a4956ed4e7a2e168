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

use gigatcp_why::Diagnosis;
use worlds::Size;

/// What is said of the world with this cause, from each place.
fn diagnoses(cause: &str, seed: u64, size: Size) -> [Option<Diagnosis>; 3] {
    let case = worlds::world(cause, seed, size);
    let captures = views::captures(&case, seed);
    captures.map(|octets| diagnosis::diagnose(diagnosis::Captured::whole(octets)))
}

/// The account of each adds up to the run.
fn check(diagnosis: &Diagnosis) {
    let told = diagnosis
        .verdicts
        .iter()
        .fold(diagnosis.unknown, |sum, verdict| sum + verdict.time);
    assert_eq!(told, diagnosis.run, "{}", diagnosis.limited_by());
}

#[test]
fn causes_that_show_everywhere_are_found_from_every_place() {
    for cause in [
        "receive-window-limited",
        "window-clamped",
        "slow-start-too-slow",
        "delayed-ack-stall",
        "mss-clamped",
        "capture-artefact",
    ] {
        for (place, diagnosis) in diagnoses(cause, 3, Size::Usual).into_iter().enumerate() {
            let diagnosis = diagnosis.expect("data was sent");
            check(&diagnosis);
            let said = diagnosis.headline().map(|first| first.rule.id);
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
        "rto-ladder",
        "pmtu-black-hole",
        "cpu-limited-sender",
        "reordering-taken-for-loss",
    ] {
        let [at_sender, _, _] = diagnoses(cause, 3, Size::Usual);
        let diagnosis = at_sender.expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.rule.id);
        assert_eq!(said, Some(cause), "{}", diagnosis.limited_by());
    }
}

#[test]
fn a_full_path_of_thousands_of_segments_is_one_from_every_place() {
    // 700 Mbit/s, 97 ms: 5600 segments fill it.
    for diagnosis in diagnoses("path-saturated", 1, Size::Fat) {
        let diagnosis = diagnosis.expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.rule.id);
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
        ("cpu-limited-sender", 10),
        // The window closes, and what is under way fills it.
        ("cpu-limited-receiver", 2),
    ] {
        let [_, at_receiver, _] = diagnoses(cause, seed, Size::Fat);
        let diagnosis = at_receiver.expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.rule.id);
        assert_eq!(said, Some(cause), "{}", diagnosis.limited_by());
    }
}

#[test]
fn the_place_of_capture_is_found_out() {
    let found = diagnoses("receive-window-limited", 2, Size::Usual).map(|diagnosis| {
        let diagnosis = diagnosis.expect("data was sent");
        diagnosis.view.name()
    });
    assert_eq!(found, views::VIEWS[..3]);
}

#[test]
fn two_captures_say_together_what_was_lost_between_them_and_why() {
    for (cause, seed, size) in [
        ("random-loss", 3, Size::Usual),
        ("queue-overflow", 3, Size::Usual),
        ("path-saturated", 3, Size::Usual),
        // Losses go on while the queue drains.
        ("policer", 4, Size::Fat),
    ] {
        let case = worlds::world(cause, seed, size);
        let captures = views::captures(&case, seed).map(diagnosis::Captured::whole);
        let [sender, receiver, _] = captures;
        let diagnosis = diagnosis::diagnose_both(sender, receiver).expect("data was sent");
        check(&diagnosis);
        let said = diagnosis.headline().map(|first| first.rule.id);
        assert_eq!(said, Some(cause), "{}", diagnosis.limited_by());
        let joined = diagnosis.joined.expect("they are of one connection");
        assert!(joined.starts_with("Seen in both captures: of "), "{joined}");
    }
}
