//! ECN marks instead of losses, from the hop to the window and back: RFC 3168, RFC 9768, RFC 8257.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::{HopConfig, LossModel, MarkAbove, Release};
use gigatcp_sim::{EndReason, FlowOutcome, HostConfig, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_tcp::profile::EcnMode;
use gigatcp_units::{Bytes, Duration, Probability};

const MB: u64 = 1_000_000;
const DELAY: Duration = Duration::from_millis(10);

fn speaking(ecn: EcnMode) -> HostConfig {
    let profile = Profile::MODERN.with(|profile| {
        profile.ecn.mode = ecn;
    });
    host(profile, 1500, "reno", 4 * MB)
}

/// A link of 100 Mbit/s with a queue of 1000 packets, marks above 170.
///
/// At 20 ms the BDP is 167 packets.
fn marking(release: Release) -> HopConfig {
    HopConfig {
        mark_above: Some(MarkAbove::Packets(170)),
        release,
        ..link("bottleneck", 100_000_000, DELAY, 1000)
    }
}

fn transfer(host: &HostConfig, forward: HopConfig, reverse: HopConfig) -> Outcome {
    let bytes = 60 * MB;
    let flows = vec![flow("one", host, Stop::Bytes(Bytes::new(bytes)))];
    let (ended, outcome) = run(world(forward, reverse, flows));
    assert_eq!(ended, EndReason::Finished);
    assert_eq!(outcome.flows[0].bytes(), Bytes::new(bytes));
    outcome
}

/// Reductions, retransmissions and timeouts of the sender.
fn troubles(flow: &FlowOutcome) -> (u64, u64, u64) {
    let counters = flow.sender.connection().unwrap().counters();
    (
        counters.ecn_reductions,
        counters.retransmitted_segments,
        counters.timeouts,
    )
}

#[test]
fn marks_keep_the_queue_short_and_nothing_is_lost() {
    for ecn in [EcnMode::Classic, EcnMode::Accurate] {
        for release in [Release::PerPacket, Release::Whole] {
            let host = speaking(ecn);
            let outcome = transfer(&host, marking(release), wire("reverse", DELAY));
            let (reductions, retransmitted, timeouts) = troubles(&outcome.flows[0]);
            assert!(reductions >= 2, "{ecn:?}: {reductions}");
            assert_eq!((retransmitted, timeouts), (0, 0), "{ecn:?} {release:?}");
            let hop = outcome.hops[0].counters();
            assert!(hop.marked.packets > 0 && hop.drops.total().is_zero());
            // Reno goes back to half of pipe and queue, which is the pipe.
            let utilization = outcome.hops[0].utilization(outcome.now);
            assert!(utilization > 0.97, "{ecn:?} {release:?} {utilization}");
            // Slow start alone overshoots, by no more than the window it had.
            assert!(outcome.max_backlog[0] < 600, "{}", outcome.max_backlog[0]);
        }
    }
}

#[test]
fn accurate_feedback_tells_every_marked_packet() {
    for release in [Release::PerPacket, Release::Whole] {
        let host = speaking(EcnMode::Accurate);
        let outcome = transfer(&host, marking(release), wire("reverse", DELAY));
        let marked = outcome.hops[0].counters().marked.packets;
        let sender = outcome.flows[0].sender.connection().unwrap().info().ecn;
        let receiver = outcome.flows[0].receiver.connection().unwrap().info().ecn;
        assert_eq!(receiver.received_ce, marked);
        assert_eq!(sender.delivered_ce, marked);
        // The simulation ends when all is read: the last round trip is still in flight.
        let [_, e0, ce] = receiver.received_octets;
        let [_, told_e0, told_ce] = sender.delivered_octets;
        assert_eq!(told_ce, ce);
        assert!(e0 - told_e0 < 300_000, "{told_e0} of {e0}");
    }
}

#[test]
fn lost_acknowledgments_hide_no_mark() {
    let lossy = HopConfig {
        loss: vec![LossModel::Bernoulli(Probability::try_new(0.3).unwrap())],
        ..wire("reverse", DELAY)
    };
    let host = speaking(EcnMode::Accurate);
    let outcome = transfer(&host, marking(Release::PerPacket), lossy);
    let sender = outcome.flows[0].sender.connection().unwrap().info().ecn;
    let receiver = outcome.flows[0].receiver.connection().unwrap().info().ecn;
    // The last ACKs may be lost.
    let [_, e0, ce] = receiver.received_octets;
    let [_, told_e0, told_ce] = sender.delivered_octets;
    assert!(told_e0 <= e0 && e0 - told_e0 < 300_000, "{told_e0} of {e0}");
    assert!(told_ce <= ce && ce - told_ce < 300_000, "{told_ce} of {ce}");
    let missing = receiver.received_ce.abs_diff(sender.delivered_ce);
    assert!(
        missing < 70,
        "{} {}",
        receiver.received_ce,
        sender.delivered_ce
    );
}

#[test]
fn a_hop_that_bleaches_leaves_losses_as_the_only_sign() {
    for ecn in [EcnMode::Classic, EcnMode::Accurate] {
        let host = speaking(ecn);
        let bleaching = HopConfig {
            ecn_bleach: true,
            ..marking(Release::PerPacket)
        };
        let outcome = transfer(&host, bleaching, wire("reverse", DELAY));
        let (reductions, retransmitted, _) = troubles(&outcome.flows[0]);
        assert_eq!(reductions, 0);
        assert!(retransmitted > 0, "the queue overflows");
        let hop = outcome.hops[0].counters();
        assert!(hop.bleached.packets > 0 && hop.marked.is_zero());
    }
}

#[test]
fn a_host_that_is_not_asked_speaks_no_ecn() {
    let outcome = transfer(
        &speaking(EcnMode::Passive),
        marking(Release::PerPacket),
        wire("reverse", DELAY),
    );
    assert!(outcome.hops[0].counters().marked.is_zero());
    assert!(troubles(&outcome.flows[0]).1 > 0, "the queue overflows");
}

#[test]
fn random_marks_reduce_like_random_losses_and_repair_nothing() {
    let chance = |p| Some(Probability::try_new(p).unwrap());
    let marked = HopConfig {
        mark: chance(0.005),
        ..link("bottleneck", 100_000_000, DELAY, 1000)
    };
    let outcome = transfer(&speaking(EcnMode::Classic), marked, wire("reverse", DELAY));
    let (reductions, retransmitted, _) = troubles(&outcome.flows[0]);
    assert!(
        reductions > 10 && retransmitted == 0,
        "{reductions} {retransmitted}"
    );
}
