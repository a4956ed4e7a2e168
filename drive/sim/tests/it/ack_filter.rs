//! ACK path that is too slow for its ACKs (RFC 3449), with and without ACK filters.

use crate::common::{flow, host, link, run, world};
use gigatcp_path::{AckFilter, DropCause, HopConfig};
use gigatcp_sim::{EndReason, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::Duration;

/// Runs a flow over 100 Mbit/s forward and 200 kbit/s reverse, 20 ms.
///
/// An ACK of 52 bytes takes 2.1 ms, in which 17 packets of data arrive.
fn asymmetric(filter: Option<AckFilter>) -> Outcome {
    let host = host(Profile::MODERN, 1500, "cubic", 1_000_000);
    let reverse = HopConfig {
        ack_filter: filter,
        // Large enough that no ACK is lost, which would filter them too.
        ..link("reverse", 200_000, Duration::from_millis(10), 1_000_000)
    };
    let forward = link("forward", 100_000_000, Duration::from_millis(10), 1000);
    let stop = Stop::After(Duration::from_secs(20));
    let (ended, outcome) = run(world(forward, reverse, vec![flow("one", &host, stop)]));
    assert_eq!(ended, EndReason::Finished);
    outcome
}

fn goodput(outcome: &Outcome) -> f64 {
    outcome.flows[0].bytes().as_u64() as f64 * 8.0 / 20e6
}

/// Expected: 11.1 Mbit/s without a filter, 96.5 Mbit/s with a filter in the queue.
///
/// Without a filter the ACK path carries 481 ACKs per second, each for two segments: 11.1 Mbit/s,
/// plus what windows and buffers of 1 MB release beyond that. In a queue with a filter one ACK
/// waits and one is served, so the forward path is the bottleneck: 96.5 Mbit/s of data at 100
/// Mbit/s. Nothing is lost, as the window is less than BDP and queue. Of 4167 ACKs per second 481
/// leave, so the filter drops seven for each.
#[test]
fn a_filter_in_the_queue_takes_the_ack_path_out_of_the_way() {
    let plain = goodput(&asymmetric(None));
    assert!((10.5..13.0).contains(&plain), "{plain} Mbit/s");
    let outcome = asymmetric(Some(AckFilter::Queue));
    let filtered = goodput(&outcome);
    assert!(
        filtered > 0.9 * 100.0 * 1448.0 / 1500.0,
        "{filtered} Mbit/s"
    );
    let reverse = outcome.hops[1].counters();
    let taken = reverse.drops[DropCause::AckFiltered].packets;
    assert!(taken > 5 * reverse.delivered.packets, "{reverse:?}");
    assert!(outcome.hops[0].counters().drops.total().is_zero());
    assert!(outcome.max_backlog[1] < 10, "{}", outcome.max_backlog[1]);
}

/// Expected: 44.5 Mbit/s instead of 11.1, and a little for windows and buffers.
#[test]
fn every_fourth_ack_carries_four_times_as_much() {
    let plain = goodput(&asymmetric(None));
    let fourth = goodput(&asymmetric(Some(AckFilter::Every(4))));
    assert!((3.4..4.2).contains(&(fourth / plain)), "{fourth} {plain}");
}
