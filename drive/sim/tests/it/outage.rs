//! A path that carries nothing for some seconds, and a sender that paces.

use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::common::{flow, host, link, wire, world};
use gigatcp_path::{HopConfig, LossModel, Period};
use gigatcp_sim::{Stop, World};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Instant, Probability};

/// Hop with an outage from 500 ms to 3 s.
fn with_outage(hop: HopConfig) -> HopConfig {
    HopConfig {
        loss: vec![LossModel::Bernoulli(Probability::try_new(1.0).unwrap())],
        loss_period: Some(Period {
            from: Duration::from_millis(500),
            until: Duration::from_secs(3),
        }),
        ..hop
    }
}

/// Expected: a paced sender is fast again soon after the outage.
///
/// The first ACK after the outage echoes the time of a segment from before it, and shows that the
/// timeout was spurious: the RTT sample is as long as the outage. RTO must be conservative then
/// (RFC 4015), but a pacing rate of cwnd over that time would be some kbit/s.
#[test]
fn a_sender_that_paces_is_fast_again_within_a_second_after_an_outage() {
    let forward = link("forward", 180_000_000, Duration::from_micros(2700), 88);
    let reverse = wire("reverse", Duration::from_micros(2700));
    let profile = Profile::MODERN.with(|profile| {
        profile.pacing.enabled = true;
    });
    let bytes = Stop::Bytes(Bytes::new(24_000_000));
    let flows = vec![flow("one", &host(profile, 1500, "reno", 4_000_000), bytes)];
    let config = world(with_outage(forward), with_outage(reverse), flows);
    let mut world = World::new(config).unwrap();
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    let outcome = world.outcome();
    let flow = &outcome.flows[0];
    let took = flow
        .finished_at
        .expect("all was delivered")
        .saturating_since(Instant::ZERO);
    // 10 MB are delivered before the outage. The timer, doubled to 1.6 s, fires at 3.6 s, and the
    // other 14 MB take 0.65 s at the link's rate. It was 4.7 s.
    assert!(took.as_secs_f64() < 4.5, "{took:?}");
}
