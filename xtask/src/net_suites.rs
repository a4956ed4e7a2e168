//! `cargo xtask proof --net`: programs and tests of published crates over `gigatcp-net`.
//!
//! `proof/programs` is a workspace of its own, so that neither CI nor our lock file has its
//! dependencies. It is copied to `target/net-proof`. Its `suites.toml` names published crates. cargo
//! downloads them; in a copy of each, `use` lines and the attribute of tests are changed, and
//! nothing else. The code of the guides is built in empty projects, with the dependencies that their
//! pages show. Then the tests run: ours of `proof/programs/tests`, and theirs. At last
//! `proof/programs/costs` measures, next to turmoil and turmoil-net.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde::Deserialize;
use toml::{Table, Value};

use crate::process::{self, succeed};
use crate::{Failed, files, top};

/// Names of `tokio::net` that `gigatcp_net` has.
const NAMES: [&str; 7] = [
    "TcpStream",
    "TcpListener",
    "TcpSocket",
    "UdpSocket",
    "ToSocketAddrs",
    "lookup_host",
    "tcp",
];

/// Time limit of a program, in seconds: a thread that blocks would block forever.
const TIME_LIMIT: &str = "300";

#[derive(Deserialize)]
struct Suites {
    suite: Vec<Suite>,
}

/// A published crate.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Suite {
    name: String,
    version: String,
    /// Its integration tests that run.
    tests: Vec<String>,
    /// Features instead of the default ones.
    features: Option<Vec<String>>,
    /// Dependencies of a package that has the tests only. `None`: the crate itself is changed, too.
    tests_need: Option<Table>,
    /// Dependencies of its tests that these do not need.
    #[serde(default)]
    without: Vec<String>,
    /// Tests that do not pass, with the reason.
    #[serde(default)]
    fail: BTreeMap<String, String>,
    /// Tests that are not about this, or cannot run: a part of their names or the name of their
    /// file, with the reason.
    #[serde(default)]
    skip: BTreeMap<String, String>,
}

/// Results of the tests of one package, by their names.
#[derive(Default)]
struct Results {
    passed: Vec<String>,
    failed: Vec<String>,
    /// Number of tests that their authors have switched off.
    ignored: usize,
}

/// Runs all; stores tables in `proof/results/net.txt`.
pub fn run() -> Result<(), Failed> {
    println!("\n== programs and published tests over gigatcp-net");
    let source = top().join("proof/programs");
    let text = files::read(&source.join("suites.toml"))?;
    let suites: Suites = toml::from_str(&text)
        .map_err(|error| Failed::Usage(format!("proof/programs/suites.toml: {error}")))?;
    let work = process::target().join("net-proof");
    prepare(&source, &work, &suites.suite)?;
    build_guides(&work)?;
    let programs = build(&work)?;
    // The hash of a run is the same in an optimized build.
    let words = ["test", "--quiet", "--release", "--package", "gigatcp-net"];
    succeed(process::cargo(
        &[&words[..], &["--test", "it", "stored_hash"]].concat(),
    ))?;

    let mut report = String::from(
        "Tests over gigatcp-net. Of published crates only `use` lines and the attribute of tests \
         are changed.\n\n",
    );
    let own = Suite::default();
    let mut has_failed = own.run("gigatcp-net-proof", &programs, &mut report)?.1;
    let mut sum = Results::default();
    let mut count = 0;
    for suite in suites.suite.iter().filter(|suite| suite.is_tested()) {
        let (results, is_unexpected) = suite.run(&suite.package(), &programs, &mut report)?;
        has_failed |= is_unexpected;
        sum.passed.extend(results.passed);
        sum.failed.extend(results.failed);
        sum.ignored += results.ignored;
        count += 1;
    }
    let (passed, all) = (sum.passed.len(), sum.count());
    let _ = writeln!(
        report,
        "\n{count} published crates: {passed} of {all} tests pass"
    );
    println!("\n{report}");
    let place = top().join("proof/results/net.txt");
    files::write(&place, &report)?;
    let (is_within_limits, costs) = costs(&work)?;
    has_failed |= !is_within_limits;
    files::write(&place, format!("{report}\n\n{costs}"))?;
    if has_failed {
        Err(Failed::Found)
    } else {
        Ok(())
    }
}

