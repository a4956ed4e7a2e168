//! `gigatcp test --ndt7` as a user runs it: errors, certificates, and M-Lab's own server.
#![cfg(target_os = "linux")]

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const GIGATCP: &str = env!("CARGO_BIN_EXE_gigatcp");

/// A server of another project, which ends with the test.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn client(url: &str, arguments: &[&str], authority: Option<&Path>) -> Output {
    let mut command = Command::new(GIGATCP);
    command
        .args(["test", "--ndt7", url, "-C", "cubic"])
        .args(arguments);
    if let Some(file) = authority {
        command.env("SSL_CERT_FILE", file);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

fn wait_for(port: u16) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nothing listens at {port}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes a certificate of `localhost`, and its key; `false` without openssl.
fn make_certificate(directory: &Path) -> bool {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ])
        .args([
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(directory)
        .stderr(Stdio::null())
        .status();
    if made.is_ok_and(|status| status.success()) {
        return true;
    }
    eprintln!("skipped: openssl is not installed");
    false
}

#[test]
fn what_is_no_url_of_ndt7_is_named_with_an_example() {
    let output = client("ndt.example", &[], None);
    let errors = text(&output.stderr);
    assert!(
        errors.contains("`ndt.example` is no URL of ndt7"),
        "{errors}"
    );
    assert!(errors.contains("--ndt7 wss://ndt.example"), "{errors}");
    let output = client("ws://127.0.0.1:1", &["-u"], None);
    let errors = text(&output.stderr);
    assert!(errors.contains("--udp: ndt7 carries TCP only"), "{errors}");
    assert!(errors.contains("hint: leave out --udp"), "{errors}");
}

/// openssl's server answers no WebSocket, so that only the handshake of TLS can succeed.
#[test]
#[cfg(feature = "tls")]
fn certificate_of_an_unknown_authority_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    if !make_certificate(directory.path()) {
        return;
    }
    let port = free_port();
    let server = Command::new("openssl")
        .args(["s_server", "-quiet", "-cert", "cert.pem", "-key", "key.pem"])
        .args(["-accept", &port.to_string()])
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _server = Other(server.unwrap());
    wait_for(port);
    let url = format!("wss://localhost:{port}");
    let short = &["connect_timeout=2"];
    let errors = text(&client(&url, short, None).stderr);
    assert!(errors.contains("invalid peer certificate"), "{errors}");
    assert!(errors.contains("SSL_CERT_FILE"), "{errors}");
    let trusted = directory.path().join("cert.pem");
    let errors = text(&client(&url, short, Some(&trusted)).stderr);
    assert!(
        errors.contains("no answer to the WebSocket handshake"),
        "{errors}"
    );
    let by_address = format!("wss://127.0.0.1:{port}");
    let errors = text(&client(&by_address, short, Some(&trusted)).stderr);
    assert!(errors.contains("certificate"), "{errors}");
}

/// M-Lab's server, if `$NDT_SERVER` is its program: `cargo xtask proof --ndt7` builds it.
#[test]
fn reference_server_tests_both_directions_with_and_without_tls() {
    let Some(program) = std::env::var_os("NDT_SERVER") else {
        eprintln!("skipped: $NDT_SERVER is not set");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    if !make_certificate(directory.path()) {
        return;
    }
    let [clear, secure] = [free_port(), free_port()];
    let mut server = Command::new(program);
    server
        .args(["-datadir", "data", "-cert", "cert.pem", "-key", "key.pem"])
        .args(["-ndt7_addr_cleartext", &format!("127.0.0.1:{clear}")])
        .args(["-ndt7_addr", &format!("127.0.0.1:{secure}")]);
    for option in [
        "ndt5_addr",
        "ndt5_ws_addr",
        "ndt5_wss_addr",
        "prometheusx.listen-address",
        "health_addr",
    ] {
        server.arg(format!("-{option}=127.0.0.1:0"));
    }
    let server = server
        .current_dir(directory.path())
        .stderr(Stdio::null())
        .spawn();
    let _server = Other(server.unwrap());
    wait_for(clear);
    wait_for(secure);
    let trusted = directory.path().join("cert.pem");
    for scheme in ["ws", "wss"] {
        if scheme == "wss" && !cfg!(feature = "tls") {
            continue;
        }
        let port = if scheme == "ws" { clear } else { secure };
        let url = format!("{scheme}://localhost:{port}");
        for direction in [&["-R"][..], &[]] {
            let words = [&["--format", "json", "-4"], direction].concat();
            let output = client(&url, &words, Some(&trusted));
            assert!(output.status.success(), "{}", text(&output.stderr));
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            let received = answer["received"][0]["bps"].as_f64().unwrap();
            let measured = answer["measured_s"].as_f64().unwrap();
            let explained = &answer["explanations"][0];
            assert!(received > 1e6, "{url} {direction:?}: {answer}");
            assert!(
                (9.0..=13.5).contains(&measured),
                "{url} {direction:?}: {measured} s"
            );
            assert_eq!(explained["has_both_ends"], true, "{answer}");
            assert!(answer["cut_short"].is_null(), "{answer}");
            println!(
                "{url} {direction:?}: {received:.3e} bit/s, {}",
                explained["primary"]
            );
        }
    }
}
