//! IPv4 without DF: routers fragment packets that are too large, and the loss of one fragment loses
//! the packet.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::{DropCause, HopConfig, LossModel};
use gigatcp_sim::{EndReason, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Probability};

const DELAY: Duration = Duration::from_millis(10);

/// Runs a transfer with or without path MTU discovery, over a link of `mtu` bytes.
///
/// A second link loses a share `p` of the packets.
fn transfer(pmtud: bool, mtu: u64, fragments: bool, p: f64) -> (EndReason, Outcome) {
    let profile = Profile::MODERN.with(|profile| {
        profile.path_mtu.pmtud = pmtud;
        profile.path_mtu.plpmtud = false;
    });
    let host = host(profile, 1500, "reno", 1_000_000);
    let flows = vec![flow("one", &host, Stop::Bytes(Bytes::new(10_000_000)))];
    let narrow = HopConfig {
        mtu: Some(Bytes::new(mtu)),
        notifies_too_big: true,
        fragments,
        ..link("narrow", 100_000_000, DELAY, 10_000)
    };
    let lossy = HopConfig {
        loss: vec![LossModel::Bernoulli(Probability::try_new(p).unwrap())],
        ..wire("lossy", Duration::ZERO)
    };
    let mut config = world(narrow, wire("reverse", DELAY), flows);
    config.forward.push(lossy);
    config.end = Duration::from_secs(60);
    run(config)
}

fn retransmitted(outcome: &Outcome) -> u64 {
    let sender = outcome.flows[0].sender.connection().unwrap();
    sender.counters().retransmitted_segments
}

/// Expected: 1480 bytes after the IP header make fragments of 576, 576 and 328 bytes.
///
/// The MTU is 600.
#[test]
fn a_packet_without_df_arrives_in_three_fragments() {
    let (ended, outcome) = transfer(false, 600, true, 0.0);
    assert_eq!(ended, EndReason::Finished);
    assert_eq!(outcome.flows[0].bytes(), Bytes::new(10_000_000));
    assert_eq!(retransmitted(&outcome), 0);
    let counters = outcome.hops[0].counters();
    let full = 10_000_000 / 1448;
    assert!(
        counters.fragmented.packets.abs_diff(2 * full) <= 2,
        "{counters:?}"
    );
    assert_eq!(
        counters.fragmented.bytes.as_u64(),
        20 * counters.fragmented.packets
    );
    assert!(counters.drops.total().is_zero());
}

/// Expected: 2.97 % of the packets are lost.
///
/// A packet of three fragments, each lost with 1 %, arrives with probability 0.99^3.
#[test]
fn the_loss_of_one_fragment_loses_the_packet() {
    let (ended, outcome) = transfer(false, 600, true, 0.01);
    assert_eq!(ended, EndReason::Finished);
    assert_eq!(outcome.flows[0].bytes(), Bytes::new(10_000_000));
    let lost = outcome.hops[1].counters().drops[DropCause::Loss(0)].packets;
    let again = retransmitted(&outcome);
    // Two fragments of one packet may be lost; a probe may be spurious.
    assert!(again.abs_diff(lost) < lost / 5, "{again} for {lost}");
    let sent = outcome.flows[0]
        .sender
        .connection()
        .unwrap()
        .counters()
        .data_segments_sent;
    let share = again as f64 / sent as f64;
    assert!((0.022..0.038).contains(&share), "{share}");
}

#[test]
fn a_packet_with_df_is_refused_and_its_sender_told() {
    let (ended, outcome) = transfer(true, 1400, true, 0.0);
    assert_eq!(ended, EndReason::Finished);
    let counters = outcome.hops[0].counters();
    assert!(counters.drops[DropCause::TooBig].packets > 0);
    assert!(counters.fragmented.is_zero());
}

#[test]
fn a_link_that_does_not_cut_drops_what_is_too_large() {
    let (ended, outcome) = transfer(false, 600, false, 0.0);
    assert_eq!(ended, EndReason::OutOfTime);
    assert!(outcome.hops[0].counters().drops[DropCause::TooBig].packets > 0);
}
