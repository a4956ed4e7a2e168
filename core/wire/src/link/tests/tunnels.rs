//! Tunnels in UDP, mirrored frames and 802.11 lead to the segment inside them, or are named.

use super::*;

/// An IPv4 packet of UDP to `port`.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut header = [0xc0, 0x01, 0, 0, 0, 0, 0, 0];
    header[2..4].copy_from_slice(&port.to_be_bytes());
    let len = 8 + payload.len() as u16;
    header[4..6].copy_from_slice(&len.to_be_bytes());
    v4_in_front(17, &with(&[&header], payload))
}

fn ether(endpoints: Endpoints) -> [u8; 2] {
    match endpoints {
        V4 => [8, 0],
        _ => [0x86, 0xdd],
    }
}

/// Every tunnel in UDP: its port, and the bytes before the inner IP header.
fn in_udp(endpoints: Endpoints) -> Vec<(u16, Vec<u8>)> {
    let kind = ether(endpoints);
    let frame = [&MACS[..], &kind].concat();
    let then = |head: &[u8], tail: &[u8]| [head, tail].concat();
    let vni = [0, 0, 7, 0];
    let version = if endpoints == V4 { 1 } else { 2 };
    let geneve = |words: u8, kind: &[u8]| {
        let options = vec![1; 4 * usize::from(words)];
        [&[words, 0], kind, &vni, &options].concat()
    };
    let gtp = |flags: u8, rest: &[u8]| [&[flags, 255, 0, 0, 0, 0, 0, 9], rest].concat();
    vec![
        (4789, then(&[8, 0, 0, 0, 0, 0, 7, 0], &frame)),
        (8472, then(&[8, 0, 0, 0, 0, 0, 7, 0], &frame)),
        // With a group policy: its flag does not change what follows.
        (4789, then(&[0x88, 0, 0, 5, 0, 0, 7, 0], &frame)),
        (4790, then(&[0x0c, 0, 0, 3, 0, 0, 7, 0], &frame)),
        (4790, then(&[0x08, 0, 0, 0, 0, 0, 7, 0], &frame)),
        (4790, vec![0x0c, 0, 0, version, 0, 0, 7, 0]),
        (4790, vec![0x0c, 0, 0, 5, 0, 0, 7, 0, 0, 2, 1, 64]),
        (6081, then(&geneve(0, &[0x65, 0x58]), &frame)),
        (6081, then(&geneve(63, &[0x65, 0x58]), &frame)),
        (6081, geneve(2, &kind)),
        (2152, gtp(0x30, &[])),
        (2152, gtp(0x32, &[0, 1, 0, 0])),
        (2152, gtp(0x33, &[0, 1, 5, 0])),
        // Without E the type of an extension header has no meaning.
        (2152, gtp(0x32, &[0, 1, 0, 0x85])),
        (2152, gtp(0x34, &[0, 0, 0, 0x85, 1, 0x10, 9, 0])),
        (
            2152,
            gtp(
                0x36,
                &[0, 1, 0, 0xc0, 1, 0, 1, 0x85, 2, 0, 0, 0, 0, 0, 0, 0],
            ),
        ),
        (6635, vec![0, 2, 1, 64]),
    ]
}

#[test]
fn tunnels_in_udp_lead_to_the_segment_inside() {
    for endpoints in [V4, V6] {
        let packet = ip_packet(endpoints);
        for (port, front) in in_udp(endpoints) {
            let octets = udp(port, &with(&[&front], &packet));
            check(LinkType::RAW, &octets, endpoints);
            let layers = found(LinkType::RAW, &octets).layers;
            assert!(layers.contains(Layer::Udp) && layers.contains(Layer::Tunnel));
            let (vxlan, geneve, gtp) = (port == 4789, port == 6081, port == 2152);
            assert!(!vxlan || layers.contains(Layer::Vxlan));
            assert_eq!(layers.contains(Layer::Geneve), geneve);
            assert_eq!(layers.contains(Layer::Gtp), gtp);
        }
    }
}

