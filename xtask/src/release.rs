//! `cargo xtask release --dry-run`: all of a release but the button.
//!
//! A clone of the last commit is checked and packed, so nothing depends on files that are only
//! here. Each step passes, finds something, or is named as not made here; the last lines say what a
//! person must still do. Nothing is uploaded: `.github/workflows/release.yml` builds the same from a
//! tag, on each system, and attests it.
//!
//! | file | content |
//! |---|---|
//! | `manifests.rs` | what a registry requires of the crates |
//! | `lint.rs` | the packages, read by the linters of their systems |
//!
//! `--verify` also builds every crate from its package, with the oldest compiler and for other
//! systems, as CI does for a tag.

mod lint;
mod manifests;

use std::fs;
use std::process::Command;

use crate::process::{self, cargo, printed, succeed};
use crate::{Failed, dist, files, targets, top};

/// How a step ended.
pub enum Ended {
    Passed(String),
    Found(Vec<String>),
    /// The reason why it cannot be done on this machine.
    NotHere(String),
}

/// A step: its name and what it does with the words of the command.
type Step = (&'static str, fn(&[String]) -> Result<Ended, Failed>);

const STEPS: [Step; 7] = [
    ("manifests of the crates", |_| manifests::check()),
    ("cargo publish --dry-run", publish),
    ("schemas in the documentation", |_| schemas()),
    ("packages", packages),
    ("linters", |_| lint::run()),
    ("other systems", other_systems),
    ("workflow", |_| workflow()),
];

/// What no program does.
const BY_HAND: [&str; 7] = [
    "choose a public address; set `repository` and `homepage` in Cargo.toml, Homepage in \
     packaging/control, and ADDRESS of the recipes (`dist --address`)",
    "reserve the names in the registries of Rust and of Python, and register the workflow there as \
     trusted publisher",
    "write the date into CHANGELOG.md; push the signed tag vVERSION: the workflow builds, attests, \
     and waits for approval",
    "approve the environment `release` of the workflow: `cargo publish --workspace`, the wheels, the \
     release page",
    "try the Windows and macOS programs, which no step here has run",
    "send the recipes to a Homebrew tap, the AUR, nixpkgs and winget-pkgs",
    "install from each place once, on a machine without our tools",
];

/// Checks and packs a release.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let has = |option: &str| words.iter().any(|word| word == option);
    if !has("--dry-run") {
        return Err(Failed::Usage(
            "a person releases: `cargo xtask release --dry-run` says what is ready".into(),
        ));
    }
    if has("--here") {
        return steps(words);
    }
    let clone = process::target().join("release-clone");
    drop(fs::remove_dir_all(&clone));
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--no-hardlinks"]);
    git.arg(top()).arg(&clone);
    succeed(git)?;
    let mut git = Command::new("git");
    git.args(["status", "--porcelain"]).current_dir(top());
    if !printed(git)?.is_empty() {
        println!("changes that are not committed are no part of it");
    }
    let mut again = cargo(&["xtask", "release", "--here"]);
    again.args(words).current_dir(&clone);
    again.env("CARGO_TARGET_DIR", process::target());
    match process::run(again)?.success() {
        true => Ok(()),
        false => Err(Failed::Found),
    }
}

/// Does every step, also after one that found something.
fn steps(words: &[String]) -> Result<(), Failed> {
    let mut lines = Vec::new();
    let mut has_found = false;
    for (name, step) in STEPS {
        println!("\n== {name}");
        let ended = match step(words) {
            Err(Failed::Usage(what)) => Ended::Found(vec![what]),
            Err(Failed::Found) => Ended::Found(vec!["see above".into()]),
            Ok(ended) => ended,
        };
        match ended {
            Ended::Passed(what) => lines.push(format!("passed    {name}: {what}")),
            Ended::NotHere(why) => lines.push(format!("not here  {name}: {why}")),
            Ended::Found(findings) => {
                has_found = true;
                let findings = findings
                    .iter()
                    .map(|what| format!("FOUND     {name}: {what}"));
                lines.extend(findings);
            }
        }
    }
    println!("\n== release {}", env!("CARGO_PKG_VERSION"));
    for line in lines {
        println!("{line}");
    }
    println!("\nA person must still");
    for line in BY_HAND {
        println!("* {line}");
    }
    match has_found {
        true => Err(Failed::Found),
        false => Ok(()),
    }
}

/// Packs every crate as for the registry.
fn publish(words: &[String]) -> Result<Ended, Failed> {
    let mut command = cargo(&["publish", "--workspace", "--dry-run", "--quiet"]);
    let verifies = words.iter().any(|word| word == "--verify");
    if !verifies {
        command.arg("--no-verify");
    }
    succeed(command)?;
    Ok(Ended::Passed(match verifies {
        true => "every crate is packed, and builds from its package".into(),
        false => "every crate is packed; --verify also builds it from its package".into(),
    }))
}

/// Every schema that the program prints is in the documentation, with its version.
fn schemas() -> Result<Ended, Failed> {
    let list = |words: &[&str]| {
        let mut grep = Command::new("git");
        grep.args(["grep", "-hoE", r"gigatcp\.[a-z-]+/[0-9]+"]);
        grep.args(words).current_dir(top());
        let mut found: Vec<String> = printed(grep)?.lines().map(str::to_owned).collect();
        found.sort();
        found.dedup();
        Ok::<_, Failed>(found)
    };
    // Documents of tests and gradings are not for users.
    let printed = list(&[
        "--",
        ":(glob)face/*/src/**",
        "core/plan/src/record.rs",
        "drive/run/src/sweep",
    ])?;
    let documented = list(&["--", "docs/*.md", ":!docs/notes"])?;
    let missing = printed.iter().filter(|schema| !documented.contains(schema));
    let missing: Vec<String> = missing
        .map(|schema| format!("{schema} is in no page of docs/"))
        .collect();
    Ok(match missing.is_empty() {
        true => Ended::Passed(format!("{} schemas", printed.len())),
        false => Ended::Found(missing),
    })
}

/// Builds all packages for this machine.
fn packages(words: &[String]) -> Result<Ended, Failed> {
    let missing = dist::make(words)?;
    let made = format!("in {}", dist::packages().display());
    Ok(if missing.is_empty() {
        Ended::Passed(made)
    } else {
        Ended::NotHere(format!("{}; the others {made}", missing.join("; ")))
    })
}

/// Targets of the workflow that this machine does not build.
fn other_systems(words: &[String]) -> Result<Ended, Failed> {
    if words.iter().any(|word| word == "--verify") {
        targets::systems()?;
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "list", "--installed"]);
    let installed = printed(rustup).unwrap_or_default();
    let text = files::read(&top().join(WORKFLOW))?;
    let targets = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- target: "));
    let missing: Vec<&str> = targets
        .filter(|target| !installed.lines().any(|line| line == *target))
        .collect();
    Ok(match missing.is_empty() {
        true => Ended::Passed("every target of the workflow is installed".into()),
        false => Ended::NotHere(format!("not built here: {}", missing.join(", "))),
    })
}

/// The workflow that builds all from a tag.
const WORKFLOW: &str = ".github/workflows/release.yml";

fn workflow() -> Result<Ended, Failed> {
    if !process::has("actionlint") {
        return Ok(Ended::NotHere("actionlint is not installed".into()));
    }
    let mut lint = Command::new("actionlint");
    lint.arg(top().join(WORKFLOW));
    succeed(lint)?;
    Ok(Ended::Passed("actionlint finds nothing".into()))
}
