//! Runs a case: emulator, server with tcpdump next to it, test.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::cases::{Case, Place};
use super::verdict::Capture;
use crate::kernels::group::Group;

/// Program at the other end of the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// `gigatcp server`: readings of both ends.
    Own,
    /// `iperf3 -s`: readings of this end.
    Iperf3,
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Output of `gigatcp test --format json`.
    pub result: Value,
    /// Capture of tcpdump at the server.
    pub capture: Capture,
    /// Share of periods in which an end exhausted its quota; 1 without a quota.
    pub throttled: f64,
}

/// Runs one case; its files are written into `at`.
///
/// # Errors
/// The part that did not run, with its output.
pub fn run(case: &Case, peer: Peer, gigatcp: &Path, at: &Path) -> Result<Run, String> {
    let said = |error: std::io::Error| error.to_string();
    fs::create_dir_all(at).map_err(said)?;
    let (mut client, mut server) = (&case.sender, &case.receiver);
    if case.is_reverse {
        (client, server) = (server, client);
    }
    let groups = [group(client, "client")?, group(server, "server")?];
    let pcap = at.join("server.pcap");
    let tool = gigatcp.to_string_lossy();
    let program = match peer {
        Peer::Own => format!("{tool} server"),
        Peer::Iperf3 => "iperf3 -s".into(),
    };
    let tcpdump = format!(
        "tcpdump --immediate-mode -i path0 -s 100 -U -w {} 2>/dev/null &",
        pcap.display()
    );
    let server = format!(
        "{}\n{tcpdump}\nsleep 0.3\n{}exec {program}",
        server.setup,
        enter(&groups[1])
    );
    let words: Vec<String> = case.test.iter().map(|word| format!("'{word}'")).collect();
    let test = format!(
        "{}\n{}{tool} test $GIGATCP_SERVER {} readings={} --format json\nsleep 0.3",
        client.setup,
        enter(&groups[0]),
        words.join(" "),
        at.join("readings.json").display()
    );
    let mut command = Command::new(gigatcp);
    command.arg("emulate").args(&case.path).arg("--quiet");
    command.arg("--server").arg(server);
    command.args(["--", "sh", "-c", &test]);
    fs::write(at.join("case.txt"), format!("{case:#?}\n")).map_err(said)?;
    let output = command.stdin(Stdio::null()).output().map_err(said)?;
    let result = serde_json::from_slice(&output.stdout).map_err(|error| {
        let text = String::from_utf8_lossy(&output.stderr);
        format!("no result ({error}): {text}")
    })?;
    fs::write(at.join("test.json"), &output.stdout).map_err(said)?;
    let capture = Capture::read(&pcap)?;
    let used = groups.iter().flatten().map(|group| {
        let counted = group.throttled();
        counted.throttled / counted.periods.max(1.0)
    });
    Ok(Run {
        result,
        capture,
        throttled: used.fold(1.0, f64::min),
    })
}

fn group(place: &Place, name: &str) -> Result<Option<Group>, String> {
    let Some((share, period_us)) = place.quota else {
        return Ok(None);
    };
    let group = Group::new(name, share, period_us);
    group
        .map(Some)
        .map_err(|error| format!("control group: {error}"))
}

/// Shell commands that join the group.
fn enter(group: &Option<Group>) -> String {
    match group {
        Some(group) => format!("echo $$ > {}\n", group.door()),
        None => String::new(),
    }
}
