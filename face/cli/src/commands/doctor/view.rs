//! The report as text: the costliest finding, a table of all findings, commands, missing facts.

use gigatcp_meter::doctor::{CostedFinding, Direction, HostFacts, Missing, Report};
use gigatcp_report::escape::terminal;
use gigatcp_report::grid::{Align, grid};
use gigatcp_report::prose::{wrap, wrap_hanging};
use gigatcp_report::why::answer::labeled;
use gigatcp_units::grammar::{human_duration, human_probability, human_rate};

use super::{Question, Source};

/// Whole report.
pub(super) fn text(
    facts: &HostFacts,
    question: &Question,
    report: &Report,
    is_verbose: bool,
) -> String {
    let mut blocks = vec![answer(question, report)];
    let advised: Vec<&str> = report
        .advice(&question.path)
        .iter()
        .flat_map(|advice| &advice.findings)
        .map(|found| found.rule.id)
        .collect();
    if is_verbose {
        blocks.extend(
            report
                .findings
                .iter()
                .filter(|found| !advised.contains(&found.rule.id))
                .map(|found| full(found, question)),
        );
    }
    blocks.push(heading(facts, question) + &table(report));
    blocks.push(commands("Fix, as root", &report.fixes(false)));
    let in_some_cases = commands("Fix in the cases above only, as root", &report.fixes(true));
    blocks.push(in_some_cases);
    match is_verbose {
        true => blocks.push(commands("Undo, as root", &report.undos())),
        false if report.findings.is_empty() => {}
        false => {
            blocks.push("-v: every finding in full, and what undoes the commands\n".to_owned())
        }
    }
    blocks.push(missing(&report.missing));
    blocks.retain(|block| !block.is_empty());
    let lines = blocks.join("\n");
    let lines: Vec<String> = lines.lines().map(terminal).collect();
    lines.join("\n")
}

/// Answer: the costliest finding that always limits, or that there is none.
fn answer(question: &Question, report: &Report) -> String {
    let path = &question.path;
    let Some(advice) = report.advice(path) else {
        let over = format!("{} over an RTT of {}", path.rate, human_duration(path.rtt));
        let words = match report.findings.is_empty() {
            true => format!("Nothing found: no setting that was read limits {over}."),
            false => format!(
                "No setting that was read always limits a connection to less than {over}. What \
                 follows costs time, or limits in some cases."
            ),
        };
        return wrap(&words, 0);
    };
    let mut text = String::new();
    for (place, found) in advice.findings.iter().enumerate() {
        if place > 0 {
            let words = "This allows as much within the tolerance of 20 %. Change both:";
            text.push_str(&wrap(words, 0));
        }
        text.push_str(&full(found, question));
    }
    let after = advice.after;
    let next = match after < path.rate {
        true => format!("up to {}, which the next finding allows", human_rate(after)),
        false => format!("up to {}, the rate of the path", human_rate(after)),
    };
    text.push_str(&labeled("Then", &next));
    text
}

fn full(found: &CostedFinding, question: &Question) -> String {
    let finding = &found.finding;
    let when = match finding.direction {
        Direction::Send => " when sending",
        Direction::Receive => " when receiving",
        Direction::Both => "",
    };
    let limit = finding
        .ceiling
        .map(|rate| format!(" to {}", human_rate(rate)));
    let condition = finding
        .only_if
        .map(|condition| format!(", only if {condition}"));
    let mut text = wrap(
        &format!(
            "Limited by {}{}{when}{}: {}",
            found.rule.name,
            limit.unwrap_or_default(),
            condition.unwrap_or_default(),
            finding.subject,
        ),
        0,
    );
    let cost = match found.cost {
        Some(cost) => {
            let rate = human_rate(question.path.rate);
            format!("{} of {rate}: {}", human_rate(cost), finding.effect)
        }
        None => finding.effect.clone(),
    };
    text.push_str(&labeled("Cost", &cost));
    if let Some(overrides) = &finding.overrides {
        text.push_str(&labeled("Override", overrides));
    }
    text.push_str(&labeled("Read from", &finding.place));
    text.push_str(&unbroken("Fix", &finding.change.fix));
    if let Some(undo) = &finding.change.undo {
        text.push_str(&unbroken("Undo", undo));
    }
    text.push_str(&labeled(
        "More",
        &format!("gigatcp explain {}", found.rule.id),
    ));
    text
}

