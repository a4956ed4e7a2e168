//! Contradictions of a diagnosis: two of its numbers that exclude each other.
//!
//! A diagnosis that breaks a rule is not printed; its answer is unsure and says what contradicts.
//! Tests, fuzzing and grading assert that no rule is broken.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Rate};

use crate::CapturePoint;
use crate::causes::CAUSES;
use crate::verdict::{Diagnosis, MIN_CONFIDENCE, Verdict};

/// A rule, and what breaks it in a diagnosis.
pub struct Rule {
    /// Its name in records.
    pub id: &'static str,
    /// The statement that always holds.
    pub text: &'static str,
    breaks: fn(&Diagnosis) -> Option<String>,
}

impl core::fmt::Debug for Rule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.id)
    }
}

/// Declares rules: id, text, and the test that returns what breaks it.
macro_rules! rules {
    ($($id:literal $text:literal $breaks:expr;)*) => {
        /// Every rule.
        pub const RULES: &[Rule] = &[$(Rule { id: $id, text: $text, breaks: $breaks },)*];
    };
}

rules! {
    "times-add-up" "the times of all causes and of unknown add up to the duration"
        |d| differs("causes", sum(d.verdicts.iter().map(|verdict| verdict.time)) + d.unknown, d.duration);
    "spans-add-up" "the intervals add up to the duration"
        |d| differs("intervals", sum(d.spans.iter().map(|span| span.length)), d.duration);
    "spans-in-order" "intervals follow each other without a gap"
        |d| d.spans.windows(2).find(|pair| pair[0].start + pair[0].length > pair[1].start)
            .map(|pair| format!("an interval ends after {:?}, where the next begins", pair[1].start));
    "spans-of-causes" "every interval has a known cause, or none"
        |d| d.spans.iter().filter_map(|span| span.cause).find(|cause| *cause >= CAUSES.len())
            .map(|cause| format!("cause {cause} of {}", CAUSES.len()));
    "time-within" "no cause takes longer than the connection"
        |d| d.verdicts.iter().find(|verdict| verdict.time > d.duration).map(of);
    "share-of-time" "a share is the time of its cause over the duration"
        |d| d.verdicts.iter().find(|verdict| {
            let share = verdict.time.as_secs_f64() / d.duration.as_secs_f64().max(1e-9);
            (share - verdict.share).abs() > 1e-6
        }).map(of);
    "shares-sum" "shares add up to at most the whole"
        |d| { let sum: f64 = d.verdicts.iter().map(|verdict| verdict.share).sum(); (sum > 1.0 + 1e-6).then(|| format!("{sum:.3}")) };
    "no-cause-twice" "each cause has one verdict"
        |d| d.verdicts.iter().enumerate()
            .find(|(index, verdict)| d.verdicts[..*index].iter().any(|earlier| earlier.cause.id == verdict.cause.id))
            .map(|(_, verdict)| of(verdict));
    "longest-first" "verdicts are in the order of their time"
        |d| d.verdicts.windows(2).find(|pair| pair[0].time < pair[1].time).map(|pair| of(&pair[1]));
    "time-or-note" "a cause without time is a note"
        |d| d.verdicts.iter().find(|verdict| verdict.time.is_zero() && !verdict.is_note).map(of);
    "confidence-is-one" "a confidence is between 0 and 0.99"
        |d| d.verdicts.iter().find(|verdict| !(0.0..=0.99).contains(&verdict.confidence)).map(of);
    "probability-is-one" "a probability is between 0 and 1"
        |d| d.verdicts.iter().find(|verdict| !(0.0..=1.0 + 1e-9).contains(&verdict.probability)).map(of);
    "rate-of-bytes" "the rate is the bytes over the duration"
        |d| {
            let bits = d.delivered.as_u64() as f64 * 8.0;
            let seconds = d.duration.as_secs_f64();
            let rate = d.throughput.as_bps() as f64;
            (rate > bits / seconds.max(1e-9) * 1.001 + 1.0).then(|| exceeds("rate", d.throughput, Rate::from_bps((bits / seconds.max(1e-9)) as u64)))
        };
    "no-rate-without-time" "no rate follows from a duration of zero"
        |d| (d.duration.is_zero() && d.throughput.as_bps() > 0).then(|| format!("{:?} in no time", d.throughput));
    "no-rate-without-bytes" "no rate follows from zero bytes"
        |d| (d.delivered.as_u64() == 0 && d.throughput.as_bps() > 0).then(|| format!("{:?} of no bytes", d.throughput));
    "achieved-within-capacity" "the path carries at least what was achieved"
        |d| (d.capacity.rate() < d.throughput).then(|| exceeds("rate", d.throughput, d.capacity.rate()));
    "cost-within-capacity" "no cost exceeds what the path carries"
        |d| d.verdicts.iter().find(|verdict| verdict.cost.rate.as_bps() > carries(d)).map(of);
    "cost-is-a-gain" "what is achieved and a cost together are at most what the path carries"
        |d| d.verdicts.iter().find(|verdict| {
            let both = d.throughput.as_bps().saturating_add(verdict.cost.rate.as_bps());
            both as f64 > carries(d) as f64 * 1.01 + 8.0
        }).map(of);
    "full-path-costs-nothing" "a saturated path has no cost"
        |d| d.verdicts.iter().find(|verdict| verdict.cause.is_path && verdict.cost.rate.as_bps() > 0).map(of);
    "note-costs-nothing" "a cause without time has no cost"
        |d| d.verdicts.iter().find(|verdict| verdict.time.is_zero() && verdict.cost.rate.as_bps() > 0).map(of);
    "next-above-achieved" "the next limit is above what was achieved"
        |d| d.next.filter(|next| next.rate < d.throughput).map(|next| exceeds("achieved", d.throughput, next.rate));
    "next-is-another" "the next limit is another cause than the first"
        |d| { let first = d.primary()?; d.next.filter(|next| next.cause.id == first.cause.id).map(|_| of(first)) };
    "window-is-not-next" "after a window no window is next"
        |d| { let first = d.primary()?; d.next.filter(|next| first.cause.is_window && next.cause.is_window).map(|_| of(first)) };
    "headline-is-a-verdict" "the headline has time, or is a note"
        |d| d.headline().filter(|first| first.time.is_zero() && !first.is_note).map(of);
    "headline-is-sure" "a sure headline has the confidence for it"
        |d| d.headline().filter(|first| !d.is_unsure() && first.confidence < MIN_CONFIDENCE && !first.is_note).map(of);
    "decided-has-no-cause" "an outcome decided by rule names no cause"
        |d| d.headline().filter(|_| !d.outcome.may_have_cause()).map(of);
    "alternative-is-another" "the alternative is another cause than the first"
        |d| { let first = d.primary()?; d.alternative.filter(|second| second.id == first.cause.id).map(|_| of(first)) };
    "cpu-needs-counters" "a CPU is told from counters only"
        |d| d.verdicts.iter().find(|verdict| d.capture_point != CapturePoint::Counters && verdict.cause.id.ends_with("-cpu-limited")).map(of);
    "local-queue-at-sender" "a transmit queue is told at the sender only"
        |d| d.verdicts.iter().find(|verdict| {
            let is_seen = matches!(d.capture_point, CapturePoint::Sender | CapturePoint::Counters);
            verdict.cause.id == "local-queue" && !is_seen && !verdict.time.is_zero()
        }).map(of);
    "fix-for-a-cause" "every verdict with time says what to change, or that nothing is to be changed"
        |d| d.verdicts.iter().find(|verdict| verdict.finding.is_empty()).map(of);
}

