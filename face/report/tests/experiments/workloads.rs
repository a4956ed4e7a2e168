//! The plans used to measure the speed of simulation: a hundred flows, and one.

use gigatcp_plan::record::SeriesRecord;
use gigatcp_run::Job;

use crate::plan_of;

/// One series of a plan.
fn record(experiment: &str, series: &str) -> SeriesRecord {
    let job = Job {
        only: vec![series.to_owned()],
        ..Job::of(plan_of(experiment).1)
    };
    job.records().expect("a run").remove(0)
}

/// Two other simulators: 3400 to 3500 drops, Jain's index 0.87.
#[test]
fn a_hundred_reno_flows_lose_an_eighth_more_than_elsewhere_and_share_better() {
    let record = record("dumbbell", "per-ack-spread");
    let drops = record.hops[0].drops["queue_full"];
    assert!((3800..3950).contains(&drops), "{drops}");
    let rates = record.flows.iter().map(|flow| flow.goodput_bps);
    let sum: f64 = rates.clone().sum();
    let squares: f64 = rates.map(|rate| rate * rate).sum();
    let index = sum * sum / (100.0 * squares);
    assert!((index - 0.93).abs() < 0.01, "{index:.3}");
}

/// 60 MB each 80 ms.
#[test]
fn a_single_flow_is_limited_by_its_receive_window() {
    let record = record("single-flow", "single-flow");
    let flow = &record.flows[0];
    let spent: u64 = flow
        .limited_by
        .iter()
        .filter(|share| share.cause == "receive-window-limited")
        .map(|share| share.spent_ns)
        .sum();
    assert!((8_800_000_000..9_200_000_000).contains(&spent), "{spent}");
    for line in &flow.intervals[1..] {
        let gbps = line.bytes as f64 * 8.0 / 1e9;
        assert!((5.95..6.05).contains(&gbps), "{gbps:.3}");
    }
}
