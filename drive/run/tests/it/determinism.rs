//! The same seed gives the same run, whatever runs next to it.

use gigatcp_plan::record::SeriesRecord;
use gigatcp_run::Job;

const PLAN: &str = r#"
name = "determinism"
seed = 7

[[path.forward]]
name = "forward"
rate = "200 Mbit/s"
delay = "10 ms"
queue = "60 packets"
loss = 1e-3
reorder = 1e-3
reorder_delay = "3 ms"
duplicate = 1e-4

[[path.reverse]]
name = "reverse"
delay = "10 ms"
loss = 1e-3

[flow]
count = 3
start_step = "50 ms"
duration = "3 s"

[[series]]
name = "reno"
set = { "flow.congestion_control" = "reno" }
[[series]]
name = "cubic"
set = { "flow.congestion_control" = "cubic" }
[[series]]
name = "bic"
set = { "flow.congestion_control" = "bic-2.6.20" }
"#;

fn results(threads: usize, seed: u64) -> Vec<SeriesRecord> {
    let plan = gigatcp_plan::parse("plan.toml", PLAN.as_bytes(), &[]).expect("a valid plan");
    let job = Job {
        seed,
        repeat: 2,
        ..Job::of(plan)
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool");
    pool.install(|| job.records()).expect("a run")
}

fn prints(records: &[SeriesRecord]) -> Vec<(String, u32, String, u64)> {
    let print = |r: &SeriesRecord| (r.name.clone(), r.repeat, r.event_hash.clone(), r.packets);
    records.iter().map(print).collect()
}

#[test]
fn the_same_seed_gives_the_same_event_log_on_one_core_and_on_two() {
    let alone = prints(&results(1, 7));
    assert_eq!(alone, prints(&results(1, 7)));
    assert_eq!(alone, prints(&results(2, 7)));
}

#[test]
fn another_seed_gives_another_event_log() {
    let hashes = |seed| {
        let records = results(2, seed);
        records
            .into_iter()
            .map(|r| r.event_hash)
            .collect::<Vec<_>>()
    };
    let (seven, twenty) = (hashes(7), hashes(20));
    assert!(seven.iter().zip(&twenty).all(|(a, b)| a != b));
}

#[test]
fn the_time_under_all_limits_adds_up_to_the_life_of_the_connection() {
    for record in results(2, 7) {
        for flow in &record.flows {
            let spent: u64 = flow.limits.iter().map(|limit| limit.spent_ns).sum();
            assert!(flow.established_ns > 0);
            assert_eq!(spent, flow.ended_ns - flow.established_ns);
        }
    }
}
