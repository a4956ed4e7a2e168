//! `gigatcp mcp`: answers for an agent, and what a hostile one may send.
#![cfg(all(feature = "mcp", target_os = "linux"))]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Maximum bytes of an answer: 1,800 tokens of five.
const MAX_ANSWER: usize = 9_000;

/// Captures of kernels.
const CAPTURES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../drive/analyze/tests/captures"
);

/// A server, and a client that writes what it likes.
struct Session {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    sent: u64,
}

impl Session {
    fn begin(root: &Path, options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .arg("mcp")
            .arg("--root")
            .arg(root)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        Self {
            stdin: child.stdin.take().expect("a pipe"),
            stdout: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            sent: 0,
        }
    }

    /// A session after `initialize`.
    fn initialized(root: &Path, options: &[&str]) -> Self {
        let mut session = Self::begin(root, options);
        let client = json!({ "name": "test", "version": "1" });
        let result = session.request(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }),
        );
        assert_eq!(
            result["result"]["serverInfo"]["name"], "gigatcp",
            "{result}"
        );
        session.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session
    }

    fn line(&mut self, text: &str) {
        writeln!(self.stdin, "{text}").expect("the server reads");
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        let id = self.sent;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.line(&request.to_string());
        id
    }

    /// The next answer with an id.
    fn receive(&mut self) -> Value {
        loop {
            let mut line = String::new();
            let count = self.stdout.read_line(&mut line).expect("the server writes");
            assert!(count > 0, "the server has ended");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if !answer["id"].is_null() {
                return answer;
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id);
        answer
    }

    /// Text of a tool's answer, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        let result = &answer["result"];
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned();
        assert!(text.len() <= MAX_ANSWER, "{tool}: {} bytes", text.len());
        (text, result["isError"] == true)
    }

    fn answered(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        text
    }

    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments.clone());
        assert!(is_error, "{tool} {arguments}: {text}");
        text
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A root with a capture, and things that are no captures.
fn root() -> TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("root")).expect("a directory");
    fs::copy(
        format!("{CAPTURES}/policed-snd.pcap.zst"),
        place("root/policed.pcap.zst"),
    )
    .expect("a capture");
    fs::copy(place("root/policed.pcap.zst"), place("secret.pcap")).expect("a capture");
    folder
}

