//! Segments smaller than the effective send MSS.

use std::sync::OnceLock;

use crate::{Experiment, assert_within};

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("shalunov-mss"))
}

/// Checks the payload of segments, except short ones at the ends of writes. The connection has no
/// loss.
fn assert_payload(series: &str, octets: f64) {
    let flow = experiment().flow(series);
    assert_eq!(flow.retransmitted_segments, 0, "{series}");
    let mean = flow.bytes as f64 / flow.segments_sent as f64;
    let is_so = (octets * 0.995..=octets).contains(&mean);
    assert!(is_so, "{series}: {mean:.2} octets per segment");
}

#[test]
fn a_route_that_remembers_1500_sends_1448_one_way_and_4096_the_other() {
    assert_payload("from-the-new-route", 1448.0);
    assert_payload("to-the-new-route", 4096.0);
}

#[test]
fn the_plateaus_of_rfc_1191_are_the_payloads_of_the_trace() {
    assert_payload("plateau-1492", 1440.0);
    assert_payload("plateau-1006", 954.0);
}

#[test]
fn segments_that_are_smaller_than_both_syns_allow_are_said() {
    let said = &experiment().flow("from-the-new-route").negotiated;
    let size = said
        .iter()
        .find(|said| said.what == "segment size")
        .expect("it differs");
    assert_eq!(size.effective, "segments of 1448 B");
    let other = &experiment().flow("to-the-new-route").negotiated;
    assert!(other.iter().all(|said| said.what != "segment size"));
}

#[test]
fn the_first_window_is_within_ten_per_cent_and_nothing_is_fitted() {
    assert_within(experiment(), "sc-1M", 0.10);
}

/// Class D: the hosts were the limit, and are ideal here.
#[test]
fn larger_windows_are_not_reproduced_without_a_model_of_the_hosts() {
    for series in ["sc-2M", "sc-4M", "sc-8M"] {
        assert!(experiment().ratio(series) > 1.8, "{series}");
    }
}

/// A prediction: the cost of a packet was fitted to segments of 4096 bytes, in another experiment.
/// Throughput falls because segments are smaller.
#[test]
fn the_collapse_with_hardware_checksums_follows_from_the_size_of_segments() {
    assert_within(experiment(), "plateau-1006", 0.10);
    let larger = experiment().rate("plateau-1492");
    assert!((53.0..60.0).contains(&larger), "{larger:.1}");
}

/// Exactly 205 us per segment. The averages above are 4 % slower because of slow start from one
/// segment in the first of 20 s.
#[test]
fn after_slow_start_the_processor_is_all_there_is() {
    for (series, octets) in [("plateau-1006", 954.0), ("plateau-1492", 1440.0)] {
        let steady = &experiment().flow(series).intervals[3..19];
        let bits: u64 = steady.iter().map(|interval| interval.bytes * 8).sum();
        let spent = steady[15].end_ns - steady[0].start_ns;
        let ratio = bits as f64 / spent as f64 * 1e3 / (octets * 8.0 / 205.0);
        assert!((0.995..1.001).contains(&ratio), "{series}: {ratio:.4}");
    }
}

#[test]
fn what_is_fitted_is_named() {
    let experiment = experiment();
    experiment.assert_published_series_are_run();
    let is_fitted = |name: &str| name.starts_with("plateau-");
    experiment.assert_fitted(is_fitted, &["sender.cpu.per_packet_sent"]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
