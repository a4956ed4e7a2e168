//! Corruption of packets in both directions.
//!
//! The port of a connection decides its kind of corruption:
//!
//! * [`VICTIM_PORT`]: any flipped bits, with correct checksums. The connection may fail in any
//!   way.
//! * All other ports: only corruption that a checksum detects (flipped bits, wrong lengths,
//!   truncation). The corrupted packet replaces the packet or is added. Further copies have a
//!   wrong offload header. Every octet of these connections must arrive.
//!
//! Some corruption is not detected by a checksum (two bits at the same place of two words). Such
//! packets are discarded.

use gigatcp_emulate::{Packet, wire_octets};
use gigatcp_linux::virtio::{HEADER_LEN, VirtioHeader};
use gigatcp_wire::{Checksum, IpHeader, TCP_PROTOCOL, verify_checksum};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::relay::{Direction, PacketFilter};

/// Port of connections with undetectable corruption. It differs from all other ports in use by
/// more bits than one corruption flips.
pub const VICTIM_PORT: u16 = 0b0011_1111_1111_0000;
/// Maximum number of flipped bits per packet.
const MOST_BITS: u32 = 4;
/// One packet of this many is corrupted.
const ONE_IN: u32 = 6;

/// Corruption of packets on a [`crate::Relay`].
#[derive(Debug)]
pub struct PacketCorruptor {
    random: Pcg64Mcg,
}

impl PacketCorruptor {
    /// Creates the corruption of a seed. It is reproducible if the packets arrive in the same
    /// order.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.next_u32() as usize % end.max(1)
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.random.next_u32().is_multiple_of(n)
    }

    /// Flips some bits, mostly in the headers.
    fn turn_bits(&mut self, octets: &mut [u8]) {
        for _ in 0..=self.random.next_u32() % MOST_BITS {
            let within = if self.one_in(4) { octets.len() } else { 80 };
            let at = self.below(within.min(octets.len()));
            octets[at] ^= 1 << self.below(8);
        }
    }

    /// Corrupted form of a wire packet.
    fn corrupted(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut octets = packet.to_vec();
        match self.below(8) {
            // Truncate, sometimes with matching lengths.
            0 | 1 => {
                octets.truncate(self.below(octets.len()));
                if self.one_in(2) {
                    count_length(&mut octets);
                }
            }
            // A wrong length field.
            2 => {
                let at = if is_v6(&octets) { 4 } else { 2 };
                let more = self.random.next_u32() as u16;
                octets[at..at + 2].copy_from_slice(&more.to_be_bytes());
            }
            // More octets than the length field states.
            3 => octets.extend((0..self.below(100)).map(|n| n as u8)),
            _ => self.turn_bits(&mut octets),
        }
        octets
    }

    /// Corrupts the packet of a connection in ways that a checksum detects.
    fn spoil_openly(&mut self, packet: &[u8], wire: &[Vec<u8>], out: &mut Vec<Vec<u8>>) {
        if self.one_in(3) {
            out.push(packet.to_vec());
            out.push(self.with_wrong_header(packet));
            return;
        }
        let at = self.below(wire.len());
        for (index, whole) in wire.iter().enumerate() {
            if index != at || !self.one_in(4) {
                out.push(plain(whole));
            }
            if index == at {
                let mut octets = self.corrupted(whole);
                if self.one_in(2) {
                    sum_ip(&mut octets);
                }
                if !is_sound(&octets) {
                    out.push(plain(&octets));
                }
            }
        }
    }

    /// Packet behind a wrong offload header.
    fn with_wrong_header(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut octets = packet.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(HEADER_LEN);
            octets[at] = match self.below(3) {
                0 => 0,
                1 => 1 << self.below(8),
                _ => self.random.next_u32() as u8,
            };
        }
        octets
    }

    /// Corrupts a packet and makes its checksums correct.
    fn spoil_at_will(&mut self, wire: &[Vec<u8>], out: &mut Vec<Vec<u8>>) {
        for whole in wire {
            let mut octets = self.corrupted(whole);
            sum_ip(&mut octets);
            sum_tcp(&mut octets);
            if self.one_in(2) {
                out.push(plain(whole));
            }
            let made = plain(&octets);
            out.push(if self.one_in(4) {
                self.with_wrong_header(&made)
            } else {
                made
            });
        }
    }
}

impl PacketFilter for PacketCorruptor {
    fn on_packet(&mut self, _: Direction, packet: &[u8], out: &mut Vec<Vec<u8>>) {
        let read = Packet::read(packet.to_vec().into());
        let (true, Ok(whole)) = (self.one_in(ONE_IN), read) else {
            out.push(packet.to_vec());
            return;
        };
        let mut wire = Vec::new();
        wire_octets(&whole, &mut Vec::new(), |octets| wire.push(octets.to_vec()));
        if self.one_in(8) {
            // An empty packet would mean the end of the wire.
            let junk = (0..=self.below(200))
                .map(|_| self.random.next_u32() as u8)
                .collect();
            out.push(junk);
        }
        if has_port(&wire[0], VICTIM_PORT) {
            self.spoil_at_will(&wire, out);
        } else {
            self.spoil_openly(packet, &wire, out);
        }
    }
}

