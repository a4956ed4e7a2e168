//! The answer for one connection: a sentence, and four labeled lines.
//!
//! The sentence is [`Diagnosis::sentence`]. Below it stand what the cause cost, what to
//! change, the first piece of evidence, and which connection it is. Certain faults that
//! took no time are notes. More is shown only with `-v` (`detail.rs`).

use gigatcp_analyze::Diagnosis;
use gigatcp_flows::{Connection, Side};
use gigatcp_report::prose::{TIE, wrap_hanging};
use gigatcp_units::Duration;
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_why::{CapturePoint, Evidence, MIN_CONFIDENCE, Verdict};

/// Width of a label, with the space around it.
const LABEL: usize = 12;

/// Minimum share of the time for a cause to be listed without `-v`.
const MIN_SHARE: f64 = 0.05;

/// Text before the figure, joined to it by a no-break space.
const CONFIDENCE: &str = "confidence\u{a0}";

/// Identification of a connection, for the line `Details`.
pub(in crate::commands) struct ConnectionLabel {
    /// Both endpoints, the sender of the data first.
    pub(in crate::commands) ends: String,
    /// Source of the data, as in "captured at the sender".
    pub(in crate::commands) captured: String,
    /// Its number and its place among the connections; empty if there is only one.
    pub(in crate::commands) place: String,
    /// The end that reset it.
    pub(in crate::commands) reset_by: Option<&'static str>,
}

/// Returns the sentence and its lines.
pub(in crate::commands) fn lines(
    label: &ConnectionLabel,
    diagnosis: &Diagnosis,
    is_verbose: bool,
) -> String {
    lines_with(&details(label, diagnosis), diagnosis, is_verbose)
}

/// Returns the sentence and its lines; `details` identifies the connection.
pub(in crate::commands) fn lines_with(
    details: &str,
    diagnosis: &Diagnosis,
    is_verbose: bool,
) -> String {
    let first = shown(diagnosis);
    let sentence = diagnosis.sentence();
    let mut text = wrap_hanging(&sentence.replace("confidence ", CONFIDENCE), 0, 2);
    text.push_str(&labeled("Cost", &cost(diagnosis, first)));
    if let Some(first) = first {
        if let Some(fix) = fix(diagnosis) {
            text.push_str(&labeled("Fix", fix));
        }
        text.push_str(&labeled("Evidence", &evidence(diagnosis, first)));
    }
    if let Some(joined) = &diagnosis.joined {
        let label = if first.is_some() { "" } else { "Evidence" };
        text.push_str(&labeled(label, joined));
    }
    text.push_str(&labeled("Details", details));
    let shares = shares(diagnosis, if is_verbose { 0.0005 } else { MIN_SHARE });
    if !shares.is_empty() {
        text.push_str(&labeled("", &shares));
    }
    for note in notes(diagnosis) {
        text.push_str(&labeled("Note", &note));
    }
    text
}

/// Returns the fix; `None` if the cause is unsure.
pub(in crate::commands) fn fix(diagnosis: &Diagnosis) -> Option<&str> {
    let first = diagnosis.headline()?;
    (first.confidence >= MIN_CONFIDENCE).then_some(&first.fix)
}

/// Returns the first piece of evidence; with its cause if the sentence names none.
pub(in crate::commands) fn evidence(diagnosis: &Diagnosis, first: &Verdict) -> String {
    let evidence = first.evidence.first().map(piece);
    let evidence = evidence.unwrap_or_else(|| first.finding.clone());
    match diagnosis.headline() {
        Some(_) => evidence,
        None => format!("{}: {evidence}", first.cause.id),
    }
}

/// Returns the cause in the sentence, or the one with most of the known time.
pub(in crate::commands) fn shown(diagnosis: &Diagnosis) -> Option<&Verdict> {
    let largest = diagnosis.verdicts.first();
    let largest = largest.filter(|verdict| !verdict.time.is_zero());
    diagnosis.headline().or(largest)
}

