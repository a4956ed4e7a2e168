//! Hosts that are too slow: receive livelock and its remedies, two processors.

mod common;

use common::{flow, host, link, run, wire, world};
use gigatcp_app::read;
use gigatcp_path::{CpuCosts, Picoseconds};
use gigatcp_sim::{DatagramsConfig, HostConfig, Scheduling, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration};

/// Protocol work of 40 us a packet, and 60 us to copy 1000 bytes: 10,000 packets/s fill
/// the processor, 25,000 leave nothing for the reader.
fn slow(scheduling: Scheduling) -> HostConfig {
    HostConfig {
        costs: CpuCosts {
            per_packet_received: Duration::from_micros(40),
            per_byte_copied: Picoseconds::new(60_000),
            ..CpuCosts::default()
        },
        scheduling,
        ..host(Profile::MODERN, 1500, "reno", 1_000_000)
    }
}

/// Datagrams that the reader got in 2 s, per second, of this many per second.
fn delivered(scheduling: Scheduling, packets_per_second: u64) -> f64 {
    let rate = packets_per_second * 8000;
    let text = format!("datagrams, rate {rate} bit/s, size 1000, for 2 s");
    let mut config = world(
        link("forward", 1_000_000_000, Duration::from_millis(1), 1000),
        wire("reverse", Duration::from_millis(1)),
        vec![],
    );
    config.end = Duration::from_secs(2);
    config.datagrams = vec![DatagramsConfig {
        name: "udp".into(),
        start: Duration::ZERO,
        application: read(&text).unwrap(),
        via: None,
        from: None,
        to: None,
        sender: host(Profile::MODERN, 1500, "reno", 1_000_000),
        receiver: slow(scheduling),
        receive_buffer: Bytes::new(50_000),
    }];
    let (_, outcome) = run(config);
    outcome.datagrams[0].received.received as f64 / 2.0
}

/// Mogul and Ramakrishnan 1997: beyond the rate that fills the processor the reader gets
/// less, 1 - 40 us x rate of its 60 us each; nothing at all from 25,000 packets/s on.
#[test]
fn interrupts_starve_the_reader() {
    let plain = Scheduling::default();
    for (offered, expected) in [
        (5_000, 5_000.0),
        (10_000, 10_000.0),
        (15_000, 0.4 / 60e-6),
        (20_000, 0.2 / 60e-6),
    ] {
        let got = delivered(plain, offered);
        assert!(
            (got / expected - 1.0).abs() < 0.02,
            "{offered}: {got} {expected}"
        );
    }
    assert!(delivered(plain, 26_000) < 60.0);
}

#[test]
fn a_budget_and_a_short_queue_keep_the_reader_alive() {
    let remedy = Scheduling {
        receive_budget: Some(5),
        input_queue: Some(50),
        ..Scheduling::default()
    };
    // Five packets of protocol work and one copy: 1 in 260 us, however many are offered.
    for offered in [26_000, 50_000, 100_000] {
        let got = delivered(remedy, offered);
        assert!(
            (got / (1.0 / 260e-6) - 1.0).abs() < 0.02,
            "{offered}: {got}"
        );
    }
    // Below the cliff it costs nothing.
    let got = delivered(remedy, 9_000);
    assert!((got / 9_000.0 - 1.0).abs() < 0.01, "{got}");
}

#[test]
fn an_application_with_a_processor_of_its_own_is_not_starved() {
    let apart = Scheduling {
        separate_applications: true,
        ..Scheduling::default()
    };
    // The copier alone: 16,667 a second, as long as protocol work keeps up.
    for (offered, expected) in [
        (10_000, 10_000.0),
        (16_000, 16_000.0),
        (24_000, 1.0 / 60e-6),
    ] {
        let got = delivered(apart, offered);
        assert!((got / expected - 1.0).abs() < 0.01, "{offered}: {got}");
    }
}

/// Protocol work of 30 us a packet and 20 us of copying for 1448 bytes: in turn 20,000
/// packets/s, on two processors 33,333.
#[test]
fn two_processors_carry_what_the_slower_part_allows() {
    let run_with = |scheduling: Scheduling| {
        let mut flow = flow(
            "one",
            &host(Profile::MODERN, 1500, "reno", 500_000),
            Stop::After(Duration::from_secs(4)),
        );
        flow.receiver.costs = CpuCosts {
            per_packet_received: Duration::from_micros(30),
            per_byte_copied: Picoseconds::new(20_000_000 / 1448),
            ..CpuCosts::default()
        };
        flow.receiver.scheduling = scheduling;
        let delay = Duration::from_micros(100);
        let config = world(
            link("forward", 1_000_000_000, delay, 1000),
            wire("reverse", delay),
            vec![flow],
        );
        let (_, outcome) = run(config);
        let flow = &outcome.flows[0];
        let rate = flow.bytes().as_u64() as f64 / 1448.0 / flow.elapsed().as_secs_f64();
        (rate, outcome.hosts[1].cpu_shares(outcome.now), outcome.now)
    };
    let (one, shares, now) = run_with(Scheduling::default());
    assert!((one / 20_000.0 - 1.0).abs() < 0.02, "{one}");
    let share = shares.interrupt.as_secs_f64() / now.as_secs_f64();
    assert!((share - 0.6).abs() < 0.02, "{shares:?}");
    let (two, shares, now) = run_with(Scheduling {
        separate_applications: true,
        ..Scheduling::default()
    });
    assert!((two / 33_333.0 - 1.0).abs() < 0.02, "{two}");
    // Of two processors a sixth is idle: the copier works 20 of 30 us.
    let idle = shares.idle.as_secs_f64() / now.as_secs_f64();
    assert!((idle - 1.0 / 3.0).abs() < 0.03, "{shares:?}");
}
