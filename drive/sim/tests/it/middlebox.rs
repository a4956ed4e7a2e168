//! Connections through middleboxes that clear or clamp options of their SYNs. Each works with the
//! remaining options, as the RFCs require.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::{HopConfig, Middlebox, WindowScale};
use gigatcp_sim::{EndReason, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_tcp::connection::Info;
use gigatcp_tcp::profile::EcnMode;
use gigatcp_units::{Bytes, Duration};

const BYTES: u64 = 20_000_000;
const DELAY: Duration = Duration::from_millis(10);

/// Transfers 20 MB at 100 Mbit/s and 20 ms through a middlebox in both directions.
///
/// The BDP is 250 kB.
fn through(middlebox: Middlebox) -> (Outcome, [Info; 2]) {
    let profile = Profile::MODERN.with(|profile| {
        profile.ecn.mode = EcnMode::Classic;
    });
    let host = host(profile, 1500, "cubic", 4_000_000);
    let guarded = |hop: HopConfig| HopConfig {
        middlebox: Some(middlebox),
        ..hop
    };
    let forward = guarded(link("forward", 100_000_000, DELAY, 1000));
    let flows = vec![flow("one", &host, Stop::Bytes(Bytes::new(BYTES)))];
    let (ended, outcome) = run(world(forward, guarded(wire("reverse", DELAY)), flows));
    assert_eq!(ended, EndReason::Finished, "{middlebox:?}");
    assert_eq!(outcome.flows[0].bytes(), Bytes::new(BYTES));
    // The SYN, and its answer if it has an option the box clears; nothing else.
    let rewritten = [0, 1].map(|hop| outcome.hops[hop].counters().rewritten.packets);
    let expected = u64::from(middlebox != Middlebox::default());
    assert!(
        rewritten[0] == expected && rewritten[1] <= expected,
        "{rewritten:?}"
    );
    let flow = &outcome.flows[0];
    let infos = [&flow.sender, &flow.receiver].map(|end| end.connection().unwrap().info());
    (outcome, infos)
}

/// Mbit/s of the transfer, including its handshake.
fn rate(outcome: &Outcome) -> f64 {
    let end = outcome.flows[0].finished_at.unwrap();
    BYTES as f64 * 8.0 / end.as_secs_f64() / 1e6
}

#[test]
fn without_a_box_all_is_agreed_on() {
    let (outcome, infos) = through(Middlebox::default());
    assert!(
        infos
            .iter()
            .all(|info| info.scaling && info.sack && info.timestamps)
    );
    assert!(rate(&outcome) > 80.0, "{}", rate(&outcome));
}

/// Expected by RFC 7323 section 2.2: no window beyond 65,535 bytes, 26.2 Mbit/s at 20 ms.
#[test]
fn without_window_scale_neither_end_scales() {
    let (outcome, infos) = through(Middlebox {
        window_scale: WindowScale::Clear,
        ..Middlebox::default()
    });
    assert!(infos.iter().all(|info| !info.scaling));
    let limit = 65_535.0 * 8.0 / 0.02 / 1e6;
    let share = rate(&outcome) / limit;
    assert!((0.9..=1.0).contains(&share), "{share} of {limit} Mbit/s");
}

/// The receiver shifts by its offered scale, its peer by the clamped one.
///
/// A window of W bytes is read as W / 2^(offered - clamped).
#[test]
fn a_clamped_window_scale_is_a_smaller_window() {
    let (plain, infos) = through(Middlebox::default());
    assert!(infos.iter().all(|info| info.scaling));
    let (outcome, _) = through(Middlebox {
        window_scale: WindowScale::Clamp(0),
        ..Middlebox::default()
    });
    assert!(rate(&outcome) < 0.5 * rate(&plain), "{}", rate(&outcome));
    assert!(rate(&outcome) > 1.0);
}

#[test]
fn without_sack_or_timestamps_the_other_options_stay() {
    let (outcome, infos) = through(Middlebox {
        clears_sack: true,
        ..Middlebox::default()
    });
    assert!(
        infos
            .iter()
            .all(|info| !info.sack && info.timestamps && info.scaling)
    );
    // NewReno repairs one loss per RTT after slow start overshot.
    assert!(rate(&outcome) > 20.0, "{}", rate(&outcome));
    let (outcome, infos) = through(Middlebox {
        clears_timestamps: true,
        ..Middlebox::default()
    });
    assert!(
        infos
            .iter()
            .all(|info| info.sack && !info.timestamps && info.scaling)
    );
    assert!(rate(&outcome) > 80.0, "{}", rate(&outcome));
}

#[test]
fn a_clamped_mss_bounds_every_segment() {
    let (outcome, _) = through(Middlebox {
        mss: Some(1000),
        ..Middlebox::default()
    });
    let carried = outcome.hops[0].counters().arrived;
    // Timestamps take 12 of the 1000 bytes (RFC 6691), headers 40 more.
    assert!(carried.packets >= BYTES.div_ceil(988), "{carried:?}");
    assert!(
        carried.bytes.as_u64() <= 1040 * carried.packets,
        "{carried:?}"
    );
    assert!(rate(&outcome) > 75.0);
}

#[test]
fn without_the_flags_of_ecn_there_is_none() {
    let marking = |clears_ecn| {
        let (_, [sender, _]) = through(Middlebox {
            clears_ecn,
            ..Middlebox::default()
        });
        sender.ecn
    };
    assert_ne!(
        format!("{:?}", marking(false)),
        format!("{:?}", marking(true))
    );
}
