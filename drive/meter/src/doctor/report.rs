//! Applies the rules to a host and a path.

use gigatcp_units::Rate;

use crate::doctor::facts::{Fact, HostFacts};
use crate::doctor::finding::Finding;
use crate::doctor::law;
use crate::doctor::path::Path;
use crate::doctor::rules::{RULES, Rule};

/// A finding, the rule that made it, and its cost.
#[derive(Clone, Debug)]
pub struct CostedFinding {
    /// The rule.
    pub rule: &'static Rule,
    /// The finding.
    pub finding: Finding,
    /// The rate of the path less the ceiling; `None` if no law gives a ceiling.
    pub cost: Option<Rate>,
}

/// A fact that a rule needs and that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Name of the fact.
    pub fact: String,
    /// Reason why it could not be read.
    pub cause: String,
    /// Access required to read it; `None` if it does not exist on this host.
    pub grant: Option<String>,
    /// Ids of the rules that need it.
    pub rules: Vec<&'static str>,
}

/// Findings of all rules.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Findings in order of severity. First those that always limit, the costliest first, then
    /// those without a ceiling, then those that limit only under a condition.
    pub findings: Vec<CostedFinding>,
    /// Facts that rules need and that could not be read.
    pub missing: Vec<Missing>,
}

impl Report {
    /// Commands that change unconditional findings, or conditional ones. Each occurs once, in the
    /// order of the findings.
    pub fn fixes(&self, is_conditional: bool) -> Vec<&str> {
        let findings = self.findings.iter().map(|found| &found.finding);
        let wanted = findings.filter(|finding| finding.only_if.is_some() == is_conditional);
        let commands = wanted
            .map(|finding| &finding.change)
            .filter(|change| change.is_command);
        distinct(commands.map(|change| change.fix.as_str()))
    }

    /// Commands that restore the values read, each once, in the order of the findings.
    pub fn undos(&self) -> Vec<&str> {
        let commands = self.findings.iter();
        distinct(commands.filter_map(|found| found.finding.change.undo.as_deref()))
    }

    /// First change to make; `None` if no finding always limits.
    pub fn advice(&self, path: &Path) -> Option<Advice<'_>> {
        let mut always = self.findings.iter().filter(|found| found.is_certain());
        let first = always.next()?;
        let side = first.finding.direction;
        let ceiling = first.finding.ceiling?;
        let as_low = law::scaled(ceiling, 1.0 + TOLERANCE);
        let of_side: Vec<&CostedFinding> = always
            .filter(|found| found.finding.direction.overlaps(side))
            .collect();
        let is_as_low = |found: &&CostedFinding| found.finding.ceiling <= Some(as_low);
        let mut findings = Vec::from([first]);
        findings.extend(of_side.iter().copied().filter(is_as_low));
        let is_ended = |found: &CostedFinding| {
            let mut ended = findings.iter().map(|costed| &costed.finding.change.fix);
            ended.any(|fix| *fix == found.finding.change.fix)
        };
        let next = of_side.iter().find(|found| !is_ended(found));
        let after = next.and_then(|found| found.finding.ceiling);
        Some(Advice {
            findings,
            ceiling,
            after: after.unwrap_or(path.rate),
        })
    }
}

/// The first change to make: the finding with the lowest ceiling. It includes findings that are as
/// low within the tolerance of the laws, as one change alone might gain nothing.
#[derive(Clone, Debug)]
pub struct Advice<'a> {
    /// The findings, the lowest ceiling first.
    pub findings: Vec<&'a CostedFinding>,
    /// The lowest ceiling.
    pub ceiling: Rate,
    /// The rate after their commands. Other findings that a command removes do not count then.
    pub after: Rate,
}

impl Advice<'_> {
    /// Commands, each once.
    pub fn fixes(&self) -> Vec<&str> {
        let changes = self.findings.iter().map(|found| &found.finding.change);
        let commands = changes.filter(|change| change.is_command);
        distinct(commands.map(|change| change.fix.as_str()))
    }
}

/// Tolerance of a measurement against a ceiling, as a fraction of it.
const TOLERANCE: f64 = 0.2;

impl CostedFinding {
    /// Whether it always limits, and to a known rate.
    pub fn is_certain(&self) -> bool {
        self.cost.is_some() && self.finding.only_if.is_none()
    }
}

/// Applies every rule.
pub fn examine(facts: &HostFacts, path: &Path) -> Report {
    let mut findings: Vec<CostedFinding> = RULES
        .iter()
        .filter_map(|rule| found(rule, facts, path))
        .collect();
    let order = |found: &CostedFinding| {
        let ceiling = found.finding.ceiling.unwrap_or(Rate::MAX);
        (found.finding.only_if.is_some(), ceiling)
    };
    findings.sort_by_key(order);
    join_route_changes(facts, &mut findings);
    Report {
        findings,
        missing: missing(facts),
    }
}

/// Merges the changes of the route into one command, as each alone would undo others. First come
/// the findings that always limit, then those and the conditional ones.
fn join_route_changes(facts: &HostFacts, findings: &mut [CostedFinding]) {
    let Some(route) = &facts.route else {
        return;
    };
    let mut joined = route.metrics.clone();
    let mut further = String::new();
    for is_conditional in [false, true] {
        let is_of_pass = |found: &CostedFinding| found.finding.only_if.is_some() == is_conditional;
        for found in findings.iter().filter(|found| is_of_pass(found)) {
            let change = &found.finding.change;
            if let Some(changed) = &change.metrics {
                joined.apply(&route.metrics, changed);
            }
            if let Some(command) = &change.further {
                further.push_str(" && ");
                further.push_str(command);
            }
        }
        for found in findings.iter_mut().filter(|found| is_of_pass(found)) {
            if found.finding.change.metrics.is_some() {
                found.finding.change.fix = route.replace(&joined) + &further;
            }
        }
    }
}

fn found(rule: &'static Rule, facts: &HostFacts, path: &Path) -> Option<CostedFinding> {
    let finding = (rule.check)(facts, path)?;
    if !finding.direction.overlaps(path.direction) {
        return None;
    }
    let cost = finding.ceiling.map(|ceiling| {
        let lost = path.rate.as_bps().saturating_sub(ceiling.as_bps());
        Rate::from_bps(lost)
    });
    Some(CostedFinding {
        rule,
        finding,
        cost,
    })
}

fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

fn missing(facts: &HostFacts) -> Vec<Missing> {
    let mut needed: Vec<Fact> = RULES.iter().flat_map(|rule| rule.needs).copied().collect();
    needed.sort();
    needed.dedup();
    needed.retain(|fact| !fact.is_known(facts));
    let missing = needed.into_iter().map(|fact| {
        let known = facts.unreadable.get(fact.name());
        let needing = RULES.iter().filter(|rule| rule.needs.contains(&fact));
        Missing {
            fact: fact.name().to_string(),
            cause: known.map_or_else(|| "not in the facts".to_string(), |why| why.cause.clone()),
            grant: known.and_then(|why| why.grant.clone()),
            rules: needing.map(|rule| rule.id).collect(),
        }
    });
    missing.collect()
}
