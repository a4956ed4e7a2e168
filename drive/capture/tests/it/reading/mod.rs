//! Compares tshark's fields of each packet with ours.

use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use gigatcp_capture::{CaptureReader, Interface, PcapngWriter};
use gigatcp_wire::link::Captured;

use super::connection::{Connection, V4, V6};
use super::independent_reader::find_tshark;

/// Fields requested from tshark, one line per packet. For nested packets they are those of the
/// innermost.
const FIELDS: [&str; 17] = [
    "frame.time_epoch",
    "frame.len",
    "frame.cap_len",
    "ip.ttl",
    "ip.id",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.len",
    "tcp.options.timestamp.tsval",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
];

pub fn theirs(path: &Path) -> Option<Vec<String>> {
    let Some(program) = find_tshark() else {
        // Directly to stderr, since the test runner captures the output of `eprintln!`.
        let line = "SKIPPED: tshark is not installed, no other reader looked\n";
        io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    };
    let mut command = Command::new(program);
    command.arg("-n").arg("-r").arg(path);
    command.args(["-o", "tcp.try_heuristic_first:FALSE"]);
    command.args(["-d", "tcp.port==0-65535,data"]);
    command.args(["-d", "udp.port==8472,vxlan"]);
    command.args(["-T", "fields", "-E", "separator=;", "-E", "occurrence=l"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    Some(said.lines().map(String::from).collect())
}

/// Packet list that tshark prints; `None` without tshark.
pub fn list(path: &Path, options: &[&str]) -> Option<String> {
    let mut command = Command::new(find_tshark()?);
    command.arg("-n").arg("-r").arg(path).args(options);
    command.args(["-d", "tcp.port==0-65535,data"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap())
}

pub fn ours(path: &Path) -> Vec<String> {
    let mut reader = CaptureReader::open(path).unwrap();
    let mut lines = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        let segment = record.dissect().unwrap();
        let nanos = record.time.unwrap().as_nanos();
        let time = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
        lines.push(line(&time, record.wire_len, record.octets.len(), &segment));
    }
    lines
}

/// Formats a segment as a line of tshark.
fn line(time: &str, wire_len: u32, captured: usize, segment: &Captured<'_>) -> String {
    let ip = &segment.ip;
    let (ttl, ident) = match ip.endpoints.src().is_ipv4() {
        true => (ip.ttl.to_string(), format!("0x{:04x}", ip.ident)),
        false => Default::default(),
    };
    let (src, dst) = (ip.endpoints.src(), ip.endpoints.dst());
    let of = |address: IpAddr, is_v4| {
        if address.is_ipv4() == is_v4 {
            address.to_string()
        } else {
            String::new()
        }
    };
    let val = segment.timestamps().map(|times| times.val.to_string());
    [
        time.to_owned(),
        wire_len.to_string(),
        captured.to_string(),
        ttl,
        ident,
        segment.src_port.to_string(),
        segment.dst_port.to_string(),
        segment.seq.as_u32().to_string(),
        segment.ack.as_u32().to_string(),
        format!("0x{:04x}", segment.flags.bits()),
        segment.wnd.0.to_string(),
        segment.payload_len.to_string(),
        val.unwrap_or_default(),
        of(src, true),
        of(dst, true),
        of(src, false),
        of(dst, false),
    ]
    .join(";")
}

pub fn saved(name: &str, octets: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, octets).unwrap();
    path
}

pub fn compare(name: &str, octets: &[u8], packets: usize) {
    let path = saved(name, octets);
    let ours = ours(&path);
    assert_eq!(ours.len(), packets, "{name}");
    if let Some(theirs) = theirs(&path) {
        assert_eq!(ours, theirs, "{name}");
    }
}

/// Removes the IPv4 header fields of lines with an IPv6 header. For an IPv6 packet inside, tshark
/// also prints the outer IPv4 header.
pub fn without_outer_ip(lines: Vec<String>) -> Vec<String> {
    let short = |line: String| {
        let mut fields: Vec<&str> = line.split(';').collect();
        if !fields[15].is_empty() {
            for field in [3, 4, 13, 14] {
                fields[field] = "";
            }
        }
        fields.join(";")
    };
    lines.into_iter().map(short).collect()
}

/// Connection, whole or cut, as bare IP packets.
pub fn connection(is_v6: bool, is_whole: bool) -> Vec<u8> {
    let mut interface = Interface::new("sender");
    if is_whole {
        interface = interface.with_whole_packets();
    }
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let view = writer.add_interface(interface).unwrap();
    let endpoints = if is_v6 { V6 } else { V4 };
    Connection::new(&mut writer, view, endpoints)
        .write()
        .unwrap();
    writer.finish().unwrap()
}

/// An IPv4 header of that protocol and total length.
pub fn v4_header(protocol: u8, total: usize) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 0, 0, 9, 0, 0, 64, protocol, 0, 0];
    header[2..4].copy_from_slice(&(total as u16).to_be_bytes());
    header.extend([10, 9, 0, 1, 10, 9, 0, 2]);
    header
}