/// A labeled command on one line, so that it can be copied.
fn unbroken(label: &str, command: &str) -> String {
    format!("  {label:<10}{command}\n")
}

/// Line above the table: the path and the host.
fn heading(facts: &HostFacts, question: &Question) -> String {
    let path = &question.path;
    let source = |source: Source, option: &str| match source {
        Source::Given => String::new(),
        Source::Assumed => format!(" (assumed; {option} sets it)"),
        Source::Measured => " (measured without load)".to_owned(),
        Source::Remembered => {
            format!(" (remembered by the kernel, with queues; {option} sets it)")
        }
        Source::LinkSpeed => format!(" (the link's speed; {option} sets it)"),
    };
    let loss = path
        .loss
        .map(|p| format!(", loss {}", human_probability(p)));
    let host = [
        facts.host.clone(),
        facts
            .kernel
            .as_ref()
            .map(|release| format!("Linux {release}")),
        facts.device().map(str::to_owned),
        facts.destination.as_ref().map(|to| format!("to {to}")),
    ];
    let host: Vec<String> = host.into_iter().flatten().collect();
    let words = format!(
        "Path: {}{}, RTT {}{}{}; {}",
        path.rate,
        source(question.rate, "--rate"),
        human_duration(path.rtt),
        source(question.rtt, "--rtt"),
        loss.unwrap_or_default(),
        host.join(", "),
    );
    wrap(words.trim_end_matches("; "), 0)
}

/// A line per finding. A second line has the condition of those that limit in some cases only.
fn table(report: &Report) -> String {
    if report.findings.is_empty() {
        return String::new();
    }
    let heading = ["cost", "side", "rule", "setting"].map(str::to_owned);
    let mut rows = vec![heading.to_vec()];
    for found in &report.findings {
        rows.push(row(found));
        if let Some(condition) = found.finding.only_if {
            let [cost, side, rule] = [const { String::new() }; 3];
            rows.push(vec![cost, side, rule, format!("only if {condition}")]);
        }
    }
    let columns = [Align::Right, Align::Left, Align::Left, Align::Left];
    grid(&columns, &rows)
}

fn row(found: &CostedFinding) -> Vec<String> {
    let delay = found.finding.delay.map(human_duration);
    let cost = found
        .cost
        .map(human_rate)
        .or(delay)
        .unwrap_or_else(|| "time".to_owned());
    vec![
        cost,
        found.finding.direction.name().to_owned(),
        found.rule.id.to_owned(),
        found.finding.subject.clone(),
    ]
}

fn commands(title: &str, commands: &[&str]) -> String {
    let lines = commands.iter().map(|command| format!("  {command}\n"));
    let lines: String = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    format!("{title}\n{lines}")
}

/// Lists the unread facts by cause, with the permission that is required.
fn missing(all: &[Missing]) -> String {
    let mut text = String::new();
    let mut causes: Vec<(&str, Option<&str>)> = Vec::new();
    for one in all {
        let cause = (one.cause.as_str(), one.grant.as_deref());
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes.sort_by_key(|(_, grant)| grant.is_none());
    for (cause, grant) in causes {
        let is_of_cause = |missing: &&Missing| {
            (missing.cause.as_str(), missing.grant.as_deref()) == (cause, grant)
        };
        let facts: Vec<&str> = all
            .iter()
            .filter(is_of_cause)
            .map(|missing| missing.fact.as_str())
            .collect();
        let remedy = grant.map(|grant| format!("; {grant}")).unwrap_or_default();
        text.push_str(&wrap_hanging(
            &format!("{}: {cause}{remedy}", facts.join(", ")),
            2,
            4,
        ));
    }
    match text.is_empty() {
        true => text,
        false => format!("Not read\n{text}"),
    }
}
