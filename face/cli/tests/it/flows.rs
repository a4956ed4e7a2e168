//! `gigatcp flows` on captures of runs and on printed packets.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A transfer with losses.
const PLAN: &str = r#"
name = "lossy"
path = { rate = "50 Mbit/s", rtt = "10 ms", loss = "1e-2" }
flow = { duration = "1 s" }
[sender]
mtu = 1500
[receiver]
mtu = 1500
[[series]]
name = "one"
"#;

/// A route with a cached MTU although no ICMP message set it, as in 2001.
const SMALL: &str = r#"
name = "small"
path = { rate = "50 Mbit/s", rtt = "10 ms" }
flow = { duration = "1 s" }
[sender]
mtu = 4470
profile = "bsd-4.3-reno"
[receiver]
mtu = 4470
profile = "bsd-4.3-reno"
[[series]]
name = "from-the-new-route"
set = { "sender.route_mtu" = 1500 }
[[series]]
name = "to-the-new-route"
set = { "receiver.route_mtu" = 1500 }
"#;

/// Both hosts offer less than every host takes.
const SMALL_OFFERS: &str = r#"
name = "small-offers"
path = { rate = "10 Mbit/s", rtt = "10 ms" }
flow = { duration = "1 s" }
sender = { mtu = 500 }
receiver = { mtu = 500 }
series = [{ name = "base" }]
"#;

/// A directory with the capture of a run.
fn captured(plan: &str, series: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    fs::write(folder.path().join("plan.toml"), plan).expect("the plan is written");
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .args(["run", "plan.toml", "--capture", "--out", "out"])
        .args(["--series", series])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let mut found = None;
    let mut folders = vec![folder.path().join("out")];
    while let Some(place) = folders.pop() {
        for entry in fs::read_dir(place).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "pcapng") {
                found = Some(path);
            }
        }
    }
    (folder, found.expect("a capture"))
}

/// Runs `gigatcp flows` in a directory with a printed trace.
fn flows(folder: &TempDir, words: &[&str]) -> (bool, String) {
    let trace = include_str!("../cmd/flows.in/trace.txt");
    fs::write(folder.path().join("trace.txt"), trace).expect("the trace is written");
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .arg("flows")
        .args(words)
        .current_dir(folder.path())
        .stdin(fs::File::open(folder.path().join("trace.txt")).expect("the trace"))
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

fn in_folder(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).expect("the file is there")
}

#[test]
fn graphs_are_written_as_page_as_xplot_files_and_as_csv() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = [
        "trace.txt",
        "--report",
        "a.html",
        "--xplot",
        "plots",
        "--csv",
        "a.csv",
    ];
    let (is_done, said) = flows(&folder, &words);
    assert!(is_done, "{said}");
    assert!(
        said.contains("wrote a.html (") && said.contains("wrote a.csv ("),
        "{said}"
    );
    let page = in_folder(&folder, "a.html");
    assert!(page.contains("192.0.2.1:40000 to 192.0.2.2:5201") && page.ends_with("</html>\n"));
    for suffix in ["tsg", "rtt", "owin", "tput"] {
        let plot = in_folder(&folder, &format!("plots/1-client_{suffix}.xpl"));
        assert!(
            plot.starts_with("timeval ") && plot.ends_with("\ngo\n"),
            "{suffix}"
        );
    }
    let csv = in_folder(&folder, "a.csv");
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines.len(), 14);
    let sack = "7,1714564800040400000,1,server,1,0,1449,65152,2897-7241,.,duplicate_ack,5792,";
    assert_eq!(lines[7], sack);
    let again = "8,1714564800040500000,1,client,1449,1448,1,64256,,.,fast_retransmission,5792,";
    assert_eq!(lines[8], again);
    let columns = lines[0].split(',').count();
    assert!(
        lines[..13]
            .iter()
            .all(|line| line.split(',').count() == columns)
    );
}

