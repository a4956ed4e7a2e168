//! Checks of features, other systems and older compilers, as far as they are installed.
//!
//! `cargo xtask ci` checks the engine with none and with each of its features, and without a
//! standard library. `cargo xtask proof --targets` checks the command line and `gigatcp-net` for
//! other systems, and everything with the oldest compiler that the manifest names. rustup installs
//! missing ones: `rustup target add`, `rustup toolchain install`.

use std::path::Path;
use std::process::Command;

use crate::{Failed, files, process, top};

/// Features of the engine, each checked alone; the first is none.
const FEATURES: [&str; 4] = ["", "authentication", "fast-open", "historic"];

/// 32-bit targets without an operating system.
const BARE: [&str; 2] = ["thumbv7em-none-eabihf", "wasm32-unknown-unknown"];

/// The target of the page in a browser.
const BROWSER: &str = "wasm32-unknown-unknown";

/// Other systems that the command line is built for.
const SYSTEMS: [&str; 3] = [
    "x86_64-pc-windows-gnu",
    "x86_64-apple-darwin",
    "x86_64-unknown-freebsd",
];

/// Checks the engine with none of its features and with each alone. Other steps have all of them
/// on.
pub fn features() -> Result<(), Failed> {
    for feature in FEATURES {
        let words = [
            "clippy",
            "--quiet",
            "--package",
            "gigatcp-stack",
            "--package",
        ];
        let mut command = process::cargo(&words);
        command.args(["gigatcp-tcp", "--no-default-features"]);
        command.args(["--features", feature, "--", "-D", "warnings"]);
        run(command)?;
    }
    // As a user builds it: the other steps have all its features.
    let words = ["clippy", "--quiet", "--package", "gigatcp", "--"];
    run(process::cargo(&[&words[..], &["-D", "warnings"]].concat()))
}

/// Checks the engine for targets without a standard library, and the page for browsers.
pub fn bare() -> Result<(), Failed> {
    for target in BARE {
        check("gigatcp-stack", target)?;
    }
    check("gigatcp-web", BROWSER)
}

/// Checks the command line for other systems, and everything with the oldest compiler.
pub fn systems() -> Result<(), Failed> {
    for target in SYSTEMS {
        // Without a C compiler of that system there is no TLS.
        check_with("gigatcp", target, &["--no-default-features"])?;
        check("gigatcp-net", target)?;
    }
    oldest()
}

/// Checks a package for a target whose `std` or `core` is installed.
fn check(package: &str, target: &str) -> Result<(), Failed> {
    check_with(package, target, &[])
}

fn check_with(package: &str, target: &str, options: &[&str]) -> Result<(), Failed> {
    let directory = said("rustc", &["--print", "target-libdir", "--target", target]);
    if !directory.is_some_and(|directory| Path::new(directory.trim()).is_dir()) {
        println!("skipped: check for {target}; install it: rustup target add {target}");
        return Ok(());
    }
    let words = ["check", "--quiet", "--package", package, "--target", target];
    run(process::cargo(&[&words, options].concat()))
}

/// Checks libraries and programs with the compiler of `rust-version`.
fn oldest() -> Result<(), Failed> {
    let manifest = files::read(&top().join("Cargo.toml"))?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .map(|version| version.trim_matches('"'))
        .ok_or_else(|| Failed::Usage("Cargo.toml has no rust-version".into()))?;
    let words = ["run", version, "rustc", "--version"];
    if said("rustup", &words).is_none() {
        println!(
            "skipped: check with Rust {version}; install it: rustup toolchain install {version}"
        );
        return Ok(());
    }
    let target = process::target().join("oldest");
    let mut command = Command::new("rustup");
    command.args(["run", version, "cargo", "check", "--quiet", "--workspace"]);
    command.args(["--exclude", "gigatcp-py", "--target-dir"]);
    command.arg(target).current_dir(top());
    run(command)
}

/// Output of a command; `None` if it fails.
fn said(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

fn run(command: Command) -> Result<(), Failed> {
    println!("{}", process::spelled(&command));
    match process::run(command)?.success() {
        true => Ok(()),
        false => Err(Failed::Found),
    }
}
