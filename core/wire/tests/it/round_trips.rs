//! Written segments read back the same, and no input panics.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    AccEcn, AccEcnOrder, Authentication, DecodeError, Ecn, EncodeError, Endpoints, FastOpenCookie,
    Flags, IpHeader, MAX_OPTIONS_LEN, Options, Payload, PayloadOctets, Phantom, SackBlock,
    SackBlocks, Segment, SeqNumber, Timestamps, UserTimeout, WireWindow, append_packet, decode,
    decode_header, decode_packet, encode, verify_checksum, verify_phantom,
};
use proptest::prelude::*;

fn sack_blocks() -> impl Strategy<Value = SackBlocks> {
    let block = any::<(u32, u32)>().prop_map(|(left, right)| SackBlock {
        left: SeqNumber::new(left),
        right: SeqNumber::new(right),
    });
    prop::collection::vec(block, 0..=SackBlocks::CAPACITY).prop_map(|blocks| {
        let mut sack = SackBlocks::default();
        for block in blocks {
            assert!(sack.try_push(block));
        }
        sack
    })
}

/// Rare options, mostly absent, so that there is room for the others.
type Rare = (
    Option<FastOpenCookie>,
    Option<Authentication>,
    Option<UserTimeout>,
);

fn rare_options() -> impl Strategy<Value = Rare> {
    let cookie = (0..=8_usize, any::<[u8; 16]>(), any::<bool>()).prop_filter_map(
        "a legal length",
        |(pairs, octets, experimental)| {
            let cookie = FastOpenCookie::new(&octets[..2 * pairs])?;
            Some(if experimental {
                cookie.as_experimental()
            } else {
                cookie
            })
        },
    );
    let authentication = (any::<(u8, u8)>(), 0..=16_usize, any::<[u8; 16]>())
        .prop_map(|(ids, len, mac)| Authentication::new(ids.0, ids.1, &mac[..len]).unwrap());
    (
        prop::option::weighted(0.2, cookie),
        prop::option::weighted(0.2, authentication),
        prop::option::weighted(0.2, any::<u64>().prop_map(UserTimeout::from_seconds)),
    )
}

fn accecn() -> impl Strategy<Value = Option<AccEcn>> {
    let fields = prop::collection::vec(any::<u32>(), 0..=3);
    let option = (any::<bool>(), fields).prop_map(|(first, fields)| {
        let order = if first {
            AccEcnOrder::Ect1First
        } else {
            AccEcnOrder::Ect0First
        };
        AccEcn::new(order, &fields)
    });
    prop::option::of(option)
}

fn all_options() -> impl Strategy<Value = Options> {
    let timestamps =
        prop::option::of(any::<(u32, u32)>().prop_map(|(val, ecr)| Timestamps { val, ecr }));
    let (mss, window_scale) = (any::<Option<u16>>(), any::<Option<u8>>());
    let rare = rare_options();
    (
        mss,
        window_scale,
        any::<bool>(),
        timestamps,
        (accecn(), sack_blocks()),
        rare,
    )
        .prop_map(
            |(
                mss,
                window_scale,
                sack_permitted,
                timestamps,
                (accecn, sack),
                (fast_open, authentication, user_timeout),
            )| {
                let mut options = Options {
                    mss,
                    window_scale,
                    sack_permitted,
                    timestamps,
                    accecn,
                    sack,
                    ..Options::default()
                };
                options.set_fast_open(fast_open);
                options.set_authentication(authentication);
                options.set_user_timeout(user_timeout);
                options
            },
        )
}

fn fitting_options() -> impl Strategy<Value = Options> {
    all_options().prop_filter("fits a header", |options| {
        options.wire_len() <= MAX_OPTIONS_LEN
    })
}

prop_compose! {
    fn headers()(
        ports in any::<(u16, u16)>(),
        seq in any::<u32>(),
        ack in any::<u32>(),
        flags in any::<u16>(),
        wnd in any::<u16>(),
        urgent in any::<u16>(),
        options in fitting_options(),
    ) -> Segment<Bytes> {
        Segment {
            src_port: ports.0,
            dst_port: ports.1,
            seq: SeqNumber::new(seq),
            ack: SeqNumber::new(ack),
            flags: Flags::from_bits(flags),
            wnd: WireWindow(wnd),
            urgent,
            segment_size: 0,
            ecn: Ecn::NotEct,
            ident: 0,
            ace: false,
            options,
            payload: Bytes::new(),
        }
    }
}

