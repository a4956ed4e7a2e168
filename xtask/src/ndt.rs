//! `cargo xtask proof --ndt7`: the client of ndt7 against M-Lab's own server.
//!
//! The server is built from the Go module proxy, at the version below, outside of the tree.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Failed;
use crate::process::{self, cargo, succeed};

/// Module of the server.
const MODULE: &str = "github.com/m-lab/ndt-server";

/// Its version. A proxy may refuse the list of all versions.
const VERSION: &str = "v0.25.0";

/// Builds the server, and runs the tests that need it.
pub fn run() -> Result<(), Failed> {
    println!("\n== ndt7: {MODULE} {VERSION}");
    if !process::has("go") {
        println!("not run: ndt7 (Debian: apt install golang)");
        return Ok(());
    }
    let directory = process::target().join("ndt-server");
    let program = directory.join("ndt-server");
    if !program.exists() {
        build(&directory, &program)?;
    }
    let mut test = cargo(&["test", "--quiet", "--package", "gigatcp", "--test", "ndt7"]);
    test.args(["reference_server", "--", "--nocapture"]);
    test.env("NDT_SERVER", &program);
    match process::run(test)?.success() {
        true => Ok(()),
        false => Err(Failed::Found),
    }
}

/// Builds the program in a copy of the module: the proxy's directory is read-only.
fn build(directory: &Path, program: &Path) -> Result<(), Failed> {
    let mut download = Command::new("go");
    download.args(["mod", "download", "-json", &format!("{MODULE}@{VERSION}")]);
    download.current_dir(std::env::temp_dir());
    let described = process::printed(download)?;
    let module = described.lines().find_map(|line| {
        let value = line.trim().strip_prefix("\"Dir\": \"")?;
        value.strip_suffix("\",")
    });
    let Some(module) = module else {
        let text = format!("go cannot download {MODULE} {VERSION}: {described}");
        return Err(Failed::Usage(text));
    };
    let failed = |error: std::io::Error| Failed::Usage(format!("{}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(failed)?;
    let source = directory.join("source");
    let mut copy = Command::new("cp");
    copy.args(["-r", "--no-preserve=mode", module]).arg(&source);
    succeed(copy)?;
    let mut compile = Command::new("go");
    compile.arg("build").arg("-o").arg(program).arg(".");
    compile.current_dir(&source);
    succeed(compile)
}
