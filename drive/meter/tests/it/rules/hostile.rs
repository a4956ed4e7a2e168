//! Facts that no host has, as may come from files.

use gigatcp_meter::doctor::facts::{Cgroup, HostFacts, PeerMetrics};
use gigatcp_meter::doctor::{Path, examine};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use super::host::{good, path, queue};
use super::{count, route_of};

/// Replaces numbers, also those in settings, by extreme ones.
fn distort(value: &mut serde_json::Value, draw: &mut impl FnMut() -> u64) {
    use serde_json::Value;
    let edge =
        |draw: u64| [0, 1, 2, 1448, 65_535, 1 << 31, i64::MAX as u64, u64::MAX][draw as usize % 8];
    match value {
        Value::Number(_) if draw().is_multiple_of(2) => *value = edge(draw()).into(),
        Value::String(text)
            if text.starts_with(|c: char| c.is_ascii_digit()) && draw().is_multiple_of(2) =>
        {
            let numbers = text.split_whitespace().map(|_| edge(draw()).to_string());
            *text = numbers.collect::<Vec<_>>().join(" ");
        }
        Value::Array(items) => items.iter_mut().for_each(|item| distort(item, draw)),
        Value::Object(fields) => fields.values_mut().for_each(|field| distort(field, draw)),
        _ => {}
    }
}

#[test]
fn no_numbers_in_stored_facts_make_a_rule_panic() {
    let mut all = good();
    let route = route_of(&mut all);
    route.path_mtu_bytes = Some(1400);
    let metrics = &mut route.metrics;
    metrics.window_bytes = Some(1);
    metrics.mtu_bytes = Some(1);
    metrics.advmss_bytes = Some(1);
    metrics.initcwnd_segments = Some(1);
    metrics.initrwnd_segments = Some(1);
    metrics.cwnd_segments = Some(1);
    metrics.rto_min_ms = Some(1);
    metrics.locks = u64::MAX;
    all.cgroup = Some(Cgroup {
        cpu_quota_us: Some(1),
        cpu_period_us: Some(1),
        memory_max_bytes: Some(1),
        memory_current_bytes: Some(1),
        ..Cgroup::default()
    });
    all.peer = Some(PeerMetrics {
        ssthresh_segments: Some(1),
        ..PeerMetrics::default()
    });
    all.qdiscs = Some(vec![queue("pfifo", Some(1))]);
    count(&mut all, "rx_missed_errors", 1);
    count(&mut all, "rx_crc_errors", 1);
    let sane = serde_json::to_value(&all).expect("stored");
    let mut state = 1_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut read = 0;
    for _ in 0..3_000 {
        let mut value = sane.clone();
        distort(&mut value, &mut draw);
        // Numbers that do not fit their field are refused by the reader.
        let Ok(facts) = serde_json::from_value::<HostFacts>(value) else {
            continue;
        };
        read += 1;
        for (rtt, bps, mss) in [
            (80_000_000, 10_000_000_000, 1448),
            (0, 0, 1),
            (u64::MAX, u64::MAX, u64::MAX),
        ] {
            let path = Path {
                rtt: Duration::from_nanos(rtt),
                rate: Rate::from_bps(bps),
                mss: Bytes::new(mss),
                loss: Probability::try_new(1e-5),
                ..path()
            };
            let report = examine(&facts, &path);
            assert!(
                report
                    .advice(&path)
                    .is_none_or(|advice| advice.ceiling <= advice.after)
            );
        }
    }
    assert!(read > 1_000, "{read}");
}
