//! Runs every script of `conformance/script` against the engine, over both versions of IP, in well
//! under a second.

use std::fs;
use std::path::{Path, PathBuf};

use gigatcp_conformance::engine::Engine;
use gigatcp_conformance::run::{Settings, run};

fn scripts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/script");
    let mut found = Vec::new();
    for folder in fs::read_dir(&root).unwrap() {
        let path = folder.unwrap().path();
        if path.is_dir() {
            let files = fs::read_dir(path).unwrap();
            found.extend(files.map(|file| file.unwrap().path()));
        }
    }
    // `cargo xtask ledger --mutate` selects single scripts.
    let asked =
        std::env::var_os("GIGATCP_SCRIPTS").map(|names| names.to_string_lossy().into_owned());
    let is_asked_for = |path: &Path| {
        let named = |name: &str| path.ends_with(format!("{name}.pkt"));
        asked
            .as_ref()
            .is_none_or(|names| names.split(',').any(named))
    };
    found.retain(|path| path.extension().is_some_and(|ending| ending == "pkt"));
    found.retain(|path| is_asked_for(path));
    found.sort();
    found
}

/// Fault of a script, if any.
fn fault(path: &Path, ipv6: bool) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    fault_in(&path.display().to_string(), &text, ipv6)
}

/// Any verdict other than `passed`. A script of ours that needs an unsupported feature shows
/// nothing.
fn fault_in(name: &str, text: &str, ipv6: bool) -> Option<String> {
    let script = match gigatcp_conformance::parse(text) {
        Ok(script) => script,
        Err(mistake) => return Some(mistake.in_text(name, text)),
    };
    if script.header("profile").is_none() {
        return Some(format!(
            "{name}: no `// profile:` line, so it is not strict"
        ));
    }
    let settings = Settings {
        ipv6,
        ..Settings::default()
    };
    let report = run(&script, text, &mut Engine::new(), &settings);
    (!report.is_passed()).then(|| report.in_text(name, text))
}

#[test]
fn what_the_engine_lacks_is_a_fault_of_a_script_of_ours() {
    let lines = [
        "0 socket(..., SOCK_DGRAM, 0) = 3\n",
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         +0 setsockopt(3, IPPROTO_TCP, TCP_NOSUCHTHING, [1], 4) = 0\n",
    ];
    for lines in lines {
        let text = format!("// profile: modern\n{lines}");
        let fault = fault_in("x.pkt", &text, false).unwrap();
        assert!(fault.contains("unsupported"), "{fault}");
    }
}

