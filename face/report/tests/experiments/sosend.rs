//! Compares the loop of the socket layer of 1988 with what was published (E71).

use std::sync::OnceLock;

use crate::Experiment;

fn mbps(series: &str) -> f64 {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    let experiment = EXPERIMENT.get_or_init(|| Experiment::run("sosend"));
    experiment.flow(series).goodput_bps / 1e6
}

fn assert_gain(from: &str, to: &str, expected: f64) {
    let gain = mbps(to) / mbps(from) - 1.0;
    assert!((gain - expected).abs() < 0.005, "{from} to {to}: {gain:.3}");
}

#[test]
fn copying_a_cluster_at_a_time_gains_a_fifth_and_both_rates_are_a_tenth_low() {
    assert_gain("whole", "chunk-1K", 0.204);
    for (series, published) in [("whole", 380.0), ("chunk-1K", 456.0)] {
        let ratio = mbps(series) * 1e6 / 8.0 / 1024.0 / published;
        assert!((0.895..0.91).contains(&ratio), "{series}: {ratio:.3}");
    }
}

#[test]
fn a_segment_at_a_time_is_the_knee_and_large_buffers_need_no_small_copies() {
    assert_gain("chunk-1K", "chunk-512", 0.0);
    assert_gain("whole", "chunk-2K", 0.334);
    assert_gain("fast-whole", "fast-chunk-1K", 0.186);
    assert_gain("16K-whole", "16K-chunk-1K", 0.0);
}
