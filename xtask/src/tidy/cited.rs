//! Check of files, crates and their targets that pages and comments name.
//!
//! A path in backticks that begins with a directory of the checkout must exist, and
//! `cargo run -p CRATE --example NAME` must find both. Placeholders have a capital letter, `<`,
//! `*` or `…`. Out of scope: the changelog, which has old names; snapshots of output; literals of
//! Rust, among them those of tests; paths relative to a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::masked::Masked;
use super::tree::File;

/// Directories of the checkout whose files are named.
const TOP: [&str; 10] = [
    "conformance/",
    "core/",
    "docs/",
    "drive/",
    "experiments/",
    "face/",
    "fuzz/",
    "packaging/",
    "proof/",
    "xtask/",
];

/// Endings of files that version control has.
const ENDINGS: [&str; 7] = [".rs", ".md", ".toml", ".txt", ".js", ".py", ".pkt"];

/// Options of cargo that name a target, and where cargo finds it.
const TARGETS: [(&str, &str); 3] = [
    ("--example", "examples"),
    ("--test", "tests"),
    ("--bin", "src/bin"),
];

/// What a checkout has.
struct Checkout<'a> {
    paths: BTreeSet<&'a str>,
    /// Manifests of crates, by name.
    manifests: BTreeMap<&'a str, &'a File>,
}

/// Checks every file that people read, and comments of Rust.
pub fn check(files: &[File]) -> Vec<Finding> {
    let manifests = files
        .iter()
        .filter(|file| file.path.ends_with("Cargo.toml"));
    let checkout = Checkout {
        paths: files.iter().map(|file| file.path.as_str()).collect(),
        manifests: manifests
            .filter_map(|file| Some((name(&file.text)?, file)))
            .collect(),
    };
    files
        .iter()
        .filter(|file| file.path != "CHANGELOG.md" && !file.path.ends_with(".trycmd"))
        .flat_map(|file| checkout.check(file))
        .collect()
}

/// The name of a crate, by its manifest.
fn name(manifest: &str) -> Option<&str> {
    let (_, package) = manifest.split_once("[package]")?;
    let (_, rest) = package.split_once("name = \"")?;
    rest.split('"').next()
}

impl Checkout<'_> {
    fn check(&self, file: &File) -> Vec<Finding> {
        let lines = if file.path.ends_with(".rs") {
            Masked::new(&file.text).comments
        } else {
            file.text.lines().map(str::to_owned).collect()
        };
        let mut findings = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let mut find = |read: &str, why, fix| {
                findings.push(Finding::new((&file.path, index + 1), read, why, fix));
            };
            for path in quoted(line).filter(|path| !self.has(path)) {
                find(path, "there is no such file", "name today's file");
            }
            if let Some(target) = self.missing_target(line) {
                let why = "cargo finds no such crate or target";
                find(&target, why, "name today's crate and target");
            }
        }
        findings
    }

    fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// The crate or target that a command of cargo names and that is not there.
    fn missing_target(&self, line: &str) -> Option<String> {
        let (_, command) = line.split_once("cargo ")?;
        let words: Vec<&str> = command
            .split('`')
            .next()?
            .split_whitespace()
            .take_while(|word| *word != "--")
            .collect();
        let value = |option: &str| {
            let place = words.iter().position(|word| *word == option)?;
            let value = words.get(place + 1)?.trim_end_matches([',', '.', ':', ')']);
            (!is_placeholder(value)).then_some(value)
        };
        let package = value("-p").or(value("--package"))?;
        let Some(manifest) = self.manifests.get(package) else {
            return Some(package.to_owned());
        };
        let directory = manifest.path.trim_end_matches("Cargo.toml");
        TARGETS.iter().find_map(|(option, place)| {
            let target = value(option)?;
            let is_there = ["", "/main"]
                .iter()
                .any(|end| self.has(&format!("{directory}{place}/{target}{end}.rs")))
                || manifest.text.contains(&format!("name = \"{target}\""));
            (!is_there).then(|| format!("{package} {option} {target}"))
        })
    }
}

/// Paths of the checkout in backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|text| {
        TOP.iter().any(|top| text.starts_with(top))
            && ENDINGS.iter().any(|ending| text.ends_with(ending))
            && !is_placeholder(
                text.trim_end_matches("Cargo.toml")
                    .trim_end_matches("README.md"),
            )
            && !text.contains(' ')
    })
}

fn is_placeholder(text: &str) -> bool {
    text.is_empty() || text.contains(|c: char| c.is_uppercase() || "<*…{".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(text: &str) -> Vec<String> {
        let files = [
            File::new(
                "core/wire/Cargo.toml",
                "[package]\nname = \"gigatcp-wire\"\n",
            ),
            File::new("core/wire/examples/show/main.rs", ""),
            File::new("core/wire/src/flags.rs", text),
        ];
        let found = check(&files).into_iter();
        found.map(|finding| finding.read).collect()
    }

    #[test]
    fn files_that_are_not_there_are_found_in_comments_and_placeholders_are_not() {
        let text = "// `core/wire/src/flags.rs`, `core/old/src/lib.rs`, `core/NAME/src/lib.rs`";
        assert_eq!(reads(text), ["core/old/src/lib.rs"]);
        assert_eq!(reads("let text = \"`core/old/src/lib.rs`\";"), [""; 0]);
    }

    #[test]
    fn crates_and_targets_that_are_not_there_are_found_in_commands() {
        let text = "//! `cargo run -p gigatcp-wire --example show -- --example none`\n\
                    //!     cargo run --release -p gigatcp-wire --example hide\n\
                    //!     cargo test -p gigatcp-old --test it, cargo test -p CRATE";
        assert_eq!(reads(text), ["gigatcp-wire --example hide", "gigatcp-old"]);
    }
}
