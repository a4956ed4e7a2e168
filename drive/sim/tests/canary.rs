//! Tests that the swarm finds injected bugs: each one makes it fail for the expected reason, and
//! the same seeds pass without it.

mod swarm;

use swarm::plant::Plant;
use swarm::{Kind, Task, Trouble, check_seeds, places, run};

/// Enough seeds that every bug has an effect in one of the simulations.
const SEEDS: u64 = 24;

fn troubles(plant: Option<Plant>) -> Vec<Trouble> {
    check_seeds(1, SEEDS, plant, &places(4))
}

fn findings(troubles: &[Trouble]) -> Vec<(Task, &str)> {
    let named = troubles
        .iter()
        .map(|trouble| (trouble.task, trouble.finding()));
    named.collect()
}

/// Returns the messages with which the swarm may report an injected bug.
fn reasons(plant: Plant) -> &'static [&'static str] {
    match plant {
        Plant::Swallow | Plant::Repeat | Plant::Corrupt => &["read what was not written"],
        Plant::WideWindow => &["beyond the window"],
        Plant::LimitClock => &["add up to"],
        Plant::Unsteady => &["the same seed gave different events"],
        Plant::Stalled => &["it does not end", "OutOfTime", "waits for nothing"],
        Plant::LostTimer => &["is left in", "waits for nothing"],
        Plant::IdleTimer => &["waits for nothing"],
        Plant::SkippedSequence => &["was skipped"],
        Plant::MovedFin => &["the FIN moved", "after the FIN"],
        Plant::Oversize => &["octets of payload and options, MSS"],
        Plant::ClockBack => &["TSval went back"],
        Plant::EagerAck => &["had arrived"],
        Plant::BackAck => &["the acknowledgment went back"],
        Plant::ShrunkWindow => &["the window shrank"],
        Plant::FalseSack => &["which had not arrived"],
        Plant::PhantomMark => &["marks on a path that makes none"],
        Plant::MovedMark => &["where the peer set none"],
        Plant::Unverified => &["had arrived"],
        Plant::Overfull => &["the listener keeps"],
        Plant::Credulous => &["believes that every packet is marked"],
        Plant::Haunted => &["read what this peer did not write"],
        Plant::Leak | Plant::Detour => &["went in and", "let"],
        Plant::Overlong => &["packets in a queue of"],
        Plant::LostOctet => &["the world ended as"],
        Plant::Uncounted => &["the hosts took", "had arrived"],
    }
}

#[test]
fn every_planted_bug_makes_the_swarm_fail_for_its_own_reason() {
    for plant in Plant::ALL {
        let troubles = troubles(Some(plant));
        let named = troubles.iter().filter(|trouble| {
            let mut reasons = reasons(plant).iter();
            reasons.any(|reason| trouble.finding().contains(reason))
        });
        let count = named.count();
        assert!(
            count > 0,
            "{plant:?} went unnoticed: {:#?}",
            findings(&troubles)
        );
    }
}

#[test]
fn the_same_seeds_pass_without_a_planted_bug() {
    let troubles = troubles(None);
    assert!(troubles.is_empty(), "{:#?}", findings(&troubles));
}

#[test]
fn a_world_run_alone_gives_the_events_it_gives_among_others() {
    let tasks = (1..=6).flat_map(|seed| Kind::ALL.map(|kind| Task { seed, kind }));
    let alone: Vec<_> = tasks.clone().map(|task| (task, run(task, None))).collect();
    std::thread::scope(|scope| {
        for (task, expected) in alone {
            scope.spawn(move || assert_eq!(run(task, None), expected, "{task:?}"));
        }
    });
}

#[test]
fn two_seeds_give_different_worlds() {
    for kind in Kind::ALL {
        let hashes: Vec<_> = (1..=4).map(|seed| run(Task { seed, kind }, None)).collect();
        for (number, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..number].contains(hash), "{kind:?} {hashes:?}");
        }
    }
}

#[test]
fn a_bug_is_found_by_the_name_it_is_listed_under() {
    for plant in Plant::ALL {
        assert_eq!(Plant::find(plant.name()), Some(plant));
    }
    assert_eq!(Plant::find("no such bug"), None);
}