impl Diagnosis {
    /// Contradictions within this diagnosis: one text for each broken rule.
    #[must_use]
    pub fn contradictions(&self) -> Vec<String> {
        let broken = RULES.iter().filter_map(|rule| {
            let found = (rule.breaks)(self)?;
            Some(format!("{}: {found}", rule.id))
        });
        broken.collect()
    }

    /// The first contradiction, if there is any.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        self.contradictions().into_iter().next()
    }
}

/// Largest rate that the path is known to carry: its capacity, or the next limit.
fn carries(d: &Diagnosis) -> u64 {
    let next = d.next.map_or(0, |next| next.rate.as_bps());
    d.capacity.rate().as_bps().max(next)
}

fn of(verdict: &Verdict) -> String {
    format!(
        "{}, {:?}, cost {:?}, confidence {:.2}",
        verdict.cause.id, verdict.time, verdict.cost.rate, verdict.confidence
    )
}

fn sum(times: impl Iterator<Item = Duration>) -> Duration {
    times.fold(Duration::ZERO, |sum, time| sum + time)
}

fn differs(what: &str, sum: Duration, whole: Duration) -> Option<String> {
    (sum != whole).then(|| format!("{what}: {sum:?} of {whole:?}"))
}

fn exceeds(what: &str, rate: Rate, bound: Rate) -> String {
    format!("{what} {rate:?} exceeds {bound:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_unique_ids_and_texts() {
        for (index, rule) in RULES.iter().enumerate() {
            let others = &RULES[..index];
            assert!(
                others
                    .iter()
                    .all(|earlier| earlier.id != rule.id && earlier.text != rule.text)
            );
        }
        assert!(RULES.len() >= 25);
    }
}