/// Builds the code of the guides in empty projects, with the lines of `Cargo.toml` of their pages.
fn build_guides(work: &Path) -> Result<(), Failed> {
    let path = top().display().to_string();
    for (page, is_test) in [("net", true), ("embed", false)] {
        let text = files::read(&top().join(format!("docs/guide/{page}.md")))?;
        let blocks = |kind: &str| -> Vec<String> {
            let start = format!("```{kind}\n");
            let parts = text.split(&start).skip(1);
            let codes = parts.filter_map(|part| part.split_once("```"));
            codes.map(|(code, _)| code.to_owned()).collect()
        };
        let project = work.join("guides").join(page);
        let lines = blocks("toml").remove(0).replace("../gigatcp", &path);
        let package =
            format!("[package]\nname = \"uses-{page}\"\nedition = \"2024\"\n[workspace]\n");
        files::write(&project.join("Cargo.toml"), format!("{package}\n{lines}"))?;
        files::write(&project.join("src/lib.rs"), "")?;
        let mut codes = blocks("rust");
        if is_test {
            // A test is complete; others are changes of one, or calls.
            codes.retain(|code| {
                code.contains("test") && code.contains("fn ") && code.contains("use ")
            });
        } else {
            codes.truncate(1);
        }
        for (number, code) in codes.iter().enumerate() {
            let code = if is_test {
                code.clone()
            } else {
                format!("#[test]\nfn program() {{\n{code}}}\n")
            };
            files::write(&project.join(format!("tests/page{number}.rs")), code)?;
        }
        let mut build = process::cargo(&["test", "--no-run", "--quiet"]);
        build
            .current_dir(&project)
            .env("CARGO_TARGET_DIR", work.join("target"));
        succeed(build)?;
    }
    Ok(())
}

/// Builds and runs the program that measures; what it prints, and whether all is within its limits.
fn costs(work: &Path) -> Result<(bool, String), Failed> {
    let mut run = process::cargo(&["run", "--release", "-q", "-p", "gigatcp-net-costs"]);
    run.current_dir(work)
        .env("CARGO_TARGET_DIR", work.join("target"));
    let (status, text) = process::shown(run)?;
    Ok((status.success(), text))
}

impl Results {
    fn count(&self) -> usize {
        self.passed.len() + self.failed.len()
    }
}

impl Suite {
    fn is_tested(&self) -> bool {
        !self.tests.is_empty()
    }

    fn package(&self) -> String {
        match self.tests_need {
            Some(_) => format!("{}-tests", self.name),
            None => self.name.clone(),
        }
    }

    /// Runs the tests of a package, and adds the results to a report. The second value is whether
    /// they are not as listed.
    fn run(
        &self,
        package: &str,
        programs: &[TestProgram],
        report: &mut String,
    ) -> Result<(Results, bool), Failed> {
        let mut results = Results::default();
        for program in programs.iter().filter(|program| program.package == package) {
            program.run(&self.skip, &mut results)?;
        }
        results.failed.sort();
        let title = if self.name.is_empty() {
            "programs of proof/programs".to_owned()
        } else {
            format!("{} {}", self.name, self.version)
        };
        let (passed, count) = (results.passed.len(), results.count());
        let ignored = match results.ignored {
            0 => String::new(),
            ignored => format!(", {ignored} ignored by their authors"),
        };
        let _ = writeln!(report, "{title:<28} {passed:>4} of {count:>4}{ignored}");
        let mut is_unexpected = passed == 0;
        let is_built = |name: &&String| {
            let mut programs = programs.iter();
            programs.any(|program| program.package == package && program.name == **name)
        };
        for name in self.tests.iter().filter(|name| !is_built(name)) {
            is_unexpected = true;
            let _ = writeln!(report, "  does not build: {name}");
        }
        for name in &results.failed {
            let reason = self.fail.get(name);
            is_unexpected |= reason.is_none();
            let reason = reason.map_or("unexpected", String::as_str);
            let _ = writeln!(report, "  fails: {name}: {reason}");
        }
        for name in self
            .fail
            .keys()
            .filter(|name| !results.failed.contains(name))
        {
            is_unexpected = true;
            let _ = writeln!(report, "  {name} is listed as failing, and does not");
        }
        for (word, reason) in &self.skip {
            let _ = writeln!(report, "  not run: {word}: {reason}");
        }
        Ok((results, is_unexpected))
    }
}

