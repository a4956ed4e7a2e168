//! New payload that a path delivers: TCP bytes beyond the highest sequence number of their
//! connection so far, and payloads of UDP.
//!
//! Retransmissions and headers are not counted, so bytes over time are goodput, whatever was lost
//! and whatever the MSS. A gap that is still open counts as delivered; it is filled in what a command
//! completes. The number that FIN takes is no payload.
//!
//! Protocols inside UDP are not looked into: what QUIC or uTP retransmits counts as new, and so do their
//! headers. Out of scope: fragments of either IP and packets with extension headers of IPv6, which count
//! nothing, so a command that sends datagrams beyond the MTU seems to transfer too little.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gigatcp_wire::{Flags, IPV4_HEADER_LEN, IPV6_HEADER_LEN};

use crate::engine::{PacketEvent, Watch};
use crate::packet::{Packet, word};
use crate::side::Side;
use crate::tcp_header;

/// Protocol number of UDP, and bytes of its header.
const UDP: (u8, u64) = (17, 8);

/// Counters of delivered payload, by the side that received it. Clones share them.
#[derive(Clone, Default, Debug)]
pub struct Goodput(Arc<[AtomicU64; 2]>);

impl Goodput {
    /// Bytes that `side` has received.
    pub fn received(&self, side: Side) -> u64 {
        self.0[side.index()].load(Ordering::Relaxed)
    }

    /// The observer of a path that counts them.
    pub fn watch(&self) -> Box<dyn Watch> {
        Box::new(Observer {
            counters: self.clone(),
            highest: HashMap::new(),
        })
    }
}

/// Ports and addresses of a direction of a connection, as they are in its packets.
type Tuple = [u8; 36];

struct Observer {
    counters: Goodput,
    /// Sequence number after the highest one that was delivered.
    highest: HashMap<Tuple, u32>,
}

impl Observer {
    fn new_bytes(&mut self, packet: &Packet) -> u64 {
        match segment(packet) {
            Some(Segment {
                tuple,
                start,
                end,
                is_fin,
            }) => {
                let highest = self.highest.entry(tuple).or_insert(end);
                let after = end.wrapping_add(u32::from(is_fin));
                let new = match start {
                    // A connection begins, perhaps on the ports of an earlier one.
                    Some(start) => end.wrapping_sub(start),
                    None => {
                        let new = after.wrapping_sub(*highest);
                        if new > u32::MAX / 2 {
                            return 0;
                        }
                        new.saturating_sub(u32::from(is_fin))
                    }
                };
                *highest = after;
                u64::from(new)
            }
            None => udp_bytes(packet.ip_octets()),
        }
    }
}

impl Watch for Observer {
    fn on_packet(&mut self, event: &PacketEvent<'_>) {
        if event.is_sent {
            return;
        }
        let new = self.new_bytes(event.packet);
        self.counters.0[event.side.index()].fetch_add(new, Ordering::Relaxed);
    }
}

/// What a TCP packet says of its connection.
struct Segment {
    tuple: Tuple,
    /// Sequence number of the payload's beginning if it has SYN.
    start: Option<u32>,
    /// The one after the payload's end.
    end: u32,
    /// Whether FIN takes the number `end`.
    is_fin: bool,
}

fn segment(packet: &Packet) -> Option<Segment> {
    let octets = packet.ip_octets();
    let (transport, header) = tcp_header::place(octets)?;
    let tcp = &octets[transport..];
    let mut tuple = [0; 36];
    tuple[..4].copy_from_slice(&tcp[..4]);
    let addresses = addresses(octets);
    tuple[4..4 + addresses.len()].copy_from_slice(addresses);
    let has = |flag: Flags| tcp[13] & flag.bits() as u8 != 0;
    let is_syn = has(Flags::SYN);
    let first = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
    let start = first
        .wrapping_add(u32::from(is_syn))
        .wrapping_add(packet.payload_start() as u32);
    // A single packet has its TCP header in what is carried unchanged.
    let payload = match packet.shape.segment_size {
        0 => packet.payload().len().saturating_sub(header),
        _ => packet.payload().len(),
    };
    let end = start.wrapping_add(payload as u32);
    Some(Segment {
        tuple,
        start: is_syn.then_some(start),
        end,
        is_fin: has(Flags::FIN),
    })
}

