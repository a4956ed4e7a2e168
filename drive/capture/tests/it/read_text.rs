//! Printed packets, in the old and the new format, alone and within prose. The packets were made up
//! for these tests.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::captures::Drip;
use gigatcp_capture::{CaptureReader, Direction, Format, KnownFields, NoteKind, Notes, ReadError};
use gigatcp_wire::link::{Captured, ChecksumVerdict, Outcome, Reassembly};
use gigatcp_wire::{Ecn, Flags, Options, Timestamps};
use proptest::prelude::*;

/// Fields of a packet that tests compare.
#[derive(Clone, PartialEq, Debug)]
struct Seen {
    offset: u64,
    time_us: Option<u64>,
    src: String,
    dst: String,
    flags: Flags,
    seq: u32,
    ack: u32,
    wnd: u16,
    len: u32,
    ttl: u8,
    ident: u16,
    dont_fragment: bool,
    ecn: Ecn,
    options: Options,
    known: KnownFields,
    follows_omission: bool,
    direction: Option<Direction>,
}

fn seen(reader: &mut CaptureReader) -> Vec<Seen> {
    assert_eq!(reader.format(), Format::Text);
    let mut all = Vec::new();
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) | Err(ReadError::NoPackets { .. }) => break,
            Err(error) => panic!("{error}"),
        };
        let packet: Captured<'_> = record.dissect().unwrap();
        assert_eq!(packet.payload, b"");
        if packet.payload_len > 0 {
            assert_eq!(packet.tcp_checksum(), ChecksumVerdict::NotCaptured);
        }
        assert!(matches!(
            packet.ip_checksum(),
            None | Some(ChecksumVerdict::Right)
        ));
        all.push(Seen {
            offset: record.offset,
            time_us: record.time.map(|time| time.as_nanos() / 1000),
            src: format!("{}.{}", packet.ip.endpoints.src(), packet.src_port),
            dst: format!("{}.{}", packet.ip.endpoints.dst(), packet.dst_port),
            flags: packet.flags,
            seq: packet.seq.as_u32(),
            ack: packet.ack.as_u32(),
            wnd: packet.wnd.0,
            len: packet.payload_len,
            ttl: packet.ip.ttl,
            ident: packet.ip.ident,
            dont_fragment: packet.ip.dont_fragment,
            ecn: packet.ecn,
            options: packet.options(),
            known: record.known,
            follows_omission: record.follows_omission,
            direction: record.direction,
        });
    }
    all
}

fn read(text: &str) -> (Vec<Seen>, Notes) {
    let mut reader = CaptureReader::from_octets(text.as_bytes().to_vec()).unwrap();
    let held = (seen(&mut reader), reader.notes().clone());
    for step in [1, 1000] {
        let drip = Drip {
            octets: text.as_bytes().to_vec(),
            at: 0,
            step,
        };
        let mut reader = CaptureReader::from_reader(drip).unwrap();
        assert_eq!((seen(&mut reader), reader.notes().clone()), held);
    }
    held
}

/// A stall as in an article: all on one line, with prose between packets.
const ARTICLE: &str = "The trace follows (\"...\" marks what we omit).\n\n\
    21:03:59.900001 192.0.2.2.1072 > 192.0.2.1.5001: S 4294967290:4294967290(0) win 65535 \
    <mss 4430,nop,wscale 6,nop,nop,timestamp 500 0> (DF) (ttl 64, id 100) \
    21:03:59.900151 192.0.2.1.5001 > 192.0.2.2.1072: S 70000:70000(0) ack 4294967291 win 65535 \
    <mss 4430,nop,wscale 6,nop,nop,timestamp 900 500> (DF) (ttl 64, id 200) Both sides scale. \
    21:03:59.900200 192.0.2.2.1072 > 192.0.2.1.5001: . ack 1 win 32768 \
    <nop,nop,timestamp 500 900> (DF) (ttl 64, id 101) \
    21:03:59.900300 192.0.2.2.1072 > 192.0.2.1.5001: P 1:4097(4096) ack 1 win 32768 \
    <nop,nop,timestamp 500 900> (DF) (ttl 64, id 102) ...Many more... \
    21:03:59.900400 192.0.2.1.5001 > 192.0.2.2.1072: . ack 4097 win 32704 \
    <nop,nop,timestamp 900 500> (DF) (ttl 64, id 201) Now 1 > 0: nothing comes. We wait 64 s. \
    00:05:03.900500 192.0.2.2.1072 > 192.0.2.1.5001: R 8193:8193(0) ack 1 win 32768 (DF) \
    (ttl 64, id 103) Patience is exhausted.\n";

