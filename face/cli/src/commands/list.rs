//! `gigatcp list`: lists available names and keys, generated from their definitions.

use gigatcp_path::queue;
use gigatcp_plan::keys::{Fallback, KeyTable, LINK, TABLES};
use gigatcp_report::escape::terminal;
use gigatcp_tcp::congestion;
use gigatcp_units::settings::Parameter;
use serde::Serialize;

use super::Outcome;
use crate::experiments::{Experiments, Place};
use crate::failure::Failure;
use crate::grid::{Align, grid};
use crate::plan_file::PlanFile;
use crate::{output, profiles};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.list/1";

/// Command-line arguments of `list`.
#[derive(clap::Args, Debug)]
#[command(
    about = "List experiments, keys of a plan, congestion controls, queues, applications, links or profiles",
    long_about = "\
List what there is to choose from: experiments (the default), the keys of a plan, \
congestion controls, queue disciplines, applications, what a link can do, and profiles with all their settings.

Experiments are built in. In a checkout those of the directory `experiments` win, in this or a \
parent directory.",
    after_help = "\
Examples:
  gigatcp list                    experiments, for `gigatcp run NAME`
  gigatcp list keys | less        everything a plan can say, with defaults
  gigatcp list controls           for congestion_control in [flow]
  gigatcp list queues             for queue in [path] and hops, and `emulate --queue`
  gigatcp list applications       for application in [flow]
  gigatcp list links              everything [[link]] and hops can do
  gigatcp list profiles           for profile in [sender] and [receiver]
  gigatcp list --json | jq -r '.experiments[].name'"
)]
pub(crate) struct Arguments {
    /// What to list
    #[arg(value_enum, default_value = "experiments")]
    what: What,

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

/// Document printed by `--json`: the schema and one of the lists.
#[derive(Serialize, Default, Debug)]
struct Lists {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    experiments: Option<Vec<Experiment>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Vec<Table>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    controls: Option<Vec<Control>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<Vec<Choice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    applications: Option<Vec<Choice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profiles: Option<Vec<profiles::ProfileView>>,
}

/// A queue discipline or an application.
#[derive(Serialize, Debug)]
struct Choice {
    name: &'static str,
    summary: &'static str,
    settings: Vec<Setting>,
}

/// A setting of a queue discipline or application.
#[derive(Serialize, Debug)]
struct Setting {
    name: &'static str,
    takes: &'static str,
    /// `None`: off.
    default: Option<String>,
    least: String,
    most: String,
    summary: &'static str,
}

/// An experiment. If it cannot be read, only name, file and reason are set.
#[derive(Serialize, Debug)]
struct Experiment {
    name: String,
    file: String,
    /// `directory` or `built-in`.
    source: &'static str,
    /// Whether the directory's files differ from those built in.
    differs_from_built_in: bool,
    title: Option<String>,
    series: Vec<String>,
    claims: Vec<String>,
    error: Option<String>,
}

/// A congestion control.
#[derive(Serialize, Debug)]
struct Control {
    name: &'static str,
    summary: &'static str,
    family: &'static str,
    reacts_to: &'static str,
    deployed: &'static str,
}

/// A table of a plan.
#[derive(Serialize, Debug)]
struct Table {
    heading: &'static str,
    summary: &'static str,
    keys: Vec<Key>,
    /// Whether the settings of a profile are also keys of this table.
    takes_profile_settings: bool,
}

/// A key of a plan.
#[derive(Serialize, Debug)]
struct Key {
    name: &'static str,
    takes: String,
    /// `None`: the key is required.
    default: Option<&'static str>,
    example: &'static str,
    summary: &'static str,
}

/// Prints the requested list.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    match arguments.what {
        What::Experiments => list_experiments(arguments.json)?,
        What::Keys if arguments.json => print(Lists {
            tables: Some(TABLES.iter().map(Table::of).collect()),
            ..Lists::default()
        })?,
        What::Keys => output::print(&keys_text())?,
        What::Controls if arguments.json => print(Lists {
            controls: Some(controls()),
            ..Lists::default()
        })?,
        What::Controls => output::print(&controls_text())?,
        What::Queues if arguments.json => print(Lists {
            queues: Some(queues().collect()),
            ..Lists::default()
        })?,
        What::Queues => output::print(&choices_text(queues()))?,
        What::Applications if arguments.json => print(Lists {
            applications: Some(applications().collect()),
            ..Lists::default()
        })?,
        What::Applications => output::print(&choices_text(applications()))?,
        What::Links if arguments.json => print(Lists {
            tables: Some(vec![Table::of(&LINK)]),
            ..Lists::default()
        })?,
        What::Links => output::print(&LINK.to_string())?,
        What::Profiles if arguments.json => print(Lists {
            profiles: Some(profiles::all()),
            ..Lists::default()
        })?,
        What::Profiles => output::print(&profiles::text())?,
    }
    Ok(Outcome::Done)
}

