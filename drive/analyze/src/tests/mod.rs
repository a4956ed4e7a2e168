//! Tests of the whole analysis, on handmade captures.

mod made;

use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gigatcp_capture::Note;
use gigatcp_flows::{Connection, Observed, Scaling, Verdict};
use tempfile::NamedTempFile;

use super::*;
use made::{
    ACK, FIN, Packet, RST, SYN, both_ends, name_message, pcap, push, unreachable, whole,
    without_options,
};

/// A file, which can be mapped.
fn file(bytes: &[u8]) -> (NamedTempFile, Source) {
    let file = NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bytes).expect("it is written");
    let source = Source::file(file.path());
    (file, source)
}

fn bytes(packets: &[Packet]) -> Source {
    Source::bytes("made", pcap(packets))
}

fn texts<T: Debug>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| format!("{item:?}")).collect()
}

/// Forty connections, and some that continue after their end.
fn many() -> Vec<Packet> {
    let mut packets: Vec<_> = (0..40)
        .flat_map(|index| whole(index * 300, 5000 + index as u16))
        .collect();
    // The same ports again, a packet after the end, and a reset.
    packets.extend(whole(20_000, 5003));
    packets.push(Packet::new(20_500, 5007, false).numbers(902, 2102));
    packets.push(
        Packet::new(20_600, 5009, true)
            .numbers(2102, 902)
            .flags(RST),
    );
    packets.extend(whole(30_000, 6000));
    packets
}

#[test]
fn connections_concluded_before_the_end_have_the_rows_of_those_concluded_at_the_end() {
    let octets = pcap(&many());
    let (_file, mapped) = file(&octets);
    let early = summarize(&mapped, &Options::default()).unwrap();
    let late = summarize(&Source::bytes("made", octets), &Options::default()).unwrap();
    assert_eq!(late.connections.len(), 42);
    assert_eq!(texts(early.connections), texts(late.connections));
    assert!(summary::most_held(&mapped) < 12);
}

#[test]
fn no_result_depends_on_the_number_of_threads() {
    let (_file, source) = file(&pcap(&many()));
    let of = |threads| {
        let options = Options {
            threads: Some(threads),
            ..Options::default()
        };
        let capture = Capture::read(&source, &options).unwrap();
        let connections = capture.connections();
        let diagnoses = texts((0..connections.len()).map(|index| connections.diagnose(index)));
        let summary = summarize(&source, &options).unwrap();
        assert_eq!(summary.threads, threads as usize);
        (diagnoses, capture.segments(), texts(summary.connections))
    };
    let alone = of(1);
    assert_eq!(alone.0.len(), 42);
    assert_eq!(alone, of(2));
    assert_eq!(alone, of(5));
}

#[test]
fn a_limit_of_held_connections_changes_no_diagnosis() {
    let (_file, source) = file(&pcap(&many()));
    let complete = Capture::read(&source, &Options::default()).unwrap();
    let all: Vec<usize> = (0..complete.connections().len()).collect();
    let expected = texts(
        all.iter()
            .map(|index| complete.connections().diagnose(*index)),
    );
    for (threads, held) in [(1, 0), (1, 3), (2, 1)] {
        let options = Options {
            threads: Some(threads),
            held: Some(held),
            ..Options::default()
        };
        let capture = Capture::read(&source, &options).unwrap();
        let connections = capture.connections();
        let released = |index: &usize| connections.diagnose(*index).is_none();
        assert!(all.iter().filter(|index| released(index)).count() > 20);
        let diagnosed: Vec<_> = capture.diagnoses(all.clone()).map(Result::unwrap).collect();
        assert!(
            diagnosed
                .iter()
                .map(|(index, _)| *index)
                .eq(all.iter().copied())
        );
        let diagnosed = texts(diagnosed.into_iter().map(|(_, diagnosis)| Some(diagnosis)));
        assert_eq!(diagnosed, expected);
        assert_eq!(
            texts(connections.iter()),
            texts(complete.connections().iter())
        );
    }
}

