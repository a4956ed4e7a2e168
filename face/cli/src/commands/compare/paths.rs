//! The paths of a comparison: named ones, plans, and keys of hops.

use std::path::Path;

use crate::commands::emulate::path::Source;
use crate::failure::Failure;
use crate::nearest;

/// A path by its name: the keys of a hop, for both directions.
pub(super) struct NamedPath {
    pub(super) name: &'static str,
    /// What it stands for.
    pub(super) summary: &'static str,
    keys: &'static [&'static str],
}

/// The named paths, equal in both directions, so that downloads and uploads meet the same. Rates are
/// those that a machine of two cores emulates without noise of its own.
pub(super) const NAMED: [NamedPath; 6] = [
    NamedPath {
        name: "wan",
        summary: "100 Mbit/s, RTT 80 ms, a queue of half a BDP",
        keys: &["rate=100 Mbit/s", "delay=40 ms", "queue=500 kB"],
    },
    NamedPath {
        name: "lossy",
        summary: "50 Mbit/s, RTT 40 ms, 1 % random loss",
        keys: &["rate=50 Mbit/s", "delay=20 ms", "queue=250 kB", "loss=0.01"],
    },
    NamedPath {
        name: "lte",
        summary: "a rate that fades between 2 and 20 Mbit/s, RTT 60 ms, a deep queue",
        keys: &[
            "rate=12 Mbit/s",
            "rate_schedule=0.5 s: 5 Mbit/s, 1 s: 20 Mbit/s, 1.5 s: 8 Mbit/s, 2 s: 2 Mbit/s, \
             2.5 s: 12 Mbit/s, 3 s: 18 Mbit/s, 3.5 s: 6 Mbit/s, 4 s: 12 Mbit/s",
            "delay=30 ms",
            "queue=1 MB",
        ],
    },
    NamedPath {
        name: "wifi",
        summary: "80 Mbit/s in groups of up to 32 packets, RTT 10 ms and 3 ms of jitter",
        keys: &[
            "rate=80 Mbit/s",
            "aggregate=32",
            "aggregate_overhead=500 us",
            "delay=5 ms",
            "jitter=3 ms, hold 5 ms",
            "queue=300 packets",
        ],
    },
    NamedPath {
        name: "policer",
        summary: "200 Mbit/s, RTT 40 ms, more than 20 Mbit/s and bursts of 64 kB dropped",
        keys: &[
            "rate=200 Mbit/s",
            "delay=20 ms",
            "queue=1 MB",
            "policer=20 Mbit/s",
            "policer_burst=64 kB",
        ],
    },
    NamedPath {
        name: "lan",
        summary: "500 Mbit/s, RTT 0.5 ms",
        keys: &["rate=500 Mbit/s", "delay=250 us", "queue=250 kB"],
    },
];

/// A path to compare over.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "other systems check a path and emulate none")
)]
pub(super) struct ComparedPath {
    /// The word that was typed.
    pub(super) name: String,
    pub(super) source: Source,
    /// Arguments of `gigatcp emulate` that describe it.
    pub(super) words: String,
}

/// Reads what `--paths` was given: names separated by commas, or `KEY=VALUE` words of one path.
pub(super) fn read(typed: &[String]) -> Result<Vec<ComparedPath>, Failure> {
    let mut paths: Vec<ComparedPath> = Vec::new();
    for text in typed {
        let names = match text.contains('=') {
            true => vec![text.trim()],
            false => text.split(',').map(str::trim).collect(),
        };
        for name in names {
            if paths.iter().any(|path| path.name == name) {
                return Err(
                    Failure::not_run(format!("the path `{name}` is named twice"))
                        .hint("name it once; longer --within measures it more often"),
                );
            }
            paths.push(path(name).map_err(|failure| failure.effect("nothing was run"))?);
        }
    }
    Ok(paths)
}

fn path(name: &str) -> Result<ComparedPath, Failure> {
    let (source, words) = if let Some(named) = NAMED.iter().find(|named| named.name == name) {
        (
            Source::of_hops(named.keys.iter().copied())?,
            shell_words(named.keys),
        )
    } else if name.contains('=') {
        let keys = words(name);
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        (Source::of_hops(keys.iter().copied())?, shell_words(&keys))
    } else {
        let plan = Source::of_plan(Path::new(name), Vec::new());
        (plan.map_err(|_| unknown(name))?, quoted(name))
    };
    Ok(ComparedPath {
        name: name.to_owned(),
        source,
        words,
    })
}

fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = NAMED.iter().map(|named| named.name).collect();
    Failure::new(format!("`{name}` is neither a path nor a plan"))
        .hint(nearest::hint(name, "paths", &known))
        .hint(
            "a plan is a file, as in my.toml, or a name of `gigatcp list`; keys are those of \
             `gigatcp list links`, as in --paths 'rate=20 Mbit/s delay=10 ms'",
        )
}

/// `KEY=VALUE` words; a word without `=` belongs to the value before.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut().filter(|_| !word.contains('=')) {
            Some(last) => last.extend([" ", word]),
            None => words.push(word.to_owned()),
        }
    }
    words
}

fn shell_words(keys: &[&str]) -> String {
    let words = keys.iter().map(|key| match key.split_once('=') {
        Some((key, value)) if value.contains(' ') => format!("{key}={}", quoted(value)),
        _ => (*key).to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A word of a shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A line for each named path, for the help.
pub(super) fn help() -> String {
    let lines = NAMED
        .iter()
        .map(|path| format!("  {:8} {}", path.name, path.summary));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_paths_are_valid() {
        let names = NAMED.map(|named| named.name).join(",");
        let paths = read(&[names]).unwrap();
        assert_eq!(paths.len(), NAMED.len());
        #[cfg(target_os = "linux")]
        for path in paths {
            path.source.find().unwrap();
        }
    }

    #[test]
    fn keys_are_one_path_with_their_commas() {
        let text = "rate=20 Mbit/s queue=codel, 100 packets loss=0.01".to_owned();
        let paths = read(&[text, "wan".to_owned()]).unwrap();
        let words: Vec<&str> = paths.iter().map(|path| path.words.as_str()).collect();
        assert_eq!(
            words,
            [
                "rate='20 Mbit/s' queue='codel, 100 packets' loss=0.01",
                "rate='100 Mbit/s' delay='40 ms' queue='500 kB'"
            ]
        );
    }

    #[test]
    fn unknown_path_names_the_nearest_one() {
        let failure = read(&["wifl".to_owned()]).unwrap_err();
        let text = failure.text();
        assert!(
            text.contains("`wifi`") && text.contains("gigatcp list links"),
            "{text}"
        );
        assert!(read(&["wan,wan".to_owned()]).is_err());
    }
}