/// Returns a line with a label; longer text is wrapped and indented.
pub(in crate::commands) fn labeled(label: &str, text: &str) -> String {
    let wrapped = wrap_hanging(text, LABEL, LABEL);
    let rest = wrapped.get(LABEL..).unwrap_or_default();
    format!("  {label:<width$}{rest}", width = LABEL - 2)
}

/// Returns the cost of the cause, and the rate it is compared with.
pub(super) fn cost(diagnosis: &Diagnosis, verdict: Option<&Verdict>) -> String {
    let achieved = format!("{} achieved", human_rate(diagnosis.throughput));
    let Some(verdict) = verdict else {
        return format!("unknown: {achieved}");
    };
    if verdict.time.is_zero() {
        return format!("not measured: {achieved}");
    }
    match verdict.cause.id {
        "path-saturated" => return format!("none: the path was full; {achieved}"),
        "cross-traffic" => return format!("what others sent: the path was full; {achieved}"),
        _ => {}
    }
    let capacity = &diagnosis.capacity;
    // The best rate is at least the average.
    let carried = capacity.rate().max(diagnosis.throughput);
    let carried = format!("{} {}", human_rate(carried), capacity.source.words());
    if diagnosis.headline().is_none() {
        return format!("unknown: {achieved}, {carried}");
    }
    match lost(verdict) {
        Some(lost) => format!("{lost}: {achieved}, {carried}{}", next(diagnosis)),
        None if verdict.cost.at_least => format!("unknown: {achieved}, and not more at any time"),
        None => format!("none that can be measured: {achieved}, {carried}"),
    }
}

/// Returns the next known limit, in words that follow the cost; empty if unknown.
fn next(diagnosis: &Diagnosis) -> String {
    diagnosis.next.map_or_else(String::new, |next| {
        let (name, rate) = (next.cause.name, human_rate(next.rate));
        format!("; next known limit: {name} at {rate}")
    })
}

/// Returns the rate that a cause cost; `None` if it is too small to measure.
pub(super) fn lost(verdict: &Verdict) -> Option<String> {
    /// Smaller costs are rounding errors.
    const MIN_COST_BPS: u64 = 1_000;
    let cost = &verdict.cost;
    let is_measured = !verdict.time.is_zero() && cost.rate.as_bps() >= MIN_COST_BPS;
    is_measured.then(|| {
        let bound = if cost.at_least { "at least" } else { "about" };
        format!("{bound} {}", human_rate(cost.rate))
    })
}

/// Returns the connection, the amount delivered, and the capture point.
pub(super) fn details(label: &ConnectionLabel, diagnosis: &Diagnosis) -> String {
    let mut text = format!(
        "{}, {} in {}, {}",
        label.ends,
        human_bytes(diagnosis.delivered),
        human_duration(diagnosis.duration),
        label.captured
    );
    if !label.place.is_empty() {
        text.push_str("; ");
        text.push_str(&label.place);
    }
    if let Some(end) = label.reset_by {
        let article = if end == "both ends" { "" } else { "the " };
        text.push_str(&format!("; reset by {article}{end}"));
    }
    text
}

/// Returns shares of the causes that the sentence does not name. The largest is first, unknown
/// last.
fn shares(diagnosis: &Diagnosis, min: f64) -> String {
    let named = diagnosis.headline().map(|first| first.cause.id);
    let others = diagnosis.verdicts.iter();
    let others = others.filter(|verdict| Some(verdict.cause.id) != named);
    let others = others.map(|verdict| (verdict.cause.id, verdict.share));
    let unknown = ("unknown", share(diagnosis.unknown, diagnosis.duration));
    let parts = others.chain([unknown]).filter(|(_, share)| *share >= min);
    list(parts)
}

/// Returns names with their shares; none is broken between two lines.
pub(in crate::commands) fn list<'a>(shares: impl Iterator<Item = (&'a str, f64)>) -> String {
    let parts = shares.map(|(name, share)| format!("{name}{TIE}{}", percent(share)));
    parts.collect::<Vec<_>>().join(", ")
}

pub(super) fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(1e-9)
}

/// Formats a share in percent, with one decimal if it is small.
pub(in crate::commands) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 {
        format!("{percent:.0}{TIE}%")
    } else {
        format!("{percent:.1}{TIE}%")
    }
}