fn print(lists: Lists) -> Result<(), Failure> {
    output::print_json(&Lists {
        schema: SCHEMA,
        ..lists
    })
}

fn list_experiments(json: bool) -> Result<(), Failure> {
    let known = Experiments::known();
    let places = known
        .names()
        .filter_map(|name| known.find(name).map(|place| (name, place)));
    let experiments: Vec<Experiment> = places
        .map(|(name, place)| Experiment::read(name, place))
        .collect();
    if json {
        return print(Lists {
            experiments: Some(experiments),
            ..Lists::default()
        });
    }
    output::print(&experiments_text(&experiments))?;
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
        .filter(|one| one.differs_from_built_in)
        .map(|one| one.name.as_str())
        .collect();
    let differing = match differing[..] {
        [] => String::new(),
        _ => format!("\nnot as built in: {}", differing.join(", ")),
    };
    let is_built_in = |one: &Experiment| one.source == "built-in";
    let others = match experiments.iter().filter(|one| is_built_in(one)).count() {
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
        let title = experiment.title.as_ref().or(experiment.error.as_ref());
        let title = title.map(|text| terminal(text)).unwrap_or_default();
        vec![terminal(&experiment.name), count, title]
    };
    let cells: Vec<_> = experiments.iter().map(line).collect();
    grid(&[Align::Left, Align::Right, Align::Left], &cells)
}

fn controls() -> Vec<Control> {
    let convert = |entry: &gigatcp_tcp::congestion::Entry| Control {
        name: entry.name,
        summary: entry.summary,
        family: entry.family.name(),
        reacts_to: entry.reacts_to,
        deployed: entry.deployed,
    };
    congestion::entries().map(convert).collect()
}

fn controls_text() -> String {
    let lines = |control: Control| {
        let second = format!(
            "{}; reacts to {}; deployed: {}",
            control.family, control.reacts_to, control.deployed
        );
        [
            vec![control.name.to_owned(), control.summary.to_owned()],
            vec![String::new(), second],
        ]
    };
    let cells: Vec<_> = controls().into_iter().flat_map(lines).collect();
    let kernels = "With sender.stack = \"kernel\", live: any that the kernel has.\n";
    grid(&[Align::Left, Align::Left], &cells) + kernels
}

fn queues() -> impl Iterator<Item = Choice> {
    let entries = queue::REGISTRY.iter();
    entries.map(|entry| Choice::of(entry.name, entry.summary, entry.parameters))
}

fn applications() -> impl Iterator<Item = Choice> {
    let entries = gigatcp_app::REGISTRY.iter();
    entries.map(|entry| Choice::of(entry.name, entry.summary, entry.parameters))
}

impl Choice {
    fn of(name: &'static str, summary: &'static str, parameters: &[Parameter]) -> Self {
        let setting = |one: &Parameter| Setting {
            name: one.name,
            takes: one.least.kind(),
            default: one.default.map(|value| value.to_string()),
            least: one.least.to_string(),
            most: one.most.to_string(),
            summary: one.summary,
        };
        Self {
            name,
            summary,
            settings: parameters.iter().map(setting).collect(),
        }
    }
}

/// Returns a line for each choice, and one for each of its settings.
fn choices_text(choices: impl Iterator<Item = Choice>) -> String {
    let mut cells = Vec::new();
    for choice in choices {
        let blank = String::new;
        cells.push(vec![
            choice.name.to_owned(),
            blank(),
            blank(),
            choice.summary.to_owned(),
        ]);
        cells.extend(choice.settings.into_iter().map(|one| {
            let default = one.default.unwrap_or_else(|| "off".to_owned());
            vec![
                blank(),
                one.name.to_owned(),
                default,
                one.summary.to_owned(),
            ]
        }));
    }
    grid(&[Align::Left; 4], &cells)
}

fn keys_text() -> String {
    let tables: Vec<String> = TABLES.iter().map(ToString::to_string).collect();
    tables.join("\n")
}

impl Table {
    fn of(table: &KeyTable) -> Self {
        Self {
            heading: table.heading,
            summary: table.summary,
            keys: table.keys().map(Key::of).collect(),
            takes_profile_settings: table.has_settings,
        }
    }
}

impl Key {
    fn of(key: &gigatcp_plan::keys::Key) -> Self {
        Self {
            name: key.name,
            takes: key.kind.to_string(),
            default: match key.default {
                Fallback::Required => None,
                Fallback::Is(value) => Some(value),
            },
            example: key.example,
            summary: key.summary,
        }
    }
}
