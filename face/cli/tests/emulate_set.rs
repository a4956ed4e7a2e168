//! `gigatcp emulate set`: changes a path while it runs.
//!
//! If namespaces cannot be created, these tests say so and prove nothing.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Sends a datagram each 5 ms.
const CHATTER: &str = "while :; do echo x > /dev/udp/$GIGATCP_SERVER/9; sleep 0.005; done";

/// Paths of one test, which other tests do not see.
struct Site {
    folder: TempDir,
}

impl Site {
    /// `None` if namespaces cannot be created; prints the reason.
    fn new() -> Option<Self> {
        let site = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let output = site.gigatcp(&["-q", "--", "true"]).output().unwrap();
        if output.status.code() == Some(2) {
            let name = thread::current().name().unwrap_or("test").to_string();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let _ = writeln!(
                std::io::stderr(),
                "\n{name}: SKIPPED, NOTHING PROVEN: {said}"
            );
            return None;
        }
        assert!(output.status.success(), "{output:?}");
        Some(site)
    }

    fn gigatcp(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
        command.arg("emulate").args(words).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sockets(&self) -> usize {
        let entries = fs::read_dir(self.file("gigatcp"));
        entries.map_or(0, |entries| entries.flatten().count())
    }

    /// Starts a path under a name and waits until it answers.
    fn start(&self, name: &str, words: &[&str]) -> Running {
        let all: Vec<&str> = ["--name", name].iter().chain(words).copied().collect();
        let diagnostics = self.file(&format!("{name}.stderr"));
        let stderr = fs::File::create(&diagnostics).unwrap();
        let child = self.gigatcp(&all).stderr(stderr).spawn().unwrap();
        let mut running = Running { child };
        let began = Instant::now();
        loop {
            let asked = self.set(&["--name", name]);
            if asked.status.success() {
                return running;
            }
            let ended = running.child.try_wait().unwrap();
            if ended.is_some() || began.elapsed() > Duration::from_secs(20) {
                drop(running);
                let said = fs::read_to_string(&diagnostics).unwrap();
                panic!("{name} did not answer; ended: {ended:?}; its stderr:\n{said}\n{asked:?}");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn set(&self, words: &[&str]) -> Output {
        let all: Vec<&str> = ["set"].iter().chain(words).copied().collect();
        self.gigatcp(&all).output().unwrap()
    }

    fn refused(&self, words: &[&str]) -> String {
        let output = self.set(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn done(&self, words: &[&str]) -> String {
        let output = self.set(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

struct Running {
    child: Child,
}

impl Running {
    fn signal(&mut self, signal: &str) {
        let number = self.child.id().to_string();
        let killed = Command::new("kill").args([signal, &number]).status();
        assert!(killed.unwrap().success());
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn json(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn a_path_is_changed_by_the_options_it_is_started_with() {
    let Some(site) = Site::new() else { return };
    let (record, capture) = (site.file("record.json"), site.file("packets.pcapng"));
    let mut lab = site.start(
        "lab",
        &[
            "--rate",
            "8 Mbit/s",
            "--rtt",
            "20 ms",
            "--json",
            record.to_str().unwrap(),
            "--capture",
            capture.to_str().unwrap(),
            "--",
            "bash",
            "-c",
            CHATTER,
        ],
    );
    let shown = site.done(&[]);
    assert!(shown.contains("rate               8 Mbit/s"), "{shown}");
    let said = site.done(&["--rate", "1 Mbit/s", "--queue", "fq_codel, 500 packets"]);
    assert!(
        said.contains("forward: rate 8 Mbit/s -> 1 Mbit/s"),
        "{said}"
    );
    assert!(
        said.contains("reverse: queue 150 kB -> fq_codel, 500 packets"),
        "{said}"
    );
    let said = site.done(&["reverse.loss=0.5"]);
    assert_eq!(said, "reverse: loss none -> 0.5\n");
    assert_eq!(
        site.done(&["--unset", "loss"]),
        "reverse: loss 0.5 -> none\n"
    );
    assert_eq!(
        site.done(&["--rate", "1 Mbit/s"]),
        "the path was so already\n"
    );
    // Packets pass that carry the comments.
    thread::sleep(Duration::from_millis(200));
    lab.signal("-TERM");
    let record = json(&record);
    let changes = record["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 6, "{changes:?}");
    assert_eq!(changes[0]["direction"], "client -> server");
    assert_eq!(changes[0]["hop"], "forward");
    assert_eq!(changes[0]["what"], "rate");
    assert_eq!(changes[0]["from"], "8 Mbit/s");
    assert_eq!(changes[0]["to"], "1 Mbit/s");
    assert_eq!(changes[4]["from"], Value::Null);
    assert!(
        changes
            .iter()
            .all(|change| change["at_ns"].as_u64().unwrap() > 0)
    );
    for direction in record["directions"].as_array().unwrap() {
        assert_eq!(direction["conserved"], true);
    }
    let capture = fs::read(&capture).unwrap();
    let text = String::from_utf8_lossy(&capture);
    assert_eq!(text.matches("path changed at ").count(), 6);
    assert!(text.contains("client to server, forward: rate 8 Mbit/s -> 1 Mbit/s"));
    assert_eq!(site.sockets(), 0);
}

#[test]
fn what_cannot_be_is_told_to_who_typed_it_and_changes_nothing() {
    let Some(site) = Site::new() else { return };
    let _lab = site.start("lab", &["--rate", "8 Mbit/s", "--", "sleep", "60"]);
    let before = site.done(&[]);
    assert!(site.refused(&["--rate", "banana"]).contains("banana"));
    let said = site.refused(&["policer=5 Mbit/s"]);
    assert!(said.contains("policer_burst"), "{said}");
    let said = site.refused(&["--queue", "0 packets"]);
    assert!(
        said.contains("a queue of 0 packets lets nothing through"),
        "{said}"
    );
    let said = site.refused(&["rate_trace=lte.trace"]);
    assert!(said.contains("lte.trace"), "{said}");
    let said = site.refused(&["path.rate=5 Mbit/s"]);
    assert!(
        said.contains("gigatcp emulate set rate='5 Mbit/s'"),
        "{said}"
    );
    assert!(said.contains("effect: the path is as it was"), "{said}");
    let said = site.refused(&["--unset", "los"]);
    assert!(said.contains("`loss`"), "{said}");
    assert_eq!(site.done(&[]), before);
}

#[test]
fn a_path_of_a_plan_is_changed_by_its_keys() {
    let Some(site) = Site::new() else { return };
    let plan = site.file("two.toml");
    let text = "name = \"two\"\nflow = { duration = \"1 s\" }\n\
        [[path.forward]]\nname = \"access\"\nrate = \"10 Mbit/s\"\n\
        [[path.forward]]\nname = \"core\"\ndelay = \"5 ms\"\n\
        [[path.reverse]]\nname = \"back\"\ndelay = \"5 ms\"\n";
    fs::write(&plan, text).unwrap();
    let _two = site.start("two", &[plan.to_str().unwrap(), "--", "sleep", "60"]);
    let said = site.done(&[
        "path.forward.core.delay=50 ms",
        "path.forward.access.queue=20 packets",
    ]);
    assert!(
        said.contains("forward, core: delay 5 ms -> 50 ms"),
        "{said}"
    );
    assert!(
        said.contains("forward, access: queue unlimited -> 20 packets"),
        "{said}"
    );
    let said = site.refused(&["path.forward.core.delay=soon"]);
    assert!(said.contains("soon") && said.contains('^'), "{said}");
    let said = site.refused(&["--rate", "5 Mbit/s"]);
    assert!(said.contains("emulate set path.rate='5 Mbit/s'"), "{said}");
}

#[test]
fn of_several_paths_one_is_meant_by_its_name() {
    let Some(site) = Site::new() else { return };
    let said = site.refused(&[]);
    assert!(said.contains("no path is running"), "{said}");
    let mut one = site.start("one", &["--rtt", "1 ms", "--", "sleep", "60"]);
    let _two = site.start("two", &["--rtt", "2 ms", "--", "sleep", "60"]);
    let said = site.refused(&["--rtt", "5 ms"]);
    assert!(said.contains("2 paths are running: one, two"), "{said}");
    assert!(said.contains("gigatcp emulate set --name one"), "{said}");
    let said = site.refused(&["--name", "three"]);
    assert!(said.contains("one of: one, two"), "{said}");
    let again = site
        .gigatcp(&["--name", "two", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2));
    // A killed path leaves its socket, which does not count as running.
    one.signal("-KILL");
    assert_eq!(site.sockets(), 2);
    let said = site.done(&["--rtt", "5 ms"]);
    assert!(said.contains("forward: delay 1 ms -> 2.5 ms"), "{said}");
    assert_eq!(site.sockets(), 1);
}

#[test]
fn steps_of_schedules_are_in_the_record_with_their_instant() {
    let Some(site) = Site::new() else { return };
    let record = site.file("record.json");
    let words = [
        "--rate",
        "10 Mbit/s",
        "rate_schedule=50 ms: 1 Mbit/s, 100 ms: 5 Mbit/s",
        "delay_schedule=75 ms: 3 ms",
        "--json",
        record.to_str().unwrap(),
        "-q",
        "--",
        "sleep",
        "0.3",
    ];
    assert!(site.gigatcp(&words).status().unwrap().success());
    let record = json(&record);
    let changes = record["changes"].as_array().unwrap();
    let forward: Vec<(u64, &str, &str, &str)> = changes
        .iter()
        .filter(|change| change["hop"] == "forward")
        .map(|change| {
            (
                change["at_ns"].as_u64().unwrap(),
                change["what"].as_str().unwrap(),
                change["from"].as_str().unwrap(),
                change["to"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        (50_000_000, "rate", "10 Mbit/s", "1 Mbit/s"),
        (75_000_000, "delay", "0 s", "3 ms"),
        (100_000_000, "rate", "1 Mbit/s", "5 Mbit/s"),
    ];
    assert_eq!(forward, expected);
    assert_eq!(changes.len(), 6);
}

#[test]
fn whatever_a_plan_says_of_a_link_can_be_typed() {
    let Some(site) = Site::new() else { return };
    let trace = site.file("two.trace");
    fs::write(&trace, "1\n2\n").unwrap();
    // Settings, and the description of the path afterwards.
    let typed = [
        ("packet_rate=1000 packet/s", "per_packet         1 ms"),
        ("hold_limit=20000", "hold_limit         20000"),
        ("lose_every=1000", "every 1000 packets"),
        ("lose_packets=7, 9", "2 listed packets"),
        ("loss_from=2 s", "loss_from          2 s"),
        ("loss_until=3 s", "loss_until         3 s"),
        ("aggregate=64", "aggregate          64 packets"),
        ("aggregate_overhead=200 us", "aggregate_overhead 200 us"),
        ("mark_above=65 packets", "mark_above         65 packets"),
        ("mark=0.001", "mark               1e-3"),
        ("mtu=1400", "mtu                1400 B"),
        (
            "rate_schedule=9 s: 1 Mbit/s, every 20 s",
            "rate_schedule      9 s: 1 Mbit/s, every 20 s",
        ),
        ("delay_schedule=9 s: 10 ms", "delay_schedule     9 s: 10 ms"),
        (
            "jitter=2 ms, overtaking",
            "jitter             2 ms, overtaking",
        ),
        ("reorder=0.001", "reorder            1e-3"),
        ("reorder_delay=1 ms", "reorder_delay      1 ms"),
        ("policer=80 Mbit/s", "policer            80 Mbit/s"),
        ("policer_burst=256 KiB", "policer_burst"),
        ("shaper=90 Mbit/s", "shaper             90 Mbit/s"),
        ("shaper_burst=256 KiB", "shaper_burst"),
        ("duplicate=0.001", "duplicate          1e-3"),
        (
            "corrupt_every=1000",
            "corrupt            every 1000 packets",
        ),
        ("ack_filter=queue", "ack_filter         queue"),
        (
            "middlebox=mss 1400, no timestamps",
            "middlebox          mss 1400, no timestamps",
        ),
        ("reverse.rate=5 Mbit/s", "rate               5 Mbit/s"),
        (
            "queue=codel, 1000 packets, target 9 ms",
            "codel, 1000 packets, target 9 ms",
        ),
    ];
    let mut words = vec!["--rate", "10 Mbit/s", "icmp=false", "fragment=true"];
    words.extend(typed.iter().map(|(setting, _)| *setting));
    words.extend(["--", "sleep", "60"]);
    let _all = site.start("all", &words);
    let shown = site.done(&[]);
    for (setting, told) in typed {
        assert!(shown.contains(told), "{setting}: {shown}");
    }
    assert!(shown.contains("icmp               false"), "{shown}");
    assert!(shown.contains("fragments          true"), "{shown}");
    // And all of it anew: in bursts, at the rate of a trace, without the ECN field.
    let said = site.done(&[
        "--unset",
        "rate",
        "--unset",
        "rate_schedule",
        "--unset",
        "packet_rate",
        "--unset",
        "mark",
        "--unset",
        "mark_above",
        &format!("rate_trace={}", trace.display()),
        "loss_burst=0.01:4",
        "ecn_bleach=true",
    ]);
    assert!(
        said.contains("forward: rate_trace none -> mean 12.032 Mbit/s, every 2 ms"),
        "{said}"
    );
    assert!(said.contains("forward: rate 10 Mbit/s -> none"), "{said}");
    assert!(said.contains("in bursts"), "{said}");
    assert!(said.contains("forward: ecn_bleach none -> true"), "{said}");
}
