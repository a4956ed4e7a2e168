//! The label of a graded world must agree with the simulator's counters.

use gigatcp_grade::counterfactual::{Verdict, counterfactual, holds, lift};
use gigatcp_grade::worlds::{CAUSES, CapturePoint, GradedWorld, Paths, world};

fn assert_labels_hold(paths: Paths) {
    for cause in CAUSES {
        for seed in [1, 2] {
            let world = world(cause, seed, paths);
            if let Err(error) = world.check() {
                panic!("seed {seed} [{}]: {error}\n{}", world.about, world.plan);
            }
        }
    }
}

#[test]
fn labels_hold_on_usual_paths() {
    assert_labels_hold(Paths::Usual);
}

#[test]
fn labels_hold_on_paths_that_others_use() {
    assert_labels_hold(Paths::Shared);
}

#[test]
fn labels_hold_in_networks_of_other_elements() {
    assert_labels_hold(Paths::Elements);
}

#[test]
fn a_seed_makes_one_plan_which_the_reader_takes_without_warnings() {
    for cause in CAUSES {
        let [one, again, other] = [3, 3, 4].map(|seed| world(cause, seed, Paths::Usual));
        assert_eq!(one.plan, again.plan);
        assert_ne!(one.plan, other.plan);
        let plan = gigatcp_plan::parse("world", one.plan.as_bytes(), &[])
            .unwrap_or_else(|findings| panic!("{findings}\n{}", one.plan));
        assert!(plan.warnings.list.is_empty(), "{}", plan.warnings);
    }
}

#[test]
fn captures_at_three_places_are_of_the_run_that_was_labeled() {
    let world = world("receive-window-limited", 1, Paths::Usual);
    let captures = world.captures().expect("a world that can be run");
    assert!(captures.iter().all(|capture| capture.len() > 100_000));
    assert_eq!(captures, world.captures().expect("it ran before"));
}

#[test]
fn behind_a_black_hole_nobody_knows_the_cause() {
    let world = world("pmtu-black-hole", 1, Paths::Usual);
    assert_eq!(world.truth(CapturePoint::Sender), "pmtu-black-hole");
    assert_eq!(world.truth(CapturePoint::Both), "pmtu-black-hole");
    assert_eq!(world.truth(CapturePoint::Receiver), "unknown");
    assert_eq!(world.truth(CapturePoint::Middle), "unknown");
}

/// Goodput gained by lifting the injected cause, in bits per second.
fn gain(world: &GradedWorld) -> f64 {
    let lifted = lift(world, world.cause)
        .expect("it was injected")
        .goodput_bps()
        .expect("a world that can be run");
    lifted - world.goodput_bps().expect("it ran before")
}

#[test]
fn the_injected_cause_passes_the_counterfactual_test_with_its_own_gain_as_cost() {
    for cause in CAUSES.iter().filter(|cause| **cause != "capture-artifact") {
        let world = world(cause, 1, Paths::Usual);
        let runs = counterfactual(&world).expect("a world that can be run");
        let verdict = holds(&runs, cause, gain(&world));
        assert_eq!(
            verdict,
            Verdict::Holds,
            "[{}] {runs:?}\n{}",
            world.about,
            world.plan
        );
    }
}
