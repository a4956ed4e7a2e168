//! Compares large windows with what was said of them in 1988 and 1990 (E68, E74).

use std::sync::OnceLock;

use crate::Experiment;

fn mbps(series: &str) -> Vec<f64> {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    let experiment = EXPERIMENT.get_or_init(|| Experiment::run("fat-pipe"));
    let record = experiment
        .records
        .iter()
        .find(|record| record.name == series);
    let flows = &record.expect("a series").flows;
    flows.iter().map(|flow| flow.goodput_bps / 1e6).collect()
}

#[test]
fn one_percent_of_loss_at_100_packets_leaves_less_than_the_mail_says() {
    for (kind, least, most) in [
        ("tahoe", 0.05, 0.07),
        ("reno", 0.065, 0.09),
        ("sack", 0.1, 0.125),
    ] {
        let of = |loss: &str| mbps(&format!("{kind}-{loss}"))[0];
        let left = of("1e-2") / of("0");
        assert!((least..most).contains(&left), "{kind}: {left:.3}");
        let at_a_tenth = of("1e-3") / of("0");
        assert!(at_a_tenth < 0.45, "{kind}: {at_a_tenth:.3}");
    }
}

#[test]
fn multiplicative_increase_fills_the_path_and_keeps_unequal_shares() {
    let jain = |flows: &[f64]| {
        let sum: f64 = flows.iter().sum();
        let squares: f64 = flows.iter().map(|mbps| mbps * mbps).sum();
        sum * sum / squares / flows.len() as f64
    };
    for queue in ["quarter", "whole"] {
        let [add, multiply] = ["add", "multiply"].map(|law| mbps(&format!("{law}-{queue}")));
        assert!(jain(&add) > 0.9, "{add:?}");
        assert!(jain(&multiply) < 0.6, "{multiply:?}");
        assert!(multiply.iter().sum::<f64>() > 118.0, "{multiply:?}");
    }
}
