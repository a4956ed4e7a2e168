//! The account of a run names the limit whose lifting makes the flow faster, and no other.
//!
//! Each case is a simulation with one limit, the cause that its account must name, and two other
//! simulations. In one of them that limit is lifted, which must gain goodput. In the other one the
//! limit is lifted that the mechanism alone would suggest, which must gain nothing significant.

use gigatcp_plan::record::FlowRecord;
use gigatcp_run::Job;

const PLAN: &str = r#"
name = "account"

[path]
rate = "100 Mbit/s"
rtt = "40 ms"

[flow]
congestion_control = "reno"
"#;

const THIN_REVERSE_PATH: &str = r#"
name = "thin"

[[path.forward]]
rate = "100 Mbit/s"
delay = "20 ms"

[[path.reverse]]
rate = "500 kbit/s"
delay = "20 ms"
queue = "100 packets"
"#;

/// Flows of the plan with these overrides.
fn flows(overrides: &[&str]) -> Vec<FlowRecord> {
    flows_of(PLAN, overrides)
}

fn flows_of(plan: &str, overrides: &[&str]) -> Vec<FlowRecord> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let plan = gigatcp_plan::parse("account", plan.as_bytes(), &overrides)
        .unwrap_or_else(|wrong| panic!("{overrides:?}: {wrong:?}"));
    let job = Job::of(plan);
    let ran = job.records();
    let mut series = ran.expect("a world that can be built");
    series.remove(0).flows
}

fn flow(overrides: &[&str]) -> FlowRecord {
    flows(overrides).remove(0)
}

/// Share of the time that the account attributes to `cause`.
fn share(flow: &FlowRecord, cause: &str) -> f64 {
    let all: u64 = flow.limited_by.iter().map(|share| share.spent_ns).sum();
    let shares = flow.limited_by.iter().filter(|share| share.cause == cause);
    let spent: u64 = shares.map(|share| share.spent_ns).sum();
    spent as f64 / all as f64
}

fn told(flow: &FlowRecord) -> String {
    let shares = flow.limited_by.iter().map(|limit| {
        let percent = share(flow, &limit.cause) * 100.0;
        format!("{} {percent:.1} %", limit.cause)
    });
    let shares: Vec<String> = shares.collect();
    format!(
        "{:.1} Mbit/s: {}",
        flow.goodput_bps / 1e6,
        shares.join(", ")
    )
}

/// A limit, its cause, and overrides that lift it or a suspected other limit.
///
/// The cause must be named for `least` of the time. The suspected limit is that of the mechanism.
struct Case<'a> {
    limit: &'a [&'a str],
    cause: &'a str,
    least: f64,
    lifted: &'a [&'a str],
    other: &'a [&'a str],
}

impl Case<'_> {
    fn check(&self) {
        let limited = flow(self.limit);
        let says = told(&limited);
        assert!(share(&limited, self.cause) >= self.least, "{says}");
        let gain = |more: &[&str]| {
            let changed = flow(&[self.limit, more].concat());
            (changed.goodput_bps / limited.goodput_bps, told(&changed))
        };
        let (gained, then) = gain(self.lifted);
        assert!(gained > 1.1, "{gained:.2} times: {says}; lifted: {then}");
        let (gained, then) = gain(self.other);
        assert!(gained < 1.05, "{gained:.2} times: {says}; other: {then}");
    }
}

#[test]
fn a_window_of_twice_the_bandwidth_delay_product_is_not_what_limits() {
    Case {
        limit: &["flow.window=1 MB", "path.queue=2 MB"],
        cause: "path-saturated",
        least: 0.9,
        lifted: &["path.rate=200 Mbit/s"],
        other: &["flow.window=2 MB"],
    }
    .check();
}

#[test]
fn a_quarter_of_the_bandwidth_delay_product_is_a_receive_window() {
    Case {
        limit: &["flow.receive_buffer=125 kB"],
        cause: "receive-window-limited",
        least: 0.9,
        lifted: &["flow.receive_buffer=500 kB"],
        other: &["path.rate=200 Mbit/s"],
    }
    .check();
}

#[test]
fn a_small_send_buffer_is_one() {
    Case {
        limit: &["flow.send_buffer=125 kB"],
        cause: "send-buffer-limited",
        least: 0.8,
        lifted: &["flow.send_buffer=auto"],
        other: &["path.rate=200 Mbit/s"],
    }
    .check();
}

