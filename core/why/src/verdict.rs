//! What a connection is found to be limited by.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_flows::{Connection, Side};
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::View;
use crate::account::{self, Hearing, Span};
use crate::between::Between;
use crate::case::{Case, Other, rate};
use crate::rules::{Evidence, RULES, Rule};
use crate::trail::Trail;
use crate::words::{self, counted, verb};

/// What is less sure is a share of the time, but not called the cause: of such
/// answers few were right (docs/notes/why.md).
pub(crate) const SURE_ENOUGH: f64 = 0.7;

/// A verdict.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// By which rule.
    pub rule: &'static Rule,
    /// What was found, in a sentence.
    pub finding: String,
    /// Where in the capture it stands.
    pub evidence: Vec<Evidence>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// Whether it is worth saying however little time it took.
    pub is_remark: bool,
    /// Time of the connection that it took.
    pub time: Duration,
    /// The same as a share of the connection.
    pub share: f64,
    /// What it cost over the whole connection, as far as the capture shows what
    /// the path would carry.
    pub cost: Rate,
}

/// Why one direction of a connection was not faster.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The side that sent.
    pub sender: Side,
    /// Where the capture was taken.
    pub view: View,
    /// When the connection begins in the capture.
    pub start: Instant,
    /// The connection's time in the capture.
    pub run: Duration,
    /// Octets acknowledged.
    pub delivered: Bytes,
    /// Their rate over the run.
    pub rate: Rate,
    /// The best rate that was seen: what the path carries at least.
    pub reference: Rate,
    /// The least round trip of the path.
    pub round_trip: Duration,
    /// Verdicts: those that took time by what they took, then the others.
    pub verdicts: Vec<Verdict>,
    /// Time whose cause the capture does not show.
    pub unknown: Duration,
    /// The whole time in stretches of one cause each.
    pub spans: Vec<Span>,
    /// What another capture of the connection added, in a sentence.
    pub joined: Option<String>,
    /// All of it in whole sentences.
    pub paragraph: String,
}

impl Diagnosis {
    pub(crate) fn of(
        connection: &Connection,
        trail: &Trail,
        start: Instant,
        other: Option<Other<'_>>,
    ) -> Self {
        let case = Case::new(connection, trail, start, other);
        let (won, unknown, spans) = account::settle(&case, &hear(&case), RULES.len());
        let run = case.run.as_secs_f64().max(1e-9);
        let mut verdicts: Vec<Verdict> = RULES
            .into_iter()
            .zip(&won)
            .filter(|(_, won)| !won.is_nothing())
            .map(|(rule, won)| {
                let told = (rule.tell)(&case, won);
                let missed = case.capacity * won.time.as_secs_f64() - won.octets;
                Verdict {
                    rule,
                    finding: told.finding,
                    evidence: told.evidence,
                    confidence: won.sure(),
                    is_remark: won.remark.is_some(),
                    time: won.time,
                    share: won.time.as_secs_f64() / run,
                    cost: rate(missed.max(0.0) / run),
                }
            })
            .collect();
        verdicts.sort_by_key(|verdict| core::cmp::Reverse(verdict.time));
        let delivered: u64 = case.rounds.iter().map(|round| round.acked).sum();
        let mut diagnosis = Self {
            sender: trail.side,
            view: case.view,
            start,
            run: case.run,
            delivered: Bytes::new(delivered),
            rate: rate(case.mean_rate()),
            reference: rate(case.capacity),
            round_trip: case.base,
            verdicts,
            unknown,
            spans,
            joined: case.other.map(|other| joined(other.between)),
            paragraph: String::new(),
        };
        diagnosis.paragraph = words::paragraph(connection, &diagnosis);
        diagnosis
    }

    /// The verdict that took most of the time, if it took more than is unknown,
    /// and is sure enough to be called the cause.
    #[must_use]
    pub fn dominant(&self) -> Option<&Verdict> {
        let is_most = |first: &&Verdict| !first.time.is_zero() && first.time >= self.unknown;
        let first = self.verdicts.first().filter(is_most)?;
        (first.confidence >= SURE_ENOUGH).then_some(first)
    }

    /// What to look at first: a fault that was found for sure, or what took most
    /// of the time.
    #[must_use]
    pub fn headline(&self) -> Option<&Verdict> {
        let is_fault = |verdict: &&Verdict| {
            let is_seen = verdict.is_remark && verdict.confidence >= 0.85;
            let is_large = verdict.share >= 0.15 && verdict.confidence >= 0.9;
            verdict.rule.is_fault && (is_seen || is_large)
        };
        self.verdicts.iter().find(is_fault).or(self.dominant())
    }

    /// Shares of the time by cause, in a line.
    #[must_use]
    pub fn limited_by(&self) -> String {
        let run = self.run.as_secs_f64().max(1e-9);
        let mut parts: Vec<String> = self
            .verdicts
            .iter()
            .filter(|verdict| verdict.share >= 0.0005)
            .map(|verdict| format!("{} {}", verdict.rule.id, percent(verdict.share)))
            .collect();
        let unknown = self.unknown.as_secs_f64() / run;
        if unknown >= 0.0005 || parts.is_empty() {
            parts.push(format!("unknown {}", percent(unknown)));
        }
        parts.join(", ")
    }
}

/// What two captures know of the way between them.
fn joined(between: &Between) -> String {
    let (data, lost) = between.data();
    let (acks, lost_acks) = between.acknowledgments();
    let (forth, back) = between.queues();
    format!(
        "Seen in both captures: of {} with data {lost} {} lost between them, of {} {lost_acks}; \
         queues between them added up to {} to the data and up to {} to what came back.",
        counted(data, "packet"),
        verb(lost, "was", "were"),
        counted(acks, "acknowledgment"),
        human_duration(forth),
        human_duration(back),
    )
}

/// What every rule bids.
pub(crate) fn hear(case: &Case<'_>) -> Hearing {
    let mut hearing = Hearing::new(case);
    for (index, rule) in RULES.iter().enumerate() {
        hearing.call(index);
        (rule.judge)(case, &mut hearing);
    }
    hearing
}

/// A share as text.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 99.95 || (9.95..99.0).contains(&percent) {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// Octets, time and rate of a transfer in words.
pub(crate) fn transfer(diagnosis: &Diagnosis) -> String {
    format!(
        "{} in {}, {}",
        human_bytes(diagnosis.delivered),
        human_duration(diagnosis.run),
        human_rate(diagnosis.rate)
    )
}
