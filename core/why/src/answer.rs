//! The answer for one connection: what terminal, page, JSON, Python and tester print.
//!
//! First a sentence; then what one would gain, the evidence, the fix, the shares of other causes,
//! and notes. Renderers lay it out and change no word of it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::grammar::{human_duration, human_rate};
use gigatcp_units::{Duration, Rate};

use crate::causes::{Cause, Evidence, counted};
use crate::icmp_errors::IcmpErrors;
use crate::limits::Limit;
use crate::measures::CapacitySource;
use crate::next_limit::NextLimit;
use crate::outcome::Outcome;
use crate::verdict::{Diagnosis, MIN_CONFIDENCE, Shared, Verdict, percent};

/// Minimum share of the time for another cause to be listed.
const MIN_SHARE: f64 = 0.05;

/// Answer for one connection.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The first line.
    pub sentence: String,
    /// Cause that it names; `None` if a rule decided otherwise, or most of the time is unknown.
    pub cause: Option<&'static Cause>,
    /// Second cause of an unsure answer.
    pub alternative: Option<&'static Cause>,
    /// Probability that the cause is correct, 0 to 1.
    pub confidence: Option<f64>,
    /// Share of the time that the cause took; zero for a fault that took none.
    pub share: Option<f64>,
    /// Whether the sentence names no single cause.
    pub is_unsure: bool,
    /// Whether nothing that a host or its operator can change limited it; `None` if unsure.
    pub is_healthy: Option<bool>,
    /// Rate that the connection would reach without the cause; `None` if that is not known.
    pub gain: Option<Gain>,
    /// The gain in words, after "Could be".
    pub could_be: String,
    /// From the trigger to the effect, in sentences, if TCP's reaction took the time.
    pub chain: Vec<String>,
    /// Facts in the capture, the most telling first.
    pub evidence: Vec<Evidence>,
    /// The change; `None` if unsure, or if nothing is to be changed.
    pub fix: Option<String>,
    /// Known limits, the lowest first: of the cause, and those above it.
    pub limits: Vec<Limit>,
    /// Causes other than the one in the sentence, with their shares of the time; unknown is last.
    pub shares: Vec<(&'static str, f64)>,
    /// Certain faults that took no time, and ICMP errors, each as a sentence.
    pub notes: Vec<String>,
    /// Losses and queues between two captures of the connection.
    pub between: Option<String>,
}

/// A rate that a connection would reach without its cause.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// Rate of the payload.
    pub rate: Rate,
    /// That over the achieved rate.
    pub times: f64,
    /// Whether the capture does not show how much more the path carries.
    pub is_lower_bound: bool,
}

