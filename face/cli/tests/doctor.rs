//! `gigatcp doctor --try` over emulated paths with wrong settings: made, measured, undone.
//!
//! If namespaces cannot be created, these tests say so and prove nothing.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const GIGATCP: &str = env!("CARGO_BIN_EXE_gigatcp");

/// 64 KiB of receive buffer over 40 ms: 8.26 Mbit/s of 18.8 Mbit/s.
const SMALL: &str = "sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536'\n";

/// A server whose process is named in a file.
const SERVER_TO_END: &str = "echo $$ > $DIRECTORY/server; exec $GIGATCP server";

/// Runs a script at the client of 20 Mbit/s and 40 ms, in a directory of its own, whose files are
/// named by `$DIRECTORY`. `None`: there are no namespaces here.
fn at_client(script: &str, directory: &tempfile::TempDir) -> Option<Output> {
    at_client_of("$GIGATCP server", script, directory)
}

/// The same with this server.
fn at_client_of(server: &str, script: &str, directory: &tempfile::TempDir) -> Option<Output> {
    let done = Command::new(GIGATCP)
        .args(["emulate", "-q", "--rate", "20 Mbit/s", "--rtt", "40 ms"])
        .args(["--control", "cubic"])
        .args(["--server", server, "--", "sh", "-c", script])
        .env("GIGATCP", GIGATCP)
        .env("DIRECTORY", directory.path())
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    if done.status.code() == Some(2) && done.stdout.is_empty() {
        eprintln!(
            "SKIPPED, NOTHING PROVEN: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        return None;
    }
    Some(done)
}

#[test]
fn try_keeps_the_change_that_helps_and_undo_restores_the_setting() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "{SMALL}$GIGATCP doctor $GIGATCP_SERVER --try --yes --json -t 2 --direction receive \
         --undo-file $DIRECTORY/undo.json > $DIRECTORY/try.json; echo $?\n\
         sysctl -n net.ipv4.tcp_rmem\n\
         $GIGATCP doctor --undo $DIRECTORY/undo.json > $DIRECTORY/undone; echo $?\n\
         sysctl -n net.ipv4.tcp_rmem; ls $DIRECTORY"
    );
    let Some(done) = at_client(&script, &directory) else {
        return;
    };
    let report = fs::read(directory.path().join("try.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let first = &report["tried"][0]["attempts"][0];
    let mbps = |value: &Value| value.as_f64().expect("a rate") * 1e-6;
    let [before, predicted, measured] =
        ["before_bps", "predicted_bps", "measured_bps"].map(|name| mbps(&first[name]));
    assert_eq!(first["ids"][0], "receive-buffer-max", "{report:#}");
    assert!(
        first["is_kept"] == true && measured > 1.5 * before,
        "{report:#}"
    );
    // A test of two seconds begins slowly.
    assert!((predicted / measured - 1.0).abs() < 0.3, "{report:#}");
    let printed = String::from_utf8_lossy(&done.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "0", "nothing is left that would help: {printed}");
    assert_ne!(lines[1], "4096\t65536\t65536");
    assert_eq!(lines[2..4], ["0", "4096\t65536\t65536"], "{printed}");
    assert_eq!(lines[4..], ["try.json", "undone"], "the undo file is gone");
    let undone = fs::read_to_string(directory.path().join("undone")).expect("text");
    assert!(
        undone.contains("Every setting that doctor reads is as before."),
        "{undone}"
    );
}

/// Sends `signal` twice while a change is measured.
fn interrupt_trial(signal: &str, status: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "{SMALL}env --default-signal=INT,HUP,QUIT $GIGATCP doctor $GIGATCP_SERVER --try --yes -t 3 \
         --direction receive --save $DIRECTORY/facts.json --undo-file $DIRECTORY/undo.json > $DIRECTORY/text 2>&1 & PID=$!\n\
         I=0; while [ ! -e $DIRECTORY/undo.json -a $I -lt 600 ]; do sleep 0.1; I=$((I+1)); done\n\
         sleep 1; sysctl -n net.ipv4.tcp_rmem; kill -{signal} $PID; kill -{signal} $PID; wait $PID; echo $?\n\
         sysctl -n net.ipv4.tcp_rmem; ls $DIRECTORY"
    );
    let Some(done) = at_client(&script, &directory) else {
        return;
    };
    let printed = String::from_utf8_lossy(&done.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_ne!(
        lines[0], "4096\t65536\t65536",
        "the change was made: {printed}"
    );
    assert_eq!(
        lines[1..],
        [status, "4096\t65536\t65536", "facts.json", "text"],
        "{printed}"
    );
}

#[test]
fn interrupt_during_the_measurement_of_a_change_undoes_it() {
    interrupt_trial("INT", "130");
}

#[test]
fn closed_terminal_during_the_measurement_of_a_change_undoes_it() {
    interrupt_trial("HUP", "129");
}

#[test]
fn quit_during_the_measurement_of_a_change_undoes_it() {
    interrupt_trial("QUIT", "131");
}

#[test]
fn server_that_ends_during_the_measurement_of_a_change_undoes_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "{SMALL}$GIGATCP doctor $GIGATCP_SERVER --try --yes --json -t 3 --direction receive \
         --undo-file $DIRECTORY/undo.json > $DIRECTORY/try.json 2> $DIRECTORY/said & PID=$!\n\
         I=0; while [ ! -e $DIRECTORY/undo.json -a $I -lt 600 ]; do sleep 0.1; I=$((I+1)); done\n\
         sleep 1; sysctl -n net.ipv4.tcp_rmem; kill $(cat $DIRECTORY/server); wait $PID\n\
         sysctl -n net.ipv4.tcp_rmem; ls $DIRECTORY"
    );
    let Some(done) = at_client_of(SERVER_TO_END, &script, &directory) else {
        return;
    };
    let printed = String::from_utf8_lossy(&done.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    let small = "4096\t65536\t65536";
    assert_ne!(lines[0], small, "the change was made: {printed}");
    let rest = [small, "said", "server", "try.json"];
    assert_eq!(lines[1..], rest, "{printed}");
    let report = fs::read(directory.path().join("try.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let first = &report["tried"][0]["attempts"][0];
    assert!(
        first["error"].is_string() && first["is_kept"] == false,
        "{report:#}"
    );
    assert_eq!(report["undo_file"], Value::Null, "{report:#}");
}

#[test]
fn other_users_cannot_lock_what_a_trial_locks() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = "for FILE in /proc/sys/net/ipv4/route/flush /run/gigatcp-doctor.lock; do \
         if [ -e $FILE ] && setpriv --reuid=65534 --regid=65534 --clear-groups \
         flock --nonblock $FILE true 2> /dev/null; then echo $FILE; fi; done; echo ended";
    let Some(done) = at_client(script, &directory) else {
        return;
    };
    assert_eq!(String::from_utf8_lossy(&done.stdout), "ended\n");
}

#[test]
fn killed_trial_leaves_a_file_that_undoes_it_and_a_running_one_is_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "{SMALL}$GIGATCP doctor $GIGATCP_SERVER --try --yes -t 3 --direction receive \
         --undo-file $DIRECTORY/undo.json > $DIRECTORY/text 2>&1 & PID=$!\n\
         I=0; while [ ! -e $DIRECTORY/undo.json -a $I -lt 600 ]; do sleep 0.1; I=$((I+1)); done\n\
         sleep 1; $GIGATCP doctor --undo $DIRECTORY/undo.json 2>&1 | grep -o 'another.*runs'\n\
         kill -KILL $PID; wait $PID\n\
         $GIGATCP doctor --undo $DIRECTORY/undo.json > /dev/null; echo $?; sysctl -n net.ipv4.tcp_rmem"
    );
    let Some(done) = at_client(&script, &directory) else {
        return;
    };
    let printed = String::from_utf8_lossy(&done.stdout);
    let alone = "another `gigatcp doctor --try` or `--undo` runs";
    assert_eq!(printed, format!("{alone}\n0\n4096\t65536\t65536\n"));
}

