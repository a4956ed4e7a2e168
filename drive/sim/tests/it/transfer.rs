//! Whole transfers over simple paths.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::{CpuCosts, StealConfig};
use gigatcp_sim::{EndReason, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration};

const MB: u64 = 1_000_000;

#[test]
fn a_flow_fills_a_gigabit_path_of_80_ms_with_a_window_of_two_bdp() {
    let host = host(Profile::MODERN, 1500, "reno", 30 * MB);
    let delay = Duration::from_millis(40);
    let (ended, outcome) = run(world(
        link("forward", 1_000_000_000, delay, 20_000),
        wire("reverse", delay),
        vec![flow("one", &host, Stop::After(Duration::from_secs(10)))],
    ));
    assert_eq!(ended, EndReason::Finished);
    let meter = outcome.flows[0].receiver.meter().unwrap();
    let mbit: Vec<f64> = meter
        .finished()
        .iter()
        .map(|b| b.as_bits_f64() / 1e6)
        .collect();
    println!("{mbit:?}");
    let info = outcome.flows[0].sender.connection().unwrap().info();
    println!(
        "{info:?}\n{:?}",
        outcome.flows[0].sender.connection().unwrap().counters()
    );
    // 1448 bytes of payload in 1500 bytes on a wire without overhead.
    let ceiling = 1000.0 * 1448.0 / 1500.0;
    assert!(
        mbit[5..9]
            .iter()
            .all(|rate| (rate / ceiling - 1.0).abs() < 0.001)
    );
}

#[test]
fn the_receive_window_alone_limits_to_window_per_round_trip() {
    let host = host(Profile::MODERN, 9000, "cubic", 4 * MB);
    let delay = Duration::from_millis(50);
    let (_, outcome) = run(world(
        wire("forward", delay),
        wire("reverse", delay),
        vec![flow("one", &host, Stop::After(Duration::from_secs(5)))],
    ));
    let meter = outcome.flows[0].receiver.meter().unwrap();
    let last = meter.finished()[3].as_bits_f64() / 1e6;
    println!("{last}");
    assert!(
        (last / 320.0 - 1.0).abs() < 0.01,
        "{last} Mbit/s, not 4 MB per 100 ms"
    );
}

#[test]
fn a_fixed_amount_arrives_whole_and_the_connection_closes() {
    for size in [0, 1, 1447, 1448, 1449, 100_000, 5 * MB] {
        let host = host(Profile::MODERN, 1500, "cubic", MB);
        let delay = Duration::from_millis(5);
        let (ended, outcome) = run(world(
            link("forward", 100 * MB, delay, 50),
            wire("reverse", delay),
            vec![flow("one", &host, Stop::Bytes(Bytes::new(size)))],
        ));
        assert_eq!(ended, EndReason::Finished, "{size}");
        assert_eq!(outcome.flows[0].bytes(), Bytes::new(size));
    }
}

/// First interval at 95 % of the link's rate, and the receive buffer.
///
/// Intervals are RTTs. The buffer is the last one. The flow has 10 Gbit/s and 100 ms.
fn round_trips_to_95_percent(buffer: Option<Bytes>, costs: CpuCosts) -> (usize, Bytes) {
    let mut host = host(Profile::MODERN, 9000, "cubic", 0);
    host.tcp.transport_mut().send_buffer = buffer;
    host.tcp.transport_mut().receive_buffer = buffer;
    host.costs = costs;
    let delay = Duration::from_millis(50);
    let mut flow = flow("one", &host, Stop::After(Duration::from_secs(4)));
    flow.interval = delay * 2;
    let (ended, outcome) = run(world(
        link("forward", 10_000_000_000, delay, 30_000),
        wire("reverse", delay),
        vec![flow],
    ));
    assert_eq!(ended, EndReason::Finished);
    let receiver = &outcome.flows[0].receiver;
    let ceiling = 10e9 * 8948.0 / 9000.0 * 0.1;
    let intervals = receiver.meter().unwrap().finished();
    let full = intervals
        .iter()
        .position(|b| b.as_bits_f64() > 0.95 * ceiling);
    let info = receiver.connection().unwrap().info();
    (full.expect("it fills the link"), info.receive_buffer)
}

