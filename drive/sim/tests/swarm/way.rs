//! One direction between two engines: real packets, real octets.
//!
//! Every segment is cut into wire segments, written with its IP header and
//! read again at the far end, checksums verified; or, in some worlds, carried
//! whole as a super-segment, as segmentation hardware would. Packets are lost,
//! doubled, overtaken and damaged; a damaged packet must not pass the
//! checksums.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use gigatcp_units::{Bytes as Amount, Duration, Instant, Rate};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, IpHeader, IpVersion, Segment, decode_packet, encode_packet};

use super::draw::Draw;
use super::hosts;

/// One direction.
#[derive(Debug)]
pub struct Way {
    endpoints: Endpoints,
    delay: Duration,
    rate: Option<Rate>,
    free_at: Instant,
    loss: u64,
    duplicate: u64,
    overtaken: u64,
    damage: u64,
    /// Whether super-segments travel as one.
    whole: bool,
    draw: Draw,
    under_way: BTreeMap<(Instant, u64), Cargo>,
    number: u64,
}

#[derive(Debug)]
enum Cargo {
    Packet { octets: Bytes, damaged: bool },
    Whole(Segment<Bytes>),
}

/// Addresses of the packets from end `from`.
fn endpoints(ip: IpVersion, from: usize) -> Endpoints {
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

impl Way {
    /// A random way from end `from`.
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

    /// Whether everything that enters comes out unharmed.
    pub fn is_reliable(&self) -> bool {
        self.loss == 0 && self.damage == 0
    }

    /// When the next packet reaches the far end.
    pub fn next(&self) -> Instant {
        let first = self.under_way.first_key_value();
        first.map_or(Instant::FAR_FUTURE, |((at, _), _)| *at)
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// A segment enters.
    pub fn send(&mut self, now: Instant, mut segment: Segment<Bytes>) -> Result<(), String> {
        if self.whole {
            self.launch_all(now, Cargo::Whole(segment));
            return Ok(());
        }
        while segment.wire_segments() > 1 {
            let first = segment.split_front(1);
            self.send_wire_segment(now, &first)?;
        }
        self.send_wire_segment(now, &segment)
    }

    fn send_wire_segment(&mut self, now: Instant, segment: &Segment<Bytes>) -> Result<(), String> {
        let header = IpHeader::new(self.endpoints);
        let mut octets = Vec::new();
        encode_packet(&header, segment, usize::MAX, &mut octets)
            .map_err(|error| format!("cannot be written to the wire: {error}: {segment:?}"))?;
        let damaged = self.draw.chance(self.damage);
        if damaged {
            let place = self.draw.between(0, octets.len() as u64 - 1) as usize;
            octets[place] ^= 1 << self.draw.between(0, 7);
        }
        let octets = octets.into();
        self.launch_all(now, Cargo::Packet { octets, damaged });
        Ok(())
    }

    /// The packet, and now and then a second copy of it; or neither.
    fn launch_all(&mut self, now: Instant, cargo: Cargo) {
        let again = self.draw.chance(self.duplicate).then(|| match &cargo {
            Cargo::Packet { octets, damaged } => Cargo::Packet {
                octets: octets.clone(),
                damaged: *damaged,
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

    /// The next segment that has reached the far end by `now` unharmed.
    pub fn deliver(&mut self, now: Instant) -> Result<Option<Segment<Bytes>>, String> {
        while self.next() <= now {
            let Some((_, cargo)) = self.under_way.pop_first() else {
                break;
            };
            match cargo {
                Cargo::Whole(segment) => return Ok(Some(segment)),
                Cargo::Packet { octets, damaged } => match decode_packet(&octets) {
                    Ok(_) if damaged => return Err("a damaged packet passed the checksums".into()),
                    Ok((_, segment)) => return Ok(Some(segment)),
                    Err(_) if damaged => {}
                    Err(error) => return Err(format!("cannot be read from the wire: {error}")),
                },
            }
        }
        Ok(None)
    }
}
