//! A diagnosis in whole sentences.

use alloc::format;
use alloc::string::String;

use gigatcp_flows::Connection;
use gigatcp_units::grammar::{human_duration, human_rate};

use crate::verdict::{Diagnosis, Verdict, percent, transfer};
use crate::{View, case};

/// Causes of less than this share are left to the list.
const WORTH_SAYING: f64 = 0.05;

/// One paragraph about a connection.
pub(crate) fn paragraph(connection: &Connection, diagnosis: &Diagnosis) -> String {
    let from = connection.endpoint(diagnosis.sender);
    let to = connection.endpoint(case::other(diagnosis.sender));
    let mut text = format!("{from} sent {to} {}", transfer(diagnosis));
    text.push_str(match diagnosis.view {
        View::Sender => ", captured near the sender.",
        View::Receiver => ", captured near the receiver.",
        View::Middle => ", captured on the way.",
        View::Unknown => ".",
    });
    if let Some(joined) = &diagnosis.joined {
        text.push(' ');
        text.push_str(joined);
    }
    match diagnosis.dominant() {
        Some(first) => text.push_str(&format!(
            " For {} of the time it was limited by {}{}: {}",
            percent(first.share),
            first.rule.name,
            hedge(first.confidence),
            lower(&first.finding),
        )),
        None => text.push_str(" What limited it most of the time, the capture does not show."),
    }
    let rest = diagnosis.verdicts.iter().skip(1);
    for verdict in rest.filter(|verdict| verdict.share >= WORTH_SAYING) {
        text.push_str(&format!(
            " Another {}{} went to {}.",
            percent(verdict.share),
            hedge(verdict.confidence),
            verdict.rule.name
        ));
    }
    for verdict in diagnosis
        .verdicts
        .iter()
        .filter(|verdict| is_remark(verdict))
    {
        text.push(' ');
        text.push_str(&verdict.finding);
    }
    let unknown = diagnosis.unknown.as_secs_f64() / diagnosis.run.as_secs_f64().max(1e-9);
    if unknown >= WORTH_SAYING && diagnosis.dominant().is_some() {
        text.push_str(&format!(
            " Of {} of the time the cause is not known.",
            percent(unknown)
        ));
    }
    if let Some(first) = diagnosis.dominant()
        && first.cost.as_bps() > diagnosis.rate.as_bps() / 20
    {
        text.push_str(&format!(
            " The path carried {} at its best (round trip {}), so this cost about {}.",
            human_rate(diagnosis.reference),
            human_duration(diagnosis.round_trip),
            human_rate(first.cost)
        ));
    }
    text
}

/// A verdict that takes no time, or next to none, and is said all the same.
fn is_remark(verdict: &Verdict) -> bool {
    verdict.share < WORTH_SAYING && verdict.is_remark
}

fn hedge(confidence: f64) -> &'static str {
    if confidence >= 0.85 {
        ""
    } else if confidence >= 0.7 {
        " (likely)"
    } else {
        " (perhaps)"
    }
}

/// One thing, or several.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// The verb of one thing, or of several.
pub(crate) const fn verb<'a>(count: u64, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// The sentence as a part of another one.
fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}
