//! A window swept over a path of 58 ms.

use std::sync::OnceLock;

use crate::{Experiment, assert_within};

const WINDOW_LIMITED: [&str; 4] = ["512K", "1M", "1166000", "1457500"];
const PLATEAU: [&str; 5] = ["1536K", "2M", "4M", "8M", "16M"];

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("shalunov-wan"))
}

#[test]
fn seattle_to_atlanta_limited_by_the_window_is_within_one_per_cent_and_nothing_is_fitted() {
    for window in WINDOW_LIMITED {
        assert_within(experiment(), &format!("pnw-{window}"), 0.01);
    }
}

/// The published rows seem to require 2 ms more than ping measured. The actual cause is slow start
/// from one segment, within the 20 s.
#[test]
fn two_milliseconds_of_host_latency_make_it_worse_by_three_per_cent() {
    for window in WINDOW_LIMITED {
        let with_latency = experiment().ratio(&format!("pnw-{window}-latency"));
        assert!((0.96..0.98).contains(&with_latency), "{with_latency:.3}");
    }
}

/// Class D: the height is fitted, one number per direction. The flatness is not.
#[test]
fn a_cost_per_packet_makes_a_plateau_that_no_window_moves() {
    for direction in ["pnw", "sox"] {
        for window in PLATEAU {
            let series = format!("{direction}-{window}-cpu");
            assert_within(experiment(), &series, 0.06);
            let first = experiment().rate(&format!("{direction}-1536K-cpu"));
            let change = experiment().rate(&series) / first;
            assert!((0.99..1.01).contains(&change), "{series}: {change:.3}");
        }
    }
}

/// One number, from the height of the plateau. The rows below it are limited by the window, with
/// the CPU model too. A writer that waits for a third of the buffer would be 4 to 12 % too slow
/// there.
#[test]
fn the_cost_that_makes_the_plateau_leaves_the_rows_limited_by_the_window_alone() {
    for window in WINDOW_LIMITED {
        assert_within(experiment(), &format!("pnw-{window}-cpu"), 0.015);
    }
}

/// Not reproduced: no published fact distinguishes the two directions. So the window-limited rows
/// of the other one stay unexplained.
#[test]
fn atlanta_to_seattle_limited_by_the_window_is_a_third_to_two_thirds_too_fast() {
    for window in WINDOW_LIMITED {
        let ratio = experiment().ratio(&format!("sox-{window}"));
        assert!((1.3..1.7).contains(&ratio), "{window}: {ratio:.3}");
        let there = experiment().rate(&format!("pnw-{window}"));
        assert_eq!(experiment().rate(&format!("sox-{window}")), there);
    }
}

/// One number, fitted to the first row. The next two are predicted, and the fourth is 1 % below the
/// published 106 to 158.
#[test]
fn a_receiver_whose_interrupts_starve_its_reader_gives_the_rows_limited_by_the_window() {
    let extremes = [(53.0, 53.7), (86.0, 94.1), (92.0, 93.4), (104.0, 158.0)];
    for (window, (low, high)) in WINDOW_LIMITED.into_iter().zip(extremes) {
        let rate = experiment().rate(&format!("sox-{window}-receiver"));
        assert!((low..=high).contains(&rate), "{window}: {rate:.1}");
    }
}

/// Not reproduced: above the window-limited rows, the rate with this receiver continues to rise,
/// but the published rates stay at 160. With the sender that causes that plateau, the receiver is
/// no longer starved.
#[test]
fn the_same_receiver_makes_no_plateau_and_does_not_combine_with_the_sender_that_does() {
    let ratios = PLATEAU.map(|window| experiment().ratio(&format!("sox-{window}-receiver")));
    assert!(
        ratios.windows(2).all(|pair| pair[1] > pair[0]),
        "{ratios:.2?}"
    );
    assert!(ratios[0] < 0.75 && ratios[4] > 1.2, "{ratios:.2?}");
    assert!(experiment().ratio("sox-512K-both") > 1.25);
    assert!(experiment().ratio("sox-1457500-both") > 1.1);
    assert_within(experiment(), "sox-2M-both", 0.05);
}

/// Three numbers for nine rows: seven are reproduced.
#[test]
fn a_sender_that_pays_for_acks_has_both_the_bursts_and_the_plateau() {
    for window in ["512K", "1M", "1166000", "4M", "8M", "16M"] {
        assert_within(experiment(), &format!("sox-{window}-host"), 0.04);
    }
    // Published as 106 to 158.
    let rate = experiment().rate("sox-1457500-host");
    assert!((104.0..158.0).contains(&rate), "{rate:.1}");
    // Not reproduced: the bursts last to 2 MiB.
    for (window, missed) in [("1536K", 0.69), ("2M", 0.79)] {
        let ratio = experiment().ratio(&format!("sox-{window}-host"));
        assert!((ratio - missed).abs() < 0.02, "{window}: {ratio:.3}");
    }
}

/// Not reproduced: while interrupts handle a burst, no ACK is sent either.
#[test]
fn a_cost_at_interrupts_delays_acks_as_well_and_is_too_slow() {
    for window in ["512K", "1457500", "2M"] {
        let ratio = experiment().ratio(&format!("sox-{window}-interrupts"));
        assert!(ratio < 0.86, "{window}: {ratio:.3}");
    }
    assert_within(experiment(), "sox-16M-interrupts", 0.03);
}

#[test]
fn what_is_fitted_is_named() {
    let experiment = experiment();
    experiment.assert_published_series_are_run();
    for series in &experiment.plan.series {
        let expected: &[&str] = match series.name.rsplit('-').next() {
            Some("latency") => &["receiver.link.delay"],
            Some("cpu") => &["sender.cpu.per_packet_sent"],
            Some("receiver") => &["receiver.cpu.per_packet_received"],
            Some("host") => &[
                "sender.cpu.per_packet_sent",
                "sender.cpu.per_ack_received",
                "receiver.cpu.per_packet_received",
            ],
            Some("interrupts") => &[
                "sender.cpu.per_packet_sent",
                "sender.cpu.per_ack_received",
                "receiver.cpu.per_packet_interrupt",
            ],
            Some("both") => &[
                "sender.cpu.per_packet_sent",
                "receiver.cpu.per_packet_received",
            ],
            _ => &[],
        };
        assert_eq!(series.fitted, expected, "{}", series.name);
    }
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
