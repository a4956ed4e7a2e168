//! Captures that people could not explain, rebuilt with documentation addresses, and captures of
//! kernels over paths that share no code with the product. Each stands for a kind.
//!
//! The right answer of each is from its owner, from a book, or from how the path was set up.

use std::path::Path;

use gigatcp_analyze::{Options, Source, analyze};
use gigatcp_capture::{CaptureReader, Interface, PcapngWriter};
use gigatcp_why::Diagnosis;

/// A right answer.
enum Right {
    /// A sure answer with one of these causes.
    Cause(&'static [&'static str]),
    /// An outcome that is decided by rule.
    Outcome(&'static str),
    /// An unsure answer, or one of these causes: the view does not show more.
    AtMost(&'static [&'static str]),
}

use Right::{AtMost, Cause, Outcome};

const CASES: &[(&str, Right)] = &[
    // A window of zero is the reader's, whatever scaling is.
    (
        "01-zero-window-22s-no-scaling.pcap",
        Cause(&["slow-reader"]),
    ),
    (
        "03-kernel-reader-stops-22s-no-scaling.pcap",
        Cause(&["slow-reader"]),
    ),
    ("03b-kernel-same-with-scaling.pcap", Cause(&["slow-reader"])),
    ("04-zero-window-never-reopens.pcap", Cause(&["slow-reader"])),
    ("05-zero-window-102s.pcap", Cause(&["slow-reader"])),
    // 76 bytes never fill a window.
    (
        "07-chat-76-bytes-no-scaling.pcap",
        Cause(&["client-think-time"]),
    ),
    ("08-20kB-window-65kB-never-full.pcap", Outcome("slow-start")),
    (
        "10-uplink-370k-full-no-scaling.pcapng",
        Cause(&["path-saturated"]),
    ),
    // Nine packets in half a millisecond, and one direction only.
    ("12-fast-retransmit-fragment.pcap", Outcome("too-short")),
    ("13-rto-one-direction-688B.pcap", Outcome("one-direction")),
    (
        "14-one-direction-one-retransmission.pcap",
        Outcome("one-direction"),
    ),
    (
        "16-mirror-duplicates-one-direction.pcap",
        Outcome("one-direction"),
    ),
    (
        "17-icmp-fragmentation-needed-ignored.pcap",
        AtMost(&["pmtu-black-hole"]),
    ),
    ("19-data-in-syn-8GB.pcap", Outcome("too-short")),
    ("20-clock-of-10ms-219-Tbit.pcap", Cause(&["slow-reader"])),
    ("21-zero-duration-152-Gbit.pcap", Outcome("no-time")),
    ("22-tsecr-never-updated.pcap", Cause(&["no-window-scaling"])),
    ("24-client-waits-1.3s.pcap", Cause(&["client-think-time"])),
    ("25-keepalive-70s-idle.pcap", Outcome("idle")),
    // Kernels.
    ("k01-rcv.pcap", AtMost(&["queue-overflow"])),
    ("k02-rcv.pcap", Cause(&["outage"])),
    ("k03-snd.pcap", Cause(&["reordering-mistaken-for-loss"])),
    ("k03-rcv.pcap", Cause(&["reordering-mistaken-for-loss"])),
    ("k04-mid.pcap", Cause(&["queue-overflow"])),
    ("k05-snd.pcap", Cause(&["delayed-ack-stall"])),
    // Tail losses before the capture point: one loss in three packets hides in the identifications.
    ("k06-mid.pcap", AtMost(&["rto-backoff"])),
    ("k07-snd.pcap", Cause(&["application-limited"])),
    ("k08-rcv.pcap", Cause(&["policer"])),
    (
        "k09-mid.pcap",
        AtMost(&["application-limited", "pacing-limited"]),
    ),
    ("k10-snd.pcap", Cause(&["path-saturated"])),
    ("k11-rcv.pcap", Cause(&["path-saturated"])),
    ("k12-mid.pcap", Cause(&["path-saturated"])),
    ("k13-snd.pcap", Cause(&["policer"])),
    ("k13-rcv.pcap", Cause(&["policer"])),
    ("k14-rcv.pcap", Cause(&["receive-window-limited"])),
    ("k15-snd.pcap", Cause(&["slow-reader"])),
    ("k16-mid.pcap", Cause(&["server-think-time"])),
    ("k17-snd.pcap", Cause(&["path-saturated"])),
    ("k18-snd.pcap", Cause(&["receive-window-limited"])),
    ("k18-rcv.pcap", Cause(&["receive-window-limited"])),
    ("k19-snd.pcap", Cause(&["policer"])),
    // Segments of 1448 bytes are lost until the sender probes for an MTU that fits.
    ("k20-snd.pcap", Cause(&["pmtu-black-hole"])),
    // A queue of 2 s: the window grows while the RTT does, and closes never.
    ("k21-snd.pcap", Cause(&["path-saturated"])),
    // Drops of a full queue at a steady rate, before a capture point where packets come in bursts.
    ("k22-mid.pcap", Cause(&["queue-overflow"])),
    // 5 s without any delivery: retransmissions are lost too, which a full ring does not do.
    ("k23-snd.pcap", Cause(&["outage"])),
    ("k24-snd.pcap", Cause(&["path-saturated"])),
    ("k25-snd.pcap", Outcome("slow-start")),
    // Each request comes a second after the response before it: the kernel has halved the window then.
    ("k26-snd.pcap", Cause(&["cwnd-growth-limited"])),
    // ACKs release nothing; a byte of the peer releases 32 kB.
    ("k27-mid.pcap", Cause(&["request-response-rtt"])),
    // A queue of 20 packets at 200 Mbit/s: every loss met 28,960 bytes and a delay of 1.2 ms.
    ("k28-snd.pcap", Cause(&["queue-overflow"])),
];

