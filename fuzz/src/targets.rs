//! Fuzz targets: arbitrary octets must not cause a panic.
//!
//! What is read must also be writable, and read back the same.

use gigatcp_analyze::reports::{Statement, explain};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{append_packet, decode_packet};

use crate::{captures, endpoint, engine, fragments, iperf3, nuttcp};

/// Named fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name, also that of its directory in `fuzz/corpus`.
    pub name: &'static str,
    /// Runs the target on one input.
    pub feed: fn(&[u8]),
}

const fn target(name: &'static str, feed: fn(&[u8])) -> Target {
    Target { name, feed }
}

/// All targets.
pub const ALL: [Target; 16] = [
    target("packet", packet),
    target("options", options),
    target("engine", |octets| _ = engine::drive(octets)),
    target("delivery", |octets| _ = engine::drive_with_octets(octets)),
    target("endpoint", |octets| _ = endpoint::drive(octets)),
    target("script", script),
    target("capture", captures::capture),
    target("pcap", captures::pcap),
    target("pcapng", captures::pcapng),
    target("text", captures::text),
    target("reports", reports),
    target("link", captures::link),
    target("flows", captures::flows),
    target("fragments", fragments::fragments),
    target("iperf3", iperf3::iperf3),
    target("nuttcp", nuttcp::nuttcp),
];

/// Target named `name`.
pub fn find(name: &str) -> Option<Target> {
    ALL.into_iter().find(|target| target.name == name)
}

/// Feeds IP packets of either version, with or without a valid checksum.
fn packet(octets: &[u8]) {
    let Ok((header, segment)) = decode_packet(octets) else {
        return;
    };
    let first = segment.map_payload(Bytes::copy_from_slice);
    let mut written = Vec::new();
    append_packet(&header, &first, &mut written).expect("what was read can be written");
    let (_, again) = decode_packet(&written).expect("what was written can be read");
    let second = again.map_payload(Bytes::copy_from_slice);
    assert_eq!(second, first, "read, written and read again");
}

/// Feeds TCP options in a valid packet. So the checksum does not reject every mutation.
fn options(octets: &[u8]) {
    let most = octets.len().min(40);
    let words = most.div_ceil(4);
    let mut tcp = vec![0; 20 + 4 * words];
    tcp[12] = ((5 + words) << 4) as u8;
    tcp[13] = 0x10;
    tcp[20..20 + most].copy_from_slice(&octets[..most]);
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0];
    ip.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    let total = (20 + tcp.len()) as u16;
    ip[2..4].copy_from_slice(&total.to_be_bytes());
    let sum = checksum(&ip, 0);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let pseudo = u32::from(tcp.len() as u16) + 6 + 2 * (0xc000 + 0x0200) + 1 + 2;
    let sum = checksum(&tcp, pseudo);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    ip.extend(tcp);
    packet(&ip);
}

/// RFC 1071, implemented separately: the readers' own is under test.
fn checksum(octets: &[u8], start: u32) -> u16 {
    let words = octets.chunks(2);
    let mut sum = words.fold(start, |sum, word| {
        sum + u32::from(word[0]) * 256 + u32::from(word.get(1).copied().unwrap_or(0))
    });
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Feeds scripts: any text is valid or has an error at a position inside it.
fn script(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    if let Err(mistake) = gigatcp_conformance::parse(&text) {
        let said = mistake.in_text("fuzz.pkt", &text);
        assert!(said.starts_with("fuzz.pkt:"), "a mistake without a place");
    }
}

/// Feeds reports of testers and of `ss`, as `gigatcp why` reads them.
fn reports(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    let statements = Statement::read(&text).into_iter().collect();
    for report in explain(statements) {
        for connection in report.connections {
            let answer = connection.diagnosis.answer();
            let is_known = |confidence| (0.0..=1.0).contains(&confidence);
            assert!(answer.confidence.is_none_or(is_known), "{answer:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_the_reader_behind_a_right_checksum() {
        // MSS 1460, no-op, window scale 7.
        options(&[2, 4, 5, 180, 1, 3, 3, 7]);
        // Every target accepts these octets; `options` is one of the targets.
        let mut seen = false;
        for target in ALL {
            (target.feed)(&[2, 4, 5, 180]);
            seen |= target.name == "options";
        }
        assert!(seen);
    }
}
