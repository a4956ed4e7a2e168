//! Grades the diagnosis from counters on labeled kernel connections.
//!
//! The readings are those a case stores for both ends, 100 ms apart; the hosts' CPU time is that
//! of its processes. No packet is used.

use std::collections::BTreeMap;

use gigatcp_units::{Duration, Instant};
use gigatcp_why::Diagnosis;
use gigatcp_why::counters::{CounterAccount, End, HostReading, Reading};

use crate::kernels::facts::Facts;
use crate::kernels::label::Label;
use crate::kernels::sample::Series;
use crate::tester::kept::Known;
use crate::tester::verdict::BEHIND_THE_WINDOW;

/// Labels that counters cannot show, with the correct answer instead.
const MERGED: [(&str, &str); 9] = [
    ("cross-traffic", "path-saturated"),
    ("client-think-time", "application-limited"),
    ("server-think-time", "application-limited"),
    ("request-response-rtt", "application-limited"),
    ("delayed-ack-stall", "application-limited"),
    ("pmtu-black-hole", "rto-backoff"),
    ("mss-clamped", "path-saturated"),
    ("local-queue", "path-saturated"),
    ("rx-ring-overrun", "receiver-cpu-limited"),
];

/// An answer with the correct cause.
#[derive(Clone, Debug)]
pub struct Graded {
    /// Family and seed.
    pub name: String,
    /// Correct cause.
    pub truth: String,
    /// The answer; `None` if there was none.
    pub said: Option<&'static str>,
    /// Mean probability of the answer.
    pub probability: f64,
    /// Whether the answer is correct.
    pub is_right: bool,
}

/// Grades one case. `None` if its label does not count or its counters were not stored.
pub fn grade(label: &Label) -> Option<Graded> {
    let diagnosis = diagnose(label).filter(|_| label.binding)?;
    assert_eq!(diagnosis.contradiction(), None, "{}", label.family);
    let first = diagnosis.primary();
    let said = first.map(|first| first.cause.id);
    let merged = MERGED.iter().find(|(cause, _)| *cause == label.cause);
    let is_right = said.is_some_and(|said| {
        said == label.cause
            || label.acceptable.iter().any(|cause| cause == said)
            || merged.is_some_and(|(_, other)| *other == said)
    });
    Some(Graded {
        name: format!("{}-{}", label.family, label.seed),
        truth: label.cause.clone(),
        said,
        probability: first.map_or(0.0, |first| first.probability),
        is_right,
    })
}

/// Correct answer if counters show less than a capture.
pub fn merged(cause: &str, known: Known) -> &str {
    let is_hidden = BEHIND_THE_WINDOW.contains(&cause);
    if known == Known::Sender && is_hidden {
        return "receive-window-limited";
    }
    let found = MERGED.iter().find(|(hidden, _)| *hidden == cause);
    found.map_or(cause, |(_, other)| other)
}

/// Diagnoses a case from counters alone.
pub fn diagnose(label: &Label) -> Option<Diagnosis> {
    account(label, &[End::Sender, End::Receiver]).diagnose()
}

/// Counters of a case, from the readings of these ends. For both ends as a tester has them; for one
/// end as the kernel has them, without the application.
pub fn account(label: &Label, ends: &[End]) -> CounterAccount {
    let facts = &label.facts;
    let mut account = CounterAccount::default();
    account.set_congestion(&label.parameters.control);
    let mut steps: Vec<(End, Reading)> = readings(&facts.sender)
        .map(|reading| (End::Sender, reading))
        .chain(readings(&facts.receiver).map(|reading| (End::Receiver, reading)))
        .collect();
    let whole = facts.whole().to;
    steps.retain(|(end, reading)| reading.at <= at(whole) && ends.contains(end));
    steps.sort_by_key(|(end, reading)| (reading.at, *end == End::Sender));
    for (end, reading) in steps {
        let name = match end {
            End::Sender => "sender",
            End::Receiver => "receiver",
        };
        if ends.len() == 1 {
            account.on_reading(end, &reading);
            continue;
        }
        account.on_host(end, &host(facts, name, reading.at));
        account.on_reading(end, &told(facts, end, name, reading));
    }
    account
}