#[test]
fn healthy_host_on_a_full_path_gets_no_advice() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = "$GIGATCP doctor $GIGATCP_SERVER --verify --json -t 3 --direction send";
    let Some(done) = at_client(script, &directory) else {
        return;
    };
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(done.status.code(), Some(0), "{report:#}");
    let fixes = report["transfers"][0]["plan"]["fixes"]
        .as_array()
        .expect("changes");
    assert!(
        fixes.iter().all(|fix| fix["is_worth"] == false),
        "{report:#}"
    );
}

/// The queue of the path adds up to 0.6 s to its 20 ms, and the kernel remembers that of the peer.
#[test]
fn rtt_of_the_path_is_measured_without_load_before_and_after_a_test() {
    let script = "for OPTIONS in '' '--verify -t 2' ''; do \
         $GIGATCP doctor $GIGATCP_SERVER --json $OPTIONS; done | grep '\"rtt_'";
    let done = Command::new(GIGATCP)
        .args(["emulate", "-q", "--rate", "20 Mbit/s", "--rtt", "20 ms"])
        .args(["--queue", "30 BDP", "--control", "cubic"])
        .args(["--server", "$GIGATCP server", "--", "sh", "-c", script])
        .env("GIGATCP", GIGATCP)
        .output()
        .expect("it runs");
    if done.status.code() == Some(2) && done.stdout.is_empty() {
        let reason = String::from_utf8_lossy(&done.stderr);
        eprintln!("SKIPPED, NOTHING PROVEN: {reason}");
        return;
    }
    let printed = String::from_utf8_lossy(&done.stdout);
    let value = |line: &str| {
        line.split(&[':', ','][..])
            .nth(1)
            .map(|text| text.trim().to_owned())
    };
    let all = |name: &str| {
        let lines = printed.lines().filter(|line| line.contains(name));
        lines.filter_map(value).collect::<Vec<_>>()
    };
    assert_eq!(all("rtt_source"), ["\"measured\""; 3], "{printed}");
    let rtts: Vec<f64> = all("\"rtt_ns\"")
        .iter()
        .map(|text| text.parse::<f64>().expect("a time") * 1e-6)
        .collect();
    assert_eq!(rtts.len(), 3, "{printed}");
    assert!(rtts.iter().all(|ms| (20.0..40.0).contains(ms)), "{rtts:?}");
}

#[test]
fn try_without_a_terminal_or_privilege_names_what_is_missing() {
    let done = Command::new(GIGATCP)
        .args(["doctor", "localhost", "--try"])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("--yes") || said.contains("CAP_NET_ADMIN"),
        "{said}"
    );
    assert!(said.contains("nothing was tested or changed"), "{said}");
}

#[test]
fn undo_file_that_others_may_write_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("undo.json");
    fs::write(&file, "{}").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("permitted");
    let done = Command::new(GIGATCP)
        .args(["doctor", "--undo"])
        .arg(&file)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("may be written by other users") && said.contains("nothing was undone"),
        "{said}"
    );
}
