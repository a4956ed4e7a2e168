//! Hosts of 1986 on 56 kbit/s: timers, backoff and slow start.

use std::sync::OnceLock;

use gigatcp_plan::record::FlowRecord;

use crate::Experiment;

/// Seconds that are counted.
const COUNTED: (u64, u64) = (100, 400);

/// Segments of 512 octets that the line carries in a second.
const LINE: f64 = 56_000.0 / (552.0 * 8.0);

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("collapse"))
}

fn flows(series: &str) -> &'static [FlowRecord] {
    &experiment().record_of(series).flows
}

/// Bytes read within `seconds`.
fn delivered(flow: &FlowRecord, seconds: u64) -> u64 {
    let samples = flow.samples.iter();
    let before = samples.take_while(|sample| sample.at_ns <= seconds * 1_000_000_000);
    before.last().map_or(0, |sample| sample.delivered_bytes)
}

/// Number of segments of useful data.
fn useful(series: &str) -> f64 {
    let of = |flow| delivered(flow, COUNTED.1) - delivered(flow, COUNTED.0);
    flows(series).iter().map(of).sum::<u64>() as f64 / 512.0
}

/// Useful data as a share of the line's capacity.
fn share(series: &str) -> f64 {
    let share = useful(series) / (COUNTED.1 - COUNTED.0) as f64 / LINE;
    println!("{series}: {share:.3} of the line");
    share
}

/// Useful segments as a share of all transmissions.
fn share_of_transmissions(series: &str) -> f64 {
    let mut again = 0;
    for flow in flows(series) {
        let from = (COUNTED.0 * 1_000_000_000).saturating_sub(flow.clock_start_ns);
        let counted = flow
            .intervals
            .iter()
            .filter(|interval| interval.start_ns >= from);
        again += counted
            .map(|interval| interval.retransmitted_segments)
            .sum::<u64>();
    }
    let useful = useful(series);
    let share = useful / (useful + again as f64);
    println!("{series}: {share:.3} of the transmissions");
    share
}

/// Each host sends its window of 8 once a second. The line carries 12.7 packets per second.
#[test]
fn a_timer_shorter_than_the_queue_collapses_a_line_on_which_all_would_fit() {
    assert!(share("fixed-2") > 0.99);
    for (hosts, series) in [(5.0, "fixed-5"), (10.0, "fixed-10"), (20.0, "fixed-20")] {
        assert!(share(series) < 0.42, "{series}");
        let bound = LINE / (8.0 * hosts);
        let found = share_of_transmissions(series) / bound;
        assert!(
            (0.4..1.0).contains(&found),
            "{series}: {found:.2} of the bound"
        );
    }
    // Five windows are 40 packets; the gateway alone has a queue limit of 50.
    assert!(share("estimated-5") > 0.99 && share_of_transmissions("estimated-5") > 0.999);
}

#[test]
fn the_longer_a_constant_timer_the_more_is_useful() {
    let series = ["fixed-20", "fixed-2s-20", "fixed-4s-20", "fixed-16s-20"];
    assert!(series.map(share).is_sorted());
    assert!(series.map(share_of_transmissions).is_sorted());
}

#[test]
fn backoff_wastes_less_than_none_and_slow_start_less_than_either() {
    for hosts in [10, 20, 40] {
        let order = ["estimated", "backoff", "slow-start"];
        let series = order.map(|kind| format!("{kind}-{hosts}"));
        assert!(
            series.each_ref().map(|name| share(name)).is_sorted(),
            "{hosts}"
        );
        let transmissions = series.each_ref().map(|name| share_of_transmissions(name));
        assert!(transmissions.is_sorted(), "{hosts}");
    }
    assert!(share("slow-start-40") > 0.98 && share_of_transmissions("slow-start-40") > 0.8);
}

/// E66, with backoff as the only mechanism. Nothing is lost, and every retransmission is of a
/// packet that was only delayed.
#[test]
fn exponential_backoff_stabilizes_a_queue_that_loses_nothing() {
    assert_eq!(
        experiment().record_of("backoff-deep-20").hops[0].drops["queue_full"],
        0
    );
    assert!(share("backoff-deep-20") > 0.99);
    assert!(share("estimated-deep-20") < 0.1 && share("fixed-deep-20") < 0.1);
}

/// E65: a burst of sixteen packets, or two packets for each that leaves.
#[test]
fn slow_start_halves_the_burst_at_the_gateway() {
    let backlog = |series: &str| experiment().record_of(series).hops[0].max_backlog_packets;
    assert_eq!(backlog("one-burst"), 16);
    assert_eq!(backlog("one-slow-start"), 9);
}

/// E64: 3/8·W·(W + 2) segments and a window of recovery between losses. With delayed ACKs it is
/// twice as many. With 4.3BSD's delayed ACKs, mean windows of 9 to 12 lose less than 1 %.
#[test]
fn segments_between_losses_grow_with_the_square_of_the_window() {
    for window in [8, 12, 16] {
        for (kind, acks) in [("", 1.0), ("-delayed", 2.0)] {
            let flow = &flows(&format!("avoid-{window}{kind}"))[0];
            let w = f64::from(window);
            let expected = acks * 0.375 * w * (w + 2.0) + w;
            let sent = (flow.segments_sent - flow.retransmitted_segments) as f64;
            let found = sent / flow.loss_events as f64 / expected;
            assert!((0.8..1.1).contains(&found), "{window}{kind}: {found:.3}");
        }
    }
    let dropped = |series: &str| {
        let sent = flows(series)[0].segments_sent as f64;
        experiment().record_of(series).hops[0].drops["queue_full"] as f64 / sent
    };
    assert!(dropped("avoid-12-delayed") < 0.01 && dropped("avoid-16-delayed") < 0.006);
    assert!(dropped("avoid-16") < 0.01 && dropped("avoid-8-delayed") > 0.015);
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