#[test]
fn packets_are_pulled_out_of_the_prose_around_them() {
    let (packets, notes) = read(ARTICLE);
    let shown: Vec<_> = packets
        .iter()
        .map(|packet| {
            (
                packet.flags,
                packet.seq,
                packet.ack,
                packet.len,
                packet.ident,
            )
        })
        .collect();
    let (syn, ack) = (Flags::SYN, Flags::ACK);
    assert_eq!(
        shown,
        [
            (syn, 4_294_967_290, 0, 0, 100),
            (syn | ack, 70_000, 4_294_967_291, 0, 200),
            (ack, 4_294_967_291, 70_001, 0, 101),
            (ack | Flags::PSH, 4_294_967_291, 70_001, 4096, 102),
            (ack, 70_001, 4091, 0, 201),
            (ack | Flags::RST, 8187, 70_001, 0, 103),
        ]
    );
    assert_eq!(packets[0].src, "192.0.2.2.1072");
    assert_eq!(packets[0].dst, "192.0.2.1.5001");
    assert_eq!(packets[0].wnd, 65_535);
    assert_eq!((packets[0].ttl, packets[0].dont_fragment), (64, true));
    let expected = Options {
        mss: Some(4430),
        window_scale: Some(6),
        timestamps: Some(Timestamps { val: 500, ecr: 0 }),
        ..Options::default()
    };
    assert_eq!(packets[0].options, expected);
    assert_eq!(packets[5].options, Options::default());
    let omissions: Vec<bool> = packets
        .iter()
        .map(|packet| packet.follows_omission)
        .collect();
    assert_eq!(omissions, [false, false, false, false, true, false]);
    // Past midnight is the next day.
    let span = packets[5].time_us.unwrap() - packets[0].time_us.unwrap();
    assert_eq!(span, (3 * 3600 + 64) * 1_000_000 + 499);
    let at = ARTICLE.find("00:05:03").unwrap() as u64;
    assert_eq!(packets[5].offset, at);
    assert!(packets.iter().all(|packet| {
        packet.known.contains(
            KnownFields::ABSOLUTE
                .with(KnownFields::TTL)
                .with(KnownFields::IDENT)
                .with(KnownFields::DONT_FRAGMENT)
                .with(KnownFields::OPTIONS),
        )
    }));
    assert!(!packets[2].known.contains(KnownFields::SEQ));
    assert!(packets[3].known.contains(KnownFields::SEQ));
    let kinds: Vec<_> = notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::NoDate, NoteKind::Omission]);
}

#[test]
fn quoted_and_wrapped_mail_reads_like_the_article() {
    let (plain, _) = read(ARTICLE);
    for width in [60, 72, 90] {
        let mut mail = String::from("> Somebody wrote:\n");
        let mut line = String::new();
        for word in ARTICLE.split_whitespace() {
            if line.len() + word.len() > width {
                mail += &format!("> > {line}\n");
                line.clear();
            }
            line += word;
            line += " ";
        }
        mail += &format!("> > {line}\n\nI see. > > >\n");
        let (packets, _) = read(&mail);
        let without_place = |packets: &[Seen]| -> Vec<Seen> {
            let at_none = |packet: &Seen| Seen {
                offset: 0,
                ..packet.clone()
            };
            packets.iter().map(at_none).collect()
        };
        assert_eq!(without_place(&packets), without_place(&plain), "{width}");
    }
}

