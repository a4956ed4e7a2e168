//! Packets as smoltcp reads and writes them, which shares no code with this crate: any segment it
//! supports, in both directions, with both checksums.

use std::net::Ipv4Addr;

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    ChecksumFill, Endpoints, Flags, IpHeader, Options, SackBlock, SackBlocks, Segment, SeqNumber,
    Timestamps, WireWindow, decode_packet, encode_packet, packet_len,
};
use proptest::prelude::*;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
    TcpTimestampRepr,
};

const SRC: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const DST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

/// Segments that smoltcp reads completely. It reads SACK blocks of pure ACKs, one control flag, no
/// urgent pointer.
fn segments() -> impl Strategy<Value = Segment<Bytes>> {
    let numbers = any::<(u16, u16, u32, u32, u16)>();
    let flag = prop::sample::select(vec![Flags::NONE, Flags::PSH, Flags::FIN]);
    let stamps = prop::option::of(any::<(u32, u32)>());
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=3);
    let payload = prop::collection::vec(any::<u8>(), 0..2000);
    (numbers, flag, stamps, blocks, payload).prop_map(|(numbers, flag, stamps, blocks, payload)| {
        let mut sack = SackBlocks::default();
        for (left, right) in blocks {
            let [left, right] = [left, right].map(SeqNumber::new);
            assert!(sack.try_push(SackBlock { left, right }));
        }
        Segment {
            src_port: numbers.0.max(1),
            dst_port: numbers.1.max(1),
            seq: SeqNumber::new(numbers.2),
            ack: SeqNumber::new(numbers.3),
            flags: Flags::ACK | flag,
            wnd: WireWindow(numbers.4),
            options: Options {
                timestamps: stamps.map(|(val, ecr)| Timestamps { val, ecr }),
                sack,
                ..Options::default()
            },
            payload: payload.into(),
            ..Segment::default()
        }
    })
}

/// Segment in smoltcp's form.
fn as_smoltcp(segment: &Segment<Bytes>) -> TcpRepr<'_> {
    let mut sack_ranges = [None; 3];
    for (range, block) in sack_ranges.iter_mut().zip(segment.options.sack.as_slice()) {
        *range = Some((block.left.as_u32(), block.right.as_u32()));
    }
    let stamps = segment.options.timestamps;
    TcpRepr {
        src_port: segment.src_port,
        dst_port: segment.dst_port,
        control: match segment.flags.without(Flags::ACK) {
            Flags::FIN => TcpControl::Fin,
            Flags::PSH => TcpControl::Psh,
            _ => TcpControl::None,
        },
        seq_number: TcpSeqNumber(segment.seq.as_u32() as i32),
        ack_number: Some(TcpSeqNumber(segment.ack.as_u32() as i32)),
        window_len: segment.wnd.0,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges,
        timestamp: stamps.map(|stamps| TcpTimestampRepr::new(stamps.val, stamps.ecr)),
        payload: &segment.payload,
    }
}

proptest! {
    #[test]
    fn smoltcp_reads_our_packets_as_we_meant_them(segment in segments()) {
        let ip = IpHeader::new(Endpoints::V4 { src: SRC, dst: DST });
        let mut octets = vec![0; packet_len(&ip, &segment).unwrap()];
        encode_packet(&ip, &segment, ChecksumFill::Whole, &mut octets).unwrap();
        let checks = ChecksumCapabilities::default();
        let packet = Ipv4Packet::new_checked(&octets[..]).unwrap();
        let header = Ipv4Repr::parse(&packet, &checks).unwrap();
        prop_assert_eq!((header.src_addr, header.dst_addr), (SRC, DST));
        let tcp = TcpPacket::new_checked(packet.payload()).unwrap();
        let addresses = [SRC, DST].map(IpAddress::Ipv4);
        let read = TcpRepr::parse(&tcp, &addresses[0], &addresses[1], &checks).unwrap();
        prop_assert_eq!(read, as_smoltcp(&segment));
    }

    #[test]
    fn we_read_packets_of_smoltcp_as_it_meant_them(segment in segments()) {
        let meant = as_smoltcp(&segment);
        let ip = Ipv4Repr {
            src_addr: SRC,
            dst_addr: DST,
            next_header: IpProtocol::Tcp,
            payload_len: meant.buffer_len(),
            hop_limit: 64,
        };
        let mut octets = vec![0; ip.buffer_len() + ip.payload_len];
        let checks = ChecksumCapabilities::default();
        let mut packet = Ipv4Packet::new_unchecked(&mut octets[..]);
        ip.emit(&mut packet, &checks);
        let mut tcp = TcpPacket::new_unchecked(packet.payload_mut());
        let addresses = [SRC, DST].map(IpAddress::Ipv4);
        meant.emit(&mut tcp, &addresses[0], &addresses[1], &checks);
        let (_, read) = decode_packet(&octets).unwrap();
        prop_assert_eq!(read.map_payload(Bytes::copy_from_slice), segment);
    }
}