impl Diagnosis {
    /// Answer for the connection.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let named = self.headline();
        let shown = named.or_else(|| self.most_of_known());
        let sure = named.filter(|first| !self.is_unsure() || first.is_certain_note());
        let is_unsure = self.is_unsure() && sure.is_none();
        let gain = match self.outcome {
            Outcome::NameLookup { waited, took } => self.gain_without(waited, took),
            _ => sure.and_then(|first| self.gain(first)),
        };
        let contradictions = self.contradictions();
        if let Some(first) = contradictions.first() {
            return self.contradicting(first);
        }
        Answer {
            sentence: self.sentence(),
            cause: named.map(|first| first.cause),
            alternative: self.alternative.filter(|_| is_unsure),
            confidence: named.map(|first| first.confidence),
            share: named.map(|first| first.share),
            is_unsure,
            is_healthy: self.is_healthy(sure),
            could_be: self.could_be(sure, gain),
            gain,
            chain: sure.map_or_else(Vec::new, |_| self.chain.clone()),
            evidence: shown.map_or_else(Vec::new, evidence),
            fix: (sure.and_then(|first| self.fix_of(first)).cloned())
                .or_else(|| self.outcome.fix()),
            limits: self.limits(sure),
            shares: self.shares(named),
            notes: self.notes(named, sure),
            between: self.joined.clone(),
        }
    }

    /// The change that removes a cause; `None` if the cause is unsure, if a rule decided the outcome,
    /// or if nothing is to be changed.
    #[must_use]
    pub fn fix_of<'a>(&self, verdict: &'a Verdict) -> Option<&'a String> {
        let is_sure = self.outcome.may_have_cause() && verdict.confidence >= MIN_CONFIDENCE;
        Some(&verdict.fix).filter(|fix| is_sure && !fix.is_empty())
    }

    /// Answer of a diagnosis that contradicts itself: what contradicts, and no cause.
    fn contradicting(&self, contradiction: &str) -> Answer {
        Answer {
            sentence: format!("Unsure: the findings contradict each other ({contradiction})."),
            cause: None,
            alternative: None,
            confidence: None,
            share: None,
            is_unsure: true,
            is_healthy: None,
            gain: None,
            could_be: format!("unknown: {} achieved", human_rate(self.throughput)),
            chain: Vec::new(),
            evidence: Vec::new(),
            fix: None,
            limits: Vec::new(),
            shares: self.shares(None),
            notes: Vec::new(),
            between: self.joined.clone(),
        }
    }

    /// The verdict with most of the known time.
    fn most_of_known(&self) -> Option<&Verdict> {
        let largest = self.verdicts.first();
        largest.filter(|verdict| !verdict.time.is_zero() && self.outcome == Outcome::Limited)
    }

    /// Whether no host or operator could have made it faster. A reset in mid-transfer may have been
    /// wished or not: with it, nothing is called healthy.
    fn is_healthy(&self, sure: Option<&Verdict>) -> Option<bool> {
        let is_without_fault = || {
            let is_path = sure?.cause.is_path;
            Some(is_path && !self.verdicts.iter().any(|verdict| verdict.is_note))
        };
        let is_healthy = self.outcome.healthy().or_else(is_without_fault)?;
        (!is_healthy || self.cut.is_none()).then_some(is_healthy)
    }

    /// Rate without a cause: up to the next limit. `None` for a path that is full, or if no more is
    /// known to be possible.
    fn gain(&self, first: &Verdict) -> Option<Gain> {
        let is_path = first.cause.is_path;
        let achieved = self.throughput.as_bps();
        let without = achieved.saturating_add(first.cost.rate.as_bps());
        let next = self.next.map(|next| next.rate.as_bps());
        let rate = next.map_or(without, |next| without.min(next.max(achieved)));
        let times = rate as f64 / achieved.max(1) as f64;
        let is_more = achieved > 0 && times >= 1.02 && !first.time.is_zero();
        (is_more && !is_path).then_some(Gain {
            rate: Rate::from_bps(rate),
            times,
            is_lower_bound: first.cost.at_least,
        })
    }

    /// Rate of the connection itself, over that with the lookup before it.
    fn gain_without(&self, waited: Duration, took: Duration) -> Option<Gain> {
        let seconds = took.as_secs_f64().max(1e-9);
        let times = 1.0 + waited.as_secs_f64() / seconds;
        let bits = self.delivered.as_u64() as f64 * 8.0;
        let rate = Rate::from_bps((bits / seconds) as u64);
        (rate.as_bps() > 0).then_some(Gain {
            rate,
            times,
            is_lower_bound: false,
        })
    }

    fn could_be(&self, sure: Option<&Verdict>, gain: Option<Gain>) -> String {
        let achieved = if self.duration.is_zero() {
            String::from("no rate: all packets have the same time")
        } else {
            format!("{} achieved", human_rate(self.throughput))
        };
        if let (Outcome::NameLookup { .. }, Some(gain)) = (self.outcome, gain) {
            let with = gain.rate.as_bps() as f64 / gain.times;
            let with = human_rate(Rate::from_bps(with as u64));
            let rate = human_rate(gain.rate);
            return format!(
                "{rate} ({} times): {with} with the lookup",
                times(gain.times)
            );
        }
        let Some(first) = sure else {
            return match self.outcome.healthy() {
                Some(_) => achieved,
                None => format!("unknown: {achieved}"),
            };
        };
        if first.cause.is_path {
            return self.of_full_path(first, &achieved);
        }
        let next = self.next.map_or_else(String::new, next_in_words);
        let Some(gain) = gain else {
            return format!("unknown: {achieved}{next}");
        };
        let bound = if gain.is_lower_bound { "at least " } else { "" };
        let why = if gain.is_lower_bound && next.is_empty() {
            "; it is not known what the path carries"
        } else {
            ""
        };
        format!(
            "{bound}{} ({} times): {achieved}{next}{why}",
            human_rate(gain.rate),
            times(gain.times)
        )
    }

    /// A path carries no more while it is full; for the rest of the time, no more than its rate is known.
    fn of_full_path(&self, first: &Verdict, achieved: &str) -> String {
        /// Setup and slow start are the rest of the time of a transfer at full rate.
        const WHOLE: f64 = 0.95;
        if first.cause.id == "cross-traffic" && self.capacity.source == CapacitySource::PacketTrains
        {
            let rate = human_rate(self.capacity.rate());
            return format!("up to {rate} without the other traffic: {achieved}");
        }
        if first.share >= WHOLE {
            return format!("no more: the path was full; {achieved}");
        }
        let share = first.share * 100.0;
        let (rate, is_least) = (self.capacity.rate(), self.capacity.is_lower_bound());
        if is_least || rate <= self.throughput {
            return format!(
                "no more while the path was full, {share:.0} % of the time; {achieved}"
            );
        }
        format!(
            "at most {}: {achieved}; the path was full for {share:.0} % of the time",
            human_rate(rate)
        )
    }

    fn shared_in_words(&self, shared: Shared) -> String {
        let all = self
            .throughput
            .as_bps()
            .saturating_add(shared.rate.as_bps());
        format!(
            "{} between these hosts carried {} meanwhile: {} with this one",
            counted(shared.connections, "other connection"),
            human_rate(shared.rate),
            human_rate(Rate::from_bps(all))
        )
    }

    fn limits(&self, sure: Option<&Verdict>) -> Vec<Limit> {
        let own = sure
            .filter(|first| !first.time.is_zero())
            .map(|first| Limit {
                cause: first.cause,
                rate: self.throughput,
                is_lower_bound: false,
                evidence: first.finding.clone(),
            });
        own.into_iter().chain(self.limits.iter().cloned()).collect()
    }

    fn shares(&self, first: Option<&Verdict>) -> Vec<(&'static str, f64)> {
        // That sentence's time begins before the connection.
        if matches!(self.outcome, Outcome::NameLookup { .. }) {
            return Vec::new();
        }
        let named = first.map(|verdict| verdict.cause.id);
        let unknown = self.unknown.as_secs_f64() / self.duration.as_secs_f64().max(1e-9);
        let verdicts = self.verdicts.iter();
        verdicts
            .filter(|verdict| Some(verdict.cause.id) != named)
            .map(|verdict| (verdict.cause.id, verdict.share))
            .chain([("unknown", unknown)])
            .filter(|(_, share)| *share >= MIN_SHARE)
            .collect()
    }

    fn notes(&self, first: Option<&Verdict>, sure: Option<&Verdict>) -> Vec<String> {
        let named = first.map(|verdict| verdict.cause.id);
        let has_chain = sure.is_some() && !self.chain.is_empty();
        let is_note = |verdict: &&Verdict| {
            let is_said = has_chain && verdict.cause.is_reaction;
            let is_other = Some(verdict.cause.id) != named && !is_said;
            verdict.is_note && verdict.time.is_zero() && is_other
        };
        let in_words = |verdict: &Verdict| {
            format!(
                "{}: {} (confidence {:.2})",
                verdict.cause.id,
                verdict.finding.trim_end_matches('.'),
                verdict.confidence
            )
        };
        let verdicts = self.verdicts.iter().filter(is_note).map(in_words);
        let errors = self.icmp_errors.iter().map(IcmpErrors::in_words);
        let shared = self
            .shared
            .filter(|_| first.is_some_and(is_of_path))
            .map(|shared| self.shared_in_words(shared));
        let against = first
            .zip(self.against)
            .and_then(|(first, against)| against_in_words(first.cause, against));
        let is_led = matches!(self.outcome, Outcome::NameLookup { .. });
        let lookup = self.lookup.filter(|_| !is_led).map(|waited| {
            let waited = human_duration(waited);
            format!("The client had waited {waited} for the address of the server's name")
        });
        let first = lookup.into_iter().chain(shared).chain(against);
        first.chain(verdicts).chain(errors).collect()
    }
}

