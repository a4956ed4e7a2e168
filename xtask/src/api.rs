//! `cargo xtask api`: the public interface of the library against the last release.
//!
//! `cargo-semver-checks` compares `gigatcp`, and the crates it re-exports, with the last tag
//! `v*` that leads here. A change that breaks programs is found unless the version says so.
//! Without a tag or without the tool nothing is compared, and that is said.

use std::path::PathBuf;
use std::process::Command;

use crate::{Failed, process, tools, top};

const TOOL: &str = "cargo-semver-checks";

/// Its version: another may not read what this compiler writes.
const VERSION: &str = "0.51.0";

/// The library and its public dependencies.
const CRATES: [&str; 5] = [
    "gigatcp",
    "gigatcp-events",
    "gigatcp-tcp",
    "gigatcp-units",
    "gigatcp-wire",
];

/// `cargo xtask api [--install]`.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let installs = words.iter().any(|word| word == "--install");
    let Some(tag) = last_tag() else {
        println!("skipped: there is no tag v*: no release to compare the interface with");
        return Ok(());
    };
    let tool = match installs {
        true => tools::cargo_tool(TOOL, VERSION)?,
        false => match installed() {
            Some(tool) => tool,
            None => {
                println!("skipped: {TOOL} is not installed; run: cargo xtask api --install");
                return Ok(());
            }
        },
    };
    let mut command = Command::new(tool);
    // What `live` and `tokio` add are crates of their own, which the tool does not look into.
    command.args([
        "semver-checks",
        "--default-features",
        "--baseline-rev",
        &tag,
    ]);
    command.current_dir(top());
    for name in CRATES {
        command.args(["--package", name]);
    }
    println!("{}", process::spelled(&command));
    match process::run(command)?.success() {
        true => Ok(()),
        false => Err(Failed::Found),
    }
}

/// Returns the last release among the ancestors of what is checked out.
fn last_tag() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--tags", "--abbrev=0", "--match", "v*"]);
    let output = git.current_dir(top()).output().ok()?;
    let tag = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| tag.trim().to_owned())
}

/// Returns where the tool is: among those of this checkout, or on the path.
fn installed() -> Option<PathBuf> {
    let ours = process::target().join("tools/bin").join(TOOL);
    if ours.is_file() {
        return Some(ours);
    }
    process::has(TOOL).then(|| TOOL.into())
}