#[test]
fn what_exists_is_replaced_only_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.html"), "mine").expect("a file");
    let (is_done, said) = flows(&folder, &["trace.txt", "--report", "a.html"]);
    assert!(!is_done);
    assert!(
        said.contains("a.html exists already") && said.contains("--overwrite"),
        "{said}"
    );
    assert_eq!(in_folder(&folder, "a.html"), "mine");
    let (is_done, said) = flows(&folder, &["trace.txt", "--report", "a.html", "--overwrite"]);
    assert!(is_done, "{said}");
    assert!(in_folder(&folder, "a.html").contains("</html>"));
    let (is_done, _) = flows(&folder, &["trace.txt", "--xplot", "plots"]);
    assert!(is_done);
    let (is_done, said) = flows(&folder, &["trace.txt", "--xplot", "plots"]);
    assert!(
        !is_done && said.contains("1-client_tsg.xpl exists already"),
        "{said}"
    );
}

#[test]
fn standard_input_has_graphs_too_and_a_connection_that_is_not_there_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let (is_done, said) = flows(&folder, &["-", "--report", "a.html", "--connection", "1"]);
    assert!(is_done, "{said}");
    assert!(in_folder(&folder, "a.html").contains("40000"));
    let (is_done, said) = flows(
        &folder,
        &["trace.txt", "--report", "b.html", "--connection", "2"],
    );
    assert!(
        !is_done && said.contains("there is no connection 2"),
        "{said}"
    );
    assert!(said.contains("hint: `gigatcp flows FILE`"), "{said}");
    assert!(!folder.path().join("b.html").exists());
    let (is_done, said) = flows(&folder, &["trace.txt", "--overwrite"]);
    assert!(!is_done && said.contains("none is given"), "{said}");
    assert!(said.contains("hint: as in"), "{said}");
    let (is_done, said) = flows(&folder, &["trace.txt", "trace.txt", "--csv", "c.csv"]);
    assert!(
        !is_done && said.contains("graphs are of one capture"),
        "{said}"
    );
}

#[test]
fn the_stall_of_2001_shows_in_its_capture() {
    let plan = include_str!("../../../../experiments/shalunov-stall/plan.toml");
    let (folder, capture) = captured(plan, "stall");
    let file = capture.to_str().expect("a path of text");
    let (is_done, said) = flows(
        &folder,
        &[file, "--csv", "stall.csv", "--report", "stall.html"],
    );
    assert!(is_done, "{said}");
    let csv = in_folder(&folder, "stall.csv");
    let packets: Vec<Vec<&str>> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let number =
        |packet: &Vec<&str>, column: usize| packet[column].parse::<u64>().expect("a number");
    let from = |who: &'static str| packets.iter().filter(move |packet| packet[3] == who);
    // The last byte that was acknowledged, and the data sent after it before the first
    // retransmission.
    let una = from("server")
        .map(|packet| number(packet, 6))
        .max()
        .expect("an acknowledgment");
    let again = |packet: &&Vec<&str>| packet[10].contains("retransmission");
    let first_again = from("client")
        .find(again)
        .map(|packet| number(packet, 0))
        .expect("one");
    let behind = from("client").filter(|packet| {
        number(packet, 0) < first_again && number(packet, 5) > 0 && number(packet, 4) >= una
    });
    let behind: Vec<u64> = behind.map(|packet| number(packet, 4)).collect();
    assert_eq!(una, 532_481);
    let window = behind.iter().filter(|seq| **seq < 2_105_345).count();
    assert_eq!(
        window, 384,
        "frames between the first lost and the first that was held"
    );
    assert_eq!(behind.len(), 512, "with the 128 that were held");
    // Backoff: each wait is twice the previous one, up to 64 s.
    let times: Vec<u64> = from("client")
        .filter(again)
        .map(|packet| number(packet, 1))
        .collect();
    let waits: Vec<u64> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) / 1_000_000_000)
        .collect();
    let ladder = [2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64];
    assert!(waits.ends_with(&ladder), "{waits:?}");
    assert!(in_folder(&folder, "stall.html").len() < 100_000);
}

