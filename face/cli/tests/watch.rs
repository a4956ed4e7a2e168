//! `gigatcp watch` on connections of this test.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn watch(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    command.arg("watch").args(arguments).output().unwrap()
}

/// Watches a port with a transfer in progress.
fn watch_transfer(arguments: &[&str]) -> (String, u16) {
    let (done, port) = with_transfer(|port| {
        let filter = format!("dport = :{port}");
        watch(&[&[&*filter], arguments].concat())
    });
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{stderr}");
    (String::from_utf8(done.stdout).unwrap(), port)
}

/// What `act` returns for the port of a transfer in progress.
fn with_transfer<T>(act: impl FnOnce(u16) -> T) -> (T, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut sender = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let writing = thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            sender.write_all(&[0; 20_000]).unwrap();
            thread::sleep(Duration::from_millis(5));
        }
    });
    let reading = thread::spawn(move || while receiver.read(&mut [0; 65_536]).unwrap() > 0 {});
    let done = act(port);
    is_over.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    reading.join().unwrap();
    (done, port)
}

#[test]
fn a_connection_of_this_process_is_listed_with_its_rate_and_summed_up() {
    let (text, port) = watch_transfer(&["--count", "3", "--interval", "150 ms"]);
    assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
    assert!(text.contains("1 connection, "), "{text}");
    assert!(text.contains("limited now by"), "{text}");
    assert!(
        text.contains("from the counters of the") || text.contains("the sender;"),
        "{text}"
    );
}

#[test]
fn json_lines_have_names_of_opentelemetry_and_words_of_the_kernel() {
    let arguments = ["--count", "2", "--interval", "100 ms", "--json-lines"];
    let (text, port) = watch_transfer(&arguments);
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert_eq!(line["schema"], "gigatcp.watch/1");
        assert_eq!(line["network.peer.port"], port);
        assert_eq!(line["network.transport"], "tcp");
        assert_eq!(line["process.pid"], std::process::id());
        assert!(line["sent_bps"].as_u64().unwrap() > 0);
        assert!(line["tcp_info"]["tcpi_bytes_acked"].as_u64().unwrap() > 0);
    }
}

fn why(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    command.arg("why").args(arguments).output().unwrap()
}

/// Standard output with its lines joined.
fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn recorder_that_is_killed_leaves_a_recording_that_why_explains() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let place = recording.to_str().unwrap();
    let start = chrono::Utc::now().to_rfc3339();
    let (refused, port) = with_transfer(|port| {
        let filter = format!("dport = :{port}");
        let arguments = ["watch", &filter, "--interval", "50 ms", "--record", place];
        let mut recorder = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .args(arguments)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Written after a second, two, four, as long as it is young.
        thread::sleep(Duration::from_millis(3500));
        let refused = watch(&["--record", place, "--count", "1"]);
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        refused
    });
    assert_eq!(refused.status.code(), Some(2));
    let said = stderr(&refused);
    assert!(said.contains("another recorder writes to it"), "{said}");
    assert!(said.contains("effect:") && said.contains("hint:"), "{said}");
    let arguments = [
        "--at",
        &start,
        "--for",
        "10 s",
        "--peer",
        "127.0.0.1",
        place,
    ];
    let done = why(&arguments);
    let text = printed(&done);
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(text.contains(&format!("127.0.0.1:{port}, ")), "{text}");
    assert!(
        text.contains("recorded from the counters of the sender"),
        "{text}"
    );
    let done = why(&[&["--json"], &arguments[..]].concat());
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let connections = &value["captures"][0]["connections"];
    assert!(
        connections[0]["ends"]
            .as_str()
            .unwrap()
            .contains(&port.to_string()),
        "{value}"
    );
    let done = why(&[&["--summary"], &arguments[..]].concat());
    let table = String::from_utf8_lossy(&done.stdout);
    let [heading, row] = &table.lines().take(2).collect::<Vec<_>>()[..] else {
        panic!("{table}{}", stderr(&done));
    };
    assert!(heading.contains("delivered") && heading.ends_with("sender > receiver"));
    let ends = format!("> 127.0.0.1:{port}");
    assert!(row.starts_with("     1") && row.contains(&ends), "{row}");
    // No such peer, no such time, no time at all.
    let done = why(&["--at", &start, "--peer", "192.0.2.0/24", place]);
    let text = printed(&done);
    assert!(
        text.contains("no data moved or waited with 192.0.2.0/24"),
        "{text}"
    );
    for arguments in [&["--at", "2001-02-03T04:05:06Z", place][..], &[place]] {
        let done = why(arguments);
        assert_eq!(done.status.code(), Some(2));
        assert!(stderr(&done).contains("it covers 20"), "{}", stderr(&done));
    }
}

