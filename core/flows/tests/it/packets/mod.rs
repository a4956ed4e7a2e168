//! Connections written by hand, packet by packet, and arbitrary ones.

mod details;
mod told;

use std::net::Ipv6Addr;

use gigatcp_flows::{
    Connection, Details, Endpoint, FlowTable, Kind, MAX_BOUNDARIES, Observed, Scaling, Side,
    WindowScales,
};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlock, SackBlocks, SeqNumber, Timestamps};
use proptest::prelude::*;

use told::{ACK, CLIENT, Capture, DATA, Said, ack, data};

#[test]
fn a_handshake_tells_sides_options_and_round_trip() {
    let capture = Capture::open(u32::MAX);
    let connection = capture.connection();
    assert_eq!(connection.endpoint(Side::Client).port, 40_000);
    assert_eq!(connection.scaling(), Scaling::Used);
    let options = connection.direction(Side::Server).options().unwrap();
    assert_eq!((options.mss, options.window_scale), (Some(1460), Some(7)));
    let round_trip = connection.handshake_round_trip();
    assert_eq!(round_trip, Some(Duration::from_micros(1001)));
}

#[test]
fn without_a_syn_the_port_of_a_service_tells_the_server() {
    let mut capture = Capture::new(9);
    // The server is seen first.
    capture.say(0, ack(1));
    let connection = capture.connection();
    assert_eq!(connection.endpoint(Side::Client).port, 40_000);
    assert_eq!(connection.endpoint(Side::Server).port, 80);
}

#[test]
fn three_duplicates_make_a_retransmission_fast() {
    for iss in [5, u32::MAX - 2500] {
        let mut capture = Capture::open(iss);
        for place in 0..5 {
            assert_eq!(capture.say(2000, data(place)), []);
        }
        assert_eq!(capture.say(3000, ack(1)), []);
        for us in [3010, 3020, 3030] {
            assert_eq!(capture.say(us, ack(1)), [Kind::DuplicateAck]);
        }
        assert_eq!(capture.say(3031, data(1)), [Kind::FastRetransmission]);
        assert_eq!(capture.say(4031, ack(5)), []);
        let client = capture.connection().direction(Side::Client);
        assert_eq!(client.retransmitted_segments(), 1);
        assert_eq!((client.bytes(), client.unique_bytes()), (6000, 5000));
        // The SYN, and the first segment: what was acknowledged after the
        // repair is no sample.
        assert_eq!(client.round_trips().count(), 2);
    }
}

#[test]
fn sack_steers_repairs_and_duplicates_reported_prove_them_needless() {
    let mut capture = Capture::open(9);
    for place in 0..6 {
        capture.say(2000, data(place));
    }
    for right in [3, 4, 5, 6] {
        let report = Said {
            sack: Some((2001, 1 + 1000 * right)),
            ..ack(0)
        };
        assert_eq!(capture.say(3000, report), [Kind::DuplicateAck]);
    }
    assert_eq!(capture.say(3001, data(0)), [Kind::FastRetransmission]);
    assert_eq!(capture.say(3002, data(1)), [Kind::SackRetransmission]);
    let report = Said {
        sack: Some((1, 1001)),
        ..ack(6)
    };
    let expected = [Kind::DuplicateReport, Kind::ShowsSpurious];
    assert_eq!(capture.say(4000, report), expected);
    let client = capture.connection().direction(Side::Client);
    assert_eq!(client.spurious_segments(), 1);
}

#[test]
fn an_echo_older_than_the_retransmission_proves_it_needless() {
    let mut capture = Capture::open(9);
    let stamped = |said: Said, val, ecr| Said {
        ts: Some((val, ecr)),
        ..said
    };
    capture.say(2000, stamped(data(0), 10, 1));
    let kinds = capture.say(302_000, stamped(data(0), 310, 1));
    assert_eq!(kinds, [Kind::TimeoutRetransmission]);
    let kinds = capture.say(302_100, stamped(ack(1), 311, 10));
    assert_eq!(kinds, [Kind::ShowsSpurious]);
}

