//! `gigatcp explain`: describes a cause of `why` or a rule of `doctor`, and how it is detected.

use clap_complete::engine::ArgValueCompleter;
use gigatcp_meter::doctor::{RULES, Rule};
use gigatcp_report::grid::{Align, grid};
use gigatcp_report::prose::wrap;
use gigatcp_why::{CAUSES, Cause, find};
use serde_json::{Value, json};

use super::Outcome;
use crate::failure::Failure;
use crate::{complete, nearest, output};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.explain/3";

/// Command-line arguments of `explain`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Describe a verdict of `why` or a rule of `doctor`: meaning, detection, fix",
    after_help = "\
Examples:
  gigatcp explain                                all verdicts and rules
  gigatcp explain rx-ring-overrun                a verdict of `why`
  gigatcp explain receive-buffer-max             a rule of `doctor`
  gigatcp explain --json                         all of them, as JSON"
)]
pub(crate) struct Arguments {
    /// Id of a verdict or rule; without it, all are listed
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::explained))]
    id: Option<String>,

    /// List each with its title, a line each
    #[arg(long, short, conflicts_with_all = ["json", "id"])]
    verbose: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints one description, or the list of ids.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (causes, rules): (Vec<&Cause>, Vec<&Rule>) = match &arguments.id {
        None => (CAUSES.to_vec(), RULES.iter().collect()),
        Some(id) => match (find(id), gigatcp_meter::doctor::find(id)) {
            (Some(cause), _) => (vec![cause], vec![]),
            (None, Some(rule)) => (vec![], vec![rule]),
            (None, None) => return Err(unknown(id)),
        },
    };
    if arguments.json {
        let causes: Vec<Value> = causes.into_iter().map(cause_json).collect();
        let rules: Vec<Value> = rules.into_iter().map(rule_json).collect();
        output::print_json(&json!({ "schema": SCHEMA, "verdicts": causes, "rules": rules }))?;
        return Ok(Outcome::Done);
    }
    output::print(&match (&arguments.id, &causes[..], &rules[..]) {
        (Some(_), [cause], _) => page(cause),
        (Some(_), _, [rule]) => rule_page(rule),
        _ => list(&causes, &rules, arguments.verbose),
    })?;
    Ok(Outcome::Done)
}

/// All ids in columns, or with their titles, a line each.
fn list(causes: &[&Cause], rules: &[&Rule], is_full: bool) -> String {
    let causes: Vec<_> = causes.iter().map(|cause| (cause.id, cause.name)).collect();
    let rules: Vec<_> = rules.iter().map(|rule| (rule.id, rule.name)).collect();
    let lines = |names: &[(&str, &str)], columns: usize| {
        let cells: Vec<Vec<String>> = match is_full {
            true => names
                .iter()
                .map(|(id, name)| vec![(*id).into(), (*name).into()])
                .collect(),
            false => in_columns(names, columns),
        };
        grid(&[Align::Left; 3], &cells)
    };
    let more = if is_full {
        ""
    } else {
        "\ngigatcp explain ID: one of them; -v: with their titles\n"
    };
    format!(
        "Verdicts of `why`\n{}\nRules of `doctor`\n{}{more}",
        lines(&causes, 2),
        lines(&rules, 3)
    )
}

/// Ids from top to bottom, then from left to right.
fn in_columns(names: &[(&str, &str)], columns: usize) -> Vec<Vec<String>> {
    let height = names.len().div_ceil(columns);
    let line = |row: usize| {
        let ids = names.iter().skip(row).step_by(height);
        ids.map(|(id, _)| format!("  {id}")).collect()
    };
    (0..height).map(line).collect()
}

fn unknown(id: &str) -> Failure {
    let ids = CAUSES.iter().map(|cause| cause.id);
    let rules = RULES.iter().map(|rule| rule.id);
    let meant = match nearest::nearest(id, ids.chain(rules)) {
        Some(meant) => format!("did you mean `{meant}`? "),
        None => String::new(),
    };
    let counts = format!("{} verdicts and {} rules", CAUSES.len(), RULES.len());
    Failure::new(format!("there is no verdict or rule `{id}`"))
        .effect("nothing was explained")
        .hint(format!("{meant}there are {counts}"))
        .hint("`gigatcp explain` lists them")
}

fn page(cause: &Cause) -> String {
    let sections = [
        ("Meaning", cause.meaning),
        ("Detection", &cause.detection()),
        ("Confidence", cause.confidence),
        ("Capture points", cause.capture_points),
        ("Fix", cause.fix),
    ];
    described(cause.id, cause.name, &sections, cause.references)
}

fn rule_page(rule: &Rule) -> String {
    let sections = [
        ("Meaning", rule.meaning),
        ("Detection", rule.detection),
        ("Fix", rule.fix),
    ];
    described(rule.id, rule.name, &sections, rule.references)
}

fn described(id: &str, name: &str, sections: &[(&str, &str)], references: &[&str]) -> String {
    let mut text = format!("{id}: limited by {name}\n");
    for (title, words) in sections {
        text.push_str(&format!("\n{title}\n{}", wrap(words, 2)));
    }
    text.push_str("\nReferences\n");
    for reference in references {
        text.push_str(&wrap(reference, 2));
    }
    text
}

fn cause_json(cause: &Cause) -> Value {
    json!({
        "id": cause.id,
        "name": cause.name,
        "meaning": cause.meaning,
        "detection": cause.detection(),
        "confidence": cause.confidence,
        "capture_points": cause.capture_points,
        "fix": cause.fix,
        "references": cause.references,
    })
}

fn rule_json(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "meaning": rule.meaning,
        "detection": rule.detection,
        "fix": rule.fix,
        "references": rule.references,
        "needs": rule.needs.iter().map(|fact| fact.name()).collect::<Vec<_>>(),
    })
}
