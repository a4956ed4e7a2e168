//! Many flows at once: common figures instead of a block for each.
//!
//! A hundred flows are shown as a sum, a spread and Jain's fairness index (Jain, Chiu, Hawe 1984,
//! equation 2), and a line for each table `[[flow]]` of the plan. Every single flow is in
//! `run.json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gigatcp_plan::record::{FlowRecord, combined_rate};
use gigatcp_theory::sample::Summary;
use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;

use crate::escape::terminal;
use crate::number::{counted, fixed, grouped, rate};
use crate::prose::wrap_hanging;

/// Maximum number of flows in a series that are shown one by one.
pub const MAX_SHOWN: usize = 4;

/// Maximum number of kinds of flows in a series that have a line each.
pub const MAX_KINDS: usize = 12;

/// Jain's fairness index of `shares`: (sum x)^2 / (n * sum x^2). 1 is fair, 1/n is one flow taking
/// all. `None` if all shares are zero.
pub fn fairness(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Flows of the same kind: their name, and their indices in the series.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kind<'a> {
    /// Name of the table of the plan, or of the only flow.
    pub name: &'a str,
    /// Indices, in order.
    pub places: Vec<usize>,
}

/// Kinds of flows, in the order of the first of each.
pub fn kinds(flows: &[FlowRecord]) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, flow) in flows.iter().enumerate() {
        let name = flow.group.as_deref().unwrap_or(&flow.name);
        let kind = *known.entry(name).or_insert(kinds.len());
        match kinds.get_mut(kind) {
            Some(kind) => kind.places.push(place),
            None => kinds.push(Kind {
                name,
                places: vec![place],
            }),
        }
    }
    kinds
}

/// Text for many flows: all together, then a line for each kind.
pub fn text(flows: &[FlowRecord]) -> String {
    let mut out = String::new();
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let total = |pick: fn(&FlowRecord) -> u64| grouped(flows.iter().map(pick).sum());
    let index = fairness(&goodputs).map_or_else(|| "-".to_owned(), |index| fixed(index, 3));
    let _ = writeln!(
        out,
        "\n{} flows, {} together, Jain's fairness index {index}",
        flows.len(),
        rate(combined_rate(flows.iter().map(FlowRecord::span))),
    );
    let kinds = kinds(flows);
    for kind in kinds.iter().take(MAX_KINDS) {
        let own: Vec<&FlowRecord> = kind.places.iter().map(|place| &flows[*place]).collect();
        let line = of_kind(kind.name, &own, kinds.len() > 1);
        out.push_str(&wrap_hanging(&terminal(&line), 0, 2));
    }
    if kinds.len() > MAX_KINDS {
        let more = counted((kinds.len() - MAX_KINDS) as u64, "more kind");
        let _ = writeln!(out, "{more} of flows: run.json has them");
    }
    let _ = writeln!(
        out,
        "{} segments sent, {} of them retransmissions; {}",
        total(|flow| flow.segments_sent),
        total(|flow| flow.retransmitted_segments),
        counted(flows.iter().map(|flow| flow.timeouts).sum(), "timeout"),
    );
    out
}

/// A line on flows of one kind.
fn of_kind(name: &str, flows: &[&FlowRecord], is_one_of_many: bool) -> String {
    let mut line = String::new();
    let all = combined_rate(flows.iter().map(|flow| flow.span()));
    if is_one_of_many {
        let _ = write!(line, "{name}");
        if flows.len() > 1 {
            let _ = write!(line, ", {} flows: {} together, ", flows.len(), rate(all));
        } else {
            line.push_str(": ");
        }
    }
    match Summary::of(flows.iter().map(|flow| flow.goodput_bps)) {
        Some(spread) if flows.len() > 1 => {
            let _ = write!(
                line,
                "each: median {}, lowest {}, highest {}",
                rate(spread.median),
                rate(spread.min),
                rate(spread.max),
            );
        }
        _ => line.push_str(&rate(all)),
    }
    let mut times: Vec<u64> = flows.iter().filter_map(|flow| flow.completion_ns).collect();
    times.sort_unstable();
    if let (Some(median), Some(most)) = (quantile(&times, 50), quantile(&times, 99)) {
        let _ = write!(
            line,
            "; {} of {} completed, in {median} (median), {most} (99 %)",
            times.len(),
            flows.len(),
        );
    }
    line
}

/// Given percentile of sorted times; `None` without times.
fn quantile(sorted: &[u64], percent: usize) -> Option<String> {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    let nanos = sorted.get(place)?;
    Some(human_duration(Duration::from_nanos(*nanos)).to_string())
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