#[test]
fn the_new_words_are_read_with_all_that_v_adds() {
    let text = "\
tcpdump: listening on eth0, link-type EN10MB (Ethernet), snapshot length 262144 bytes
2024-02-29 12:00:00.000001 IP (tos 0x2,ECT(0), ttl 63, id 7, offset 0, flags [DF], proto TCP (6), length 60)
    192.0.2.1.40000 > 198.51.100.2.443: Flags [SEW], cksum 0x1234 (correct), seq 1000000000, win 64240, options [mss 1460,sackOK,TS val 11 ecr 0,nop,wscale 7], length 0
2024-02-29 12:00:00.020001 IP (tos 0x0, ttl 55, id 0, offset 0, flags [DF], proto TCP (6), length 60)
    198.51.100.2.443 > 192.0.2.1.40000: Flags [S.E], cksum 0xabcd (incorrect -> 0x1234), seq 2000000000, ack 1000000001, win 65160, options [mss 1460,sackOK,TS val 21 ecr 11,nop,wscale 7], length 0
2024-02-29 12:00:00.020101 IP (tos 0x0, ttl 63, id 8, offset 0, flags [DF], proto TCP (6), length 52)
    192.0.2.1.40000 > 198.51.100.2.443: Flags [.], cksum 0x1234 (correct), ack 1, win 502, options [nop,nop,TS val 12 ecr 21], length 0
2024-02-29 12:00:00.040101 IP (tos 0x0, ttl 55, id 9, offset 0, flags [DF], proto TCP (6), length 1500)
    198.51.100.2.443 > 192.0.2.1.40000: Flags [P.], cksum 0x1234 (correct), seq 1449:2897, ack 1, win 509, options [nop,nop,TS val 22 ecr 12], length 1448
2024-02-29 12:00:00.040201 IP (tos 0x0, ttl 63, id 9, offset 0, flags [DF], proto TCP (6), length 64)
    192.0.2.1.40000 > 198.51.100.2.443: Flags [.], cksum 0x1234 (correct), ack 1, win 502, options [nop,nop,TS val 13 ecr 21,nop,nop,sack 1 {1449:2897}], length 0
2024-02-29 12:00:01.040201 IP6 (class 0x02, flowlabel 0x12345, hlim 64, next-header TCP (6) payload length: 40) 2001:db8::1.40001 > 2001:db8::2.22: Flags [S], cksum 0x1234 (correct), seq 5, win 64800, options [mss 1440,sackOK,TS val 1 ecr 0,nop,wscale 7], length 0
2024-02-29 12:00:02.000000 IP 192.0.2.1.53 > 198.51.100.2.40000: 4711 1/0/0 A 192.0.2.9 (43)
2024-02-29 12:00:03.000000 IP 192.0.2.1 > 198.51.100.2: ICMP echo request, id 1, seq 1, length 64
";
    let (packets, notes) = read(text);
    assert_eq!(packets.len(), 6);
    assert_eq!(packets[0].flags, Flags::SYN | Flags::ECE | Flags::CWR);
    assert_eq!((packets[0].ecn, packets[0].ttl), (Ecn::Ect0, 63));
    assert_eq!(packets[0].options.window_scale, Some(7));
    assert!(packets[0].options.sack_permitted);
    assert_eq!(packets[1].flags, Flags::SYN | Flags::ACK | Flags::ECE);
    let third = &packets[2];
    assert_eq!((third.seq, third.ack), (1_000_000_001, 2_000_000_001));
    assert_eq!((packets[3].seq, packets[3].len), (2_000_001_449, 1448));
    let block = packets[4].options.sack.as_slice()[0];
    let edges = (block.left.as_u32(), block.right.as_u32());
    assert_eq!(edges, (2_000_001_449, 2_000_002_897));
    assert_eq!(packets[5].src, "2001:db8::1.40001");
    assert_eq!(packets[5].ecn, Ecn::Ect0);
    // 2024-02-29 12:00 is 1709208000.
    assert_eq!(packets[0].time_us, Some(1_709_208_000_000_001));
    assert_eq!(notes.count(NoteKind::TextNotTcp), 2);
    assert_eq!(notes.count(NoteKind::NoDate), 0);
}

