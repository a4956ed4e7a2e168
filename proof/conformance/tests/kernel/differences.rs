//! Tests `conformance/differences.toml` against the scripts and the running kernel. Without the
//! privilege to create a test network namespace, or on a kernel other than the file's, the second
//! test prints that and proves nothing.

use super::loud;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use gigatcp_conformance::kernel::differences::{Comparison, Differences, is_shared};
use gigatcp_conformance::kernel::runner::{Case, IpVersion, run_scripts};
use gigatcp_conformance::run::{Report, Settings};
use gigatcp_linux::SetupError;

/// Number of repetitions for scripts with an unlisted difference, and the pause before each.
/// Attempts in succession would be disturbed by the same other work.
const SPELLS: u32 = 6;
const SPELL: Duration = Duration::from_secs(10);

fn conformance() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn scripts() -> PathBuf {
    conformance().join("script")
}

fn differences() -> Differences {
    let path = conformance().join("differences.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    Differences::read(&text, &scripts()).unwrap_or_else(|fault| panic!("{fault}"))
}

/// Collects every script below `folder`, by its name from `conformance/script`.
fn walk(folder: &Path, found: &mut Vec<(String, Case)>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "pkt") {
            found.extend(case(&path));
        }
    }
}

/// Script in this file, if it is shared.
fn case(path: &Path) -> Option<(String, Case)> {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path
        .strip_prefix(scripts())
        .unwrap()
        .to_str()
        .unwrap()
        .replace('\\', "/");
    let script = gigatcp_conformance::parse(&text)
        .unwrap_or_else(|mistake| panic!("{}", mistake.in_text(&name, &text)));
    let version = match script.option("ip_version") {
        Some(option) => IpVersion::from_name(&option.value).unwrap(),
        None => IpVersion::V4,
    };
    let folder = path.parent().unwrap().to_path_buf();
    is_shared(&script).then_some((
        name,
        Case {
            script,
            text,
            folder,
            version,
            settings: Settings::default(),
        },
    ))
}

#[test]
fn every_listed_difference_is_of_a_shared_script_and_says_why() {
    let _ = differences();
}

/// Report of each script.
fn reports(cases: &[Case], side_by_side: usize) -> Result<Vec<Report>, SetupError> {
    let results = run_scripts(cases, side_by_side, &|_, _| {})?;
    Ok(results.into_iter().map(|one| one.report).collect())
}

#[test]
fn the_kernel_meets_every_shared_script_but_as_listed() {
    let differences = differences();
    let mut found = Vec::new();
    walk(&scripts(), &mut found);
    let (names, cases): (Vec<String>, Vec<Case>) = found.into_iter().unzip();
    let mut reports = match reports(&cases, 16) {
        Ok(reports) => reports,
        Err(error) if error.is_missing_privilege() => {
            loud::skip(&error);
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let unlisted = |reports: &[Report]| -> Vec<usize> {
        let is_unlisted = |at: &usize| {
            let comparison = differences.compare(&names[*at], &cases[*at].text, &reports[*at]);
            matches!(comparison, Comparison::Unlisted)
        };
        (0..cases.len()).filter(is_unlisted).collect()
    };
    // Other work on the machine comes in periods of seconds, so failed scripts wait until it may be
    // over.
    for _ in 0..SPELLS {
        let again = unlisted(&reports);
        if again.is_empty() {
            break;
        }
        thread::sleep(SPELL);
        let those: Vec<Case> = again.iter().map(|at| cases[*at].clone()).collect();
        for (at, report) in again.into_iter().zip(self::reports(&those, 1).unwrap()) {
            reports[at] = report;
        }
    }
    let mut wrong = Vec::new();
    for ((name, case), report) in names.iter().zip(&cases).zip(&reports) {
        match differences.compare(name, &case.text, report) {
            Comparison::Meets | Comparison::AsListed(_) | Comparison::Unsupported => {}
            Comparison::Unlisted => wrong.push(report.in_text(name, &case.text)),
            Comparison::Stale(_) => wrong.push(format!("{name} is listed and differs no longer")),
        }
    }
    let story = wrong.join("\n");
    if differences.is_of_this_kernel() {
        assert!(wrong.is_empty(), "{story}");
    } else if !wrong.is_empty() {
        let linux = &differences.linux;
        loud::say(&format!(
            "NOTHING PROVEN: this kernel is not Linux {linux}, and differs:\n{story}"
        ));
    }
}
