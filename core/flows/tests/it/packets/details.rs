//! Counts of the detailed view; copies of pure ACKs.

use gigatcp_flows::{Kind, Side};
use gigatcp_units::Duration;
use gigatcp_wire::Flags;

use super::told::{ACK, Capture, DATA, Said, ack, data};

const MS: Duration = Duration::from_millis(1);

#[test]
fn acknowledgments_are_counted_with_and_without_anything_else() {
    let mut capture = Capture::open(9);
    capture.say(2000, data(0));
    capture.say(3000, ack(1));
    capture.say(
        4000,
        Said {
            flags: Flags::ACK | Flags::FIN,
            ..ack(1)
        },
    );
    // SYN-ACK, bare, FIN.
    let server = capture.detail(Side::Server);
    assert_eq!((server.ack_packets, server.pure_acks), (3, 1));
    assert_eq!((server.syn_packets, server.fin_packets), (1, 1));
    // The SYN has none; the end of the handshake, and data.
    let client = capture.detail(Side::Client);
    assert_eq!((client.ack_packets, client.pure_acks), (2, 1));
}

#[test]
fn pushed_and_urgent_data_count_where_there_is_data() {
    let mut capture = Capture::open(9);
    let urgent = Flags::ACK | Flags::PSH | Flags::URG;
    capture.say(
        2000,
        Said {
            flags: urgent,
            urgent: 3,
            ..data(0)
        },
    );
    capture.say(
        2100,
        Said {
            flags: urgent,
            urgent: 2500,
            len: 400,
            ..data(1)
        },
    );
    capture.say(
        2200,
        Said {
            flags: urgent,
            urgent: 7,
            from: Side::Server,
            ..ack(1)
        },
    );
    let client = capture.detail(Side::Client);
    assert_eq!((client.pushed_packets, client.urgent_packets), (2, 2));
    // Three before the first pointer; the second one points beyond its segment.
    assert_eq!(client.urgent_bytes, 403);
    assert_eq!(client.least_segment, Some(400));
    let server = capture.detail(Side::Server);
    assert_eq!((server.pushed_packets, server.urgent_packets), (0, 0));
    assert_eq!(server.least_segment, None);
}

#[test]
fn the_initial_window_ends_with_the_first_acknowledgment_of_data() {
    let mut capture = Capture::open(9);
    for place in 0..4 {
        capture.say(2000 + u64::from(place), data(place));
    }
    // Again, and no more of it.
    capture.say(
        2500,
        Said {
            ident: 4,
            ..data(0)
        },
    );
    capture.say(3000, ack(2));
    capture.say(3100, data(4));
    let client = capture.detail(Side::Client);
    let window = |bytes| {
        if bytes {
            client.initial_window_bytes(capture.connection(), Side::Client)
        } else {
            client.initial_window_packets(capture.connection(), Side::Client)
        }
    };
    assert_eq!((window(false), window(true)), (Some(4), Some(4000)));
    assert_eq!(client.data_time(), Some(Duration::from_micros(1100)));
}

#[test]
fn nobody_knows_the_initial_window_of_a_connection_that_had_begun() {
    let mut capture = Capture::new(9);
    capture.say(2000, data(0));
    let client = capture.detail(Side::Client);
    assert_eq!(
        client.initial_window_bytes(capture.connection(), Side::Client),
        None
    );
}

#[test]
fn sack_blocks_and_third_duplicates_are_counted_once_each() {
    let mut capture = Capture::open(9);
    for place in 0..8 {
        capture.say(2000, data(place));
    }
    capture.say(3000, ack(1));
    for last in 3..8 {
        capture.say(
            3100,
            Said {
                sack: Some((2001, 1 + 1000 * last)),
                ..ack(1)
            },
        );
    }
    let server = capture.detail(Side::Server);
    assert_eq!((server.sack_packets, server.most_sack_blocks), (5, 1));
    assert_eq!(server.triple_duplicates, 0);
    assert_eq!(capture.detail(Side::Client).triple_duplicates, 1);
}

