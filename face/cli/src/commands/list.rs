//! `gigatcp list`: lists available names and keys, generated from their definitions.

use clap_complete::engine::ArgValueCompleter;
use gigatcp_path::queue;
use gigatcp_plan::keys::{Fallback, Key, KeyTable, LINK, TABLES};
use gigatcp_report::escape::terminal;
use gigatcp_report::grid::{Align, grid};
use gigatcp_tcp::congestion;
use gigatcp_tcp::profile::Profile;
use gigatcp_units::settings::Parameter;
use serde::Serialize;
use serde_json::{Value, json};

mod keys;

use super::Outcome;
use crate::experiments::{Experiments, Place};
use crate::failure::Failure;
use crate::plan_file::PlanFile;
use crate::{complete, nearest, output, profiles};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.list/1";

/// Command-line arguments of `list`.
#[derive(clap::Args, Debug)]
#[command(
    about = "List experiments, keys of a plan, congestion controls, queues, applications, links or profiles",
    long_about = "\
List experiments (the default), the keys of a plan, congestion controls, queue disciplines, \
applications, keys of links, or profiles of hosts. NAME shows one entry in full: a table or key of \
a plan, a control, queue, application or profile. -v shows all of these in full.

Experiments are built in. In a checkout those of the directory `experiments` win, in this or a \
parent directory.",
    after_help = "\
Examples:
  gigatcp list                    experiments, for `gigatcp run NAME`
  gigatcp list keys               tables of a plan
  gigatcp list keys flow          keys of a table; flow.window: one key
  gigatcp list keys -v | less     everything a plan can say, with defaults
  gigatcp list controls           for congestion_control in [flow]
  gigatcp list controls cubic     one in full
  gigatcp list queues             for queue in [path] and hops, and `emulate --queue`
  gigatcp list applications       for application in [flow]
  gigatcp list links              everything [[link]] and hops can do
  gigatcp list profiles           for profile in [sender] and [receiver]
  gigatcp list --json | jq -r '.experiments[].name'"
)]
pub(crate) struct Arguments {
    /// Kind of entries to list
    #[arg(value_enum, default_value = "experiments")]
    what: What,

    /// Show one in full, by its name: a table, key, control, queue, application or profile
    #[arg(conflicts_with = "json", add = ArgValueCompleter::new(complete::listed))]
    name: Option<String>,

    /// Show all in full
    #[arg(long, short, conflicts_with_all = ["json", "name"])]
    verbose: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Lists that can be printed.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Experiments, built in or of this checkout
    Experiments,
    /// Keys of a plan, with their values and defaults
    Keys,
    /// Congestion controls
    Controls,
    /// Queue disciplines and their settings
    Queues,
    /// Applications and their settings
    Applications,
    /// Keys of a link or hop
    Links,
    /// Profiles of hosts and their settings
    Profiles,
}

#[derive(Serialize, Debug)]
struct Experiment {
    name: String,
    file: String,
    /// `directory` or `built-in`.
    source: &'static str,
    differs_from_built_in: bool,
    title: Option<String>,
    series: Vec<String>,
    claims: Vec<String>,
    error: Option<String>,
}

/// Experiments as JSON, in the order of their fields.
#[derive(Serialize, Debug)]
struct Listed<'a> {
    schema: &'static str,
    experiments: &'a [Experiment],
}

/// Prints the list.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.what == What::Experiments {
        list_experiments(arguments)?;
    } else if arguments.json {
        let (name, list) = json(arguments.what);
        output::print_json(&json!({ "schema": SCHEMA, name: list }))?;
    } else {
        output::print_lines(&text(arguments)?)?;
    }
    Ok(Outcome::Done)
}

/// A list under its name.
fn json(what: What) -> (&'static str, Value) {
    match what {
        What::Keys => ("tables", TABLES.iter().map(table).collect()),
        What::Links => ("tables", std::iter::once(&LINK).map(table).collect()),
        What::Controls => ("controls", congestion::entries().map(control).collect()),
        What::Queues => ("queues", queues().map(|queue| queue.json()).collect()),
        What::Applications => {
            let applications = applications().map(|application| application.json());
            ("applications", applications.collect())
        }
        What::Profiles => ("profiles", profiles::json()),
        What::Experiments => ("experiments", Value::Null),
    }
}

