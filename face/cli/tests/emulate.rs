//! `gigatcp emulate`: commands behind a path, and nothing is left of them.
//!
//! If namespaces cannot be created, these tests say so and prove nothing.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

fn gigatcp(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    command.arg("emulate").args(words).stdin(Stdio::null());
    command
}

/// Whether namespaces can be created here; prints the reason if not.
fn is_possible() -> bool {
    let output = gigatcp(&["-q", "--", "true"]).output().unwrap();
    if output.status.code() == Some(2) {
        let name = thread::current().name().unwrap_or("test").to_string();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let _ = writeln!(
            std::io::stderr(),
            "\n{name}: SKIPPED, NOTHING PROVEN: {said}"
        );
        return false;
    }
    assert!(output.status.success(), "{output:?}");
    true
}

fn run(words: &[&str]) -> Output {
    gigatcp(words).output().unwrap()
}

/// Number of processes whose command line begins with `command`.
fn running(command: &str) -> usize {
    let wanted = command.replace(' ', "\0");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| line.starts_with(wanted.as_bytes()))
        .count()
}

/// Waits until `count` of them are running.
fn until_running(command: &str, count: usize) {
    let began = Instant::now();
    while running(command) != count {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{command}: not {count}"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

/// A number of seconds to sleep that no other test uses.
fn unusual(test: u32) -> String {
    format!("{}.{test}", 100_000 + std::process::id())
}

fn kill(child: &Child, signal: &str) {
    let killed = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
}

#[test]
fn the_commands_exit_status_is_that_of_the_emulator() {
    if !is_possible() {
        return;
    }
    assert_eq!(
        run(&["-q", "--", "sh", "-c", "exit 42"]).status.code(),
        Some(42)
    );
    assert_eq!(
        run(&["-q", "--", "sh", "-c", "kill -9 $$"]).status.code(),
        Some(137)
    );
    let missing = run(&["-q", "--", "no-such-command"]);
    assert_eq!(missing.status.code(), Some(127));
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.contains("cannot start `no-such-command`"), "{said}");
}

#[test]
fn a_command_finds_the_addresses_and_its_output_is_its_own() {
    if !is_possible() {
        return;
    }
    let script = "echo $GIGATCP_CLIENT $GIGATCP_SERVER $GIGATCP_CLIENT_V6 $GIGATCP_SERVER_V6";
    let output = run(&["--rtt", "1 ms", "--", "sh", "-c", script]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "10.83.0.1 10.83.0.2 fd83::1 fd83::2\n");
    let summary = String::from_utf8(output.stderr).unwrap();
    assert!(summary.contains("client -> server"), "{summary}");
    let quiet = run(&["-q", "--", "true"]);
    assert_eq!(quiet.stderr, b"");
}

/// bash opens connections by itself: `/dev/tcp/ADDRESS/PORT`. It waits for an
/// answer, or it would end before everything has arrived.
const FETCH: &str = "exec 3<>/dev/tcp/$GIGATCP_SERVER/5001\n\
    head -c 300000 /dev/zero >&3; head -c 1 <&3 >/dev/null";

/// A server of one connection, which answers when it has everything.
const SERVE: &str = "python3 -c 'import socket, os\n\
    s = socket.create_server((os.environ[\"GIGATCP_SERVER\"], 5001))\n\
    c, n = s.accept()[0], 0\n\
    while n < 300000: n += len(c.recv(1 << 20))\n\
    c.send(b\"x\")'";

#[test]
fn counters_and_capture_tell_of_the_same_packets() {
    let has_python = Command::new("python3").arg("-c").output().is_ok();
    if !is_possible() || !has_python {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for end in ["client", "server"] {
        let (capture, counters) = (file("emulate.pcapng"), file("counters.json"));
        let output = run(&[
            "--rate",
            "100 Mbit/s",
            "--rtt",
            "10 ms",
            "--loss",
            "0.01",
            "--seed",
            "3",
            "--server",
            SERVE,
            "--capture",
            &capture,
            "--capture-at",
            end,
            "--json",
            &counters,
            "--",
            "bash",
            "-c",
            FETCH,
        ]);
        assert!(output.status.success(), "{output:?}");
        let counters: Value = serde_json::from_slice(&fs::read(&counters).unwrap()).unwrap();
        assert_eq!(counters["schema"], "gigatcp.emulate/2");
        let of = |way: usize, name: &str| {
            counters["directions"][way]["hops"][0][name]
                .as_u64()
                .unwrap()
        };
        assert_eq!(counters["directions"][0]["conserved"], true);
        assert_eq!(counters["directions"][1]["conserved"], true);
        assert!(of(0, "arrived_bytes") > 300_000);
        let seen = match end {
            "client" => of(0, "arrived_packets") + of(1, "delivered_packets"),
            _ => of(0, "delivered_packets") + of(1, "arrived_packets"),
        };
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains(&format!("{seen} packets in ")),
            "{said}\n{counters}"
        );
        let flows = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .args(["flows", "--json", &capture])
            .output()
            .unwrap();
        assert!(flows.status.success(), "{flows:?}");
        let said = String::from_utf8(flows.stdout).unwrap();
        assert!(said.contains("10.83.0.2"), "{said}");
    }
}

/// Sends a number of bytes with a congestion control, both from its arguments. Prints the
/// retransmissions counted by `TCP_INFO`.
const SEND: &str = r#"
import json, os, socket, struct, sys
c = socket.create_connection((os.environ["GIGATCP_SERVER"], 5001))
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[2].encode())
c.sendall(bytes(int(sys.argv[1])))
c.recv(1)
info = c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
# tcpi_total_retrans and tcpi_bytes_retrans of linux/tcp.h
print(json.dumps({
    "retransmitted_segments": struct.unpack_from("I", info, 100)[0],
    "retransmitted_bytes": struct.unpack_from("Q", info, 208)[0],
}))
"#;