/// Returns certain faults that took no time, each as a sentence.
pub(super) fn notes(diagnosis: &Diagnosis) -> Vec<String> {
    let named = diagnosis.headline().map(|first| first.cause.id);
    let notes = diagnosis.verdicts.iter().filter(|verdict| {
        verdict.is_note && verdict.time.is_zero() && Some(verdict.cause.id) != named
    });
    let sentence = |verdict: &Verdict| {
        let id = verdict.cause.id;
        format!(
            "{id}: {} (confidence {:.2})",
            verdict.finding.trim_end_matches('.'),
            verdict.confidence
        )
    };
    notes.map(sentence).collect()
}

/// Returns a fact with its position in the capture.
pub(super) fn piece(evidence: &Evidence) -> String {
    let text = &evidence.text;
    match (evidence.packet, evidence.at) {
        (Some(packet), Some(at)) if evidence.is_round => {
            format!("from {} on (packet {packet}): {text}", human_duration(at))
        }
        (Some(packet), Some(at)) => format!("packet {packet}, {}: {text}", human_duration(at)),
        (Some(packet), None) => format!("packet {packet}: {text}"),
        _ => text.clone(),
    }
}

/// Returns the end that sent a reset, named relative to the data.
pub(super) fn reset_by(connection: &Connection, sender: Side) -> Option<&'static str> {
    let has_reset = |side| connection.direction(side).has_reset();
    match (has_reset(sender), has_reset(sender.other())) {
        (true, true) => Some("both ends"),
        (true, false) => Some("sender"),
        (false, true) => Some("receiver"),
        (false, false) => None,
    }
}

/// Returns the capture point, in words that follow "captured".
pub(super) const fn captured(point: CapturePoint) -> &'static str {
    match point {
        CapturePoint::Sender => "at the sender",
        CapturePoint::Receiver => "at the receiver",
        CapturePoint::Middle => "mid-path",
        CapturePoint::Unknown | CapturePoint::Counters => "at an unknown point",
    }
}

#[cfg(test)]
mod tests {
    use gigatcp_units::{Bytes, Instant, Rate};
    use gigatcp_why::{Capacity, Cost, NextLimit, find};

    use super::*;

    fn verdict(id: &str, share: f64, confidence: f64) -> Verdict {
        let cause = find(id).expect("a cause");
        Verdict {
            cause,
            subject: format!("{} (figure)", cause.name),
            finding: "It was found.".into(),
            evidence: vec![
                Evidence {
                    packet: Some(3537),
                    at: Some(Duration::from_millis(849)),
                    is_round: false,
                    text: "699 kB in flight".into(),
                },
                Evidence {
                    packet: None,
                    at: None,
                    is_round: false,
                    text: "more evidence".into(),
                },
            ],
            fix: "change it to 1.0 MB".into(),
            confidence,
            probability: confidence,
            is_note: share == 0.0,
            time: Duration::from_secs_f64(share * 10.0),
            share,
            cost: Cost {
                rate: Rate::from_bps(if share > 0.0 { 2_100_000 } else { 0 }),
                at_least: true,
            },
        }
    }

    fn diagnosis(verdicts: Vec<Verdict>) -> Diagnosis {
        let known = verdicts.iter().map(|verdict| verdict.share).sum::<f64>();
        Diagnosis {
            sender: Side::Client,
            capture_point: CapturePoint::Sender,
            start: Instant::ZERO,
            duration: Duration::from_secs(10),
            delivered: Bytes::new(1_070_000),
            throughput: Rate::from_bps(856_000),
            capacity: Capacity::default(),
            bottleneck: None,
            min_rtt: Duration::from_millis(80),
            verdicts,
            next: None,
            alternative: find("policer"),
            unknown: Duration::from_secs_f64(10.0 * (1.0 - known).max(0.0)),
            spans: Vec::new(),
            joined: None,
        }
    }

    fn answer(verdicts: Vec<Verdict>) -> String {
        let label = ConnectionLabel {
            ends: "10.1.0.1:5201 -> 10.1.0.2:41288".into(),
            captured: "captured at the sender".into(),
            place: "largest of 2 connections".into(),
            reset_by: None,
        };
        lines(&label, &diagnosis(verdicts), false)
    }

