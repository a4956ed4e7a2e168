//! The report as JSON.

use gigatcp_meter::doctor::{CostedFinding, HostFacts, Missing, Report};
use serde_json::{Value, json};

use super::Question;
use super::test::Test;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.doctor/3";

/// Report and its path as JSON.
pub(super) fn document(
    facts: &HostFacts,
    question: &Question,
    report: &Report,
    tests: &[Test],
) -> Value {
    let path = &question.path;
    let advice = report.advice(path);
    let first = advice.iter().flat_map(|advice| &advice.findings);
    let first: Vec<&str> = first.map(|found| found.rule.id).collect();
    let after = advice.as_ref().map(|advice| advice.after.as_bps());
    json!({
        "schema": SCHEMA,
        "host": facts.host,
        "kernel": facts.kernel,
        "destination": facts.destination,
        "interface": facts.device(),
        "path": {
            "rtt_ns": path.rtt.as_nanos(),
            "rtt_source": question.rtt.name(),
            "rate_bps": path.rate.as_bps(),
            "rate_source": question.rate.name(),
            "loss": path.loss.map(|p| p.as_f64()),
            "direction": path.direction.name(),
            "mss_bytes": path.mss.as_u64(),
        },
        "tests": tests,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "first": first,
        "after_first_fix_bps": after,
        "missing": report.missing.iter().map(missing).collect::<Vec<_>>(),
    })
}

fn finding(found: &CostedFinding) -> Value {
    let finding = &found.finding;
    json!({
        "id": found.rule.id,
        "name": found.rule.name,
        "subject": finding.subject,
        "place": finding.place,
        "overrides": finding.overrides,
        "effect": finding.effect,
        "direction": finding.direction.name(),
        "ceiling_bps": finding.ceiling.map(|rate| rate.as_bps()),
        "cost_bps": found.cost.map(|rate| rate.as_bps()),
        "delay_ns": finding.delay.map(|delay| delay.as_nanos()),
        "only_if": finding.only_if,
        "fix": finding.change.fix,
        "undo": finding.change.undo,
        "is_command": finding.change.is_command,
    })
}

fn missing(missing: &Missing) -> Value {
    json!({
        "fact": missing.fact,
        "cause": missing.cause,
        "grant": missing.grant,
        "rules": missing.rules,
    })
}