/// Makes the workspace: ours, and a changed copy of each crate.
fn prepare(source: &Path, work: &Path, suites: &[Suite]) -> Result<(), Failed> {
    let packages = download(work, suites)?;
    for part in ["costs", "crates", "src", "tests", "turmoil_net"] {
        drop(fs::remove_dir_all(work.join(part)));
    }
    copy_tree(source, work, &str::to_owned)?;
    for (suite, package) in suites.iter().zip(&packages) {
        unpack(suite, package, &work.join("crates").join(suite.package()))?;
    }
    Ok(())
}

/// Downloads the crates; returns their directories.
fn download(work: &Path, suites: &[Suite]) -> Result<Vec<PathBuf>, Failed> {
    let directory = work.join("fetch");
    let mut manifest = String::from(
        "[package]\nname = \"fetch\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n",
    );
    for Suite { name, version, .. } in suites {
        let _ = writeln!(manifest, "{name} = \"={version}\"");
    }
    files::write(&directory.join("Cargo.toml"), manifest)?;
    files::write(&directory.join("src/lib.rs"), "")?;
    let mut fetch = process::cargo(&["fetch", "--quiet"]);
    fetch.current_dir(&directory);
    succeed(fetch)?;
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    );
    let sources = home.join("registry/src");
    let indices = entries(&sources)?;
    let find = |suite: &Suite| {
        let name = format!("{}-{}", suite.name, suite.version);
        let mut places = indices.iter().map(|index| index.join(&name));
        let found = places.find(|place| place.is_dir());
        found.ok_or_else(|| Failed::Usage(format!("no {name} in {}", sources.display())))
    };
    suites.iter().map(find).collect()
}

/// Copies a crate, or its tests, and changes it.
fn unpack(suite: &Suite, package: &Path, to: &Path) -> Result<(), Failed> {
    let mut manifest = if let Some(needed) = &suite.tests_need {
        copy_tree(&package.join("tests"), &to.join("tests"), &over_net)?;
        files::write(&to.join("src/lib.rs"), "")?;
        let package = Table::from_iter([
            ("name".to_owned(), Value::from(suite.package())),
            ("edition".to_owned(), "2021".into()),
        ]);
        let needed = needed.clone();
        Table::from_iter([
            ("package".to_owned(), Value::from(package)),
            ("dependencies".to_owned(), needed.into()),
        ])
    } else {
        copy_tree(package, to, &over_net)?;
        parsed(&package.join("Cargo.toml"))?
    };
    for unused in ["Cargo.lock", "Cargo.toml.orig", "benches", "examples"] {
        let place = to.join(unused);
        drop(fs::remove_file(&place));
        drop(fs::remove_dir_all(&place));
    }
    for part in ["bench", "example", "profile"] {
        manifest.remove(part);
    }
    let table = |path: &str| Table::from_iter([("path".to_owned(), Value::from(path))]);
    let dependencies = part(&mut manifest, "dependencies");
    dependencies.insert("gigatcp-net".into(), table("../../../../face/net").into());
    for dependencies in dependency_tables(&mut manifest) {
        dependencies.retain(|name, _| !suite.without.iter().any(|without| without == name));
    }
    if let Some(chosen) = &suite.features {
        let features = part(&mut manifest, "features");
        for name in chosen {
            features.entry(name).or_insert_with(|| Value::Array(vec![]));
        }
        features.insert("default".into(), chosen.clone().into());
    }
    part(&mut manifest, "lib").insert("test".into(), false.into());
    if let Some(Value::Array(programs)) = manifest.get_mut("bin") {
        for program in programs.iter_mut().filter_map(Value::as_table_mut) {
            program.insert("test".into(), false.into());
        }
    }
    let tests = suite.tests.iter().map(|name| {
        Table::from_iter([
            ("name".to_owned(), Value::from(name.clone())),
            ("path".to_owned(), format!("tests/{name}.rs").into()),
        ])
    });
    manifest.insert("test".into(), tests.collect::<Vec<_>>().into());
    part(&mut manifest, "package").insert("autotests".into(), false.into());
    files::write(&to.join("Cargo.toml"), manifest.to_string())
}