/// Data and the ACKs of data in the other direction share a queue, and one waits behind the other.
fn against_in_words(cause: &Cause, against: Shared) -> Option<String> {
    let waiting = match (cause.id, against.connections) {
        ("ack-path", _) => "the ACKs may wait behind that data",
        (_, 1) if cause.is_path => "its ACKs may wait behind this data",
        _ if cause.is_path => "their ACKs may wait behind this data",
        _ => return None,
    };
    Some(format!(
        "{} between these hosts sent {} the other way meanwhile: {waiting}",
        counted(against.connections, "other connection"),
        human_rate(against.rate)
    ))
}

/// Whether others on the path matter to a cause.
const fn is_of_path(verdict: &Verdict) -> bool {
    verdict.cause.is_path || verdict.cause.is_loss || verdict.cause.is_busy_link
}

/// Facts of a verdict, or its finding if it has none.
fn evidence(verdict: &Verdict) -> Vec<Evidence> {
    if verdict.evidence.is_empty() {
        return alloc::vec![Evidence::figure(verdict.finding.clone())];
    }
    verdict.evidence.clone()
}

/// Next known limit, in words that follow the achieved rate.
fn next_in_words(next: NextLimit) -> String {
    format!(
        "; next limit: {} at {}",
        next.cause.name,
        human_rate(next.rate)
    )
}

