//! `gigatcp watch` on connections of this test.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
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
    let filter = format!("dport = :{port}");
    let done = watch(&[&[&*filter], arguments].concat());
    is_over.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    reading.join().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{stderr}");
    (String::from_utf8(done.stdout).unwrap(), port)
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