/// The dependencies of a manifest, also those of tests and of some systems.
fn dependency_tables(manifest: &mut Table) -> Vec<&mut Table> {
    let mut tables = Vec::new();
    for (name, part) in manifest.iter_mut() {
        match (name.as_str(), part) {
            ("dependencies" | "dev-dependencies", Value::Table(table)) => tables.push(table),
            ("target", Value::Table(systems)) => {
                let systems = systems
                    .iter_mut()
                    .filter_map(|(_, system)| system.as_table_mut());
                tables.extend(systems.flat_map(dependency_tables));
            }
            _ => {}
        }
    }
    tables
}

fn part<'a>(manifest: &'a mut Table, name: &str) -> &'a mut Table {
    let part = manifest
        .entry(name)
        .or_insert_with(|| Value::from(Table::new()));
    part.as_table_mut()
        .expect("a part of a manifest is a table")
}

fn parsed(path: &Path) -> Result<Table, Failed> {
    let text = files::read(path)?;
    let read = text.parse();
    read.map_err(|error| Failed::Usage(format!("{}: {error}", path.display())))
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Failed> {
    let failed = |error| files::failed("read", directory, &error);
    let entries = fs::read_dir(directory).map_err(failed)?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Copies a directory; Rust files are changed.
fn copy_tree(from: &Path, to: &Path, change: &dyn Fn(&str) -> String) -> Result<(), Failed> {
    for path in entries(from)? {
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_tree(&path, &copy, change)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files::write(&copy, change(&files::read(&path)?))?;
        } else {
            files::copy(&path, &copy)?;
        }
    }
    Ok(())
}

/// Changes `use` lines, paths and the attribute of tests from tokio's to ours.
fn over_net(text: &str) -> String {
    let pattern = |text: &str| Regex::new(text).expect("a constant pattern");
    // `use tokio::{io, net::{A, B}}` becomes two lines.
    let module = pattern(r"(?m)^(?<head>[ \t]*(?:pub )?use )tokio::net;");
    let text = module.replace_all(text, "${head}gigatcp_net as net;");
    let nested = pattern(r"(?s)(?m)^(?<head>[ \t]*(?:pub )?use )tokio::(?<rest>\{.*?\});");
    let text = nested.replace_all(&text, |found: &regex::Captures<'_>| {
        let (head, rest) = (&found["head"], &found["rest"]);
        let (ours, theirs): (Vec<&str>, Vec<&str>) = items(rest)
            .into_iter()
            .partition(|item| item.starts_with("net::") || *item == "net");
        let ours = ours.iter().map(|item| match *item {
            "net" => format!("{head}gigatcp_net as net;\n"),
            item => format!("{head}tokio::{item};\n"),
        });
        format!(
            "{}{head}tokio::{{{}}};",
            ours.collect::<String>(),
            theirs.join(", ")
        )
    });
    // `use tokio::net::{A, B}`: those that we do not have stay.
    let several = pattern(r"(?s)(?m)^(?<head>[ \t]*(?:pub )?use )tokio::net::(?<rest>\{.*?\});");
    let text = several.replace_all(&text, |found: &regex::Captures<'_>| {
        let (head, rest) = (&found["head"], &found["rest"]);
        let is_ours = |item: &&str| {
            NAMES
                .iter()
                .any(|name| item.split("::").next() == Some(name))
        };
        let (ours, theirs): (Vec<&str>, Vec<&str>) = items(rest).into_iter().partition(is_ours);
        let line = |krate: &str, items: &[&str]| match items {
            [] => String::new(),
            _ => format!("{head}{krate}::{{{}}};", items.join(", ")),
        };
        line("gigatcp_net", &ours) + &line("tokio::net", &theirs)
    });
    // A path of another crate may end alike: `turmoil_net::shim::tokio::net`.
    let single = pattern(&format!(
        r"(?<before>\w::)?(?:::)?\btokio::net::(?<name>{})\b",
        NAMES.join("|")
    ));
    let text = single.replace_all(&text, |found: &regex::Captures<'_>| {
        if found.name("before").is_some() {
            found[0].to_owned()
        } else {
            format!("gigatcp_net::{}", &found["name"])
        }
    });
    let attribute = pattern(r"#\[tokio::test(?:\([^)]*\))?\]");
    attribute
        .replace_all(&text, "#[gigatcp_net::test]")
        .into_owned()
}

