//! One per cent of random loss on a satellite channel.

use std::sync::OnceLock;

use crate::{Experiment, assert_within};

/// What TCP delivers at most, Mbit/s: 216 of 256 octets of 40 kbit/s.
const CHANNEL: f64 = 0.04 * 216.0 / 256.0;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("satnet"))
}

/// Share of the channel.
fn share(series: &str) -> f64 {
    let share = experiment().rate(series) / CHANNEL;
    println!("{series}: {share:.3}");
    share
}

#[test]
fn a_tcp_without_congestion_control_gets_56_per_cent_of_the_channel() {
    assert_within(experiment(), "vanilla", 0.10);
    // Too fast, and not too slow: a window that opens in steps of another MSS
    // than that of the segments made it too slow once.
    assert!(experiment().ratio("vanilla") > 1.0);
}

/// Not a success: 49 % were published. Halving the window for each loss leaves
/// what the law of the square root says, 0.31 of this channel at most.
#[test]
fn with_congestion_control_it_is_a_third_at_most_and_not_half() {
    let timer_only = share("with-control");
    assert!((0.20..0.27).contains(&timer_only));
    // Mathis and others 1997: sqrt(3/2p) packets per round trip, of 40.
    let law = (1.5_f64 / 0.01).sqrt() / 40.0;
    let repaired = share("with-control-fast-retransmit") / law;
    assert!((0.9..1.05).contains(&repaired), "{repaired:.3} of the law");
}

/// "A 1% loss rate would translate into a 1% throughput effect", with a window of
/// twice the pipe: to be tested, and false of that congestion control.
#[test]
fn a_large_receive_window_changes_nothing_for_a_window_that_loss_keeps_small() {
    for (large, small) in [
        ("large-window", "with-control"),
        (
            "large-window-fast-retransmit",
            "with-control-fast-retransmit",
        ),
    ] {
        let change = share(large) / share(small);
        assert!((0.95..1.05).contains(&change), "{change:.3}");
    }
    let today = share("large-window-today");
    assert!((0.4..0.6).contains(&today));
}

/// True of a sender that knows its pipe and repairs as today's do, but with four
/// pipes of window: a hole takes longer than one round trip to fill.
#[test]
fn one_per_cent_of_loss_costs_two_where_the_pipe_is_known_and_the_window_holds_four() {
    let twice = share("large-window-known-pipe");
    assert!((0.78..0.85).contains(&twice));
    let four_times = share("larger-window-known-pipe");
    assert!((0.97..0.99).contains(&four_times));
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
    experiment().assert_published_series_are_run();
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
