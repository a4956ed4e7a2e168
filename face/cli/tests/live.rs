//! `gigatcp run --on live` from outside: its output, and what is left when it is ended early. If
//! namespaces cannot be created, these tests say so.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_linux::CpuLatencyRequest;
use gigatcp_plan::record::RunRecord;
use tempfile::TempDir;

const PLAN: &str = r#"
name = "live"
path = { rate = "50 Mbit/s", rtt = "10 ms" }
flow = { duration = "400 ms" }
tester = { interval = "100 ms" }
"#;

fn bench() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    folder
}

fn gigatcp(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    command
        .args(["run", "plan.toml", "--on", "live"])
        .args(words);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Whether namespaces can be created here; prints the reason if not.
fn is_possible(folder: &Path) -> bool {
    let output = gigatcp(folder, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(2) && said.contains("hint") {
        let name = thread::current().name().unwrap_or("test").to_string();
        let _ = writeln!(
            std::io::stderr(),
            "\n{name}: SKIPPED, NOTHING PROVEN: {said}"
        );
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

#[test]
fn a_live_run_prints_its_record_and_files_it_apart_from_virtual_time() {
    let folder = bench();
    if !is_possible(folder.path()) {
        return;
    }
    let words = ["--json", "--capture", "--set", "sender.stack=kernel"];
    let may_forbid_sleep = CpuLatencyRequest::ask().is_ok();
    let output = gigatcp(folder.path(), &words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let record: RunRecord = serde_json::from_slice(&output.stdout).unwrap();
    let live = record.series[0].live.as_ref().expect("a live run");
    assert!(live.sender_stack.starts_with("Linux "), "{live:?}");
    assert_eq!(live.receiver_stack, "engine");
    // With an isolated CPU the path may keep the others out of deep idle states, even if few CPUs
    // are left.
    if live.path_processor.is_some() {
        assert_eq!(live.cpu_idle_inhibited, may_forbid_sleep);
    }
    let result = format!("runs/live-{}", record.plan_hash);
    let result = folder.path().join(result);
    assert!(record.plan_hash.ends_with("-live"));
    assert!(result.join("live.pcapng").metadata().unwrap().len() > 1000);
    let page = fs::read_to_string(result.join("report.html")).unwrap();
    assert!(page.contains("In real time"));
}

/// Requested value of a flow in a live run, and its result.
fn asked<'a>(record: &'a RunRecord, what: &str) -> [&'a str; 3] {
    let flow = &record.series[0].flows[0];
    let found = flow
        .negotiated
        .iter()
        .find(|value| value.what == what)
        .unwrap_or_else(|| panic!("{what}: {:?}", flow.negotiated));
    [&found.requested, &found.granted, &found.effective].map(String::as_str)
}

#[test]
fn a_kernel_begins_with_the_threshold_of_the_plan_and_what_it_sets_aside_is_told() {
    const THRESHOLD: &str = "sender's first slow-start threshold";
    let folder = bench();
    if !is_possible(folder.path()) {
        return;
    }
    let run = |more: &[&str]| {
        let mut words = vec!["--json", "--set", "sender.stack=kernel"];
        words.extend(["--set", "flow.initial_ssthresh=20"]);
        words.extend(more);
        gigatcp(folder.path(), &words).output().unwrap()
    };
    for ip in ["ip=ipv4", "ip=ipv6"] {
        let output = run(&["--set", ip, "--set", "flow.congestion_control=reno"]);
        assert!(output.status.success(), "{output:?}");
        let record: RunRecord = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(asked(&record, THRESHOLD), ["20 segments"; 3], "{ip}");
        let first = &record.series[0].flows[0].samples[0];
        assert!(first.ssthresh_bytes.is_some(), "{first:?}");
    }
    let output = run(&["--set", "flow.congestion_control=bbr"]);
    if output.status.code() == Some(2) {
        // Not every kernel has it; the run reports that.
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("`bbr`, which it has not"), "{said}");
        return;
    }
    assert!(output.status.success(), "{output:?}");
    let record: RunRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record.series[0].flows[0].congestion_control, "bbr");
    let told = asked(&record, THRESHOLD);
    assert_eq!(told, ["20 segments", "20 segments", "none"]);
}

#[test]
fn an_engine_is_not_asked_for_what_only_kernels_have() {
    let folder = bench();
    let words = ["--set", "flow.congestion_control=bbr2"];
    let output = gigatcp(folder.path(), &words).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("there is no congestion control `bbr2`"),
        "{said}"
    );
    assert!(said.contains("sender.stack = \"kernel\""), "{said}");
}

/// Network namespaces that a process holds by descriptors.
fn namespaces_of(process: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links
        .filter(|link| link.to_string_lossy().starts_with("net:["))
        .collect()
}

/// Whether any process is in one of them or holds one.
fn is_any_held(namespaces: &[PathBuf]) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.map(|entry| entry.path()).any(|process| {
        let inside = fs::read_link(process.join("ns/net")).ok();
        let held = namespaces_of(&process);
        held.iter()
            .chain(&inside)
            .any(|link| namespaces.contains(link))
    })
}