#[test]
fn avoidance_after_random_loss_is_random_loss() {
    Case {
        limit: &["path.rate=1 Gbit/s", "path.rtt=50 ms", "path.loss=1e-4"],
        cause: "random-loss",
        least: 0.8,
        lifted: &["path.loss=0"],
        other: &["path.rate=2 Gbit/s"],
    }
    .check();
}

#[test]
fn avoidance_on_a_full_link_is_the_link() {
    Case {
        limit: &["path.queue=2 BDP"],
        cause: "path-saturated",
        least: 0.85,
        lifted: &["path.rate=200 Mbit/s"],
        other: &["sender.buffer=64 MiB", "receiver.buffer=64 MiB"],
    }
    .check();
}

#[test]
fn losses_of_a_short_queue_leave_the_link_idle() {
    Case {
        limit: &[
            "path.rtt=80 ms",
            "path.queue=20 packets",
            "flow.duration=60 s",
        ],
        cause: "queue-overflow",
        least: 0.6,
        lifted: &["path.queue=1 BDP"],
        other: &["flow.window=4 MB"],
    }
    .check();
}

#[test]
fn a_policer_is_one() {
    Case {
        limit: &["path.policer=30 Mbit/s", "path.policer_burst=64 KiB"],
        cause: "policer",
        least: 0.8,
        lifted: &["path.policer=60 Mbit/s"],
        other: &["path.rate=200 Mbit/s"],
    }
    .check();
}

#[test]
fn a_receiving_host_without_time_is_a_cpu() {
    Case {
        limit: &[
            "receiver.cpu.per_packet_received=400 us",
            "receiver.coalesce=100 us",
        ],
        cause: "receiver-cpu-limited",
        least: 0.8,
        lifted: &["receiver.cpu.per_packet_received=100 us"],
        other: &["path.rate=200 Mbit/s"],
    }
    .check();
}

#[test]
fn a_sending_host_without_time_is_a_cpu() {
    Case {
        limit: &["sender.cpu.per_packet_sent=400 us"],
        cause: "sender-cpu-limited",
        least: 0.8,
        lifted: &["sender.cpu.per_packet_sent=100 us"],
        other: &["path.rate=200 Mbit/s"],
    }
    .check();
}

#[test]
fn an_interface_slower_than_the_path_is_the_local_queue() {
    Case {
        limit: &["sender.link.rate=50 Mbit/s", "sender.tx_queue=100"],
        cause: "local-queue",
        least: 0.85,
        lifted: &["sender.link.rate=90 Mbit/s"],
        other: &["path.rate=200 Mbit/s"],
    }
    .check();
}

#[test]
fn a_pause_of_the_reader_is_a_slow_reader() {
    let paused = flow(&[
        "receiver.reader.pause_after=10 MB",
        "receiver.reader.pause=4 s",
        "flow.receive_buffer=1 MB",
    ]);
    assert!(
        (0.3..0.45).contains(&share(&paused, "slow-reader")),
        "{}",
        told(&paused)
    );
    let reads = flow(&["flow.receive_buffer=1 MB"]);
    assert_eq!(share(&reads, "slow-reader"), 0.0, "{}", told(&reads));
    assert!(reads.goodput_bps > 1.3 * paused.goodput_bps);
}

#[test]
fn pacing_on_a_full_link_is_the_link_and_below_it_is_pacing() {
    Case {
        limit: &["sender.pacing=true", "path.queue=2 BDP"],
        cause: "path-saturated",
        least: 0.85,
        lifted: &["path.rate=200 Mbit/s"],
        other: &["sender.pacing=false"],
    }
    .check();
    Case {
        limit: &["sender.max_pacing_rate=30 Mbit/s", "sender.pacing=true"],
        cause: "pacing-limited",
        least: 0.85,
        lifted: &["sender.max_pacing_rate=90 Mbit/s"],
        other: &["path.rate=200 Mbit/s"],
    }
    .check();
}

#[test]
fn pacing_that_spreads_a_window_is_the_windows() {
    Case {
        limit: &["sender.pacing=true", "flow.receive_buffer=125 kB"],
        cause: "receive-window-limited",
        least: 0.85,
        lifted: &["flow.receive_buffer=500 kB"],
        other: &["sender.pacing=false"],
    }
    .check();
}

