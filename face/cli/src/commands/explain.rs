//! `gigatcp explain`: what a verdict means and how it is found.

use gigatcp_report::prose::wrap;
use gigatcp_why::{RULES, Rule, find};
use serde_json::{Value, json};

use super::Outcome;
use crate::failure::Failure;
use crate::grid::{Align, grid};
use crate::{nearest, output};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.explain/1";

/// What can be typed.
#[derive(clap::Args, Debug)]
#[command(
    about = "Explain a verdict of `why`: meaning, how it is found, how sure, what to do",
    after_help = "\
Examples:
  gigatcp explain                                which verdicts there are
  gigatcp explain rx-ring-overrun                one of them
  gigatcp explain --json                         all of them for programs"
)]
pub(crate) struct Arguments {
    /// Which one; without it, all are listed
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Print JSON instead of sentences
    #[arg(long)]
    json: bool,
}

/// Explains.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let rules: Vec<&Rule> = match &arguments.id {
        Some(id) => vec![known(id)?],
        None => RULES.to_vec(),
    };
    if arguments.json {
        let rules: Vec<Value> = rules.into_iter().map(rule_json).collect();
        output::print_json(&json!({ "schema": SCHEMA, "verdicts": rules }))?;
    } else if arguments.id.is_some() {
        for rule in rules {
            output::print(&page(rule))?;
        }
    } else {
        let cells: Vec<Vec<String>> = rules
            .into_iter()
            .map(|rule| vec![rule.id.into(), format!("limited by {}", rule.name)])
            .collect();
        output::print(&grid(&[Align::Left, Align::Left], &cells))?;
    }
    Ok(Outcome::Done)
}

fn known(id: &str) -> Result<&'static Rule, Failure> {
    find(id).ok_or_else(|| {
        let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        Failure::new(format!("there is no verdict `{id}`"))
            .hint(nearest::hint(id, "verdicts", &ids))
            .hint("`gigatcp explain` lists them")
    })
}

fn page(rule: &Rule) -> String {
    let mut text = format!("{}: limited by {}\n", rule.id, rule.name);
    for (title, words) in [
        ("What it means", rule.meaning),
        ("What is looked for", rule.looks_for),
        ("How sure", rule.how_sure),
        ("Seen from", rule.views),
        ("What to change", rule.change),
    ] {
        text.push_str(&format!("\n{title}\n{}", wrap(words, 2)));
    }
    text.push_str("\nReferences\n");
    for reference in rule.references {
        text.push_str(&wrap(reference, 2));
    }
    text
}

fn rule_json(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "meaning": rule.meaning,
        "looks_for": rule.looks_for,
        "how_sure": rule.how_sure,
        "views": rule.views,
        "change": rule.change,
        "references": rule.references,
    })
}