#[test]
fn buffers_that_fit_themselves_fill_a_long_fat_path_as_soon_as_the_largest_ones() {
    let processor = CpuCosts {
        per_packet_sent: Duration::from_nanos(300),
        per_packet_received: Duration::from_nanos(300),
        ..CpuCosts::default()
    };
    for costs in [CpuCosts::default(), processor] {
        let (largest, _) = round_trips_to_95_percent(Some(Bytes::new(1 << 30)), costs);
        let (auto, grown) = round_trips_to_95_percent(None, costs);
        println!("{largest} and {auto} round trips, {grown}");
        assert!(auto <= largest + 3, "{auto} round trips, not {largest}");
        // The path holds 125 MB, and its queue 270 MB.
        assert!(grown >= Bytes::new(250_000_000), "{grown}");
    }
}

#[test]
fn autotuned_buffers_fill_a_path_at_any_mtu() {
    // The path holds 500 kB, an initial window of ten jumbo segments 90 kB.
    let delay = Duration::from_millis(20);
    let mut forward = link("forward", 100_000_000, delay, 1);
    forward.limit_packets = None;
    for profile in [Profile::MODERN, Profile::LINUX_6_18, Profile::FREEBSD] {
        for mtu in [576, 1500, 9000, 65_535] {
            let mut host = host(profile, mtu, "reno", 0);
            host.tcp.transport_mut().send_buffer = None;
            host.tcp.transport_mut().receive_buffer = None;
            let mut flow = flow("one", &host, Stop::After(Duration::from_millis(1500)));
            flow.interval = Duration::from_millis(500);
            let (ended, outcome) = run(world(forward.clone(), wire("reverse", delay), vec![flow]));
            assert_eq!(ended, EndReason::Finished);
            let receiver = &outcome.flows[0].receiver;
            let last = receiver.meter().unwrap().finished()[1].as_bits_f64();
            let ceiling = 50e6 * f64::from(mtu - 52) / f64::from(mtu);
            let buffer = receiver.connection().unwrap().info().receive_buffer;
            let name = profile.name;
            assert!(
                last > 0.95 * ceiling,
                "{name}, MTU {mtu}: {last} of {ceiling} bit, buffer {buffer}"
            );
        }
    }
}

/// Losses in two seconds at a queue of 70 packets.
///
/// The path holds 83 packets. The window fits into path and queue; `steal` applies to the sender's
/// CPU.
fn losses_of_a_window_that_fits(steal: Option<StealConfig>) -> u64 {
    let (rate, queue) = (100_000_000, 70);
    let window = rate / 8 / 100 + 30 * 1500;
    let mut sender = host(Profile::MODERN, 1500, "reno", window);
    sender.tcp.transport_mut().profile.pacing.enabled = false;
    let delay = Duration::from_millis(5);
    let mut flow = flow("one", &sender, Stop::After(Duration::from_secs(2)));
    flow.sender.steal = steal;
    let (ended, outcome) = run(world(
        link("forward", rate, delay, queue),
        wire("reverse", delay),
        vec![flow],
    ));
    assert_eq!(ended, EndReason::Finished);
    outcome.flows[0]
        .sender
        .connection()
        .unwrap()
        .counters()
        .retransmitted_segments
}

#[test]
fn a_sender_that_loses_its_processor_sends_bursts_which_a_short_queue_does_not_hold() {
    let steal = |ms| StealConfig {
        every: Duration::from_millis(100),
        span: Duration::from_millis(ms),
    };
    assert_eq!(losses_of_a_window_that_fits(None), 0);
    let lost = losses_of_a_window_that_fits(Some(steal(10)));
    assert!(lost > 10, "{lost}");
}
