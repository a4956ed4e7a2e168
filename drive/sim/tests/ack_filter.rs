//! A reverse path that is too slow for its ACKs (RFC 3449), and what filters make of it.

mod common;

use common::{flow, host, link, run, world};
use gigatcp_path::{AckFilter, DropCause, HopConfig};
use gigatcp_sim::{Ended, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::Duration;

/// 100 Mbit/s there and 200 kbit/s back, 20 ms: an ACK of 52 bytes takes 2.1 ms, in which
/// 17 packets of data arrive.
fn asymmetric(filter: Option<AckFilter>) -> Outcome {
    let host = host(Profile::MODERN, 1500, "cubic", 8_000_000);
    let reverse = HopConfig {
        ack_filter: filter,
        ..link("reverse", 200_000, Duration::from_millis(10), 1000)
    };
    let forward = link("forward", 100_000_000, Duration::from_millis(10), 1000);
    let stop = Stop::After(Duration::from_secs(20));
    let (ended, outcome) = run(world(forward, reverse, vec![flow("one", &host, stop)]));
    assert_eq!(ended, Ended::Finished);
    outcome
}

fn goodput(outcome: &Outcome) -> f64 {
    outcome.flows[0].bytes().as_u64() as f64 * 8.0 / 20e6
}

/// Expected: without a filter the ACK path lets 481 ACKs a second through, each for two
/// segments: 11.1 Mbit/s. In a queue with a filter one ACK waits and one is served, so the
/// forward path is the bottleneck: 100 Mbit/s with 52 bytes of headers in 1500.
#[test]
fn a_filter_in_the_queue_takes_the_ack_path_out_of_the_way() {
    let plain = goodput(&asymmetric(None));
    assert!((10.0..13.0).contains(&plain), "{plain} Mbit/s");
    let outcome = asymmetric(Some(AckFilter::Queue));
    let filtered = goodput(&outcome);
    assert!(
        filtered > 0.9 * 100.0 * 1448.0 / 1500.0,
        "{filtered} Mbit/s"
    );
    let reverse = outcome.hops[1].counters();
    assert!(reverse.drops[DropCause::AckFiltered].packets > 10 * reverse.delivered.packets);
    assert!(outcome.max_backlog[1] < 20, "{}", outcome.max_backlog[1]);
    assert_eq!(
        outcome.hops[0].counters().drops.total(),
        outcome.hops[0].counters().drops[DropCause::QueueFull]
    );
}

#[test]
fn every_fourth_ack_carries_four_times_as_much() {
    let plain = goodput(&asymmetric(None));
    let fourth = goodput(&asymmetric(Some(AckFilter::Every(4))));
    assert!((3.5..4.5).contains(&(fourth / plain)), "{fourth} {plain}");
}