#[test]
fn recorder_says_where_it_records_and_what_that_costs() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("recording");
    let name = place.to_str().unwrap();
    let done = watch(&["--record", name, "--count", "2", "--interval", "50 ms"]);
    let said = stderr(&done);
    assert!(done.status.success(), "{said}");
    assert!(done.stdout.is_empty());
    assert!(
        said.contains(&format!("recording to {name}: at most 64.0 MB a day")),
        "{said}"
    );
    assert!(said.contains(" % of a core"), "{said}");
    let done = watch(&["--record", "/dev/null/x", "--count", "1"]);
    assert_eq!(done.status.code(), Some(2));
    let done = why(&["--at", "14:05", folder.path().to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(2));
    assert!(stderr(&done).contains("gigatcp watch --record"));
}

#[test]
fn interval_of_zero_is_refused_with_the_smallest_and_an_example() {
    for interval in ["0", "0 s", "0.1 ms"] {
        let done = watch(&["--interval", interval, "--count", "1"]);
        assert_eq!(done.status.code(), Some(2));
        let said = stderr(&done);
        assert!(said.contains("hint:"), "{said}");
    }
    let said = stderr(&watch(&["--interval", "0 s"]));
    assert!(said.contains("at least 1 ms"), "{said}");
}

#[test]
fn json_lines_of_one_connection_have_a_line_every_10_ms() {
    let ids = |text: &str| {
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        line["id"].to_string()
    };
    let ((lines, elapsed), _) = with_transfer(|port| {
        let filter = format!("dport = :{port}");
        let listed = watch(&[
            &*filter,
            "--count",
            "1",
            "--interval",
            "50 ms",
            "--json-lines",
        ]);
        let id = ids(&String::from_utf8_lossy(&listed.stdout));
        let done = watch(&["--connection", &id, "--count", "100", "--json-lines"]);
        let text = String::from_utf8(done.stdout).unwrap();
        let times: Vec<u64> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| line["monotonic_ns"].as_u64().unwrap())
            .collect();
        (times.len(), times[times.len() - 1] - times[0])
    });
    assert_eq!(lines, 100);
    // A loaded machine skips some.
    assert!((900_000_000..5_000_000_000).contains(&elapsed), "{elapsed}");
}

#[test]
fn watch_of_a_connection_ended_by_ctrl_c_writes_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let (status, _) = with_transfer(|port| {
        let filter = format!("dport = :{port}");
        let listed = watch(&[&filter, "--count", "1", "--json-lines"]);
        let line: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        let mut watching = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .args(["watch", "--connection", &line["id"].to_string()])
            .arg("--report")
            .arg(&page)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The first row, below the heading.
        let mut rows = BufReader::new(watching.stdout.take().unwrap()).lines();
        rows.nth(1).unwrap().unwrap();
        let id = watching.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(sent.success());
        rows.for_each(drop);
        watching.wait().unwrap()
    });
    assert_eq!(status.code(), Some(130));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("bit/s: ") && page.ends_with("</html>\n"));
}

#[test]
fn a_filter_that_cannot_be_read_and_an_unknown_connection_are_errors() {
    for arguments in [
        &["dport", "=", ":http"][..],
        &["--connection", "4294967290"],
    ] {
        let done = watch(arguments);
        assert_eq!(done.status.code(), Some(2));
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(said.contains("error:") && said.contains("hint:"), "{said}");
    }
}
