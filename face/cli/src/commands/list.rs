//! `gigatcp list`: lists available names and keys, generated from their definitions.

use clap_complete::engine::ArgValueCompleter;
use gigatcp_path::queue;
use gigatcp_plan::keys::{Fallback, KeyTable, LINK, TABLES};
use gigatcp_report::escape::terminal;
use gigatcp_report::grid::{Align, grid};
use gigatcp_tcp::congestion;
use gigatcp_units::settings::Parameter;
use serde::Serialize;

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
    if arguments.what == What::Experiments {
        list_experiments(arguments)?;
    } else if arguments.json {
        print(lists(arguments.what))?;
    } else {
        output::print_lines(&text(arguments)?)?;
    }
    Ok(Outcome::Done)
}

/// One of the lists as JSON.
fn lists(what: What) -> Lists {
    let mut lists = Lists::default();
    match what {
        What::Experiments => {}
        What::Keys => lists.tables = Some(TABLES.iter().map(Table::of).collect()),
        What::Controls => lists.controls = Some(controls().collect()),
        What::Queues => lists.queues = Some(queues().collect()),
        What::Applications => lists.applications = Some(applications().collect()),
        What::Links => lists.tables = Some(vec![Table::of(&LINK)]),
        What::Profiles => lists.profiles = Some(profiles::all()),
    }
    lists
}

/// A line for each, or one or all in full.
fn text(arguments: &Arguments) -> Result<String, Failure> {
    let (name, is_full) = (arguments.name.as_deref(), arguments.verbose);
    match arguments.what {
        What::Keys => keys::text(name, is_full),
        What::Links => keys::links(name, is_full),
        What::Profiles => match (name, is_full) {
            (None, true) => Ok(profiles::text()),
            (None, false) => Ok(profiles::brief()),
            (Some(name), _) => profiles::one(name).ok_or_else(|| {
                let names = profiles::all();
                unknown(
                    name,
                    "profiles",
                    &names
                        .iter()
                        .map(|profile| profile.name())
                        .collect::<Vec<_>>(),
                )
            }),
        },
        What::Controls => {
            let some = named(controls().collect(), name, "controls", |control| {
                control.name
            })?;
            Ok(controls_text(&some, is_full || name.is_some()))
        }
        What::Queues => {
            let some = named(queues().collect(), name, "queues", |queue| queue.name)?;
            Ok(choices_text(some, is_full || name.is_some()))
        }
        What::Applications => {
            let some = named(
                applications().collect(),
                name,
                "applications",
                |application| application.name,
            )?;
            Ok(choices_text(some, is_full || name.is_some()))
        }
        What::Experiments => Ok(String::new()),
    }
}

/// The one of that name, or all.
fn named<T>(
    all: Vec<T>,
    name: Option<&str>,
    what: &str,
    name_of: fn(&T) -> &str,
) -> Result<Vec<T>, Failure> {
    let Some(name) = name else {
        return Ok(all);
    };
    let names: Vec<String> = all.iter().map(|item| name_of(item).to_owned()).collect();
    let some: Vec<T> = all
        .into_iter()
        .filter(|item| name_of(item) == name)
        .collect();
    match some.is_empty() {
        false => Ok(some),
        true => Err(unknown(
            name,
            what,
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        )),
    }
}

fn unknown(name: &str, what: &str, known: &[&str]) -> Failure {
    Failure::new(format!("`{name}` is none of the {what}"))
        .effect("nothing was listed")
        .hint(nearest::hint(name, what, known))
        .hint(format!("`gigatcp list {what}` lists them"))
}

fn print(lists: Lists) -> Result<(), Failure> {
    output::print_json(&Lists {
        schema: SCHEMA,
        ..lists
    })
}

fn list_experiments(arguments: &Arguments) -> Result<(), Failure> {
    let known = Experiments::known();
    let names = named(
        known.names().collect(),
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
        return print(Lists {
            experiments: Some(experiments),
            ..Lists::default()
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

fn controls() -> impl Iterator<Item = Control> {
    let convert = |entry: &gigatcp_tcp::congestion::Entry| Control {
        name: entry.name,
        summary: entry.summary,
        family: entry.family.name(),
        reacts_to: entry.reacts_to,
        deployed: entry.deployed,
    };
    congestion::entries().map(convert)
}

/// A line for each, in full two.
fn controls_text(some: &[Control], is_full: bool) -> String {
    let lines = |control: &Control| {
        let second = format!(
            "{}; reacts to {}; deployed: {}",
            control.family, control.reacts_to, control.deployed
        );
        // Its sources are in brackets at the end.
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

fn queues() -> impl Iterator<Item = Choice> {
    let entries = queue::REGISTRY.iter();
    entries.map(|entry| {
        let parameters = [entry.parameters, entry.class_parameters].concat();
        Choice::of(entry.name, entry.summary, &parameters)
    })
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

/// A line for each, in full also one for each of its settings.
fn choices_text(choices: Vec<Choice>, is_full: bool) -> String {
    if !is_full {
        let line = |choice: &Choice| vec![choice.name.to_owned(), choice.summary.to_owned()];
        let cells: Vec<_> = choices.iter().map(line).collect();
        return grid(&[Align::Left; 2], &cells) + "with NAME, or -v: also the settings\n";
    }
    let mut cells = Vec::new();
    for choice in choices {
        let blank = String::new;
        cells.push(vec![
            choice.name.to_owned(),
            blank(),
            blank(),
            choice.summary.to_owned(),
        ]);
        cells.extend(choice.settings.into_iter().map(|setting| {
            let default = setting.default.unwrap_or_else(|| "off".to_owned());
            vec![
                blank(),
                setting.name.to_owned(),
                default,
                setting.summary.to_owned(),
            ]
        }));
    }
    grid(&[Align::Left; 4], &cells)
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
