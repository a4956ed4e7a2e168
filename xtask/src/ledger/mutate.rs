//! `cargo xtask ledger --mutate N [--seed S]`: removes N cited functions, one at a time.
//!
//! For each, it runs the cited tests and scripts. A function is removed by giving it a body that
//! returns the default, or panics if the type has none. A requirement holds if a cited test or
//! script then fails.
//!
//! The work is done in a copy of the tree below the target directory. Only files that differ are
//! copied, so the checkout is not touched and a second run compiles little. The copy has its own
//! target directory: cargo takes two checkouts for one if they share it, and would use what was
//! built without a function for the original.
//!
//! Not tried: cited types, constants and fields, which cannot be removed without their uses. A
//! removed function shows nothing about a part of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::document::{Document, Requirement};
use crate::process::{self, target};
use crate::{Failed, top};

/// Cited function, and the requirement whose tests must fail without it.
struct Candidate<'a> {
    document: &'a Document,
    requirement: &'a Requirement,
    file: &'a str,
    name: &'a str,
}

/// Outcome of one removal.
enum Outcome {
    /// This test or script failed.
    Noticed(String),
    /// All cited tests and scripts passed.
    Survived,
    /// It does not compile without the function.
    Unbuildable,
}

/// Runs the task with the words after `--mutate`.
pub fn run(documents: &[Document], words: &[String]) -> Result<(), Failed> {
    let number = |word: Option<&String>| word.and_then(|word| word.parse::<u64>().ok());
    let wrong = || Failed::Usage("write `--mutate N`, or `--mutate N --seed S`".into());
    let count = number(words.first()).ok_or_else(wrong)?;
    let mut seed = match words.get(1).map(String::as_str) {
        None => 1,
        Some("--seed") => number(words.get(2)).ok_or_else(wrong)?,
        Some(_) => return Err(wrong()),
    };
    let mut left = candidates(documents);
    println!("{} cited functions; seed {seed}", left.len());
    let copy = target().join("ledger-mutate");
    let _alone = lock(&copy)?;
    refresh(&copy)?;
    let (mut noticed, mut survived) = (0, 0);
    while noticed + survived < count && !left.is_empty() {
        let index = draw(&mut seed) % left.len() as u64;
        let candidate = left.swap_remove(index as usize);
        let at = format!(
            "{} {}: {}#{}",
            candidate.document.name(),
            candidate.requirement.id,
            candidate.file,
            candidate.name
        );
        match try_one(&copy, &candidate)? {
            Outcome::Noticed(by) => {
                noticed += 1;
                println!("noticed   {at}\n          by {by}");
            }
            Outcome::Survived => {
                survived += 1;
                println!("SURVIVED  {at}");
            }
            Outcome::Unbuildable => println!("skipped   {at}: needed to compile"),
        }
    }
    println!("ledger: {noticed} noticed, {survived} survived");
    if survived == 0 {
        Ok(())
    } else {
        Err(Failed::Found)
    }
}

/// Every cited function of a requirement that is met.
fn candidates(documents: &[Document]) -> Vec<Candidate<'_>> {
    let mut found = Vec::new();
    for document in documents {
        let met = document
            .requirement
            .iter()
            .filter(|r| r.exception.is_none());
        for requirement in met {
            for place in &requirement.code {
                let Some((file, name)) = place.split_once('#') else {
                    continue;
                };
                let text = std::fs::read_to_string(top().join(file)).unwrap_or_default();
                if without_body(&text, name, "").is_some() {
                    found.push(Candidate {
                        document,
                        requirement,
                        file,
                        name,
                    });
                }
            }
        }
    }
    found
}

/// Next number of the sequence (splitmix64).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Locks `copy`, so that one run at a time uses it.
fn lock(copy: &Path) -> Result<std::fs::File, Failed> {
    let cannot = |error: std::io::Error| Failed::Usage(format!("cannot lock the copy: {error}"));
    std::fs::create_dir_all(copy).map_err(cannot)?;
    let file = std::fs::File::create(copy.join("lock")).map_err(cannot)?;
    file.try_lock()
        .map_err(|_| Failed::Usage("another `ledger --mutate` is running".into()))?;
    Ok(file)
}

/// Updates `copy` from the checkout; writes only files that differ.
fn refresh(copy: &Path) -> Result<(), Failed> {
    let cannot = |error: std::io::Error| Failed::Usage(format!("cannot copy the tree: {error}"));
    let mut list = Command::new("git");
    list.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = list.current_dir(top()).output().map_err(cannot)?;
    for name in String::from_utf8_lossy(&listed.stdout).split('\0') {
        let Ok(octets) = std::fs::read(top().join(name)) else {
            continue;
        };
        put(&copy.join(name), &octets).map_err(cannot)?;
    }
    Ok(())
}

/// Writes a file unless it has these octets already.
fn put(path: &Path, octets: &[u8]) -> std::io::Result<()> {
    if std::fs::read(path).is_ok_and(|before| before == octets) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(path, octets)
}