#[test]
fn the_engine_passes_every_script_exactly_to_the_nanosecond() {
    let scripts = scripts();
    let is_chosen = std::env::var_os("GIGATCP_SCRIPTS").is_some();
    assert!(
        is_chosen || scripts.len() >= 20,
        "{} scripts",
        scripts.len()
    );
    let faults: Vec<String> = scripts
        .iter()
        .flat_map(|path| [fault(path, false), fault(path, true)])
        .flatten()
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_script_that_says_something_else_fails_at_that_line_and_in_that_respect() {
    let good = "// profile: modern timestamps=false sack=false window_scaling=false mss=1000\n\
                0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                +0 bind(3, ..., ...) = 0\n\
                +0 listen(3, 1) = 0\n\
                +0 < S 0:0(0) win 1000 <mss 1000>\n\
                +0 > S. 0:0(0) ack 1 win 65535 <mss 1000>\n\
                +.1 < . 1:1(0) ack 1 win 1000\n\
                +0 accept(3, ..., ...) = 4\n\
                +0 write(4, ..., 500) = 500\n\
                +0 > P. 1:501(500) ack 1\n\
                +0 %{ assert tcpi_unacked == 1, tcpi_unacked }%\n";
    let changes = [
        ("", "", "passed"),
        (
            "> P. 1:501(500)",
            "> . 1:501(500)",
            "x.pkt:10:1: failed: control bits",
        ),
        (
            "> P. 1:501(500)",
            "> P. 1:401(400)",
            "x.pkt:10:1: failed: sequence",
        ),
        (
            "(500) ack 1",
            "(500) ack 2",
            "x.pkt:10:1: failed: acknowledgment",
        ),
        (
            "> P. 1:501(500) ack 1",
            "> P. 1:501(500) ack 1 win 9",
            "failed: window",
        ),
        (
            "(500) ack 1",
            "(500) ack 1 <nop>",
            "x.pkt:10:1: failed: options",
        ),
        ("+0 > P.", "+.1 > P.", "x.pkt:10:1: failed: timing"),
        (
            "+0 > P. 1:501(500) ack 1\n",
            "",
            "failed: unexpected packet",
        ),
        (
            "win 65535 <mss 1000>",
            "win 65535 <mss 999>",
            "x.pkt:6:1: failed: options",
        ),
        ("500) = 500", "500) = 499", "x.pkt:9:1: failed: call"),
        (
            "unacked == 1",
            "unacked == 2",
            "x.pkt:11:7: failed: assertion",
        ),
        (
            "modern",
            "moderm",
            "unsupported: profile moderm (did you mean modern?)",
        ),
        ("sack=false", "sick=false", "unsupported: setting sick"),
        (
            "> P. 1:501(500)",
            "> [ect0] P. 1:501(500)",
            "x.pkt:10:1: failed: IP header",
        ),
        (
            "\n+0 %{",
            "\n+.1 > . 501:501(0) ack 1\n+0 %{",
            "failed: missing packet",
        ),
    ];
    for (from, to, expected) in changes {
        let text = good.replacen(from, to, usize::from(!from.is_empty()));
        let script = gigatcp_conformance::parse(&text).unwrap();
        let report = run(&script, &text, &mut Engine::new(), &Settings::default());
        let said = report.in_text("x.pkt", &text);
        assert!(said.contains(expected), "{from} -> {to}: {said}");
    }
}

/// A script for FreeBSD, written by us. Its settings identify the system.
const FOR_FREEBSD: &str = "0 `kldload -n cc_newreno`\n\
    +0 `sysctl net.inet.tcp.rfc1323=0 net.inet.tcp.sack.enable=0`\n\
    +0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
    +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
    +0 > S 0:0(0) win 65535 <mss MSS>\n\
    +.1 < R. 0:0(0) ack 1 win 0\n\
    +0 getsockopt(3, SOL_SOCKET, SO_ERROR, [61], [4]) = 0\n";

fn story(text: &str, ipv6: bool) -> String {
    let script = gigatcp_conformance::parse(text).unwrap();
    let settings = Settings {
        ipv6,
        ..Settings::default()
    };
    run(&script, text, &mut Engine::new(), &settings).in_text("x.pkt", text)
}

#[test]
fn a_script_that_sets_net_inet_runs_with_freebsds_mtu_and_error_numbers() {
    for (ipv6, mss) in [(false, "1460"), (true, "1440")] {
        let said = story(&FOR_FREEBSD.replace("MSS", mss), ipv6);
        assert!(said.contains("passed"), "{said}");
    }
    // A named profile stays, and so do Linux's numbers.
    let named = format!("// profile: modern\n{}", FOR_FREEBSD.replace("MSS", "1460"));
    let said = story(&named, false);
    assert!(said.contains("failed: call"), "{said}");
}

#[test]
fn command_after_an_unsupported_one_replaces_it() {
    let text =
        |command: &str| format!("`{command}`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n");
    let lines = "sysctl -q net.ipv4.no_such_thing=0 &> /dev/null || \\\n ip tcp_metrics flush all";
    let said = story(&text(lines), false);
    assert!(said.contains("passed"), "{said}");
    let said = story(&text("sysctl net.ipv4.no_such_thing=0 || nonsense"), false);
    assert!(said.contains("unsupported: command nonsense"), "{said}");
}

#[test]
fn a_stack_or_setting_of_freebsd_that_is_not_here_is_named() {
    for (line, named) in [
        ("+0 `sysctl net.inet.tcp.functions_default=rack`", "rack"),
        ("+0 `sysctl net.inet.tcp.no_such_thing=1`", "no_such_thing"),
        (
            "+0 setsockopt(3, IPPROTO_TCP, TCP_FUNCTION_BLK, {function_set_name=\"rack\", \
             pcbcnt=0}, 36) = 0",
            "TCP stack rack",
        ),
    ] {
        let text = format!("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n{line}\n");
        let said = story(&text, false);
        assert!(
            said.contains("unsupported") && said.contains(named),
            "{said}"
        );
    }
}

#[test]
fn sysctl_lines_of_a_scripts_defaults_are_facts_and_its_other_lines_are_ignored() {
    let text = "`../common/defaults.sh`\n\
        0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
        +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
        +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
        +0 > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 8>\n";
    let script = gigatcp_conformance::parse(text).unwrap();
    let defaults = "#!/bin/sh\nip tcp_metrics flush all > /dev/null 2>&1\n\
        sysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"\n";
    for (engine, passes) in [
        (Engine::new().with_defaults(defaults.into()), true),
        (Engine::new(), false),
    ] {
        let mut engine = engine;
        let report = run(&script, text, &mut engine, &Settings::default());
        let said = report.in_text("x.pkt", text);
        assert_eq!(said.contains("passed"), passes, "{said}");
    }
}

#[test]
fn freebsd_rounds_a_buffer_to_segments_and_advertises_what_is_free() {
    let text = "0 `sysctl net.inet.tcp.recvspace=65536`\n\
        +0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
        +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
        +0 getsockopt(3, SOL_SOCKET, SO_RCVBUF, [65536], [4]) = 0\n\
        +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
        +0 > S 0:0(0) win 65535 <mss 1460,nop,wscale 6,sackOK,TS val 100 ecr 0>\n\
        +0 `sockstat -4 -P tcp -s | grep -c SYN_SENT | grep 1`\n\
        +.1 < S. 0:0(0) ack 1 win 32767 <mss 1460>\n\
        +0 > . 1:1(0) ack 1 win 65535\n\
        +0 getsockopt(3, SOL_SOCKET, SO_RCVBUF, [65700], [4]) = 0\n\
        +0 < P. 1:11(10) ack 1 win 32767\n\
        +.04 > . 1:1(0) ack 11 win 65535\n";
    let said = story(text, false);
    assert!(said.contains("passed"), "{said}");
}