#[test]
fn silence_makes_a_timeout_and_what_follows_belongs_to_it() {
    let mut capture = Capture::open(9);
    for place in 0..4 {
        capture.say(2000, data(place));
    }
    let again = capture.say(500_000, data(0));
    assert_eq!(again, [Kind::TimeoutRetransmission]);
    capture.say(501_000, ack(1));
    let again = capture.say(501_001, data(1));
    assert_eq!(again, [Kind::TimeoutRetransmission]);
}

#[test]
fn the_last_segment_again_after_two_round_trips_is_a_tail_probe() {
    let mut capture = Capture::open(9);
    for place in 0..4 {
        capture.say(2000, data(place));
    }
    assert_eq!(capture.say(4100, data(3)), [Kind::TailProbe]);
    assert_eq!(
        capture.say(4_000_000, data(0)),
        [Kind::TimeoutRetransmission]
    );
}

#[test]
fn what_fills_a_gap_is_told_by_timestamp_then_ident_then_time() {
    let cases = [
        ((Some(10), 0), (Some(9), 0), 1, false),
        ((Some(10), 0), (Some(11), 0), 1, true),
        ((Some(10), 5), (Some(10), 4), 90_000, false),
        ((None, 5), (None, 9), 1, true),
        ((None, 0xffff), (None, 3), 1, true),
        ((None, 0), (None, 0), 100, false),
        ((None, 0), (None, 0), 90_000, true),
    ];
    for (index, ((opener_ts, opener_ident), (ts, ident), late, is_again)) in
        cases.into_iter().enumerate()
    {
        let mut capture = Capture::open(9);
        let with = |said: Said, ts: Option<u32>, ident| Said {
            ts: ts.map(|val| (val, 1)),
            ident,
            ..said
        };
        let kinds = capture.say(2000, with(data(1), opener_ts, opener_ident));
        assert_eq!(kinds, [Kind::AfterGap]);
        let packet = capture.packet(2000 + late, with(data(0), ts, ident));
        let kinds = capture.table.handle_packet(&packet).kinds;
        assert_eq!(kinds.is_retransmission(), is_again, "{index}");
        assert_eq!(kinds.contains(Kind::OutOfOrder), !is_again, "{index}");
        let client = capture.connection().direction(Side::Client);
        assert_eq!(client.unique_bytes(), 2000, "{index}");
    }
}

#[test]
fn a_changed_window_is_an_update_and_never_a_duplicate() {
    let mut capture = Capture::open(9);
    capture.say(2000, data(0));
    capture.say(2100, ack(0));
    let update = Said { wnd: 200, ..ack(0) };
    assert_eq!(capture.say(2200, update), [Kind::WindowUpdate]);
    assert_eq!(capture.say(2300, update), [Kind::DuplicateAck]);
    let report = Said {
        wnd: 300,
        sack: Some((2001, 3001)),
        ..ack(0)
    };
    capture.say(2350, data(2));
    assert_eq!(capture.say(2400, report), [Kind::DuplicateAck]);
}

#[test]
fn nothing_outstanding_means_no_duplicate() {
    let mut capture = Capture::open(9);
    capture.say(2000, data(0));
    capture.say(2100, ack(1));
    assert_eq!(capture.say(2200, ack(1)), []);
}

#[test]
fn a_closed_window_is_probed_and_the_probe_answered() {
    let mut capture = Capture::open(9);
    capture.say(2000, data(0));
    let closed = Said { wnd: 0, ..ack(1) };
    assert_eq!(capture.say(2100, closed), [Kind::ZeroWindow]);
    let probe = Said { len: 1, ..data(1) };
    assert!(capture.say(300_000, probe).contains(&Kind::ZeroWindowProbe));
    let answer = capture.say(300_100, closed);
    assert_eq!(answer, [Kind::ZeroWindow, Kind::ZeroWindowProbeAck]);
    assert_eq!(capture.say(700_000, probe), [Kind::ZeroWindowProbe]);
    let client = capture.connection().direction(Side::Client);
    assert_eq!(client.retransmitted_segments(), 0);
}