fn segments() -> impl Strategy<Value = Segment<Bytes>> {
    (headers(), prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(header, octets)| Segment {
        payload: octets.into(),
        ..header
    })
}

fn endpoints() -> impl Strategy<Value = Endpoints> {
    let v4 = any::<(u32, u32)>().prop_map(|(src, dst)| {
        (
            IpAddr::from(Ipv4Addr::from(src)),
            Ipv4Addr::from(dst).into(),
        )
    });
    let v6 = any::<(u128, u128)>().prop_map(|(src, dst)| {
        (
            IpAddr::from(Ipv6Addr::from(src)),
            Ipv6Addr::from(dst).into(),
        )
    });
    prop_oneof![v4, v6].prop_map(|(src, dst)| Endpoints::new(src, dst).expect("one family"))
}

fn ip_headers() -> impl Strategy<Value = IpHeader> {
    let fields = any::<(u8, u8, u16, bool, u32)>();
    (endpoints(), fields).prop_map(|(endpoints, (dscp, ttl, ident, dont_fragment, label))| {
        let is_v4 = matches!(endpoints, Endpoints::V4 { .. });
        IpHeader {
            endpoints,
            dscp: dscp % 64,
            ttl,
            ident: if is_v4 { ident } else { 0 },
            dont_fragment: dont_fragment || !is_v4,
            flow_label: if is_v4 { 0 } else { label % (1 << 20) },
        }
    })
}

/// A header around option octets, most of which look like options.
fn hostile_headers() -> impl Strategy<Value = Vec<u8>> {
    let option = prop_oneof![
        any::<u8>().prop_map(|octet| vec![octet]),
        (
            prop_oneof![0_u8..12, 172_u8..175],
            0_u8..14,
            prop::collection::vec(any::<u8>(), 0..12)
        )
            .prop_map(|(kind, len, data)| {
                let mut octets = vec![kind, len];
                octets.extend(data);
                octets
            }),
    ];
    prop::collection::vec(option, 0..8).prop_map(|options| {
        let mut octets = vec![0; 20];
        octets.extend(options.concat());
        octets.resize(octets.len().next_multiple_of(4).min(60), 0);
        octets[12] = ((octets.len() / 4) << 4) as u8;
        octets
    })
}

/// A segment as bytes.
fn encoded<P: PayloadOctets>(segment: &Segment<P>, endpoints: &Endpoints) -> Vec<u8> {
    let mut out = vec![0; segment.header_len() + segment.payload.len()];
    assert_eq!(encode(segment, endpoints, &mut out), Ok(out.len()));
    out
}

/// Reads a segment from these bytes.
fn decoded(octets: &[u8]) -> Segment<Bytes> {
    let segment = decode(octets).unwrap();
    segment.map_payload(Bytes::copy_from_slice)
}

