//! Whole transfers over simple paths.

mod common;

use common::{flow, host, link, run, wire, world};
use gigatcp_sim::{Ended, Stop};
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
    assert_eq!(ended, Ended::Finished);
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
    // 1448 octets of payload in 1500 octets on a wire without overhead.
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
        assert_eq!(ended, Ended::Finished, "{size}");
        assert_eq!(outcome.flows[0].bytes(), Bytes::new(size));
    }
}