#[test]
fn what_an_acknowledgment_says_of_a_repair_is_ambiguous_and_what_waited_says_nothing() {
    let mut capture = Capture::open(9);
    for place in 0..3 {
        capture.say(2000, data(place));
    }
    capture.say(602_000, data(0));
    capture.say(1_802_000, data(0));
    capture.say(1_803_000, ack(1));
    capture.say(1_804_000, ack(3));
    let client = capture.detail(Side::Client);
    // The second answer covers two, of which one ends there and has waited.
    let acks = (
        client.ambiguous_acks(),
        client.post_loss_acks,
        client.cumulatively_acked,
    );
    assert_eq!(acks, (1, 1, 1));
    assert_eq!(client.last_round_trips().min(), Some(MS));
    let intervals = client.repeat_intervals();
    assert_eq!((intervals.count(), client.most_repeats()), (2, 2));
    assert_eq!(
        (intervals.min(), intervals.max()),
        (Some(MS * 600), Some(MS * 1200))
    );
}

#[test]
fn round_trips_of_full_segments_begin_anew_with_a_larger_one() {
    let mut capture = Capture::open(9);
    capture.say(2000, Said { len: 500, ..DATA });
    capture.say(5000, Said { ack: 501, ..ACK });
    capture.say(6000, Said { seq: 501, ..DATA });
    capture.say(7000, Said { ack: 1501, ..ACK });
    let full = capture.detail(Side::Client).full_round_trips();
    assert_eq!((full.count(), full.max()), (1, Some(MS)));
}

#[test]
fn a_bare_acknowledgment_captured_twice_is_no_duplicate() {
    let mut capture = Capture::open(9);
    capture.say(2000, data(0));
    capture.say(2001, data(1));
    let first = Said { ident: 7, ..ack(1) };
    capture.say(3000, first);
    assert_eq!(capture.say(3001, first), [Kind::CapturedTwice]);
    // Another identification: the host retransmitted it.
    let again = Said { ident: 8, ..first };
    assert_eq!(capture.say(3100, again), [Kind::DuplicateAck]);
    // The same, and another window.
    let update = Said { wnd: 90, ..again };
    assert_eq!(capture.say(3200, update), [Kind::WindowUpdate]);
    // Of a host that numbers all of them the same, what advances is none.
    assert_eq!(
        capture.say(
            3300,
            Said {
                ack: 2001,
                ..update
            }
        ),
        []
    );
    assert_eq!(
        capture
            .connection()
            .direction(Side::Server)
            .count_of(Kind::DuplicateAck),
        1
    );
}

#[test]
fn a_reset_that_answers_a_syn_gives_a_round_trip() {
    let mut capture = Capture::new(9);
    let syn = Said {
        seq: 0,
        len: 0,
        flags: Flags::SYN,
        ..DATA
    };
    capture.say(0, syn);
    let reset = Said {
        from: Side::Server,
        flags: Flags::RST | Flags::ACK,
        ..syn
    };
    capture.say(7000, reset);
    let trips = capture.connection().direction(Side::Client).round_trips();
    assert_eq!((trips.count(), trips.min()), (1, Some(MS * 7)));
    // A reset that does not acknowledge the SYN gives none.
    let mut capture = Capture::new(9);
    capture.say(0, syn);
    capture.say(7000, Said { ack: 0, ..reset });
    assert_eq!(
        capture
            .connection()
            .direction(Side::Client)
            .round_trips()
            .count(),
        0
    );
}

#[test]
fn copies_of_a_burst_that_pass_later_are_no_retransmissions() {
    let mut capture = Capture::open(9);
    let numbered = |place: u32, ident: u16| Said {
        ident,
        ..data(place)
    };
    for place in 0..4 {
        let sent = numbered(place, 100 + place as u16);
        assert_eq!(capture.say(2000 + u64::from(place), sent), []);
    }
    for (at, place) in [(2010, 2), (2011, 0), (2012, 3), (2013, 1)] {
        let copy = numbered(place, 100 + place as u16);
        assert_eq!(capture.say(at, copy), [Kind::CapturedTwice], "{place}");
    }
    // In a packet that the sender made later it is sent again.
    assert_ne!(capture.say(2020, numbered(1, 104)), [Kind::CapturedTwice]);
}