proptest! {
    #[test]
    fn options_read_back_as_written(options in fitting_options(), endpoints in endpoints()) {
        let segment = Segment::<Bytes> { options: options.clone(), ..Segment::default() };
        let out = encoded(&segment, &endpoints);
        prop_assert_eq!(out.len(), 20 + options.wire_len());
        prop_assert_eq!(out.len() % 4, 0);
        prop_assert_eq!(decoded(&out).options, options);
    }

    #[test]
    fn options_are_refused_exactly_where_their_length_says(options in all_options()) {
        let segment = Segment::<Bytes> { options: options.clone(), ..Segment::default() };
        let endpoints = Endpoints::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::LOCALHOST };
        let needed = options.wire_len();
        let expected = if needed > MAX_OPTIONS_LEN {
            Err(EncodeError::OptionsTooLong { needed })
        } else {
            Ok(20 + needed)
        };
        prop_assert_eq!(encode(&segment, &endpoints, &mut [0; 80]), expected);
    }

    #[test]
    fn segments_read_back_as_written(segment in segments(), endpoints in endpoints()) {
        let out = encoded(&segment, &endpoints);
        prop_assert_eq!(out.len(), segment.header_len() + segment.payload.len());
        prop_assert!(verify_checksum(&endpoints, &out));
        prop_assert_eq!(decoded(&out), segment);
    }

    #[test]
    fn packets_read_back_as_written(
        mut segment in segments(),
        ip in ip_headers(),
        ecn in any::<u8>(),
    ) {
        segment.ecn = Ecn::from_bits(ecn);
        let mut out = Vec::new();
        let len = append_packet(&ip, &segment, &mut out).unwrap();
        prop_assert_eq!(len, out.len());
        prop_assert_eq!(len, ip.endpoints.header_len() + segment.header_len() + segment.payload.len());
        let (read_ip, read) = decode_packet(&out).unwrap();
        prop_assert_eq!((read_ip, read.map_payload(Bytes::copy_from_slice)), (ip, segment));
    }

    #[test]
    fn a_phantom_on_the_wire_is_its_stream(
        header in headers(),
        ip in ip_headers(),
        offset in 0..u64::MAX / 2,
        len in 0_u32..3000,
    ) {
        let segment = Segment {
            src_port: header.src_port,
            options: header.options,
            payload: Phantom { offset, len },
            ..Segment::default()
        };
        let mut out = Vec::new();
        append_packet(&ip, &segment, &mut out).unwrap();
        let (_, read) = decode_packet(&out).unwrap();
        prop_assert_eq!(read.payload.len(), len as usize);
        prop_assert_eq!(verify_phantom(offset, read.payload), Ok(()));
    }

    #[test]
    fn phantom_pieces_written_apart_are_the_whole(
        offset in any::<u32>(),
        len in 1_u32..5000,
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = Phantom { offset: u64::from(offset), len };
        let mut front = whole;
        let rest = front.split_off(cut.index(len as usize + 1));
        let written = |phantom: Phantom| {
            let mut out = vec![0; phantom.len()];
            phantom.write_to(&mut out);
            out
        };
        prop_assert_eq!([written(front), written(rest)].concat(), written(whole));
    }

    #[test]
    fn arbitrary_octets_never_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&octets);
        let _ = IpHeader::decode(&octets);
        let _ = decode_packet(&octets);
    }

    #[test]
    fn arbitrary_octets_of_either_version_never_panic(
        mut octets in prop::collection::vec(any::<u8>(), 1..200),
        v6 in any::<bool>(),
        next in prop::sample::select(vec![0_u8, 6, 43, 44, 60]),
    ) {
        octets[0] = if v6 { 0x60 } else { 0x45 };
        if let Some(field) = octets.get_mut(6) {
            *field = next;
        }
        if let Ok((ip, payload)) = IpHeader::decode(&octets) {
            prop_assert!(payload.start >= ip.endpoints.header_len());
            let rest = octets.get(payload.start..).unwrap_or_default();
            let _ = decode_header::<Phantom>(rest);
        }
        let _ = decode_packet(&octets);
    }

    /// RFC 9293 MUST-68: a reader without our options still finds each one's end.
    #[test]
    fn every_option_written_but_two_has_its_length(
        options in fitting_options(),
        endpoints in endpoints(),
    ) {
        let segment = Segment { options, ..Segment::<Bytes>::default() };
        let octets = encoded(&segment, &endpoints);
        let header = usize::from(octets[12] >> 4) * 4;
        let mut rest = &octets[20..header];
        while let [kind, behind @ ..] = rest {
            rest = match kind {
                // End of list: what follows is padding of zeros (MUST-69).
                0 => {
                    prop_assert!(behind.iter().all(|octet| *octet == 0));
                    &[]
                }
                1 => behind,
                _ => {
                    let len = usize::from(behind[0]);
                    prop_assert!((2..=rest.len()).contains(&len), "option {}", kind);
                    &rest[len..]
                }
            };
        }
    }

    #[test]
    fn whatever_options_were_read_can_be_written_again(octets in hostile_headers()) {
        let Ok((segment, _)) = decode_header::<Bytes>(&octets) else {
            return Ok(());
        };
        let endpoints = Endpoints::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::LOCALHOST };
        let out = encoded(&segment, &endpoints);
        prop_assert_eq!(decoded(&out), segment);
    }

    #[test]
    fn every_cut_of_a_header_is_an_error(segment in headers(), at in any::<prop::sample::Index>()) {
        let endpoints = Endpoints::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::LOCALHOST };
        let out = encoded(&segment, &endpoints);
        let have = at.index(out.len());
        let error = decode_header::<Bytes>(&out[..have]).unwrap_err();
        let is_too_short = matches!(error, DecodeError::TooShort { have: n, .. } if n == have);
        prop_assert!(is_too_short, "{error:?}");
    }
}
