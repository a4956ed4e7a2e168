//! Captures of simulated runs, read by an independent reader.

#[path = "../../../capture/tests/independent_reader/mod.rs"]
mod independent_reader;

use gigatcp_capture::{CaptureReader, NoteKind};
use gigatcp_run::Job;
use gigatcp_wire::link::ChecksumVerdict;
use independent_reader::count_with_tshark;

/// A path with some loss, so that there are retransmissions.
///
/// The window is small enough to keep the capture small.
const PLAN: &str = r#"
name = "captured"
[[path.forward]]
name = "forward"
rate = "50 Mbit/s"
delay = "10 ms"
queue = "200 packets"
lose_every = 700
[[path.reverse]]
name = "reverse"
delay = "10 ms"
[flow]
bytes = "6 MB"
congestion_control = "reno"
window = "400 kB"
[[series]]
name = "sack"
[[series]]
name = "newreno"
set = { "sender.sack" = false }
[[series]]
name = "linux-2-6-20"
set = { "sender.profile" = "linux-2.6.20", "receiver.profile" = "linux-2.6.20", "sender.buffer_limit" = "1 MiB", "receiver.buffer_limit" = "1 MiB" }
"#;

#[test]
fn tshark_finds_no_malformed_packet_no_bad_checksum_and_the_same_retransmissions() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = gigatcp_plan::parse("plan.toml", PLAN.as_bytes(), &[]).expect("a valid plan");
    let job = Job {
        captures: Some(folder.path().to_path_buf()),
        ..Job::of(plan)
    };
    let records = job.records().expect("a run");
    for record in records {
        let capture = folder.path().join(format!("{}.pcapng", record.name));
        let Some(counts) = count_with_tshark(&capture) else {
            eprintln!("SKIPPED: tshark is not installed; `apt-get install tshark`");
            return;
        };
        let ours = record.flows[0].retransmitted_segments;
        assert!(ours > 0, "{}: nothing to compare", record.name);
        assert_eq!(counts.malformed, 0, "{}", record.name);
        assert_eq!(counts.bad_checksum, 0, "{}", record.name);
        assert_eq!(counts.retransmissions, ours, "{}", record.name);
    }
}

#[test]
fn our_own_reader_finds_every_segment_and_the_same_retransmissions() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = gigatcp_plan::parse("plan.toml", PLAN.as_bytes(), &[]).expect("a valid plan");
    let job = Job {
        seed: 2,
        captures: Some(folder.path().to_path_buf()),
        ..Job::of(plan)
    };
    let records = job.records().expect("a run");
    for record in records {
        let capture = folder.path().join(format!("{}.pcapng", record.name));
        let mut reader = CaptureReader::open(&capture).expect("a readable capture");
        let mut again = 0;
        let mut ends = std::collections::BTreeMap::new();
        while let Some(packet) = reader.next_record().expect("a whole capture") {
            let segment = packet.dissect().expect("a segment");
            assert_eq!(segment.ip_checksum(), Some(ChecksumVerdict::Right));
            assert!(segment.has_all_options());
            if segment.payload_len == 0 {
                continue;
            }
            let flow = (packet.interface, segment.src_port);
            let next = segment.seq + segment.seq_len();
            let end = ends.entry(flow).or_insert(segment.seq);
            if next.is_after(*end) {
                *end = next;
            } else {
                again += 1;
            }
        }
        assert_eq!(
            again, record.flows[0].retransmitted_segments,
            "{}",
            record.name
        );
        let kinds: Vec<NoteKind> = reader.notes().iter().map(|note| note.kind).collect();
        assert_eq!(kinds, [NoteKind::SnapLength], "{}", record.name);
    }
}

#[test]
fn only_what_routers_may_not_cut_has_the_bit_that_says_so() {
    let plan = r#"
name = "cut"
path = { rate = "50 Mbit/s", rtt = "20 ms" }
flow = { bytes = "100 kB" }
[[series]]
name = "discovers"
[[series]]
name = "fragmentable"
set = { "sender.pmtud" = false, "receiver.pmtud" = false }
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let plan = gigatcp_plan::parse("plan.toml", plan.as_bytes(), &[]).expect("a valid plan");
    let job = Job {
        captures: Some(folder.path().to_path_buf()),
        ..Job::of(plan)
    };
    job.records().expect("a run");
    for (name, has_bit) in [("discovers", true), ("fragmentable", false)] {
        let capture = folder.path().join(format!("{name}.pcapng"));
        let mut reader = CaptureReader::open(&capture).expect("a readable capture");
        let mut packets = 0;
        while let Some(packet) = reader.next_record().expect("a whole capture") {
            assert_eq!(packet.octets[0] >> 4, 4, "IPv4 without a link header");
            assert_eq!(packet.octets[6] & 0x40 != 0, has_bit, "{name}");
            packets += 1;
        }
        assert!(packets > 50, "{packets}");
    }
}