#[test]
fn what_stands_before_a_packet_may_say_more() {
    let text = "\
1700000000.000001 eth0  Out IP 192.0.2.1.1 > 192.0.2.2.2: Flags [S], seq 7, win 1, length 0
1700000000.000002 eth0  In  IP 192.0.2.2.2 > 192.0.2.1.1: Flags [S.], seq 9, ack 8, win 1, length 0
00:00:01.5 0:a0:c9:0:0:1 0:a0:c9:0:0:2 ip 74: 192.0.2.1.1 > 192.0.2.2.2: . ack 1 win 1
00:00:02.5 00:11:22:33:44:55 > 66:77:88:99:aa:bb, ethertype IPv4 (0x0800), length 66: 192.0.2.1.1 > 192.0.2.2.2: Flags [.], ack 1, win 1, length 0
192.0.2.1.1 > 192.0.2.2.2: Flags [F.], seq 1, ack 1, win 1, length 0
00:00:03.5 eth0 > 192.0.2.1.1 > 192.0.2.2.2: . ack 2 win 1
00:00:03.6 eth0 < 192.0.2.2.2 > 192.0.2.1.1: . ack 2 win 1
";
    let (packets, notes) = read(text);
    let directions: Vec<_> = packets.iter().map(|packet| packet.direction).collect();
    let (inbound, outbound) = (Some(Direction::Inbound), Some(Direction::Outbound));
    assert_eq!(
        directions,
        [outbound, inbound, None, None, None, outbound, inbound]
    );
    assert_eq!(packets[0].time_us, Some(1_700_000_000_000_001));
    assert_eq!(packets[3].time_us, Some(2_500_000));
    assert_eq!(packets[4].time_us, None);
    assert_eq!(notes.count(NoteKind::NoTime), 1);
    assert!(!packets[0].known.contains(KnownFields::TTL));
    assert!(!packets[0].known.contains(KnownFields::DONT_FRAGMENT));
}

#[test]
fn old_words_of_several_versions_are_read() {
    let old = |rest: &str| {
        let text = format!("12:00:00.1 192.0.2.1.1000 > 192.0.2.2.http: {rest}\n");
        let (packets, _) = read(&text);
        assert_eq!(packets.len(), 1, "{rest}");
        packets[0].clone()
    };
    let packet = old("SWE [ECN-Echo,CWR] 5:5(0) win 5840 <mss 1460,sackOK,eol> [tos 0x2,ECT]");
    assert_eq!(packet.flags, Flags::SYN | Flags::ECE | Flags::CWR);
    assert_eq!(
        (packet.ecn, packet.options.sack_permitted),
        (Ecn::Ect0, true)
    );
    assert!(!packet.dont_fragment && packet.known.contains(KnownFields::DONT_FRAGMENT));
    let packet = old("S, cksum 0x1234 (correct), 5:5(0) win 5840 <mss 1460>");
    assert_eq!((packet.seq, packet.options.mss), (5, Some(1460)));
    let packet = old(
        ". [tcp sum ok] ack 100000001 win 5840 <nop,nop,sack sack 1 {200000001:200001449} > (DF)",
    );
    assert_eq!(packet.options.sack.len(), 1);
    assert!(packet.dont_fragment);
    let packet = old("FP 100000001:100000101(100) ack 7 win 5840 urg 3 (ttl 1, id 2, len 140)");
    assert_eq!(
        packet.flags,
        Flags::FIN | Flags::PSH | Flags::ACK | Flags::URG
    );
    assert_eq!((packet.len, packet.ttl), (100, 1));
    let packet = old("R 5:5(0) win 0");
    assert_eq!(
        (packet.flags, packet.dst.as_str()),
        (Flags::RST, "192.0.2.2.80")
    );
}