#[test]
fn a_keep_alive_and_its_answer_are_neither_retransmission_nor_duplicate() {
    let mut capture = Capture::open(9);
    capture.say(2000, data(0));
    capture.say(2100, ack(1));
    for len in [0, 1] {
        let probe = Said {
            seq: 1000,
            len,
            ..DATA
        };
        assert_eq!(capture.say(7_000_000, probe), [Kind::KeepAlive]);
        assert_eq!(capture.say(7_000_100, ack(1)), [Kind::KeepAliveAck]);
    }
}

#[test]
fn a_window_is_full_within_a_segment_of_its_edge_and_beyond_is_beyond() {
    let mut capture = Capture::open_with(9, 100);
    let small = Said { wnd: 20, ..ack(0) };
    capture.say(1500, small);
    // The SYN-ACK offered 100 and the ACK above 20 << 7 = 2560.
    assert_eq!(capture.say(2000, data(0)), []);
    assert_eq!(capture.say(2001, data(1)), [Kind::WindowFull]);
    assert_eq!(capture.say(2002, data(2)), [Kind::BeyondWindow]);
}

#[test]
fn what_is_acknowledged_and_was_never_seen_is_the_capture_s_loss() {
    let mut capture = Capture::open(9);
    capture.say(2000, data(0));
    assert_eq!(capture.say(2100, ack(3)), [Kind::AckedUnseen]);
    assert_eq!(capture.say(2200, data(4)), [Kind::AfterGap]);
    assert_eq!(capture.say(2300, ack(5)), [Kind::AckedUnseen]);
    let client = capture.connection().direction(Side::Client);
    assert_eq!(client.acked_unseen_bytes(), 3000);
}

#[test]
fn resets_are_judged_by_the_window() {
    for (seq, kind) in [
        (1, Kind::ResetExact),
        (1001, Kind::ResetInWindow),
        (90_001, Kind::ResetOutOfWindow),
    ] {
        let mut capture = Capture::open(9);
        let reset = Said {
            seq,
            len: 0,
            flags: Flags::RST,
            ..DATA
        };
        capture.say(1500, ack(0));
        assert_eq!(capture.say(2000, reset), [kind]);
    }
}

#[test]
fn a_syn_and_a_fin_that_are_captured_twice_are_not_sent_again() {
    let mut capture = Capture::new(9);
    let said = |seq, flags, ident| Said {
        seq,
        len: 0,
        flags,
        ident,
        ..DATA
    };
    for (at, seq, flags, ident) in [(0, 0, Flags::SYN, 5), (1000, 1, Flags::FIN | Flags::ACK, 6)] {
        capture.say(at, said(seq, flags, ident));
        let again = capture.say(at + 1, said(seq, flags, ident));
        assert_eq!(again, [Kind::CapturedTwice]);
    }
    let client = capture.table.connection(0).unwrap().direction(Side::Client);
    assert_eq!(client.retransmitted_packets(), 0);
}

#[test]
fn without_an_identification_a_copy_is_what_comes_before_any_timer() {
    let mut capture = Capture::new(9);
    let syn = Said {
        seq: 0,
        len: 0,
        flags: Flags::SYN,
        ident: 0,
        ..DATA
    };
    capture.say(0, syn);
    assert_eq!(capture.say(100, syn), [Kind::CapturedTwice]);
    let late = capture.say(1_000_200, syn);
    assert_eq!(late, [Kind::TimeoutRetransmission]);
    let client = capture.table.connection(0).unwrap().direction(Side::Client);
    assert_eq!(client.retransmitted_packets(), 1);
}

