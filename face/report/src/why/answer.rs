//! The answer for one connection as text: the sentence, its lines, and which connection it is.
//!
//! The words are those of [`Answer`]. More is shown only with `-v` (`detail.rs`).

use gigatcp_analyze::Diagnosis;
use gigatcp_flows::{Connection, Side};
use gigatcp_units::Duration;
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_why::{Answer, CapturePoint};

use crate::prose::{TIE, wrap_hanging};

/// Width of a label, with the space around it.
const LABEL: usize = 12;

/// Text before the figure, joined to it by a no-break space.
const CONFIDENCE: &str = "confidence\u{a0}";

/// Identification of a connection, for the line `Details`.
pub struct ConnectionLabel {
    /// Both endpoints, the sender of the data first.
    pub ends: String,
    /// Source of the data, as in "captured at the sender".
    pub captured: String,
    /// Its number and its place among the connections; empty if there is only one.
    pub place: String,
    /// The end that reset it.
    pub reset_by: Option<&'static str>,
    /// The kernel's counters next to its packets.
    pub counters: Option<String>,
}

impl ConnectionLabel {
    /// The lines that follow those of the answer.
    pub fn lines(&self, diagnosis: &Diagnosis) -> Vec<(&'static str, String)> {
        let counters = self.counters.clone().map(|text| ("Counters", text));
        let details = ("Details", details(self, diagnosis));
        counters.into_iter().chain([details]).collect()
    }
}

/// Answer as text.
pub fn lines(label: &ConnectionLabel, diagnosis: &Diagnosis) -> String {
    let mut text = answer_lines(&diagnosis.answer());
    for (label, line) in label.lines(diagnosis) {
        text.push_str(&labeled(label, &line));
    }
    text
}

/// An answer as text; `details` identifies the connection.
pub fn lines_with(details: &str, answer: &Answer) -> String {
    answer_lines(answer) + &labeled("Details", details)
}

fn answer_lines(answer: &Answer) -> String {
    let sentence = answer.sentence.replace("confidence ", CONFIDENCE);
    let mut text = wrap_hanging(&sentence, 0, 2);
    for (label, line) in answer.lines() {
        text.push_str(&labeled(label, &line));
    }
    text
}

/// A line with a label; longer text is wrapped and indented.
pub fn labeled(label: &str, text: &str) -> String {
    let wrapped = wrap_hanging(text, LABEL, LABEL);
    let rest = wrapped.get(LABEL..).unwrap_or_default();
    format!("  {label:<width$}{rest}", width = LABEL - 2)
}

/// Connection, the amount delivered, and the capture point.
fn details(label: &ConnectionLabel, diagnosis: &Diagnosis) -> String {
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

/// Names with their shares; none is broken between two lines.
pub fn list<'a>(shares: impl Iterator<Item = (&'a str, f64)>) -> String {
    let parts = shares.map(|(name, share)| format!("{name}{TIE}{}", percent(share)));
    parts.collect::<Vec<_>>().join(", ")
}

pub(super) fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(1e-9)
}

/// Formats a share in percent, with one decimal if it is small.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 {
        format!("{percent:.0}{TIE}%")
    } else {
        format!("{percent:.1}{TIE}%")
    }
}

/// End that sent a reset, named relative to the data.
pub fn reset_by(connection: &Connection, sender: Side) -> Option<&'static str> {
    let has_reset = |side| connection.direction(side).has_reset();
    match (has_reset(sender), has_reset(sender.other())) {
        (true, true) => Some("both ends"),
        (true, false) => Some("sender"),
        (false, true) => Some("receiver"),
        (false, false) => None,
    }
}

/// Capture point, in words that follow "captured".
pub const fn captured(point: CapturePoint) -> &'static str {
    match point {
        CapturePoint::Sender => "at the sender",
        CapturePoint::Receiver => "at the receiver",
        CapturePoint::Middle => "mid-path",
        CapturePoint::Unknown | CapturePoint::Counters => "at an unknown point",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer {
            sentence: "Limited by the receive window (figure) for 90 % of the transfer \
                       (confidence 0.94)."
                .into(),
            cause: None,
            alternative: None,
            confidence: Some(0.94),
            share: Some(0.9),
            is_unsure: false,
            is_healthy: Some(false),
            gain: None,
            could_be: "at least 2.95 Mbit/s (3.4 times): 856 kbit/s achieved".into(),
            chain: Vec::new(),
            evidence: Vec::new(),
            fix: Some("change it to 1.0 MB".into()),
            limits: Vec::new(),
            shares: vec![("random-loss", 0.06)],
            notes: vec!["mss-clamped: It was found (confidence 0.95)".into()],
            between: Some("Seen in both captures.".into()),
        }
    }

    #[test]
    fn answer_as_text_is_sentence_then_labeled_lines_then_details() {
        let expected = "\
Limited by the receive window (figure) for 90 % of the transfer
  (confidence 0.94).
  Could be  at least 2.95 Mbit/s (3.4 times): 856 kbit/s achieved
  Evidence  Seen in both captures.
  Fix       change it to 1.0 MB
  Also      random-loss 6.0 %
  Note      mss-clamped: It was found (confidence 0.95)
  Details   a -> b
";
        assert_eq!(lines_with("a -> b", &answer()), expected);
    }

    #[test]
    fn text_has_each_word_of_the_answer_once() {
        let answer = answer();
        let text = lines_with("", &answer);
        let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        let lines = answer.lines().into_iter().map(|(_, line)| line);
        for line in lines.chain([answer.sentence.clone()]) {
            assert_eq!(words.matches(&line).count(), 1, "{line}");
        }
    }
}