#[test]
fn a_capture_that_changed_before_it_is_read_again_is_an_error() {
    let (changed, source) = file(&pcap(&many()));
    let options = Options {
        held: Some(0),
        ..Options::default()
    };
    let capture = Capture::read(&source, &options).unwrap();
    std::fs::write(changed.path(), pcap(&whole(0, 9))).unwrap();
    assert!(matches!(capture.diagnose(0), Err(Error::Changed { .. })));
}

#[test]
fn two_captures_of_one_connection_give_one_answer_in_either_order() {
    let [mut here, there] = both_ends(5000);
    let sources = [bytes(&here), bytes(&there)];
    for (order, near) in [([0, 1], 0), ([1, 0], 1)] {
        let files = order.map(|index: usize| sources[index].clone());
        let analysis = analyze(&files, &Options::default()).unwrap();
        let answers: Vec<Answer> = analysis.answers().collect();
        let [answer] = &answers[..] else {
            panic!("{} answers", answers.len());
        };
        assert!(answer.is_joined);
        assert_eq!((answer.capture, answer.connection), (near, 0));
        assert_eq!(analysis.pairs()[0].indices, [0, 0]);
        let joined = answer.diagnosis.joined.as_deref().unwrap();
        assert!(
            joined.contains("of 41 segments with data 1 was lost between"),
            "{joined}"
        );
    }
    // A connection in only one of them is answered from that one.
    here.extend(whole(900, 6000));
    let files = [bytes(&here), bytes(&there)];
    let analysis = analyze(&files, &Options::default()).unwrap();
    let joined: Vec<bool> = analysis.answers().map(|answer| answer.is_joined).collect();
    assert_eq!(joined, [true, false]);
}

#[test]
fn captures_of_different_connections_are_answered_one_by_one() {
    let [here, _] = both_ends(5000);
    let [_, there] = both_ends(5001);
    // With initial sequence numbers of its own.
    let there: Vec<Packet> = there
        .iter()
        .map(|packet| packet.numbers(packet.seq + 70_000, packet.ack + 70_000))
        .collect();
    let analysis = analyze(&[bytes(&here), bytes(&there)], &Options::default()).unwrap();
    assert!(analysis.pairs().is_empty());
    let captures: Vec<usize> = analysis.answers().map(|answer| answer.capture).collect();
    assert_eq!(captures, [0, 1]);
}

#[test]
fn answers_come_with_the_largest_connection_first() {
    let [large, _] = both_ends(5000);
    let mut packets = whole(0, 6000);
    packets.extend(large.iter().map(|packet| Packet {
        at: packet.at + 100,
        ..*packet
    }));
    let analysis = analyze(&[bytes(&packets)], &Options::default()).unwrap();
    let order: Vec<usize> = analysis.answers().map(|answer| answer.connection).collect();
    assert_eq!(order, [1, 0]);
}

