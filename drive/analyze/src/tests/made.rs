//! Handmade captures for tests.

pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const ACK: u8 = 16;
const CWR: u8 = 128;

/// A segment between 0.0.0.1 and port 80 of 0.0.0.2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Time in milliseconds.
    pub(super) at: u32,
    /// Port of the client.
    pub(super) port: u16,
    pub(super) is_client: bool,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: u8,
    /// Bytes of payload.
    pub(super) len: u16,
}

impl Packet {
    pub(super) const fn new(at: u32, port: u16, is_client: bool) -> Self {
        Self {
            at,
            port,
            is_client,
            seq: 0,
            ack: 0,
            flags: ACK,
            len: 0,
        }
    }

    pub(super) const fn numbers(self, seq: u32, ack: u32) -> Self {
        Self { seq, ack, ..self }
    }

    pub(super) const fn flags(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    pub(super) const fn len(self, len: u16) -> Self {
        Self { len, ..self }
    }

    pub(super) fn frame(self) -> Vec<u8> {
        let mut octets = vec![0_u8; 54];
        octets[12..15].copy_from_slice(&[8, 0, 0x45]);
        octets[16..18].copy_from_slice(&(40 + self.len).to_be_bytes());
        octets[23] = 6;
        let (src, dst) = if self.is_client { (1, 2) } else { (2, 1) };
        (octets[29], octets[33]) = (src, dst);
        let ports = if self.is_client {
            [self.port, 80]
        } else {
            [80, self.port]
        };
        octets[34..36].copy_from_slice(&ports[0].to_be_bytes());
        octets[36..38].copy_from_slice(&ports[1].to_be_bytes());
        octets[38..42].copy_from_slice(&self.seq.to_be_bytes());
        octets[42..46].copy_from_slice(&self.ack.to_be_bytes());
        octets[46..50].copy_from_slice(&[0x50, self.flags, 200, 0]);
        octets
    }
}

/// ICMP "destination unreachable" of router 0.0.0.9 about a packet.
pub(super) fn unreachable(packet: Packet, code: u8) -> Vec<u8> {
    let quoted = packet.frame();
    let mut octets = quoted[..34].to_vec();
    octets[16..18].copy_from_slice(&56_u16.to_be_bytes());
    octets[23] = 1;
    octets[29] = 9;
    octets[33] = quoted[29];
    octets.extend([3, code, 0, 0, 0, 0, 0, 0]);
    octets.extend(&quoted[14..42]);
    octets
}

/// A question of the client about the name of the server, or its answer, from 0.0.0.3.
pub(super) fn name_message(is_answer: bool) -> Vec<u8> {
    let mut octets = Packet::new(0, 0, true).frame()[..34].to_vec();
    octets[23] = 17;
    let (ends, ports): ([u8; 2], [u8; 4]) = if is_answer {
        ([3, 1], [0, 53, 160, 0])
    } else {
        ([1, 3], [160, 0, 0, 53])
    };
    (octets[29], octets[33]) = (ends[0], ends[1]);
    octets.extend(ports);
    octets.extend([0; 4]);
    let (flags, records) = if is_answer { (0x81, 1) } else { (1, 0) };
    octets.extend([0x12, 0x34, flags, 0, 0, 1, 0, records, 0, 0, 0, 0]);
    octets.extend(b"\x04host\x00\x00\x01\x00\x01");
    if is_answer {
        octets.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 0, 0, 0, 2]);
    }
    let len = octets.len() as u8 - 14;
    octets[17] = len;
    octets
}

/// A connection whose SYNs have 12 bytes of options that the snap length cut.
pub(super) fn without_options() -> Vec<u8> {
    let mut file = header();
    for packet in whole(0, 5000) {
        let mut frame = packet.frame();
        let words = if packet.flags & SYN > 0 { 3 } else { 0 };
        let options = 4 * u16::from(words);
        frame[16..18].copy_from_slice(&(40 + options + packet.len).to_be_bytes());
        frame[46] += words << 4;
        let wire = 54 + u32::from(options + packet.len);
        push(&mut file, packet.at, &frame, wire);
    }
    file
}

/// A pcap file without packets.
pub(super) fn header() -> Vec<u8> {
    let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Appends a frame of which `wire` bytes were on the wire.
pub(super) fn push(file: &mut Vec<u8>, at: u32, frame: &[u8], wire: u32) {
    for word in [1000 + at / 1000, at % 1000 * 1000, frame.len() as u32, wire] {
        file.extend(word.to_le_bytes());
    }
    file.extend(frame);
}

/// A pcap file of packets.
pub(super) fn pcap(packets: &[Packet]) -> Vec<u8> {
    let mut file = header();
    for packet in packets {
        push(
            &mut file,
            packet.at,
            &packet.frame(),
            54 + u32::from(packet.len),
        );
    }
    file
}

/// A connection that carries 2000 bytes from `at` on.
pub(super) fn whole(at: u32, port: u16) -> Vec<Packet> {
    let client = |after: u32| Packet::new(at + after, port, true);
    let server = |after: u32| Packet::new(at + after, port, false);
    vec![
        client(0).numbers(100, 0).flags(SYN),
        server(1).numbers(900, 101).flags(SYN | ACK),
        client(2).numbers(101, 901),
        client(3).numbers(101, 901).len(1000),
        client(4).numbers(1101, 901).len(1000),
        server(9).numbers(901, 2101),
        client(10).numbers(2101, 901).flags(FIN | ACK),
        server(11).numbers(901, 2102).flags(FIN | ACK),
        client(12).numbers(2102, 902),
    ]
}

/// One transfer of 40 segments over a path of 20 ms each way. It is captured at the client, which
/// sends the data, and at the server, whose clock is 500 ms ahead.
///
/// The tenth segment is lost between the capture points and retransmitted.
pub(super) fn both_ends(port: u16) -> [Vec<Packet>; 2] {
    const WAY: u32 = 20;
    const AHEAD: u32 = 500;
    const LOST: u32 = 9;
    let mut ends = [Vec::new(), Vec::new()];
    let mut passes = |packet: Packet, is_lost: bool| {
        let [client, server] = &mut ends;
        let (here, there) = if packet.is_client {
            (packet.at, packet.at + WAY + AHEAD)
        } else {
            (packet.at + WAY, packet.at + AHEAD)
        };
        if !is_lost || packet.is_client {
            client.push(Packet { at: here, ..packet });
        }
        if !is_lost || !packet.is_client {
            server.push(Packet {
                at: there,
                ..packet
            });
        }
    };
    let client = |at: u32| Packet::new(at, port, true);
    let server = |at: u32| Packet::new(at, port, false);
    passes(client(0).numbers(100, 0).flags(SYN), false);
    passes(server(WAY).numbers(900, 101).flags(SYN | ACK), false);
    passes(client(2 * WAY).numbers(101, 901), false);
    for index in 0..40 {
        let at = 41 + index * 4;
        let seq = 101 + index * 1000;
        passes(client(at).numbers(seq, 901).len(1000), index == LOST);
        let acked = if index < LOST { index + 1 } else { LOST };
        let ack = server(at + WAY).numbers(901, 101 + acked * 1000);
        if index != LOST {
            passes(ack, false);
        }
    }
    // With CWR, which distinguishes it from the first transmission: two equal packets are not
    // counted.
    let again = client(241)
        .numbers(101 + LOST * 1000, 901)
        .flags(ACK | CWR)
        .len(1000);
    passes(again, false);
    passes(server(241 + WAY).numbers(901, 101 + 40_000), false);
    for end in &mut ends {
        end.sort_by_key(|packet| packet.at);
    }
    ends
}
