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