#[test]
fn packets_that_are_not_analyzed_are_counted_by_reason() {
    let mut octets = pcap(&whole(0, 5000));
    let mut udp = [0_u8; 60];
    udp[12..15].copy_from_slice(&[8, 0, 0x45]);
    udp[17] = 46;
    udp[23] = 17;
    let mut arp = [0_u8; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    for frame in [&udp, &arp, &udp] {
        made::push(&mut octets, 100, frame, 60);
    }
    let capture = Capture::read(&Source::bytes("made", octets), &Options::default()).unwrap();
    let info = capture.info();
    assert_eq!((info.packets, capture.segments()), (12, 9));
    let unread = info.unread().into_iter();
    let unread: Vec<_> = unread
        .map(|(reason, count)| (reason.to_string(), count))
        .collect();
    assert_eq!(unread, [("UDP".to_owned(), 2), ("ARP".to_owned(), 1)]);
    assert_eq!(info.unread_packets(), 3);
}

#[test]
fn a_capture_that_was_cut_is_read_up_to_the_cut() {
    let octets = pcap(&whole(0, 5000));
    let read = |cut: usize| {
        let source = Source::bytes("made", &octets[..octets.len() - cut]);
        Capture::read(&source, &Options::default()).unwrap()
    };
    // Within the header of a record, and within its packet.
    for (cut, unread) in [(60, 0), (30, 1)] {
        let capture = read(cut);
        assert_eq!(capture.segments(), 8);
        let notes = &capture.info().notes;
        assert!(
            notes
                .iter()
                .any(|note| note.kind == NoteKind::TruncatedTail)
        );
        assert_eq!(capture.info().unread_packets(), unread);
    }
}

#[test]
fn options_that_the_snap_length_cut_are_one_note_and_no_missing_window_scaling() {
    let source = Source::bytes("made", without_options());
    let capture = Capture::read(&source, &Options::default()).unwrap();
    let notes: Vec<String> = capture.info().notes.iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "TCP options cut by the snap length, which 128 bytes of a packet keep: 2 times, first at \
          record 1, offset 24"
        ]
    );
    let connection = capture.connections().connection(0).unwrap();
    assert_ne!(connection.scaling(), Scaling::Unused);
}

#[test]
fn a_file_that_is_cut_off_before_its_first_packet_is_an_error_and_an_empty_capture_is_none() {
    let whole = pcap(&whole(0, 5000));
    for len in [10, 23, 30] {
        let source = Source::bytes("made", &whole[..len]);
        let said = [
            Capture::read(&source, &Options::default()).map(|_| ()),
            summarize(&source, &Options::default()).map(|_| ()),
            follow(&source, &Options::default(), |_| Ok::<(), Error>(())).map(|_| ()),
            check(&source),
        ];
        for result in said {
            let error = result.expect_err("no packet");
            assert!(matches!(error, Error::NoPacket { .. }), "{error}");
            assert!(error.to_string().starts_with("made: it holds no packet"));
        }
    }
    let nothing = Capture::read(&Source::bytes("made", &whole[..0]), &Options::default());
    let is_empty = |error: &Error| {
        matches!(
            error,
            Error::Read {
                source: ReadError::Empty,
                ..
            }
        )
    };
    assert!(nothing.is_err_and(|error| is_empty(&error)));
    let header = Capture::read(&Source::bytes("made", made::header()), &Options::default());
    assert!(header.unwrap().connections().is_empty());
}

/// More than three MiB of packets.
fn large() -> Vec<Packet> {
    (0..6000)
        .flat_map(|index| whole(index * 20, index as u16))
        .collect()
}

#[test]
fn progress_grows_to_the_end_of_the_capture_and_one_thread_reports_it() {
    let octets = pcap(&large());
    let total = octets.len() as u64;
    let (_file, source) = file(&octets);
    for threads in [1, 2] {
        let reports = Mutex::new(Vec::new());
        let progress = |report: Progress| reports.lock().unwrap().push(report);
        let options = Options {
            threads: Some(threads),
            progress: Some(&progress),
            ..Options::default()
        };
        Capture::read(&source, &options).unwrap();
        let reported = reports.into_inner().unwrap();
        assert!(reported.len() >= 4, "{}", reported.len());
        assert!(reported.is_sorted_by_key(|report| (report.packets, report.bytes)));
        let last = reported.last().unwrap();
        assert_eq!((last.packets, last.bytes), (54_000, total));
        assert!(
            reported
                .iter()
                .all(|report| report.total_bytes == Some(total))
        );
    }
}

