//! `cargo xtask proof`: the gradings that take too long for CI, one after the other.
//!
//! Each stores its result in `docs/`, to compare it with the last one. With `--kernels DIR`
//! captures of kernels (`cargo xtask grade --make`) are graded as well; without it that part is
//! listed as not run. The statements of `gigatcp doctor` are compared with tests in network
//! namespaces; `--doctor` does only that. `--responses` runs only the congestion controls for
//! 10^9 packets and more, and compares them with their response functions. `--ns2` compares only
//! their windows with Linux's code in ns-2; `--bpf` five of them with BPF objects in this kernel;
//! `--ndt7` runs the tester against M-Lab's server; `--net` runs programs and the tests of published
//! crates over `gigatcp-net`.
//! Property tests, which CI runs with a fixed seed, draw new cases; `--properties` runs only
//! them. Each target of `fuzz` is searched for a minute. Sweeps of the Python module run on dask, MPI and Ray. `--agents` makes transfers with a
//! fault and healthy ones, and grades what a script of three calls of `gigatcp mcp` concludes;
//! `--fix` makes hosts with wrong settings, and grades what the advice of `gigatcp doctor` brings
//! them. Both require root. `--packages` installs the packages of `dist` in clean roots. First
//! the command line is checked for other systems and with the oldest compiler; `--targets` does
//! only that.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::Command;

use crate::{
    Failed, ci, files, fuzz, grade, installed, ndt, net_suites, process, python, targets, top,
};

/// Gradings of simulated worlds.
const WORLDS: [&str; 7] = [
    "--seeds 20 --write",
    "--fat --seeds 10 --write",
    "--shared --seeds 10 --write",
    "--elements --seeds 10 --write",
    "--counterfactual --seeds 5 --write",
    "--next --seeds 30 --write",
    "--whatif --seeds 12 --first 8200000 --write",
];

/// Gradings of kernels' captures.
const KERNELS: [&str; 3] = ["--write", "--two --write", "--metamorphic --write"];

/// Gradings of the tester, over paths that no weight was fitted to.
const TESTER: [&str; 2] = [
    "--tester --seeds 101..107 --write",
    "--tester --seeds 201..205 --peer iperf3 --write",
];

/// Runs all gradings; stops at the first that cannot be run.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let has = |part: &str| words.iter().any(|word| word == part);
    if has("--doctor") {
        return doctor();
    }
    if has("--packages") {
        return installed::run();
    }
    if has("--agents") {
        return agents();
    }
    if has("--fix") {
        return fix();
    }
    if has("--responses") {
        return responses();
    }
    if has("--ns2") {
        return ns2();
    }
    if has("--bpf") {
        return bpf();
    }
    if has("--ndt7") {
        return ndt::run();
    }
    if has("--net") {
        return net_suites::run();
    }
    let value = |option: &str| {
        let place = words.iter().position(|word| word == option)?;
        words.get(place + 1)
    };
    let seed = value("--seed").and_then(|seed| seed.parse().ok());
    if has("--properties") {
        return properties(seed);
    }
    targets::systems()?;
    if has("--targets") {
        return Ok(());
    }
    let directory = value("--kernels");
    properties(seed)?;
    println!("\n== python on executors");
    python::run(&["--executors".to_owned()])?;
    fuzz::run(&[fuzz::ALL.to_owned()])?;
    for text in WORLDS.iter().chain(&TESTER) {
        graded(text)?;
    }
    agents()?;
    fix()?;
    responses()?;
    if process::has("ns") {
        ns2()?;
    } else {
        println!("not run: windows compared with ns-2 (Debian: apt install ns2)");
    }
    if process::has(CLANG) {
        bpf()?;
    } else {
        println!(
            "not run: congestion controls as BPF objects (Debian: apt install {BPF_PACKAGES})"
        );
    }
    ndt::run()?;
    net_suites::run()?;
    let Some(directory) = directory else {
        println!("not run: captures of kernels (--kernels DIR)");
        graded("--metamorphic --seeds 1 --write")?;
        return doctor();
    };
    for text in KERNELS {
        graded(&format!("--kernels {directory} {text}"))?;
    }
    doctor()
}

/// Runs the tests; property tests draw their cases from a given seed, or from a new one.
fn properties(given: Option<u64>) -> Result<(), Failed> {
    let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("\n== tests with new cases");
    let count = ci::all_tests(seed)?;
    println!("the same cases again: cargo xtask proof --properties --seed {seed}");
    match count.failed {
        0 => Ok(()),
        _ => Err(Failed::Found),
    }
}

