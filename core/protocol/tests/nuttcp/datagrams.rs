//! Markers and stamps in data, and a receiver's counts.

use gigatcp_protocol::nuttcp::Version;
use gigatcp_protocol::nuttcp::datagram::{
    Datagram, END_MARKERS, Receiver, StreamStamp, losses, write_count,
};
use gigatcp_protocol::nuttcp::greeting::Agreed;
use gigatcp_protocol::nuttcp::output::{Jitter, Loss};
use gigatcp_protocol::nuttcp::parameters::{Parameters, Wanted};
use gigatcp_units::{Bytes, Duration, Instant};

/// The first 40 bytes of the first three datagrams of `nuttcp -u -l200 -i0.1`, 6.1.2.
const RECORDED: [&[u8; 40]; 3] = [
    b"BOD1\x00.1.2\n\x00 v6.1.2\n\x004567\xc8\x00\x00\x00\x00\x00\x00\x00@ABCDEFG",
    b"BOD1\x00.1.2\n\x00 v6.1.2\n\x004567\x90\x01\x00\x00\x00\x00\x00\x00@ABCDEFG",
    b"BOD1\x00.1.2\n\x00 v6.1.2\n\x004567X\x02\x00\x00\x00\x00\x00\x00@ABCDEFG",
];

/// The first 40 bytes of the first buffer of `nuttcp -i0.1`, 6.1.2.
const FIRST_BUFFER: &[u8; 40] = b"OK v6.1.2\n\x00 v6.1.2\n\x004567\xff\xff\xff\xffNRTR@ABCDEFG";

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn parameters() -> Parameters {
    Parameters {
        udp: true,
        buffer_bytes: 200,
        rate_kbps: Some(160),
        instantaneous: true,
        interval: Duration::from_millis(100),
        jitter: Wanted(Wanted::ALL),
        ..Parameters::default()
    }
}

/// Payload of nuttcp's buffers: printable characters, repeated.
fn pattern(length: usize) -> Vec<u8> {
    (b' '..=b'~').cycle().take(length).collect()
}

fn receiver(parameters: &Parameters) -> Receiver {
    Receiver::new(parameters, &Agreed::new(Version::OURS, parameters))
}

fn data(count: u64) -> Vec<u8> {
    let mut bytes = pattern(200);
    write_count(count, &mut bytes);
    bytes
}

#[test]
fn markers_are_read_as_they_are_written() {
    let markers = (0..2)
        .map(Datagram::Begin)
        .chain((0..END_MARKERS).map(Datagram::End));
    for marker in markers {
        let bytes = marker.marker().expect("a marker");
        assert_eq!(Datagram::read(&bytes), marker);
    }
    for other in [&b"EOD5"[..], b"BOD2", b"EOD", b"ABCD", b""] {
        assert_eq!(Datagram::read(other), Datagram::Unknown);
    }
}

#[test]
fn recorded_datagrams_count_their_bytes() {
    let counts = RECORDED.map(|bytes| match Datagram::read(bytes) {
        Datagram::Data(count) => count,
        other => panic!("{other:?}"),
    });
    assert_eq!(counts, [Some(200), Some(400), Some(600)]);
}

#[test]
fn a_recorded_tcp_buffer_has_its_mark_and_no_window() {
    assert!(StreamStamp::is_marked(FIRST_BUFFER));
    let stamp = StreamStamp::read(FIRST_BUFFER).expect("a stamp");
    assert_eq!((stamp.retransmissions, stamp.window_kib), (u32::MAX, None));
    assert!(!StreamStamp::is_marked(&pattern(40)));
}

#[test]
fn tcp_stamps_are_read_as_they_are_written() {
    let mut buffer = pattern(64);
    StreamStamp::mark(&mut buffer);
    assert!(StreamStamp::is_marked(&buffer));
    for window_kib in [None, Some(447)] {
        let stamp = StreamStamp {
            retransmissions: 3,
            window_kib,
        };
        stamp.write(&mut buffer);
        assert_eq!(StreamStamp::read(&buffer), Some(stamp));
    }
    StreamStamp::default().write(&mut [0; 31]);
}

