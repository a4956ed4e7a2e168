//! Memory is counted before a test begins, what a client sends is read in a bounded part of it, and
//! the process that serves has no more.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gigatcp_meter::tester::Admission;
use gigatcp_protocol::iperf3::{ErrorCode, State};
use serde_json::{Value, json};

use super::stranger::{Stranger, server};

/// Memory of the server's tests.
const MEMORY: u64 = 192 << 20;

fn reverse(streams: u32, block: u32) -> Value {
    json!({"tcp": true, "reverse": true, "parallel": streams, "len": block, "time": 10})
}

fn limited() -> Admission {
    Admission {
        memory: Some(MEMORY),
        queue: 1,
        ..Admission::default()
    }
}

#[test]
fn streams_beyond_the_memory_are_refused_with_the_reason() {
    let server = server(limited());
    // The blocks alone would take 128 MiB.
    let mut stranger = Stranger::requests(&server, &reverse(128, 1 << 20));
    let code = ErrorCode::NUM_STREAMS.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
    let reason = server.refusal();
    assert!(reason.contains("memory of 128 streams"), "{reason}");
    assert!(reason.contains("limit 192 MiB"), "{reason}");
}

#[test]
fn test_waits_while_others_occupy_the_memory() {
    let server = server(limited());
    let window = json!({"tcp": true, "reverse": true, "parallel": 70, "len": 1 << 20, "time": 10,
        "window": 65_536});
    let mut first = Stranger::requests(&server, &window);
    assert_eq!(first.state(), State::CreateStreams);
    let mut second = Stranger::requests(&server, &window);
    server.wait_for(1);
    drop(first);
    assert_eq!(second.state(), State::CreateStreams);
}

#[test]
fn results_above_256_kib_are_refused() {
    let server = server(Admission::default());
    let mut stranger = Stranger::requests(&server, &json!({"tcp": true, "parallel": 1}));
    assert_eq!(stranger.state(), State::CreateStreams);
    let _streams = stranger.open_streams(1);
    stranger.await_start();
    stranger.send_state(State::TestEnd);
    assert_eq!(stranger.state(), State::ExchangeResults);
    // Its length alone ends the test.
    stranger.send_length((256 << 10) + 1);
    assert_eq!(stranger.answer(), None);
}

/// Serves until its input ends, in a process whose memory nothing else uses.
#[test]
#[ignore = "it is the server of the test below"]
fn server_in_a_process() {
    let server = server(Admission::default());
    println!("\nport {}", server.at.port());
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

/// A server in a process of its own.
struct Process(Child, SocketAddr);

impl Process {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "memory::server_in_a_process",
                "--ignored",
                "--nocapture",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let mut ports = lines.map_while(Result::ok).filter_map(|line| {
            let port = line.strip_prefix("port ")?;
            port.parse().ok()
        });
        let port: u16 = ports.next().expect("it says its port");
        Self(child, SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Resident memory, bytes.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kib.expect("a size").parse::<u64>().unwrap() << 10
    }

    /// Its memory while a client has these connections and reads nothing, beyond that before.
    fn growth(&self, parameters: &Value, connections: usize, request: &[u8]) -> u64 {
        let before = self.resident();
        let mut stranger = Stranger::requests_at(Ipv4Addr::LOCALHOST, self.1, parameters);
        assert_eq!(stranger.state(), State::CreateStreams);
        let streams = stranger.open_streams(connections);
        stranger.await_start();
        for mut stream in &streams {
            stream.write_all(request).unwrap();
        }
        std::thread::sleep(Duration::from_millis(500));
        self.resident().saturating_sub(before)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The counted memory without the kernel's buffers, which are not the process's.
#[cfg(target_os = "linux")]
#[test]
fn resident_memory_is_within_what_is_counted() {
    // 8 MiB, and for each stream its block, 128 KiB, and its part of the readings (64 MiB).
    let streams = Process::start().growth(&reverse(128, 1 << 20), 128, &[]);
    assert!(streams <= (8 + 64 + 128 + 16) << 20, "{streams} bytes");
    let requests = json!({"tcp": true, "time": 30, "parallel": 1, "gigatcp":
        {"mode": "tcp_rr", "flows": 400, "request": 1, "response": 65_536}});
    let connections = Process::start().growth(&requests, 400, &[0; 8]);
    assert!(
        connections <= (8 << 20) + 400 * (4 << 10),
        "{connections} bytes"
    );
    println!("{} kB, {} kB", streams >> 10, connections >> 10);
}