#[test]
fn segments_that_come_late_are_no_losses() {
    Case {
        limit: &[
            "path.rate=1 Gbit/s",
            "sender.rack=false",
            "path.reorder=1e-3",
            "path.reorder_delay=15 ms",
        ],
        cause: "reordering-mistaken-for-loss",
        least: 0.5,
        lifted: &["path.reorder=0"],
        other: &["path.rate=2 Gbit/s"],
    }
    .check();
}

#[test]
fn marks_are_told_from_losses() {
    let marked = flow(&["path.rate=1 Gbit/s", "path.mark=1e-3", "sender.ecn=classic"]);
    assert!(share(&marked, "ecn-marks") > 0.8, "{}", told(&marked));
    assert_eq!(marked.retransmitted_segments, 0);
}

#[test]
fn a_slow_start_without_loss_is_the_growth_of_the_window() {
    let short = flow(&["path.rate=1 Gbit/s", "flow.bytes=2 MB"]);
    assert!(
        share(&short, "cwnd-growth-limited") > 0.6,
        "{}",
        told(&short)
    );
}

#[test]
fn a_link_that_others_fill_is_cross_traffic() {
    let flows = flows(&["flow.count=8", "path.queue=2 BDP"]);
    for flow in &flows {
        let link = share(flow, "cross-traffic") + share(flow, "path-saturated");
        assert!(link > 0.8, "{}", told(flow));
    }
    let crossed = flows
        .iter()
        .filter(|flow| share(flow, "cross-traffic") > 0.5);
    assert!(crossed.count() >= 6);
}

#[test]
fn acknowledgments_through_a_full_link_are_the_ack_path() {
    let thin = flows_of(THIN_REVERSE_PATH, &[]).remove(0);
    assert!(share(&thin, "ack-path") > 0.6, "{}", told(&thin));
    let wide = flows_of(THIN_REVERSE_PATH, &["path.reverse.rate=5 Mbit/s"]).remove(0);
    assert!(wide.goodput_bps > 1.5 * thin.goodput_bps, "{}", told(&wide));
}

#[test]
fn a_timer_that_runs_is_one() {
    // The last segments of the stream are lost, and no SACK reports a gap.
    let tail = flow(&["flow.bytes=20 kB", "path.lose_packets=[14, 15, 16, 17, 18]"]);
    assert!(
        tail.timeouts > 0 && share(&tail, "rto-backoff") > 0.4,
        "{}",
        told(&tail)
    );
}

#[test]
fn an_ideal_host_without_a_link_has_no_interface_and_no_cpu() {
    for control in ["reno", "cubic", "dctcp"] {
        let flow = flow(&[&format!("flow.congestion_control={control}")]);
        for cause in ["local-queue", "sender-cpu-limited", "receiver-cpu-limited"] {
            assert_eq!(share(&flow, cause), 0.0, "{}", told(&flow));
        }
    }
}

#[test]
fn the_times_of_all_causes_add_up_to_the_life_of_the_connection() {
    let kinds: [&[&str]; 4] = [
        &["flow.count=3", "flow.start_step=1 s"],
        &[
            "path.loss=1e-3",
            "path.reorder=1e-3",
            "path.reorder_delay=3 ms",
        ],
        &["flow.bytes=30 kB", "path.loss=0.05"],
        &[
            "receiver.cpu.per_packet_received=400 us",
            "receiver.reader.pause_after=1 MB",
            "receiver.reader.pause=1 s",
        ],
    ];
    for overrides in kinds {
        for (number, flow) in flows(overrides).iter().enumerate() {
            let start = match overrides[0] {
                "flow.count=3" => number as u64 * 1_000_000_000,
                _ => 0,
            };
            let spent: u64 = flow.limited_by.iter().map(|share| share.spent_ns).sum();
            assert_eq!(spent, flow.ended_ns - start, "{}", told(flow));
            let limits: u64 = flow.limits.iter().map(|limit| limit.spent_ns).sum();
            assert_eq!(limits, flow.ended_ns - flow.established_ns);
            let spans = &flow.limited_by_timeline;
            assert_eq!(spans.first().map(|span| span.start_ns), Some(start));
            assert_eq!(spans.last().map(|span| span.end_ns), Some(flow.ended_ns));
            assert!(
                spans
                    .windows(2)
                    .all(|pair| pair[0].end_ns == pair[1].start_ns)
            );
        }
    }
}
