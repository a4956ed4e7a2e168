//! Resolves IP addresses to stations of an Ethernet: ARP (RFC 826) and Neighbor Discovery (RFC 4861
//! sections 7.1 and 7.2).
//!
//! Requests for the stack's addresses are answered. Destination addresses are resolved, and
//! resolved again every [`FRESH`] while in use (RFC 1122 section 2.3.2.1). The old entry stays in
//! use meanwhile.
//!
//! Out of scope: duplicate address detection for the stack's addresses, redirects, router
//! advertisements, unreachability detection: gateways are configured.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use gigatcp_wire::Checksum;

/// MAC address of a station.
pub type Mac = [u8; 6];

/// Bytes of an Ethernet header: destination, source, type.
pub const HEADER_LEN: usize = 14;
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const BROADCAST: Mac = [0xff; 6];

/// Operations of ARP.
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
/// Start of an ARP packet of IPv4 over Ethernet, up to the operation.
const ARP_START: [u8; 7] = [0, 1, 8, 0, 6, 4, 0];

const ICMP_V6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Option types: source and target link-layer address.
const SOURCE: u8 = 1;
const TARGET: u8 = 2;
/// Flags: solicited, override.
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Age of an answer at which the request is repeated.
const FRESH: Duration = Duration::from_secs(30);
/// Minimum time between two requests for a neighbor that does not answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum neighbors known. Each uses memory, and any station can claim many addresses.
const MOST: usize = 1024;

/// Entry of an address.
#[derive(Debug)]
struct Entry {
    mac: Option<Mac>,
    asked_at: Option<Instant>,
}

/// A frame, classified for the stack.
#[derive(PartialEq, Eq, Debug)]
pub enum Frame {
    /// An IP packet for the stack.
    Packet,
    /// A request, with the answer to send.
    Question(Vec<u8>),
    /// The address is now resolved.
    Answer(IpAddr),
    /// Any other frame.
    Other,
}

/// Neighbor cache of a stack.
#[derive(Debug)]
pub struct Neighbors {
    mac: Mac,
    /// The stack's addresses and their prefix lengths.
    addresses: Vec<(IpAddr, u8)>,
    /// Routers for all addresses outside those networks.
    gateways: Vec<IpAddr>,
    known: BTreeMap<IpAddr, Entry>,
}

impl Neighbors {
    pub fn new(mac: Mac, addresses: Vec<(IpAddr, u8)>, gateways: Vec<IpAddr>) -> Self {
        Self {
            mac,
            addresses,
            gateways,
            known: BTreeMap::new(),
        }
    }

