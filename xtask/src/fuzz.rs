//! `cargo xtask fuzz TARGET [--seconds N]`: libFuzzer on a target of the crate `fuzz`.
//!
//! It begins with the target's corpus. The instrumentation is that of LLVM's coverage pass, which
//! the stable compiler offers, in a separate target directory. Inputs that libFuzzer keeps go to
//! `target/fuzz/found/TARGET`. An input that causes a failure belongs into `fuzz/corpus/TARGET`,
//! where the tests replay it.

use std::process::Command;

use crate::{Failed, process, top};

/// Compiler flags for coverage counters and a table of program counters, as libFuzzer reads them.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
                            -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                            -Cllvm-args=-sanitizer-coverage-pc-table \
                            -Cllvm-args=-sanitizer-coverage-trace-compares \
                            -Ccodegen-units=1 -Cdebug-assertions";

/// Default search time in seconds.
const SECONDS: &str = "60";

/// Builds the instrumented program and runs it.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let (target, seconds) = match words {
        [target] => (target.as_str(), SECONDS),
        [target, flag, seconds] if flag == "--seconds" => (target.as_str(), seconds.as_str()),
        _ => {
            return Err(Failed::Usage(
                "usage: cargo xtask fuzz packet|options|engine|delivery|endpoint|script|capture|pcap|pcapng|text|link\
                 |flows|fragments|iperf3|nuttcp [--seconds N]".into(),
            ));
        }
    };
    let corpus = top().join("fuzz/corpus").join(target);
    if !corpus.is_dir() || target.contains(['/', '.']) {
        let what = format!("there is no target `{target}`: fuzz/corpus has a directory for each");
        return Err(Failed::Usage(what));
    }
    let folder = top().join("target/fuzz");
    let found = folder.join("found").join(target);
    std::fs::create_dir_all(&found)
        .map_err(|error| Failed::Usage(format!("cannot make {}: {error}", found.display())))?;
    let mut build = process::cargo(&["build", "--release", "--package", "gigatcp-fuzz"]);
    build.args(["--bin", "guided", "--features", "guided", "--target-dir"]);
    // If a target is named, build scripts are not instrumented.
    let host = host()?;
    build.arg(&folder).args(["--target", &host]);
    build.env("RUSTFLAGS", INSTRUMENTED);
    if !process::run(build)?.success() {
        return Err(Failed::Found);
    }
    let mut guided = Command::new(folder.join(&host).join("release/guided"));
    guided
        .env("FUZZ_TARGET", target)
        .args([&found, &corpus])
        .arg(format!("-max_total_time={seconds}"))
        .arg("-max_len=8192")
        .arg(format!("-artifact_prefix={}/", folder.display()));
    if process::run(guided)?.success() {
        Ok(())
    } else {
        Err(Failed::Found)
    }
}

/// Compiler's name of this machine.
fn host() -> Result<String, Failed> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| Failed::Usage(format!("cannot run rustc: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(String::from)
        .ok_or_else(|| Failed::Usage("rustc -vV names no host".into()))
}
