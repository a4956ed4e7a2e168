//! `gigatcp why --annotate`: the copy has the packets of the capture, and comments that the installed
//! tshark reads.

#[path = "../../../../drive/capture/tests/independent_reader/mod.rs"]
mod independent_reader;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use independent_reader::find_tshark;
use serde_json::Value;
use tempfile::TempDir;

/// A transfer through a policer, captured on Ethernet: pcap.
const POLICED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../drive/analyze/tests/captures/policed-snd.pcap.zst"
);

/// A transfer that its receive window limits, captured at both ends: pcapng with two interfaces.
const PLAN: &str = r#"
name = "small"
path = { rate = "50 Mbit/s", rtt = "40 ms" }
flow = { duration = "1 s" }
[receiver]
buffer = "64 kB"
[[series]]
name = "one"
"#;

fn gigatcp(words: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

fn succeeded(words: &[&str], folder: &Path) -> String {
    let output = gigatcp(words, folder);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {printed}");
    String::from_utf8(output.stdout).expect("output in UTF-8")
}

/// The captures to annotate, and a directory for the copies.
fn captures() -> (TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("plan.toml"), PLAN).expect("the plan is written");
    succeeded(
        &["run", "plan.toml", "--capture", "--out", "out"],
        folder.path(),
    );
    let run = fs::read_dir(folder.path().join("out"))
        .expect("the run is stored")
        .map(|directory| directory.expect("a directory").path())
        .map(|directory| directory.join("one.pcapng"))
        .find(|file| file.exists())
        .expect("the run has a capture");
    (folder, [PathBuf::from(POLICED), run])
}

fn name(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// What `why` answers, without the name and format of the file.
fn answers(file: &Path, folder: &Path) -> Value {
    let printed = succeeded(&["why", "--json", "-v", name(file)], folder);
    let mut document: Value = serde_json::from_str(&printed).expect("JSON");
    let capture = document["captures"][0].as_object_mut().expect("a capture");
    for key in ["file", "format", "notes"] {
        capture.remove(key);
    }
    document
}

#[test]
fn annotated_copy_has_the_same_answers_as_its_capture() {
    let (folder, files) = captures();
    for (file, copy) in files.iter().zip(["a.pcapng", "b.pcapng"]) {
        succeeded(&["why", name(file), "--annotate", copy], folder.path());
        let copy = folder.path().join(copy);
        assert_eq!(answers(&copy, folder.path()), answers(file, folder.path()));
    }
}

/// What the command says when it refuses.
fn refused(words: &[&str], folder: &Path) -> String {
    let output = gigatcp(words, folder);
    assert_eq!(output.status.code(), Some(2), "{words:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn output_that_is_an_input_or_another_output_is_refused_with_overwrite_too() {
    let folder = tempfile::tempdir().expect("a directory");
    fs::copy(POLICED, folder.path().join("a.pcap.zst")).expect("a capture");
    let link = folder.path().join("link.pcapng");
    std::os::unix::fs::symlink("a.pcap.zst", link).expect("a link");
    let wrong: [&[&str]; 4] = [
        &["--annotate", "a.pcap.zst"],
        &["--annotate", "link.pcapng"],
        &["--annotate", "out", "--csv", "./out"],
        &["--report", "a.pcap.zst"],
    ];
    for outputs in wrong {
        let words = [&["why", "a.pcap.zst", "--overwrite"], outputs].concat();
        let said = refused(&words, folder.path());
        assert!(said.contains("has another use"), "{outputs:?}: {said}");
    }
    let [before, after] = [Path::new(POLICED), &folder.path().join("a.pcap.zst")];
    assert_eq!(
        fs::read(before).expect("read"),
        fs::read(after).expect("read")
    );
    assert!(!folder.path().join("out").exists());
}

#[test]
fn copy_of_a_report_of_another_tool_is_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let report = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../drive/analyze/tests/reports/full-iperf3.json"
    );
    let said = refused(&["why", report, "--annotate", "out"], folder.path());
    assert!(said.contains("which have no packets"), "{said}");
}

/// The fields of all packets that tshark reads, a line each.
fn fields(tshark: &str, file: &Path, fields: &[&str], filter: &str) -> String {
    let mut command = Command::new(tshark);
    command.args(["-n", "-r", name(file), "-T", "fields", "-Y", filter]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark starts");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {printed}", file.display());
    String::from_utf8(output.stdout).expect("output in UTF-8")
}

