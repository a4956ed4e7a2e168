//! All verdicts of a connection with all evidence, for `-v` and for the page of graphs.

use gigatcp_analyze::Diagnosis;
use gigatcp_units::grammar::{human_duration, human_rate};
use gigatcp_why::{Evidence, Verdict};

use super::answer::{ConnectionLabel, percent, share};
use crate::graph::DiagnosisText;
use crate::grid::Align::{Left, Right};
use crate::grid::{grid, line};
use crate::prose::{TIE, wrap, wrap_hanging};

/// Verdicts and the unknown time in a table, and each verdict with its finding, evidence and fix.
pub fn lines(diagnosis: &Diagnosis) -> String {
    if diagnosis.verdicts.is_empty() {
        return String::new();
    }
    let mut cells = vec![line(["", "duration", "share", "confidence", "cost"])];
    for verdict in &diagnosis.verdicts {
        let [name, rest @ ..] = self::cells(verdict);
        let mut row = vec![format!("  {name}")];
        row.extend(rest);
        cells.push(row);
    }
    if !diagnosis.unknown.is_zero() {
        let unknown = diagnosis.unknown;
        let share = percent(share(unknown, diagnosis.duration)).replace(TIE, " ");
        cells.push(line([
            "  unknown",
            &human_duration(unknown),
            &share,
            "-",
            "-",
        ]));
    }
    let columns = [Left, Right, Right, Right, Right];
    let mut text = format!("\n{}", grid(&columns, &cells));
    for verdict in &diagnosis.verdicts {
        text.push_str(&format!("\n  {}\n", verdict.cause.id));
        text.push_str(&wrap(&verdict.finding, 4));
        for piece in &verdict.evidence {
            text.push_str(&wrap_hanging(&piece.in_words(), 6, 8));
        }
        if let Some(fix) = diagnosis.fix_of(verdict) {
            text.push_str(&wrap_hanging(&format!("fix: {fix}"), 4, 6));
        }
    }
    text
}

/// Id, duration, share, confidence and cost of a verdict.
fn cells(verdict: &Verdict) -> [String; 5] {
    let has_time = !verdict.time.is_zero();
    let only = |text: String| if has_time { text } else { "-".into() };
    [
        verdict.cause.id.into(),
        only(human_duration(verdict.time)),
        only(percent(verdict.share).replace(TIE, " ")),
        format!("{:.2}", verdict.confidence),
        only(lost(verdict).unwrap_or_else(|| "-".into())),
    ]
}

/// Rate that a cause cost; `None` if it is too small to measure.
fn lost(verdict: &Verdict) -> Option<String> {
    /// Smaller costs are rounding errors.
    const MIN_COST_BPS: u64 = 1_000;
    let cost = &verdict.cost;
    let is_measured = !verdict.time.is_zero() && cost.rate.as_bps() >= MIN_COST_BPS;
    is_measured.then(|| {
        let bound = if cost.at_least { "at least" } else { "about" };
        format!("{bound} {}", human_rate(cost.rate))
    })
}

/// Answer and its verdicts for the page of graphs.
pub fn said(label: &ConnectionLabel, diagnosis: &Diagnosis) -> DiagnosisText {
    let answer = diagnosis.answer();
    let lines = answer
        .lines()
        .into_iter()
        .chain(label.lines(diagnosis))
        .map(|(label, text)| (label.to_owned(), text));
    let verdicts = diagnosis.verdicts.iter();
    DiagnosisText {
        lines: lines.collect(),
        headline: answer.sentence,
        findings: verdicts
            .map(|verdict| finding(diagnosis, verdict))
            .collect(),
    }
}

/// A verdict as a line, with its evidence.
fn finding(diagnosis: &Diagnosis, verdict: &Verdict) -> (String, Vec<String>) {
    let [_, time, share, confidence, cost] = cells(verdict);
    let name = crate::cause_name(verdict.cause.id);
    let head = match (verdict.time.is_zero(), cost.as_str()) {
        (true, _) => format!("{name} (confidence {confidence})"),
        (_, "-") => format!("{name}: {time}, {share} of the time (confidence {confidence})"),
        _ => format!("{name}: {time}, {share} of the time, {cost} lost (confidence {confidence})"),
    };
    let mut lines = vec![verdict.finding.clone()];
    lines.extend(verdict.evidence.iter().map(Evidence::in_words));
    let fix = diagnosis.fix_of(verdict);
    lines.extend(fix.map(|fix| format!("Fix: {fix}")));
    lines.push(format!(
        "`gigatcp explain {}` describes it",
        verdict.cause.id
    ));
    (head, lines)
}