/// Compares the costs that `gigatcp doctor` states with tests.
fn doctor() -> Result<(), Failed> {
    kept("gigatcp-interop", "doctor")
}

/// Draws of each of the families for agents.
const DRAWS: &str = "1..11";

/// Grades a script of three calls of `gigatcp mcp`, on captures that it makes.
fn agents() -> Result<(), Failed> {
    println!("\n== agents");
    let cases = process::target().join("agents");
    // The captures are those of today's kernel and program.
    drop(std::fs::remove_dir_all(&cases));
    build_programs()?;
    let gigatcp = program("gigatcp");
    let mut make = Command::new(program("kernels"));
    make.args(["make", "--family", "agents", "--seeds", DRAWS, "--out"]);
    make.arg(&cases).arg("--gigatcp").arg(&gigatcp);
    process::succeed(make)?;
    let mut grade = Command::new(program("agents"));
    grade.arg(&cases).arg(&gigatcp);
    keep("agents", grade)
}

/// Hosts with wrong settings, and healthy ones.
const HOSTS: &str = "4001..4081";

/// Grades what the advice of `gigatcp doctor` brings to hosts with wrong settings. A run that was
/// stopped goes on: `target/mistuned` has what was measured.
fn fix() -> Result<(), Failed> {
    println!("\n== fix");
    build_programs()?;
    let mut grade = Command::new(program("mistuned"));
    grade
        .arg(program("gigatcp"))
        .arg(process::target().join("mistuned"))
        .arg(HOSTS);
    keep("fix", grade)
}

/// Builds the command line and the graders.
fn build_programs() -> Result<(), Failed> {
    let mut build = process::cargo(&["build", "--quiet", "--release", "--bins"]);
    build.args(["--package", "gigatcp", "--package", "gigatcp-grade"]);
    build.args(["--features", "gigatcp/mcp"]);
    process::succeed(build)
}

/// A program that was built.
fn program(name: &str) -> std::path::PathBuf {
    process::target().join("release").join(name)
}

/// Measures the mean windows of the congestion controls at loss rates down to 1e-8.
fn responses() -> Result<(), Failed> {
    kept("gigatcp-tcp", "responses")
}

/// Compares the windows of the congestion controls with those of Linux's code in ns-2.
fn ns2() -> Result<(), Failed> {
    kept("gigatcp-sim", "ns2")
}

/// Compiler of BPF objects.
const CLANG: &str = "clang-16";
const BPF_PACKAGES: &str = "clang-16 libbpf-dev libelf-dev zlib1g-dev";

/// Compiles the congestion controls of `proof/bpf`, and compares them in the kernel with those of the
/// engine. Requires root.
fn bpf() -> Result<(), Failed> {
    println!("\n== BPF objects");
    let objects = process::target().join("bpf");
    std::fs::create_dir_all(&objects).map_err(|error| Failed::Usage(error.to_string()))?;
    // Where Debian has <asm/types.h>.
    let headers = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    for law in ["scalable", "highspeed", "htcp", "westwood", "dctcp"] {
        let mut compile = Command::new(CLANG);
        compile.args(["-g", "-O2", "-Wall", "-Werror", "-target", "bpf"]);
        compile.args(["-D__TARGET_ARCH_x86", "-I", &headers, "-c"]);
        compile.arg(top().join(format!("proof/bpf/{law}.bpf.c")));
        compile.arg("-o").arg(objects.join(format!("{law}.bpf.o")));
        process::succeed(compile)?;
    }
    let mut build = process::cargo(&["build", "--quiet", "--release", "--package", "gigatcp-run"]);
    build.args(["--features", "bpf", "--example", "bpf_twins"]);
    process::succeed(build)?;
    let mut compare = Command::new(process::target().join("release/examples/bpf_twins"));
    compare.arg(objects);
    keep("bpf", compare)
}

/// Runs an example and stores its output in `proof/results/`, under its name.
fn kept(package: &str, name: &str) -> Result<(), Failed> {
    println!("\n== {name}");
    let example = process::build_example(package, name, "release")?;
    keep(name, Command::new(example))
}

/// Runs a program and stores its output in `proof/results/` under this name.
fn keep(name: &str, command: Command) -> Result<(), Failed> {
    let (ended, text) = process::shown(command)?;
    if ended.code() == Some(2) {
        return Err(Failed::Usage("nothing was tested (see above)".into()));
    }
    files::write(&top().join(format!("proof/results/{name}.txt")), text)?;
    match ended.success() {
        true => Ok(()),
        false => Err(Failed::Found),
    }
}

fn graded(text: &str) -> Result<(), Failed> {
    println!("\n== cargo xtask grade {text}");
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    grade::run(&words)
}
