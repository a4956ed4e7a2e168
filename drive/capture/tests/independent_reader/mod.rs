//! Reads a capture with an independent reader: tshark, the command-line Wireshark.
//!
//! A capture that only its own writer can read proves nothing. tshark is searched on `PATH`. If it
//! is missing, every function returns `None`, and a test prints that it was skipped and why. A
//! function panics if an installed tshark gives no result.
//!
//! Payload is read as plain data on all ports, since dummy payload on the port of a known protocol
//! would count as malformed. The relevant settings are passed to tshark; the user's own preferences
//! apply to the rest.
//!
//! tshark infers retransmissions and reordering from times and sequence numbers. Its inference is
//! right for plain losses, but not always.
#![allow(dead_code)] // Each test program uses a part.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gigatcp_capture::InterfaceId;

/// tshark's counts of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TsharkCounts {
    /// Packets in all.
    pub packets: u64,
    /// Malformed packets, without those cut by a snap length.
    pub malformed: u64,
    /// Packets with a wrong IPv4 or TCP checksum. The TCP checksum of a cut packet is not verified.
    pub bad_checksum: u64,
    /// Segments classified as retransmissions, fast and spurious ones included.
    pub retransmissions: u64,
    /// Segments classified as out of order. A retransmission within milliseconds of its loss may be
    /// among them.
    pub out_of_order: u64,
}

/// Path of tshark, if it is installed.
pub fn find_tshark() -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|directory| directory.join(format!("tshark{}", env::consts::EXE_SUFFIX)))
        .find(|program| program.is_file())
}

/// Counts the packets of the file `capture` with tshark. `None` if tshark is missing.
///
/// If the capture has several capture points, every second sighting of a packet counts as a
/// retransmission. Use [`count_view_with_tshark`] for a single capture point.
pub fn count_with_tshark(capture: &Path) -> Option<TsharkCounts> {
    Some(counted(&mut counting_command(
        &find_tshark()?,
        capture.as_os_str().to_owned(),
    )))
}

/// Counts the packets of one interface of the file `capture` with tshark. `None` if tshark is
/// missing.
pub fn count_view_with_tshark(capture: &Path, view: InterfaceId) -> Option<TsharkCounts> {
    let program = find_tshark()?;
    // A filter hides packets but does not exclude them from the analysis. One tshark therefore
    // extracts the interface and a second one counts.
    let mut cutter = Command::new(&program)
        .args(["-n", "-r"])
        .arg(capture)
        .args(["-Y", &format!("frame.interface_id == {}", view.index())])
        .args(["-w", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tshark runs");
    let cut = cutter.stdout.take().expect("its output is piped");
    let counts = counted(counting_command(&program, "-".into()).stdin(cut));
    let status = cutter.wait().expect("tshark ends");
    assert!(status.success(), "tshark refused {}", capture.display());
    Some(counts)
}

/// A command that prints one line per packet. It has the fields of [`PacketLine`], separated by
/// `;`.
fn counting_command(program: &Path, capture: OsString) -> Command {
    let mut command = Command::new(program);
    command.arg("-n").arg("-r").arg(capture);
    for setting in [
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "tcp.analyze_sequence_numbers:TRUE",
        "tcp.desegment_tcp_streams:FALSE",
        "tcp.try_heuristic_first:FALSE",
    ] {
        command.args(["-o", setting]);
    }
    command.args([
        "-d",
        "tcp.port==0-65535,data",
        "-T",
        "fields",
        "-E",
        "separator=;",
    ]);
    for field in [
        "_ws.malformed",
        "ip.checksum.status",
        "tcp.checksum.status",
        "tcp.analysis.retransmission",
        "tcp.analysis.out_of_order",
    ] {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::null());
    command
}

fn counted(command: &mut Command) -> TsharkCounts {
    let output = command.output().expect("tshark runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark refused: {complaint}");
    let mut counts = TsharkCounts::default();
    let lines = String::from_utf8_lossy(&output.stdout);
    lines.lines().for_each(|line| counts.add_line(line));
    counts
}

impl TsharkCounts {
    pub fn add_line(&mut self, line: &str) {
        let fields: Vec<&str> = line.split(';').collect();
        let [malformed, ip, tcp, retransmission, out_of_order] = fields[..] else {
            panic!("tshark's line is not understood: {line:?}");
        };
        // Wireshark's checksum states: 0 bad, 1 good, 2 unverified.
        let is_bad = |status: &str| status.split(',').any(|status| status == "0");
        self.packets += 1;
        self.malformed += u64::from(!malformed.is_empty());
        self.bad_checksum += u64::from(is_bad(ip) || is_bad(tcp));
        self.retransmissions += u64::from(!retransmission.is_empty());
        self.out_of_order += u64::from(!out_of_order.is_empty());
    }
}
