//! Hosts that are too slow: receive livelock and its remedies, two CPUs.

use crate::common::{datagrams, flow, host, link, run, wire, world};
use gigatcp_path::{Checksum, CpuCosts, DropCause, Picoseconds, RingConfig, RingsConfig};
use gigatcp_sim::{HostConfig, Outcome, Scheduling, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::Duration;

/// A host with protocol work of 40 us per packet.
///
/// Copying takes 60 us per 1000 bytes. 10,000 packets/s saturate the CPU, 25,000 leave no time for
/// the reader.
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

/// Datagrams per second that the reader received, of those offered for 2 s.
fn delivered(scheduling: Scheduling, packets_per_second: u64) -> f64 {
    let outcome = offered(slow(scheduling), packets_per_second);
    outcome.datagrams[0].received.received as f64 / 2.0
}

/// Runs this many datagrams per second for 2 s.
fn offered(receiver: HostConfig, packets_per_second: u64) -> Outcome {
    let rate = packets_per_second * 8000;
    let text = format!("datagrams, rate {rate} bit/s, size 1000, for 2 s");
    let mut config = world(
        link("forward", 1_000_000_000, Duration::from_millis(1), 1000),
        wire("reverse", Duration::from_millis(1)),
        vec![],
    );
    config.end = Duration::from_secs(2);
    let sender = host(Profile::MODERN, 1500, "reno", 1_000_000);
    let mut udp = datagrams(&text, &sender, 50_000);
    udp.receiver = HostConfig {
        tcp: udp.receiver.tcp,
        ..receiver
    };
    config.datagrams = vec![udp];
    run(config).1
}

/// Mogul and Ramakrishnan 1997: above the rate that saturates the CPU the reader gets less.
///
/// Its share of time is 1 - 40 us x rate, at 60 us per datagram; zero from 25,000 packets/s on.
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
    // Five packets of protocol work and one copy: 1 in 260 us at any offered rate.
    for offered in [26_000, 50_000, 100_000] {
        let got = delivered(remedy, offered);
        assert!(
            (got / (1.0 / 260e-6) - 1.0).abs() < 0.02,
            "{offered}: {got}"
        );
    }
    // Below the saturation rate it costs nothing.
    let got = delivered(remedy, 9_000);
    assert!((got / 9_000.0 - 1.0).abs() < 0.01, "{got}");
}

#[test]
fn an_application_with_a_processor_of_its_own_is_not_starved() {
    let apart = Scheduling {
        processors: 2,
        ..Scheduling::default()
    };
    // The copier alone: 16,667 per second, as long as protocol work keeps up.
    for (offered, expected) in [
        (10_000, 10_000.0),
        (16_000, 16_000.0),
        (24_000, 1.0 / 60e-6),
    ] {
        let got = delivered(apart, offered);
        assert!((got / expected - 1.0).abs() < 0.01, "{offered}: {got}");
    }
}

/// Expected: 20,000 packets/s on one CPU, 33,333 on two.
///
/// Protocol work takes 30 us per packet of 1448 bytes and copying 20 us.
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
        processors: 2,
        ..Scheduling::default()
    });
    assert!((two / 33_333.0 - 1.0).abs() < 0.02, "{two}");
    // Of two CPUs a sixth is idle: the copier works 20 of 30 us.
    let idle = shares.idle.as_secs_f64() / now.as_secs_f64();
    assert!((idle - 1.0 / 3.0).abs() < 0.03, "{shares:?}");
}

/// A host with 20 us more per packet, in its interrupt.
fn interrupted(scheduling: Scheduling) -> HostConfig {
    let mut host = slow(scheduling);
    host.costs.per_packet_interrupt = Duration::from_micros(20);
    host
}

/// The shape of figure 6-1 of the paper.
///
/// Interrupts take 20 us x rate, protocol work up to 40 us x rate of the rest, the reader the rest
/// of that. From 16,667 packets/s on the reader gets nothing. Then the queue between the two levels
/// overflows, and from 50,000 on not even protocol work is done.
#[test]
fn interrupts_come_first_then_protocol_work_then_the_reader() {
    let queue = Scheduling {
        input_queue: Some(50),
        ..Scheduling::default()
    };
    for (rate, read, dropped) in [
        (8_000, 8_000.0, 0.0),
        (10_000, 0.4 / 60e-6, 0.0),
        (15_000, 0.1 / 60e-6, 0.0),
        (30_000, 0.0, 30_000.0 - 0.4 / 40e-6),
        (49_000, 0.0, 49_000.0 - 0.02 / 40e-6),
    ] {
        let outcome = offered(interrupted(queue), rate);
        let got = outcome.datagrams[0].received.received as f64 / 2.0;
        assert!((got - read).abs() < 0.02 * read + 60.0, "{rate}: {got}");
        let drops = outcome.hosts[1].drops()[DropCause::InputQueue].packets as f64 / 2.0;
        let error = (drops - dropped).abs();
        assert!(error < 0.02 * dropped + 60.0, "{rate}: {drops} {dropped}");
        let shares = outcome.hosts[1].cpu_shares(outcome.now);
        let total = (shares.interrupt + shares.system + shares.user + shares.idle).as_secs_f64();
        assert!(
            (total - outcome.now.as_secs_f64()).abs() < 1e-3,
            "{shares:?}"
        );
    }
}

