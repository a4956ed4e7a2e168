//! `gigatcp run` from outside: stored and printed results, and what is left after an interruption.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use gigatcp_plan::record::{RunRecord, SCHEMA};
use tempfile::TempDir;

/// Two short series with loss, so that the seed matters.
const SHORT: &str = r#"
name = "short"
path = { rate = "50 Mbit/s", rtt = "10 ms", loss = "1e-3" }
flow = { duration = "500 ms" }
tester = { interval = "100 ms" }
[[series]]
name = "cubic"
[[series]]
name = "reno"
set = { "flow.congestion_control" = "reno" }
"#;

/// A run longer than any test waits.
const LONG: &str = r#"
name = "long"
path = { rate = "10 Gbit/s", rtt = "10 ms" }
flow = { duration = "12 h" }
[[series]]
name = "first"
[[series]]
name = "second"
"#;

/// A directory with a plan, in which commands run.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new(plan: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        fs::write(folder.path().join("plan.toml"), plan).expect("the plan is written");
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
        command.args(["run", "plan.toml"]).args(words);
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("gigatcp starts")
    }

    /// Runs with `--json` and returns the parsed record.
    fn record(&self, words: &[&str]) -> RunRecord {
        let output = self
            .command(words)
            .arg("--json")
            .output()
            .expect("gigatcp starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("stdout is a record and nothing else")
    }

    /// Names in the directory of results, hidden ones included.
    fn results(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path().join("runs")).into_iter().flatten();
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        names
    }

    /// The only result.
    fn result(&self) -> PathBuf {
        let results = self.results();
        let [only] = &results[..] else {
            panic!("not one result: {results:?}")
        };
        self.path().join("runs").join(only)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hashes(record: &RunRecord) -> Vec<&str> {
    let series = record.series.iter();
    series.map(|series| series.event_hash.as_str()).collect()
}

#[test]
fn results_are_printed_and_stored_whole() {
    let bench = Bench::new(SHORT);
    let output = bench.run(&["-v"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = bench.result();
    let printed = text(&output.stdout);
    let place = |words: &str| {
        let found = printed.find(words);
        found.unwrap_or_else(|| panic!("no `{words}` in\n{printed}"))
    };
    let order = [
        "cubic: cubic\n",
        "reno: reno\n",
        "where the time went",
        "stored in runs/short-",
    ];
    assert!(order.map(place).is_sorted(), "{printed}");
    assert!(printed.ends_with('\n'));

    let stored = fs::read(result.join("run.json")).expect("run.json is stored");
    let record: RunRecord = serde_json::from_slice(&stored).expect("and is a record");
    assert_eq!(record.schema, SCHEMA);
    assert_eq!(record.plan, SHORT);
    assert!(!record.partial);
    let name = result.file_name().and_then(|name| name.to_str());
    assert_eq!(name, Some(format!("short-{}", record.plan_hash).as_str()));
    let page = fs::read_to_string(result.join("report.html")).expect("report.html is stored");
    assert!(page.starts_with("<!doctype html>"));
}

#[test]
fn json_on_stdout_is_the_stored_record_byte_for_byte() {
    let bench = Bench::new(SHORT);
    let output = bench.run(&["--json", "--series", "reno", "--set", "flow.window=1 MB"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stored = fs::read(bench.result().join("run.json")).expect("run.json is stored");
    assert_eq!(output.stdout.strip_suffix(b"\n"), Some(&stored[..]));
    let record: RunRecord = serde_json::from_slice(&stored).expect("a record");
    assert_eq!(record.overrides, ["flow.window=1 MB"]);
    let names: Vec<&str> = record
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(names, ["reno"]);
}

#[test]
fn the_same_run_has_the_same_events_on_any_number_of_threads() {
    let bench = Bench::new(SHORT);
    let words = ["--repeat", "3", "--seed", "7"];
    let alone = bench.record(&[&words[..], &["--jobs", "1"]].concat());
    let together = bench.record(&[&words[..], &["--jobs", "2"]].concat());
    assert_eq!(hashes(&alone), hashes(&together));
    let stored = fs::read(bench.result().join("run.json"));
    assert!(stored.is_ok(), "the second run replaced the first");

    let seeds: Vec<u64> = alone.series.iter().map(|series| series.seed).collect();
    assert_eq!(seeds, [7, 8, 9, 7, 8, 9]);
    let mut different = hashes(&alone);
    different.sort_unstable();
    different.dedup();
    assert_eq!(
        different.len(),
        6,
        "every seed and series has events of its own"
    );

    let other = bench.record(&["--seed", "8"]);
    assert_eq!(other.series[0].event_hash, alone.series[1].event_hash);
}

#[test]
fn the_order_in_which_series_are_asked_for_does_not_matter() {
    let bench = Bench::new(SHORT);
    let one = bench.record(&["--series", "reno", "--series", "cubic", "--series", "reno"]);
    let other = bench.record(&["--series", "cubic", "--series", "reno"]);
    assert_eq!(one.plan_hash, other.plan_hash);
    assert_eq!(one.series.len(), 2);
    assert_eq!(one.series[0].name, "cubic");
}

#[test]
fn of_repeats_the_first_is_shown_and_all_are_told_of() {
    let bench = Bench::new(SHORT);
    let output = bench.run(&["--repeat", "3", "-v"]);
    let printed = text(&output.stdout);
    assert_eq!(printed.matches("path, in order:").count(), 2, "{printed}");
    assert!(printed.contains("the first of 3 repeats"), "{printed}");
    assert!(printed.contains("median of 3"), "{printed}");
    let said = text(&output.stderr);
    assert_eq!(said.matches(" done: ").count(), 6, "{said}");
    let short = text(&bench.run(&["--repeat", "3"]).stdout);
    assert!(short.contains("median of 3, Mbit/s"), "{short}");
    assert!(!short.contains("path, in order:"), "{short}");
}

#[test]
fn a_run_that_saw_few_losses_is_repeated_with_further_seeds() {
    let bench = Bench::new(SHORT);
    let output = bench.run(&[]);
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(printed.contains("median of 11"), "{printed}");
    assert!(said.contains("up to 10 further seeds"), "{said}");
    let record = bench.record(&[]);
    for series in &record.series {
        let further = series.further.as_ref().expect("further seeds");
        assert_eq!((further.runs.len(), &*further.ended_by), (10, "seeds"));
        assert_eq!(further.random, ["loss at `bottleneck`"]);
        assert!(series.flows[0].loss_events < 20);
    }

    // Its first seed alone is another run, and `diff` compares medians.
    let alone = bench.record(&["--seed", &record.seed.to_string()]);
    assert_eq!(alone.series[0].event_hash, record.series[0].event_hash);
    assert_eq!(bench.results().len(), 2);
    let stored = |hash: &str| bench.path().join(format!("runs/short-{hash}"));
    let diff = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .arg("diff")
        .args([&record.plan_hash, &alone.plan_hash].map(|hash| stored(hash)))
        .output()
        .unwrap();
    let said = text(&diff.stdout);
    assert!(said.contains("medians of 11 and 1 seeds"), "{said}");
}

#[test]
fn seeds_that_were_chosen_and_captures_are_run_alone() {
    let bench = Bench::new(SHORT);
    let chosen: [&[&str]; 4] = [
        &["--seed", "3"],
        &["--repeat", "1"],
        &["--capture"],
        &["--set", "repeat=1"],
    ];
    for words in chosen {
        let record = bench.record(words);
        let none = record.series.iter().all(|series| series.further.is_none());
        assert!(none, "{words:?}");
    }
}

#[test]
fn captures_stand_beside_the_record() {
    let bench = Bench::new(SHORT);
    assert!(bench.run(&["--capture"]).status.success());
    for name in ["cubic.pcapng", "reno.pcapng"] {
        let capture = fs::read(bench.result().join(name)).expect("a capture per series");
        assert_eq!(
            capture[..4],
            [0x0a, 0x0d, 0x0d, 0x0a],
            "a pcapng section header"
        );
    }
}

/// Starts a run that never ends by itself, and waits until it is in progress.
fn started(bench: &Bench, words: &[&str]) -> Child {
    let mut command = bench.command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("gigatcp starts");
    let patience = Instant::now() + Duration::from_secs(20);
    while !bench.results().iter().any(|name| name.starts_with('.')) {
        assert!(Instant::now() < patience, "no folder was begun");
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(300));
    child
}

fn send(child: &Child, signals: &[&str]) {
    let id = child.id();
    let kills: Vec<String> = signals
        .iter()
        .map(|signal| format!("kill -{signal} {id}"))
        .collect();
    let done = Command::new("sh").arg("-c").arg(kills.join("; ")).output();
    assert!(done.expect("a shell").status.success());
}

/// Waits for the end; exit status, stdout, stderr.
fn ended(mut child: Child) -> (Option<i32>, String, String) {
    let patience = Instant::now() + Duration::from_secs(20);
    // The pipes hold what is printed before the end.
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > patience {
            let _ = child.kill();
            panic!("the run did not end");
        }
        sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().expect("a child");
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_run_that_is_interrupted_stores_what_there_is() {
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let bench = Bench::new(LONG);
        let child = started(&bench, &["--jobs", "1", "--capture"]);
        send(&child, &[signal]);
        let (code, printed, said) = ended(child);
        assert_eq!(code, Some(status), "{said}");
        assert!(said.contains("1 cut short, 1 not begun"), "{said}");
        assert!(printed.contains("CUT SHORT"), "{printed}");

        let result = bench.result();
        assert!(result.display().to_string().ends_with("-partial"));
        assert!(result.join("first.pcapng").is_file());
        let stored = fs::read(result.join("run.json")).expect("run.json is stored");
        let record: RunRecord = serde_json::from_slice(&stored).expect("and is a record");
        assert!(record.partial);
        assert_eq!(record.series.len(), 1);
        assert!(record.series[0].partial);
        assert!(record.series[0].packets > 0);
    }
}

#[test]
fn a_partial_result_does_not_replace_a_complete_one() {
    let bench = Bench::new(LONG);
    let interrupt = || {
        let child = started(&bench, &[]);
        send(&child, &["INT"]);
        let (code, _, said) = ended(child);
        assert_eq!(code, Some(130), "{said}");
    };
    interrupt();
    let partial = bench.result();
    // The place of a complete result of this plan and seed.
    let name = partial.display().to_string();
    let complete = PathBuf::from(name.trim_end_matches("-partial"));
    fs::create_dir(&complete).expect("a folder");
    fs::write(complete.join("run.json"), "complete").expect("a file");
    fs::write(partial.join("old"), "").expect("a file");
    interrupt();
    let kept = fs::read(complete.join("run.json")).expect("it is still there");
    assert_eq!(kept, b"complete");
    assert!(
        !partial.join("old").exists(),
        "one partial replaces another"
    );
    assert_eq!(bench.results().len(), 2);
}

#[test]
fn two_signals_leave_nothing_half_written() {
    // The second signal comes immediately, or while the results are being stored.
    for between in [0, 2, 5, 10, 15, 20, 30, 50] {
        let bench = Bench::new(LONG);
        let child = started(&bench, &["--capture"]);
        send(&child, &["INT"]);
        sleep(Duration::from_millis(between));
        // It may have ended.
        let id = child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &id]).output();
        let (code, _, said) = ended(child);
        assert_eq!(code, Some(130), "{between} ms: {said}");
        // The second signal may come too late: then there is a complete partial result, and the
        // message is different.
        if said.contains("nothing was stored") {
            assert_eq!(bench.results(), [""; 0], "{between} ms: {said}");
        }
        for name in bench.results() {
            assert!(name.starts_with("long-"), "{between} ms: {name}");
            let stored = fs::read(bench.path().join("runs").join(name).join("run.json"))
                .expect("a folder with a name is complete");
            assert!(serde_json::from_slice::<RunRecord>(&stored).is_ok());
        }
    }
}

#[test]
fn nobody_reading_is_no_failure() {
    let bench = Bench::new(SHORT);
    let closed = || {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        writer
    };
    let output = bench
        .command(&[])
        .stdout(closed())
        .output()
        .expect("gigatcp starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"));
    assert!(bench.result().join("run.json").is_file());

    let output = bench
        .command(&[])
        .stderr(closed())
        .output()
        .expect("gigatcp starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("stored in"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_stdout_is_told() {
    let bench = Bench::new(SHORT);
    let full = File::options().write(true).open("/dev/full");
    let output = bench
        .command(&[])
        .stdout(full.expect("/dev/full"))
        .output()
        .expect("gigatcp starts");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("cannot write to stdout"), "{said}");
    assert!(bench.result().join("run.json").is_file());
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_anything_runs() {
    let bench = Bench::new(LONG);
    fs::write(bench.path().join("runs"), "no folder").expect("a file in its place");
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("cannot create the directory runs"), "{said}");
    assert!(said.contains("hint:"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn warnings_of_the_plan_are_said_and_the_run_goes_on() {
    let bench = Bench::new(SHORT);
    let output = bench.run(&["--set", "flow.window=100 B", "--series", "reno"]);
    assert!(output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("warning:"), "{said}");
    assert!(said.contains("--set 1:1:13"), "{said}");
}

#[test]
fn colour_is_for_terminals_only() {
    let bench = Bench::new("name = 1");
    let mut said = String::new();
    let mut child = bench
        .command(&[])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("gigatcp starts");
    let mut pipe = child.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut said).expect("text");
    let _ = child.wait();
    assert!(said.contains("error"), "{said}");
    assert!(!said.contains('\x1b'), "{said:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn results_that_cannot_be_stored_are_printed_nevertheless() {
    let bench = Bench::new(SHORT);
    for (words, start) in [("", "Both within 5 %"), ("--json", "{")] {
        let binary = env!("CARGO_BIN_EXE_gigatcp");
        // A limit of 4 KiB per file acts like a full disk.
        let line = format!("trap '' XFSZ; ulimit -f 8; exec {binary} run plan.toml {words}");
        let mut command = Command::new("sh");
        let output = command
            .args(["-c", &line])
            .current_dir(bench.path())
            .output()
            .expect("a shell starts");
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(
            said.contains("effect: results were printed and not stored"),
            "{said}"
        );
        assert!(
            text(&output.stdout).starts_with(start),
            "{}",
            text(&output.stdout)
        );
        assert!(bench.results().iter().all(|name| name.starts_with('.')));
    }
}

#[test]
fn quiet_runs_say_nothing_and_the_variable_says_how_much() {
    let bench = Bench::new(SHORT);
    let output = bench.run(&["-q"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).contains("stored in"));
    let wrong = ["--set", "path.rtt=banana"];
    let said = |level: &str| {
        let mut command = bench.command(&wrong);
        text(
            &command
                .env("GIGATCP_LOG", level)
                .output()
                .expect("gigatcp starts")
                .stderr,
        )
    };
    assert!(said("error").contains("error:"));
    assert!(said("loud").contains("error, warn or note"));
    let colored = ["--set", "path.rtt=banana", "--color", "always"];
    assert!(text(&bench.run(&colored).stderr).contains("\x1b["));
    assert!(!text(&bench.run(&wrong).stderr).contains('\x1b'));
}

#[test]
fn a_slip_in_a_command_is_understood() {
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .arg("wyh")
        .output()
        .expect("gigatcp starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean `gigatcp why`?"));
}
