//! List of the libraries in the program as JSON (CycloneDX 1.5).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::process::{self, cargo};
use crate::{Failed, dist, files, top};

/// Parts of the lock file that are used here.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// Writes the list to `file`.
pub fn write(file: &Path) -> Result<(), Failed> {
    let lock = files::read(&top().join("Cargo.lock"))?;
    let lock: Lock =
        toml::from_str(&lock).map_err(|error| Failed::Usage(format!("Cargo.lock: {error}")))?;
    let sums = lock.package.into_iter().filter_map(|package| {
        let sum = package.checksum?;
        Some(((package.name, package.version), sum))
    });
    let text = list(&linked()?, &sums.collect());
    files::write(file, text)
}

/// Name, version and license of each crate that is linked into the program.
fn linked() -> Result<Vec<[String; 3]>, Failed> {
    let words = [
        "tree",
        "--package",
        "gigatcp",
        "--features",
        dist::FEATURES,
        "--edges",
        "normal",
        "--prefix",
        "none",
    ];
    let mut command = cargo(&words);
    command.args(["--format", "{p}|{l}", "--no-dedupe"]);
    let output = command
        .output()
        .map_err(|error| process::cannot(&command, &error))?;
    let mut crates: Vec<[String; 3]> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(crate_of)
        .collect();
    crates.sort();
    crates.dedup();
    Ok(crates)
}

/// Reads a line like `libc v0.2.1 (proc-macro)|MIT`.
fn crate_of(line: &str) -> Option<[String; 3]> {
    let (package, license) = line.split_once('|')?;
    let mut words = package.split(' ');
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    // Procedural macros run at compile time only.
    let is_linked = !package.ends_with("(proc-macro)");
    is_linked.then(|| [name, version, license.replace('/', " OR ")])
}

fn list(crates: &[[String; 3]], sums: &BTreeMap<(String, String), String>) -> String {
    let component = |one: &[String; 3]| {
        let [name, version, license] = one;
        let sum = sums.get(&(name.clone(), version.clone()));
        let hash = sum.map_or_else(String::new, |sum| {
            format!(r#","hashes":[{{"alg":"SHA-256","content":"{sum}"}}]"#)
        });
        format!(
            r#"    {{"type":"library","name":"{name}","version":"{version}","purl":"pkg:cargo/{name}@{version}","licenses":[{{"expression":"{license}"}}]{hash}}}"#
        )
    };
    let components: Vec<String> = crates.iter().map(component).collect();
    format!(
        "{{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \
         \"metadata\": {{\"component\": {{\"type\": \"application\", \"name\": \"gigatcp\", \
         \"version\": \"{}\"}}}},\n  \"components\": [\n{}\n  ]\n}}\n",
        env!("CARGO_PKG_VERSION"),
        components.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_crates_are_listed_with_version_license_and_checksum() {
        assert_eq!(crate_of("serde_derive v1.0.2 (proc-macro)|MIT"), None);
        let one = crate_of("libc v0.2.1|MIT OR Apache-2.0").expect("a crate");
        assert_eq!(one, ["libc", "0.2.1", "MIT OR Apache-2.0"]);
        let sums = BTreeMap::from([(("libc".to_owned(), "0.2.1".to_owned()), "ab12".to_owned())]);
        let text = list(&[one], &sums);
        assert!(text.contains(r#""purl":"pkg:cargo/libc@0.2.1""#), "{text}");
        assert!(text.contains(r#""content":"ab12""#), "{text}");
    }
}