#[test]
fn an_analysis_ends_early_when_its_caller_wants_no_more() {
    let (_file, source) = file(&pcap(&large()));
    let (stop, seen) = (AtomicBool::new(false), AtomicU64::new(0));
    let progress = |report: Progress| {
        seen.store(report.packets, Ordering::Relaxed);
        stop.store(report.packets > 0, Ordering::Relaxed);
    };
    let options = Options {
        threads: Some(1),
        progress: Some(&progress),
        stop: Some(&stop),
        held: None,
    };
    let stopped = Capture::read(&source, &options);
    assert!(matches!(stopped, Err(Error::Stopped)));
    assert!((1..54_000).contains(&seen.load(Ordering::Relaxed)));
    let before = AtomicBool::new(true);
    let options = Options {
        stop: Some(&before),
        ..Options::default()
    };
    assert!(matches!(summarize(&source, &options), Err(Error::Stopped)));
}

#[test]
fn packets_without_a_file_are_diagnosed_as_those_of_a_file() {
    let source = bytes(&both_ends(5000)[0]);
    let mut packets: Vec<Observed> = Vec::new();
    let counts = follow(&source, &Options::default(), |step| {
        packets.push(*step.packet);
        Ok::<(), Error>(())
    });
    assert_eq!(counts.unwrap().segments, packets.len() as u64);
    let capture = Capture::read(&source, &Options::default()).unwrap();
    let mut analyzer = Analyzer::new();
    for packet in &packets {
        analyzer.handle_packet(packet);
    }
    let connections = analyzer.finish();
    assert_eq!(connections.len(), 1);
    let both = [capture.connections(), &connections];
    let [file, memory] =
        both.map(|connections| format!("{:?}", connections.diagnose(0).expect("data")));
    assert_eq!(file, memory);
}

#[test]
fn a_source_can_lack_packets_by_their_numbers() {
    let packets = both_ends(5000)[0].clone();
    let without: Vec<_> = packets.iter().copied().skip(3).collect();
    let kept = bytes(&packets).keeping(|number| number > 3);
    let [kept, without] = [kept, bytes(&without)];
    let read = |source: &Source| Capture::read(source, &Options::default()).unwrap();
    let (kept_whole, whole) = (read(&kept), read(&without));
    assert_eq!(kept_whole.segments(), whole.segments());
    let rate = |capture: &Capture| {
        capture
            .connections()
            .diagnose(0)
            .map(|diagnosis| diagnosis.throughput)
    };
    assert_eq!(rate(&kept_whole), rate(&whole));
    let rows = |source: &Source| summarize(source, &Options::default()).unwrap().connections;
    assert_eq!(rows(&kept)[0].packets, rows(&without)[0].packets);
    assert_eq!(rows(&kept)[0].first_packet, 4);
}

/// Counts packets and the first of their numbers.
struct Count(Vec<u64>);

impl Visitor for Count {
    type Output = Vec<u64>;

    fn handle_packet(&mut self, number: u64, _: &Observed, _: &Verdict, _: &Connection) {
        self.0.push(number);
    }

    fn finish(self) -> Vec<u64> {
        self.0
    }
}

#[test]
fn a_second_look_shows_the_packets_of_the_chosen_connections_alone() {
    let mut packets = whole(0, 5000);
    packets.extend(whole(3, 5001));
    packets.extend(whole(500, 5000));
    packets.sort_by_key(|packet| packet.at);
    let (_file, source) = file(&pcap(&packets));
    let capture = Capture::read(&source, &Options::default()).unwrap();
    let all: Vec<_> = capture.connections().iter().collect();
    assert_eq!(all.len(), 3);
    let chosen = [2, 0].map(|index| {
        let (connection, first_packet) = all[index];
        Chosen {
            connection,
            first_packet,
        }
    });
    for threads in [1, 2, 3] {
        let options = Options {
            threads: Some(threads),
            ..Options::default()
        };
        let seen = revisit(&source, &options, &chosen, |_, _| Count(Vec::new())).unwrap();
        assert_eq!(seen[0], (19..28).collect::<Vec<u64>>());
        let numbers = (1..)
            .zip(&packets)
            .filter(|(_, packet)| packet.port == 5000);
        let first: Vec<u64> = numbers.map(|(number, _)| number).take(9).collect();
        assert_eq!(seen[1], first);
    }
}