#[test]
fn names_get_addresses_of_their_own_and_are_told() {
    let text = "12:00:00.1 alpha.1051 > beta.example.org.5001: S 7:7(0) win 1 <mss 1460>\n\
                12:00:00.2 beta.example.org.5001 > alpha.1051: S 9:9(0) ack 8 win 1 <mss 1460>\n";
    let mut reader = CaptureReader::from_octets(text.into()).unwrap();
    let packets = seen(&mut reader);
    assert_eq!(packets[0].src, packets[1].dst);
    assert_ne!(packets[0].src, packets[0].dst);
    let names: Vec<(String, String)> = reader
        .names()
        .map(|(name, [v4, _])| (name.to_owned(), v4.to_string()))
        .collect();
    let expected = [("alpha", "198.18.0.1"), ("beta.example.org", "198.18.0.2")];
    assert_eq!(names, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(reader.notes().count(NoteKind::NameForAddress), 4);
}

#[test]
fn times_between_packets_are_added_up() {
    let line = |time: &str| {
        format!("{time} IP 192.0.2.1.1 > 192.0.2.2.2: Flags [.], ack 1, win 1, length 0\n")
    };
    let text: String = ["00:00:00.000000", "00:00:00.000500", "00:00:00.000020"]
        .map(line)
        .concat();
    let times: Vec<_> = read(&text)
        .0
        .iter()
        .map(|packet| packet.time_us.unwrap())
        .collect();
    assert_eq!(times, [0, 500, 520]);
}

#[test]
fn a_long_log_is_read_in_pieces_without_losing_a_packet() {
    let mut text = String::new();
    for number in 0..20_000_u32 {
        let (second, micro) = (number / 1000 % 60, number % 1000);
        text += &format!(
            "12:{:02}:{second:02}.{micro:06} IP 192.0.2.1.1 > 192.0.2.2.2: Flags [.], \
             seq {}:{}, ack 1, win 1, length 100\n",
            number / 60_000,
            1 + number * 100,
            101 + number * 100,
        );
    }
    let (packets, notes) = read(&text);
    assert_eq!(packets.len(), 20_000);
    assert!(
        packets
            .iter()
            .zip(0..)
            .all(|(packet, number)| packet.seq == 1 + number * 100)
    );
    assert!(
        packets
            .iter()
            .all(|packet| text[packet.offset as usize..].starts_with("12:"))
    );
    assert_eq!(notes.count(NoteKind::UnreadText), 0);
    // Only quotation marks, for longer than a piece.
    let marks = ">".repeat(1_000_000) + "\n" + ARTICLE;
    assert_eq!(read(&marks).0.len(), 6);
}

#[test]
fn prose_without_packets_is_an_empty_capture() {
    let (packets, notes) = read("If a > b: then c.d > e.f: S is none, nor is 1.2 > 3.4: x.\n");
    assert!(packets.is_empty() && notes.iter().all(|note| note.kind == NoteKind::NotRead));
}

/// Sources of the project's experiments, kept next to a checkout.
fn source(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let folder = std::env::var_os("GIGATCP_SEEDS").map_or(beside, PathBuf::from);
    let files = std::fs::read_dir(folder).ok()?;
    let mut paths = files.flatten().map(|entry| entry.path());
    paths.find(|path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.starts_with(name)
    })
}

#[test]
fn the_traces_of_2001_are_read_out_of_their_article() {
    let Some(path) = source("000_") else {
        // Directly to stderr, since the test runner captures the output of `eprintln!`.
        let line = "SKIPPED: the article is not beside the checkout, nor in GIGATCP_SEEDS\n";
        io::stderr().write_all(line.as_bytes()).unwrap();
        return;
    };
    let mut reader = CaptureReader::open(&path).unwrap();
    let packets = seen(&mut reader);
    // 46 packets at the sender, 28 at the receiver, 7 of another connection.
    assert_eq!(packets.len(), 46 + 28 + 7);
    let (sender, rest) = packets.split_at(46);
    let (receiver, other) = rest.split_at(28);
    for view in [sender, receiver] {
        let (first, last) = (&view[0], &view[view.len() - 1]);
        assert_eq!((first.seq, first.options.mss), (577_076_198, Some(4430)));
        let edge = 577_076_198 + 2_629_633;
        assert_eq!((last.flags.contains(Flags::RST), last.seq), (true, edge));
        let span = last.time_us.unwrap() - first.time_us.unwrap();
        assert_eq!(span / 1_000_000, 511);
    }
    assert_eq!(other[3].len, 1440);
    assert_eq!(reader.notes().count(NoteKind::UnreadText), 0);
    let unknown = reader.notes().count(NoteKind::UnknownOption);
    assert_eq!(unknown, 0);
}

