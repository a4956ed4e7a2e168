//! `cargo xtask python`: the Python module as a wheel in a virtual environment, and its tests.
//!
//! The environment is `target/python`, created once from the interpreter `python3`; packages for
//! the tests come from the package index. Without a network, `venv` or `pip` the step says so and
//! tests nothing. The wheel is built with the settings of tests, so that it shares compiled
//! crates with them, and without Parquet, which would take longer to compile than all else.
//! `--executors` adds the packages that run sweeps on dask, MPI and Ray.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{self, cargo, run_lines, spelled};
use crate::{Failed, top};

/// Packages that build a wheel. Those for tests, and for sweeps on executors, follow them.
const BUILD: &str = "maturin>=1.16,<2 ziglang wheel";

/// Additional packages for the tests. Tests skip, with a reason, if one is missing.
const TESTS: &str =
    "pytest pyarrow polars gymnasium>=1.0 matplotlib nbclient nbformat ipykernel mypy";

/// Additional packages for executors.
const EXECUTORS: &str = "distributed mpi4py mpich pandas ray";

/// Settings of the profile `test`, which maturin cannot select.
const PROFILE: [(&str, &str); 2] = [
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "2"),
    ("CARGO_PROFILE_DEV_DEBUG", "line-tables-only"),
];

/// Numbers of tests that passed and failed; `None` if nothing could be tested.
pub type Counts = Option<(u64, u64)>;

/// Runs the tests as a separate task.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let executors = words.iter().any(|word| word == "--executors");
    match tested(executors)? {
        Some((_, 0)) => Ok(()),
        Some(_) => Err(Failed::Found),
        None => Err(Failed::Usage("nothing was tested (see above)".into())),
    }
}

/// Builds the wheel and runs the tests, also those of executors if requested.
pub fn tested(executors: bool) -> Result<Counts, Failed> {
    let needs = if executors {
        format!("{BUILD} {TESTS} {EXECUTORS}")
    } else {
        format!("{BUILD} {TESTS}")
    };
    let Some(python) = environment(&needs) else {
        return Ok(None);
    };
    let lint = cargo(&[
        "clippy",
        "--quiet",
        "--package",
        "gigatcp-py",
        "--no-default-features",
    ]);
    if !shown(lint, &["--", "-D", "warnings"])? || !install(&python)? {
        return Ok(Some((0, 1)));
    }
    let mut tests = Command::new(&python);
    tests
        .args([
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-rs",
            "--durations=5",
        ])
        .current_dir(top().join("face/py"));
    println!("{}", spelled(&tests));
    let mut counts = None;
    let status = run_lines(tests, |line| {
        println!("{line}");
        counts = summary(line).or(counts);
    })?;
    let (passed, failed) = counts.unwrap_or_default();
    Ok(Some((passed, failed.max(u64::from(!status.success())))))
}

/// Interpreter of an environment that builds wheels: its directory has the tools. `None` if there is
/// none.
pub fn interpreter() -> Option<PathBuf> {
    environment(BUILD)
}

/// Interpreter of the environment, with these packages installed. `None` if that is not possible,
/// which is reported.
fn environment(needs: &str) -> Option<PathBuf> {
    let directory = process::target().join("python");
    let python = directory.join("bin/python");
    // Packages that were installed, as text; fewer may be requested now.
    let mark = directory.join("needs.txt");
    let has_all = fs::read_to_string(&mark).is_ok_and(|text| text.starts_with(needs));
    if python.exists() && has_all {
        return Some(python);
    }
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&directory);
    if !done(venv) {
        println!("skipped: `python3 -m venv` does not work here (Debian: python3-venv)");
        return None;
    }
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ])
    .args(needs.split(' '));
    if !done(pip) {
        println!("skipped: pip cannot install {needs}");
        return None;
    }
    let _ = fs::write(mark, needs);
    Some(python)
}

/// Builds the wheel and installs it. Returns whether that succeeded.
fn install(python: &Path) -> Result<bool, Failed> {
    let wheels = process::target().join("python/wheels");
    let _ = fs::remove_dir_all(&wheels);
    let mut build = Command::new(python.with_file_name("maturin"));
    build
        .args([
            "build",
            "--quiet",
            "--no-default-features",
            "--manifest-path",
            "face/py/Cargo.toml",
        ])
        .arg("--out")
        .arg(&wheels)
        .envs(PROFILE)
        .current_dir(top());
    if !shown(build, &[])? {
        return Ok(false);
    }
    let wheel = fs::read_dir(&wheels).into_iter().flatten().flatten().next();
    let Some(wheel) = wheel else {
        println!("maturin has made no wheel");
        return Ok(false);
    };
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ])
    .args(["--no-deps", "--force-reinstall"])
    .arg(wheel.path());
    shown(pip, &[])
}

/// Prints and runs a command. Returns whether it succeeded.
fn shown(mut command: Command, more: &[&str]) -> Result<bool, Failed> {
    command.args(more);
    println!("{}", spelled(&command));
    Ok(process::run(command)?.success())
}

/// Whether a command, which may be missing, succeeded.
fn done(mut command: Command) -> bool {
    println!("{}", spelled(&command));
    let status = command.stdin(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Counts in a line like `1 failed, 45 passed, 2 skipped in 30.12s`.
fn summary(line: &str) -> Option<(u64, u64)> {
    let (counts, _) = line.trim_matches([' ', '=']).rsplit_once(" in ")?;
    let number = |what: &str| {
        let mut parts = counts.split(", ");
        let part = parts.find_map(|part| part.strip_suffix(what))?;
        part.trim().parse().ok()
    };
    let failed = number("failed").unwrap_or(0) + number("errors").or(number("error")).unwrap_or(0);
    match (number("passed"), failed) {
        (None, 0) => None,
        (passed, failed) => Some((passed.unwrap_or(0), failed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_pytest_gives_its_counts() {
        assert_eq!(summary("45 passed, 2 skipped in 30.12s"), Some((45, 0)));
        let line = "=== 1 failed, 44 passed, 1 error in 9.00s (0:00:09) ===";
        assert_eq!(summary(line), Some((44, 2)));
        assert_eq!(summary("FAILED tests/test_run.py::a - took 3 in all"), None);
        assert_eq!(summary("collected 45 items"), None);
    }
}