/// Removes one function, runs the cited tests, and restores it.
fn try_one(copy: &Path, candidate: &Candidate<'_>) -> Result<Outcome, Failed> {
    let path = copy.join(candidate.file);
    let cannot = |error: std::io::Error| Failed::Usage(format!("{}: {error}", candidate.file));
    let whole = std::fs::read_to_string(&path).map_err(cannot)?;
    let mut outcome = Outcome::Unbuildable;
    for body in ["Default::default()", "unimplemented!()"] {
        let Some(mutant) = without_body(&whole, candidate.name, body) else {
            break;
        };
        put(&path, mutant.as_bytes()).map_err(cannot)?;
        let tried = run_cited(copy, candidate.requirement);
        put(&path, whole.as_bytes()).map_err(cannot)?;
        outcome = tried?;
        if !matches!(outcome, Outcome::Unbuildable) {
            break;
        }
    }
    Ok(outcome)
}

/// `text` with the body of `fn name` emptied, or replaced by `value`. Emptied if it returns
/// nothing. Relies on `rustfmt` for the end of the body.
fn without_body(text: &str, name: &str, value: &str) -> Option<String> {
    let is_name = |rest: &str| rest.starts_with(['(', '<']);
    let needle = format!("fn {name}");
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        let found = line.find(&needle);
        if let Some(found) = found
            && !code.starts_with("//")
            && is_name(&line[found + needle.len()..])
        {
            start = Some((at, line.len() - code.len()));
            break;
        }
        at += line.len();
    }
    let (at, indent) = start?;
    let open = at + text[at..].find("{\n")?;
    // A declaration without a body ends before any brace.
    if text[at..open].contains(";\n") {
        return None;
    }
    let end_line = format!("\n{}}}\n", " ".repeat(indent));
    let end = open + text[open..].find(&end_line)?;
    let value = if text[at..open].contains("->") {
        value
    } else {
        ""
    };
    Some(format!("{}{{\n{value}{}", &text[..open], &text[end..]))
}

/// Runs the cited tests and scripts until one fails.
fn run_cited(copy: &Path, requirement: &Requirement) -> Result<Outcome, Failed> {
    let mut built = false;
    for test in &requirement.test {
        let Some((file, name)) = test.split_once('#') else {
            continue;
        };
        let mut cargo = test_command(copy, file)?;
        cargo.args(["--", name]);
        match passes(cargo)? {
            None => continue,
            Some(false) => return Ok(Outcome::Noticed(test.clone())),
            Some(true) => built = true,
        }
    }
    if !requirement.script.is_empty() {
        let mut cargo = test_command(copy, "proof/conformance/tests/conformance.rs")?;
        let names = requirement.script.join(",");
        cargo.env("GIGATCP_SCRIPTS", &names);
        cargo.args(["--", "the_engine_passes_every_script"]);
        match passes(cargo)? {
            None => {}
            Some(false) => return Ok(Outcome::Noticed(format!("one of {names}"))),
            Some(true) => built = true,
        }
    }
    Ok(if built {
        Outcome::Survived
    } else {
        Outcome::Unbuildable
    })
}

/// `cargo test` of the target that `file` belongs to, in the copy.
fn test_command(copy: &Path, file: &str) -> Result<Command, Failed> {
    let no_package = || Failed::Usage(format!("{file} is in no package"));
    let mut parts: Vec<&str> = file.split('/').collect();
    let place = parts
        .iter()
        .position(|part| matches!(*part, "src" | "tests"));
    let inner = parts.split_off(place.ok_or_else(no_package)?);
    let manifest = parts.iter().collect::<PathBuf>().join("Cargo.toml");
    let mut cargo = process::cargo(&["test", "--quiet", "--manifest-path"]);
    cargo.arg(copy.join(manifest)).current_dir(copy);
    cargo.env("CARGO_TARGET_DIR", copy.join("target"));
    match inner[..] {
        ["tests", target, ..] => cargo.args(["--test", target.trim_end_matches(".rs")]),
        _ => cargo.arg("--lib"),
    };
    Ok(cargo)
}

/// Whether the command's tests pass; `None` if they do not compile.
fn passes(mut command: Command) -> Result<Option<bool>, Failed> {
    let output = command
        .output()
        .map_err(|error| process::cannot(&command, &error))?;
    let says = String::from_utf8_lossy(&output.stderr);
    if says.contains("could not compile") {
        return Ok(None);
    }
    Ok(Some(output.status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_replaced_and_what_is_around_it_stays() {
        let text = "// fn two(\nimpl A {\n    fn one(&self) {\n        if x {\n        }\n    }\n\n    \
                    fn two<T>(\n        x: T,\n    ) -> bool {\n        y\n    }\n}\nfn three();\n";
        let one = without_body(text, "one", "0").unwrap();
        assert!(
            one.contains("fn one(&self) {\n\n    }\n\n    fn two"),
            "{one}"
        );
        let two = without_body(text, "two", "0").unwrap();
        assert!(two.contains(") -> bool {\n0\n    }\n}\nfn three"), "{two}");
        assert!(without_body(text, "three", "0").is_none());
        assert!(without_body(text, "tw", "0").is_none());
    }

    #[test]
    fn a_seed_gives_the_same_numbers_again_and_another_seed_others() {
        let first = |mut seed: u64| [draw(&mut seed), draw(&mut seed)];
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
        assert_ne!(first(1)[0], first(1)[1]);
    }
}
