//! Shell completion: experiments, and keys of a plan with their values.
//!
//! The shell runs this program for candidates (`gigatcp completions`). So a new experiment
//! directory, congestion control or key is offered without further work.

use std::ffi::OsStr;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use gigatcp_path::queue;
use gigatcp_plan::keys::{HOP, Key, Kind, TABLES};
use gigatcp_tcp::congestion;
use gigatcp_tcp::profile::{Profile, SETTINGS};

use crate::commands::emulate::hop_keys;
use crate::experiments::Experiments;
use crate::plan_file::PlanFile;

/// Offers experiments.
pub(crate) fn experiments(current: &OsStr) -> Vec<CompletionCandidate> {
    let known = Experiments::known();
    beginning_with(current, known.names().map(str::to_owned))
}

/// Offers experiments and files.
pub(crate) fn plans(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut offered = experiments(current);
    offered.extend(PathCompleter::file().complete(current));
    offered
}

/// Offers `KEY=`, and values after it.
pub(crate) fn changes(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let keys = keys();
    let Some((typed_key, _)) = typed.split_once('=') else {
        return beginning_with(current, keys.into_iter().map(|(name, _)| name + "="));
    };
    let key = keys.into_iter().find(|(name, _)| name == typed_key);
    let values = key.map(|(_, values)| values).unwrap_or_default();
    let values = values
        .into_iter()
        .map(|value| format!("{typed_key}={value}"));
    beginning_with(current, values)
}

/// Offers plans, and keys of an emulated path with their values.
pub(crate) fn emulated(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let Some((typed_key, _)) = typed.split_once('=') else {
        let keys = hop_keys::names().map(|name| format!("{name}="));
        let mut offered = plans(current);
        offered.extend(beginning_with(current, keys));
        return offered;
    };
    let key = HOP.find(typed_key.rsplit('.').next().unwrap_or_default());
    let values = key.map(values).unwrap_or_default().into_iter();
    beginning_with(current, values.map(|value| format!("{typed_key}={value}")))
}

/// Offers the series of the experiment that is named on the same line.
pub(crate) fn series(current: &OsStr) -> Vec<CompletionCandidate> {
    let known = Experiments::known();
    let place = typed().find_map(|word| known.find(&word));
    let plan = place.and_then(|place| PlanFile::of(place).ok()?.parse_silently(&[]).ok());
    let series = plan.into_iter().flat_map(|plan| plan.series);
    beginning_with(current, series.map(|series| series.name))
}

/// Offers what `gigatcp explain` explains.
pub(crate) fn explained(current: &OsStr) -> Vec<CompletionCandidate> {
    let causes = gigatcp_why::CAUSES.iter().map(|cause| cause.id);
    let rules = gigatcp_meter::doctor::RULES.iter().map(|rule| rule.id);
    beginning_with(current, causes.chain(rules).map(str::to_owned))
}

/// Offers queue disciplines.
pub(crate) fn queues(current: &OsStr) -> Vec<CompletionCandidate> {
    beginning_with(
        current,
        queue::REGISTRY.iter().map(|queue| queue.name.to_owned()),
    )
}

/// Offers what `gigatcp list` has of the kind that is named on the same line.
pub(crate) fn listed(current: &OsStr) -> Vec<CompletionCandidate> {
    let names: Vec<String> = match typed().last().as_deref() {
        Some("keys") => TABLES
            .iter()
            .flat_map(|table| sections(table.heading))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .chain(keys().into_iter().map(|(name, _)| name))
            .collect(),
        Some("controls") => congestion::entries()
            .map(|control| control.name.to_owned())
            .collect(),
        Some("queues") => return queues(current),
        Some("applications") => {
            let entries = gigatcp_app::REGISTRY.iter();
            entries
                .map(|application| application.name.to_owned())
                .collect()
        }
        Some("profiles") => Profile::ALL
            .iter()
            .map(|profile| profile.name.to_owned())
            .collect(),
        Some("experiments") => return experiments(current),
        _ => Vec::new(),
    };
    beginning_with(current, names)
}

