//! All verdicts of a connection with all evidence, for `-v` and for the page of graphs.

use gigatcp_analyze::Diagnosis;
use gigatcp_report::graph::DiagnosisText;
use gigatcp_report::prose::{wrap, wrap_hanging};
use gigatcp_units::grammar::human_duration;
use gigatcp_why::Verdict;

use super::answer::{
    ConnectionLabel, cost, details, evidence, fix, lost, notes, percent, piece, shown,
};
use crate::grid::Align::{Left, Right};
use crate::grid::{grid, line};

/// Returns the verdicts in a table, and each with its finding, evidence and fix.
pub(super) fn lines(diagnosis: &Diagnosis) -> String {
    if diagnosis.verdicts.is_empty() {
        return String::new();
    }
    let mut cells = vec![line(["", "duration", "share", "confidence", "cost"])];
    for verdict in &diagnosis.verdicts {
        let [name, rest @ ..] = self::cells(verdict);
        let mut line = vec![format!("  {name}")];
        line.extend(rest);
        cells.push(line);
    }
    let columns = [Left, Right, Right, Right, Right];
    let mut text = format!("\n{}", grid(&columns, &cells));
    for verdict in &diagnosis.verdicts {
        text.push_str(&format!("\n  {}\n", verdict.cause.id));
        text.push_str(&wrap(&verdict.finding, 4));
        for one in &verdict.evidence {
            text.push_str(&wrap_hanging(&piece(one), 6, 8));
        }
        text.push_str(&wrap_hanging(&format!("fix: {}", verdict.fix), 4, 6));
    }
    text
}

/// Returns id, duration, share, confidence and cost of a verdict.
fn cells(verdict: &Verdict) -> [String; 5] {
    let has_time = !verdict.time.is_zero();
    let only = |text: String| if has_time { text } else { "-".into() };
    [
        verdict.cause.id.into(),
        only(human_duration(verdict.time)),
        only(percent(verdict.share).replace('\u{a0}', " ")),
        format!("{:.2}", verdict.confidence),
        only(lost(verdict).unwrap_or_else(|| "-".into())),
    ]
}

/// Returns the answer and its verdicts for the page of graphs.
pub(super) fn said(label: &ConnectionLabel, diagnosis: &Diagnosis) -> DiagnosisText {
    let first = shown(diagnosis);
    let mut lines = vec![("Cost".to_owned(), cost(diagnosis, first))];
    lines.extend(fix(diagnosis).map(|fix| ("Fix".to_owned(), fix.to_owned())));
    let evidence = first.map(|first| evidence(diagnosis, first));
    let evidence = evidence.into_iter().chain(diagnosis.joined.clone());
    lines.extend(evidence.map(|text| ("Evidence".to_owned(), text)));
    lines.push(("Details".to_owned(), details(label, diagnosis)));
    let notes = notes(diagnosis).into_iter();
    lines.extend(notes.map(|text| ("Note".to_owned(), text)));
    DiagnosisText {
        headline: diagnosis.sentence(),
        lines,
        findings: diagnosis.verdicts.iter().map(finding).collect(),
    }
}

/// Returns a verdict as a line, with its evidence.
fn finding(verdict: &Verdict) -> (String, Vec<String>) {
    let [name, time, share, confidence, cost] = cells(verdict);
    let head = match (verdict.time.is_zero(), cost.as_str()) {
        (true, _) => format!("{name} (confidence {confidence})"),
        (_, "-") => format!("{name}: {time}, {share} of the time (confidence {confidence})"),
        _ => format!("{name}: {time}, {share} of the time, {cost} lost (confidence {confidence})"),
    };
    let mut lines = vec![verdict.finding.clone()];
    lines.extend(verdict.evidence.iter().map(piece));
    lines.push(format!("Fix: {}", verdict.fix));
    (head, lines)
}
