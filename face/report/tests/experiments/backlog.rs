//! A backlog of listening sockets, with clients that connect simultaneously or spread over time.

use std::sync::OnceLock;

use gigatcp_plan::record::{FlowRecord, SeriesRecord};

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run_as_often_as_planned("backlog"))
}

fn runs(series: &str) -> impl Iterator<Item = &'static SeriesRecord> {
    let records = experiment().records.iter();
    records.filter(move |record| record.name == series)
}

/// Number of clients connected within `seconds` of the start.
fn connected(run: &SeriesRecord, seconds: f64) -> usize {
    let before = (seconds * 1e9) as u64;
    let is_early = |flow: &&FlowRecord| (1..before).contains(&flow.established_ns);
    run.flows.iter().filter(is_early).count()
}

/// Seconds until the last client had completed.
fn last(run: &SeriesRecord) -> f64 {
    let done = run.flows.iter().filter(|flow| flow.completion_ns.is_some());
    let ends = done.map(|flow| flow.ended_ns);
    ends.max().expect("a client") as f64 / 1e9
}

/// Number of clients whose first SYN was dropped. They waited for a timer and retransmitted no
/// data.
fn delayed(run: &SeriesRecord) -> usize {
    let is_delayed = |flow: &&FlowRecord| flow.timeouts > 0 && flow.retransmitted_segments == 0;
    run.flows.iter().filter(is_delayed).count()
}

fn mean_delayed(series: &str) -> f64 {
    let each: Vec<usize> = runs(series).map(delayed).collect();
    println!("{series}: {each:?}");
    each.iter().sum::<usize>() as f64 / each.len() as f64
}

/// Erlang's loss formula.
fn erlang_b(erlang: f64, servers: u32) -> f64 {
    (1..=servers).fold(1.0, |blocked, number| {
        let busy = erlang * blocked;
        busy / (f64::from(number) + busy)
    })
}

/// Timers of all clients expire together: 1, 3, 7, .. 127 s after the start.
#[test]
fn what_does_not_fit_comes_again_together_and_a_backlog_of_16_loses_72_of_200_for_good() {
    let after = [0.9, 2.9, 6.9, 14.9, 30.9, 62.9, 126.9, 200.0];
    for (series, expected) in [
        ("burst", [200; 8]),
        ("burst-64", [64, 128, 192, 200, 200, 200, 200, 200]),
        ("burst-16", [16, 32, 48, 64, 80, 96, 112, 128]),
        ("burst-16-cookies", [200; 8]),
    ] {
        for run in runs(series) {
            assert_eq!(after.map(|at| connected(run, at)), expected, "{series}");
        }
    }
    let dropped = |series| runs(series).map(|run| run.hosts[0].drops["backlog"]);
    assert!(dropped("burst-64").all(|drops| drops == 136 + 72 + 8));
}

#[test]
fn clients_at_random_are_delayed_as_erlang_says() {
    for (backlog, tolerance) in [(16, 0.03), (20, 0.04), (24, 0.08), (28, 0.22)] {
        let share = mean_delayed(&format!("spread-{backlog}")) / 500.0;
        let ratio = share / erlang_b(20.0, backlog);
        assert!((ratio - 1.0).abs() < tolerance, "{backlog}: {ratio:.3}");
    }
    assert!(runs("spread-28").all(|run| last(run) < 2.1));
    assert!(runs("spread-16").all(|run| last(run) < 4.1));
}

#[test]
fn a_server_that_accepts_slowly_drops_with_cookies_too() {
    assert!(mean_delayed("slow-1000") < 0.5);
    assert!(runs("slow-1000").all(|run| (last(run) / 2.06 - 1.0).abs() < 0.01));
    let [plain, cookies] = ["slow-128", "slow-128-cookies"].map(mean_delayed);
    assert!((90.0..103.0).contains(&plain), "{plain}");
    assert!((plain - cookies).abs() < 0.5, "{plain} {cookies}");
    // The last ACK of the other handshakes arrives at a full accept queue.
    for run in runs("slow-128") {
        let repeated = |flow: &&FlowRecord| flow.retransmitted_segments > 0;
        let count = run.flows.iter().filter(repeated).count();
        assert!((50..=60).contains(&count), "{count}");
        assert!((2.05..2.15).contains(&last(run)), "{}", last(run));
    }
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
