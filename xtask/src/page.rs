//! `cargo xtask page`: the page that answers in the browser, `target/page/why.html`.
//!
//! `gigatcp-web` is built as WebAssembly and put into its page, compressed: one file. With `--test` its
//! answers are compared, by Node.js, with those of the command for all captures of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, cargo, succeed};
use crate::{Failed, top};

const TARGET: &str = "wasm32-unknown-unknown";

/// Directories with captures.
const CAPTURES: [&str; 2] = ["drive/analyze/tests", "proof/grade/kept"];

/// Directory of reports of testers, which `why` reads too.
const REPORTS: &str = "reports";

/// Makes the page, and compares its answers if requested.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let package = ["--package", "gigatcp-web"];
    let mut build = cargo(&["build", "--quiet", "--profile", "dist", "--lib"]);
    build.args(package).args(["--target", TARGET]);
    succeed(build)?;
    let wasm = process::target().join(TARGET).join("dist/gigatcp_web.wasm");
    let directory = process::target().join("page");
    fs::create_dir_all(&directory).map_err(|error| {
        Failed::Usage(format!("cannot create {}: {error}", directory.display()))
    })?;
    let mut page = cargo(&["run", "--quiet", "--profile", "test", "--example", "page"]);
    page.args(package)
        .arg("--")
        .arg(&wasm)
        .arg(directory.join("why.html"));
    succeed(page)?;
    if words.iter().any(|word| word == "--test") {
        return compare(&wasm, &directory.join("why.html"));
    }
    Ok(())
}

/// Compares the answers of the WebAssembly with those of the command, and tries the page in a browser.
fn compare(wasm: &Path, page: &Path) -> Result<(), Failed> {
    let program = process::build_command("test")?;
    let mut captures = Vec::new();
    for directory in CAPTURES {
        collect(&top().join(directory), &mut captures);
    }
    captures.sort();
    let mut node = Command::new("node");
    node.arg(top().join("face/web/tests/same.mjs"));
    node.arg(wasm).arg(program).args(captures);
    succeed(node)?;
    let mut browser = cargo(&["test", "--quiet", "--package", "gigatcp-web"]);
    browser.env("GIGATCP_PAGE", page);
    succeed(browser)
}

/// Adds the captures in a directory and below it.
fn collect(directory: &Path, captures: &mut Vec<PathBuf>) {
    for file in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = file.path();
        let file_name = path.to_string_lossy();
        let name = file_name.trim_end_matches(".zst").trim_end_matches(".gz");
        if path.is_dir() && !path.ends_with(REPORTS) {
            collect(&path, captures);
        } else if [".pcap", ".pcapng", ".snoop", ".txt"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            captures.push(path);
        }
    }
}