/// Polling with a budget: 5 packets at 60 us, then a copy of 60 us.
///
/// Excess packets stay in the ring and are dropped there before they cost anything.
#[test]
fn a_card_that_is_polled_cannot_starve_the_reader() {
    let mut host = interrupted(Scheduling {
        receive_budget: Some(5),
        polls: true,
        ..Scheduling::default()
    });
    host.rings = Some(RingsConfig {
        large: RingConfig {
            descriptors: 256,
            pool: None,
        },
        small: None,
        copy_break: 0,
    });
    for rate in [20_000, 60_000] {
        let outcome = offered(host.clone(), rate);
        let got = outcome.datagrams[0].received.received as f64 / 2.0;
        assert!((got * 360e-6 - 1.0).abs() < 0.02, "{rate}: {got}");
        let drops = outcome.hosts[1].drops();
        let taken = 5.0 * got;
        let dropped = drops[DropCause::NoDescriptor].packets as f64 / 2.0;
        assert!((dropped - (rate as f64 - taken)).abs() < 0.02 * rate as f64);
        assert_eq!(outcome.hosts[1].interrupts(), 1);
    }
    // Below saturation nothing is lost, and each packet interrupts by itself.
    let outcome = offered(host, 5_000);
    // The last ones are still on the path.
    assert!(outcome.datagrams[0].received.received > 9_990);
    assert!(outcome.hosts[1].interrupts() > 9_990);
}

/// 150 us per interrupt: 5,000 packets/s alone take 3/4 of the CPU.
///
/// At most one interrupt per millisecond takes 15 %.
#[test]
fn moderation_saves_interrupts() {
    let mut host = slow(Scheduling::default());
    host.costs.per_interrupt = Duration::from_micros(150);
    let outcome = offered(host.clone(), 5_000);
    let got = outcome.datagrams[0].received.received as f64 / 2.0;
    // A quarter is left, of which protocol work takes 40 us per packet.
    assert!((got - 0.05 / 60e-6).abs() < 50.0, "{got}");
    host.coalesce = Duration::from_millis(1);
    let outcome = offered(host.clone(), 5_000);
    assert!(outcome.datagrams[0].received.received > 9_980);
    assert!((outcome.hosts[1].interrupts() as f64 / 2000.0 - 1.0).abs() < 0.01);
    let shares = outcome.hosts[1].cpu_shares(outcome.now);
    let interrupt = shares.interrupt.as_secs_f64() / outcome.now.as_secs_f64();
    assert!((interrupt - 0.35).abs() < 0.01, "{shares:?}");
    // With at most two packets in the card it is one interrupt per two packets again.
    host.coalesce_packets = Some(2);
    let outcome = offered(host, 5_000);
    assert!((outcome.hosts[1].interrupts() as f64 / 5000.0 - 1.0).abs() < 0.01);
}

/// Calls and the application's own work are separate shares.
#[test]
fn user_and_system_are_told_apart() {
    let mut host = slow(Scheduling::default());
    host.costs.per_call = Duration::from_micros(10);
    host.costs.per_byte_application = Picoseconds::new(20_000);
    let outcome = offered(host, 5_000);
    let shares = outcome.hosts[1].cpu_shares(outcome.now);
    let of = |span: Duration| span.as_secs_f64() / outcome.now.as_secs_f64();
    for (share, expected) in [
        (shares.interrupt, 0.2),
        (shares.system, 0.35),
        (shares.user, 0.1),
        (shares.idle, 0.35),
    ] {
        assert!((of(share) - expected).abs() < 0.01, "{shares:?}");
    }
}

/// A sender's Mbit/s of payload, at 205 us per segment plus checksum costs.
fn rate_of(segment: u16, checksum: Checksum) -> f64 {
    let mtu = segment + 52;
    let mut flow = flow(
        "one",
        &host(Profile::MODERN, mtu, "reno", 500_000),
        Stop::After(Duration::from_secs(4)),
    );
    flow.sender.costs = CpuCosts {
        per_packet_sent: Duration::from_micros(205),
        per_byte_checksummed: Picoseconds::new(10_000),
        checksum,
        ..CpuCosts::default()
    };
    let delay = Duration::from_micros(100);
    let config = world(
        link("forward", 1_000_000_000, delay, 1000),
        wire("reverse", delay),
        vec![flow],
    );
    let (_, outcome) = run(config);
    let flow = &outcome.flows[0];
    flow.bytes().as_u64() as f64 * 8e-6 / flow.elapsed().as_secs_f64()
}

/// E26: a path with hardware checksums fell from 160 Mbit/s to between 35 and 40.
///
/// That was with segments of 954 instead of 4096 bytes; with 1440 it was 53 or more. At a constant
/// cost per packet the segment size alone explains that. The card's saving of 10 ns per byte is
/// small in comparison.
#[test]
fn smaller_segments_cost_more_than_hardware_checksums_save() {
    for (segment, card, apart) in [
        (954, 954.0 * 8.0 / 205.0, 954.0 * 8.0 / 214.54),
        (1440, 1440.0 * 8.0 / 205.0, 1440.0 * 8.0 / 219.4),
        (4096, 4096.0 * 8.0 / 205.0, 4096.0 * 8.0 / 245.96),
    ] {
        for (place, expected) in [(Checksum::Card, card), (Checksum::Apart, apart)] {
            let rate = rate_of(segment, place);
            assert!((rate / expected - 1.0).abs() < 0.02, "{segment}: {rate}");
        }
    }
}