#[test]
fn why_names_its_verdicts_beneath_the_graph() {
    let plan = include_str!("../../../../experiments/shalunov-stall/plan.toml");
    let (folder, file) = captured(plan, "stall");
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .arg("why")
        .arg(&file)
        .args(["--report", "report.html", "--xplot", "plots"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let json = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .args(["why", "--json", "-v"])
        .arg(&file)
        .output()
        .expect("the command starts");
    let json: Value = serde_json::from_slice(&json.stdout).expect("it is JSON");
    let one = &json["captures"][0]["connections"][0];
    let first = one["verdicts"][0]["id"].as_str().expect("a cause");
    let page = in_folder(&folder, "report.html");
    assert!(page.contains(&format!("\"name\":\"{first}\"")), "{first}");
    let sentence = one["sentence"].as_str().expect("a sentence");
    // The page has the rate before it.
    assert!(page.contains(&sentence[1..]), "{sentence}");
    let plot = in_folder(&folder, "plots/1-client_tsg.xpl");
    assert!(plot.contains(&format!("\n{first}\n")), "{first}");
}

/// Runs `gigatcp why` on the printed trace, in its directory.
fn why_of(folder: &TempDir, words: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .arg("why")
        .args(words)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

/// A pipe is read once, even if graphs need the capture twice. A shell's `<(zcat trace.gz)` is a
/// pipe.
#[cfg(unix)]
#[test]
fn a_named_pipe_is_a_capture_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo starts").success());
    for words in [
        &["pipe"][..],
        &["pipe", "--summary"],
        &["pipe", "--report", "a.html"],
    ] {
        let place = pipe.clone();
        let writer = std::thread::spawn(move || {
            fs::write(place, include_str!("../cmd/flows.in/trace.txt")).expect("it is read");
        });
        let (is_done, said) = why_of(&folder, words);
        assert!(is_done, "{words:?}: {said}");
        writer.join().expect("it is written");
    }
    assert!(in_folder(&folder, "a.html").contains("40000"));
    assert!(!folder.path().join("report.html").exists());
}

#[cfg(unix)]
#[test]
fn a_link_that_points_nowhere_is_called_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("trace.pcap");
    std::os::unix::fs::symlink("gone.pcap", link).expect("a link");
    let (is_done, said) = why_of(&folder, &["trace.pcap"]);
    assert!(!is_done && said.contains("points nowhere"), "{said}");
}

#[test]
fn why_writes_a_page_only_where_it_is_named_and_replaces_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = include_str!("../cmd/flows.in/trace.txt");
    fs::write(folder.path().join("trace.txt"), trace).expect("the trace is written");
    assert!(why_of(&folder, &["trace.txt"]).0);
    let files = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(files, 1, "no page was asked for");

    let named = ["trace.txt", "--report", "report.html"];
    let (is_done, said) = why_of(&folder, &named);
    assert!(is_done && said.contains("wrote report.html ("), "{said}");
    assert!(in_folder(&folder, "report.html").ends_with("</html>\n"));
    fs::write(folder.path().join("report.html"), "mine").expect("a file");
    let (is_done, said) = why_of(&folder, &named);
    assert!(
        !is_done && said.contains("report.html exists already"),
        "{said}"
    );
    assert_eq!(in_folder(&folder, "report.html"), "mine");
    let (is_done, said) = why_of(&folder, &[&named[..], &["--overwrite"]].concat());
    assert!(is_done && said.contains("wrote report.html ("), "{said}");
    assert!(in_folder(&folder, "report.html").ends_with("</html>\n"));
}