#[test]
fn the_same_ports_with_another_syn_are_another_connection() {
    let mut capture = Capture::open(9);
    let syn = Said {
        seq: 0,
        len: 0,
        flags: Flags::SYN,
        ..DATA
    };
    capture.say(3000, syn);
    assert_eq!(capture.table.len(), 1, "the same SYN again");
    capture.client_iss = 1_000_000;
    capture.say(4000, syn);
    assert_eq!(capture.table.len(), 2);
    capture.say(5000, data(0));
    let second = capture.table.connection(1).unwrap();
    assert_eq!(second.direction(Side::Client).packets(), 2);
}

#[test]
fn a_side_alone_is_counted_without_guessing_about_the_other() {
    let mut capture = Capture::new(9);
    for place in 0..200_000 {
        assert_eq!(capture.say(u64::from(place), data(place)), []);
    }
    let connection = capture.connection();
    assert!(connection.is_one_sided());
    let client = connection.direction(Side::Client);
    assert_eq!(client.unique_bytes(), 200_000_000);
    assert_eq!(
        connection.most_outstanding(Side::Client),
        0,
        "nobody acknowledged"
    );
    let mut capture = Capture::new(9);
    for place in 0..1000 {
        assert_eq!(capture.say(u64::from(place), ack(place)), []);
    }
    assert_eq!(capture.say(1001, ack(999)), [Kind::DuplicateAck]);
}

#[test]
fn connections_past_four_gibibytes_count_on() {
    let mut capture = Capture::open(0xffff_0000);
    let mut us = 2000;
    for place in 0_u32..100_000 {
        let seq = 1_u32.wrapping_add(place.wrapping_mul(60_000));
        let said = Said {
            seq,
            len: 60_000,
            ..DATA
        };
        capture.say(us, said);
        let kinds = capture.say(
            us + 10,
            Said {
                ack: seq.wrapping_add(60_000),
                ..ACK
            },
        );
        assert_eq!(kinds, []);
        us += 20;
    }
    let client = capture.connection().direction(Side::Client);
    assert_eq!(client.unique_bytes(), 6_000_000_000);
    assert_eq!(client.stream_length(), 6_000_000_001);
    // 60,000 octets are 42 segments of 1460.
    assert_eq!(client.wire_segments(), 4_200_001 + 1);
}

#[test]
fn every_second_segment_of_a_large_flight_lost_is_so_many_retransmissions() {
    const LOST: u32 = 20_000;
    let mut capture = Capture::open(77);
    let numbered = |place: u32, at: u32| Said {
        ts: Some((at, 1)),
        ..data(place)
    };
    for place in 0..LOST {
        let kinds = capture.say(2000 + u64::from(place), numbered(2 * place + 1, 10));
        assert!(kinds.contains(&Kind::AfterGap), "{place}");
    }
    for place in 0..LOST {
        let packet = capture.packet(90_000 + u64::from(place), numbered(2 * place, 90));
        let kinds = capture.table.handle_packet(&packet).kinds;
        assert!(kinds.is_retransmission(), "{place}");
    }
    let client = capture.connection().direction(Side::Client);
    assert_eq!(client.retransmitted_segments(), u64::from(LOST));
    assert_eq!(client.unique_bytes(), 2 * 1000 * u64::from(LOST));
    assert_eq!(client.spurious_segments(), 0);
}

#[test]
fn an_idle_connection_is_small() {
    assert!(
        size_of::<Connection>() <= 640,
        "{} octets",
        size_of::<Connection>()
    );
    const { assert!(MAX_BOUNDARIES <= 1024) };
}

