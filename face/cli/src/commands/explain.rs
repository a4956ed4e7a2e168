//! `gigatcp explain`: what a cause means and how it is detected.

use gigatcp_report::prose::wrap;
use gigatcp_why::{ALIASES, CAUSES, Cause, find};
use serde_json::{Value, json};

use super::Outcome;
use crate::failure::Failure;
use crate::grid::{Align, grid};
use crate::{nearest, output};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.explain/2";

/// Command-line arguments of `explain`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Describe a verdict of `why`: meaning, detection, confidence, fix",
    after_help = "\
Examples:
  gigatcp explain                                all verdicts
  gigatcp explain rx-ring-overrun                one of them
  gigatcp explain --json                         all of them, as JSON"
)]
pub(crate) struct Arguments {
    /// Id of a verdict; without it, all are listed
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints one description, or the list of ids.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let causes: Vec<&Cause> = match &arguments.id {
        Some(id) => vec![known(id)?],
        None => CAUSES.to_vec(),
    };
    if arguments.json {
        let causes: Vec<Value> = causes.into_iter().map(cause_json).collect();
        output::print_json(&json!({ "schema": SCHEMA, "verdicts": causes }))?;
    } else if let (Some(id), [cause]) = (&arguments.id, &causes[..]) {
        output::print(&(renamed(id, cause) + &page(cause)))?;
    } else {
        let cells: Vec<Vec<String>> = causes
            .into_iter()
            .map(|cause| vec![cause.id.into(), cause.name.into()])
            .collect();
        output::print(&grid(&[Align::Left, Align::Left], &cells))?;
    }
    Ok(Outcome::Done)
}

fn known(id: &str) -> Result<&'static Cause, Failure> {
    find(id).ok_or_else(|| {
        let ids = CAUSES.iter().map(|cause| cause.id);
        let old = ALIASES.iter().map(|(old, _)| *old);
        let meant = match nearest::nearest(id, ids.chain(old)) {
            Some(meant) => format!("did you mean `{meant}`? "),
            None => String::new(),
        };
        Failure::new(format!("there is no verdict `{id}`"))
            .hint(format!("{meant}there are {} verdicts", CAUSES.len()))
            .hint("`gigatcp explain` lists them")
    })
}

/// Says that an id of an earlier version has another name now; empty for other ids.
fn renamed(id: &str, cause: &Cause) -> String {
    if id == cause.id {
        String::new()
    } else {
        format!("{id} is now called {}.\n\n", cause.id)
    }
}

fn page(cause: &Cause) -> String {
    let mut text = format!("{}: limited by {}\n", cause.id, cause.name);
    for (title, words) in [
        ("Meaning", cause.meaning),
        ("Detection", cause.detection),
        ("Confidence", cause.confidence),
        ("Capture points", cause.capture_points),
        ("Fix", cause.fix),
    ] {
        text.push_str(&format!("\n{title}\n{}", wrap(words, 2)));
    }
    text.push_str("\nReferences\n");
    for reference in cause.references {
        text.push_str(&wrap(reference, 2));
    }
    text
}

fn cause_json(cause: &Cause) -> Value {
    let aliases = ALIASES.iter().filter(|(_, new)| *new == cause.id);
    json!({
        "id": cause.id,
        "aliases": aliases.map(|(old, _)| old).collect::<Vec<_>>(),
        "name": cause.name,
        "meaning": cause.meaning,
        "detection": cause.detection,
        "confidence": cause.confidence,
        "capture_points": cause.capture_points,
        "fix": cause.fix,
        "references": cause.references,
    })
}