/// A factor with two digits that count.
fn times(factor: f64) -> String {
    if factor >= 9.95 {
        format!("{factor:.0}")
    } else {
        format!("{factor:.1}")
    }
}

impl Evidence {
    /// The fact with its place in the capture.
    #[must_use]
    pub fn in_words(&self) -> String {
        let text = &self.text;
        match (self.packet, self.at) {
            (Some(packet), Some(at)) if self.is_round => {
                format!("from {} on (packet {packet}): {text}", human_duration(at))
            }
            (Some(packet), Some(at)) => {
                format!("packet {packet}, {}: {text}", human_duration(at))
            }
            (Some(packet), None) => format!("packet {packet}: {text}"),
            _ => text.clone(),
        }
    }
}

impl Answer {
    /// Labels and texts of the lines below the sentence, in order. The first piece of evidence is
    /// shown; the others are in [`Answer::evidence`].
    #[must_use]
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = alloc::vec![("Could be", self.could_be.clone())];
        let shown = self.evidence.first().map(Evidence::in_words);
        let evidence = shown.into_iter().chain(self.between.clone());
        let mut list = |label, texts: &mut dyn Iterator<Item = String>| {
            for (index, text) in texts.enumerate() {
                lines.push((if index == 0 { label } else { "" }, text));
            }
        };
        list("Chain", &mut self.chain.iter().cloned());
        list("Evidence", &mut evidence.into_iter());
        lines.extend(self.fix.clone().map(|fix| ("Fix", fix)));
        if !self.shares.is_empty() {
            let shares = self.shares.iter();
            let shares: Vec<String> = shares
                .map(|(id, share)| format!("{id} {}", percent(*share)))
                .collect();
            lines.push(("Also", shares.join(", ")));
        }
        lines.extend(self.notes.iter().map(|note| ("Note", note.clone())));
        lines
    }
}
