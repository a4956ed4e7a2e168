//! `gigatcp test` and `gigatcp server` as a user runs them, on loopback.
#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use gigatcp_protocol::nuttcp::output::read::Line;
use serde_json::Value;

const GIGATCP: &str = env!("CARGO_BIN_EXE_gigatcp");

/// A server on a free port, which ends with the test.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1", arguments)
    }

    fn start_at(address: &str, arguments: &[&str]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port().to_string();
        drop(free);
        let mut child = Command::new(GIGATCP)
            .args(["server", "-B", address, "-p", &port])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let stderr = child.stderr.take().unwrap();
        let mut lines = BufReader::new(stderr);
        lines.read_line(&mut first).unwrap();
        let listening = format!("listening at {address}:");
        assert!(first.starts_with(&listening), "{first}");
        // The rest is read too, or the pipe would fill and block the server.
        std::thread::spawn(move || lines.lines().for_each(drop));
        Self { child, port }
    }

    fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn client(port: &str, arguments: &[&str]) -> Output {
    Command::new(GIGATCP)
        .args(["test", "127.0.0.1", "-p", port, "-t", "1", "-C", "reno"])
        .arg("--no-probe")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_answer_comes_first_and_names_what_limited_it() {
    let server = Server::start(&[]);
    let output = client(&server.port, &[]);
    let answer = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<&str> = answer.lines().collect();
    let to = format!("TCP to 127.0.0.1:{}, reno, 1.", server.port);
    assert!(
        lines[0].starts_with(&to) && lines[0].ends_with("received"),
        "{answer}"
    );
    let is_sentence = ["Limited by ", "Unsure: "]
        .iter()
        .any(|word| lines[1].starts_with(word));
    assert!(is_sentence, "{answer}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 100),
        "{answer}"
    );
}

/// On a busy host BBR's bursts are reordered, which takes nothing off its cwnd.
#[test]
fn the_loopback_reorders_nothing_that_costs() {
    let server = Server::start(&[]);
    let test = [
        "test",
        "127.0.0.1",
        "-p",
        &server.port,
        "-t",
        "2",
        "--no-probe",
    ];
    for arguments in [
        &["-Cbbr"][..],
        &["-Cbbr", "--bidir"],
        &["-Creno", "--bidir"],
    ] {
        let output = Command::new(GIGATCP)
            .args(test)
            .args(arguments)
            .output()
            .unwrap();
        if !output.status.success() && arguments[0] == "-Cbbr" {
            eprintln!("SKIPPED, NOTHING PROVEN of bbr: {}", text(&output.stderr));
            continue;
        }
        let answer = text(&output.stdout);
        let blames = answer
            .lines()
            .any(|line| line.starts_with("Limited by reordering"));
        assert!(!blames && output.status.success(), "{answer}");
    }
}

/// Checks that every field of a stock client is there, with the same type.
fn assert_has(path: &str, stock: &Value, ours: &Value) {
    match (stock, ours) {
        (Value::Object(stock), Value::Object(ours)) => {
            for (key, value) in stock {
                let ours = ours
                    .get(key)
                    .unwrap_or_else(|| panic!("{path}.{key} is missing"));
                assert_has(&format!("{path}.{key}"), value, ours);
            }
        }
        (Value::Array(stock), Value::Array(ours)) => {
            assert_eq!(stock.is_empty(), ours.is_empty(), "{path}");
            if let (Some(stock), Some(ours)) = (stock.first(), ours.first()) {
                assert_has(&format!("{path}[0]"), stock, ours);
            }
        }
        (stock, ours) => {
            let kind = |value: &Value| (value.is_number(), value.is_string(), value.is_boolean());
            assert_eq!(kind(stock), kind(ours), "{path}: {stock} and {ours}");
        }
    }
}

#[test]
fn the_json_has_the_fields_of_a_stock_client() {
    let server = Server::start(&[]);
    for arguments in [
        &[][..],
        &["-R"],
        &["--bidir", "-P", "2"],
        &["-u", "-b", "0"],
        &["-u", "-R"],
        &["-u", "--bidir"],
        &["-O", "1"],
    ] {
        let is_udp = arguments.contains(&"-u");
        let mut stock = Command::new("iperf3");
        stock.args(["-c", "127.0.0.1", "-p", &server.port, "-t", "1", "-J"]);
        if !is_udp {
            stock.args(["-C", "reno"]);
        }
        let Ok(stock) = stock.args(arguments).output() else {
            eprintln!("skipped: iperf3 is not installed");
            return;
        };
        let ours = client(&server.port, &[&["-J"][..], arguments].concat());
        let stock: Value = serde_json::from_slice(&stock.stdout).unwrap();
        let ours: Value = serde_json::from_slice(&ours.stdout).unwrap();
        assert_has(&format!("{arguments:?} "), &stock, &ours);
    }
}

#[test]
fn totals_of_both_ends_and_the_sum_of_intervals_are_equal() {
    let server = Server::start(&[]);
    let output = client(&server.port, &["-J", "-i", "0.2", "-P", "2"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let intervals = json["intervals"].as_array().unwrap();
    let sum: u64 = intervals
        .iter()
        .map(|interval| interval["sum"]["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(Some(sum), json["end"]["sum_sent"]["bytes"].as_u64());
    let streams = json["end"]["streams"].as_array().unwrap();
    let received: u64 = streams
        .iter()
        .map(|stream| stream["receiver"]["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(
        Some(received),
        json["end"]["sum_received"]["bytes"].as_u64()
    );
}

#[test]
fn json_lines_and_json_stream_are_a_value_on_each_line() {
    let server = Server::start(&[]);
    for (arguments, last) in [
        (&["--json-stream"][..], "event"),
        (&["--format", "json-lines"], "kind"),
    ] {
        let output = client(&server.port, &[arguments, &["-i", "0.25"]].concat());
        let lines: Vec<Value> = text(&output.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(lines.len() >= 5, "{lines:?}");
        assert_eq!(lines.last().unwrap()[last], "end");
    }
}

#[test]
fn without_a_server_the_error_says_what_to_type() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let output = client(&port, &[]);
    assert_eq!(output.status.code(), Some(2));
    let diagnostics = text(&output.stderr);
    assert!(diagnostics.contains("Connection refused"), "{diagnostics}");
    assert!(
        diagnostics.contains("hint: start `gigatcp server`"),
        "{diagnostics}"
    );
    let output = client(&port, &["-J"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        json["error"]
            .as_str()
            .unwrap()
            .contains("Connection refused")
    );
}

#[test]
fn a_server_that_ends_leaves_the_client_what_it_measured() {
    let server = Server::start(&[]);
    let client = Command::new(GIGATCP)
        .args([
            "test",
            "127.0.0.1",
            "-p",
            &server.port,
            "-t",
            "30",
            "-C",
            "reno",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    server.interrupt();
    let start = Instant::now();
    let output = client.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(output.status.code(), Some(1));
    let answer = text(&output.stdout);
    assert!(
        answer.starts_with("Cut short: the server has terminated"),
        "{answer}"
    );
}

/// Runs a test that fails, and returns its output and errors.
fn failing(arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(GIGATCP);
    let output = command
        .args(["test", "127.0.0.1"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn option_that_the_system_refuses_is_named() {
    let server = Server::start(&[]);
    for (option, value, expected) in [
        (
            "-M",
            "5",
            "cannot set a maximum segment size of 5 bytes (-M)",
        ),
        ("-B", "203.0.113.9", "cannot send from 203.0.113.9 (-B)"),
        (
            "bind_dev",
            "nosuch",
            "cannot send through the interface nosuch",
        ),
        ("-t", "1e30", "whole number from 0 to"),
        ("-O", "-1", "whole number from 0 to"),
    ] {
        let option = format!("{option}={value}")
            .replace("-M=", "-M")
            .replace("-B=", "-B");
        let (_, errors) = failing(&["-p", &server.port, &option]);
        assert!(errors.contains(expected), "{option}: {errors}");
        assert!(errors.contains("hint:"), "{option}: {errors}");
    }
    let (_, errors) = failing(&["-p", "22x"]);
    assert!(errors.contains("whole number from 1 to 65535"), "{errors}");
}

#[test]
fn failure_in_a_format_of_json_is_json() {
    for format in [
        "--format=json",
        "--format=json-lines",
        "--json-stream",
        "-J",
    ] {
        // Nothing listens at the discard port.
        let (output, _) = failing(&["-p", "9", format]);
        let value: Value = serde_json::from_str(&output).unwrap_or_else(|error| {
            panic!("{format}: {error}: {output}");
        });
        let error = if format == "--json-stream" {
            &value["data"]
        } else {
            &value["error"]
        };
        let reason = error.as_str().unwrap_or_default();
        assert!(reason.contains("cannot connect"), "{format}: {output}");
    }
}

#[test]
fn a_port_in_use_is_named_with_what_shows_its_owner() {
    let server = Server::start(&[]);
    let output = Command::new(GIGATCP)
        .args(["server", "-B", "127.0.0.1", "-p", &server.port])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let diagnostics = text(&output.stderr);
    assert!(diagnostics.contains("ss -tlnp"), "{diagnostics}");
}

/// Ctrl-C ends a test and keeps what was measured, also on the page.
#[test]
fn interrupted_test_prints_its_result_and_writes_its_page() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    // A busy host may need longer to begin.
    for seconds in [1, 5, 20] {
        let child = Command::new(GIGATCP)
            .args([
                "test",
                "127.0.0.1",
                "-p",
                &server.port,
                "--no-probe",
                "-t",
                "60",
            ])
            .arg("--report")
            .arg(&page)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_secs(seconds));
        let pid = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .unwrap()
                .success()
        );
        let output = child.wait_with_output().unwrap();
        if page.exists() {
            assert_eq!(output.status.code(), Some(130));
            assert!(
                text(&output.stdout).contains("bit/s"),
                "{}",
                text(&output.stdout)
            );
            return;
        }
    }
    panic!("no page");
}

/// A port that is free now.
fn free_port() -> String {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port().to_string()
}

/// A port for data below the range of ephemeral ports.
fn data_port() -> String {
    (10_000 + std::process::id() % 20_000).to_string()
}

#[test]
fn the_text_of_nuttcp_has_a_line_for_each_interval_and_a_summary() {
    let port = free_port();
    let server = Server::start(&["--nuttcp-port", &port]);
    let data = format!("data_port={}", data_port());
    for arguments in [
        &["--protocol", "nuttcp", &data][..],
        &["--protocol", "nuttcp", &data, "-R"],
        &["--protocol", "nuttcp", &data, "-u", "-b", "10 Mbit/s"],
        &[],
        &["-R"],
    ] {
        let port = if arguments.contains(&"nuttcp") {
            &port
        } else {
            &server.port
        };
        let form = &["--format", "nuttcp", "-i", "0.25"][..];
        let output = if arguments.contains(&"-u") {
            Command::new(GIGATCP)
                .args(["test", "127.0.0.1", "-p", port, "-t", "1"])
                .args([form, arguments].concat())
                .output()
                .unwrap()
        } else {
            client(port, &[form, arguments].concat())
        };
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        let is_interval = |line: &&str| matches!(Line::read(line), Some(Line::Interval(_)));
        let intervals = said.lines().filter(is_interval).count();
        assert!((3..=6).contains(&intervals), "{arguments:?}: {said}");
        let summary = said.lines().last().unwrap();
        assert!(summary.contains("%RX"), "{arguments:?}: {said}");
        let is_udp = arguments.contains(&"-u");
        assert_eq!(summary.contains(" %loss"), is_udp, "{said}");
        assert!(!summary.starts_with("    0.0000 MB"), "{said}");
    }
}

#[test]
fn the_answer_of_a_nuttcp_test_names_the_limit_and_the_servers_lines() {
    let port = free_port();
    let _server = Server::start(&["--nuttcp-port", &port]);
    let data = format!("data_port={}", data_port().parse::<u16>().unwrap() + 20);
    let arguments = ["--protocol", "nuttcp", &data, "server_output=true"];
    let output = client(&port, &arguments);
    let answer = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let to = format!("TCP to 127.0.0.1:{port}, reno, 1.0 s: ");
    assert!(answer.starts_with(&to), "{answer}");
    let limit = answer.lines().nth(1).unwrap();
    let is_sentence = ["Limited by ", "Unsure: "]
        .iter()
        .any(|word| limit.starts_with(word));
    assert!(is_sentence, "{answer}");
    assert!(answer.contains("\nnuttcp-r: v8.2.2: socket\n"), "{answer}");
}

#[test]
fn an_option_that_a_protocol_does_not_have_is_refused() {
    for arguments in [
        &["--protocol", "nuttcp", "--bidir"][..],
        &["--protocol", "nuttcp", "-J"],
        &["instantaneous=true", "-b", "1 Mbit/s"],
    ] {
        let output = client("1", arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let diagnostics = text(&output.stderr);
        assert!(
            diagnostics.contains("protocol does not have it"),
            "{diagnostics}"
        );
    }
}

#[test]
fn one_off_ends_after_one_test() {
    let mut server = Server::start(&["-1"]);
    assert!(client(&server.port, &[]).status.success());
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn a_path_is_traced_there_and_back() {
    let server = Server::start(&[]);
    let output = Command::new(GIGATCP)
        .args(["trace", "127.0.0.1", "-p", &server.port])
        .output()
        .unwrap();
    let answer = text(&output.stdout);
    assert!(
        answer.starts_with("127.0.0.1: 1 hop, path MTU 65535"),
        "{answer}"
    );
    assert!(answer.contains("From there to here: 1 hop"), "{answer}");
}

#[test]
fn stored_results_are_compared_and_repeated_tests_have_an_interval() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (first, second) = (place("a.json"), place("b.json"));
    let page = place("a.html");
    let saved = client(
        &server.port,
        &["--save", &first, "--report", &page, "-b", "80 Mbit/s"],
    );
    assert!(saved.status.success(), "{}", text(&saved.stderr));
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("Test with 127.0.0.1:")
    );
    client(&server.port, &["--save", &second, "-b", "40 Mbit/s"]);
    let diff = Command::new(GIGATCP)
        .args(["diff", &first, &second])
        .output()
        .unwrap();
    let answer = text(&diff.stdout);
    assert!(
        answer.starts_with("test, stream 1 to the server: "),
        "{answer}"
    );
    // A busy host keeps neither rate exactly.
    let is_half = (40..60).any(|percent| answer.contains(&format!("(-{percent}.")));
    assert!(is_half, "{answer}");
    assert!(answer.contains("application-limited"), "{answer}");

    let arguments = ["--repeat", "2", "--format", "json", "-b", "40 Mbit/s"];
    let output = client(&server.port, &arguments);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["rates_bps"].as_array().unwrap().len(), 2, "{json}");
    assert!(json["half_width_bps"].is_number(), "{json}");
}

#[test]
fn what_the_engine_lacks_is_a_usage_error_without_any_privilege() {
    let output = client("1", &["--stack", "engine", "-u"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("-u: the engine has no UDP"), "{said}");
    assert!(said.contains("leave out --stack engine"), "{said}");
}

#[test]
fn the_device_of_the_engine_is_named_and_gone_after_the_test() {
    let namespace = match gigatcp_linux::Namespace::new() {
        Ok(namespace) => namespace,
        Err(error) => {
            eprintln!("SKIPPED, NOTHING PROVEN: {error}");
            return;
        }
    };
    let test = || {
        let server = Server::start_at("0.0.0.0", &[]);
        let output = client(&server.port, &["--stack", "engine"]);
        let left = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        (output, left)
    };
    let (output, left) = namespace.run(test).unwrap();
    let (answer, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("on giga") && said.contains("engine: 10.85."),
        "{said}"
    );
    assert!(answer.contains(", engine, reno, "), "{answer}");
    assert!(!left.contains("giga"), "{left}");
}

#[test]
fn the_loopback_ceiling_is_measured_once_and_said_to_be() {
    let server = Server::start(&[]);
    let cache = tempfile::tempdir().unwrap();
    // Fast enough to be compared, and too slow to exceed a ceiling measured on a busy host: an
    // exceeded one is dropped.
    let run = || {
        Command::new(GIGATCP)
            .args([
                "test",
                "127.0.0.1",
                "-p",
                &server.port,
                "-t",
                "1",
                "-b",
                "150M",
                "-C",
                "reno",
            ])
            .args(["--format", "json"])
            .env("XDG_CACHE_HOME", cache.path())
            .output()
            .unwrap()
    };
    let figure = |output: &Output| {
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value["ceiling"]["loopback_bps"].as_f64().unwrap()
    };
    let (first, second) = (run(), run());
    assert!(text(&first.stderr).contains("measuring the loopback ceiling"));
    assert!(!text(&second.stderr).contains("measuring the loopback ceiling"));
    assert!(figure(&first) > 0.0);
    assert_eq!(figure(&first).to_bits(), figure(&second).to_bits());
}

#[test]
fn repeated_runs_are_stored_with_boot_and_batch() {
    let server = Server::start(&[]);
    let kept = tempfile::tempdir().unwrap();
    let directory = kept.path().join("results");
    let place = directory.to_str().unwrap();
    for _ in 0..2 {
        let options = ["-b", "50M", "-i", "0.2", "--repeat", "2", "--save", place];
        assert!(client(&server.port, &options).status.success());
    }
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let (mut batches, mut runs) = (HashSet::new(), 0);
    for file in std::fs::read_dir(&directory).unwrap() {
        let stored = std::fs::read(file.unwrap().path()).unwrap();
        let record: Value = serde_json::from_slice(&stored).unwrap();
        let series = &record["series"][0];
        assert_eq!(series["hosts"][0]["boot_id"].as_str(), Some(boot.trim()));
        batches.insert(series["test"]["batch_unix_ms"].as_u64().unwrap());
        runs += 1;
    }
    assert_eq!((batches.len(), runs), (2, 4));
}

#[test]
fn rrul_loads_both_directions_and_pings_next_to_them() {
    let server = Server::start(&[]);
    // Slow enough to leave CPU time for other tests.
    let output = client(&server.port, &["--rrul", "-b", "5M", "--format", "json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["streams"].as_array().unwrap().len(), 8);
    for kind in ["udp", "tcp"] {
        for phase in ["idle_ms", "loaded_ms"] {
            let median = value["pings"][kind][phase]["median"].as_f64();
            assert!(median.is_some_and(|median| median > 0.0), "{kind} {phase}");
        }
    }
    let output = client(&server.port, &["--rrul", "-b", "5M"]);
    let answer = text(&output.stdout);
    assert!(answer.contains("the median RTT of"), "{answer}");
}

#[test]
fn transactions_have_a_rate_and_percentiles_of_their_latency() {
    let server = Server::start(&[]);
    for mode in ["tcp_rr", "tcp_crr", "udp_rr"] {
        let arguments = ["--mode", mode, "-P", "50", "-l", "20", "response_size=2000"];
        let output = client(
            &server.port,
            &[&arguments[..], &["--format", "json"]].concat(),
        );
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&value["mode"], &value["flows"]),
            (&mode.into(), &50.into())
        );
        let total = &value["total"];
        assert!(total["transactions"].as_u64() >= Some(50), "{value}");
        let latency =
            ["p50", "p90", "p99", "p99_9", "max"].map(|key| total["latency_us"][key].as_f64());
        assert!(latency.is_sorted() && latency[0] > Some(0.0), "{value}");
        let output = client(&server.port, &arguments);
        let answer = text(&output.stdout);
        assert!(answer.contains("transactions/s"), "{answer}");
    }
}

#[test]
fn options_that_a_mode_does_not_have_are_refused() {
    for (arguments, refusal) in [
        ("tcp_rr --udp", "--mode tcp_rr does not have --udp"),
        ("tcp_rr --mptcp", "--mode tcp_rr does not have --mptcp"),
        ("tcp_crr -M 500", "--mode tcp_crr does not have --set-mss"),
        ("udp_rr --report x.html", "`--format json > FILE` keeps"),
        ("udp_rr -l 15", "a request (-l) is from 16 to 65507 bytes"),
        ("tcp_crr --json", "--mode tcp_crr does not have --json"),
        ("tcp_rr cport=9", "--mode tcp_rr does not have cport"),
        ("tcp_crr -P 4097", "--mode tcp_crr has at most 4096 flows"),
        ("stamp -O 1", "--mode stamp does not have --omit"),
        ("stamp -b 1M", "--mode stamp does not have --bitrate"),
        (
            "stream response_size=2",
            "response_size requires --mode tcp_rr, tcp_crr or udp_rr",
        ),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = client("1", &[&["--mode"][..], &arguments].concat());
        let error = text(&output.stderr);
        assert!(error.contains(refusal), "{arguments:?}: {error}");
    }
}

#[test]
fn a_prediction_rests_on_the_headers_of_the_connection_or_names_what_to_grant() {
    let server = Server::start(&[]);
    let change = ["--whatif", "receiver.buffer=64 kB", "-b", "10M"];
    let output = client(&server.port, &change);
    if !output.status.success() {
        let said = text(&output.stderr);
        assert!(said.contains("sudo setcap cap_net_raw+ep"), "{said}");
        return;
    }
    let answer = text(&output.stdout);
    let words: Vec<&str> = answer.split_whitespace().collect();
    let answer = words.join(" ");
    assert!(answer.contains("With receiver.buffer=64 kB: "), "{answer}");
}

#[test]
fn a_prediction_is_of_one_stream() {
    let change = ["--whatif", "receiver.buffer=64 kB", "-P", "2"];
    let output = client("1", &change);
    let said = text(&output.stderr);
    assert!(said.contains("--whatif is for one stream"), "{said}");
}

#[test]
fn streams_that_are_added_give_round_trips_per_minute() {
    let server = Server::start(&[]);
    let output = Command::new(GIGATCP)
        .args([
            "test",
            "127.0.0.1",
            "-p",
            &server.port,
            "-t",
            "3",
            "-C",
            "reno",
        ])
        .args(["--no-probe", "--rrul", "-P", "auto", "--format", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &answer["responsiveness"];
    let streams = found["ramp"]["streams"].as_u64().unwrap();
    assert!(found["rpm"].as_f64() > Some(60.0), "{found}");
    for component in ["tcp_f", "http_f", "http_l"] {
        let mean = found["trimmed_mean_ms"][component].as_f64();
        assert!(mean > Some(0.0), "{component}: {found}");
    }
    assert_eq!(
        answer["streams"].as_array().unwrap().len() as u64,
        2 * streams
    );
    let output = client(&server.port, &["-u", "-P", "auto"]);
    let errors = text(&output.stderr);
    assert!(
        errors.contains("-P auto requires TCP and a time"),
        "{errors}"
    );
}
