//! Queueing delay of long flows under five queue disciplines.

use std::sync::OnceLock;

use gigatcp_plan::record::SeriesRecord;

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("bufferbloat"))
}

fn record(series: &str) -> &'static SeriesRecord {
    experiment().record_of(series)
}

/// Median queueing delay in ms of packets that left in these seconds. It is sampled each 50 ms;
/// records leave out rows without new information.
fn median(series: &str, seconds: (u64, u64)) -> f64 {
    let samples = &record(series).hops[0].samples;
    let at = (seconds.0 * 20 + 1..=seconds.1 * 20).map(|step| step * 50_000_000);
    let mut delays: Vec<u64> = at
        .map(|at| samples.partition_point(|row| row.0 <= at))
        .map(|after| after.checked_sub(1).map_or(0, |last| samples[last].3))
        .collect();
    delays.sort_unstable();
    let found = delays[delays.len() / 2] as f64 / 1e6;
    println!("{series}, {seconds:?} s: {found:.1} ms");
    found
}

/// Median of a steady path, after slow start.
fn steady(series: &str) -> f64 {
    median(series, (15, record(series).duration_ns / 1_000_000_000))
}

/// Medians of the second half of each step of the changing link.
fn changing(discipline: &str) -> [f64; 6] {
    let series = format!("changing-{discipline}");
    [1, 2, 3, 4, 5, 6].map(|step| median(&series, (15 * step - 7, 15 * step)))
}

/// Median RTT of a sparse flow beyond that of the path, in ms.
fn sparse(discipline: &str) -> f64 {
    let found = experiment().round_trips(&format!("sparse-{discipline}"), "sparse", 15);
    found[found.len() / 2] - 100.0
}

/// After a loss 0.7 of path and queue are left. So the queue never falls below 676 packets of 1.23
/// ms.
#[test]
fn a_tail_drop_queue_of_1000_packets_stays_full() {
    for series in ["10-30-fifo-one", "10-100-fifo-one", "10-500-fifo-one"] {
        assert!((832.0..1230.0).contains(&steady(series)), "{series}");
    }
    for series in ["10-30-fifo-eight", "10-100-fifo-eight", "10-500-fifo-eight"] {
        assert!((832.0..1230.0).contains(&steady(series)), "{series}");
    }
    assert!((560.0..1230.0).contains(&steady("10-100-fifo-reno")));
}

/// Class C: of the order of 5 ms, with the exceptions that the README lists.
#[test]
fn codel_holds_a_hundredth_of_it_at_any_rtt() {
    assert!((4.0..8.0).contains(&steady("10-100-codel-eight")));
    // Each flow has 5 ms of its own; its bursts wait behind those of the others.
    assert!((6.0..10.0).contains(&steady("10-100-fq-codel-eight")));
    assert!((10.0..16.0).contains(&steady("10-30-codel-eight")));
    assert!((1.0..5.0).contains(&steady("10-500-codel-eight")));
    assert!((0.5..5.0).contains(&steady("100-100-codel-eight")));
    for series in ["10-30-codel-one", "10-100-codel-one", "10-500-codel-one"] {
        assert!((-0.1..3.0).contains(&steady(series)), "{series}");
    }
}

/// Expected by RFC 8289 section 3.2: r(3 + 6f - f^2) / (4(1 + f)) for f = 0.05.
#[test]
fn a_standing_queue_of_five_per_cent_gives_one_reno_flow_785_of_1000() {
    let busy = record("10-100-codel-reno").hops[0].utilization_fraction;
    assert!((busy - 0.785).abs() < 0.02, "{busy:.3}");
}

#[test]
fn pie_holds_its_target_of_15_ms_and_red_its_band_with_eight_flows() {
    assert!((13.5..18.0).contains(&steady("10-100-pie-eight")));
    // 5 to 15 packets of 1.23 ms.
    assert!((6.1..18.5).contains(&steady("10-100-red-eight")));
}

/// Each backlogged queue sends one packet of 1.23 ms before it.
#[test]
fn a_sparse_flow_waits_for_one_packet_of_each_long_one_under_fq_codel() {
    assert!(sparse("fq-codel") < 4.0 * 1.23);
    assert!(sparse("fq-codel") < sparse("codel"));
    assert!(sparse("codel") < sparse("pie"));
    assert!(sparse("fifo") > 1000.0);
}

#[test]
fn codel_holds_a_few_milliseconds_also_where_the_rate_changes() {
    let [first, second, slow, fourth, slow_again, last] = changing("codel");
    for delay in [first, second, fourth, last] {
        assert!((2.5..8.0).contains(&delay), "{delay:.1}");
    }
    // A packet alone takes 12.3 ms.
    for delay in [slow, slow_again] {
        assert!((30.0..50.0).contains(&delay), "{delay:.1}");
    }
    // The whole queue: 100, 1000 and 10,000 ms.
    let tail_drop = changing("fifo");
    assert!(tail_drop[0] > 80.0 && tail_drop[1] > 800.0 && tail_drop[2] > 8000.0);
}

/// Its limits are packets, not time.
#[test]
fn red_holds_a_number_of_packets_whatever_time_they_take() {
    let delays = changing("red");
    assert!(delays[0] < 1.0 && delays[2] > 100.0);
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
