//! Timeouts of four estimators on a path whose delay steps (E60, E61).

use crate::Experiment;

fn spurious(rule: &str, floor: &str) -> u64 {
    let rule = format!("sender.rto_rule={rule}");
    let floor = format!("sender.rto_min={floor}");
    let found = Experiment::run_short("estimators", &[], &[&rule, &floor]);
    let record = &found.records[0];
    let drops: u64 = record
        .hops
        .iter()
        .map(|hop| hop.drops.values().sum::<u64>())
        .sum();
    assert_eq!(drops, 0, "a timeout could be right");
    record.flows[0].timeouts
}

/// A constant delay has no deviation, so RTO is SRTT, and each step up is a timeout. Twice SRTT
/// tolerates steps to less than twice the delay.
#[test]
fn estimators_with_a_deviation_fire_at_steps_that_twice_the_mean_covers() {
    assert_eq!(spurious("rfc793", "1 ms"), 3);
    for rule in ["jacobson-1987", "jacobson-1988", "rfc6298"] {
        assert!((12..=13).contains(&spurious(rule, "1 ms")), "{rule}");
    }
}

#[test]
fn a_floor_of_200_ms_halves_that_and_one_of_a_second_ends_it() {
    for rule in ["jacobson-1987", "jacobson-1988", "rfc6298"] {
        assert_eq!(spurious(rule, "200 ms"), 6, "{rule}");
        assert_eq!(spurious(rule, "1 s"), 0, "{rule}");
    }
}
