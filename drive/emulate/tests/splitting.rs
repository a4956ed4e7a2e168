//! Super-segments split anywhere: the pieces equal what the kernel would have sent had it segmented
//! there, and reassembled they are the original.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{Made, make, partial_sum_is_right, wire_packets};
use gigatcp_emulate::{Packet, device_octets};
use gigatcp_path::Parcel;
use gigatcp_wire::{Ecn, Flags, PacketError, decode_packet};
use proptest::prelude::*;

fn made() -> impl Strategy<Value = Made> {
    let sizes = (1..3000_u16, 1..60_000_usize)
        .prop_filter("45 to 1000 segments are enough", |(size, len)| {
            len / usize::from(*size) < 1000
        });
    let options = (any::<bool>(), any::<bool>(), 0..4_usize);
    (sizes, options, any::<u32>(), any::<u16>(), any::<u8>()).prop_map(
        |((segment_size, len), (is_v6, is_ect, extra), sequence, ident, flags)| Made {
            is_v6,
            segment_size,
            len,
            sequence,
            ident,
            // ACK always; FIN, PSH and CWR or not.
            flags: 0x10 | flags & 0x89,
            ecn: if is_ect { Ecn::Ect0 } else { Ecn::NotEct },
            extension_words: extra,
        },
    )
}