#[test]
fn a_run_with_a_capture_says_why_beside_its_own_account_and_so_does_its_folder() {
    let (folder, file) = captured(PLAN, "one");
    let run = file.parent().expect("a folder");
    let record = fs::read_to_string(run.join("run.json")).expect("the record");
    let record: Value = serde_json::from_str(&record).expect("it is JSON");
    let why = &record["series"][0]["flows"][0]["why"];
    assert!(
        why["limited_by"]
            .as_str()
            .is_some_and(|line| line.contains('%'))
    );
    assert!(
        why["verdicts"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
    );
    let page = fs::read_to_string(run.join("report.html")).expect("the page");
    let sentence = why["sentence"].as_str().expect("a sentence");
    assert!(page.contains(&format!("from packets only: {sentence}")));
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .arg("why")
        .arg(run)
        .current_dir(folder.path())
        .output()
        .expect("the command starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("measured by the run, flow 1"), "{text}");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    let (is_done, said) = why_of(&folder, &["empty"]);
    assert!(!is_done && said.contains("run.json"), "{said}");
}

#[test]
fn a_run_without_a_capture_says_the_same_of_why_as_it_runs_and_when_it_is_repeated() {
    let (captured, file) = captured(PLAN, "one");
    let why_in = |record: &std::path::Path| {
        let record = fs::read_to_string(record).expect("the record");
        let record: Value = serde_json::from_str(&record).expect("it is JSON");
        record["series"][0]["flows"][0]["why"].clone()
    };
    let by_capture = why_in(&file.with_file_name("run.json"));
    let gigatcp = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .args(words)
            .current_dir(captured.path())
            .output()
            .expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let stored = |out: &str| {
        let mut entries = fs::read_dir(captured.path().join(out)).expect("a folder");
        entries.next().expect("a run").expect("an entry").path()
    };
    gigatcp(&["run", "plan.toml", "--why", "--out", "judged"]);
    let judged = stored("judged");
    assert_eq!(why_in(&judged.join("run.json")), by_capture);
    assert!(!judged.join("one.pcapng").exists());
    gigatcp(&["run", "plan.toml", "--out", "plain"]);
    let plain = stored("plain");
    assert_eq!(why_in(&plain.join("run.json")), Value::Null);
    for run in [judged, plain] {
        let name = run.to_str().expect("a name");
        let said: Value = serde_json::from_str(&gigatcp(&["why", "--json", name])).expect("JSON");
        let why = &said["captures"][0]["series"][0]["flows"][0]["why"];
        assert_eq!(*why, by_capture);
        assert!(gigatcp(&["why", name]).contains("measured by the run: "));
    }
}

#[test]
fn two_captures_of_one_connection_give_one_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("near.txt", include_str!("../cmd/flows.in/near.txt")),
        ("far.txt", include_str!("../cmd/flows.in/far.txt")),
    ] {
        fs::write(folder.path().join(name), text).expect("the trace is written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .args(["why", "near.txt", "far.txt"])
        .current_dir(folder.path())
        .output()
        .expect("the command starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let answers = text.matches("\n  Details   ").count();
    assert_eq!(answers, 1, "{text}");
    let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains("packets numbered as in near.txt"), "{text}");
    assert!(
        words.contains("with data 0 were lost between them"),
        "{text}"
    );
}

/// `flows` and `why` share the code for capture point and full segment size.
#[test]
fn flows_and_why_agree_about_the_capture_point_and_small_segments() {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let said = |command: &str, file: &PathBuf| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .args([command, "--json"])
            .args((command == "why").then_some("-v"))
            .arg(file)
            .output()
            .expect("the command starts");
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    };
    let files = [
        "flows.in/near.txt",
        "flows.in/far.txt",
        "flows.in/trace.txt",
        "why.in/stall.txt",
    ];
    let (_clamped, clamped) = captured(SMALL, "from-the-new-route");
    let (_rounded, rounded) = captured(SMALL, "to-the-new-route");
    let mut files: Vec<PathBuf> = files.map(|name| tests.join(name)).into();
    files.extend([clamped, rounded]);
    let (mut compared, mut small) = (0, 0);
    let mut causes = Vec::new();
    for file in files {
        let (flows, why) = (said("flows", &file), said("why", &file));
        let connections = flows["captures"][0]["connections"]
            .as_array()
            .expect("some");
        let diagnosed = why["captures"][0]["connections"].as_array().expect("some");
        for one in diagnosed {
            let number = one["connection"].as_u64().expect("a number") as usize;
            let here = &connections[number - 1];
            let point = &one["capture_point"];
            assert!(point.is_string(), "{}", file.display());
            assert_eq!(here["capture_point"], *point, "{}", file.display());
            let side = here["data_sender"].as_str().expect("a side");
            let is_small = ["path_mtu", "plateau"]
                .map(Value::from)
                .contains(&here[side]["mss_cause"]);
            let verdicts = one["verdicts"].as_array().expect("verdicts");
            let says_so = verdicts
                .iter()
                .any(|verdict| verdict["id"] == "mss-clamped");
            assert_eq!(is_small, says_so, "{}", file.display());
            compared += 1;
            small += usize::from(says_so);
            causes.push(here[side]["mss_cause"].clone());
        }
    }
    assert!(compared >= 6 && small == 1, "{compared}, {small}");
    assert_eq!(causes[causes.len() - 2..], ["path_mtu", "clusters"]);
}

#[test]
fn json_of_one_connection_has_at_most_8000_bytes() {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let directories = ["flows.in", "why.in"].map(|name| fs::read_dir(tests.join(name)));
    let files = directories
        .into_iter()
        .flat_map(|files| files.expect("files"));
    let mut measured = 0;
    for file in files.map(|file| file.expect("a file").path()) {
        let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .args(["why", "--json", "--connection", "1"])
            .arg(&file)
            .output()
            .expect("the command starts");
        if !output.status.success() {
            continue;
        }
        let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let connections = json["captures"][0]["connections"].as_array();
        if connections.is_none_or(|connections| connections.len() != 1) {
            continue;
        }
        let size = output.stdout.len();
        assert!(size <= 8_000, "{}: {size}", file.display());
        measured += 1;
    }
    assert!(measured >= 5, "{measured}");
}

/// All names of fields in a JSON document.
fn fields(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                names.insert(name.clone());
                fields(value, names);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| fields(value, names)),
        _ => {}
    }
}

