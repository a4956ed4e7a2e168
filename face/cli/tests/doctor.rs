//! `gigatcp doctor --verify --apply` over an emulated path with a wrong setting.
//!
//! If namespaces cannot be created, this test says so and proves nothing.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use serde_json::Value;

/// 64 KiB of receive buffer over 40 ms: 8.26 Mbit/s of 18.8 Mbit/s.
const SCRIPT: &str = "sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536' && \
                      $GIGATCP doctor $GIGATCP_SERVER --verify --apply --json -t 2 \
                      --rate '18.8 Mbit/s' --direction receive";

#[test]
fn a_small_receive_buffer_bounds_the_test_and_applying_the_fix_ends_it() {
    let gigatcp = env!("CARGO_BIN_EXE_gigatcp");
    let server = format!("{gigatcp} server");
    let done = Command::new(gigatcp)
        .args(["emulate", "-q", "--rate", "20 Mbit/s", "--rtt", "40 ms"])
        .args(["--sysctl", "net.ipv4.tcp_congestion_control=cubic"])
        .args(["--server", &server, "--", "sh", "-c", SCRIPT])
        .env("GIGATCP", gigatcp)
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    if done.status.code() == Some(2) {
        let said = String::from_utf8_lossy(&done.stderr);
        eprintln!("SKIPPED, NOTHING PROVEN: {said}");
        return;
    }
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(report["first"][0], "receive-buffer-max", "{report:#}");
    assert_eq!(report["path"]["rtt_source"], "measured");
    let mbps = |value: &Value| value["rate_bps"].as_f64().expect("a rate") * 1e-6;
    let ceiling = report["findings"][0]["ceiling_bps"]
        .as_f64()
        .expect("a ceiling")
        * 1e-6;
    let (before, after) = (mbps(&report["tests"][0]), mbps(&report["after"][0]));
    // A test of two seconds begins slowly; `cargo xtask proof --doctor` compares closely.
    assert!(before < 1.2 * ceiling, "{before} of {ceiling}");
    assert!(after > 1.5 * before, "{before}, then {after}");
    let applied = &report["applied"][0];
    let undo = "sysctl -w net.ipv4.tcp_rmem='4096 65536 65536'";
    assert_eq!(
        (&applied["undo"], &applied["error"]),
        (&undo.into(), &Value::Null)
    );
}
