//! Frame aggregation, ACK bursts and jitter.

use std::sync::OnceLock;

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("wifi"))
}

fn rate(series: &str) -> f64 {
    let rate = experiment().rate(series);
    println!("{series}: {rate:.1}");
    rate
}

fn retransmitted(series: &str) -> u64 {
    experiment().flow(series).retransmitted_segments
}

/// n segments of 1448 octets in frames of 1538 at 300 Mbit/s, and 200 us.
#[test]
fn throughput_is_the_arithmetic_of_the_group() {
    for packets in [1.0, 4.0, 16.0, 64.0] {
        let bits = packets * 1448.0 * 8.0;
        let law = bits / (packets * 1538.0 * 8.0 / 300.0 + 200.0);
        let ratio = rate(&format!("group-{packets}")) / law;
        assert!((ratio - 1.0).abs() < 0.001, "{packets}: {ratio:.4}");
    }
}

#[test]
fn disciplines_that_measure_time_bear_groups_and_one_that_counts_packets_does_not() {
    let tail_drop = rate("group-64");
    for discipline in ["codel", "fq-codel", "pie"] {
        assert!(rate(&format!("group-64-{discipline}")) > 0.97 * tail_drop);
    }
    assert!(rate("group-64-red") < 0.7 * tail_drop);
}

#[test]
fn acks_in_clumps_cost_a_sender_that_does_not_pace_more_than_one_that_does() {
    for control in ["cubic", "reno"] {
        let cost = |paced: &str| {
            let clumps = rate(&format!("clumps-{control}-{paced}"));
            1.0 - clumps / rate(&format!("smooth-{control}-{paced}"))
        };
        assert!(cost("paced") > 0.0, "{control}");
        assert!(cost("unpaced") > 1.4 * cost("paced"), "{control}");
    }
}

#[test]
fn an_ack_for_sixteen_segments_slows_growth_by_acks_and_not_by_bytes() {
    assert!(rate("thinned-acks") < 0.8 * rate("thinned-bytes"));
}

#[test]
fn jitter_ends_the_slow_start_of_hystart_and_not_of_its_successor() {
    assert!(rate("jitter-hystart") < 0.7 * rate("calm-hystart"));
    assert!(rate("jitter-hystart-pp") > 0.99 * rate("calm-hystart-pp"));
    for delay in ["calm", "jitter"] {
        let [without, with] = ["standard", "hystart-pp"].map(|kind| format!("{delay}-{kind}"));
        assert!(retransmitted(&with) < retransmitted(&without), "{delay}");
    }
}

#[test]
fn rack_retransmits_what_was_dropped_and_three_duplicate_acks_what_was_not() {
    let dropped = |series: &str| experiment().record_of(series).hops[0].drops["queue_full"];
    let [rack, old] = ["overtaking-rack", "overtaking-duplicates"];
    assert!(retransmitted(rack) < dropped(rack) + 20);
    assert_eq!(dropped(old), 0);
    assert!(retransmitted(old) > 20_000);
    assert!(rate(old) < 0.5 * rate(rack));
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