/// Packet behind an empty offload header.
fn plain(packet: &[u8]) -> Vec<u8> {
    [&VirtioHeader::default().encode(), packet].concat()
}

fn is_v6(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 6)
}

/// Offset of the TCP header in own packets, which have no IP options.
fn transport(packet: &[u8]) -> usize {
    if is_v6(packet) { 40 } else { 20 }
}

fn has_port(packet: &[u8], port: u16) -> bool {
    let at = transport(packet);
    let ports = packet.get(at..at + 4);
    ports.is_some_and(|ports| ports.chunks(2).any(|found| found == port.to_be_bytes()))
}

/// Sets the length of the IP header to the actual length.
fn count_length(packet: &mut [u8]) {
    let len = if is_v6(packet) {
        packet.len().saturating_sub(40)
    } else {
        packet.len()
    };
    let at = if is_v6(packet) { 4 } else { 2 };
    if let Some(field) = packet.get_mut(at..at + 2) {
        field.copy_from_slice(&(len as u16).to_be_bytes());
    }
}

/// Makes the checksum of an IPv4 header correct.
fn sum_ip(packet: &mut [u8]) {
    if is_v6(packet) {
        return;
    }
    if let Some(header) = packet.get_mut(..20) {
        header[10..12].fill(0);
        let mut sum = Checksum::new();
        sum.add_octets(header);
        header[10..12].copy_from_slice(&sum.finish().to_be_bytes());
    }
}

/// Makes the TCP checksum correct if the headers are valid.
fn sum_tcp(packet: &mut [u8]) {
    let Ok((ip, carried)) = IpHeader::decode(packet) else {
        return;
    };
    let end = carried.start + carried.len;
    let Some(tcp) = packet.get_mut(carried.start..end) else {
        return;
    };
    if tcp.len() >= 20 {
        tcp[16..18].fill(0);
        let mut sum = Checksum::pseudo_header(&ip.endpoints, tcp.len() as u32);
        sum.add_octets(tcp);
        tcp[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    }
}

/// Whether the checksums fail to detect the corruption.
fn is_sound(packet: &[u8]) -> bool {
    let Ok((ip, carried)) = IpHeader::decode(packet) else {
        return false;
    };
    let end = carried.start + carried.len;
    let is_whole = |tcp: &[u8]| verify_checksum(&ip.endpoints, tcp);
    carried.header_checksum_is_valid
        && carried.protocol == TCP_PROTOCOL
        && packet.get(carried.start..end).is_some_and(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_wire::bytes::Bytes;
    use gigatcp_wire::{Endpoints, Segment, append_packet};

    fn packet(is_v6: bool, port: u16) -> Vec<u8> {
        let endpoints = if is_v6 {
            Endpoints::new("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap())
        } else {
            Endpoints::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap())
        };
        let segment = Segment {
            src_port: 40_000,
            dst_port: port,
            payload: Bytes::from(vec![9; 600]),
            ..Segment::default()
        };
        let header = IpHeader::new(endpoints.unwrap());
        let mut octets = Vec::new();
        append_packet(&header, &segment, &mut octets).unwrap();
        plain(&octets)
    }

    #[test]
    fn of_most_connections_nothing_is_spoilt_that_no_checksum_tells() {
        let mut packet_corruptor = PacketCorruptor::new(1);
        let mut corrupted = 0;
        for round in 0..50_000 {
            let whole = packet(round % 2 == 1, 81);
            let mut out = Vec::new();
            packet_corruptor.on_packet(Direction::FromEngine, &whole, &mut out);
            for made in &out {
                if made.len() > HEADER_LEN && made[HEADER_LEN..] != whole[HEADER_LEN..] {
                    corrupted += 1;
                    assert!(!is_sound(&made[HEADER_LEN..]), "{made:?}");
                }
            }
        }
        assert!(corrupted > 3_000, "{corrupted}");
    }

    #[test]
    fn of_victims_packets_with_right_checksums_are_other_ones() {
        let mut packet_corruptor = PacketCorruptor::new(2);
        let mut corrupted = 0;
        for round in 0..5_000 {
            let whole = packet(round % 2 == 1, VICTIM_PORT);
            let mut out = Vec::new();
            packet_corruptor.on_packet(Direction::FromKernel, &whole, &mut out);
            let differs = |made: &&Vec<u8>| {
                made.len() > HEADER_LEN
                    && made[HEADER_LEN..] != whole[HEADER_LEN..]
                    && is_sound(&made[HEADER_LEN..])
            };
            corrupted += out.iter().filter(differs).count();
        }
        assert!(corrupted > 300, "{corrupted}");
    }
}
