//! Nearly every packet of nearly every capture: Ethernet, IPv4 without options,
//! TCP with no options or the timestamps that every common kernel lays out the
//! same way. One look at fixed places shows whether a packet is of that kind.
//!
//! Whatever is not is left to `gigatcp_wire::link::dissect`, which reads
//! everything and comes to the same for these: a test holds them together.

use core::net::Ipv4Addr;

use gigatcp_units::Instant;
use gigatcp_wire::link::LinkType;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlocks, SeqNumber, Timestamps};

use crate::Observed;

/// Octets of the headers in front of TCP's.
const BEFORE: usize = 34;

/// The shortest packet of the kind.
const LEAST: usize = BEFORE + 20;

/// Octets of options with timestamps: two that stand for nothing, and ten.
const STAMPED: usize = 12;

/// A plain packet.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    octets: &'a [u8; LEAST],
    timestamps: Option<Timestamps>,
    payload_len: u32,
}

impl<'a> Plain<'a> {
    /// The packet, if it is one of this kind: `octets` of it were captured, on
    /// the wire it had `wire_len`.
    #[inline]
    #[must_use]
    pub fn read(link: LinkType, octets: &'a [u8], wire_len: u32) -> Option<Self> {
        let (fixed, rest) = octets.split_first_chunk::<LEAST>()?;
        // EtherType, version and length of the header; neither fragment nor
        // the mark of one to come; TCP.
        let is_ip = fixed[12..15] == [8, 0, 0x45];
        let is_whole = fixed[20] & 0x3f == 0 && fixed[21] == 0;
        if link != LinkType::ETHERNET || !is_ip || !is_whole || fixed[23] != 6 {
            return None;
        }
        let total = usize::from(u16::from_be_bytes([fixed[16], fixed[17]]));
        let options = match fixed[46] >> 4 {
            5 => 0,
            8 => STAMPED,
            _ => return None,
        };
        let headers = 40 + options;
        // Packets beyond 64 KiB say their length elsewhere.
        let is_long = wire_len as usize > 65_535 || octets.len() > 65_535;
        if total < headers || is_long {
            return None;
        }
        let timestamps = match rest {
            _ if options == 0 => None,
            [1, 1, 8, 10, a, b, c, d, e, f, g, h, ..] => Some(Timestamps {
                val: u32::from_be_bytes([*a, *b, *c, *d]),
                ecr: u32::from_be_bytes([*e, *f, *g, *h]),
            }),
            _ => return None,
        };
        // Of a SYN the options matter that these are not.
        let is_syn = fixed[47] & Flags::SYN.bits() as u8 != 0;
        (!is_syn).then_some(Self {
            octets: fixed,
            timestamps,
            payload_len: (total - headers) as u32,
        })
    }

    #[inline]
    fn long(&self, at: usize) -> u32 {
        let octets = self.octets;
        u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
    }

    #[inline]
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.octets[at], self.octets[at + 1]])
    }

    /// Which of `count` shares its connection belongs to: the same as
    /// [`Observed::share`] says.
    #[inline]
    #[must_use]
    pub fn share(&self, count: u32) -> u32 {
        let addresses = self.long(26) ^ self.long(30);
        share(addresses, self.word(34) ^ self.word(36), count)
    }

    /// All that is to be known of it.
    #[inline]
    #[must_use]
    pub fn observed(&self, at: Instant) -> Observed {
        Observed {
            at,
            endpoints: Endpoints::V4 {
                src: Ipv4Addr::from_bits(self.long(26)),
                dst: Ipv4Addr::from_bits(self.long(30)),
            },
            src_port: self.word(34),
            dst_port: self.word(36),
            seq: SeqNumber::new(self.long(38)),
            ack: SeqNumber::new(self.long(42)),
            flags: Flags::from_bits(self.word(46)),
            wnd: self.word(48),
            payload_len: self.payload_len,
            options_len: if self.timestamps.is_some() {
                STAMPED as u8
            } else {
                0
            },
            ecn: Ecn::from_bits(self.octets[15]),
            ident: self.word(18),
            timestamps: self.timestamps,
            sack: SackBlocks::default(),
            mss: None,
            window_scale: None,
            sack_permitted: false,
        }
    }
}

/// The share of a connection: the same from either end.
#[inline]
pub(crate) fn share(addresses: u32, ports: u16, count: u32) -> u32 {
    // Fibonacci hashing: what is in the low bits of the ports reaches the top.
    let word = u64::from(addresses) << 16 ^ u64::from(ports);
    let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((mixed * u64::from(count)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use gigatcp_wire::link::dissect;
    use proptest::prelude::*;

    /// A packet of the kind, or nearly.
    fn frame() -> impl Strategy<Value = (Vec<u8>, u32)> {
        let octets = prop::collection::vec(any::<u8>(), 40..120);
        let harm = prop::collection::vec((0_usize..70, any::<u8>()), 0..3);
        (octets, harm, any::<bool>(), -3_i32..70_000).prop_map(|(mut octets, harm, long, more)| {
            let mut put = |at: usize, octet: u8| {
                if let Some(place) = octets.get_mut(at) {
                    *place = octet;
                }
            };
            for (at, octet) in [8, 0, 0x45].into_iter().enumerate() {
                put(12 + at, octet);
            }
            for (at, octet) in [(20, 0x40), (21, 0), (23, 6)] {
                put(at, octet);
            }
            put(46, if long { 0x80 } else { 0x50 });
            for (at, octet) in [1, 1, 8, 10].into_iter().enumerate() {
                put(54 + at, octet);
            }
            for (at, octet) in harm {
                put(at, octet);
            }
            let wire = octets.len() as i32 + more;
            (octets, wire as u32)
        })
    }

    proptest! {
        #[test]
        fn what_is_read_at_once_is_what_the_walk_through_all_layers_finds(
            (octets, wire) in frame(),
            count in 1_u32..9,
        ) {
            let at = Instant::from_nanos(7);
            if let Some(plain) = Plain::read(LinkType::ETHERNET, &octets, wire) {
                let walked = dissect(LinkType::ETHERNET, &octets, wire);
                let walked = walked.map(|segment| Observed::new(at, &segment));
                prop_assert!(walked.is_ok(), "{walked:?}");
                let Ok(walked) = walked else { return Ok(()) };
                let plain_seen = plain.observed(at);
                prop_assert_eq!(alloc::format!("{plain_seen:?}"), alloc::format!("{walked:?}"));
                prop_assert_eq!(plain.share(count), walked.share(count));
                prop_assert!(plain.share(count) < count);
            }
        }
    }
}