#[test]
fn udp_that_only_looks_like_a_tunnel_is_udp() {
    let packet = ip_packet(V4);
    let frame = with(&[&MACS, &[8, 0]], &packet);
    let not_tcp = DissectError::NotTcp { protocol: 17 };
    let cases: [(u16, &[u8]); 9] = [
        (53, &[8, 0, 0, 0, 0, 0, 7, 0]),
        (4788, &[8, 0, 0, 0, 0, 0, 7, 0]),
        // VXLAN without a valid VNI; GPE of another version, and its OAM.
        (4789, &[0, 0, 0, 0, 0, 0, 7, 0]),
        (4790, &[0x18, 0, 0, 3, 0, 0, 7, 0]),
        (4790, &[0x0d, 0, 0, 3, 0, 0, 7, 0]),
        // Geneve of another version, and its control packets.
        (6081, &[0x40, 0, 0x65, 0x58, 0, 0, 7, 0]),
        (6081, &[0, 0x80, 0x65, 0x58, 0, 0, 7, 0]),
        // GTP' and an echo.
        (2152, &[0x20, 255, 0, 0, 0, 0, 0, 0]),
        (2152, &[0x32, 1, 0, 4, 0, 0, 0, 0]),
    ];
    for (port, front) in cases {
        let octets = udp(port, &with(&[front], &frame));
        let obstacle = dissect(LinkType::RAW, &octets, octets.len() as u32).unwrap_err();
        assert_eq!(obstacle, not_tcp, "{port} {front:x?}");
    }
    let endless = udp(2152, &[0x34, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x85, 0, 0]);
    let layer = Layer::Gtp;
    let obstacle = dissect(LinkType::RAW, &endless, endless.len() as u32).unwrap_err();
    assert_eq!(obstacle, DissectError::Malformed { layer });
}

#[test]
fn mirrored_frames_lead_to_the_segment_inside() {
    for endpoints in [V4, V6] {
        let packet = ip_packet(endpoints);
        let frame = with(&[&MACS, &ether(endpoints)], &packet);
        let numbered =
            |kind: [u8; 2], header: &[u8]| [&[0x10, 0], &kind[..], &[0, 0, 0, 1], header].concat();
        let type_2 = [0x10, 7, 8, 9, 0, 0, 0, 1];
        let type_3 = |last: [u8; 2]| [&[0x20, 7, 8, 9, 0, 0, 0, 1, 0, 0][..], &last].concat();
        let cases = [
            with(&[&[0, 0, 0x88, 0xbe]], &frame),
            with(&[&numbered([0x88, 0xbe], &type_2)], &frame),
            with(&[&numbered([0x22, 0xeb], &type_3([0x80, 0]))], &frame),
            with(&[&numbered([0x22, 0xeb], &type_3([0, 1])), &[7; 8]], &frame),
            with(&[&numbered([0x22, 0xeb], &type_3([8, 0]))], &packet),
        ];
        for gre in cases {
            let octets = v4_in_front(47, &gre);
            check(LinkType::RAW, &octets, endpoints);
        }
        let unknown = with(&[&numbered([0x88, 0xbe], &[0x30; 8])], &frame);
        let octets = v4_in_front(47, &unknown);
        let layer = Layer::Erspan;
        let obstacle = dissect(LinkType::RAW, &octets, octets.len() as u32).unwrap_err();
        assert_eq!(obstacle, DissectError::Malformed { layer });
    }
}

#[test]
fn other_ways_to_carry_a_frame_in_ip_are_read() {
    let packet = ip_packet(V6);
    let frame = with(&[&MACS, &ether(V6)], &packet);
    check(LinkType::RAW, &v4_in_front(143, &frame), V6);
    check(
        LinkType::RAW,
        &v4_in_front(97, &with(&[&[0x30, 0]], &frame)),
        V6,
    );
    check(
        LinkType::RAW,
        &v4_in_front(137, &with(&[&[0, 2, 1, 64]], &packet)),
        V6,
    );
    let backbone = with(&[&MACS, &[0x88, 0xe7, 0, 0, 0, 7]], &frame);
    check(LinkType::ETHERNET, &backbone, V6);
}

/// An 802.11 header of that frame control, and what is behind its 24 octets.
fn wireless(control: [u8; 2], rest: &[u8]) -> Vec<u8> {
    let mut header = vec![control[0], control[1], 0, 0];
    header.extend([7; 18]);
    header.extend([0x40, 0x01]);
    header.extend(rest);
    header
}