#[test]
fn a_live_run_that_is_killed_leaves_nothing() {
    let folder = bench();
    if !is_possible(folder.path()) {
        return;
    }
    let words = [
        "--set",
        "flow.duration='1 h'",
        "--set",
        "sender.stack=kernel",
    ];
    let mut child = gigatcp(folder.path(), &words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let began = Instant::now();
    let mut namespaces = Vec::new();
    while namespaces.len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(20), "no namespaces");
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        thread::sleep(Duration::from_millis(20));
        namespaces = namespaces_of(&process);
    }
    thread::sleep(Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    let began = Instant::now();
    while is_any_held(&namespaces) {
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "a namespace is left"
        );
        thread::sleep(Duration::from_millis(20));
    }
    // The next run removes the incomplete result.
    let names = || {
        let entries = fs::read_dir(folder.path().join("runs")).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with('.'))
            .collect::<Vec<_>>()
    };
    let [half_made] = &names()[..] else {
        panic!("{:?}", names());
    };
    let output = gigatcp(folder.path(), &[]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("removed ") && said.contains(half_made),
        "{said}"
    );
    assert!(names().is_empty());
}

#[test]
fn an_interrupted_live_run_stores_what_there_is() {
    let folder = bench();
    if !is_possible(folder.path()) {
        return;
    }
    let child = gigatcp(folder.path(), &["--set", "flow.duration='1 h'", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(900));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let record: RunRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert!(record.partial && record.series[0].partial);
    assert!(record.series[0].flows[0].bytes > 0);
}

/// A kernel that only receives may lack the sender's congestion control.
#[test]
fn a_control_of_the_engine_meets_a_kernel_that_receives_and_is_refused_one_that_sends() {
    let folder = bench();
    if !is_possible(folder.path()) {
        return;
    }
    let with = |words: &[&str]| {
        let control = ["--set", "flow.congestion_control=cubic-2.6.20"];
        let words = [&control[..], words].concat();
        gigatcp(folder.path(), &words).output().unwrap()
    };
    let received = with(&["--json", "--set", "receiver.stack=kernel"]);
    assert!(received.status.success(), "{received:?}");
    let record: RunRecord = serde_json::from_slice(&received.stdout).unwrap();
    let series = &record.series[0];
    assert!(
        series
            .live
            .as_ref()
            .is_some_and(|live| live.receiver_stack.starts_with("Linux "))
    );
    assert_eq!(series.flows[0].congestion_control, "cubic-2.6.20");
    assert!(series.flows[0].bytes > 100_000, "{series:?}");

    let sent = with(&["--set", "sender.stack=kernel"]);
    let said = String::from_utf8_lossy(&sent.stderr);
    assert_eq!(sent.status.code(), Some(2), "{said}");
    assert!(said.contains("which the engine alone has"), "{said}");
    assert!(said.contains("--set sender.stack=engine"), "{said}");
    assert!(!said.contains("modprobe"), "{said}");
}