fn diagnose(name: &str) -> Diagnosis {
    diagnose_source(name, file(name))
}

fn file(name: &str) -> Source {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/strangers/");
    Source::file(format!("{folder}{name}.zst"))
}

fn diagnose_source(name: &str, file: Source) -> Diagnosis {
    let analysis = analyze(&[file], &Options::default()).expect(name);
    let largest = analysis.answers().next().expect(name);
    largest.diagnosis
}

#[test]
fn strangers_captures_get_the_right_answer_and_no_contradiction() {
    let mut wrong = Vec::new();
    for (name, right) in CASES {
        let diagnosis = diagnose(name);
        assert_eq!(diagnosis.contradictions(), [""; 0], "{name}");
        let cause = diagnosis.headline().map(|first| first.cause.id);
        let is_right = match right {
            Cause(causes) => {
                !diagnosis.is_unsure() && cause.is_some_and(|cause| causes.contains(&cause))
            }
            Outcome(outcome) => diagnosis.outcome.name() == *outcome,
            AtMost(causes) => {
                diagnosis.is_unsure() || cause.is_some_and(|cause| causes.contains(&cause))
            }
        };
        if !is_right {
            wrong.push(format!("{name}: {}", diagnosis.sentence()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reset_by_a_host_on_the_path_and_a_short_transfer_are_the_first_sentence() {
    for (name, beginning) in [
        ("k24-snd.pcap", "The receiver reset it after 4.84 s, with "),
        ("k25-snd.pcap", "Nothing limited it: 3.41 kB in 14.9 ms"),
    ] {
        let text = diagnose(name).sentence();
        assert!(text.starts_with(beginning), "{name}: {text}");
    }
}

#[test]
fn full_receive_window_is_named_although_the_capture_began_after_the_syns() {
    for name in ["k18-rcv.pcap", "k18-snd.pcap"] {
        let late = file(name).keeping(|number| number > 100);
        let diagnosis = diagnose_source(name, late);
        let first = diagnosis.headline().map(|first| first.cause.id);
        let text = diagnosis.sentence();
        assert_eq!(first, Some("receive-window-limited"), "{name}: {text}");
        assert!(!diagnosis.is_unsure(), "{name}: {text}");
    }
}

/// The capture with 64 bytes of each packet: of a SYN, that is up to its SACK-permitted option.
fn cut(name: &str, folder: &Path) -> Source {
    let whole = format!("{}/tests/strangers/{name}.zst", env!("CARGO_MANIFEST_DIR"));
    let mut reader = CaptureReader::open(Path::new(&whole)).unwrap();
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let mut interface = None;
    while let Some(record) = reader.next_record().unwrap() {
        let interface = *interface.get_or_insert_with(|| {
            let whole = Interface::new("").with_whole_packets();
            let link = record.link;
            writer.add_interface(Interface { link, ..whole }).unwrap()
        });
        let octets = &record.octets[..record.octets.len().min(64)];
        let at = record.time.unwrap();
        writer
            .write_packet(interface, at, octets, record.wire_len)
            .unwrap();
    }
    let path = folder.join(name);
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    Source::file(path)
}

#[test]
fn captures_of_64_bytes_a_packet_get_the_same_answer_or_an_unsure_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut unsure = Vec::new();
    for (name, right) in CASES {
        let Cause(causes) = right else { continue };
        if !name.starts_with('k') {
            continue;
        }
        let diagnosis = diagnose_source(name, cut(name, folder.path()));
        let first = diagnosis.headline().map(|first| first.cause.id);
        let is_right = first.is_some_and(|first| causes.contains(&first));
        assert!(
            is_right || diagnosis.is_unsure(),
            "{name}: {}",
            diagnosis.sentence()
        );
        if diagnosis.is_unsure() {
            unsure.push(*name);
        }
    }
    // Without timestamps a receiver has no RTT.
    assert_eq!(unsure, ["k08-rcv.pcap", "k11-rcv.pcap"]);
}

#[test]
fn rates_stay_below_the_link_and_above_what_was_achieved() {
    // Set-up rate of the link, Mbit/s.
    for (name, link) in [
        ("k12-mid.pcap", 8.2),
        ("k15-snd.pcap", 50.0),
        ("k16-mid.pcap", 50.0),
        ("k17-snd.pcap", 40.0),
        ("20-clock-of-10ms-219-Tbit.pcap", 100.0),
    ] {
        let diagnosis = diagnose(name);
        let capacity = diagnosis.capacity.rate().as_bps() as f64 / 1e6;
        assert!(capacity <= link, "{name}: {capacity} Mbit/s");
        assert!(diagnosis.capacity.rate() >= diagnosis.throughput, "{name}");
        let answer = diagnosis.answer();
        if let Some(gain) = answer.gain {
            let mbps = gain.rate.as_bps() as f64 / 1e6;
            assert!(mbps <= link, "{name}: could reach {mbps} Mbit/s");
        }
    }
}

#[test]
fn stall_of_2001_is_lost_at_the_host_whose_application_was_not_reading() {
    let text = |view: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/");
        Source::file(format!("{folder}stall-of-2001-{view}.txt"))
    };
    let views: [&[&str]; 3] = [&["sender"], &["receiver"], &["sender", "receiver"]];
    for ends in views {
        let view = ends.join(" and ");
        let files: Vec<Source> = ends.iter().copied().map(text).collect();
        let analysis = analyze(&files, &Options::default()).expect("readable");
        let mut answers = analysis.answers();
        let answer = answers.next().expect("data was sent");
        assert!(answers.next().is_none(), "{view}: one answer");
        let diagnosis = answer.diagnosis;
        let first = diagnosis.headline().expect("a cause");
        assert_eq!(first.cause.id, "rx-ring-overrun", "{view}");
        assert!(!diagnosis.is_unsure(), "{view}: {}", diagnosis.sentence());
        let chain = diagnosis.chain.join(" ");
        assert!(chain.contains("511 s"), "{view}: {chain}");
        assert!(
            chain.contains("reset the connection at the edge of the window"),
            "{view}: {chain}"
        );
        if let Some(joined) = diagnosis.joined {
            assert!(joined.contains("384 segments"), "{view}: {joined}");
            assert!(!joined.contains("lost between"), "{view}: {joined}");
        }
    }
}