#[test]
fn losses_are_counted_and_reordering_is_no_loss() {
    let mut receiver = receiver(&parameters());
    receiver.on_datagram(at(0), b"BOD0");
    assert!(!receiver.is_receiving());
    receiver.on_datagram(at(250), b"BOD1");
    for (ms, count) in [(260, 200), (270, 600), (280, 400), (290, 1000)] {
        receiver.on_datagram(at(ms), &data(count));
    }
    receiver.on_datagram(at(300), b"EOD0");
    assert!(!receiver.is_finished());
    receiver.on_datagram(at(800), b"EOD1");
    assert!(receiver.is_finished());
    let total = receiver.total();
    assert_eq!(total.bytes, Bytes::new(800));
    assert_eq!(total.loss, Some(Loss { lost: 1, sent: 5 }));
    assert_eq!(receiver.duration(at(9999)), Duration::from_millis(50));
}

#[test]
fn a_transfer_whose_first_end_marker_is_lost_ended_half_a_second_before_the_next() {
    let mut receiver = receiver(&parameters());
    receiver.on_datagram(at(0), &data(200));
    receiver.on_datagram(at(1600), b"EOD3");
    assert_eq!(receiver.duration(at(1600)), Duration::from_millis(100));
}

#[test]
fn data_that_the_end_marker_overtook_extends_the_transfer() {
    let mut receiver = receiver(&parameters());
    receiver.on_datagram(at(0), &data(200));
    receiver.on_datagram(at(100), b"EOD0");
    receiver.on_datagram(at(110), &data(400));
    receiver.on_datagram(at(600), b"EOD1");
    receiver.on_datagram(at(610), &data(600));
    assert_eq!(receiver.duration(at(700)), Duration::from_millis(110));
    assert_eq!(receiver.total().bytes, Bytes::new(400));
}

#[test]
fn a_sender_of_the_other_byte_order_has_no_known_losses() {
    let mut receiver = receiver(&parameters());
    for (ms, count) in [(0, 200u64), (10, 600)] {
        receiver.on_datagram(at(ms), &data(count.swap_bytes()));
    }
    assert_eq!(receiver.total().loss, None);
}

#[test]
fn jitter_is_the_deviation_from_the_spacing_of_the_rate() {
    // 200 bytes at 160 kbit/s: one every 10 ms.
    let arrivals = [(0, 200), (10, 400), (22, 600), (29, 1000)];
    let jitter = |wanted: u32| {
        let parameters = Parameters {
            jitter: Wanted(wanted),
            ..parameters()
        };
        let mut receiver = receiver(&parameters);
        for (ms, count) in arrivals {
            receiver.on_datagram(at(ms), &data(count));
        }
        receiver.total().jitter.expect("jitter")
    };
    let all = Jitter {
        min: Duration::ZERO,
        mean: Duration::from_nanos(1_666_666),
        max: Duration::from_millis(3),
    };
    assert_eq!(jitter(Wanted::ALL), all);
    // The last one comes after a loss and is left out.
    let in_sequence = jitter(Wanted::ALL | Wanted::IN_SEQUENCE);
    assert_eq!(in_sequence.max, Duration::from_millis(2));
}

#[test]
fn intervals_add_up_to_the_total() {
    let mut receiver = receiver(&parameters());
    let mut bytes = Bytes::ZERO;
    let mut lost = 0;
    for count in 1..=50u64 {
        if count % 7 != 0 {
            receiver.on_datagram(at(10 * count), &data(200 * count));
        }
        if count % 10 == 0 {
            let interval = receiver.take_interval();
            bytes += interval.bytes;
            lost += interval
                .loss
                .map(|loss| (loss.lost, loss.sent))
                .expect("counts")
                .0;
        }
    }
    let total = receiver.total();
    assert_eq!(total.bytes, bytes);
    // The seventh in 49 is lost unseen at the end of no interval.
    assert_eq!(
        (lost, total.loss.map(|loss| (loss.lost, loss.sent))),
        (7, Some((7, 50)))
    );
}

#[test]
fn without_counts_a_receiver_claims_no_losses() {
    let quiet = Parameters {
        interval: Duration::ZERO,
        jitter: Wanted(0),
        ..parameters()
    };
    let mut receiver = receiver(&quiet);
    receiver.on_datagram(at(0), &pattern(200));
    assert_eq!(receiver.total().loss, None);
}

#[test]
fn losses_survive_the_rounding_of_a_printed_amount() {
    // 1000 datagrams of 1400 bytes are 1.3351 MB in print: 44 bytes too few.
    assert_eq!(
        losses(1_399_956, 990 * 1400, 1400),
        Loss {
            lost: 10,
            sent: 1000
        }
    );
    assert_eq!(losses(1000, 2000, 1000), Loss { lost: -1, sent: 1 });
    assert_eq!(losses(0, 0, 0), Loss { lost: 0, sent: 0 });
}