    #[test]
    fn the_next_known_limit_follows_the_cost() {
        let mut diagnosis = diagnosis(vec![verdict("receive-window-limited", 0.9, 0.94)]);
        diagnosis.next = Some(NextLimit {
            cause: find("path-saturated").expect("a cause"),
            rate: Rate::from_bps(95_500_000),
        });
        let text = cost(&diagnosis, diagnosis.headline());
        let end = "; next known limit: the path at 95.5 Mbit/s";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn an_answer_is_a_sentence_and_four_lines_and_a_line_of_other_causes() {
        let verdicts = vec![
            verdict("receive-window-limited", 0.9, 0.94),
            verdict("random-loss", 0.06, 0.8),
            verdict("policer", 0.04, 0.8),
        ];
        let expected = "\
Limited by the receive window (figure) for 90 % of the transfer
  (confidence 0.94).
  Cost      at least 2.10 Mbit/s: 856 kbit/s achieved, 856 kbit/s in its best
            RTT
  Fix       change it to 1.0 MB
  Evidence  packet 3537, 849 ms: 699 kB in flight
  Details   10.1.0.1:5201 -> 10.1.0.2:41288, 1.07 MB in 10.0 s, captured at the
            sender; largest of 2 connections
            random-loss 6.0 %
";
        assert_eq!(answer(verdicts), expected);
    }

    #[test]
    fn an_unsure_answer_names_two_causes_and_advises_no_change() {
        let text = answer(vec![verdict("random-loss", 0.9, 0.55)]);
        assert!(
            text.starts_with("Unsure: random loss or a policer ("),
            "{text}"
        );
        assert!(
            text.contains("\n  Cost      at least 2.10 Mbit/s: "),
            "{text}"
        );
        assert!(text.contains("\n  Evidence  packet 3537"), "{text}");
        assert!(!text.contains("Fix"), "{text}");
    }

    #[test]
    fn where_most_is_unknown_the_cause_of_the_rest_is_listed() {
        let text = answer(vec![verdict("random-loss", 0.3, 0.9)]);
        assert!(
            text.starts_with("Unsure: random loss, a policer or neither"),
            "{text}"
        );
        assert!(text.contains("\n  Cost      unknown: 856 kbit/s"), "{text}");
        assert!(
            text.contains("\n  Evidence  random-loss: packet 3537"),
            "{text}"
        );
        assert!(
            text.contains("            random-loss 30 %, unknown 70 %\n"),
            "{text}"
        );
        assert!(!text.contains("Fix"), "{text}");
    }

    #[test]
    fn a_full_path_costs_nothing() {
        let text = answer(vec![verdict("path-saturated", 0.9, 0.9)]);
        let cost = "\n  Cost      none: the path was full; 856 kbit/s achieved\n";
        assert!(text.contains(cost), "{text}");
    }

    #[test]
    fn a_fault_without_time_is_a_note_after_the_five_lines() {
        let text = answer(vec![
            verdict("receive-window-limited", 0.9, 0.94),
            verdict("mss-clamped", 0.0, 0.95),
        ]);
        let note = "\n  Note      mss-clamped: It was found (confidence 0.95)\n";
        assert!(text.ends_with(note), "{text}");
    }

    #[test]
    fn both_captures_of_a_connection_are_evidence() {
        let mut joint = diagnosis(vec![verdict("random-loss", 0.9, 0.9)]);
        joint.joined = Some("Seen in both captures.".into());
        let label = ConnectionLabel {
            ends: "a -> b".into(),
            captured: "captured at the sender and at the receiver".into(),
            place: String::new(),
            reset_by: Some("receiver"),
        };
        let text = lines(&label, &joint, false);
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.join(" ");
        assert!(
            words.contains("at the receiver; reset by the receiver"),
            "{text}"
        );
        let evidence = "in flight\n            Seen in both captures.\n  Details   a -> b";
        assert!(text.contains(evidence), "{text}");
    }
}