    /// Next hop of packets for `to`; `None`: there is no route.
    pub fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        let is_near = |(ours, bits): &(IpAddr, u8)| is_of_network(to, *ours, *bits);
        if self.addresses.iter().any(is_near) {
            return Some(to);
        }
        let mut gateways = self.gateways.iter();
        let of_family = gateways.find(|gateway| gateway.is_ipv4() == to.is_ipv4());
        of_family.copied()
    }

    /// Ethernet header of IP packets for a neighbor, if it is resolved.
    pub fn header_for(&self, hop: IpAddr) -> Option<[u8; HEADER_LEN]> {
        let mac = self.known.get(&hop)?.mac?;
        let kind = if hop.is_ipv4() { IPV4 } else { IPV6 };
        Some(header(mac, self.mac, kind))
    }

    /// A request that is due for a neighbor in use.
    pub fn poll_question(&mut self, now: Instant, hop: IpAddr) -> Option<Vec<u8>> {
        if !self.known.contains_key(&hop) {
            self.learn(hop, None);
        }
        let entry = self.known.get_mut(&hop)?;
        let pause = if entry.mac.is_some() { FRESH } else { PATIENCE };
        if entry.asked_at.is_some_and(|asked| now < asked + pause) {
            return None;
        }
        entry.asked_at = Some(now);
        let same_family = |(ours, _): &&(IpAddr, u8)| ours.is_ipv4() == hop.is_ipv4();
        let (ours, _) = self.addresses.iter().find(same_family)?;
        Some(match (*ours, hop) {
            (IpAddr::V4(ours), IpAddr::V4(hop)) => {
                self.arp(REQUEST, (BROADCAST, [0; 6]), ours, hop)
            }
            (IpAddr::V6(ours), IpAddr::V6(hop)) => self.solicit(ours, hop),
            _ => return None,
        })
    }

    /// Handles an arrived frame.
    pub fn handle(&mut self, frame: &[u8]) -> Frame {
        let Some((header, body)) = frame.split_first_chunk::<HEADER_LEN>() else {
            return Frame::Other;
        };
        match u16::from_be_bytes([header[12], header[13]]) {
            ARP => self.handle_arp(body),
            IPV6 if is_discovery(body) => self.handle_discovery(body),
            IPV4 | IPV6 => Frame::Packet,
            _ => Frame::Other,
        }
    }

    fn is_ours(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|(ours, _)| *ours == address)
    }

    /// Records the address that a station announces.
    fn learn(&mut self, address: IpAddr, mac: Option<Mac>) {
        if let Some(entry) = self.known.get_mut(&address) {
            entry.mac = mac.or(entry.mac);
            return;
        }
        if self.known.len() >= MOST {
            // Stations never requested are evicted first.
            self.known.retain(|_, entry| entry.asked_at.is_some());
        }
        if self.known.len() >= MOST {
            self.known.pop_first();
        }
        let asked_at = None;
        self.known.insert(address, Entry { mac, asked_at });
    }

    fn handle_arp(&mut self, body: &[u8]) -> Frame {
        let Some(packet) = body.first_chunk::<28>() else {
            return Frame::Other;
        };
        let octets = |at: usize| [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
        let (sender, target) = (Ipv4Addr::from(octets(14)), Ipv4Addr::from(octets(24)));
        let mut mac = [0; 6];
        mac.copy_from_slice(&packet[8..14]);
        let is_for_us = self.is_ours(target.into());
        if packet[..7] != ARP_START || mac[0] & 1 != 0 {
            return Frame::Other;
        }
        if is_for_us || self.known.contains_key(&sender.into()) {
            self.learn(sender.into(), Some(mac));
        }
        match packet[7] {
            REQUEST if is_for_us => Frame::Question(self.arp(REPLY, (mac, mac), target, sender)),
            REQUEST | REPLY => Frame::Answer(sender.into()),
            _ => Frame::Other,
        }
    }

    /// An ARP packet to a station; `target` fills the target's hardware address.
    fn arp(&self, kind: u8, (to, target): (Mac, Mac), ours: Ipv4Addr, theirs: Ipv4Addr) -> Vec<u8> {
        let mut frame = header(to, self.mac, ARP).to_vec();
        frame.extend(ARP_START);
        frame.push(kind);
        frame.extend(self.mac);
        frame.extend(ours.octets());
        frame.extend(target);
        frame.extend(theirs.octets());
        frame
    }

    /// Handles neighbor discovery. Messages that violate RFC 4861 sections 7.1.1 and 7.1.2 are
    /// ignored.
    fn handle_discovery(&mut self, packet: &[u8]) -> Frame {
        let Some((ip, message)) = packet.split_first_chunk::<40>() else {
            return Frame::Other;
        };
        let len = usize::from(u16::from_be_bytes([ip[4], ip[5]]));
        let (Some(message), source) = (message.get(..len), address_at(ip, 8)) else {
            return Frame::Other;
        };
        let is_valid = ip[7] == 255
            && message.len() >= 24
            && message[1] == 0
            && sum_of(source, address_at(ip, 24), message).is_valid();
        if !is_valid {
            return Frame::Other;
        }
        let target = address_at(message, 8);
        if message[0] == ADVERTISEMENT {
            let station = option(message, TARGET);
            if station.is_some() && self.known.contains_key(&target.into()) {
                self.learn(target.into(), station);
            }
            return Frame::Answer(target.into());
        }
        if !self.is_ours(target.into()) {
            return Frame::Other;
        }
        let station = option(message, SOURCE);
        if !source.is_unspecified() && station.is_some() {
            self.learn(source.into(), station);
        }
        let (to, flags) = if source.is_unspecified() {
            (ALL_NODES, OVERRIDE)
        } else {
            (source, SOLICITED | OVERRIDE)
        };
        let mac = station.unwrap_or_else(|| multicast(ALL_NODES));
        let answer = (ADVERTISEMENT, flags, target, TARGET);
        Frame::Question(self.discovery(mac, target, to, answer))
    }

    fn solicit(&self, ours: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
        let end = target.segments();
        let to = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | (end[6] & 0xff), end[7]);
        let question = (SOLICITATION, 0, target, SOURCE);
        self.discovery(multicast(to), ours, to, question)
    }

    /// A neighbor discovery message: its type, flags, target, and the kind of its option.
    fn discovery(
        &self,
        mac: Mac,
        from: Ipv6Addr,
        to: Ipv6Addr,
        (kind, flags, target, option): (u8, u8, Ipv6Addr, u8),
    ) -> Vec<u8> {
        let mut message = vec![kind, 0, 0, 0, flags, 0, 0, 0];
        message.extend(target.octets());
        message.extend([option, 1]);
        message.extend(self.mac);
        let sum = sum_of(from, to, &message).finish();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut frame = header(mac, self.mac, IPV6).to_vec();
        frame.extend([0x60, 0, 0, 0]);
        frame.extend((message.len() as u16).to_be_bytes());
        frame.extend([ICMP_V6, 255]);
        frame.extend(from.octets());
        frame.extend(to.octets());
        frame.extend(message);
        frame
    }
}

