//! From 1500 bytes to 64 KB: store and forward, loss, hosts.

use std::sync::OnceLock;

use crate::Experiment;

const MTUS: [f64; 3] = [1500.0, 9000.0, 65_535.0];

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("mtu-in-seconds"))
}

fn rate(series: &str) -> f64 {
    let rate = experiment().rate(series);
    println!("{series}: {rate:.1}");
    rate
}

/// Each hop stores and forwards the whole packet, and the whole ACK of 52 bytes. Each link adds 38
/// bytes.
#[test]
fn the_rtt_has_the_time_of_a_packet_for_each_hop() {
    for hops in [1.0, 5.0, 10.0] {
        for mtu in MTUS {
            let law = hops * (2.0 + (mtu + 38.0 + 90.0) * 8.0 / 1e6);
            let found = experiment().round_trips(&format!("hops-{hops}-{mtu}"), "bulk", 4);
            let ratio = found[found.len() - 1] / law;
            assert!((ratio - 1.0).abs() < 1e-3, "{hops}, {mtu}: {ratio:.4}");
        }
    }
}

/// (8192 / 1460)^2 = 31.5 times the loss at the same rate.
#[test]
fn segments_of_8192_octets_bear_31_times_the_loss_of_those_of_1460() {
    let law = 1.5_f64.sqrt() * 1460.0 * 8.0 / 0.02 / 1e-4_f64.sqrt() / 1e6;
    for series in ["budget-1460", "budget-8192"] {
        let ratio = rate(series) / law;
        assert!(
            (ratio - 1.0).abs() < 0.06,
            "{series}: {ratio:.3} of the law"
        );
    }
}

#[test]
fn with_the_same_loss_of_packets_the_rate_is_in_proportion_to_their_payload() {
    for mtu in &MTUS[1..] {
        let ratio = rate(&format!("packets-{mtu}")) / rate("packets-1500");
        let law = (mtu - 52.0) / 1448.0;
        assert!(
            (ratio / law - 1.0).abs() < 0.02,
            "{mtu}: {ratio:.1} of {law:.1}"
        );
    }
}

/// The square root of the payload would give 2.5 and 6.7.
#[test]
fn with_the_same_loss_of_bits_little_of_that_is_left() {
    let gain = |series: &str| rate(series) / rate("packets-1500");
    assert!((1.7..2.5).contains(&gain("bits-9000")));
    assert!((4.2..6.7).contains(&gain("bits-65535")));
}

/// W/2 RTTs: 42, 6.9 and 0.97 s.
#[test]
fn one_loss_is_made_good_in_half_a_window_of_round_trips() {
    let back = |mtu: &str| {
        let samples = &experiment().flow(&format!("one-loss-{mtu}")).samples;
        let later = samples.iter().filter(|sample| sample.at_ns > 2_300_000_000);
        let full = later
            .into_iter()
            .find(|sample| sample.cwnd_bytes >= 1_750_000);
        full.map(|sample| sample.at_ns as f64 / 1e9 - 2.07)
    };
    assert_eq!(back("1500"), None);
    assert!((6.5..7.5).contains(&back("9000").expect("the window is back")));
    assert!((0.9..1.3).contains(&back("65535").expect("the window is back")));
}

#[test]
fn a_host_that_takes_10_us_a_packet_is_as_fast_as_packets_are_large() {
    for mtu in &MTUS[..2] {
        let ratio = rate(&format!("host-{mtu}")) / ((mtu - 52.0) * 8.0 / 10.0);
        assert!((ratio - 1.0).abs() < 0.01, "{mtu}: {ratio:.3}");
    }
    assert!(rate("host-65535") > 9_900.0);
}

/// Each packet takes 1.2 ms: 1500 bytes at 10 Mbit/s, 15,000 at 100.
#[test]
fn a_sparse_flow_waits_for_half_of_a_packet_of_another() {
    let waits = |rate: &str, mbps: f64, mtu: f64| {
        let found = experiment().round_trips(&format!("sparse-{rate}-{mtu}"), "sparse", 4);
        // RTT without the other flow: 20 ms, and the time of a packet of 252 bytes.
        let own = 20.0 + (252.0 + 38.0) * 8.0 / mbps / 1e3;
        (found[found.len() / 2] - own) / ((mtu + 38.0) * 8.0 / mbps / 1e3)
    };
    for (rate, mbps, mtu) in [
        ("10M", 10.0, 1500.0),
        ("10M", 10.0, 9000.0),
        ("10M", 10.0, 65_535.0),
        ("100M", 100.0, 1500.0),
        ("100M", 100.0, 15_000.0),
        ("100M", 100.0, 65_535.0),
        ("1G", 1000.0, 65_535.0),
    ] {
        let share = waits(rate, mbps, mtu);
        println!("{rate}, {mtu}: {share:.2} of a packet");
        assert!((0.35..0.65).contains(&share), "{rate}, {mtu}: {share:.2}");
    }
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
