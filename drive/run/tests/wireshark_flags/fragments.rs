//! Captures with fragmented packets, some of them duplicated, reordered or lost. The segments
//! and their frames must be those of the installed tshark.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use gigatcp_capture::CaptureReader;
use gigatcp_path::{HopConfig, LossModel, Reorder};
use gigatcp_tcp::Profile;
use gigatcp_units::{Duration, Probability};
use gigatcp_wire::link::Fragmentation;

use crate::common::link;
use crate::cut::cut;
use crate::{Said, ours, tshark, worlds};

/// Changes to the packets of a capture.
#[derive(Clone, Copy)]
struct Harm {
    is_v6: bool,
    /// Bytes of payload per fragment.
    size: usize,
    /// Percentages of fragments: lost, duplicated, late.
    lost: u64,
    twice: u64,
    late: u64,
    /// Whether the TCP header is fragmented too.
    cuts_header: bool,
}

const NONE: Harm = Harm {
    is_v6: false,
    size: 552,
    lost: 0,
    twice: 0,
    late: 0,
    cuts_header: false,
};

struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Writes the capture `from` as a classic one whose packets arrived in fragments.
fn in_fragments(from: &Path, to: &Path, harm: Harm) {
    let mut reader = CaptureReader::open(from).unwrap();
    let mut draw = Draw(1);
    let mut all: Vec<(u64, Vec<u8>)> = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        let at = record.time.unwrap().as_nanos();
        // tshark reassembles only packets that were captured completely.
        let mut whole = record.octets.to_vec();
        whole.resize(record.wire_len as usize, 0);
        let packet = if harm.is_v6 { as_v6(&whole) } else { whole };
        let head = if harm.is_v6 { 40 } else { 20 };
        let from = if harm.cuts_header { 8 } else { harm.size };
        let places: Vec<usize> = (from..packet.len() - head).step_by(harm.size).collect();
        if places.is_empty() {
            all.push((at, packet));
            continue;
        }
        let parts = cut(&packet, record.number as u32, &places);
        let late: Vec<u64> = (0..parts.len() as u64)
            .map(|nth| 700 * nth + 20_000 * u64::from(draw.below(100) < harm.late))
            .collect();
        // Complete at the original time, so that answers come after it.
        let last = *late.iter().max().unwrap();
        for (part, late) in parts.into_iter().zip(late) {
            let moved = at.saturating_sub(last - late);
            if draw.below(100) < harm.twice {
                all.push((moved, part.clone()));
            }
            if draw.below(100) >= harm.lost {
                all.push((moved, part));
            }
        }
    }
    all.sort_by_key(|(at, _)| *at);
    let mut file = Vec::new();
    // Nanoseconds, raw IP.
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (at, packet) in all {
        let len = packet.len() as u32;
        let seconds = (at / 1_000_000_000) as u32;
        for word in [seconds, (at % 1_000_000_000) as u32, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    fs::write(to, file).unwrap();
}

/// Same TCP in IPv6; its checksum is not verified here.
fn as_v6(packet: &[u8]) -> Vec<u8> {
    let mut out = vec![0x60, 0, 0, 0];
    out.extend((packet.len() as u16 - 20).to_be_bytes());
    out.extend([6, 64]);
    for end in [&packet[12..16], &packet[16..20]] {
        out.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.extend(end);
    }
    out.extend(&packet[20..]);
    out
}

/// Sequence number and payload of each frame in which tshark finds TCP.
fn segments_of_tshark(program: &Path, path: &Path) -> BTreeMap<u64, (u32, u32)> {
    let mut command = Command::new(program);
    command.args(["-n", "-Y", "tcp", "-d", "tcp.port==0-65535,data"]);
    command.args(["-T", "fields", "-E", "separator=;"]);
    for field in ["frame.number", "tcp.seq_raw", "tcp.len"] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let number = |field: &str| field.parse::<u32>().unwrap();
    let segment = |line: &str| {
        let fields: Vec<u32> = line.split(';').map(number).collect();
        (u64::from(fields[0]), (fields[1], fields[2]))
    };
    text.lines().map(segment).collect()
}

/// Our analysis of each complete segment, as tshark shows no others.
///
/// Also returns the numbers of fragmented and of incomplete segments.
fn whole_segments(path: &Path) -> (BTreeMap<u64, Said>, [usize; 2]) {
    let mut ours = ours(path);
    let count = |ours: &BTreeMap<u64, Said>, kind| {
        let of_kind = |said: &&Said| said.observed.fragmentation == kind;
        ours.values().filter(of_kind).count()
    };
    let counts = [Fragmentation::Reassembled, Fragmentation::First].map(|kind| count(&ours, kind));
    ours.retain(|_, said| said.observed.fragmentation != Fragmentation::First);
    (ours, counts)
}

/// Linux routers with one link of MTU 600 and a short queue.
///
/// The hosts have `net.ipv4.ip_no_pmtu_disc=1`. Captured with tcpdump at the receiver.
#[test]
fn segments_that_a_kernel_fragmented_are_found_where_tshark_finds_them() {
    let Some(program) = tshark::find() else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wireshark_flags/captures");
    let path = folder.join("kernel-fragments.pcap.gz");
    let (ours, [together, alone]) = whole_segments(&path);
    println!("{together} segments put together, {alone} first fragments alone");
    assert!(together > 50 && alone > 5, "{together} and {alone}");
    let found: BTreeMap<u64, (u32, u32)> = ours
        .iter()
        .map(|(frame, said)| {
            let segment = &said.observed;
            (*frame, (segment.seq.as_u32(), segment.payload_len))
        })
        .collect();
    assert_eq!(found, segments_of_tshark(&program, &path));
}

#[test]
fn segments_in_fragments_are_found_where_tshark_finds_them() {
    let Some(program) = tshark::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let forward = HopConfig {
        loss: vec![LossModel::Bernoulli(Probability::try_new(0.02).unwrap())],
        reorder: Some(Reorder {
            probability: Probability::try_new(0.01).unwrap(),
            extra_delay: Duration::from_millis(3),
        }),
        ..link("forward", 100_000_000, Duration::from_millis(10), 10_000)
    };
    let (lost, twice, late) = (2, 3, 5);
    let harms = [
        NONE,
        Harm { late, ..NONE },
        Harm { lost, ..NONE },
        Harm { twice, ..NONE },
        Harm {
            lost,
            twice,
            late,
            cuts_header: true,
            ..NONE
        },
        Harm {
            lost,
            twice,
            late,
            is_v6: true,
            size: 1232,
            ..NONE
        },
    ];
    let (mut alone, mut together) = (0, 0);
    for at_sender in [true, false] {
        let whole = folder.path().join("whole.pcapng");
        worlds::capture(&whole, Profile::MODERN, forward.clone(), at_sender);
        let here = harms.into_iter().enumerate();
        for (index, harm) in here.skip(usize::from(at_sender)).step_by(2) {
            let path = folder.path().join("fragments.pcap");
            in_fragments(&whole, &path, harm);
            let (ours, counts) = whole_segments(&path);
            together += counts[0];
            alone += counts[1];
            let theirs = segments_of_tshark(&program, &path);
            let found: BTreeMap<u64, (u32, u32)> = ours
                .iter()
                .map(|(frame, said)| {
                    (
                        *frame,
                        (said.observed.seq.as_u32(), said.observed.payload_len),
                    )
                })
                .collect();
            assert_eq!(found.len(), theirs.len(), "harm {index}");
            let differ = found
                .iter()
                .zip(&theirs)
                .find(|(ours, theirs)| ours != theirs);
            assert_eq!(differ, None, "harm {index}");
        }
    }
    println!("{together} segments put together, {alone} first fragments alone");
    assert!(together > 5_000 && alone > 50);
}