/// The items of `{a, b::{c, d}}`.
fn items(braced: &str) -> Vec<&str> {
    let inner = braced.trim_start_matches('{');
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let mut depth = 0;
    inner
        .split(|character| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            character == ',' && depth == 0
        })
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .collect()
}

/// A program with tests, as cargo has built it.
struct TestProgram {
    package: String,
    name: String,
    path: PathBuf,
    directory: PathBuf,
}

/// Builds all tests at once, so that shared dependencies are built once.
fn build(work: &Path) -> Result<Vec<TestProgram>, Failed> {
    let mut build = process::cargo(&["build", "--workspace", "--tests", "--keep-going"]);
    build.arg("--message-format=json-render-diagnostics");
    build
        .current_dir(work)
        .env("CARGO_TARGET_DIR", work.join("target"));
    let mut programs = Vec::new();
    // What does not build is missing in the report.
    process::run_lines(build, |line| {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else {
            return;
        };
        let (Some(path), Some(manifest)) = (
            message["executable"].as_str(),
            message["manifest_path"].as_str(),
        ) else {
            return;
        };
        if message["profile"]["test"] == true {
            let directory = Path::new(manifest).parent().unwrap_or(work).to_owned();
            let name = directory.file_name().unwrap_or_default().to_string_lossy();
            let package = if directory == work {
                "gigatcp-net-proof".into()
            } else {
                name
            };
            programs.push(TestProgram {
                package: package.into_owned(),
                name: message["target"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .into(),
                path: path.into(),
                directory: directory.clone(),
            });
        }
    })?;
    Ok(programs)
}

impl TestProgram {
    /// Runs the tests but those whose names contain a word of `skipped`.
    fn run(&self, skipped: &BTreeMap<String, String>, results: &mut Results) -> Result<(), Failed> {
        println!("{} {}", self.package, self.path.display());
        let mut command = Command::new("timeout");
        command
            .arg(TIME_LIMIT)
            .arg(&self.path)
            // Tests that wait for one another, in real time, would wait in virtual time.
            .args(["--format=pretty", "--test-threads=1"]);
        for word in skipped.keys() {
            command.args(["--skip", word]);
        }
        command.current_dir(&self.directory);
        let status = process::run_lines(command, |line| {
            println!("{line}");
            let test = line.strip_prefix("test ");
            let Some((name, outcome)) = test.and_then(|test| test.split_once(" ... ")) else {
                return;
            };
            let name = name.trim_end_matches(" - should panic").to_owned();
            match outcome {
                "ok" => results.passed.push(name),
                outcome if outcome.starts_with("ignored") => results.ignored += 1,
                _ => results.failed.push(name),
            }
        })?;
        // 101: tests failed. Others lose the tests that had not ended.
        if !matches!(status.code(), Some(0 | 101)) {
            results
                .failed
                .push(format!("{} ended with {status}", self.name));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::over_net;

    #[test]
    fn use_lines_and_attributes_change_and_nothing_else() {
        let theirs = "use std::net::TcpStream as Std;\n\
                      use tokio::{io, net::{TcpListener, UnixStream}, time};\n\
                      use tokio::net::TcpStream;\n\
                      use turmoil_net::shim::tokio::net::TcpStream as Theirs;\n\
                      #[tokio::test(flavor = \"multi_thread\")]\n\
                      async fn f() { tokio::net::UdpSocket::bind(\"a\"); }\n\
                      #[tokio::test]\n";
        let ours = "use std::net::TcpStream as Std;\n\
                    use gigatcp_net::{TcpListener};use tokio::net::{UnixStream};\n\
                    use tokio::{io, time};\n\
                    use gigatcp_net::TcpStream;\n\
                    use turmoil_net::shim::tokio::net::TcpStream as Theirs;\n\
                    #[gigatcp_net::test]\n\
                    async fn f() { gigatcp_net::UdpSocket::bind(\"a\"); }\n\
                    #[gigatcp_net::test]\n";
        assert_eq!(over_net(theirs), ours);
    }
}
