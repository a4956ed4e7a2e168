//! Questions of Internet2 in 2001: the answers of the README that one run shows.

use crate::Experiment;

fn mbps(set: &[&str]) -> f64 {
    Experiment::run_short("questions", &[], set).records[0].flows[0].goodput_bps / 1e6
}

#[test]
fn one_connection_breaks_the_record_of_786_mbits() {
    assert!((935.0..990.0).contains(&mbps(&[])));
}

/// 1 ms is 14 packets. Three of them count as a loss for a stack without RACK (RFC 5681 section 2).
#[test]
fn reordering_by_a_millisecond_costs_the_stack_of_2001_most_of_its_rate_and_today_s_nothing() {
    let reorder = ["path.reorder=1e-3", "path.reorder_delay=1 ms"];
    let today = ["sender.profile=modern", "receiver.profile=modern"];
    assert!(mbps(&reorder) < 100.0);
    assert!(mbps(&[reorder, today].concat()) > 970.0);
}
