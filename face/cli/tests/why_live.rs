//! `gigatcp why --interface`: captures of connections of these tests.
//!
//! If namespaces cannot be created, these tests say so and prove nothing.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use gigatcp_linux::{Namespace, process};
use serde_json::Value;

const GIGATCP: &str = env!("CARGO_BIN_EXE_gigatcp");

/// User and group without privileges.
const NOBODY: u32 = 65_534;

fn skipped(reason: impl std::fmt::Display) {
    let name = thread::current().name().unwrap_or("test").to_string();
    eprintln!("\n{name}: SKIPPED, NOTHING PROVEN: {reason}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {}", text(bytes)))
}

fn why(words: &[&str]) -> Output {
    let mut command = Command::new(GIGATCP);
    command.arg("why").args(words).output().unwrap()
}

/// Asserts an error of usage with these texts.
fn assert_refused(output: &Output, texts: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(text(&output.stdout), "");
    for text in texts {
        assert!(said.contains(text), "{text}: {said}");
    }
}

/// Asserts that a capture's largest connection is limited by the receive window, as seen by its
/// sender, and returns the connection.
fn window_limited(printed: &[u8]) -> Value {
    let document = json(printed);
    let capture = &document["captures"][0];
    let answer = &capture["connections"][0];
    assert_eq!(answer["cause"], "receive-window-limited", "{answer}");
    assert_eq!(answer["unsure"], false, "{answer}");
    assert_eq!(answer["capture_point"], "sender", "{answer}");
    assert!(answer["share"].as_f64().unwrap() > 0.8, "{answer}");
    let counters = answer["counters"].as_str().unwrap();
    assert!(counters.starts_with("sender's kernel"), "{counters}");
    assert_eq!(capture["not_captured"], 0);
    answer.clone()
}

#[test]
fn transfer_with_a_small_receive_window_over_a_delay_is_limited_by_that_window() {
    let directory = tempfile::tempdir().unwrap();
    let [kept, before, during] =
        ["kept.pcapng", "before", "during"].map(|name| directory.path().join(name));
    // One capture begins before the transfer, one when the SYNs have passed.
    let script = r#""$0" why --interface path0 --for 5s --json --capture "$1" port 5201 > "$2" &
        sleep 1
        "$0" -q test "$GIGATCP_SERVER" -t 4 --no-probe > /dev/null 2>&1 &
        sleep 1
        "$0" why --interface path0 --for 2s --json port 5201 > "$3"
        wait"#;
    let mut emulate = Command::new(GIGATCP);
    emulate.args(["-q", "emulate", "--rtt", "40ms", "--rate", "100M"]);
    emulate.args(["--sysctl", "net.ipv4.tcp_rmem=4096 65536 65536"]);
    emulate.args(["--server", &format!("{GIGATCP} server")]);
    emulate.args(["--", "sh", "-c", script, GIGATCP]);
    emulate.args([&kept, &before, &during]);
    let output = emulate.stdin(Stdio::null()).output().unwrap();
    let said = text(&output.stderr);
    if output.status.code() == Some(2) && said.contains("namespace") {
        return skipped(said);
    }
    assert!(output.status.success(), "{said}");
    let answer = window_limited(&fs::read(before).unwrap());
    window_limited(&fs::read(during).unwrap());
    // The file that was kept has the same answer.
    let read = json(&why(&["--json", kept.to_str().unwrap()]).stdout);
    let again = &read["captures"][0]["connections"][0];
    for field in ["sentence", "could_be", "fix", "evidence", "start_ns"] {
        assert_eq!(answer[field], again[field], "{field}");
    }
}

/// Moves data over a connection to a new port, which is returned.
fn transfer() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sender = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        // Six readings of the counters, which a loaded machine delays.
        for _ in 0..150 {
            stream.write_all(&[0; 20_000]).unwrap();
            thread::sleep(Duration::from_millis(10));
        }
    });
    let (mut stream, _) = listener.accept().unwrap();
    while stream.read(&mut [0; 65_536]).unwrap() > 0 {}
    sender.join().unwrap();
    address.port().to_string()
}

#[test]
fn ctrl_c_ends_the_capture_with_the_answers_for_what_the_filter_selects() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(error) => {
            assert!(error.is_missing_privilege(), "{error}");
            return skipped(error);
        }
    };
    let (output, [left_out, wanted]) = namespace
        .run(|| {
            let left_out = transfer();
            let mut command = Command::new(GIGATCP);
            command.args(["why", "--interface", "lo"]);
            command.args(["host", "127.0.0.1", "and", "not", "port", &left_out]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut notes = BufReader::new(child.stderr.take().unwrap());
            let mut first = String::new();
            notes.read_line(&mut first).unwrap();
            assert_eq!(first, "capturing on lo until Ctrl-C\n");
            let listener = TcpListener::bind(format!("127.0.0.1:{left_out}")).unwrap();
            drop(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            let wanted = transfer();
            let id = child.id().to_string();
            let killed = Command::new("kill").args(["-INT", &id]).status();
            assert!(killed.unwrap().success());
            let output = child.wait_with_output().unwrap();
            (output, [left_out, wanted])
        })
        .unwrap();
    let answer = text(&output.stdout);
    assert!(output.status.success(), "{answer}");
    let lines: Vec<&str> = answer.lines().collect();
    let is_sentence = ["Limited by ", "Unsure: "]
        .iter()
        .any(|word| lines[0].starts_with(word));
    assert!(is_sentence && lines.len() <= 25, "{answer}");
    assert!(
        answer.contains(&format!("127.0.0.1:{wanted}, ")),
        "{answer}"
    );
    assert!(!answer.contains(&left_out), "{answer}");
    assert!(answer.contains("Counters  sender's kernel"), "{answer}");
}

#[test]
fn missing_privilege_names_the_commands_to_type() {
    let mut command = Command::new(GIGATCP);
    command.args(["why", "--interface", "lo", "127.0.0.1:443"]);
    if process::is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = match command.current_dir("/").output() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return skipped(format!("user {NOBODY} cannot run {GIGATCP}: {error}"));
        }
        output => output.unwrap(),
    };
    assert_refused(
        &output,
        &[
            "`sudo tcpdump -i lo -s 128 -w x.pcap 'tcp and (host 127.0.0.1 and port 443)'`",
            "`gigatcp why x.pcap`",
            "`sudo setcap cap_net_raw+ep $(command -v gigatcp)`",
        ],
    );
}

#[test]
fn unknown_interface_is_an_error_that_lists_the_interfaces() {
    for name in ["eth99", "a-name-longer-than-any-interface"] {
        let output = why(&["--interface", name]);
        assert_refused(&output, &[&format!("no interface `{name}`"), "lo"]);
    }
}

#[test]
fn unknown_word_of_the_filter_is_an_error_that_lists_the_words() {
    for (words, wrong) in [
        (&["udp", "port", "53"][..], "`udp`"),
        (&["port", "http"], "`http`"),
        (&["dport", "=", ":443"], "both directions"),
        (&["state", "established"], "state"),
    ] {
        let output = why(&[&["--interface", "lo"], words].concat());
        assert_refused(&output, &[wrong, "host A", "port N", "and, or, not"]);
    }
}

#[test]
fn options_of_a_capture_need_the_interface() {
    for words in [&["--for", "1s", "x.pcap"][..], &["--capture", "x", "y"]] {
        assert_refused(&why(words), &["--interface"]);
    }
}
