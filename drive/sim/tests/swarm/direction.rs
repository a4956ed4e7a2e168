//! One direction between two engines: real packets with real data.
//!
//! Every segment is cut into wire segments, written with its IP header and read again at the far
//! end, checksums verified. In some simulations it is carried whole as a super-segment instead, as
//! segmentation hardware would. Packets are lost, duplicated, reordered and corrupted. A corrupted
//! packet must not pass the checksums, except if only fields without a checksum were changed:
//! IPv6's traffic class, flow label and hop limit. Such a packet must arrive as it was sent, except
//! for the ECN field.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use gigatcp_units::{Bytes as Amount, Duration, Instant, Rate};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, IpHeader, IpVersion, Segment, append_packet, decode_packet};

use super::draw::Draw;
use super::hosts;

/// One direction.
#[derive(Debug)]
pub struct Direction {
    endpoints: Endpoints,
    delay: Duration,
    rate: Option<Rate>,
    free_at: Instant,
    loss: u64,
    duplicate: u64,
    overtaken: u64,
    damage: u64,
    /// Whether super-segments are carried whole.
    whole: bool,
    draw: Draw,
    under_way: BTreeMap<(Instant, u64), Cargo>,
    number: u64,
}

#[derive(Debug)]
enum Cargo {
    Packet {
        octets: Bytes,
        damage: Option<Damage>,
    },
    Whole(Segment<Bytes>),
}

/// An inverted bit.
#[derive(Clone, Copy, Debug)]
struct Damage {
    place: usize,
    bit: u8,
}

impl Damage {
    /// Inverts the bit: corrupts intact data, and restores corrupted data.
    fn turn(self, octets: &mut [u8]) {
        octets[self.place] ^= 1 << self.bit;
    }

    /// Whether a checksum covers the bit.
    ///
    /// IPv6 has no header checksum, and the pseudo-header contains only addresses, length and next
    /// header (RFC 8200 section 8.1).
    fn is_covered(self, ip: IpVersion) -> bool {
        const HOP_LIMIT: usize = 7;
        let in_version = self.place == 0 && self.bit >= 4;
        ip == IpVersion::V4 || in_version || !matches!(self.place, 0..=3 | HOP_LIMIT)
    }
}

/// Addresses of the packets from end `from`.
pub fn endpoints(ip: IpVersion, from: usize) -> Endpoints {
    match ip {
        IpVersion::V4 => {
            let addresses = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
            Endpoints::V4 {
                src: addresses[from],
                dst: addresses[1 - from],
            }
        }
        IpVersion::V6 => {
            let at = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
            let addresses = [at(1), at(2)];
            Endpoints::V6 {
                src: addresses[from],
                dst: addresses[1 - from],
            }
        }
    }
}

impl Direction {
    /// A random direction from end `from`.
    pub fn new(seed: u64, from: usize) -> Self {
        let mut draw = Draw::new(seed, ["way 0", "way 1"][from]);
        let endpoints = endpoints(hosts::ip(seed), from);
        let chance = |draw: &mut Draw, most| {
            if draw.chance(60) {
                0
            } else {
                draw.between(1, most)
            }
        };
        Self {
            endpoints,
            delay: draw.span(Duration::from_nanos(1), Duration::from_millis(200)),
            rate: draw
                .chance(50)
                .then(|| Rate::from_bps(draw.magnitude(500_000, 1_000_000_000))),
            free_at: Instant::ZERO,
            loss: chance(&mut draw, 10),
            duplicate: chance(&mut draw, 10),
            overtaken: chance(&mut draw, 20),
            damage: chance(&mut draw, 5),
            whole: draw.chance(30),
            draw,
            under_way: BTreeMap::new(),
            number: 0,
        }
    }

    fn ip(&self) -> IpVersion {
        match self.endpoints {
            Endpoints::V4 { .. } => IpVersion::V4,
            Endpoints::V6 { .. } => IpVersion::V6,
        }
    }

    /// Checks a corrupted packet that passed the checksums.
    ///
    /// None may cover the changed bit, and the segment read must be the one sent.
    fn check_harmless(
        &self,
        octets: &[u8],
        damage: Damage,
        read: (IpHeader, &Segment<Bytes>),
    ) -> Result<(), String> {
        if damage.is_covered(self.ip()) {
            return Err(format!("a damaged packet passed the checksums: {damage:?}"));
        }
        let mut mended = octets.to_vec();
        damage.turn(&mut mended);
        let sent = decode_packet(&mended);
        let (_, decoded) = sent.map_err(|error| format!("mended it cannot be read: {error}"))?;
        let mut sent = decoded.map_payload(Bytes::copy_from_slice);
        sent.ecn = read.1.ecn;
        if read.0.endpoints != self.endpoints || sent != *read.1 {
            return Err(format!(
                "damage of {damage:?} changed the segment: {read:?}"
            ));
        }
        Ok(())
    }

