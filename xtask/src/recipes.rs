//! What a release has besides packages: the source, an archive of the program, recipes of other
//! systems, and the provenance.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::files::{copy, failed, read, write};
use crate::machine::Machine;
use crate::process::{printed, succeed};
use crate::{Failed, top};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Address in recipes, unless `--address` names one: this domain never exists (RFC 2606).
pub const NO_ADDRESS: &str = "https://gigatcp.invalid";

/// Writes the source as an archive; the same commit gives the same bytes.
pub fn source(packages: &Path) -> Result<(), Failed> {
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(top())
        .args(["-c", "tar.tar.gz.command=gzip -9n", "archive"]);
    git.arg(format!("--prefix=gigatcp-{VERSION}/"))
        .arg("--output");
    git.arg(packages.join(source_name())).arg("HEAD");
    succeed(git)
}

fn source_name() -> String {
    format!("gigatcp-{VERSION}.tar.gz")
}

/// Files of `target/packages` in the archive of the program, besides the licenses.
const ARCHIVED: [&str; 5] = [
    "gigatcp",
    "man",
    "completions",
    "gigatcp-server.service",
    "gigatcp-watch.service",
];

/// Writes the program with its documents as an archive.
pub fn archive(machine: &Machine, packages: &Path, time: &str) -> Result<(), Failed> {
    let name = format!("gigatcp-{VERSION}-{}", machine.triple);
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&top().join(license), &packages.join(license))?;
    }
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ]);
    tar.arg(format!("--mtime=@{time}"))
        .arg(format!("--transform=s,^,{name}/,"));
    tar.args(["--use-compress-program", "gzip -9n", "--file"]);
    tar.arg(packages.join(format!("{name}.tar.gz")));
    tar.args(ARCHIVED)
        .args(["LICENSE-MIT", "LICENSE-APACHE"])
        .current_dir(packages);
    succeed(tar)
}

/// Writes the recipes next to the archives in `packages`, with their checksums, the version and the
/// address. Those whose archive is not there are left out, and returned.
pub fn write_all(packages: &Path, address: &str) -> Result<Vec<String>, Failed> {
    let archives = [
        ("SOURCE_SHA256", source_name()),
        (
            "WINDOWS_SHA256",
            format!("gigatcp-{VERSION}-x86_64-pc-windows-gnu.zip"),
        ),
    ];
    let sums: Vec<(&str, Option<String>)> = archives
        .iter()
        .map(|(mark, file)| Ok((*mark, sum(&packages.join(file))?)))
        .collect::<Result<_, Failed>>()?;
    let recipes = top().join("packaging/recipes");
    let entries = fs::read_dir(&recipes).map_err(|error| failed("list", &recipes, &error))?;
    let mut left_out = Vec::new();
    for entry in entries.flatten() {
        let mut text = read(&entry.path())?;
        let name = entry.file_name();
        let missing = sums
            .iter()
            .find(|(mark, sum)| sum.is_none() && text.contains(mark));
        if missing.is_some() {
            left_out.push(format!("{}: its archive is not here", name.display()));
            continue;
        }
        for (mark, sum) in &sums {
            text = text.replace(mark, sum.as_deref().unwrap_or_default());
        }
        let recipe = text.replace("ADDRESS", address).replace("VERSION", VERSION);
        write(&packages.join(name), recipe)?;
    }
    copy(&top().join("Cargo.lock"), &packages.join("Cargo.lock"))?;
    Ok(left_out)
}

/// SHA-256 of a file; `None` if it is not there.
fn sum(file: &Path) -> Result<Option<String>, Failed> {
    if !file.is_file() {
        return Ok(None);
    }
    let mut command = Command::new("sha256sum");
    command.arg(file);
    Ok(printed(command)?.split(' ').next().map(str::to_owned))
}

/// What was built from what, as an in-toto statement with SLSA's provenance, not signed: the
/// workflow attests it. `sums` has the lines of `sha256sum`.
pub fn provenance(packages: &Path, sums: &str) -> Result<(), Failed> {
    let output = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(top());
        Ok::<_, Failed>(printed(command)?.trim().to_owned())
    };
    let subjects = sums.lines().filter_map(|line| line.split_once("  "));
    let subjects: Vec<String> = subjects
        .map(|(sum, name)| format!(r#"{{"name":"{name}","digest":{{"sha256":"{sum}"}}}}"#))
        .collect();
    let commit = output("git", &["rev-parse", "HEAD"])?;
    let compiler = output("rustc", &["--version"])?;
    let statement = format!(
        r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{}],"predicateType":"https://slsa.dev/provenance/v1","predicate":{{"buildDefinition":{{"buildType":"cargo xtask dist","externalParameters":{{"version":"{VERSION}"}},"resolvedDependencies":[{{"uri":"git+commit","digest":{{"gitCommit":"{commit}"}}}}]}},"runDetails":{{"builder":{{"id":"{compiler}"}}}}}}}}
"#,
        subjects.join(",")
    );
    write(&packages.join("gigatcp.provenance.json"), statement)
}
