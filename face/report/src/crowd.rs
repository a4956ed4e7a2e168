//! Many flows at once: what they have in common instead of a block for each.
//!
//! A hundred flows are not read one by one. Here they are a sum, a spread and
//! Jain's fairness index (Jain, Chiu, Hawe 1984, equation 2); every single one
//! is in `run.json`.

use std::fmt::Write as _;

use gigatcp_record::FlowRecord;

use crate::group::Spread;
use crate::number::{counted, fixed, grouped, rate};

/// More flows than this in one series are shown as a crowd.
pub const MOST_SHOWN: usize = 4;

/// Jain's fairness index of `shares`: (sum x)^2 / (n * sum x^2); 1 is fair,
/// 1/n is one taking all. Absent when nobody has anything.
#[must_use]
pub fn fairness(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The flows of a series as a crowd.
#[must_use]
pub fn text(flows: &[FlowRecord]) -> String {
    let mut out = String::new();
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let total = |pick: fn(&FlowRecord) -> u64| grouped(flows.iter().map(pick).sum());
    let index = fairness(&goodputs).map_or_else(|| "-".to_owned(), |index| fixed(index, 3));
    let _ = writeln!(
        out,
        "\n{} flows, {} together, Jain's fairness index {index}",
        flows.len(),
        rate(goodputs.iter().sum()),
    );
    if let Some(spread) = Spread::of(goodputs) {
        let _ = writeln!(
            out,
            "each: median {}, lowest {}, highest {}",
            rate(spread.median),
            rate(spread.min),
            rate(spread.max),
        );
    }
    let _ = writeln!(
        out,
        "{} segments sent, {} of them again; {}",
        total(|flow| flow.segments_sent),
        total(|flow| flow.retransmitted_segments),
        counted(flows.iter().map(|flow| flow.timeouts).sum(), "timeout"),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_one_for_equals_and_one_nth_for_a_single_taker() {
        assert_eq!(fairness(&[5.0; 10]), Some(1.0));
        assert_eq!(fairness(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(fairness(&[0.0, 0.0]), None);
        assert_eq!(fairness(&[]), None);
    }
}
