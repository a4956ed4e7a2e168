//! Selection of series to repeat, their seeds, and the theoretical goodput next to them.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use gigatcp_plan::record::{FurtherRecord, SeriesRecord};
use gigatcp_run::{Job, Progress, further, run};

const PLAN: &str = r#"
name = "further"
seed = 7
path = { rate = "100 Mbit/s", rtt = "20 ms" }
flow = { duration = "1 s", congestion_control = "reno" }
[[series]]
name = "lossless"
[[series]]
name = "lossy"
set = { "path.loss" = "3e-4" }
[[series]]
name = "lossy-enough"
set = { "path.loss" = "2e-2", "flow.duration" = "10 s" }
[[series]]
name = "every-thousandth"
set = { "path.lose_every" = 1000 }
"#;

fn job(plan: &str) -> Job {
    let plan = gigatcp_plan::parse("plan.toml", plan.as_bytes(), &[]).expect("a valid plan");
    Job::of(plan)
}

fn records(job: &Job, progress: &Progress) -> Vec<SeriesRecord> {
    run(job, &AtomicBool::new(false), progress, &|_| {}).expect("a run")
}

/// Records of a plan after further seeds for at most `limit`.
fn after(plan: &str, limit: Duration, is_interrupted: bool) -> Vec<SeriesRecord> {
    let job = job(plan);
    let progress = Progress::of(&job);
    let mut records = records(&job, &progress);
    let wanted = further::repetitions(&job, &records, &progress);
    let progress = further::progress(&wanted);
    let interrupt = AtomicBool::new(is_interrupted);
    let done = further::run(&wanted, limit, &interrupt, &progress, &mut records, &|_| {});
    done.expect("worlds that can be built");
    records
}

fn of<'a>(records: &'a [SeriesRecord], name: &str) -> Option<&'a FurtherRecord> {
    let record = records.iter().find(|record| record.name == name);
    record.expect("a series").further.as_ref()
}

#[test]
fn a_series_with_few_random_losses_gets_ten_further_seeds_and_no_other_does() {
    let records = after(PLAN, Duration::from_secs(600), false);
    for name in ["lossless", "lossy-enough", "every-thousandth"] {
        assert_eq!(of(&records, name), None, "{name}");
    }
    let further = of(&records, "lossy").expect("it has further seeds");
    assert_eq!(further.ended_by, "seeds");
    assert!(further.loss_events < 20);
    assert_eq!(further.random, ["loss at `bottleneck`"]);
    let seeds: Vec<u64> = further.runs.iter().map(|run| run.seed).collect();
    assert_eq!(seeds, (8..=17).collect::<Vec<u64>>());
    let mut hashes: Vec<&str> = further.runs.iter().map(|run| &*run.event_hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 10);

    // A further seed gives the same run as that seed alone.
    let mut alone = job(PLAN);
    alone.seed = 12;
    alone.only = vec!["lossy".into()];
    let alone = self::records(&alone, &Progress::of(&alone)).remove(0);
    assert_eq!(further.runs[4].event_hash, alone.event_hash);
    let (flow, same) = (&further.runs[4].flows[0], &alone.flows[0]);
    assert_eq!(flow.bytes, same.bytes);
    assert_eq!(flow.loss_events, same.loss_events);
}

#[test]
fn without_time_there_are_no_further_seeds_and_the_record_says_why() {
    let records = after(PLAN, Duration::ZERO, false);
    let further = of(&records, "lossy").expect("it is to have some");
    assert_eq!((further.runs.len(), &*further.ended_by), (0, "time"));
    let records = after(PLAN, Duration::from_secs(600), true);
    let further = of(&records, "lossy").expect("it is to have some");
    assert!(further.runs.len() < 10);
    assert_eq!(further.ended_by, "interrupt");
}

#[test]
fn losses_of_a_queue_are_random_beside_random_traffic_and_of_a_control_that_draws() {
    let plan = |control: &str, cross: &str| {
        format!(
            r#"
name = "queue"
duration = "2 s"
path = {{ rate = "20 Mbit/s", rtt = "20 ms", queue = "30 packets" }}
[[flow]]
name = "main"
duration = "2 s"
congestion_control = "{control}"
{cross}"#
        )
    };
    let wanted = |control: &str, cross: &str| {
        let job = job(&plan(control, cross));
        let progress = Progress::of(&job);
        let records = records(&job, &progress);
        assert!((1..20).contains(&records[0].flows[0].loss_events));
        let wanted = further::repetitions(&job, &records, &progress);
        wanted
            .into_iter()
            .next()
            .map(|repetition| repetition.why.random)
    };
    assert_eq!(wanted("reno", ""), None);
    assert_eq!(wanted("bbr", ""), Some(vec!["draws of `bbr`".into()]));
    let cross = "[[flow]]\nname = \"web\"\napplication = \"arrivals, every 50 ms, size 20 kB\"\n";
    assert_eq!(wanted("reno", cross), Some(vec!["traffic of `web`".into()]));
}

/// Reference values, calculated by hand: 4.793 Mbit/s for Reno, 4.391 for CUBIC.
///
/// Reno: 1.31 / sqrt(1e-3) = 41.43 segments of 1448 bytes each 100.00 ms and 0.12 ms (1500 bytes at
/// 100 Mbit/s; no link overhead): 4.793 Mbit/s. CUBIC: 1.054 (0.1/1e-3)^0.75 = 33.4, less than 1.2
/// / sqrt(1e-3) = 37.95 segments: 4.391 Mbit/s. A mean over 300 s of losses is within a fifth of
/// the expectation for random losses. For Reno that is the value, for CUBIC up to a half above it.
#[test]
fn the_value_of_theory_is_beside_a_flow_that_only_loss_limits() {
    let plan = r#"
name = "theory"
path = { rate = "100 Mbit/s", rtt = "100 ms", loss = "1e-3", link_overhead = 0 }
flow = { duration = "300 s", congestion_control = "reno" }
record = { sample = "100 ms" }
[[series]]
name = "reno"
[[series]]
name = "cubic"
set = { "flow.congestion_control" = "cubic" }
[[series]]
name = "a-link-that-is-full"
set = { "path.rate" = "4 Mbit/s" }
[[series]]
name = "a-window"
set = { "flow.window" = "30 kB" }
[[series]]
name = "bursts"
set = { "path.loss_burst" = "1e-3:3" }
[[series]]
name = "too-short"
set = { "flow.duration" = "5 s" }
[[series]]
name = "timer-only"
set = { "sender.fast_retransmit" = false }
"#;
    let job = job(plan);
    let records = records(&job, &Progress::of(&job));
    let theory = |name: &str| {
        let record = records.iter().find(|record| record.name == name);
        let flow = &record.expect("a series").flows[0];
        let theory = flow.theory.as_ref()?;
        Some((theory.goodput_bps, flow.goodput_bps / theory.goodput_bps))
    };
    let (reno, ratio) = theory("reno").expect("an equation holds");
    assert!((reno / 4.793e6 - 1.0).abs() < 2e-3, "{reno}");
    assert!((0.8..1.2).contains(&ratio), "{ratio}");
    let (cubic, ratio) = theory("cubic").expect("an equation holds");
    assert!((cubic / 4.391e6 - 1.0).abs() < 2e-3, "{cubic}");
    assert!((0.9..1.5).contains(&ratio), "{ratio}");
    let none = [
        "a-link-that-is-full",
        "a-window",
        "bursts",
        "too-short",
        "timer-only",
    ];
    for name in none {
        assert_eq!(theory(name), None, "{name}");
    }
}
