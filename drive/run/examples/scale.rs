//! Measures the overhead of a sweep beyond its simulations, and the time to resume a complete one.
//!
//!     cargo run --release -p gigatcp-run --example scale -- overhead [CELLS]
//!     cargo run --release -p gigatcp-run --example scale -- resume [CELLS]
//!     cargo run --release -p gigatcp-run --example scale -- kills [COUNT]
//!
//! `overhead`: cells of about 10 ms of work, as a sweep and simulation by simulation, in CPU time.
//! `resume`: trivial cells run once; then the same sweep is opened and run again. `kills`: a sweep
//! in a separate process is killed at random moments; its tables must equal those of an undisturbed
//! sweep.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gigatcp_plan::design::Question;
use gigatcp_plan::design::space::Memory;
use gigatcp_plan::{NoFiles, Sweep as Section, Template};
use gigatcp_run::sweep::{Progress, StoredQuestion, Sweep};

/// Plan with about 10 ms of work per cell.
const WORK: &str = r#"
name = "work"
path = { rate = "1 Gbit/s", rtt = "10 ms", loss = "1e-4" }
flow = { bytes = "30 MB" }
"#;

/// Plan with next to no work.
const TRIVIAL: &str = r#"
name = "trivial"
duration = "10 s"
path = { rate = "1 Gbit/s", rtt = "1 ms" }
flow = { bytes = "1 kB" }
record = { sample = "1 s" }
"#;

fn asked(plan: &str, over: &[String]) -> StoredQuestion {
    let template = Template::read("p", plan.as_bytes(), &[], &NoFiles).expect("a checked plan");
    let section = Section {
        over: over.to_vec(),
        ..Section::default()
    };
    let question = Question::of(template.plan(), &section, None);
    StoredQuestion::new(&template, plan, &question, "example")
}

/// CPU time of this process, user and system.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .filter_map(|text| text.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

fn run(base: &Path, asked: &StoredQuestion) -> (u64, u64) {
    let sweep = Sweep::open(base, asked.clone()).expect("a sweep");
    let progress = Progress::default();
    let stop = AtomicBool::new(false);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    sweep.run(threads, &stop, &progress).expect("a store");
    let counts = [&progress.known, &progress.done];
    let [known, done] = counts.map(|count| count.load(Ordering::Relaxed));
    (known, done)
}

fn overhead(base: &Path, cells: u64) {
    let side = (cells as f64).sqrt().round() as u64;
    let over = [
        format!("path.rtt=5 ms..20 ms linear {side}"),
        format!("path.loss=1e-5..2e-4 linear {side}"),
    ];
    let asked = asked(WORK, &over);
    let before = cpu();
    let (_, done) = run(base, &asked);
    let of_sweep = cpu() - before;
    let sweep = Sweep::open(base, asked.clone()).expect("a sweep");
    let memory = Memory::default();
    let (stop, now) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = cpu();
    for number in 0..sweep.space().count() {
        let cell = sweep.space().cell(number, &asked, &memory).expect("a cell");
        let series = sweep.space().scenario(&cell, &asked).expect("a scenario");
        gigatcp_run::run::world(&series, (0, 1), Vec::new(), &stop, &now).expect("a world");
    }
    let bare = cpu() - before;
    let share = (of_sweep.as_secs_f64() / bare.as_secs_f64() - 1.0) * 100.0;
    println!(
        "{done} cells: {of_sweep:.2?} CPU time as a sweep, {bare:.2?} world by world: {share:.1} % \
         overhead"
    );
}

fn resume(base: &Path, cells: u64) {
    let side = (cells as f64).sqrt().round() as u64;
    let over = [
        format!("path.rtt=1 ms..{side} ms linear {side}"),
        format!("flow.bytes=1 kB..{side} kB linear {side}"),
    ];
    let asked = asked(TRIVIAL, &over);
    let began = Instant::now();
    let (_, done) = run(base, &asked);
    println!("{done} cells ran in {:.1?}", began.elapsed());
    let (began, before) = (Instant::now(), cpu());
    let (known, done) = run(base, &asked);
    println!(
        "asked again: {known} known, {done} ran, in {:.1?} ({:.1?} CPU time); {}",
        began.elapsed(),
        cpu() - before,
        peak()
    );
}

/// Peak memory of this process.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.unwrap_or_default().replace(char::is_whitespace, " ")
}

/// A question of 20,000 cells of half a millisecond. It takes more than 100 killed sweeps.
fn killed() -> StoredQuestion {
    let over = [
        "path.rtt=1 ms..40 ms linear 100",
        "path.loss=0..0.02 linear 200",
    ];
    let plan = WORK.replace("30 MB", "1 MB");
    asked(&plan, &over.map(str::to_owned))
}

fn kills(base: &Path, count: u64) -> bool {
    let asked = killed();
    let (calm, disturbed) = (base.join("calm"), base.join("disturbed"));
    run(&calm, &asked);
    let program = std::env::current_exe().expect("this program");
    let mut ran = 0;
    for kill in 0..count {
        let mut command = Command::new(&program);
        let mut child = command
            .arg("child")
            .arg(&disturbed)
            .spawn()
            .expect("a child");
        // The golden ratio spreads the moments.
        let share = (kill as f64 * 0.618_033_988).fract();
        std::thread::sleep(Duration::from_secs_f64(0.02 + 0.1 * share));
        child.kill().expect("a child to kill");
        child.wait().expect("its end");
        let sweep = Sweep::open(&disturbed, asked.clone()).expect("a sweep");
        assert!(sweep.store().len() >= ran, "rows were lost");
        assert!(sweep.store().flaws().corrupt.is_empty(), "a row is corrupt");
        ran = sweep.store().len();
    }
    let (known, done) = run(&disturbed, &asked);
    let cells = |base: &Path| {
        let sweep = Sweep::open(base, asked.clone()).expect("a sweep");
        sweep.write_tables().expect("tables");
        ["cells.csv.gz", "flows.csv.gz", "hops.csv.gz"]
            .map(|name| std::fs::read(sweep.directory().join(name)).ok())
    };
    let same = cells(&calm) == cells(&disturbed);
    println!("{count} kills: {known} cells were there, {done} ran then, tables the same: {same}");
    same
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let what = arguments.first().map_or("", String::as_str);
    if what == "child" {
        run(Path::new(&arguments[1]), &killed());
        return ExitCode::SUCCESS;
    }
    let count = |default| {
        arguments
            .get(1)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let base = tempfile::tempdir().expect("a directory");
    match what {
        "overhead" => overhead(base.path(), count(10_000)),
        "resume" => resume(base.path(), count(1_000_000)),
        "kills" => return ExitCode::from(u8::from(!kills(base.path(), count(100)))),
        _ => {
            eprintln!("overhead, resume or kills");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