#[test]
fn tshark_reads_the_comments_and_the_packets_of_the_capture() {
    let Some(program) = find_tshark() else {
        return;
    };
    let tshark = program.to_str().expect("a path in UTF-8");
    let (folder, files) = captures();
    for (file, copy) in files.iter().zip(["a.pcapng", "b.pcapng"]) {
        let answered = succeeded(&["why", name(file), "--annotate", copy], folder.path());
        let copy = folder.path().join(copy);
        let packet = [
            "frame.number",
            "frame.time_epoch",
            "frame.len",
            "frame.cap_len",
            "frame.encap_type",
            "ip.id",
            "tcp.seq_raw",
            "tcp.ack_raw",
            "tcp.options",
        ];
        let [original, copied] = [file, &copy].map(|file| fields(tshark, file, &packet, "frame"));
        assert!(original == copied, "a packet of {} differs", file.display());
        let comments = fields(
            tshark,
            &copy,
            &["frame.number", "frame.comment"],
            "frame.comment contains \"GigaTCP: \"",
        );
        let first = comments.lines().next().expect("a packet has a comment");
        let sentence: Vec<&str> = answered.lines().next().into_iter().collect();
        assert!(
            first.contains("\tGigaTCP: ") && first.contains("Limited by "),
            "{first}"
        );
        assert!(first.contains(&sentence[0][..20]), "{first} / {answered}");
        let document = answers(file, folder.path());
        let connection = &document["captures"][0]["connections"][0];
        for verdict in connection["verdicts"].as_array().expect("verdicts") {
            for piece in verdict["evidence"].as_array().expect("evidence") {
                let Some(packet) = piece["packet"].as_u64() else {
                    continue;
                };
                let id = verdict["id"].as_str().expect("an id");
                let line = comments
                    .lines()
                    .find(|line| line.starts_with(&format!("{packet}\t")))
                    .unwrap_or_else(|| panic!("packet {packet} has no comment"));
                assert!(line.contains(&format!("evidence of {id}: ")), "{line}");
            }
        }
        for span in connection["spans"].as_array().expect("intervals") {
            if let Some(cause) = span["cause"].as_str() {
                assert!(comments.contains(&format!("GigaTCP: {cause} from about here")));
            }
        }
    }
}

#[test]
fn annotating_an_annotated_copy_keeps_its_comments() {
    let folder = tempfile::tempdir().expect("a directory");
    succeeded(&["why", POLICED, "--annotate", "a.pcapng"], folder.path());
    succeeded(
        &["why", "a.pcapng", "--annotate", "b.pcapng"],
        folder.path(),
    );
    let count = |file: &str| {
        let bytes = fs::read(folder.path().join(file)).expect("the copy");
        let mark = b"GigaTCP: ";
        bytes
            .windows(mark.len())
            .filter(|part| part == mark)
            .count()
    };
    assert_eq!(count("b.pcapng"), 2 * count("a.pcapng"));
}

#[test]
fn section_comment_is_the_answer_as_it_is_printed() {
    let folder = tempfile::tempdir().expect("a directory");
    let answered = succeeded(&["why", POLICED, "--annotate", "a.pcapng"], folder.path());
    let bytes = fs::read(folder.path().join("a.pcapng")).expect("the copy");
    let comment = answered.trim_end().as_bytes();
    // Section header: 24 bytes, then code and length of the option.
    assert_eq!(bytes[24..26], [1, 0]);
    assert_eq!(&bytes[28..28 + comment.len()], comment);
}

#[test]
fn annotate_refuses_printed_packets_and_files_that_exist() {
    let folder = tempfile::tempdir().expect("a directory");
    let text = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../drive/analyze/tests/captures/transfer.txt"
    );
    let output = gigatcp(&["why", text, "--annotate", "a.pcapng"], folder.path());
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("printed packets"), "{printed}");
    assert!(!folder.path().join("a.pcapng").exists());
    fs::write(folder.path().join("b.pcapng"), "mine").expect("a file");
    let output = gigatcp(&["why", POLICED, "--annotate", "b.pcapng"], folder.path());
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("b.pcapng exists already"), "{printed}");
}

/// The Wireshark profile that is shipped.
const PROFILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../packaging/wireshark/GigaTCP"
);

#[test]
fn wireshark_profile_colors_each_cause_once() {
    let colors = fs::read_to_string(format!("{PROFILE}/colorfilters")).expect("the profile");
    for cause in gigatcp_why::CAUSES {
        let rules = colors.lines().filter(|line| {
            let ids = line.split(['(', ')']).nth(1).unwrap_or_default();
            ids.split('|').any(|id| id == cause.id)
        });
        assert_eq!(rules.count(), 1, "{}", cause.id);
    }
}

#[test]
fn tshark_shows_the_column_of_the_profile_and_reads_its_color_rules() {
    let Some(tshark) = find_tshark() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a directory");
    succeeded(&["why", POLICED, "--annotate", "a.pcapng"], folder.path());
    let profile = folder.path().join("profiles/GigaTCP");
    fs::create_dir_all(&profile).expect("a directory");
    for file in ["preferences", "colorfilters"] {
        fs::copy(format!("{PROFILE}/{file}"), profile.join(file)).expect("a copy");
    }
    let output = Command::new(tshark)
        .args([
            "-n",
            "-C",
            "GigaTCP",
            "-r",
            "a.pcapng",
            "-Y",
            "frame.comment",
        ])
        .args(["-O", "frame", "-P", "--color"])
        .current_dir(folder.path())
        .env("WIRESHARK_CONFIG_DIR", folder.path())
        .output()
        .expect("tshark starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let summary = printed.lines().next().unwrap_or_default();
    assert!(summary.contains("GigaTCP: "), "{printed}{errors}");
    // tshark names the rule that colors a packet only if it reads the rules.
    assert!(
        printed.contains("[Coloring Rule Name: GigaTCP: "),
        "{printed}{errors}"
    );
}
