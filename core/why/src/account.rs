//! The account of time: every instant has one cause, or none is known.
//!
//! The time of a direction lies in slices, one for each state of each round.
//! Rules bid for slices with how sure they are; the surest has it, the earlier
//! in the registry where two are equally sure. A slice for which nobody bids
//! [`LEAST_SURE`] is unknown. So the times of all causes and the unknown add up
//! to the run exactly, and nothing is forced.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::View;
use crate::case::Case;
use crate::round::{Round, STATES, State};

/// Less sure than this is not said.
pub const LEAST_SURE: f64 = 0.6;

/// Bids for every slice.
pub(crate) struct Hearing {
    bids: Vec<[(f64, Option<usize>); STATES]>,
    remarks: Vec<(usize, f64)>,
    /// Rounds in which the capture lacks what the sender sent.
    blind: Vec<bool>,
    rule: usize,
}

impl Hearing {
    pub fn new(case: &Case<'_>) -> Self {
        // Near the sender nothing can have been lost before it passes.
        let is_blind = |round: &Round| case.view == View::Sender && round.gaps > 0;
        Self {
            bids: alloc::vec![[(0.0, None); STATES]; case.rounds.len()],
            remarks: Vec::new(),
            blind: case.rounds.iter().map(is_blind).collect(),
            rule: 0,
        }
    }

    /// The rule with this index is heard next.
    pub fn call(&mut self, rule: usize) {
        self.rule = rule;
    }

    /// Bids for what was spent in `state` in that round.
    pub fn bid(&mut self, round: usize, state: State, sure: f64) {
        // What is in flight is not known then.
        if self.blind[round] && matches!(state, State::Full | State::Slack) {
            return;
        }
        let slot = &mut self.bids[round][state as usize];
        if sure >= LEAST_SURE && sure > slot.0 {
            *slot = (sure.min(1.0), Some(self.rule));
        }
    }

    /// Says something that takes no time of its own.
    pub fn remark(&mut self, sure: f64) {
        if sure >= LEAST_SURE {
            self.remarks.push((self.rule, sure.min(1.0)));
        }
    }
}

/// A stretch with one cause.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// Where it begins.
    pub start: Instant,
    /// How long it lasts.
    pub length: Duration,
    /// Index of the rule in [`crate::RULES`]; none: unknown.
    pub rule: Option<usize>,
}

/// What a rule has been given.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Won {
    pub time: Duration,
    /// Sureness times seconds.
    weight: f64,
    pub remark: Option<f64>,
    /// Octets delivered in that time.
    pub octets: f64,
    /// The longest slice.
    pub round: usize,
    longest: Duration,
}

impl Won {
    pub fn sure(&self) -> f64 {
        let time = self.time.as_secs_f64();
        if time > 0.0 {
            self.weight / time
        } else {
            self.remark.unwrap_or_default()
        }
    }

    pub fn is_nothing(&self) -> bool {
        self.time.is_zero() && self.remark.is_none()
    }
}

/// Gives the slices away: what each rule has, what nobody has, and the spans.
pub(crate) fn settle(
    case: &Case<'_>,
    hearing: &Hearing,
    rules: usize,
) -> (Vec<Won>, Duration, Vec<Span>) {
    let mut spans: Vec<Span> = Vec::new();
    let (won, unknown) = settle_each(case, hearing, rules, |slice| match spans.last_mut() {
        Some(last) if last.rule == slice.rule => last.length += slice.length,
        _ => spans.push(slice),
    });
    (won, unknown, spans)
}

/// The same, slice by slice for whoever wants spans of them.
#[inline]
pub(crate) fn settle_each(
    case: &Case<'_>,
    hearing: &Hearing,
    rules: usize,
    mut each: impl FnMut(Span),
) -> (Vec<Won>, Duration) {
    let mut won = alloc::vec![Won::default(); rules];
    let mut unknown = Duration::ZERO;
    for (index, round) in case.rounds.iter().enumerate() {
        let mut at = round.start;
        for state in State::ALL {
            let time = round.spent_in(state);
            if time.is_zero() {
                continue;
            }
            let (sure, rule) = hearing.bids[index][state as usize];
            match rule {
                Some(rule) => {
                    let won = &mut won[rule];
                    won.time += time;
                    won.weight += sure * time.as_secs_f64();
                    won.octets += case.rate(index) * time.as_secs_f64();
                    if time > won.longest {
                        (won.longest, won.round) = (time, index);
                    }
                }
                None => unknown += time,
            }
            each(Span {
                start: at,
                length: time,
                rule,
            });
            at += time;
        }
    }
    for &(rule, sure) in &hearing.remarks {
        won[rule].remark = Some(won[rule].remark.unwrap_or(0.0).max(sure));
    }
    (won, unknown)
}
