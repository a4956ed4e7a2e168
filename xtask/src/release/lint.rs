//! The packages and recipes, read by the linters of their systems.

use std::path::PathBuf;
use std::process::Command;

use super::Ended;
use crate::{Failed, dist, process, top};

/// A linter: the program, its arguments, and what it reads.
type Linter = (&'static str, &'static [&'static str], &'static str);

const LINTERS: [Linter; 8] = [
    ("lintian", &["--fail-on", "error"], "*.deb"),
    ("rpmlint", &["--config", "packaging/rpmlint.toml"], "*.rpm"),
    ("ruby", &["-c"], "gigatcp.rb"),
    ("bash", &["-n"], "PKGBUILD"),
    ("nix-instantiate", &["--parse"], "gigatcp.nix"),
    ("hadolint", &[], "Containerfile"),
    ("yamllint", &["-d", "relaxed"], "*.yaml"),
    ("twine", &["check", "--strict"], "*.whl"),
];

/// Runs each linter that is installed on the files that are there.
pub fn run() -> Result<Ended, Failed> {
    let (mut findings, mut passed, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for (program, words, pattern) in LINTERS {
        let files = matching(pattern);
        if files.is_empty() {
            missing.push(format!("{program} (no {pattern})"));
        } else if !process::has(program) {
            missing.push(program.to_owned());
        } else {
            let mut lint = Command::new(program);
            lint.args(words).args(files).current_dir(top());
            println!("{}", process::spelled(&lint));
            match process::run(lint)?.success() {
                true => passed.push(program),
                false => findings.push(format!("{program} rejects {pattern}")),
            }
        }
    }
    if !missing.is_empty() {
        println!("not linted here: {}", missing.join(", "));
    }
    Ok(match findings.is_empty() {
        true => Ended::Passed(format!(
            "{}; not here: {}",
            passed.join(", "),
            missing.join(", ")
        )),
        false => Ended::Found(findings),
    })
}

/// Files of the packages with this name, or with this ending after `*`.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dist::packages())
        .into_iter()
        .flatten()
        .flatten();
    let is_match = |name: &str| match pattern.strip_prefix('*') {
        Some(ending) => name.ends_with(ending),
        None => name == pattern,
    };
    let files = entries.filter(|entry| is_match(&entry.file_name().to_string_lossy()));
    files.map(|entry| entry.path()).collect()
}
