//! Queueing delay of long flows under five queue disciplines.

use std::sync::OnceLock;

use gigatcp_record::{FlowRecord, SeriesRecord};

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("bufferbloat"))
}

fn record(series: &str) -> &'static SeriesRecord {
    experiment().record_of(series)
}

/// Median queueing delay of those flows in ms, from samples in those seconds.
fn median(flows: &[&FlowRecord], seconds: (u64, u64), base_ms: f64) -> f64 {
    let samples = flows.iter().flat_map(|flow| &flow.samples);
    let counted = samples.filter(|sample| {
        let at = sample.at_ns;
        seconds.0 * 1_000_000_000 <= at && at < seconds.1 * 1_000_000_000
    });
    let mut delays: Vec<f64> = counted
        .filter_map(|sample| sample.srtt_ns)
        .map(|srtt| srtt as f64 / 1e6 - base_ms)
        .collect();
    delays.sort_by(f64::total_cmp);
    delays[delays.len() / 2]
}

/// RTT of the empty path with the transmission of one packet, in ms.
fn base(rtt_ms: f64, mbps: f64) -> f64 {
    rtt_ms + 1538.0 * 8.0 / mbps / 1e3
}

/// Median of a steady path, whose name begins with rate and RTT.
fn steady(series: &str) -> f64 {
    let mut words = series.split('-').map(|word| word.parse::<f64>());
    let mut number = || words.next().expect("a word").expect("a number");
    let (mbps, rtt_ms) = (number(), number());
    let flows: Vec<_> = record(series).flows.iter().collect();
    let found = median(&flows, (15, 60), base(rtt_ms, mbps));
    println!("{series}: {found:.1} ms");
    found
}

/// Rates of the changing link, each for 15 s.
const STEPS: [f64; 6] = [100.0, 10.0, 1.0, 50.0, 1.0, 100.0];

/// Medians of the second half of each step.
fn changing(discipline: &str) -> [f64; 6] {
    let record = record(&format!("changing-{discipline}"));
    let flows: Vec<_> = record.flows.iter().collect();
    let mut step = 0;
    let found = STEPS.map(|mbps| {
        step += 1;
        median(&flows, (15 * step - 7, 15 * step), base(50.0, mbps))
    });
    println!("{discipline}: {found:.1?}");
    found
}

/// 0.7 of path and queue are left after a loss, so the queue never falls below 676
/// packets of 1.23 ms.
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

/// Class C: of the order of 5 ms, with the exceptions that the README names.
#[test]
fn codel_holds_a_hundredth_of_it_at_any_rtt() {
    for series in ["10-100-codel-eight", "10-100-fq-codel-eight"] {
        assert!((4.0..8.0).contains(&steady(series)), "{series}");
    }
    assert!((10.0..16.0).contains(&steady("10-30-codel-eight")));
    assert!((1.0..5.0).contains(&steady("10-500-codel-eight")));
    assert!((0.5..5.0).contains(&steady("100-100-codel-eight")));
    for series in ["10-30-codel-one", "10-100-codel-one", "10-500-codel-one"] {
        assert!((-0.1..3.0).contains(&steady(series)), "{series}");
    }
}

/// RFC 8289 section 3.2: r(3 + 6f - f^2) / (4(1 + f)) for f = 0.05.
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
    let sparse = |discipline: &str| {
        let flows = &record(&format!("sparse-{discipline}")).flows;
        let flow = flows.iter().find(|flow| flow.name == "sparse");
        median(&[flow.expect("the sparse flow")], (15, 60), 100.0)
    };
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
