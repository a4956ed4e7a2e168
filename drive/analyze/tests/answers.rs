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