fn header(to: Mac, from: Mac, kind: u16) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..6].copy_from_slice(&to);
    header[6..12].copy_from_slice(&from);
    header[12..].copy_from_slice(&kind.to_be_bytes());
    header
}

/// Whether an IPv6 packet without extension headers is neighbor discovery.
fn is_discovery(packet: &[u8]) -> bool {
    packet.get(6) == Some(&ICMP_V6)
        && matches!(packet.get(40), Some(&(SOLICITATION | ADVERTISEMENT)))
}

fn is_of_network(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let bits = u32::from(bits);
    match (address, network) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            let differing = one.to_bits() ^ other.to_bits();
            differing.leading_zeros() >= bits.min(32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            let differing = one.to_bits() ^ other.to_bits();
            differing.leading_zeros() >= bits.min(128)
        }
        _ => false,
    }
}

/// MAC address of a group (RFC 2464 section 7).
fn multicast(group: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}

fn address_at(octets: &[u8], at: usize) -> Ipv6Addr {
    let address: [u8; 16] = octets[at..at + 16].try_into().unwrap_or_default();
    address.into()
}

/// MAC address in an option of this kind. `None`: there is none, or options are malformed.
fn option(message: &[u8], wanted: u8) -> Option<Mac> {
    let mut options = message.get(24..)?;
    while let [kind, len, ..] = *options {
        let (one, rest) = options.split_at_checked(usize::from(len) * 8)?;
        if kind == wanted {
            return one.get(2..8)?.try_into().ok();
        }
        options = if one.is_empty() { &[] } else { rest };
    }
    None
}

