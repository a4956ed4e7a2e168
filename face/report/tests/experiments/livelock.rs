//! Delivery of an overloaded host, and the sudden loss at the receiver of 2001.

use std::sync::OnceLock;

use gigatcp_plan::record::HostRecord;

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("livelock"))
}

/// Datagrams that the program read, per second.
fn read(series: &str) -> f64 {
    let record = experiment().record_of(series);
    record.datagrams[0].received as f64 * 1e9 / record.duration_ns as f64
}

fn host(series: &str) -> &'static HostRecord {
    &experiment().record_of(series).hosts[0]
}

#[track_caller]
fn assert_reads(kind: &str, expected: [(u32, f64); 5]) {
    for (rate, expected) in expected {
        let read = read(&format!("{kind}-{rate}"));
        let error = (read - expected).abs();
        assert!(
            error < 0.01 * expected + 5.0,
            "{kind}-{rate}: {read} {expected}"
        );
    }
}

/// A packet costs 30 + 20 + 50 us before the program has it, and 100 us to read.
#[test]
fn a_host_whose_interrupts_come_first_delivers_nothing_from_10_000_packets_per_second_on() {
    assert_reads(
        "plain",
        [
            (4000, 4000.0),
            (6000, 4000.0),
            (8000, 2000.0),
            (10_000, 0.0),
            (14_000, 0.0),
        ],
    );
    assert!(host("plain-14000").interrupt_fraction > 0.999);
    // Protocol processing has 0.3 of the time at 50 us per packet; the queue before it drops the
    // rest.
    let dropped = host("plain-14000").drops["input_queue"] as f64;
    assert!((dropped / 16_000.0 - 1.0).abs() < 0.01, "{dropped}");
}

/// Expected: (0.97 - 70 us x rate) / 100 us. Interrupt moderation moves the onset to 13,857
/// packets/s.
#[test]
fn moderation_moves_the_cliff_and_leaves_it() {
    let left = |rate: f64| (0.97 - 70e-6 * rate) / 100e-6;
    assert_reads(
        "moderated",
        [
            (4000, 4000.0),
            (6000, left(6000.0)),
            (8000, left(8000.0)),
            (10_000, left(10_000.0)),
            (14_000, 0.0),
        ],
    );
}

/// The quota does not cover interrupts: (1 - 50 us x rate) / 150 us.
#[test]
fn a_quota_on_protocol_work_alone_only_softens_it() {
    let left = |rate: f64| (1.0 - 50e-6 * rate) / 150e-6;
    assert_reads(
        "quota",
        [
            (4000, 4000.0),
            (6000, left(6000.0)),
            (8000, left(8000.0)),
            (10_000, left(10_000.0)),
            (14_000, left(14_000.0)),
        ],
    );
}

/// Packet and read alternate, 70 us and 100 us, at any offered rate. With five packets in a row,
/// 450 us.
#[test]
fn polling_with_a_quota_delivers_what_the_host_can() {
    let all = 1.0 / 170e-6;
    assert_reads(
        "polled-1",
        [
            (4000, 4000.0),
            (6000, all),
            (8000, all),
            (10_000, all),
            (14_000, all),
        ],
    );
    assert!((read("polled-5-14000") * 450e-6 - 1.0).abs() < 0.01);
    assert!(read("polled-14000") < 200.0, "no quota is livelock again");
    assert_eq!(host("polled-1-14000").interrupts, 1);
}

/// The reader's CPU handles 10,000 packets/s; beyond that the other one falls behind.
#[test]
fn a_second_processor_doubles_the_peak_and_keeps_the_shape() {
    assert_reads(
        "two",
        [
            (4000, 4000.0),
            (6000, 6000.0),
            (8000, 8000.0),
            (10_000, 10_000.0),
            (14_000, 0.3 / 50e-6),
        ],
    );
}

#[test]
fn tcp_alone_has_no_livelock_and_in_a_flood_it_starves() {
    let rate = |series: &str| experiment().rate(series);
    // The window closes until the program has read.
    assert!(rate("tcp-plain") > 94.0);
    // A packet and a read alternate, in 170 us: 1448 bytes each.
    assert!((rate("tcp-polled-1") * 170.0 / 11_584.0 - 1.0).abs() < 0.01);
    assert!(rate("mixed-plain-2000") > 85.0 && read("mixed-plain-2000") < 500.0);
    assert!(rate("mixed-plain-14000") < 0.1);
    let flood = rate("mixed-polled-1-14000");
    assert!((0.5..2.0).contains(&flood), "{flood}");
}

/// Share of the datagrams that did not arrive, except those still in flight.
fn missing(series: &str) -> f64 {
    let record = experiment().record_of(series);
    let one = &record.datagrams[0];
    let on_the_way = 0.02915 * one.sent as f64 * 1e9 / record.duration_ns as f64;
    (one.sent as f64 - one.received as f64 - on_the_way).max(0.0) / one.sent as f64
}

/// A drop that costs more than a delivery sustains itself. The condition is that interrupts of all
/// packets and messages about all drops fill the CPU: from 4096 x 8 / 65.3 us = 502 Mbit/s on.
#[test]
fn the_receiver_of_2001_jumps_above_502_mbit_per_second_and_stays_there() {
    let lost = missing;
    assert!(lost("sox-650-undisturbed") < 0.001);
    assert!(lost("sox-450") < 0.1);
    for above in ["sox-528", "sox-560", "sox-650"] {
        assert!(lost(above) > 0.9, "{above}");
        assert!(host(above).interrupt_fraction > 0.9, "{above}");
    }
    let (below, above) = (lost("sox-490"), lost("sox-528"));
    assert!(below < 0.5 * above, "{below} {above}");
    // The published shares without loss come from top(1), for one CPU.
    let shares = host("sox-650-undisturbed");
    for (ours, published) in [
        (shares.user_fraction, 0.008),
        (shares.system_fraction, 0.44),
        (shares.interrupt_fraction, 0.334),
    ] {
        assert!((ours - published).abs() < 0.005, "{ours} {published}");
    }
}

/// One fitted number: a drop that costs between 33.6 and 45.3 us. It gives both directions, 3 to 4
/// % of 528 Mbit/s sustained and the sudden loss at 650. The rate after that is not reproduced.
#[test]
fn a_cheaper_drop_sustains_528_with_a_small_loss_and_still_jumps_at_650() {
    let lost = missing("sox-528-drop-35");
    assert!((0.03..0.04).contains(&lost), "{lost:.4}");
    let between = missing("sox-600-drop-35");
    assert!((0.05..0.2).contains(&between), "{between:.4}");
    let jumped = missing("sox-650-drop-35");
    assert!(jumped > 0.9, "published as 0.6 to 0.9: {jumped:.3}");
    let is_fitted = |series: &str| series.ends_with("drop-35");
    experiment().assert_fitted(is_fitted, &["receiver.cpu.per_drop"]);
}

#[test]
fn what_was_published_of_datagrams_stands_beside_them() {
    let experiment = experiment();
    experiment.assert_published_series_are_run();
    let line = "published (E23): 528 Mbit/s sent, 3 to 4 % lost; this run: 3.5 %";
    let text = experiment
        .series_text("sox-528-drop-35")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains(line), "{text}");
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