#[test]
fn an_error_of_the_caller_ends_the_reading() {
    #[derive(Debug)]
    struct Enough(Option<Error>);
    impl From<Error> for Enough {
        fn from(error: Error) -> Self {
            Self(Some(error))
        }
    }
    let mut seen = 0;
    let ended = follow(&bytes(&whole(0, 5000)), &Options::default(), |step| {
        seen = step.frame;
        if step.frame == 4 {
            Err(Enough(None))
        } else {
            Ok(())
        }
    });
    assert!(ended.is_err_and(|error| error.0.is_none()));
    assert_eq!(seen, 4);
}

#[test]
fn a_key_finds_a_connection_again_whose_opening_was_not_captured() {
    let packets = whole(0, 5000);
    let flags = |packet: &Packet| packet.flags & !(ACK | FIN);
    let late: Vec<_> = packets
        .iter()
        .copied()
        .filter(|packet| flags(packet) == 0 && packet.at > 3)
        .collect();
    let [whole, late] = [&packets, &late].map(|packets| {
        let capture = Capture::read(&bytes(packets), &Options::default()).unwrap();
        let (table, place) = capture.connections().table_of(0).unwrap();
        ConnectionKey::of(table, place).unwrap().0
    });
    assert_eq!(whole, late);
}

#[test]
fn connections_without_data_are_told_by_their_handshake() {
    let client = |at, port| Packet::new(at, port, true).numbers(100, 0);
    let server = |at, port| Packet::new(at, port, false).numbers(900, 101);
    let mut packets = whole(0, 5000);
    // Never answered, twice; refused; half-open; unused; reset by the server.
    packets.extend([0, 1000, 3000].map(|after| client(100 + after, 5001).flags(SYN)));
    packets.push(client(101, 5002).flags(SYN));
    packets.push(client(102, 5003).flags(SYN));
    packets.push(server(103, 5003).flags(RST | ACK));
    for port in [5004, 5005, 5006] {
        packets.push(client(104, port).flags(SYN));
        packets.push(server(105, port).flags(SYN | ACK));
    }
    packets.push(client(106, 5005).numbers(101, 901));
    packets.push(client(107, 5006).numbers(101, 901));
    packets.push(server(108, 5006).numbers(901, 101).flags(RST));
    // The middle of a connection without data.
    packets.push(server(109, 5007));
    // Acknowledgments of 5,000 bytes that the capture lacks.
    packets
        .extend([0, 1000, 5000].map(|acked| server(110 + acked, 5008).numbers(901, 101 + acked)));
    packets.sort_by_key(|packet| packet.at);
    let capture = Capture::read(&bytes(&packets), &Options::default()).unwrap();
    let connections = capture.connections();
    let kinds = connections.without_data();
    let counts: Vec<_> = kinds
        .iter()
        .map(|(kind, indices)| (kind.name(), indices.len()))
        .collect();
    assert_eq!(
        counts,
        [
            ("never-answered", 2),
            ("refused", 1),
            ("half-open", 1),
            ("reset", 1),
            ("unused", 1),
            ("handshake-unseen", 1),
        ]
    );
    let sentence = |index: usize| connections.no_data(index).unwrap().sentence();
    assert!(connections.no_data(0).is_none());
    assert_eq!(
        sentence(kinds[0].1[0]),
        "0.0.0.2:80 never answered 0.0.0.1:5001: 3 SYNs over 3.00 s."
    );
    assert_eq!(
        sentence(kinds[1].1[0]),
        "0.0.0.2:80 refused 0.0.0.1:5003: a reset answered the SYN."
    );
    assert!(sentence(kinds[3].1[0]).contains("0.0.0.2:80 reset it"));
    let acked = connections.largest_first()[0];
    let diagnosis = connections.diagnose(acked).unwrap();
    // A SYN and a FIN may be two of them.
    assert_eq!(diagnosis.delivered.as_u64(), 4998);
    assert!(diagnosis.is_unsure());
}

