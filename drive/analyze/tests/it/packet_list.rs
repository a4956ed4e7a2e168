//! A packet list of tshark is analyzed as the capture that it lists.

use gigatcp_analyze::{Capture, Options, Source};

#[test]
fn a_packet_list_is_analyzed_as_a_capture() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/captures/packet-list.txt"
    );
    let capture = Capture::read(&Source::file(file), &Options::default()).unwrap();
    assert_eq!(capture.segments(), 200);
    let connections = capture.connections();
    let with_data = connections.with_data();
    let diagnosis = connections.diagnose(with_data[0]).unwrap();
    // 130 segments of 1408 bytes in 16.85 ms.
    assert_eq!(
        (with_data.len(), diagnosis.delivered.as_u64()),
        (1, 183_040)
    );
    assert_eq!(diagnosis.duration.as_micros(), 16_850);
    assert_eq!(diagnosis.contradiction(), None);
}

/// tshark shows no header of a segment whose payload it dissects.
#[test]
fn a_packet_list_whose_data_is_all_http_delivers_as_much() {
    let list = include_str!("../captures/packet-list.txt");
    let lines = list
        .lines()
        .map(|line| match line.split_once(" TCP 1462 ") {
            Some((ends, _)) => format!("{ends} HTTP 1462 Continuation\n"),
            None => format!("{line}\n"),
        });
    let text = lines.collect::<String>().into_bytes();
    let source = Source::bytes("list", text);
    let capture = Capture::read(&source, &Options::default()).unwrap();
    let connections = capture.connections();
    let diagnosis = connections.diagnose(connections.with_data()[0]).unwrap();
    assert_eq!(diagnosis.delivered.as_u64(), 183_040);
    assert_eq!(diagnosis.quantities.lost, 0);
}
