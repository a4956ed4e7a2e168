//! Connections that are only counted: their number, bytes, and most frequent limits.

use gigatcp_analyze::Error;
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration};
use gigatcp_why::CAUSES;

use super::answer::{list, share};
use super::order::Place;
use super::{AnsweredCapture, Diagnosed};
use crate::prose::{counted, wrap_hanging};

/// Maximum number of counted connections that are diagnosed, the largest ones.
pub const DIAGNOSED: usize = 1_000;

/// Maximum number of causes named.
const NAMED: usize = 3;

/// Sums over many connections.
#[derive(Default, Debug)]
struct Totals {
    bytes: u64,
    time: Duration,
    /// Time by cause, in the order of [`CAUSES`]; the last entry is unknown.
    causes: Vec<Duration>,
}

impl Totals {
    fn of(captures: &[&AnsweredCapture], places: &[Place]) -> Result<Self, Error> {
        let mut totals = Self {
            bytes: places.iter().map(|place| place.bytes).sum(),
            causes: vec![Duration::ZERO; CAUSES.len() + 1],
            ..Self::default()
        };
        let diagnosed = &places[..places.len().min(DIAGNOSED)];
        for diagnosed in Diagnosed::all(captures, &[], diagnosed) {
            let one = diagnosed?.diagnosis;
            totals.time += one.duration;
            totals.causes[CAUSES.len()] += one.unknown;
            for verdict in &one.verdicts {
                let cause = CAUSES.iter().position(|cause| cause.id == verdict.cause.id);
                totals.causes[cause.unwrap_or(CAUSES.len())] += verdict.time;
            }
        }
        Ok(totals)
    }

    /// Causes of most of the time.
    fn limited_by(&self) -> String {
        let names = CAUSES.iter().map(|cause| cause.id).chain(["unknown"]);
        let mut shares: Vec<(&str, f64)> = names
            .zip(&self.causes)
            .map(|(name, time)| (name, share(*time, self.time)))
            .filter(|(_, share)| *share >= 0.05)
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares.truncate(NAMED);
        list(shares.into_iter())
    }
}

/// A line about connections without an answer; empty if there are none. `what` names one of them
/// and what follows, `hint` the option that shows them.
pub fn line(
    captures: &[&AnsweredCapture],
    places: &[Place],
    (what, which): (&str, &str),
    hint: &str,
) -> Result<String, Error> {
    if places.is_empty() {
        return Ok(String::new());
    }
    let totals = Totals::of(captures, places)?;
    let count = counted(places.len() as u64, what);
    let limited = totals.limited_by();
    let bytes = human_bytes(Bytes::new(totals.bytes));
    let mut text = format!("{count}{which} not shown ({bytes}");
    if !limited.is_empty() {
        let whose = match places.len() {
            1 => String::new(),
            count if count <= DIAGNOSED => " in all".into(),
            _ => format!(" in all; of the {DIAGNOSED} largest"),
        };
        let time = human_duration(totals.time);
        text.push_str(&format!("{whose}: {limited} of {time}"));
    }
    text.push_str(&format!("); {hint}."));
    Ok(wrap_hanging(&text, 0, 2))
}