/// Exchanges with a server 60 ms away, each on a connection of its own that begins every `step` ms.
fn exchanges(count: u16, step: u32) -> Vec<Packet> {
    let exchange = |number: u16| {
        let (port, at) = (5000 + number, u32::from(number) * step);
        let client = move |after: u32| Packet::new(at + after, port, true);
        let server = move |after: u32| Packet::new(at + after, port, false);
        [
            client(0).numbers(100, 0).flags(SYN),
            server(60).numbers(900, 101).flags(SYN | ACK),
            client(60).numbers(101, 901),
            client(61).numbers(101, 901).len(100),
            server(121).numbers(901, 201).len(1000),
            client(121).numbers(201, 1901),
        ]
    };
    (0..count).flat_map(exchange).collect()
}

#[test]
fn connections_for_one_request_each_are_limited_by_their_handshakes() {
    let found = |count, step| {
        let mut packets = exchanges(count, step);
        packets.sort_by_key(|packet| packet.at);
        let capture = Capture::read(&bytes(&packets), &Options::default()).unwrap();
        capture.connections().repeated_handshakes()
    };
    let repeated = found(12, 130);
    assert_eq!(repeated.len(), 1);
    assert_eq!(
        repeated[0].sentence(),
        "0.0.0.1 opened 12 connections to 0.0.0.2:80, one after the other, each for 1.10 kB: their \
         handshakes took 720 ms of 1.45 s. Keep connections open and use them again (HTTP \
         keep-alive, a pool): an exchange would take 61.0 ms and not 121 ms, with TLS less still."
    );
    // Few, and those that overlap, as a browser opens them.
    assert_eq!(found(9, 130), []);
    assert_eq!(found(12, 20), []);
}

#[test]
fn icmp_error_is_named_in_the_answer_of_the_connection_that_it_quotes() {
    let syn = Packet::new(1, 5001, true).numbers(100, 0).flags(SYN);
    let mut packets = whole(0, 5000);
    packets.push(syn);
    packets.sort_by_key(|packet| packet.at);
    let mut octets = pcap(&packets);
    // Host unreachable and administratively prohibited; a segment that was never sent; another
    // connection.
    let errors = [
        (syn, 1),
        (syn, 13),
        (syn.numbers(9000, 0), 13),
        (Packet::new(0, 6000, true), 1),
    ];
    for (packet, code) in errors {
        push(&mut octets, 20, &unreachable(packet, code), 70);
    }
    let data = whole(0, 5000)[3];
    push(&mut octets, 21, &unreachable(data, 3), 70);
    let capture = Capture::read(&Source::bytes("made", octets), &Options::default()).unwrap();
    let connections = capture.connections();
    assert_eq!(
        connections.no_data(1).unwrap().sentence(),
        "0.0.0.2:80 never answered 0.0.0.1:5001: 1 SYN; 1 ICMP error \"host unreachable\" from \
         0.0.0.9, first in packet 11; 1 ICMP error \"administratively prohibited\" from 0.0.0.9, \
         first in packet 12."
    );
    let notes = connections.diagnose(0).unwrap().answer().notes;
    let told = "1 ICMP error \"port unreachable\" from 0.0.0.9, first in packet 15";
    assert!(notes.iter().any(|note| note == told), "{notes:?}");
    assert_eq!(capture.info().unread_packets(), 0);
}

