//! Paths with a link whose MTU is smaller than the hosts'.

use crate::common::{flow, host, run, wire, world};
use gigatcp_path::{DropCause, HopConfig};
use gigatcp_sim::{EndReason, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration};
use gigatcp_wire::IpVersion;

const MB: u64 = 1_000_000;

/// Transfers between hosts of MTU 9000 whose second link has an MTU of 1492.
fn transfer(profile: Profile, tells: bool) -> (EndReason, Outcome) {
    transfer_over(IpVersion::V4, profile, tells)
}

fn transfer_over(ip: IpVersion, profile: Profile, tells: bool) -> (EndReason, Outcome) {
    let delay = Duration::from_millis(10);
    let narrow = HopConfig {
        mtu: Some(Bytes::new(1492)),
        notifies_too_big: tells,
        ..wire("narrow", delay)
    };
    let mut host = host(profile, 9000, "cubic", MB);
    host.tcp.ip = ip;
    let flow = flow("one", &host, Stop::Bytes(Bytes::new(20 * MB)));
    let mut config = world(wire("forward", delay), wire("back", delay), vec![flow]);
    config.forward.push(narrow);
    config.reverse.push(wire("and back", delay));
    run(config)
}

#[test]
fn a_router_that_tells_costs_one_round_trip_to_it_and_no_timeout() {
    let (ended, outcome) = transfer(Profile::MODERN, true);
    assert_eq!(ended, EndReason::Finished);
    let sender = outcome.flows[0].sender.connection().unwrap();
    assert_eq!(sender.info().path_mtu, 1492);
    assert_eq!(sender.counters().timeouts, 0);
    assert!(sender.counters().icmp_errors >= 1);
    let dropped = outcome.hops[1].counters().drops[DropCause::TooBig].packets;
    assert!((1..=10).contains(&dropped), "the initial window: {dropped}");
}

/// Transfers 20 kB between hosts of MTU 1500 over a link with a smaller one.
fn transfer_over_small_link(profile: &Profile, mtu: u64) -> (EndReason, Outcome) {
    let delay = Duration::from_millis(10);
    let narrow = HopConfig {
        mtu: Some(Bytes::new(mtu)),
        notifies_too_big: true,
        ..wire("narrow", delay)
    };
    let host = host(*profile, 1500, "reno", MB);
    let flow = flow("one", &host, Stop::Bytes(Bytes::new(20_000)));
    let mut config = world(narrow, wire("back", delay), vec![flow]);
    config.end = Duration::from_secs(30);
    run(config)
}

#[test]
fn links_below_576_bytes_carry_segments_of_their_size_down_to_the_smallest_mss() {
    for profile in [Profile::MODERN, Profile::LINUX_6_18] {
        let smaller = profile.with(|profile| profile.path_mtu.mss_min = 28);
        // Headers of 40 bytes, and 12 of timestamps.
        for (profile, mtu, smss) in [
            (&profile, 296, 244),
            (&profile, 88, 36),
            (&smaller, 87, 35),
            (&smaller, 68, 16),
        ] {
            let (ended, outcome) = transfer_over_small_link(profile, mtu);
            assert_eq!(ended, EndReason::Finished, "{}, MTU {mtu}", profile.name);
            let info = outcome.flows[0].sender.connection().unwrap().info();
            assert_eq!((u64::from(info.path_mtu), info.smss), (mtu, smss));
        }
        // No segment is small enough, as with Linux's `tcp_min_snd_mss` of 48.
        let (_, outcome) = transfer_over_small_link(&profile, 87);
        assert_eq!(outcome.flows[0].bytes(), Bytes::new(0), "{}", profile.name);
    }
}

#[test]
fn over_ipv6_headers_are_larger_and_the_error_quotes_more() {
    let (ended, outcome) = transfer_over(IpVersion::V6, Profile::MODERN, true);
    assert_eq!(ended, EndReason::Finished);
    let sender = outcome.flows[0].sender.connection().unwrap();
    let info = sender.info();
    assert_eq!((info.path_mtu, info.smss), (1492, 1492 - 40 - 20 - 12));
    assert_eq!(sender.counters().timeouts, 0);
    // The same data in segments that are 20 bytes shorter.
    let (_, v4) = transfer(Profile::MODERN, true);
    let packets = |outcome: &Outcome| outcome.hops[1].counters().delivered.packets as f64;
    let more = packets(&outcome) / packets(&v4);
    assert!((1.010..1.018).contains(&more), "{more}");
}

#[test]
fn a_silent_router_costs_three_timeouts_or_with_a_search_from_the_base_none() {
    let (ended, outcome) = transfer(Profile::MODERN, false);
    assert_eq!(ended, EndReason::Finished);
    let sender = outcome.flows[0].sender.connection().unwrap();
    assert_eq!(sender.info().path_mtu, 1492);
    assert_eq!(sender.counters().timeouts, 3);

    let careful = Profile::MODERN.with(|profile| {
        profile.path_mtu.plpmtud_from_base = true;
    });
    let (ended, outcome) = transfer(careful, false);
    assert_eq!(ended, EndReason::Finished);
    let sender = outcome.flows[0].sender.connection().unwrap();
    assert_eq!(sender.info().path_mtu, 1492);
    assert_eq!(sender.counters().timeouts, 0);
    assert_eq!(sender.counters().icmp_errors, 0);
}

#[test]
fn without_either_nothing_ever_arrives() {
    let deaf = Profile::MODERN.with(|profile| {
        profile.path_mtu.pmtud = false;
        profile.path_mtu.plpmtud = false;
    });
    let (_, outcome) = transfer(deaf, true);
    assert_eq!(outcome.flows[0].bytes(), Bytes::ZERO);
}