fn anything() -> impl Strategy<Value = Observed> {
    let places = (0_u32..20_000, 0_u32..20_000, 0_u32..4000);
    let wild = (any::<u32>(), any::<u32>(), any::<u32>());
    let numbers = prop_oneof![8 => places, 1 => wild];
    let rest = (
        any::<u16>(),
        prop_oneof![Just(0_u16), 0..100_u16, any::<u16>()],
        any::<bool>(),
        any::<bool>(),
        0..3_u16,
        any::<u64>(),
    );
    let extra = (
        proptest::option::of((any::<u32>(), any::<u32>())),
        prop::collection::vec((0_u32..20_000, 0_u32..20_000), 0..4),
        proptest::option::of(any::<u16>()),
        proptest::option::of(any::<u8>()),
        any::<u16>(),
    );
    (numbers, rest, extra).prop_map(|((seq, ack, len), rest, extra)| {
        let (flags, wnd, is_reverse, is_v6, port, at) = rest;
        let (stamps, blocks, mss, window_scale, ident) = extra;
        let mut sack = SackBlocks::default();
        for (left, right) in blocks {
            let (left, right) = (SeqNumber::new(left), SeqNumber::new(right));
            let _ = sack.try_push(SackBlock { left, right });
        }
        let v6 = Endpoints::V6 {
            src: Ipv6Addr::LOCALHOST,
            dst: Ipv6Addr::UNSPECIFIED,
        };
        let endpoints = if is_v6 { v6 } else { CLIENT };
        let (endpoints, src_port, dst_port) = if is_reverse {
            (endpoints.reversed(), 80, port)
        } else {
            (endpoints, port, 80)
        };
        Observed {
            at: Instant::from_nanos(at),
            endpoints,
            src_port,
            dst_port,
            seq: SeqNumber::new(seq),
            ack: SeqNumber::new(ack),
            // SYN and RST less often than the other flags.
            flags: Flags::from_bits(if flags & 0x600 == 0 {
                flags
            } else {
                flags & 0x1f9
            }),
            wnd,
            urgent: wnd,
            payload_len: len,
            options_len: 40,
            ecn: Ecn::Ce,
            ident,
            timestamps: stamps.map(|(val, ecr)| Timestamps { val, ecr }),
            sack,
            mss,
            window_scale,
            sack_permitted: true,
            scale_is_cut: false,
            uncaptured_len: 0,
            fragmentation: Fragmentation::Whole,
        }
    })
}

/// Length of the stream of [`unique_bytes_are_the_distinct_bytes_of_all_segments`].
const STREAM: u32 = 40;

/// One packet of that stream: its kind, place, length, window, and the microseconds before it.
type Step = (u8, u32, u32, bool, u64);

/// Packet of a step. `acked` is the first place that was not seen.
fn packet_of(
    &(kind, place, longest, is_open, _): &Step,
    acked: u32,
    after_fin: bool,
    ident: u16,
) -> Said {
    let wnd = if is_open { 100 } else { 0 };
    let seq = 1 + place % STREAM;
    let len = longest.min(STREAM + 1 - seq);
    let fin = if seq + len == STREAM + 1 {
        Flags::FIN
    } else {
        Flags::ACK
    };
    match kind {
        0..=3 => Said {
            seq,
            len,
            ident,
            ..DATA
        },
        4 => Said {
            seq,
            len,
            ident,
            flags: Flags::ACK | fin,
            ..DATA
        },
        // Fast Open: a SYN, first or retransmitted, that carries data. After a FIN it would open
        // another connection.
        5 if !after_fin => Said {
            seq: 0,
            len,
            ident,
            flags: Flags::SYN,
            ..DATA
        },
        6 => Said {
            seq,
            len: 0,
            ident,
            ..DATA
        },
        _ => Said {
            ack: acked,
            wnd,
            ..ACK
        },
    }
}

proptest! {
    #[test]
    fn unique_bytes_are_the_distinct_bytes_of_all_segments(
        steps in prop::collection::vec(
            (0_u8..10, 0..STREAM, 0_u32..12, any::<bool>(), 0_u64..3000),
            0..100,
        ),
        has_idents in any::<bool>(),
        iss in any::<u32>(),
    ) {
        let mut capture = Capture::open(iss);
        let mut seen = std::collections::BTreeSet::from([0]);
        let mut us = 2000;
        let mut last = None;
        for (index, step) in steps.iter().enumerate() {
            let acked = (0..).find(|place| !seen.contains(place)).unwrap_or(0);
            let ident = if has_idents { 1 + index as u16 } else { 0 };
            let said = match last {
                Some(said) if step.0 == 9 => said,
                _ => packet_of(step, acked, seen.contains(&(STREAM + 1)), ident),
            };
            us += step.4;
            capture.say(us, said);
            if said.from == Side::Client {
                last = Some(said);
                let syn = u32::from(said.flags.contains(Flags::SYN));
                let fin = u32::from(said.flags.contains(Flags::FIN));
                seen.extend(said.seq..said.seq + syn + said.len + fin);
            }
        }
        let unique = seen.iter().filter(|place| (1..=STREAM).contains(*place)).count();
        let client = capture.connection().direction(Side::Client);
        prop_assert_eq!(client.unique_bytes(), unique as u64);
    }
}