    /// Whether everything that enters comes out intact.
    pub fn is_reliable(&self) -> bool {
        self.loss == 0 && self.damage == 0
    }

    /// Whether corruption may set the ECN field.
    pub fn harms_ecn(&self) -> bool {
        self.damage > 0 && self.ip() == IpVersion::V6
    }

    /// When the next packet reaches the far end.
    pub fn next(&self) -> Instant {
        let first = self.under_way.first_key_value();
        first.map_or(Instant::FAR_FUTURE, |((at, _), _)| *at)
    }

    /// Whether nothing is in transit.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Sends a segment.
    pub fn send(&mut self, now: Instant, segment: Segment<Bytes>) -> Result<(), String> {
        if self.whole {
            self.launch_all(now, Cargo::Whole(segment));
            return Ok(());
        }
        for segment in segment.into_wire_segments() {
            self.send_wire_segment(now, &segment)?;
        }
        Ok(())
    }

    fn send_wire_segment(&mut self, now: Instant, segment: &Segment<Bytes>) -> Result<(), String> {
        let header = IpHeader::new(self.endpoints);
        let mut octets = Vec::new();
        append_packet(&header, segment, &mut octets)
            .map_err(|error| format!("cannot be written to the wire: {error}: {segment:?}"))?;
        let damage = self.draw.chance(self.damage).then(|| Damage {
            place: self.draw.between(0, octets.len() as u64 - 1) as usize,
            bit: self.draw.between(0, 7) as u8,
        });
        if let Some(damage) = damage {
            damage.turn(&mut octets);
        }
        let cargo = Cargo::Packet {
            octets: octets.into(),
            damage,
        };
        self.launch_all(now, cargo);
        Ok(())
    }

    /// Puts the packet on the path, sometimes twice, or not at all.
    fn launch_all(&mut self, now: Instant, cargo: Cargo) {
        let again = self.draw.chance(self.duplicate).then(|| match &cargo {
            Cargo::Packet { octets, damage } => Cargo::Packet {
                octets: octets.clone(),
                damage: *damage,
            },
            Cargo::Whole(segment) => Cargo::Whole(segment.clone()),
        });
        if !self.draw.chance(self.loss) {
            self.launch(now, cargo);
        }
        if let Some(again) = again {
            self.launch(now, again);
        }
    }

    fn launch(&mut self, now: Instant, cargo: Cargo) {
        let octets = match &cargo {
            Cargo::Packet { octets, .. } => octets.len(),
            Cargo::Whole(segment) => self.endpoints.header_len() + 20 + segment.payload.len(),
        };
        let service = self.rate.map_or(Duration::ZERO, |rate| {
            rate.time_for(Amount::new(octets as u64))
        });
        self.free_at = self.free_at.max(now) + service;
        let mut at = self.free_at + self.delay;
        if self.draw.chance(self.overtaken) {
            at += self.draw.span(Duration::ZERO, Duration::from_millis(60));
        }
        self.number += 1;
        self.under_way.insert((at, self.number), cargo);
    }

    /// Next segment that has reached the far end intact by `now`.
    pub fn deliver(&mut self, now: Instant) -> Result<Option<Segment<Bytes>>, String> {
        while self.next() <= now {
            let Some((_, cargo)) = self.under_way.pop_first() else {
                break;
            };
            match cargo {
                Cargo::Whole(segment) => return Ok(Some(segment)),
                Cargo::Packet { octets, damage } => match (decode_packet(&octets), damage) {
                    (Ok((ip, segment)), damage) => {
                        let shared = segment.map_payload(|payload| octets.slice_ref(payload));
                        if let Some(damage) = damage {
                            self.check_harmless(&octets, damage, (ip, &shared))?;
                        }
                        return Ok(Some(shared));
                    }
                    (Err(_), Some(damage)) if damage.is_covered(self.ip()) => {}
                    (Err(error), _) => {
                        return Err(format!("cannot be read from the wire: {error}"));
                    }
                },
            }
        }
        Ok(None)
    }
}
