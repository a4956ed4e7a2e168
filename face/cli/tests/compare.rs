//! `gigatcp compare`: what it answers, and that nothing is left of the commands.
//!
//! If namespaces cannot be created, these tests say so and prove nothing.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

const GIGATCP: &str = env!("CARGO_BIN_EXE_gigatcp");

/// A transfer that takes some RTTs.
const DOWNLOAD: &str = "gigatcp test $GIGATCP_SERVER --no-probe -R -n 300K";

fn gigatcp(words: &[&str]) -> Command {
    let folder = Path::new(GIGATCP).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(GIGATCP);
    command
        .arg("compare")
        .args(words)
        .env("PATH", format!("{}:{path}", folder.display()))
        .stdin(Stdio::null());
    command
}

fn run(words: &[&str]) -> (Option<i32>, String, String) {
    told(&gigatcp(words).output().unwrap())
}

fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Whether namespaces can be created here; prints the reason if not.
fn is_possible() -> bool {
    let output = Command::new(GIGATCP)
        .args(["emulate", "-q", "--", "true"])
        .output()
        .unwrap();
    if !output.status.success() {
        let (_, _, said) = told(&output);
        eprintln!("SKIPPED, NOTHING PROVEN: {said}");
    }
    output.status.success()
}

#[test]
fn small_receive_buffer_is_found_with_its_interval() {
    if !is_possible() {
        return;
    }
    let small = format!("sysctl -qw net.ipv4.tcp_rmem='4096 8192 8192'; {DOWNLOAD}");
    let words = [
        "--server",
        "gigatcp server",
        "--paths",
        "wan",
        "--timeout",
        "4s",
        "--json",
    ];
    let (status, answer, said) = run(&[&[DOWNLOAD, &small], &words[..]].concat());
    assert_eq!(status, Some(1), "{answer}\n{said}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["schema"], "gigatcp.compare/1");
    let path = &answer["paths"][0];
    let number = |key: &str| path[key].as_f64().unwrap();
    assert!(number("pairs") >= 7.0, "{answer}");
    assert!(number("change_low") < number("change") && number("change") < number("change_high"));
    assert!(number("change_high") < -0.05, "{answer}");
    assert_eq!(path["verdict"], "worse");
}

#[test]
fn equal_commands_are_not_worse_and_a_time_limit_leaves_them_undecided() {
    if !is_possible() {
        return;
    }
    let words = [
        DOWNLOAD,
        DOWNLOAD,
        "--server",
        "gigatcp server",
        "--paths",
        "wan",
    ];
    let (status, answer, said) = run(&[&words[..], &["--worse", "50%"]].concat());
    assert_eq!(status, Some(0), "{answer}\n{said}");
    let first = "NEW is nowhere worse than OLD by more than 50 % (1 path).\n";
    assert!(answer.starts_with(first), "{answer}");
    // A server that leaves a process in the background and ends.
    let words = [
        DOWNLOAD,
        DOWNLOAD,
        "--server",
        "gigatcp server &",
        "--paths",
        "wan",
    ];
    let options = ["--within", "3s", "--timeout", "2s"];
    let (status, answer, said) = run(&[&words[..], &options].concat());
    assert_eq!(status, Some(0), "{answer}\n{said}");
    let first = "No regression of more than 5 % is certain on 1 path. Undecided: wan.\n";
    assert!(answer.starts_with(first), "{answer}");
    assert!(answer.contains("note: what is undecided"), "{answer}");
}

#[test]
fn failed_command_is_named_with_its_output_and_a_line_to_repeat_it() {
    if !is_possible() {
        return;
    }
    let command = ["echo it is broken; exit 3", "true", "--paths", "lan"];
    let options = ["--seed", "1", "--sysctl", "net.ipv4.tcp_ecn=1"];
    let (status, _, said) = run(&[&command[..], &options].concat());
    assert_eq!(status, Some(2));
    for part in [
        "OLD failed over lan: exit status: 3: it is broken",
        "effect: nothing is compared",
        "gigatcp emulate rate='500 Mbit/s' delay='250 us' queue='250 kB' --seed 1 --sysctl 'net.ipv4.tcp_ecn=1' -- sh -c 'echo it is",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let (status, _, said) = run(&["true", "true", "--server", "exit 4", "--paths", "lan"]);
    assert_eq!(status, Some(2));
    assert!(said.contains("it ended at once, exit status: 4"), "{said}");
    let (status, _, said) = run(&["true", "true", "--paths", "lan"]);
    assert_eq!(status, Some(2));
    assert!(
        said.contains("transferred nothing over lan in 0."),
        "{said}"
    );
    assert!(said.contains("in single quotes"), "{said}");
}

#[test]
fn interrupt_ends_all_processes_and_prints_what_was_measured() {
    if !is_possible() {
        return;
    }
    let seconds = format!("{}.9", 100_000 + std::process::id());
    let sleeps = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let wanted = format!("sleep\0{seconds}");
        lines
            .filter(|line| line.starts_with(wanted.as_bytes()))
            .count()
    };
    let until = |count: usize| {
        let began = Instant::now();
        while sleeps() != count {
            assert!(began.elapsed() < Duration::from_secs(60), "not {count}");
            thread::sleep(Duration::from_millis(10));
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let begun = folder.path().join("begun");
    let command = format!("echo run >> {}; exec sleep {seconds}", begun.display());
    let words = [&command, &command, "--paths", "lan", "--json"];
    let options = ["--measure", "time", "--timeout", "300ms"];
    let child = gigatcp(&[&words[..], &options].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    // The third run begins after the first pair.
    let began = Instant::now();
    while fs::read_to_string(&begun).map_or(0, |text| text.lines().count()) < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "no pair");
        thread::sleep(Duration::from_millis(10));
    }
    // As Ctrl-C does: the whole group.
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.unwrap().success());
    let (status, answer, said) = told(&child.wait_with_output().unwrap());
    assert_eq!(status, Some(130), "{answer}\n{said}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let path = &answer["paths"][0];
    assert!(path["pairs"].as_u64() >= Some(1), "{answer}");
    assert_eq!(path["verdict"], "undecided");
    assert_eq!(path["old"][0]["is_cut"], true);
    until(0);
}

/// The commands of the guide, shortened: they start, transfer, and end with an answer.
#[test]
fn commands_of_the_guide_give_an_answer() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/compare.md");
    let guide = fs::read_to_string(guide).unwrap();
    let lines: Vec<&str> = guide
        .lines()
        .filter(|line| line.starts_with("gigatcp compare "))
        .collect();
    assert_eq!(lines.len(), 4);
    let has = |program: &str| {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        found.is_ok_and(|found| found.status.success())
    };
    if !is_possible()
        || !["curl", "python3", "sysctl"]
            .iter()
            .all(|program| has(program))
    {
        eprintln!("SKIPPED, NOTHING PROVEN");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), vec![7; 200_000]).unwrap();
    for server in ["server-old", "server-new"] {
        let place = folder.path().join(server);
        fs::write(&place, "#!/bin/sh\nexec python3 -m http.server 8000\n").unwrap();
        let is_made = Command::new("chmod").arg("+x").arg(&place).status();
        assert!(is_made.unwrap().success());
    }
    for line in lines {
        let words = line.strip_prefix("gigatcp compare").unwrap();
        // A later value replaces neither --paths nor --worse.
        let words = match words.split_once(" --within") {
            Some((before, _)) => before,
            None => words,
        };
        let line = format!("exec \"$0\" compare {words} --within 20s --timeout 3s");
        let mut shell = Command::new("sh");
        let path = gigatcp(&[])
            .get_envs()
            .find_map(|(_, value)| value.map(ToOwned::to_owned));
        shell
            .args(["-c", &line, GIGATCP])
            .env("PATH", path.unwrap());
        let (status, answer, said) = told(&shell.current_dir(folder.path()).output().unwrap());
        assert!(matches!(status, Some(0 | 1)), "{line}\n{answer}\n{said}");
        assert!(
            answer.starts_with("NEW is ") || answer.starts_with("No regression"),
            "{answer}"
        );
    }
}