#[test]
fn a_stateless_client_discovers_and_calls_without_initialize() {
    let folder = root();
    let mut session = Session::begin(&folder.path().join("root"), &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = session.request("server/discover", json!({ "_meta": meta }));
    assert!(
        found["result"]["instructions"]
            .as_str()
            .is_some_and(|text| text.contains("healthy")),
        "{found}"
    );
    let tools = session.request("tools/list", json!({ "_meta": meta }));
    let tools = tools["result"]["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["why", "flows", "watch", "doctor", "whatif"]);
    for tool in &tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    let arguments = json!({ "file": "policed.pcap.zst" });
    let call = json!({ "name": "why", "arguments": arguments, "_meta": meta });
    let answer = session.request("tools/call", call);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
}

#[test]
fn every_tool_answers_and_why_cites_packets() {
    let folder = root();
    let mut session = Session::initialized(&folder.path().join("root"), &[]);
    let text = session.answered("why", json!({ "file": "policed.pcap.zst" }));
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    let capture = &answer["captures"][0];
    let connection = &capture["connections"][0];
    assert_eq!(capture["file"], "policed.pcap.zst");
    assert_eq!(connection["cause"], "policer", "{text}");
    assert_eq!(connection["healthy"], false);
    let evidence = connection["evidence"].as_array().expect("evidence");
    assert!(
        evidence.iter().any(|fact| fact["packet"].is_u64()),
        "{text}"
    );
    let text = session.answered("flows", json!({ "file": "policed.pcap.zst" }));
    assert!(text.starts_with('#') || text.contains("retrans"), "{text}");
    let text = session.answered("doctor", json!({ "rtt": "80 ms", "rate": "10G" }));
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(answer["schema"], "gigatcp.doctor/3");
    session.answered("watch", json!({ "port": 1, "seconds": 1 }));
    let changes = json!(["receiver.buffer=8 MB"]);
    let text = session.answered(
        "whatif",
        json!({ "file": "policed.pcap.zst", "changes": changes }),
    );
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    assert!(
        answer["predictions"][0]["interval_bps"].is_array(),
        "{text}"
    );
}

#[test]
fn what_is_not_a_regular_file_below_the_root_is_refused() {
    let folder = root();
    let within = folder.path().join("root");
    symlink("../secret.pcap", within.join("far.pcap")).expect("a link");
    symlink("/proc/self/environ", within.join("environ")).expect("a link");
    symlink("/dev/zero", within.join("zero")).expect("a link");
    let made = Command::new("mkfifo").arg(within.join("fifo")).status();
    assert!(made.is_ok_and(|status| status.success()));
    fs::create_dir(within.join("run.json")).expect("a directory");
    let mut session = Session::initialized(&within, &[]);
    let secret = folder.path().join("secret.pcap").display().to_string();
    for name in [
        "../secret.pcap",
        "far.pcap",
        "environ",
        "zero",
        "fifo",
        "run.json",
        "/dev/zero",
        "-",
        "/dev/stdin",
        "--report=/tmp/x",
        "",
        "a\u{0}b",
        &secret,
        &"a/".repeat(5_000),
    ] {
        for tool in ["why", "flows", "whatif"] {
            let text = session.refused(tool, json!({ "file": name }));
            assert!(!text.contains("/proc/"), "{text}");
        }
    }
    let file = json!({ "file": "policed.pcap.zst", "second_file": "../secret.pcap" });
    session.refused("why", file);
}

#[test]
fn a_hostile_client_gets_errors_and_the_server_goes_on() {
    let folder = root();
    let within = folder.path().join("root");
    fs::write(within.join("noise.pcap"), [0xa5; 100_000]).expect("a file");
    let mut session = Session::initialized(&within, &[]);
    for line in [
        "",
        "null",
        "[]",
        "{",
        "{}",
        r#"{"jsonrpc":"2.0","id":{},"method":1}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call"}"#,
        &"[".repeat(50_000),
        &"x".repeat(5_000_000),
        "\u{1}\u{2}\u{7f}",
    ] {
        session.line(line);
    }
    for (tool, arguments) in [
        ("no-such-tool", json!({})),
        ("why", json!({})),
        ("why", json!({ "file": 7 })),
        ("why", json!({ "file": "noise.pcap" })),
        (
            "why",
            json!({ "file": "policed.pcap.zst", "report": "/tmp/x" }),
        ),
        (
            "why",
            json!({ "file": "policed.pcap.zst", "connection": -1 }),
        ),
        (
            "why",
            json!({ "file": "policed.pcap.zst", "connection": 4_000_000_000_u32 }),
        ),
        ("watch", json!({ "address": "example.com" })),
        ("watch", json!({ "seconds": 100_000 })),
        ("doctor", json!({ "address": "--undo=/tmp/x" })),
        ("doctor", json!({ "rtt": "80 ms --apply" })),
        (
            "whatif",
            json!({ "file": "policed.pcap.zst", "changes": ["path.trace=/etc/passwd"] }),
        ),
        (
            "whatif",
            json!({ "file": "policed.pcap.zst", "changes": vec!["a=b"; 9] }),
        ),
    ] {
        let text = session.refused(tool, arguments);
        assert!(!text.contains("root:"), "{text}");
    }
    session.answered("flows", json!({ "file": "policed.pcap.zst" }));
}

#[test]
fn line_that_is_not_json_has_a_parse_error_as_answer() {
    let folder = root();
    let mut session = Session::initialized(&folder.path().join("root"), &[]);
    let long = "x".repeat(200_000);
    for (line, code) in [
        ("{", -32700),
        ("hello", -32700),
        (&long, -32600),
        ("{}", -32600),
    ] {
        session.line(line);
        let mut answer = String::new();
        session.stdout.read_line(&mut answer).expect("an answer");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["id"].is_null());
    }
    session.answered("flows", json!({ "file": "policed.pcap.zst" }));
}

#[test]
fn of_many_calls_at_once_some_are_refused_and_all_are_answered() {
    const CALLS: usize = 200;
    let folder = root();
    let mut session = Session::initialized(&folder.path().join("root"), &[]);
    for _ in 0..CALLS {
        let arguments = json!({ "file": "policed.pcap.zst" });
        session.send(
            "tools/call",
            json!({ "name": "flows", "arguments": arguments }),
        );
    }
    let answers: Vec<Value> = (0..CALLS).map(|_| session.receive()).collect();
    let refused = answers
        .iter()
        .filter(|answer| answer["result"]["isError"] == true)
        .count();
    assert!(
        refused > 0 && refused < CALLS,
        "{refused} of {CALLS} refused"
    );
    session.answered("flows", json!({ "file": "policed.pcap.zst" }));
}

#[test]
fn a_call_that_takes_too_long_is_ended() {
    let folder = root();
    let mut session = Session::initialized(&folder.path().join("root"), &["--timeout", "500 ms"]);
    let text = session.refused("watch", json!({ "seconds": 30 }));
    assert!(text.contains("took more than"), "{text}");
}