fn at(us: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(u64::try_from(us).unwrap_or(0))
}

fn readings(series: &Series) -> impl Iterator<Item = Reading> + '_ {
    series.rows.iter().map(|row| {
        let words = series.columns.iter().zip(row).map(|(name, number)| {
            let name = match name.as_str() {
                "unread" => "recv_q",
                "unacknowledged" => "send_q",
                name => name,
            };
            (name, *number)
        });
        Reading::of_words(at(row[0]), words)
    })
}

/// Adds the programs' knowledge, as a tester has it: time without writing or reading.
fn told(facts: &Facts, end: End, name: &str, reading: Reading) -> Reading {
    let waited = facts.done.get(name).map(|done| {
        let share = (done.waited_s / done.elapsed_s.max(1e-3)).min(1.0);
        Duration::from_secs_f64(share * reading.at.as_secs_f64())
    });
    match end {
        End::Sender => Reading {
            app_idle: waited,
            ..reading
        },
        End::Receiver => Reading {
            app_not_reading: waited,
            ..reading
        },
    }
}

/// Host reading with CPU time used evenly; a quota reduces the available time.
fn host(facts: &Facts, name: &str, at: Instant) -> HostReading {
    let process = facts.process(name);
    let elapsed = process.elapsed_s.max(1e-3);
    let seconds = at.as_secs_f64();
    let is_known = process.elapsed_s > 0.0;
    let of = |share: f64| Duration::from_secs_f64(share * seconds);
    HostReading {
        at,
        thread: is_known.then(|| of(process.cpu_s / elapsed)),
        throttled: is_known.then(|| of(process.throttled * (1.0 - process.allowed).max(0.0))),
        nic_drops: Some((facts.ring_drops as f64 * (seconds / elapsed).min(1.0)) as u64),
        ..HostReading::default()
    }
}

/// Formats the share of correct answers by cause and by probability, and wrong answers.
pub fn report(all: &[Graded], shows_wrong: bool) -> String {
    let mut text = String::new();
    let mut causes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for one in all {
        let count = causes.entry(&one.truth).or_default();
        count.0 += usize::from(one.is_right);
        count.1 += 1;
    }
    for (cause, (right, all)) in &causes {
        text += &format!("{cause:30} {right:4} of {all}\n");
    }
    let right = all.iter().filter(|graded| graded.is_right).count();
    let share = right as f64 * 100.0 / all.len().max(1) as f64;
    text += &format!("{:30} {right:4} of {} ({share:.1} %)\n", "all", all.len());
    let mut sorted: Vec<&Graded> = all.iter().collect();
    sorted.sort_by(|a, b| a.probability.total_cmp(&b.probability));
    for bin in sorted.chunks(sorted.len().div_ceil(6).max(1)) {
        let right = bin.iter().filter(|graded| graded.is_right).count();
        let mean = bin.iter().map(|graded| graded.probability).sum::<f64>() / bin.len() as f64;
        text += &format!(
            "probability {mean:.2}: {:.2} of {} right\n",
            right as f64 / bin.len() as f64,
            bin.len()
        );
    }
    for one in all.iter().filter(|graded| shows_wrong && !graded.is_right) {
        let said = one.said.unwrap_or("nothing");
        text += &format!(
            "  {} is {}, said {said} ({:.2})\n",
            one.name, one.truth, one.probability
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::kernels::corpus::Corpus;

    #[test]
    fn counters_alone_explain_most_of_the_kept_connections() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("kept");
        let cases = Corpus::open(&kept).unwrap();
        let all: Vec<Graded> = cases.iter().filter_map(|case| grade(&case.label)).collect();
        let right = all.iter().filter(|graded| graded.is_right).count();
        // 46 of 59 when the curves were stated.
        assert!(
            all.len() > 50 && right * 100 >= all.len() * 72,
            "{}",
            report(&all, true)
        );
    }
}
