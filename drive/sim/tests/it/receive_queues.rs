//! Several CPUs: a hash spreads flows, and each flow is bound to the resulting CPU.
//!
//! Protocol work of 30 us per packet of 1448 bytes, and 20 us of copying. A CPU that does both
//! carries 20,000 packets/s; one for each kind of work carries 33,333.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::{CpuCosts, DropCause, Picoseconds, RingConfig, RingsConfig, rss_queue};
use gigatcp_sim::address::{connection_hash, endpoints};
use gigatcp_sim::{HostConfig, Outcome, Scheduling, Stop};
use gigatcp_tcp::{FourTuple, Profile};
use gigatcp_units::Duration;
use gigatcp_wire::IpVersion;

/// A server with CPUs of which the first have receive queues.
fn server(processors: u16, receive_queues: u16) -> HostConfig {
    HostConfig {
        costs: CpuCosts {
            per_packet_received: Duration::from_micros(30),
            per_byte_copied: Picoseconds::new(20_000_000 / 1448),
            ..CpuCosts::default()
        },
        scheduling: Scheduling {
            processors,
            receive_queues,
            ..Scheduling::default()
        },
        ..host(Profile::MODERN, 1500, "reno", 500_000)
    }
}

/// First client port whose flow of this number falls into `queue`.
fn port_for(flow: u32, queue: u16, queues: u16) -> u16 {
    let falls = |local_port: &u16| {
        let client = FourTuple {
            endpoints: endpoints(IpVersion::V4, flow, false),
            local_port: *local_port,
            remote_port: 5001,
        };
        rss_queue(connection_hash(&client.reversed()), queues) == queue
    };
    (40_000..).find(falls).expect("a port for each queue")
}

/// Runs one flow in each of `queues` for a second.
fn flows(queues: &[u16], server: &HostConfig) -> Outcome {
    let client = host(Profile::MODERN, 1500, "reno", 500_000);
    let of = server.scheduling.receive_queues;
    let flows = (0..).zip(queues).map(|(number, queue)| {
        let stop = Stop::After(Duration::from_secs(1));
        let mut flow = flow(&format!("flow {number}"), &client, stop);
        flow.sender.tcp.local_port = port_for(number, *queue, of);
        flow.receiver = server.clone();
        (flow.from, flow.to) = (Some(0), Some(1));
        flow
    });
    let delay = Duration::from_micros(100);
    let mut config = world(
        link("forward", 10_000_000_000, delay, 10_000),
        wire("reverse", delay),
        flows.collect(),
    );
    config.hosts = vec![client, server.clone()];
    run(config).1
}

/// Packets per second of each flow.
fn rates(outcome: &Outcome) -> Vec<f64> {
    let flows = outcome.flows.iter();
    let rate = |bytes: f64, seconds: f64| bytes / 1448.0 / seconds;
    flows
        .map(|flow| rate(flow.bytes().as_u64() as f64, flow.elapsed().as_secs_f64()))
        .collect()
}

#[track_caller]
fn assert_rates(outcome: &Outcome, expected: &[f64]) {
    let rates = rates(outcome);
    let is_near = |(rate, expected): (&f64, &f64)| (rate / expected - 1.0).abs() < 0.03;
    assert!(rates.iter().zip(expected).all(is_near), "{rates:?}");
}

/// Share of its time in which each CPU of the server worked. The shares add up.
fn busy(outcome: &Outcome) -> Vec<f64> {
    let all = outcome.now.as_secs_f64();
    let each = outcome.hosts[1].processor_shares(outcome.now);
    let busy = each.map(|one| {
        let busy = (one.interrupt + one.system + one.user).as_secs_f64();
        let sum = busy + one.idle.as_secs_f64();
        assert!((sum / all - 1.0).abs() < 1e-3, "{one:?}");
        busy / all
    });
    busy.collect()
}

#[test]
fn one_flow_gets_no_more_of_four_processors_than_of_one() {
    assert_rates(&flows(&[0], &server(1, 1)), &[20_000.0]);
    for queue in [0, 3] {
        let outcome = flows(&[queue], &server(4, 4));
        assert_rates(&outcome, &[20_000.0]);
        for (number, busy) in (0..).zip(busy(&outcome)) {
            let expected = if number == queue {
                0.95..1.001
            } else {
                0.0..1e-9
            };
            assert!(expected.contains(&busy), "{number}: {busy}");
        }
    }
}

#[test]
fn four_flows_in_four_queues_carry_four_times_as_much() {
    let outcome = flows(&[2, 0, 3, 1], &server(4, 4));
    assert_rates(&outcome, &[20_000.0; 4]);
    assert!(busy(&outcome).iter().all(|busy| *busy > 0.95));
}

#[test]
fn two_flows_in_one_queue_share_its_processor_while_another_is_idle() {
    let outcome = flows(&[0, 1, 2, 2], &server(4, 4));
    assert_rates(&outcome, &[20_000.0, 20_000.0, 10_000.0, 10_000.0]);
    assert!(busy(&outcome)[3] < 1e-9);
}

/// With CPUs for applications only, protocol work is the limit: 30 us per packet.
#[test]
fn processors_beyond_the_queues_are_for_applications() {
    let outcome = flows(&[1, 0], &server(4, 2));
    assert_rates(&outcome, &[33_333.0, 33_333.0]);
    let busy = busy(&outcome);
    for (number, expected) in [(0, 1.0), (1, 1.0), (2, 2.0 / 3.0), (3, 2.0 / 3.0)] {
        assert!((busy[number] - expected).abs() < 0.04, "{busy:?}");
    }
    // One queue is the single-queue card: both flows share it, whatever CPUs exist.
    assert_rates(&flows(&[0, 0], &server(4, 1)), &[16_667.0, 16_667.0]);
}

/// Each queue has its own descriptors: a flow that overruns its ring costs others nothing.
#[test]
fn a_queue_that_overruns_leaves_the_others_alone() {
    let mut server = server(2, 2);
    server.rings = Some(RingsConfig {
        large: RingConfig {
            descriptors: 64,
            pool: None,
        },
        small: None,
        copy_break: 0,
    });
    server.scheduling.polls = true;
    let drops = |queues: &[u16]| {
        let outcome = flows(queues, &server);
        let drops = outcome.hosts[1].drops()[DropCause::NoDescriptor].packets;
        let of = |flow: usize| {
            let rings = outcome.flows[flow].receiver.rings().expect("a card");
            rings.counters(gigatcp_path::Ring::Large).drops[DropCause::NoDescriptor].packets
        };
        (drops, (0..queues.len()).map(of).collect::<Vec<_>>())
    };
    let (all, each) = drops(&[0, 1]);
    assert!(each.iter().all(|drops| *drops > 0), "{each:?}");
    assert_eq!(all, each.iter().sum());
    let (all, each) = drops(&[1, 1]);
    assert_eq!(each, [all, all], "both see the ring that they share");
}