#[test]
fn every_field_of_the_json_of_why_explain_and_doctor_is_documented() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let document = folder.join("../../../../docs/why-json.md");
    let document = fs::read_to_string(document).expect("the document");
    let mut names = BTreeSet::new();
    for words in [
        &["why", "--json", "why.in/stall.txt"][..],
        &["why", "--json", "flows.in/near.txt", "flows.in/far.txt"],
        &["explain", "--json"],
        &["doctor", "--json", "--facts", "doctor.in/mistuned.json"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .args(words)
            .current_dir(&folder)
            .output()
            .expect("the command starts");
        let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let schema = json["schema"].as_str().expect("a schema");
        assert!(document.contains(&format!("## {schema}\n")), "{schema}");
        fields(&json, &mut names);
    }
    assert!(names.len() > 40, "{names:?}");
    let is_missing = |name: &&String| !document.contains(&format!("`{name}`"));
    let missing: Vec<&String> = names.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn capture_truncated_while_it_is_read_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let place = folder.path().join("growing.pcap");
    let file = fs::File::create(&place).expect("a capture");
    // A header, and gigabytes of empty records that occupy no disk.
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes);
    (&file).write_all(header.as_flattened()).expect("a header");
    file.set_len(8 << 30).expect("a sparse file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .arg("flows")
        .arg(&place)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let maps = format!("/proc/{}/maps", command.id());
    let is_mapped = || fs::read_to_string(&maps).is_ok_and(|maps| maps.contains("growing.pcap"));
    while !is_mapped() {
        assert!(command.try_wait().unwrap().is_none(), "it has ended early");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    file.set_len(24).expect("a truncated file");
    let output = command.wait_with_output().expect("the command ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("truncated while it was read"), "{errors}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn small_offers_of_both_hosts_are_noted_beside_a_full_path() {
    let (_folder, file) = captured(SMALL_OFFERS, "base");
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .args(["why", "--json"])
        .arg(&file)
        .output()
        .expect("the command starts");
    let why: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let connection = &why["captures"][0]["connections"][0];
    assert_eq!(connection["cause"], "path-saturated");
    assert_eq!(connection["healthy"], false);
    let notes = connection["notes"].to_string();
    assert!(
        notes.contains("Neither SYN offers an MSS above 460 bytes"),
        "{notes}"
    );
}
