//! Captures whose right answer is known, and the answer.

use gigatcp_analyze::{Analysis, Options, Source, analyze};

fn read(names: &[&str]) -> Analysis {
    let file = |name: &&str| {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures");
        Source::file(format!("{directory}/{name}.pcap.zst"))
    };
    let files: Vec<Source> = names.iter().map(file).collect();
    analyze(&files, &Options::default()).expect("a capture")
}

#[test]
fn icmp_that_the_sender_ignores_is_named_with_its_mtu_and_router() {
    let analysis = read(&["icmp-mtu-ignored"]);
    let answer = analysis.answers().next().expect("a connection with data");
    let told = answer.diagnosis.answer();
    assert_eq!(told.cause.map(|cause| cause.id), Some("pmtu-black-hole"));
    assert!(!told.is_unsure, "{told:?}");
    assert!(told.sentence.contains("MTU of 1400"), "{}", told.sentence);
    assert!(told.sentence.contains("ignores"), "{}", told.sentence);
    let first = &told.evidence[0];
    assert_eq!(first.packet, Some(14));
    assert!(first.text.contains("17 ICMP errors"), "{first:?}");
    assert!(first.text.contains("203.0.113.1"), "{first:?}");
    let fix = told.fix.expect("a fix");
    assert!(
        fix.contains("192.0.2.1") && fix.contains("to 1400"),
        "{fix}"
    );
    assert_eq!(analysis.captures()[0].info().unread_packets(), 0);
}

#[test]
fn connection_across_an_address_translation_is_one() {
    for names in [
        ["translated-snd", "translated-rcv"],
        ["translated-rcv", "translated-snd"],
    ] {
        let analysis = read(&names);
        let answers: Vec<_> = analysis.answers().collect();
        assert_eq!(answers.len(), 1, "{names:?}");
        assert!(answers[0].is_joined);
        let between = answers[0]
            .diagnosis
            .joined
            .as_deref()
            .expect("both captures");
        for name in ["10.9.1.2:43864", "10.9.1.77:43864"] {
            assert!(between.contains(name), "{between}");
        }
    }
}

#[test]
fn syn_lost_between_two_captures_is_the_answer_of_both() {
    for names in [
        ["syn-lost-snd", "syn-lost-rcv"],
        ["syn-lost-rcv", "syn-lost-snd"],
    ] {
        let analysis = read(&names);
        let answer = analysis.answers().next().expect("a connection with data");
        assert!(answer.is_joined);
        let told = answer.diagnosis.answer();
        let cause = told.cause.map(|cause| cause.id);
        assert_eq!(cause, Some("connection-setup"), "{names:?}: {told:?}");
        assert!(!told.is_unsure, "{told:?}");
    }
}

#[test]
fn losses_at_a_policer_have_one_count() {
    let analysis = read(&["policed-snd", "policed-rcv"]);
    let answer = analysis.answers().next().expect("a connection with data");
    let diagnosis = &answer.diagnosis;
    let policer = diagnosis.headline().expect("a cause");
    assert_eq!(policer.cause.id, "policer");
    let between = analysis.pairs()[0].between.as_ref().expect("comparable");
    let (_, lost) = between.data();
    assert_eq!(lost, 382);
    assert!(
        policer.finding.contains("382 segments"),
        "{}",
        policer.finding
    );
    let between = diagnosis.joined.as_deref().expect("both captures");
    assert!(between.contains("382 were lost"), "{between}");
}

#[test]
fn reordering_between_two_captures_is_no_loss() {
    let analysis = read(&["reordered-snd", "reordered-rcv"]);
    let answer = analysis.answers().next().expect("a connection with data");
    let between = analysis.pairs()[0].between.as_ref().expect("comparable");
    let (_, lost) = between.data();
    assert_eq!(lost, 0);
    let told = answer.diagnosis.answer();
    let cause = told.cause.map(|cause| cause.id);
    assert_eq!(
        cause,
        Some("reordering-mistaken-for-loss"),
        "{}",
        told.sentence
    );
    assert!(!told.is_unsure, "{}", told.sentence);
}

/// What tcpdump prints at a server whose response never arrives: ten segments and their first one
/// at each timeout. The client sends its request again at the times of `repeats`.
fn unanswered_response(repeats: &[f64]) -> Analysis {
    const CLIENT: &str = "10.0.0.1.40000 > 10.0.0.2.80: Flags";
    const SERVER: &str = "10.0.0.2.80 > 10.0.0.1.40000: Flags";
    let syn = "win 64240, options [mss 1460,sackOK,nop,wscale 7], length 0";
    let request = format!("{CLIENT} [P.], seq 1001:1101, ack 5001, win 502, length 100");
    let mut packets = vec![
        (0.0, format!("{CLIENT} [S], seq 1000, {syn}")),
        (0.0001, format!("{SERVER} [S.], seq 5000, ack 1001, {syn}")),
        (0.05, format!("{CLIENT} [.], ack 5001, win 502, length 0")),
        (0.051, request.clone()),
        (0.0511, format!("{SERVER} [.], ack 1101, win 502, length 0")),
    ];
    let segment = |number: u32| {
        let start = 5001 + 1460 * number;
        let end = start + 1460;
        format!("{SERVER} [.], seq {start}:{end}, ack 1101, win 502, length 1460")
    };
    packets.extend((0..10).map(|number| (0.06, segment(number))));
    packets.extend([0.36, 0.96, 2.16, 4.56, 9.36].map(|at| (at, segment(0))));
    packets.extend(repeats.iter().map(|at| (*at, request.clone())));
    packets.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let lines = packets
        .iter()
        .map(|(at, packet)| format!("2026-11-29 12:00:{at:09.6} IP {packet}\n"));
    let source = Source::bytes("print.txt", lines.collect::<String>().into_bytes());
    analyze(&[source], &Options::default()).expect("a capture")
}

#[test]
fn black_hole_is_refuted_by_a_peer_whose_small_acks_do_not_arrive() {
    let is_black_hole = |analysis: &Analysis| {
        let answer = analysis.answers().next().expect("a connection with data");
        let told = answer.diagnosis.answer();
        told.cause.map(|cause| cause.id) == Some("pmtu-black-hole") && !told.is_unsure
    };
    assert!(is_black_hole(&unanswered_response(&[])));
    let repeats = [0.3011, 0.8, 1.8, 3.8, 7.8];
    assert!(!is_black_hole(&unanswered_response(&repeats)));
}