fn addresses(octets: &[u8]) -> &[u8] {
    match octets[0] >> 4 {
        4 => &octets[12..IPV4_HEADER_LEN],
        _ => &octets[8..IPV6_HEADER_LEN],
    }
}

/// Payload of an unfragmented UDP packet; 0 for anything else.
fn udp_bytes(octets: &[u8]) -> u64 {
    let is_v4 = octets[0] >> 4 == 4;
    let (protocol, header, length) = match is_v4 {
        true => (
            octets[9],
            usize::from(octets[0] & 0x0f) * 4,
            usize::from(word(octets, 2)),
        ),
        false => (
            octets[6],
            IPV6_HEADER_LEN,
            IPV6_HEADER_LEN + usize::from(word(octets, 4)),
        ),
    };
    let is_fragment = is_v4 && word(octets, 6) & 0x3fff != 0;
    if protocol != UDP.0 || is_fragment {
        return 0;
    }
    (length.saturating_sub(header) as u64).saturating_sub(UDP.1)
}

#[cfg(test)]
mod tests {
    use gigatcp_linux::virtio::HEADER_LEN;

    use super::*;

    fn packet(ip: &[u8]) -> Packet {
        let mut octets = vec![0; HEADER_LEN];
        octets.extend(ip);
        Packet::read(octets.into()).unwrap()
    }

    fn ipv4(protocol: u8, rest: &[u8]) -> Vec<u8> {
        let length = (20 + rest.len()) as u16;
        let mut ip = vec![0x45, 0];
        ip.extend(length.to_be_bytes());
        ip.extend([
            0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 83, 0, 1, 10, 83, 0, 2,
        ]);
        ip.extend(rest);
        ip
    }

    fn tcp(seq: u32, flags: u8, payload: usize) -> Packet {
        let mut segment = vec![0x9c, 0x40, 0x14, 0x51];
        segment.extend(seq.to_be_bytes());
        segment.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        segment.extend(vec![7; payload]);
        packet(&ipv4(6, &segment))
    }

    #[test]
    fn retransmissions_and_headers_are_not_counted_and_a_gap_is_counted_once() {
        let mut observer = Observer {
            counters: Goodput::default(),
            highest: HashMap::new(),
        };
        let first = u32::MAX - 1000;
        let mut count = |seq: u32, flags: u8, payload: usize| {
            observer.new_bytes(&tcp(first.wrapping_add(seq), flags, payload))
        };
        assert_eq!(count(0, 0x02, 0), 0);
        assert_eq!(count(1, 0x10, 1000), 1000);
        // Sequence numbers wrap, and a segment is missing.
        assert_eq!(count(2001, 0x10, 1000), 2000);
        assert_eq!(count(1001, 0x10, 1000), 0);
        assert_eq!(count(2001, 0x10, 1500), 500);
        // FIN takes a number and is no byte, also sent again and seen in what follows.
        assert_eq!(count(3501, 0x11, 100), 100);
        assert_eq!(count(3501, 0x11, 100), 0);
        assert_eq!(count(3602, 0x10, 0), 0);
        // Another connection of the same ports, with data in its SYN.
        assert_eq!(count(900_000, 0x02, 10), 10);
        assert_eq!(count(900_011, 0x10, 5), 5);
    }

    #[test]
    fn payload_of_udp_is_counted_and_icmp_is_not() {
        assert_eq!(udp_bytes(&ipv4(17, &[0; 108])), 100);
        assert_eq!(udp_bytes(&ipv4(1, &[0; 108])), 0);
        let mut fragment = ipv4(17, &[0; 108]);
        fragment[6] = 0x20;
        assert_eq!(udp_bytes(&fragment), 0);
    }
}
