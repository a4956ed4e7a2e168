//! Early detection in a gateway, and a sender without congestion control.

use std::sync::OnceLock;

use gigatcp_plan::record::FlowRecord;

use crate::Experiment;

const DISCIPLINES: [&str; 6] = ["fifo", "red", "red-ecn", "codel", "pie", "fq-codel"];

/// Payload rate of the link, Mbit/s.
const LINK: f64 = 10.0 * 1448.0 / 1538.0;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("gateways"))
}

/// Flows whose name begins with `name`.
fn flows(series: &str, name: &str) -> Vec<&'static FlowRecord> {
    let flows = &experiment().record_of(series).flows;
    flows
        .iter()
        .filter(|flow| flow.name.starts_with(name))
        .collect()
}

/// Bytes read within `seconds`.
fn delivered(flow: &FlowRecord, seconds: u64) -> u64 {
    let samples = flow.samples.iter();
    let before = samples.take_while(|sample| sample.at_ns <= seconds * 1_000_000_000);
    before.last().map_or(0, |sample| sample.delivered_bytes)
}

/// Rate of each flow from 20 to 60 s, Mbit/s. The rate until a flow's last byte would be wrong for
/// a starved flow, whose last byte is early.
fn rates(series: &str, name: &str) -> Vec<f64> {
    let flows = flows(series, name).into_iter();
    flows
        .map(|flow| (delivered(flow, 60) - delivered(flow, 20)) as f64 * 8.0 / 40e6)
        .collect()
}

/// Rate of all of them together, Mbit/s.
fn rate(series: &str, name: &str) -> f64 {
    let rate = rates(series, name).iter().sum();
    println!("{series}, {name}: {rate:.2}");
    rate
}

/// Share of retransmissions among the segments from 20 s on.
fn retransmitted(series: &str, name: &str) -> f64 {
    let flows = flows(series, name);
    let intervals = flows.iter().flat_map(|flow| {
        let from = 20_000_000_000 - flow.clock_start_ns.min(20_000_000_000);
        flow.intervals
            .iter()
            .filter(move |interval| interval.start_ns >= from)
    });
    let (mut again, mut segments) = (0.0, 0.0);
    for interval in intervals {
        again += interval.retransmitted_segments as f64;
        segments += interval.bytes as f64 / 1448.0;
    }
    again / (again + segments)
}

/// The greedy flow has 40 packets of the 81 on the path and those queued. About 75 are queued with
/// tail drop, about 10 otherwise.
#[test]
fn early_detection_alone_leaves_a_greedy_window_more_than_tail_drop_does() {
    let share = |discipline: &str| rate(&format!("greedy-{discipline}"), "greedy") / LINK;
    assert!((share("fifo") - 40.0 / 156.0).abs() < 0.03);
    for discipline in ["red", "red-ecn", "codel", "pie"] {
        let share = share(discipline);
        assert!(
            (share - 40.0 / 91.0).abs() < 0.04,
            "{discipline}: {share:.3}"
        );
    }
}

#[test]
fn a_host_that_ignores_marks_loses_nothing() {
    assert!(retransmitted("greedy-red", "greedy") > 0.03);
    assert!(retransmitted("greedy-red-ecn", "greedy") < 0.001);
    assert!(flows("greedy-red-ecn", "greedy")[0].marked_segments > 100);
}

#[test]
fn a_queue_per_flow_gives_each_its_share_and_drops_most_of_the_packets_of_the_other() {
    for kind in ["greedy", "flood"] {
        let series = format!("{kind}-fq-codel");
        for rate in rates(&series, "fair") {
            assert!(
                (rate / (LINK / 10.0) - 1.0).abs() < 0.1,
                "{series}: {rate:.2}"
            );
        }
        assert!(retransmitted(&series, "greedy") > 0.5, "{series}");
        assert!(retransmitted(&series, "fair") < 0.03, "{series}");
    }
}

/// Quotes: "A minimum number of packet drops" and "their fair share". Only a queue per flow
/// protects from a flood. Under PIE it depends on the seed: with this one the flood is in timeouts most
/// of the time, with four of five others the nine have 0.3 to 0.9 Mbit/s.
#[test]
fn a_flood_starves_all_others_but_under_fq_codel() {
    for discipline in ["fifo", "red", "red-ecn", "codel"] {
        let rate = rate(&format!("flood-{discipline}"), "fair");
        assert!(rate < 0.15 * LINK * 0.9, "{discipline}: {rate:.2}");
    }
}

