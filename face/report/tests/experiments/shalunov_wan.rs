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

/// The published rows seem to ask for 2 ms more than ping measured; slow start
/// from one segment, inside the 20 s, is what they are.
#[test]
fn two_milliseconds_of_host_latency_make_it_worse_by_three_per_cent() {
    for window in WINDOW_LIMITED {
        let with_latency = experiment().ratio(&format!("pnw-{window}-latency"));
        assert!((0.96..0.98).contains(&with_latency), "{with_latency:.3}");
    }
}

/// Class D: the height is fitted, one number per direction; that it is flat is
/// not.
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

/// Not a success: nothing published tells the two directions apart, so the rows
/// of the other one, limited by the window, stay unexplained.
#[test]
fn atlanta_to_seattle_limited_by_the_window_is_a_third_to_two_thirds_too_fast() {
    for window in WINDOW_LIMITED {
        let ratio = experiment().ratio(&format!("sox-{window}"));
        assert!((1.3..1.7).contains(&ratio), "{window}: {ratio:.3}");
        let there = experiment().rate(&format!("pnw-{window}"));
        assert_eq!(experiment().rate(&format!("sox-{window}")), there);
    }
}

#[test]
fn what_is_fitted_is_named() {
    let experiment = experiment();
    experiment.assert_published_series_are_run();
    for series in &experiment.plan.series {
        let expected: &[&str] = match series.name.rsplit('-').next() {
            Some("latency") => &["receiver.link.delay"],
            Some("cpu") => &["sender.cpu.per_packet_sent"],
            _ => &[],
        };
        assert_eq!(series.fitted, expected, "{}", series.name);
    }
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