/// ICMPv6 checksum (RFC 4443 section 2.3). Its pseudo header is that of RFC 8200 section 8.1.
fn sum_of(from: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> Checksum {
    let mut sum = Checksum::new();
    sum.add_octets(&from.octets());
    sum.add_octets(&to.octets());
    sum.add_octets(&(message.len() as u32).to_be_bytes());
    sum.add_octets(&[0, ICMP_V6]);
    sum.add_octets(message);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [(IpAddr, u8); 2] = [
        (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 24),
        (IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)), 64),
    ];
    const THEIRS: [(IpAddr, u8); 2] = [
        (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 24),
        (IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)), 64),
    ];
    const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 254));

    fn pair() -> [Neighbors; 2] {
        [
            Neighbors::new([2, 0, 0, 0, 0, 2], OURS.to_vec(), vec![GATEWAY]),
            Neighbors::new([2, 0, 0, 0, 0, 1], THEIRS.to_vec(), Vec::new()),
        ]
    }

    #[test]
    fn two_stations_find_each_other_by_one_question_over_either_family() {
        for (theirs, _) in THEIRS {
            let now = Instant::now();
            let [mut one, mut other] = pair();
            assert_eq!(one.header_for(theirs), None);
            let question = one.poll_question(now, theirs).unwrap();
            assert_eq!(one.poll_question(now, theirs), None, "one is on its way");
            let Frame::Question(answer) = other.handle(&question) else {
                panic!("it is for the other");
            };
            assert_eq!(one.handle(&answer), Frame::Answer(theirs));
            let header = one.header_for(theirs).unwrap();
            assert_eq!(header[..12], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
            // The target of a request learns its sender's address.
            let ours = if theirs.is_ipv4() {
                OURS[0].0
            } else {
                OURS[1].0
            };
            assert_eq!(other.header_for(ours).unwrap()[..6], [2, 0, 0, 0, 0, 2]);
            // And is requested again after a while.
            assert_eq!(one.poll_question(now + FRESH / 2, theirs), None);
            assert!(one.poll_question(now + FRESH, theirs).is_some());
        }
    }

    #[test]
    fn what_is_beyond_the_network_goes_to_the_gateway_of_its_family() {
        let [one, _] = pair();
        let far: IpAddr = Ipv4Addr::new(192, 0, 2, 1).into();
        assert_eq!(one.next_hop(far), Some(GATEWAY));
        assert_eq!(one.next_hop(THEIRS[0].0), Some(THEIRS[0].0));
        assert_eq!(one.next_hop(THEIRS[1].0), Some(THEIRS[1].0));
        assert_eq!(one.next_hop(Ipv6Addr::LOCALHOST.into()), None);
    }

    #[test]
    fn a_station_that_claims_to_be_thousands_keeps_no_neighbor_from_being_found() {
        let [mut one, mut other] = pair();
        for host in 0..3_000_u16 {
            let [high, low] = host.to_be_bytes();
            let mut claim = other.arp(
                REQUEST,
                (BROADCAST, [0; 6]),
                Ipv4Addr::new(10, 0, high + 1, low),
                Ipv4Addr::new(10, 0, 0, 2),
            );
            assert!(matches!(one.handle(&claim), Frame::Question(_)));
            // For another host it changes nothing.
            claim[41] = 9;
            assert!(matches!(one.handle(&claim), Frame::Answer(_)));
            assert!(one.known.len() <= MOST);
        }
        let (theirs, _) = THEIRS[0];
        let question = one.poll_question(Instant::now(), theirs).unwrap();
        let Frame::Question(answer) = other.handle(&question) else {
            panic!("it is for the other");
        };
        assert_eq!(one.handle(&answer), Frame::Answer(theirs));
        assert!(one.header_for(theirs).is_some());
    }

    #[test]
    fn frames_of_any_kind_are_read_or_ignored_and_fill_no_memory() {
        use rand_core::{Rng, SeedableRng};
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(2);
        let [mut one, mut other] = pair();
        let questions = THEIRS.map(|(theirs, _)| {
            let question = one.poll_question(Instant::now(), theirs).unwrap();
            assert!(matches!(other.handle(&question), Frame::Question(_)));
            question
        });
        for round in 0..100_000 {
            let mut frame = questions[round % 2].clone();
            for _ in 0..random.next_u32() % 6 {
                let at = random.next_u32() as usize % frame.len();
                frame[at] = random.next_u32() as u8;
            }
            frame.truncate(random.next_u32() as usize % 100);
            other.handle(&frame);
            assert!(other.known.len() <= MOST);
        }
    }
}