#[test]
fn a_retired_connection_leaves_its_place_and_whatever_comes_of_it_is_told() {
    let mut capture = Capture::open(5);
    let syn = Said {
        seq: 0,
        len: 0,
        flags: Flags::SYN,
        ..DATA
    };
    capture.table.retire(0);
    assert!(capture.table.strays().is_empty());
    // The same endpoints begin again, in the place that is free.
    capture.say(5000, syn);
    assert_eq!(capture.table.len(), 1);
    assert!(capture.table.connection(0).unwrap().is_successor());
    assert!(capture.table.strays().is_empty());
    capture.table.retire(0);
    capture.say(6000, DATA);
    let [ends] = capture.table.strays() else {
        panic!("{:?}", capture.table.strays());
    };
    assert!(ends[0] < ends[1]);
    assert_eq!(
        capture.table.connection(0).unwrap().elapsed(),
        Duration::ZERO
    );
}

proptest! {
    #[test]
    fn hostile_packets_never_panic_and_sums_hold(
        packets in prop::collection::vec(anything(), 0..300),
        seed in any::<u64>(),
    ) {
        let mut table = FlowTable::new(seed);
        let mut again = FlowTable::new(!seed);
        let mut details = Details::new();
        let mut bytes = 0;
        for packet in &packets {
            let verdict = table.handle_packet(packet);
            details.handle_packet(&table, &verdict, packet);
            prop_assert_eq!(verdict, again.handle_packet(packet), "the seed matters");
            bytes += u64::from(packet.payload_len);
        }
        let directions = table
            .connections()
            .flat_map(|found| [Side::Client, Side::Server].map(|side| found.direction(side)));
        let (mut counted, mut seen) = (0, 0);
        for direction in directions {
            counted += direction.packets();
            seen += direction.bytes();
            prop_assert!(direction.unique_bytes() <= direction.bytes());
        }
        prop_assert_eq!((counted, seen), (packets.len() as u64, bytes));
    }

    #[test]
    fn the_place_of_the_sequence_numbers_changes_nothing(
        steps in prop::collection::vec((0_u32..12, 0_u32..12, any::<bool>()), 0..80),
        iss in any::<u32>(),
    ) {
        let mut low = Capture::open(1000);
        let mut high = Capture::open(iss);
        for (index, (at, acked, is_data)) in steps.into_iter().enumerate() {
            let said = if is_data { data(at) } else { ack(acked) };
            let us = 2000 + 700 * index as u64;
            prop_assert_eq!(low.say(us, said), high.say(us, said));
        }
    }
}

#[test]
fn without_the_handshake_whole_numbers_of_ethernet_segments_are_such_and_jumbo_frames_are_not() {
    let told = |sizes: &[u32]| {
        let mut capture = Capture::new(1);
        let mut seq = 1;
        for (place, len) in (0_u32..).zip(sizes.iter().cycle().take(60)) {
            capture.say(
                place.into(),
                Said {
                    seq,
                    len: *len,
                    ts: Some((place, 1)),
                    ..DATA
                },
            );
            seq += len;
        }
        let client = capture.connection().direction(Side::Client);
        (
            client.wire_segments(),
            client.largest_segment(),
            client.has_super_segments(),
        )
    };
    // The odd one is the end of what was written.
    assert_eq!(
        told(&[4380, 2920, 5840, 3000, 1460]),
        (12 * (3 + 2 + 4 + 3 + 1), 1460, true)
    );
    assert_eq!(told(&[8960, 4000, 8960]), (60, 8960, false));
    // Of IPv6.
    assert_eq!(told(&[2880, 4320, 1440]), (20 * (2 + 3 + 1), 1440, true));
}