/// Datagrams at a fixed rate have the same loss probability as others and do not slow down. Above
/// the rate of the link they leave the others at most a tenth of it.
#[test]
fn datagrams_at_a_fixed_rate_keep_it_but_under_fq_codel() {
    let kept = |series: &str| {
        let one = &experiment().record_of(series).datagrams[0];
        one.received as f64 / one.sent as f64
    };
    for discipline in ["fifo", "red", "codel", "pie"] {
        let calm = kept(&format!("datagrams-{discipline}"));
        assert!(calm > 0.94, "{discipline}: {calm:.3}");
        let others = rate(&format!("datagrams-{discipline}"), "fair");
        assert!((4.4..5.7).contains(&others), "{discipline}: {others:.2}");
        let others = rate(&format!("datagram-flood-{discipline}"), "fair");
        assert!(others < 0.1 * LINK * 0.9, "{discipline}: {others:.2}");
    }
    for (series, lost) in [
        ("datagrams-fq-codel", 0.6),
        ("datagram-flood-fq-codel", 0.85),
    ] {
        assert!(rate(series, "fair") > 8.0, "{series}");
        assert!(1.0 - kept(series) > lost, "{series}");
    }
}

/// "Will improve things even if no endnode is modified": goodput does not improve.
#[test]
fn without_congestion_control_no_discipline_carries_more_than_tail_drop() {
    let tail_drop = rate("none-fifo", "fair");
    for discipline in &DISCIPLINES[1..] {
        let series = format!("none-{discipline}");
        assert!(rate(&series, "fair") < tail_drop * 1.01, "{series}");
        assert!(retransmitted(&series, "fair") > 0.5, "{series}");
    }
}

#[test]
fn nine_connections_of_one_host_get_half_of_the_link() {
    for discipline in ["fifo", "fq-codel"] {
        let series = format!("many-{discipline}");
        let (one, many) = (rate(&series, "fair"), rate(&series, "many"));
        assert!((many / (one + many) - 0.5).abs() < 0.05, "{series}");
    }
}

#[test]
fn red_starves_the_link_where_codel_and_pie_hardly_do() {
    let busy = |series: &str| rate(series, "fair") / LINK;
    assert!((0.75..0.85).contains(&busy("ten-red")));
    assert!((0.82..0.92).contains(&busy("ten-red-1993")));
    assert!(busy("ten-codel") > 0.93 && busy("ten-pie") > 0.97);
    assert!(retransmitted("ten-red-ecn", "fair") < 0.2 * retransmitted("ten-red", "fair"));
}

/// Figures of the README without a theoretical value.
#[test]
fn goodput_and_queueing_delays_are_those_of_the_readme() {
    for (series, name, mbps) in [
        ("ten-fifo", "fair", 9.40),
        ("greedy-fq-codel", "fair", 8.28),
        ("greedy-fq-codel", "greedy", 1.14),
        ("flood-pie", "fair", 5.67),
        ("flood-pie", "greedy", 2.88),
        ("flood-fq-codel", "fair", 8.39),
        ("flood-fq-codel", "greedy", 0.89),
        ("many-fq-codel", "fair", 4.71),
        ("many-fq-codel", "many", 4.71),
        ("datagram-flood-codel", "fair", 0.43),
    ] {
        assert!((rate(series, name) - mbps).abs() < 0.015, "{series}");
    }
    for (discipline, ms) in DISCIPLINES.iter().zip([75.0, 4.5, 5.8, 7.4, 15.1, 4.2]) {
        let hop = &experiment().record_of(&format!("ten-{discipline}")).hops[0];
        let found = hop.queueing_delay_p50_ns.expect("a queue") as f64 / 1e6;
        assert!((found / ms - 1.0).abs() < 0.02, "{discipline}: {found:.2}");
    }
}

/// Share of the other nine flows that reduce their windows within 200 ms of one reduction.
fn synchronized(series: &str) -> f64 {
    let of = |flow: &&FlowRecord| {
        let times = flow.reduction_times_ns.iter().copied();
        times.filter(|at| *at >= 20_000_000_000).collect::<Vec<_>>()
    };
    let times: Vec<Vec<u64>> = flows(series, "fair").iter().map(of).collect();
    let (mut near, mut all) = (0, 0);
    for (number, at) in times.iter().enumerate() {
        for at in at {
            let is_near = |other: &u64| other.abs_diff(*at) <= 200_000_000;
            let others = times
                .iter()
                .enumerate()
                .filter(|(place, _)| *place != number);
            near += others
                .filter(|(_, times)| times.iter().any(is_near))
                .count();
            all += times.len() - 1;
        }
    }
    near as f64 / all as f64
}

#[test]
fn red_does_not_break_the_synchronization_of_ten_flows() {
    for (series, share) in [
        ("ten-red", 0.82),
        ("ten-red-1993", 0.83),
        ("ten-fifo", 0.64),
        ("ten-pie", 0.41),
    ] {
        let found = synchronized(series);
        assert!((found - share).abs() < 0.02, "{series}: {found:.3}");
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