proptest! {
    #[test]
    fn any_text_is_survived_and_reads_the_same_in_pieces(
        pieces in proptest::collection::vec(prop_oneof![
            Just("12:00:00.1 ".to_owned()), Just("192.0.2.1.1 > 192.0.2.2.2: ".to_owned()),
            Just("S 1:1(0) ".to_owned()), Just("ack 1 win 7 ".to_owned()),
            Just("Flags [S.], ".to_owned()), Just("seq 5:9, ".to_owned()),
            Just("<mss 1460,sack 1 {1:2}> ".to_owned()), Just("options [nop,TS val 1 ecr 2], ".to_owned()),
            Just("(DF) ".to_owned()), Just("IP (tos 0x0, ttl 1) ".to_owned()), Just("length 5\n".to_owned()),
            Just("\n> ".to_owned()), Just("...".to_owned()), "[ -~\n]{0,12}",
            Just("\n7 1.000000 192.0.2.1 → 192.0.2.2 TCP 66 ".to_owned()), Just("1 → 2 [ACK] ".to_owned()),
            Just("Seq=1 Ack=2 Win=70000 Len=9 ".to_owned()), Just("SLE=1 SRE=2 WS=0 ".to_owned()),
            Just("\n8 1.000000 192.0.2.2 192.0.2.1 TLSv1 4294967295 x\n".to_owned()),
        ], 0..60),
    ) {
        let text = format!("text {}", pieces.concat());
        let _ = read(&text);
    }
}