/// Splits a packet at the positions drawn.
fn cut(mut packet: Packet, places: &[prop::sample::Index]) -> Vec<Packet> {
    let mut pieces = Vec::new();
    for place in places {
        let count = packet.wire_packets();
        if count > 1 {
            pieces.push(packet.split_front(1 + place.index(count - 1)));
        }
    }
    pieces.push(packet);
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(300)
    })]

    #[test]
    fn pieces_add_up_to_the_whole_and_have_right_headers(
        made in made(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let whole = make(&made);
        let (count, bytes) = (whole.wire_packets(), whole.ip_bytes());
        let uncut = wire_packets(&whole);
        prop_assert_eq!(uncut.len(), count);
        let pieces = cut(whole, &places);
        prop_assert_eq!(pieces.iter().map(Parcel::wire_packets).sum::<usize>(), count);
        prop_assert_eq!(pieces.iter().map(Parcel::ip_bytes).sum::<u64>(), bytes);

        // The packets on the wire do not depend on where it was split.
        let cut: Vec<_> = pieces.iter().flat_map(wire_packets).collect();
        prop_assert_eq!(&cut, &uncut);
        prop_assert_eq!(cut.iter().map(|packet| packet.len() as u64).sum::<u64>(), bytes);

        let mut payload = Vec::new();
        for (index, octets) in cut.iter().enumerate() {
            // Decoding checks lengths and both checksums.
            let (ip, segment) = decode_packet(octets).unwrap();
            let before = index * usize::from(made.segment_size);
            prop_assert_eq!(segment.seq.as_u32(), made.sequence.wrapping_add(before as u32));
            if !made.is_v6 {
                prop_assert_eq!(ip.ident, made.ident.wrapping_add(index as u16));
            }
            let is_last = index + 1 == count;
            let had = |flag: Flags| made.flags & flag.bits() as u8 != 0;
            prop_assert_eq!(segment.flags.contains(Flags::FIN), is_last && had(Flags::FIN));
            prop_assert_eq!(segment.flags.contains(Flags::PSH), is_last && had(Flags::PSH));
            prop_assert_eq!(segment.flags.contains(Flags::CWR), index == 0 && had(Flags::CWR));
            prop_assert!(segment.flags.contains(Flags::ACK));
            prop_assert_eq!(segment.ecn, made.ecn);
            payload.extend_from_slice(segment.payload);
        }
        prop_assert_eq!(payload, made.payload());
    }

    #[test]
    fn a_piece_for_a_device_is_read_as_the_piece_it_is(
        made in made(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        for mut piece in cut(make(&made), &places) {
            let marked = piece.clone().try_mark();
            prop_assert_eq!(marked, made.ecn == Ecn::Ect0);
            if piece.wire_packets() % 2 == 0 {
                piece.try_mark();
            }
            let mut scratch = Vec::new();
            let octets = device_octets(&piece, &mut scratch).concat();
            prop_assert!(partial_sum_is_right(&octets));
            let called_headers = usize::from(u16::from_ne_bytes([octets[2], octets[3]]));
            prop_assert!(called_headers <= octets.len() - 10, "a device refuses it");
            let read = Packet::read(octets.into()).unwrap();
            prop_assert_eq!(read.wire_packets(), piece.wire_packets());
            prop_assert_eq!(read.ip_bytes(), piece.ip_bytes());
            prop_assert_eq!(read.leading_ip_bytes(), piece.leading_ip_bytes());
            prop_assert_eq!(wire_packets(&read), wire_packets(&piece));
        }
    }

    #[test]
    fn no_octets_make_reading_panic(
        header in any::<[u8; 10]>(),
        packet in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let octets = [&header[..], &packet].concat();
        if let Ok(packet) = Packet::read(octets.into()) {
            let _ = (packet.sizes(), wire_packets(&packet));
        }
    }

    #[test]
    fn a_header_that_lies_about_a_packet_is_refused_or_harmless(
        made in made(),
        index in any::<prop::sample::Index>(),
        octet in any::<u8>(),
    ) {
        let mut octets = common::octets(&made);
        let at = index.index(80.min(octets.len()));
        octets[at] = octet;
        if let Ok(mut packet) = Packet::read(octets.into()) {
            let _ = (packet.sizes(), wire_packets(&packet));
            if packet.wire_packets() > 1 {
                let front = packet.split_front(1);
                let _ = (wire_packets(&front), wire_packets(&packet));
            }
        }
    }
}

#[test]
fn an_urgent_pointer_counts_from_each_piece_and_ends_with_its_octet() {
    let made = Made {
        segment_size: 100,
        len: 300,
        flags: 0x30,
        ..Made::default()
    };
    let mut octets = common::octets(&made);
    // Offset of the urgent pointer: IPv4 header, and 18 bytes of TCP's.
    octets[10 + 20 + 18..][..2].copy_from_slice(&150_u16.to_be_bytes());
    let packet = Packet::read(octets.into()).unwrap();
    let urgent: Vec<u16> = wire_packets(&packet)
        .iter()
        .map(|octets| u16::from_be_bytes([octets[38], octets[39]]))
        .collect();
    assert_eq!(urgent, [150, 50, 0]);
    let flags: Vec<bool> = wire_packets(&packet)
        .iter()
        .map(|octets| octets[33] & 0x20 != 0)
        .collect();
    assert_eq!(flags, [true, true, false]);
}

#[test]
fn bleaching_takes_the_field_away_and_the_sum_with_it() {
    for is_v6 in [false, true] {
        let made = Made {
            is_v6,
            ecn: Ecn::Ect0,
            ..Made::default()
        };
        let mut packet = make(&made);
        assert!(packet.try_bleach());
        assert!(!packet.try_bleach());
        assert!(!packet.is_markable());
        for octets in wire_packets(&packet) {
            let (_, segment) = decode_packet(&octets).unwrap();
            assert_eq!(segment.ecn, Ecn::NotEct);
        }
    }
}

#[test]
fn what_is_no_super_segment_is_one_packet_and_leaves_as_it_came() {
    // ICMP over IPv4, UDP over IPv6, a later fragment: their contents are not parsed.
    for mut packet in [vec![0x45; 84], vec![0x60; 300], vec![0x45; 1500]] {
        if packet[0] == 0x45 {
            packet[9] = 1;
        }
        let octets = [&[0; 10][..], &packet].concat();
        let read = Packet::read(octets.clone().into()).unwrap();
        assert_eq!(read.sizes(), (1, packet.len() as u64, packet.len() as u64));
        let mut scratch = Vec::new();
        assert_eq!(device_octets(&read, &mut scratch).concat(), octets);
        assert_eq!(wire_packets(&read), [packet]);
    }
}

#[test]
fn a_damaged_packet_has_one_wrong_bit_and_its_checksum_shows_it() {
    for is_v6 in [false, true] {
        let whole = make(&Made {
            is_v6,
            ..Made::default()
        });
        for index in 0..whole.wire_packets() {
            let good = whole.wire_packet(index);
            let mut damaged = good.clone();
            assert!(damaged.try_corrupt() && !damaged.try_corrupt());
            let (good, bad) = (wire_packets(&good), wire_packets(&damaged));
            let differ = good[0].iter().zip(&bad[0]).filter(|(a, b)| a != b);
            assert_eq!((good[0].len(), differ.count()), (bad[0].len(), 1));
            let read = |octets: &[u8]| decode_packet(octets).map(|_| ());
            assert_eq!(read(&good[0]), Ok(()));
            assert_eq!(read(&bad[0]), Err(PacketError::TcpChecksum));
            // The header shows a complete checksum, so the device does not complete it.
            let mut scratch = Vec::new();
            let out = device_octets(&damaged, &mut scratch).concat();
            assert_eq!((out[0] & 1, &out[10..]), (0, &bad[0][..]));
        }
    }
}

#[test]
fn a_packet_without_df_is_cut_into_fragments_that_make_it_again() {
    for (len, mtu) in [(1400, 600), (1400, 68), (1400, 1300)] {
        let mut octets = common::octets(&Made {
            len,
            ..Made::default()
        });
        // Without DF, and with the checksum of that.
        octets[10 + 6] = 0;
        octets[10 + 10..10 + 12].fill(0);
        let mut sum = gigatcp_wire::Checksum::new();
        sum.add_octets(&octets[10..30]);
        octets[20..22].copy_from_slice(&sum.finish().to_be_bytes());
        let whole = Packet::read(octets.into()).unwrap();
        let wanted = wire_packets(&whole).remove(0);
        let mut cut = whole.clone();
        assert!(cut.try_fragment(mtu, 7));
        let each = (mtu as usize - 20) / 8 * 8;
        assert_eq!(cut.wire_packets(), (20 + len).div_ceil(each));
        // A fragment may be fragmented again.
        let mut parts = Vec::new();
        while cut.wire_packets() > 1 {
            parts.push(cut.split_front(1));
        }
        parts.push(cut);
        if mtu == 1300 {
            assert!(parts[0].try_fragment(600, 8));
            let rest = parts.split_off(1);
            let mut first = parts.remove(0);
            while first.wire_packets() > 1 {
                parts.push(first.split_front(1));
            }
            parts.push(first);
            parts.extend(rest);
        }
        let mut payload = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            let mut scratch = Vec::new();
            let out = device_octets(part, &mut scratch).concat();
            let ip = &out[10..];
            assert!(ip.len() as u64 <= mtu && ip.len() as u64 == part.ip_bytes());
            let mut sum = gigatcp_wire::Checksum::new();
            sum.add_octets(&ip[..20]);
            assert_eq!(sum.finish(), 0, "the header's checksum");
            let word = |at: usize| u16::from_be_bytes([ip[at], ip[at + 1]]);
            assert_eq!(
                (word(2) as usize, word(4)),
                (ip.len(), Made::default().ident)
            );
            assert_eq!(usize::from(word(6) & 0x1fff) * 8, payload.len());
            assert_eq!(word(6) & 0x2000 != 0, place + 1 < parts.len());
            assert_eq!(out[0], 0, "nothing is left to the kernel");
            payload.extend_from_slice(&ip[20..]);
        }
        assert_eq!(payload, wanted[20..]);
    }
    let mut with_df = make(&Made {
        len: 1400,
        ..Made::default()
    });
    assert!(!with_df.try_fragment(600, 7));
}