/// Counts of a connection with these MSSs: wire segments, the largest, retransmitted ones.
#[test]
fn windows_of_a_connection_without_syns_are_scaled_if_the_scales_are_known() {
    let end = |address: &str, port| Endpoint {
        address: address.parse().unwrap(),
        port,
    };
    let [client, server] = [end("192.0.2.1", 40_000), end("192.0.2.2", 80)];
    for (ends, scales) in [([client, server], [3, 7]), ([server, client], [7, 3])] {
        let mut known = WindowScales::default();
        known.insert(ends, scales);
        let mut capture = Capture::new(1);
        capture.table = FlowTable::new(7).with_window_scales(known);
        capture.say(0, DATA);
        capture.say(1000, Said { ack: 1461, ..ACK });
        let connection = capture.connection();
        assert_eq!(connection.scaling(), Scaling::Used);
        assert_eq!(
            Side::BOTH.map(|side| connection.window_unit(side)),
            [8, 128]
        );
    }
    let mut capture = Capture::new(1);
    capture.say(0, DATA);
    assert_eq!(capture.connection().scaling(), Scaling::Unknown);
}

/// The client sends packets of these sizes, and at the end its first packet again.
fn segments_between(client: u16, server: u16, sizes: &[u32]) -> (u64, u32, u64) {
    let mut capture = Capture::new(1);
    let syn = Said {
        seq: 0,
        len: 0,
        flags: Flags::SYN,
        ..DATA
    };
    let answer = Said {
        from: Side::Server,
        flags: Flags::SYN | Flags::ACK,
        ..syn
    };
    for (said, mss) in [(syn, client), (answer, server)] {
        let packet = Observed {
            mss: Some(mss),
            ..capture.packet(0, said)
        };
        capture.table.handle_packet(&packet);
    }
    capture.say(1, Said { len: 0, ..DATA });
    let mut seq = 1;
    for len in sizes {
        capture.say(
            2,
            Said {
                seq,
                len: *len,
                ..DATA
            },
        );
        capture.say(3, Said { ack: 1, ..ACK });
        seq += len;
    }
    let len = sizes[0];
    capture.say(900_000, Said { len, ..DATA });
    let client = capture.connection().direction(Side::Client);
    (
        client.wire_segments() - 2,
        client.largest_segment(),
        client.retransmitted_segments(),
    )
}

#[test]
fn a_sender_whose_own_mss_is_smaller_than_its_peers_sends_segments_of_its_own_size() {
    // A host with an MTU of 1500 bytes sends 2 to 44 segments in one packet to one of 9000.
    let sizes = [2920, 14_600, 64_240, 5840];
    assert_eq!(
        segments_between(1460, 8960, &sizes),
        (2 + 10 + 44 + 4 + 2, 0, 2)
    );
    // The end of what was written is no whole number of segments.
    let sizes = [14_600, 14_600, 3000];
    assert_eq!(
        segments_between(1460, 8960, &sizes),
        (10 + 10 + 3 + 10, 0, 10)
    );
    // An own MSS that is small on purpose does not limit what a host sends.
    let sizes = [8960, 8960, 17_920, 4000];
    assert_eq!(
        segments_between(1460, 8960, &sizes),
        (1 + 1 + 2 + 1 + 1, 8960, 1)
    );
    let sizes = [1460, 2920, 1460];
    assert_eq!(
        segments_between(536, 1460, &sizes),
        (1 + 2 + 1 + 1, 1460, 1)
    );
    // And the other way round nothing changes.
    let sizes = [2920, 1460];
    assert_eq!(segments_between(8960, 1460, &sizes), (2 + 1 + 2, 1460, 2));
}