#[test]
fn server_that_ignores_connections_while_it_answers_others_has_a_full_accept_queue() {
    let found = |ignored: &[u16], times: u32| {
        let mut packets = whole(0, 5000);
        packets[5].at += 3000;
        for port in ignored {
            let client = |at| Packet::new(at, *port, true);
            packets.push(client(2).numbers(100, 0).flags(SYN));
            packets.push(
                Packet::new(3, *port, false)
                    .numbers(900, 101)
                    .flags(SYN | ACK),
            );
            packets.push(client(4).numbers(101, 901));
            packets
                .extend((0..=times).map(|time| client(5 + 300 * time).numbers(101, 901).len(87)));
        }
        packets.extend(whole(500, 5100));
        packets.sort_by_key(|packet| packet.at);
        let capture = Capture::read(&bytes(&packets), &Options::default()).unwrap();
        capture.connections().full_accept_queues()
    };
    let all = found(&[5001, 5002, 5003], 3);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].ignored, all[0].first, all[0].answered), (3, 1, 1));
    assert!(
        all[0]
            .sentence()
            .contains("the first request of 3 connections"),
        "{}",
        all[0].sentence()
    );
    // One may have been lost; and two that were lost once each.
    assert!(found(&[5001], 3).is_empty());
    assert!(found(&[5001, 5002], 1).is_empty());
}

/// The answer for a connection at 5 s, after these messages of a lookup.
fn answer_after(messages: &[(u32, Vec<u8>)], packets: &[Packet]) -> gigatcp_why::Answer {
    let mut octets = pcap(&[]);
    for (at, message) in messages {
        push(&mut octets, *at, message, message.len() as u32);
    }
    for packet in packets {
        let wire = 54 + u32::from(packet.len);
        push(&mut octets, packet.at, &packet.frame(), wire);
    }
    // A file is mapped, and so read by several threads.
    let (_file, source) = file(&octets);
    let answer = |threads| {
        let options = Options {
            threads: Some(threads),
            ..Options::default()
        };
        let capture = Capture::read(&source, &options).unwrap();
        capture.connections().diagnose(0).unwrap().answer()
    };
    let alone = answer(1);
    assert_eq!(alone.sentence, answer(3).sentence);
    alone
}

#[test]
fn lookup_longer_than_its_connection_is_the_answer() {
    let [asked, told] = [false, true].map(name_message);
    let at = |at: u32, message: &Vec<u8>| (at, message.clone());
    let whole = whole(5000, 5000);
    let answer = |asked_at, answered_at| {
        let messages = [
            at(asked_at, &asked),
            at(asked_at + 1, &asked),
            at(answered_at, &told),
        ];
        answer_after(&messages, &whole)
    };
    let slow = answer(2000, 4900);
    assert_eq!(
        slow.sentence,
        "Limited by the lookup of the server's name (2.90 s) for 99.6 % of the time from its first \
         question on; the connection itself took 12.0 ms."
    );
    let could_be = "1.33 Mbit/s (243 times): 5.50 kbit/s with the lookup";
    assert_eq!(slow.could_be, could_be);
    assert!(slow.fix.unwrap().contains("resolvectl query NAME"));
    assert_eq!(slow.is_healthy, Some(false));
    // Short; and long before it, as the address of something else.
    for other in [answer(4800, 4900), answer(100, 3000)] {
        assert!(!other.sentence.contains("lookup"), "{}", other.sentence);
    }
    // A forged answer, with another number; and each of two lookups took 100 ms.
    let mut forged = told.clone();
    forged[43] = 0;
    let messages = [at(2000, &asked), at(4900, &forged)];
    let forged = answer_after(&messages, &whole);
    assert!(!forged.sentence.contains("lookup"), "{}", forged.sentence);
    let twice = [
        at(2000, &asked),
        at(2100, &told),
        at(4800, &asked),
        at(4900, &told),
    ];
    let twice = answer_after(&twice, &whole);
    assert!(!twice.sentence.contains("lookup"), "{}", twice.sentence);
}

#[test]
fn connection_in_trouble_after_a_slow_lookup_is_answered_by_its_trouble() {
    let messages = [(2000, name_message(false)), (4900, name_message(true))];
    let client = |at: u32| Packet::new(5000 + at, 5000, true);
    let mut packets = whole(5000, 5000)[..3].to_vec();
    // Nothing is acknowledged any more.
    for at in [3, 303, 903, 2103] {
        packets.push(client(at).numbers(101, 901).len(1000));
    }
    let answer = answer_after(&messages, &packets);
    assert!(!answer.sentence.contains("lookup"), "{}", answer.sentence);
    let is_note = |note: &String| note.contains("had waited 2.90 s");
    assert!(answer.notes.iter().any(is_note), "{:?}", answer.notes);
}