#[test]
fn what_the_capture_shows_sent_again_is_what_the_kernel_says_it_sent_again() {
    let has_python = Command::new("python3").arg("-c").output().is_ok();
    if !is_possible() || !has_python {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sender.pcapng");
    let capture = file.to_str().unwrap();
    let late = ["reorder=0.02", "reorder_delay=5 ms"];
    for (control, loss, more) in [
        ("reno", "0.05", &[][..]),
        ("cubic", "0.02", &late[..]),
        ("reno", "0", &["--queue", "20 packets"][..]),
    ] {
        let mut words = vec!["--rate", "50 Mbit/s", "--rtt", "20 ms", "--loss", loss];
        words.extend(more);
        let server = SERVE.replace("300000", "1500000");
        words.extend(["--server", &server, "--capture", capture]);
        words.extend(["--capture-at", "client", "--", "python3", "-c", SEND]);
        words.extend(["1500000", control]);
        let output = run(&words);
        assert!(output.status.success(), "{output:?}");
        let kernel: Value = serde_json::from_slice(&output.stdout).unwrap();
        let flows = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
            .args(["flows", "--json", capture])
            .output()
            .unwrap();
        let flows: Value = serde_json::from_slice(&flows.stdout).unwrap();
        let sent = &flows["captures"][0]["connections"][0]["client"];
        for what in ["retransmitted_segments", "retransmitted_bytes"] {
            assert_eq!(sent[what], kernel[what], "{control}, {loss}: {sent}");
        }
        assert!(kernel["retransmitted_segments"].as_u64() > Some(5));
    }
}

#[test]
fn counters_that_have_no_place_are_told_before_the_command_runs() {
    if !is_possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let output = run(&["--json", place, "--", "echo", "ran"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("is a directory") && said.contains("nothing was run"),
        "{said}"
    );
}

#[test]
fn a_setting_that_there_is_not_is_told_with_the_one_that_was_meant() {
    if !is_possible() {
        return;
    }
    for (typed, meant) in [
        ("tcp_ecn=1", "did you mean `net.ipv4.tcp_ecn`"),
        ("net.ipv4.tcp_ecnn=1", "did you mean `net.ipv4.tcp_ecn`"),
        ("foo=1", "below `net`"),
        (
            "net.ipv4.tcp_ecn=banana",
            "this machine has `net.ipv4.tcp_ecn=",
        ),
    ] {
        let output = run(&["--sysctl", typed, "--", "true"]);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(meant), "{typed}: {said}");
    }
}

#[test]
fn both_ends_have_the_buffer_limits_of_the_callers_namespace_unless_sysctl_sets_them() {
    if !is_possible() {
        return;
    }
    // A namespace with limits of its own is the caller, so that no setting of this host changes.
    let inner = format!("{} emulate -q", env!("CARGO_BIN_EXE_gigatcp"));
    let script = format!(
        "echo 4096 131072 7340032 > /proc/sys/net/ipv4/tcp_rmem
         echo 4096 16384 3145728 > /proc/sys/net/ipv4/tcp_wmem
         cat='cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem'
         {inner} -- $cat
         {inner} --sysctl net.ipv4.tcp_rmem='4096 131072 5242880' -- $cat"
    );
    let output = run(&["-q", "--", "sh", "-c", &script]);
    let said = String::from_utf8(output.stdout).unwrap();
    let values: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(
        values,
        ["7340032", "3145728", "5242880", "3145728"],
        "{said}"
    );
}

#[test]
fn a_policer_of_the_options_drops_what_exceeds_it() {
    let has_python = Command::new("python3").arg("-c").output().is_ok();
    if !is_possible() || !has_python {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters.json");
    let counters = file.to_str().unwrap();
    let output = run(&[
        "--rtt",
        "4 ms",
        "policer=20 Mbit/s",
        "policer_burst=8 KiB",
        "--server",
        SERVE,
        "--json",
        counters,
        "--",
        "bash",
        "-c",
        FETCH,
    ]);
    assert!(output.status.success(), "{output:?}");
    let counters: Value = serde_json::from_slice(&fs::read(counters).unwrap()).unwrap();
    let policed = |way: usize| counters["directions"][way]["hops"][0]["drops"]["policed"].as_u64();
    assert!(policed(0) > Some(0), "{counters}");
    assert_eq!(counters["directions"][0]["conserved"], true);
}

#[test]
fn the_server_ends_with_the_command() {
    if !is_possible() {
        return;
    }
    let seconds = unusual(1);
    let server = format!("sleep {seconds} & exec sleep {seconds}");
    // It has no listening socket, which is reported, and the command is started anyway.
    let output = run(&["--server", &server, "--", "true"]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("has no listening socket"), "{said}");
    until_running(&format!("sleep {seconds}"), 0);
}

/// Kills the emulator when two of `command` run in it; both end with it.
fn kill_with_all(mut child: Child, command: &str) {
    until_running(command, 2);
    kill(&child, "-KILL");
    child.wait().unwrap();
    until_running(command, 0);
}

#[test]
fn nothing_is_left_after_kill_9() {
    if !is_possible() {
        return;
    }
    let seconds = unusual(2);
    let script = format!("setsid sleep {seconds} & sleep {seconds}");
    let child = gigatcp(&["-q", "--", "sh", "-c", &script]).spawn().unwrap();
    kill_with_all(child, &format!("sleep {seconds}"));
}

#[test]
fn an_ordinary_user_leaves_nothing_after_kill_9_either() {
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let program = env!("CARGO_BIN_EXE_gigatcp");
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(nobody)
            .args([program, "emulate", "-q", "--"])
            .args(words)
            .current_dir("/");
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    };
    let can = as_nobody(&["true"])
        .status()
        .is_ok_and(|status| status.success());
    if !is_possible() || !can {
        let _ = writeln!(
            std::io::stderr(),
            "\nSKIPPED, NOTHING PROVEN: no user may make namespaces"
        );
        return;
    }
    let seconds = unusual(3);
    let script = format!("test $(id -u) = 0 && setsid sleep {seconds} & sleep {seconds}");
    // setpriv has become the emulator, which has started over in a namespace.
    let child = as_nobody(&["sh", "-c", &script]).spawn().unwrap();
    kill_with_all(child, &format!("sleep {seconds}"));
}

#[test]
fn a_command_is_asked_to_end_first_and_made_to_then() {
    if !is_possible() {
        return;
    }
    let seconds = unusual(4);
    let command = format!("sleep {seconds}");
    let script = format!("trap 'exit 9' TERM; sleep {seconds} & wait");
    let mut child = gigatcp(&["-q", "--", "sh", "-c", &script]).spawn().unwrap();
    until_running(&command, 1);
    kill(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(9));
    until_running(&command, 0);

    let script = format!("trap '' TERM INT; sleep {seconds}");
    let mut child = gigatcp(&["-q", "--", "sh", "-c", &script]).spawn().unwrap();
    until_running(&command, 1);
    kill(&child, "-INT");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(running(&command), 1);
    kill(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    until_running(&command, 0);
}

#[test]
fn ctrl_c_leaves_the_files_that_were_asked_for_and_all_of_them() {
    if !is_possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let (json, packets) = (place("a.json"), place("a.pcapng"));
    fs::write(&packets, "before").unwrap();
    let seconds = unusual(5);
    let words = [
        "--json",
        &json,
        "--capture",
        &packets,
        "--",
        "sleep",
        &seconds,
    ];
    let child = gigatcp(&words).spawn().unwrap();
    until_running(&format!("sleep {seconds}"), 1);
    // The old file stays until the new one is complete.
    assert_eq!(fs::read(&packets).unwrap(), b"before");
    kill(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(&json).unwrap()).expect("all of it is JSON");
    assert!(record.is_object());
    let written = fs::read(&packets).unwrap();
    assert_eq!(written[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "nothing else is left");

    // If it is killed, the old file stays.
    fs::write(&packets, "before").unwrap();
    let words = ["-q", "--capture", &packets, "--", "sleep", &seconds];
    let mut child = gigatcp(&words).spawn().unwrap();
    until_running(&format!("sleep {seconds}"), 1);
    kill(&child, "-KILL");
    child.wait().unwrap();
    until_running(&format!("sleep {seconds}"), 0);
    assert_eq!(fs::read(&packets).unwrap(), b"before");
    // The next run removes the partial capture.
    let names = || fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names(), 3);
    let output = run(&["-q", "--capture", &packets, "--", "true"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("removed ") && said.contains(".part"),
        "{said}"
    );
    assert_eq!(names(), 2);
}
