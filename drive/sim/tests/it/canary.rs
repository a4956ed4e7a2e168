//! Tests that the swarm finds injected bugs: each one makes it fail for the expected reason, and
//! the same seeds pass without it.

use crate::swarm::injected_bug::InjectedBug;
use crate::swarm::{Failure, Kind, Task, check_seeds, places, run};

/// Enough seeds that every bug has an effect in one of the simulations.
const SEEDS: u64 = 24;

fn failures(bug: Option<InjectedBug>) -> Vec<Failure> {
    check_seeds(1, SEEDS, bug, &places(4))
}

fn findings(failures: &[Failure]) -> Vec<(Task, &str)> {
    let named = failures
        .iter()
        .map(|failure| (failure.task, failure.finding()));
    named.collect()
}

/// Messages with which the swarm may report an injected bug.
fn reasons(bug: InjectedBug) -> &'static [&'static str] {
    match bug {
        InjectedBug::Swallow | InjectedBug::Repeat | InjectedBug::Corrupt => {
            &["read what was not written"]
        }
        InjectedBug::WideWindow => &["beyond the window"],
        InjectedBug::LimitClock => &["add up to"],
        InjectedBug::Unsteady => &["the same seed gave different events"],
        InjectedBug::Stalled => &["it does not end", "OutOfTime", "waits for nothing"],
        InjectedBug::LostTimer => &["is left in", "waits for nothing"],
        InjectedBug::IdleTimer => &["waits for nothing"],
        InjectedBug::SkippedSequence => &["was skipped"],
        InjectedBug::MovedFin => &["the FIN moved", "after the FIN"],
        InjectedBug::Oversize => &["octets of payload and options, MSS"],
        InjectedBug::ClockBack => &["TSval went back"],
        InjectedBug::EagerAck => &["had arrived"],
        InjectedBug::BackAck => &["the acknowledgment went back"],
        InjectedBug::ShrunkWindow => &["the window shrank"],
        InjectedBug::FalseSack => &["which had not arrived"],
        InjectedBug::PhantomMark => &["marks on a path that makes none"],
        InjectedBug::MovedMark => &["where the peer set none"],
        InjectedBug::Unverified => &["had arrived"],
        InjectedBug::Overfull => &["the listener keeps"],
        InjectedBug::Credulous => &["believes that every packet is marked"],
        InjectedBug::Haunted => &["read what this peer did not write"],
        InjectedBug::Leak | InjectedBug::Detour => &["went in and", "let"],
        InjectedBug::Overlong => &["packets in a queue of"],
        InjectedBug::LostOctet => &["the world ended as"],
        InjectedBug::Uncounted => &["the hosts took", "had arrived"],
    }
}

#[test]
fn every_planted_bug_makes_the_swarm_fail_for_its_own_reason() {
    for bug in InjectedBug::ALL {
        let failures = failures(Some(bug));
        let named = failures.iter().filter(|failure| {
            let mut reasons = reasons(bug).iter();
            reasons.any(|reason| failure.finding().contains(reason))
        });
        let count = named.count();
        assert!(
            count > 0,
            "{bug:?} went unnoticed: {:#?}",
            findings(&failures)
        );
    }
}

#[test]
fn the_same_seeds_pass_without_a_planted_bug() {
    let failures = failures(None);
    assert!(failures.is_empty(), "{:#?}", findings(&failures));
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
    for bug in InjectedBug::ALL {
        assert_eq!(InjectedBug::find(bug.name()), Some(bug));
    }
    assert_eq!(InjectedBug::find("no such bug"), None);
}