/// The words of the line without the one that is typed: they stand behind `--`.
fn typed() -> impl Iterator<Item = String> {
    let words = crate::arguments::typed()
        .skip_while(|word| word != "--")
        .skip(1);
    let words: Vec<String> = words.collect();
    let before = words.len().saturating_sub(1);
    words.into_iter().take(before)
}

fn beginning_with(
    current: &OsStr,
    words: impl IntoIterator<Item = String>,
) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    words
        .into_iter()
        .filter(|word| word.starts_with(&*typed))
        .map(CompletionCandidate::new)
        .collect()
}

/// Every dotted key, with its values if they can be listed.
fn keys() -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for table in TABLES {
        for section in sections(table.heading) {
            let dotted = |name: &str| match section {
                "" => name.to_owned(),
                section => format!("{section}.{name}"),
            };
            all.extend(table.keys().map(|key| (dotted(key.name), values(key))));
            if table.has_settings {
                let settings = SETTINGS.iter();
                all.extend(settings.map(|setting| (dotted(setting.name), flags(setting.expects))));
            }
        }
    }
    all
}

/// Sections of a heading, as in `[sender], [receiver]`.
///
/// An empty one is the top of the plan.
pub(crate) fn sections(heading: &str) -> Vec<&str> {
    if !heading.contains('[') {
        return vec![""];
    }
    let parts = heading.split(", ").filter(|part| part.starts_with('['));
    parts.map(|part| part.trim_matches(['[', ']'])).collect()
}

fn values(key: &Key) -> Vec<String> {
    let owned = |name: &str| name.to_owned();
    match key.kind {
        Kind::Flag => ["true", "false"].map(owned).to_vec(),
        Kind::OneOf(words) => words.iter().copied().map(owned).collect(),
        Kind::Profile => Profile::ALL
            .iter()
            .map(|profile| owned(profile.name))
            .collect(),
        Kind::Congestion => congestion::entries()
            .map(|entry| owned(entry.name))
            .collect(),
        Kind::Queue => queue::REGISTRY
            .iter()
            .map(|queue| owned(queue.name))
            .collect(),
        Kind::Application => {
            let entries = gigatcp_app::REGISTRY.iter();
            entries.map(|entry| owned(entry.name)).collect()
        }
        _ => vec![key.example.trim_matches('"').to_owned()],
    }
}

/// Values of a profile's setting, if it is a switch.
fn flags(expects: &str) -> Vec<String> {
    match expects.starts_with("true or false") {
        true => vec!["true".to_owned(), "false".to_owned()],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(complete: fn(&OsStr) -> Vec<CompletionCandidate>, typed: &str) -> Vec<String> {
        let offered = complete(OsStr::new(typed));
        offered
            .iter()
            .map(|word| word.get_value().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn experiments_keys_and_values_are_offered() {
        assert_eq!(offered(experiments, "fink-s"), ["fink-slow-start"]);
        assert!(offered(changes, "path.rt").contains(&"path.rtt=".to_owned()));
        assert!(offered(changes, "receiver.sac").contains(&"receiver.sack=".to_owned()));
        let controls = offered(changes, "flow.congestion_control=cub");
        assert!(controls.contains(&"flow.congestion_control=cubic".to_owned()));
        assert_eq!(
            offered(changes, "sender.sack="),
            ["sender.sack=true", "sender.sack=false"]
        );
    }

    #[test]
    fn every_key_that_is_offered_is_one_that_a_plan_takes() {
        let text = "name = \"a\"\npath = { rate = \"1 Gbit/s\" }\nflow = { duration = \"1 s\" }\n";
        for (key, _) in keys() {
            let overrides = [format!("{key}=?")];
            let said = gigatcp_plan::parse("a", text.as_bytes(), &overrides)
                .map_or_else(|findings| findings.to_string(), |_| String::new());
            assert!(!said.contains("unknown key"), "{key}: {said}");
        }
    }
}