fn table(table: &KeyTable) -> Value {
    let key = |key: &Key| {
        json!({
            "name": key.name,
            "takes": key.kind.to_string(),
            "default": match key.default {
                Fallback::Required => None,
                Fallback::Is(value) => Some(value),
            },
            "example": key.example,
            "summary": key.summary,
        })
    };
    json!({
        "heading": table.heading,
        "summary": table.summary,
        "keys": table.keys().map(key).collect::<Vec<_>>(),
        "takes_profile_settings": table.has_settings,
    })
}

fn control(entry: &'static congestion::Entry) -> Value {
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "family": entry.family.name(),
        "reacts_to": entry.reacts_to,
        "deployed": entry.deployed,
    })
}

fn text(arguments: &Arguments) -> Result<String, Failure> {
    let (name, is_verbose) = (arguments.name.as_deref(), arguments.verbose);
    let is_full = is_verbose || name.is_some();
    match arguments.what {
        What::Keys => keys::text(name, is_verbose),
        What::Links => keys::links(name, is_verbose),
        What::Profiles => match name {
            None if is_verbose => Ok(profiles::text()),
            None => Ok(profiles::brief()),
            Some(name) => profiles::one(name).ok_or_else(|| {
                unknown(
                    name,
                    "profiles",
                    Profile::ALL.iter().map(|known| known.name),
                )
            }),
        },
        What::Controls => {
            let controls = named(congestion::entries(), name, "controls", |control| {
                control.name
            })?;
            Ok(controls_text(&controls, is_full))
        }
        What::Queues => {
            let queues = named(queues(), name, "queues", |queue| queue.name)?;
            Ok(choices_text(&queues, is_full))
        }
        What::Applications => {
            let known = named(applications(), name, "applications", |known| known.name)?;
            Ok(choices_text(&known, is_full))
        }
        What::Experiments => Ok(String::new()),
    }
}

/// The entry of this name, or all.
fn named<T>(
    known: impl Iterator<Item = T>,
    name: Option<&str>,
    what: &str,
    name_of: fn(&T) -> &str,
) -> Result<Vec<T>, Failure> {
    let mut known: Vec<T> = known.collect();
    if let Some(name) = name {
        if !known.iter().any(|entry| name_of(entry) == name) {
            return Err(unknown(name, what, known.iter().map(name_of)));
        }
        known.retain(|entry| name_of(entry) == name);
    }
    Ok(known)
}

fn unknown<'a>(name: &str, what: &str, known: impl IntoIterator<Item = &'a str>) -> Failure {
    let known: Vec<&str> = known.into_iter().collect();
    Failure::new(format!("`{name}` is none of the {what}"))
        .effect("nothing was listed")
        .hint(nearest::hint(name, what, &known))
        .hint(format!("`gigatcp list {what}` lists them"))
}

fn list_experiments(arguments: &Arguments) -> Result<(), Failure> {
    let known = Experiments::known();
    let names = named(
        known.names(),
        arguments.name.as_deref(),
        "experiments",
        |name| name,
    )?;
    let places = names
        .into_iter()
        .filter_map(|name| known.find(name).map(|place| (name, place)));
    let experiments: Vec<Experiment> = places
        .map(|(name, place)| Experiment::read(name, place))
        .collect();
    if arguments.json {
        return output::print_json(&Listed {
            schema: SCHEMA,
            experiments: &experiments,
        });
    }
    output::print_lines(&experiments_text(&experiments))?;
    output::say(&format!("\n{}", places_text(&known, &experiments)));
    Ok(())
}

/// Says where the experiments are, and which commands use one.
fn places_text(known: &Experiments, experiments: &[Experiment]) -> String {
    let commands = "`gigatcp run NAME` runs one, `gigatcp new NAME` copies one";
    let Some(directory) = known.directory() else {
        return format!("built in; {commands}");
    };
    let differing: Vec<&str> = experiments
        .iter()
        .filter(|experiment| experiment.differs_from_built_in)
        .map(|experiment| experiment.name.as_str())
        .collect();
    let differing = match differing[..] {
        [] => String::new(),
        _ => format!("\nnot as built in: {}", differing.join(", ")),
    };
    let is_built_in = |experiment: &Experiment| experiment.source == "built-in";
    let others = match experiments
        .iter()
        .filter(|experiment| is_built_in(experiment))
        .count()
    {
        0 => String::new(),
        count => format!(" ({count} built in)"),
    };
    format!("in {}{others}; {commands}{differing}", directory.display())
}