#[test]
fn data_frames_of_802_11_lead_to_the_segment_inside() {
    for endpoints in [V4, V6] {
        let packet = ip_packet(endpoints);
        let llc = [&SNAP[..], &ether(endpoints)].concat();
        let read = |front: &[u8], link| check(link, &with(&[front, &llc], &packet), endpoints);
        for header in [
            wireless([0x08, 1], &[]),
            wireless([0x08, 2], &[]),
            wireless([0x08, 3], &[9; 6]),
            wireless([0x88, 1], &[0, 0]),
            wireless([0x88, 0x83], &[0; 12]),
        ] {
            read(&header, LinkType::IEEE802_11);
            for radiotap in [
                &[0, 0, 8, 0, 0, 0, 0, 0][..],
                &[0, 0, 9, 0, 2, 0, 0, 0, 0x10],
                &[0, 0, 13, 0, 2, 0, 0, 0x80, 0, 0, 0, 0, 0x10],
            ] {
                let front = [radiotap, &header].concat();
                read(&front, LinkType::IEEE802_11_RADIOTAP);
            }
        }
        // A header of 26 octets, padded to 28, as the flags after the time show.
        let mut radiotap = vec![0, 0, 17, 0, 3, 0, 0, 0];
        radiotap.extend([1; 8]);
        radiotap.push(0x20);
        let header = wireless([0x88, 1], &[0, 0, 0xee, 0xee]);
        let front = [radiotap, header].concat();
        read(&front, LinkType::IEEE802_11_RADIOTAP);
    }
}

#[test]
fn frames_of_802_11_without_a_packet_to_read_are_named() {
    let packet = with(&[&SNAP, &[8, 0]], &ip_packet(V4));
    let mut later = wireless([0x08, 1], &packet);
    later[22] = 0x41;
    for (octets, what) in [
        (wireless([0x80, 0], &[]), "802.11 management"),
        (wireless([0xd4, 0], &[])[..10].to_vec(), "802.11 control"),
        (wireless([0x48, 1], &[]), "802.11 without data"),
        (wireless([0xc8, 1], &[0, 0]), "802.11 without data"),
        (wireless([0x08, 0x41], &packet), "encrypted 802.11"),
        (wireless([0x08, 5], &packet), "802.11 in fragments"),
        (later, "802.11 in fragments"),
        (
            wireless([0x88, 1], &[0x80, 0]),
            "802.11 with several packets (A-MSDU)",
        ),
    ] {
        let obstacle = dissect(LinkType::IEEE802_11, &octets, octets.len() as u32).unwrap_err();
        assert_eq!(obstacle, DissectError::Unread { what });
    }
    for octets in [&[1, 0, 8, 0, 0, 0, 0, 0][..], &[0, 0, 7, 0, 0, 0, 0, 0]] {
        let obstacle = dissect(LinkType::IEEE802_11_RADIOTAP, octets, 100).unwrap_err();
        let layer = Layer::Wireless;
        assert_eq!(obstacle, DissectError::Malformed { layer });
    }
}

#[test]
fn a_tunnel_cut_anywhere_before_the_inner_fixed_header_ends_is_said_to_be_cut() {
    for (port, front) in in_udp(V4) {
        let octets = udp(port, &with(&[&front], &ip_packet(V4)));
        let wire = octets.len() as u32;
        let needed = 20 + 8 + front.len() + 40;
        for cut in 0..octets.len() {
            let read = dissect(LinkType::RAW, &octets[..cut], wire);
            match read {
                Ok(read) => {
                    assert!(cut >= needed);
                    assert_eq!(read.payload_len, 21);
                }
                // Its ports were not captured.
                Err(DissectError::NotTcp { protocol: 17 }) => assert!(cut < 28),
                Err(DissectError::Cut { .. }) => assert!(cut < needed, "{port}: {cut}"),
                Err(other) => panic!("{port} {front:x?}, {cut} octets: {other}"),
            }
        }
    }
}

#[test]
fn of_a_tunnel_in_fragments_the_first_is_read_and_the_others_are_udp() {
    let mut octets = udp(4789, &with(&[&in_udp(V4)[0].1], &ip_packet(V4)));
    octets[6] = 0x20;
    let cut = octets.len() - 8;
    octets.truncate(cut);
    octets[2..4].copy_from_slice(&(cut as u16).to_be_bytes());
    let (read, fragment) = dissect_with_fragment(LinkType::RAW, &octets, cut as u32);
    let inner = read.unwrap();
    assert!(fragment.is_none());
    assert_eq!((inner.payload_len, inner.uncaptured_len()), (21, 8));
    octets[7] = 3;
    let (read, fragment) = dissect_with_fragment(LinkType::RAW, &octets, cut as u32);
    assert_eq!(read.unwrap_err(), DissectError::NotTcp { protocol: 17 });
    assert!(fragment.is_none());
}