#[test]
fn reset_is_a_regular_end_where_a_connection_of_the_same_program_closes_after_it() {
    let client = |at| Packet::new(at, 5001, true);
    let server = |at| Packet::new(at, 5001, false);
    let mut packets = vec![
        client(0).numbers(100, 0).flags(SYN),
        server(1).numbers(900, 101).flags(SYN | ACK),
        client(2).numbers(101, 901),
    ];
    for segment in 0..20 {
        let seq = 101 + 1000 * segment;
        packets.push(client(10 + segment).numbers(seq, 901).len(1000));
        if segment < 15 {
            packets.push(server(11 + segment).numbers(901, seq + 1000));
        }
    }
    packets.push(server(40).numbers(901, 15_101).flags(RST));
    let cut = |packets: &[Packet]| {
        let capture = Capture::read(&bytes(packets), &Options::default()).unwrap();
        let largest = capture.connections().largest_first();
        let single = capture.connections().diagnose(largest[0]).unwrap().cut;
        let listed = capture.diagnoses(largest).next().unwrap().unwrap();
        assert_eq!(single.is_some(), listed.1.cut.is_some());
        single.is_some()
    };
    assert!(cut(&packets));
    let with = |from| {
        let mut all = [packets.clone(), whole(from, 5000)].concat();
        all.sort_by_key(|packet| packet.at);
        cut(&all)
    };
    assert!(with(20), "it ended before the reset");
    assert!(!with(35));
    assert!(with(41), "it began after the reset");
}

#[test]
fn connection_of_small_messages_around_the_others_of_its_program_controls_them() {
    let client = |at| Packet::new(at, 5001, true);
    let server = |at| Packet::new(at, 5001, false);
    let control = |until| {
        vec![
            client(0).numbers(100, 0).flags(SYN),
            server(1).numbers(900, 101).flags(SYN | ACK),
            client(2).numbers(101, 901).len(37),
            server(3).numbers(901, 138).len(1),
            client(until).numbers(138, 902).flags(FIN | ACK),
        ]
    };
    let controls = |until| {
        let mut all = [control(until), whole(20, 5000), whole(30, 5002)].concat();
        all.sort_by_key(|packet| packet.at);
        let capture = Capture::read(&bytes(&all), &Options::default()).unwrap();
        capture.connections().controls().len()
    };
    assert_eq!(controls(60), 1);
    assert_eq!(controls(25), 0, "it ends before the others");
}

#[test]
fn others_between_the_same_hosts_are_told_with_their_rate() {
    let mut packets = [
        whole(0, 5000),
        whole(1, 5001),
        whole(2, 5002),
        whole(90, 5003),
    ]
    .concat();
    // The server of the last sends as much.
    let server = |at| Packet::new(at, 5004, false).numbers(900, 101);
    packets.push(Packet::new(91, 5004, true).numbers(100, 0).flags(SYN));
    packets.push(server(92).flags(SYN | ACK));
    packets.push(server(100).numbers(901, 101).len(1000));
    packets.sort_by_key(|packet| packet.at);
    let capture = Capture::read(&bytes(&packets), &Options::default()).unwrap();
    let connections = capture.connections();
    let shared = |index: usize| connections.diagnose(index).unwrap().shared;
    let two = shared(0).expect("two others at that time");
    assert_eq!(two.connections, 2);
    // 2000 bytes in 12 ms each, one and two of them later.
    assert!(
        (2_300_000..2_700_000).contains(&two.rate.as_bps()),
        "{two:?}"
    );
    assert_eq!(shared(3), None);
    let against = |index: usize| connections.diagnose(index).unwrap().against;
    assert_eq!(against(0), None);
    let one = against(3).expect("one that sends the other way");
    assert_eq!(one.connections, 1);
}