impl Experiment {
    fn read(name: &str, place: Place) -> Self {
        let empty = Self {
            name: name.to_owned(),
            file: place.plan(),
            source: match place {
                Place::Directory(_) => "directory",
                Place::BuiltIn(_) => "built-in",
            },
            differs_from_built_in: place.differs(name),
            title: None,
            series: Vec::new(),
            claims: Vec::new(),
            error: None,
        };
        match PlanFile::of(place).and_then(|plan| plan.parse_silently(&[])) {
            Ok(plan) => Self {
                title: Some(plan.title),
                series: plan.series.into_iter().map(|series| series.name).collect(),
                claims: plan.claims,
                ..empty
            },
            Err(_) => Self {
                error: Some(format!("cannot be read: see `gigatcp check {name}`")),
                ..empty
            },
        }
    }
}

fn experiments_text(experiments: &[Experiment]) -> String {
    let line = |experiment: &Experiment| {
        let count = match experiment.series.len() {
            0 => String::new(),
            count => format!("{count} series"),
        };
        let title = experiment
            .title
            .as_ref()
            .or(experiment.error.as_ref())
            .map(|text| terminal(text))
            .unwrap_or_default();
        vec![terminal(&experiment.name), count, title]
    };
    let cells: Vec<_> = experiments.iter().map(line).collect();
    grid(&[Align::Left, Align::Right, Align::Left], &cells)
}
fn controls_text(some: &[&'static congestion::Entry], is_full: bool) -> String {
    let lines = |control: &&'static congestion::Entry| {
        let second = format!(
            "{}; reacts to {}; deployed: {}",
            control.family.name(),
            control.reacts_to,
            control.deployed
        );
        // The source in parentheses at the end belongs to the full text.
        let end = control.summary.rfind(" (").filter(|_| !is_full);
        let summary = &control.summary[..end.unwrap_or(control.summary.len())];
        let first = vec![control.name.to_owned(), summary.to_owned()];
        let second = is_full.then(|| vec![String::new(), second]);
        std::iter::once(first).chain(second).collect::<Vec<_>>()
    };
    let cells: Vec<_> = some.iter().flat_map(lines).collect();
    let note = if is_full {
        "With sender.stack = \"kernel\", live: any that the kernel has, and BPF objects (bpf:FILE.o).\n"
            .to_owned()
    } else {
        format!(
            "{} congestion controls, and `fixed`: none. `gigatcp list controls NAME` says more\n",
            congestion::REGISTRY.len()
        )
    };
    grid(&[Align::Left, Align::Left], &cells) + &note
}

/// A queue discipline or an application.
struct Choice {
    name: &'static str,
    summary: &'static str,
    settings: Vec<Parameter>,
}

fn queues() -> impl Iterator<Item = Choice> {
    queue::REGISTRY.iter().map(|entry| Choice {
        name: entry.name,
        summary: entry.summary,
        settings: [entry.parameters, entry.class_parameters].concat(),
    })
}

fn applications() -> impl Iterator<Item = Choice> {
    gigatcp_app::REGISTRY.iter().map(|entry| Choice {
        name: entry.name,
        summary: entry.summary,
        settings: entry.parameters.to_vec(),
    })
}

impl Choice {
    fn json(&self) -> Value {
        let setting = |setting: &Parameter| {
            json!({
                "name": setting.name,
                "takes": setting.least.kind(),
                "default": setting.default.map(|value| value.to_string()),
                "least": setting.least.to_string(),
                "most": setting.most.to_string(),
                "summary": setting.summary,
            })
        };
        let settings: Vec<Value> = self.settings.iter().map(setting).collect();
        json!({ "name": self.name, "summary": self.summary, "settings": settings })
    }
}

fn choices_text(choices: &[Choice], is_full: bool) -> String {
    if !is_full {
        let line = |choice: &Choice| vec![choice.name.to_owned(), choice.summary.to_owned()];
        let cells: Vec<_> = choices.iter().map(line).collect();
        return grid(&[Align::Left; 2], &cells) + "with NAME, or -v: also the settings\n";
    }
    let mut cells = Vec::new();
    for choice in choices {
        cells.push(
            [choice.name, "", "", choice.summary]
                .map(str::to_owned)
                .to_vec(),
        );
        cells.extend(choice.settings.iter().map(|setting| {
            let default = setting.default.map(|value| value.to_string());
            let default = default.unwrap_or_else(|| "off".to_owned());
            ["", setting.name, &default, setting.summary]
                .map(str::to_owned)
                .to_vec()
        }));
    }
    grid(&[Align::Left; 4], &cells)
}