#[test]
fn tunnels_in_tunnels_end_somewhere() {
    let front = &in_udp(V4)[0].1;
    let mut octets = ip_packet(V4);
    for nested in 1..20 {
        octets = udp(4789, &with(&[front], &octets));
        let read = dissect(LinkType::RAW, &octets, octets.len() as u32);
        assert_eq!(read.is_ok(), nested <= 4, "{nested}");
        assert!(read.is_ok() || read.unwrap_err() == DissectError::TooDeep);
    }
}

#[test]
fn what_is_not_read_has_a_name_or_a_number() {
    let named = |obstacle: DissectError| obstacle.reason().to_string();
    let not_ip = |layer, kind| named(DissectError::NotIp { layer, kind });
    assert_eq!(not_ip(Layer::Ethernet, 0x0806), "ARP");
    assert_eq!(not_ip(Layer::Ethernet, 0x1234), "EtherType 0x1234");
    assert_eq!(not_ip(Layer::Llc, 0x4242), "STP");
    assert_eq!(not_ip(Layer::Ppp, 0xc021), "PPP LCP");
    assert_eq!(not_ip(Layer::Gre, 0), "GRE keepalive");
    assert_eq!(not_ip(Layer::Loopback, 7), "address family 0x0007");
    let protocol = |protocol| named(DissectError::NotTcp { protocol });
    assert_eq!(
        [17, 1, 50].map(protocol),
        ["UDP", "ICMP", "ESP (encrypted)"]
    );
    assert_eq!(protocol(200), "IP protocol 200");
    let link = |number| {
        let link = LinkType(number);
        named(DissectError::UnknownLinkType { link })
    };
    assert_eq!(link(119), "802.11 with Prism header (link type 119)");
    assert_eq!(link(9999), "link type 9999");
    // No read type is in a list of unread ones.
    for number in 0..300 {
        let is_read = first(LinkType(number)).is_some();
        assert_eq!(LinkType(number).name().is_some(), is_read);
        assert!(!is_read || !link(number).contains('('), "{number}");
    }
}

proptest! {
    #[test]
    fn any_octets_in_a_tunnel_are_survived(
        port in prop_oneof![Just(4789_u16), Just(8472), Just(4790), Just(6081), Just(2152),
            Just(6635)],
        first in prop_oneof![Just(8_u8), Just(0x0c), Just(0x30), Just(0x34), Just(0x37), Just(0),
            Just(63), any::<u8>()],
        second in prop_oneof![Just(0_u8), Just(255), any::<u8>()],
        rest in proptest::collection::vec(prop_oneof![Just(0_u8), Just(0x45), Just(0x60), Just(8),
            Just(6), Just(17), Just(1), Just(0x65), Just(0x58), any::<u8>()], 0..300),
        more in 0..2000_u32,
    ) {
        let octets = udp(port, &with(&[&[first, second]], &rest));
        if let Ok(read) = dissect(LinkType::RAW, &octets, octets.len() as u32 + more) {
            prop_assert!(read.payload.len() <= read.payload_len as usize);
            let _ = (read.options(), read.tcp_checksum(), read.ip_checksum());
        }
    }

    #[test]
    fn any_802_11_frame_is_survived(
        is_radiotap in any::<bool>(),
        start in prop_oneof![Just([0_u8, 0, 8, 0]), Just([0, 0, 40, 0]), Just([8, 1, 0, 0]),
            Just([0x88, 0x83, 0, 0]), any::<[u8; 4]>()],
        rest in proptest::collection::vec(any::<u8>(), 0..120),
        wire in any::<u32>(),
    ) {
        let link = if is_radiotap {
            LinkType::IEEE802_11_RADIOTAP
        } else {
            LinkType::IEEE802_11
        };
        let octets = with(&[&start], &rest);
        if let Ok(read) = dissect(link, &octets, wire) {
            prop_assert!(read.payload.len() <= octets.len());
        }
    }
}