#[test]
fn text_without_a_packet_is_no_capture() {
    let text = "# A project\n\nWhat it does, in prose, at 10:30 on 192.0.2.1.\n";
    let mut reader = CaptureReader::from_octets(text.into()).unwrap();
    match reader.next_record() {
        Err(ReadError::NoPackets { octets, .. }) => assert_eq!(octets, text.len() as u64),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_of_another_program_is_named_with_the_command_to_type() {
    for (text, what, hint) in [
        (
            "64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0.1 ms\n",
            "ping",
            "ss -tino",
        ),
        (
            "ESTAB 0 0 192.0.2.1:22 192.0.2.2:4000\n",
            "ss without -i",
            "ss -tino",
        ),
        (
            "Frame 1: 74 bytes\nTransmission Control Protocol, Src Port: 1\n",
            "tshark -V",
            "-w NEW",
        ),
    ] {
        let mut reader = CaptureReader::from_octets(text.into()).unwrap();
        let error = reader.next_record().unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        match error {
            ReadError::NoPackets {
                resembles: Some((_, found)),
                ..
            } => {
                assert!(found.contains(hint), "{found}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Output of `tcpdump -nnv` for a segment of 3000 bytes in three fragments.
const FRAGMENTS: &str = "\
22:13:20.000010 IP (tos 0x0, ttl 64, id 5, offset 0, flags [+], proto TCP (6), length 1500)
    192.0.2.1.1072 > 198.51.100.2.5001: Flags [P.], seq 1000:2448, ack 77, win 1234, options [nop,nop,TS val 11 ecr 12], length 1448
22:13:20.000020 IP (tos 0x0, ttl 64, id 5, offset 1480, flags [+], proto TCP (6), length 1500)
    192.0.2.1 > 198.51.100.2: ip-proto-6
22:13:20.000030 IP (tos 0x0, ttl 64, id 5, offset 2960, flags [none], proto TCP (6), length 92)
    192.0.2.1 > 198.51.100.2: ip-proto-6
22:13:20.000040 IP (tos 0x0, ttl 64, id 6, offset 1480, flags [none], proto UDP (17), length 92)
    192.0.2.1 > 198.51.100.2: ip-proto-17
";

#[test]
fn fragments_in_the_words_of_verbose_tcpdump_are_put_together() {
    let octets = FRAGMENTS.as_bytes().to_vec();
    let mut reader = CaptureReader::from_octets(octets).unwrap();
    let mut reassembly = Reassembly::default();
    let mut said = Vec::new();
    while let Ok(Some(record)) = reader.next_record() {
        let (_, fragment) = record.dissect_with_fragment();
        let outcome = reassembly.handle_fragment(record.time.unwrap(), &fragment.unwrap());
        said.push(match outcome {
            Outcome::Complete(_, Ok(whole)) => whole.payload_len,
            Outcome::Incomplete(_) => 0,
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(said, [0, 0, 3000]);
    assert_eq!(reader.notes().count(NoteKind::TextNotTcp), 1);
}

const LIST: &str = "\
    1   0.000000    192.0.2.1 → 198.51.100.2 TCP 74 40000 → 443 [SYN] Seq=0 Win=64240 Len=0 MSS=1460 WS=128\n\
    2   0.020000 198.51.100.2 → 192.0.2.1    TCP 74 443 → 40000 [SYN, ACK] Seq=0 Ack=1 Win=65160 Len=0 MSS=1460 WS=64\n\
    3   0.020100    192.0.2.1 → 198.51.100.2 TCP 66 40000 → 443 [ACK] Seq=1 Ack=1 Win=64256 Len=0\n\
    4   0.020200    192.0.2.1 → 198.51.100.2 TCP 1514 40000 → 443 [ACK] Seq=1 Ack=1 Win=64256 Len=1448 [TCP segment of a reassembled PDU]\n\
    5   0.020300    192.0.2.1 → 198.51.100.2 TLSv1.3 583 Client Hello\n\
    6   0.040000 198.51.100.2 → 192.0.2.1    TCP 66 [TCP Window Update] 443 → 40000 [ACK] Seq=1 Ack=1966 Win=4194240 Len=0\n\
    7   0.050000    192.0.2.1 → 198.51.100.9 DNS 80 Standard query 0x1234 A example.org\n";

#[test]
fn a_packet_list_has_windows_that_are_scaled_once() {
    let (packets, notes) = read(LIST);
    let windows: Vec<u16> = packets.iter().map(|packet| packet.wnd).collect();
    // Those of SYNs are not scaled; 64256 is 502 times 128, 4194240 is 65535 times 64.
    assert_eq!(windows, [64_240, 65_160, 502, 502, 502, 65_535]);
    assert_eq!(packets[1].options.window_scale, Some(6));
    assert_eq!(packets[5].ack, 1966);
    assert!(
        packets
            .iter()
            .all(|packet| !packet.known.contains(KnownFields::ABSOLUTE))
    );
    assert_eq!(notes.count(NoteKind::TextNotTcp), 1);
}

#[test]
fn a_line_of_a_protocol_on_tcp_is_the_next_segment_of_the_only_connection() {
    let (packets, _) = read(LIST);
    let hello = &packets[4];
    assert_eq!((hello.seq, hello.len, hello.ack), (1449, 517, 1));
    assert_eq!(
        (hello.src.as_str(), hello.dst.as_str()),
        ("192.0.2.1.40000", "198.51.100.2.443")
    );
    assert!(!hello.known.contains(KnownFields::SEQ));
    // With two connections it may be either's, and is left out.
    let other = LIST.lines().next().unwrap().replace("40000", "40001");
    let (packets, notes) = read(&format!("{other}\n{LIST}"));
    assert_eq!((packets.len(), notes.count(NoteKind::UnreadText)), (6, 1));
    assert!(packets[5].follows_omission);
}

#[test]
fn a_packet_list_without_syns_keeps_its_windows() {
    let cut: String = LIST
        .lines()
        .skip(3)
        .map(|line| format!("{line}\n"))
        .collect();
    let (packets, _) = read(&cut);
    let windows: Vec<u16> = packets.iter().map(|packet| packet.wnd).collect();
    assert_eq!(windows, [64_256, 64_256, 65_535]);
}
