//! `gigatcp emulate --uplink`: commands behind the path reach a network outside, and nothing is
//! left of the uplink.
//!
//! The machine and the network outside are namespaces of the test. If these cannot be created, or
//! no program translates addresses, the test says so and proves nothing.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::process::{Command, Output};

/// Creates a machine with an interface `wan` (192.0.2.2) and a host outside (192.0.2.1). That host
/// replies with the client's address. `$RUN` runs there, with a directory for sockets of its own.
const SITE: &str = r#"
ip link set lo up
unshare -n sleep 60 & outside=$!
export XDG_RUNTIME_DIR=$(mktemp -d)
trap 'kill $outside $answering 2>/dev/null; rm -rf $XDG_RUNTIME_DIR' EXIT
sleep 0.2
ip link add wan type veth peer name lan netns $outside
ip addr add 192.0.2.2/24 dev wan; ip link set wan up
nsenter -t $outside -n sh -c 'ip addr add 192.0.2.1/24 dev lan; ip link set lan up'
nsenter -t $outside -n python3 -c '
import socket
listener = socket.create_server(("192.0.2.1", 7000))
while True:
    peer, address = listener.accept()
    peer.send(address[0].encode()); peer.close()' & answering=$!
sleep 0.5
eval "$RUN"
sleep 0.5
echo "links: $(ip -o link | grep -c ': gt')"
echo "forwarding: $(cat /proc/sys/net/ipv4/conf/wan/forwarding)"
echo "tables: $( (nft list tables || iptables -t nat -S POSTROUTING | grep gt) 2>/dev/null | grep -c gigatcp)"
"#;

/// Requests the client's address from the host outside, and measures the time.
const ASK: &str = r#"python3 -c '
import socket, time
began = time.time()
peer = socket.create_connection(("192.0.2.1", 7000), 5)
took = time.time() - began
print("seen as", peer.recv(99).decode(), "after the delay" if took > 0.05 else "at once")'"#;

fn in_a_machine_of_its_own(run: &str) -> Output {
    Command::new("unshare")
        .args(["-n", "bash", "-c", SITE])
        .env(
            "RUN",
            run.replace("gigatcp ", concat!(env!("CARGO_BIN_EXE_gigatcp"), " ")),
        )
        .output()
        .unwrap()
}

/// Whether namespaces can be created here; prints the reason if not.
fn is_possible() -> bool {
    let tools = "command -v ip unshare setsid nsenter python3 bash && { command -v nft || command -v iptables; }";
    let made = Command::new("sh")
        .args(["-c", tools])
        .output()
        .is_ok_and(|output| output.status.success())
        .then(|| in_a_machine_of_its_own("echo made").stdout);
    let is_possible = made.is_some_and(|made| made.starts_with(b"made"));
    if !is_possible {
        let _ = writeln!(
            std::io::stderr(),
            "\nuplink: SKIPPED, NOTHING PROVEN: needs root, ip, nsenter, python3, and nft or iptables"
        );
    }
    is_possible
}

const NOTHING_LEFT: &str = "links: 0\nforwarding: 0\ntables: 0\n";

#[test]
fn a_command_reaches_the_network_outside_and_nothing_is_left_of_the_way() {
    if !is_possible() {
        return;
    }
    let run = format!("gigatcp emulate -q --rtt '60 ms' --uplink wan -- {ASK}");
    let output = in_a_machine_of_its_own(&run);
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = format!("seen as 192.0.2.2 after the delay\n{NOTHING_LEFT}");
    assert_eq!(
        said,
        expected,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn nothing_is_left_of_the_way_after_a_kill() {
    if !is_possible() {
        return;
    }
    // The process, and all of its process group.
    for target in ["$emulator", "-- -$emulator"] {
        let run = format!(
            "setsid gigatcp emulate -q --uplink wan -- sleep 60 & emulator=$!; sleep 1; \
             ip -o link | grep -c ': gt'; cat /proc/sys/net/ipv4/conf/wan/forwarding; \
             kill -9 {target}; sleep 0.5"
        );
        let output = in_a_machine_of_its_own(&run);
        let said = String::from_utf8(output.stdout).unwrap();
        let expected = format!("1\n1\n{NOTHING_LEFT}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, expected, "{target}: {errors}");
    }
}

#[test]
fn uplink_whose_shell_was_killed_too_is_undone_by_the_next_path_and_by_clean() {
    if !is_possible() {
        return;
    }
    for (undo, printed) in [
        ("gigatcp emulate -q -- true", ""),
        (
            "gigatcp emulate --clean; gigatcp emulate --clean",
            "removed 1 socket and 1 uplink of killed paths\n\
             nothing is left of killed paths of this user\n",
        ),
    ] {
        let run = format!(
            "gigatcp emulate -q --uplink wan -- sleep 60 & emulator=$!; sleep 1; \
             kill -9 $emulator $(pgrep -P $emulator sh); sleep 0.3; \
             cat /proc/sys/net/ipv4/conf/wan/forwarding; {undo}"
        );
        let output = in_a_machine_of_its_own(&run);
        let expected = format!("1\n{printed}{NOTHING_LEFT}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{errors}"
        );
    }
}

#[test]
fn an_interface_that_does_not_exist_is_answered_with_those_that_do() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    let output = command
        .args(["emulate", "--uplink", "nosuch0", "--", "true"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // Without namespaces, that error comes first.
    if said.contains("--uplink") || said.contains("interface") {
        assert!(
            said.contains("this machine has no interface `nosuch0`"),
            "{said}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}
