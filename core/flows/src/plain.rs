//! Fast reading of nearly every packet of nearly every capture.
//!
//! Such a packet has Ethernet, IPv4 without options, and TCP without options or with timestamps in
//! the layout of every common kernel. Fields at fixed places show whether a packet is of that form.
//!
//! All other packets are left to `gigatcp_wire::link::dissect`. It reads every packet, with the
//! same result for these: a test compares both.

use core::net::Ipv4Addr;

use gigatcp_units::Instant;
use gigatcp_wire::link::{Fragmentation, LinkType};
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlocks, SeqNumber, Timestamps};

use crate::Observed;
use crate::key::Pair;
use crate::packet_summary::{Packet, PacketSummary};

/// Bytes of the headers before the TCP header.
const BEFORE: usize = 34;

/// Minimum length of such a packet.
const LEAST: usize = BEFORE + 20;

/// Bytes of options with timestamps: two NOPs, and ten.
const STAMPED: u32 = 12;

/// A plain packet.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    at: Instant,
    octets: &'a [u8; LEAST],
    /// TSval and TSecr side by side, in one word. If they were written as two words and read as
    /// one, the CPU could not forward it from pending stores.
    stamps: u64,
    is_stamped: bool,
    payload_len: u32,
    /// Bytes captured after the fixed header.
    behind: usize,
}

impl<'a> Plain<'a> {
    /// Reads the packet, if it has this form. `octets` of it were captured; `wire_len` is its
    /// length on the wire.
    #[inline(always)]
    pub fn read(at: Instant, link: LinkType, octets: &'a [u8], wire_len: u32) -> Option<Self> {
        let (fixed, rest) = octets.split_first_chunk::<LEAST>()?;
        // EtherType, version and header length; no fragment, nor more fragments to come; TCP.
        // Differences are combined, so that there is one branch.
        let odd = long(fixed, 12) & 0xffff_ff00 ^ 0x0800_4500
            | long(fixed, 20) & 0x3fff_00ff ^ 6
            | u32::from(link.0 ^ LinkType::ETHERNET.0);
        // Packets beyond 64 KiB have their length in another field.
        let is_long = (wire_len as usize | octets.len()) > 65_535;
        // A SYN has relevant options other than these.
        let is_syn = fixed[47] & Flags::SYN.bits() as u8 != 0;
        if odd != 0 || is_long || is_syn {
            return None;
        }
        let (options, stamps) = match fixed[46] >> 4 {
            5 => (0, 0),
            8 => (STAMPED, stamps(rest)?),
            _ => return None,
        };
        let total = u32::from(word(fixed, 16));
        Some(Self {
            at,
            octets: fixed,
            stamps,
            is_stamped: options > 0,
            payload_len: total.checked_sub(40 + options)?,
            behind: rest.len(),
        })
    }

    #[inline]
    fn long(&self, at: usize) -> u32 {
        long(self.octets, at)
    }

    #[inline]
    fn word(&self, at: usize) -> u16 {
        word(self.octets, at)
    }

    #[inline]
    const fn options_len(&self) -> u8 {
        if self.is_stamped { STAMPED as u8 } else { 0 }
    }

    #[inline(always)]
    fn timestamps(&self) -> Option<Timestamps> {
        self.is_stamped.then_some(Timestamps {
            val: (self.stamps >> 32) as u32,
            ecr: self.stamps as u32,
        })
    }
}

impl Packet for Plain<'_> {
    #[inline(always)]
    fn pair(&self) -> Pair {
        let addresses = u64::from(self.long(26)) << 32 | u64::from(self.long(30));
        Pair::v4(addresses, self.long(34))
    }

    #[inline(always)]
    fn summary(&self) -> PacketSummary {
        let ecn = Ecn::from_bits(self.octets[15]);
        PacketSummary {
            at: self.at,
            seq: SeqNumber::new(self.long(38)),
            ack: SeqNumber::new(self.long(42)),
            flags: Flags::from_bits(self.word(46)),
            wnd: self.word(48),
            ident: self.word(18),
            options_len: self.options_len(),
            has_sack_or_ce: ecn == Ecn::Ce,
            payload_len: self.payload_len,
            timestamps: self.timestamps(),
        }
    }

    /// Reads all fields; called only for unexpected packets.
    #[cold]
    fn observed(&self) -> Observed {
        Observed {
            at: self.at,
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
            urgent: self.word(52),
            payload_len: self.payload_len,
            uncaptured_len: {
                let captured = self.behind - usize::from(self.options_len());
                self.payload_len.saturating_sub(captured as u32)
            },
            options_len: self.options_len(),
            ecn: Ecn::from_bits(self.octets[15]),
            ident: self.word(18),
            timestamps: self.timestamps(),
            sack: SackBlocks::default(),
            mss: None,
            window_scale: None,
            sack_permitted: false,
            scale_is_cut: false,
            fragmentation: Fragmentation::Whole,
        }
    }
}

/// Reads four bytes.
#[inline]
const fn long(octets: &[u8; LEAST], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

/// Reads two bytes.
#[inline]
const fn word(octets: &[u8; LEAST], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

/// Reads timestamps from options in the usual layout.
#[inline]
fn stamps(options: &[u8]) -> Option<u64> {
    let (begin, rest) = options.split_first_chunk::<4>()?;
    let both = rest.first_chunk::<8>()?;
    (u32::from_be_bytes(*begin) == 0x0101_080a).then_some(u64::from_be_bytes(*both))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use gigatcp_wire::link::dissect;
    use proptest::prelude::*;

    /// A packet of this form, or nearly.
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
            if let Some(plain) = Plain::read(at, LinkType::ETHERNET, &octets, wire) {
                let walked = dissect(LinkType::ETHERNET, &octets, wire)
                    .map(|segment| Observed::new(at, &segment));
                prop_assert!(walked.is_ok(), "{walked:?}");
                let Ok(walked) = walked else { return Ok(()) };
                let seen = plain.observed();
                prop_assert_eq!(alloc::format!("{seen:?}"), alloc::format!("{walked:?}"));
                let summaries = [plain.summary(), walked.summary()];
                prop_assert_eq!(alloc::format!("{:?}", summaries[0]), alloc::format!("{:?}", summaries[1]));
                let pairs = [plain.pair(), walked.pair()];
                prop_assert_eq!(alloc::format!("{:?}", pairs[0]), alloc::format!("{:?}", pairs[1]));
                prop_assert!(pairs[0].share(count) < count);
            }
        }
    }
}
