//! `gigatcp check`: reads a plan and shows what it would run.

mod view;

use std::path::PathBuf;

use clap_complete::engine::ArgValueCompleter;
use gigatcp_report::diagnostics::{self, Finding};
use serde::Serialize;

use self::view::PlanView;
use super::Outcome;
use crate::failure::Failure;
use crate::plan_file::PlanFile;
use crate::{complete, output};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.check/1";

/// Command-line arguments of `check`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Validate a plan and show what it would run",
    long_about = "\
Validate a plan and show what it would run: its series and flows, and the path and hosts they \
use, and every key that is set for them.

Errors are shown with their line and a correction; the exit status is then 2. With --json they \
are on stdout for editors and scripts, as `diagnostics` with line and column.",
    after_help = "\
Examples:
  gigatcp check my.toml
  gigatcp check fink-slow-start
  gigatcp check my.toml --set flow.window='60 MB'     is the override right?
  gigatcp check my.toml --json | jq '.diagnostics[]'"
)]
pub(crate) struct Arguments {
    /// Name of an experiment (see `gigatcp list`), or path of a plan
    #[arg(value_name = "NAME|PLAN.toml", add = ArgValueCompleter::new(complete::plans))]
    plan: PathBuf,

    /// Change the plan, as in `gigatcp run`. May be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::changes))]
    overrides: Vec<String>,

    /// Show all series, and the path and hosts of each
    #[arg(long, short, conflicts_with = "json")]
    verbose: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Document printed by `--json`.
#[derive(Serialize, Debug)]
struct Checked {
    schema: &'static str,
    file: String,
    valid: bool,
    diagnostics: Vec<Finding>,
    plan: Option<PlanView>,
}

/// Checks the plan.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let file = PlanFile::find(&arguments.plan)?;
    if arguments.json {
        return run_json(&file, &arguments.overrides);
    }
    let template = file.template(&arguments.overrides)?;
    output::print_lines(&PlanView::of(&template).text(arguments.verbose))?;
    Ok(Outcome::Done)
}

fn run_json(file: &PlanFile, overrides: &[String]) -> Result<Outcome, Failure> {
    let (plan, findings) = match file.template_silently(overrides) {
        Ok(template) => (
            Some(PlanView::of(&template)),
            template.plan().warnings.clone(),
        ),
        Err(Failure::Plan(findings)) => (None, *findings),
        Err(other) => return Err(other),
    };
    let valid = plan.is_some();
    output::print_json(&Checked {
        schema: SCHEMA,
        file: file.name().to_owned(),
        valid,
        diagnostics: diagnostics::list(&findings),
        plan,
    })?;
    Ok(if valid {
        Outcome::Done
    } else {
        Outcome::Refused
    })
}
