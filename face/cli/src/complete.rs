//! Shell completion: experiments, and keys of a plan with their values.
//!
//! The shell runs this program for candidates (`gigatcp completions`). So a new experiment
//! directory, congestion control or key is offered without further work.

use std::ffi::OsStr;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use gigatcp_path::queue;
use gigatcp_plan::keys::{Key, Kind, TABLES};
use gigatcp_tcp::congestion;
use gigatcp_tcp::profile::{Profile, SETTINGS};

use crate::experiments::Experiments;

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

fn beginning_with(
    current: &OsStr,
    words: impl IntoIterator<Item = String>,
) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let words = words.into_iter().filter(|word| word.starts_with(&*typed));
    words.map(CompletionCandidate::new).collect()
}

/// Returns every dotted key, with its values if they can be listed.
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

/// Returns the sections of a heading, as in `[sender], [receiver]`. An empty one is the top level
/// of the plan.
fn sections(heading: &str) -> Vec<&str> {
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
        Kind::Profile => Profile::ALL.iter().map(|one| owned(one.name)).collect(),
        Kind::Congestion => congestion::entries()
            .map(|entry| owned(entry.name))
            .collect(),
        Kind::Queue => queue::REGISTRY.iter().map(|one| owned(one.name)).collect(),
        Kind::Application => {
            let entries = gigatcp_app::REGISTRY.iter();
            entries.map(|entry| owned(entry.name)).collect()
        }
        _ => vec![key.example.trim_matches('"').to_owned()],
    }
}

/// Returns the values of a profile's setting, if it is a switch.
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
        let words = offered
            .iter()
            .map(|one| one.get_value().to_string_lossy().into_owned());
        words.collect()
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
            let said = gigatcp_plan::parse("a", text.as_bytes(), &overrides);
            let said = said.map_or_else(|findings| findings.to_string(), |_| String::new());
            assert!(!said.contains("unknown key"), "{key}: {said}");
        }
    }
}
