//! `conformance/differences.toml` against the scripts and against the running
//! kernel. Without the privilege to make a laboratory, or on another kernel
//! than the file names, the second says so and proves nothing.

mod loud;

use std::path::{Path, PathBuf};

use gigatcp_kernel::differences::{Differences, Standing, is_shared};
use gigatcp_kernel::judge::{Case, IpVersion, judge_all};
use gigatcp_script::run::Settings;

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

/// Every script below `folder`, by its name from `conformance/script`.
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

/// The script in this file, if other stacks are held to it.
fn case(path: &Path) -> Option<(String, Case)> {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.strip_prefix(scripts()).unwrap().to_str().unwrap();
    let name = name.replace('\\', "/");
    let script = gigatcp_script::parse(&text)
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

#[test]
fn the_kernel_meets_every_shared_script_but_as_listed() {
    let differences = differences();
    let mut found = Vec::new();
    walk(&scripts(), &mut found);
    let (names, cases): (Vec<String>, Vec<Case>) = found.into_iter().unzip();
    let judged = match judge_all(&cases, 16, &|_, _| {}) {
        Ok(judged) => judged,
        Err(error) if error.is_missing_privilege() => {
            loud::skip(&error);
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let mut wrong = Vec::new();
    for ((name, case), judged) in names.iter().zip(&cases).zip(&judged) {
        match differences.standing(name, &case.text, &judged.report) {
            Standing::Meets | Standing::AsListed(_) | Standing::Unsupported => {}
            Standing::Unlisted => wrong.push(judged.report.in_text(name, &case.text)),
            Standing::Stale(_) => wrong.push(format!("{name} is listed and differs no longer")),
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
