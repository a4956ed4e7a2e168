//! `gigatcp explain`: what a verdict means and how it is found.

use gigatcp_report::prose::wrap;
use gigatcp_why::{CAUSES, Cause, find};
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
    let causes: Vec<&Cause> = match &arguments.id {
        Some(id) => vec![known(id)?],
        None => CAUSES.to_vec(),
    };
    if arguments.json {
        let causes: Vec<Value> = causes.into_iter().map(cause_json).collect();
        output::print_json(&json!({ "schema": SCHEMA, "verdicts": causes }))?;
    } else if arguments.id.is_some() {
        for cause in causes {
            output::print(&page(cause))?;
        }
    } else {
        let cells: Vec<Vec<String>> = causes
            .into_iter()
            .map(|cause| vec![cause.id.into(), format!("limited by {}", cause.name)])
            .collect();
        output::print(&grid(&[Align::Left, Align::Left], &cells))?;
    }
    Ok(Outcome::Done)
}

fn known(id: &str) -> Result<&'static Cause, Failure> {
    find(id).ok_or_else(|| {
        let ids: Vec<&str> = CAUSES.iter().map(|cause| cause.id).collect();
        Failure::new(format!("there is no verdict `{id}`"))
            .hint(nearest::hint(id, "verdicts", &ids))
            .hint("`gigatcp explain` lists them")
    })
}

fn page(cause: &Cause) -> String {
    let mut text = format!("{}: limited by {}\n", cause.id, cause.name);
    for (title, words) in [
        ("What it means", cause.meaning),
        ("What is looked for", cause.detection),
        ("How sure", cause.confidence),
        ("Seen from", cause.capture_points),
        ("What to change", cause.fix),
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
    json!({
        "id": cause.id,
        "name": cause.name,
        "meaning": cause.meaning,
        "detection": cause.detection,
        "confidence": cause.confidence,
        "capture_points": cause.capture_points,
        "fix": cause.fix,
        "references": cause.references,
    })
}
