//! Reassembles fragments as required by RFC 791 section 3.2 and RFC 8200 section 4.5.
//!
//! As in RFC 815, only the missing parts have to be known. Of a packet, the places of its pieces
//! are kept, and its first 256 octets, where the TCP header is. Lengths count, not octets. So a
//! snap length does no harm outside that header.
//!
//! * Fragments belong together by source, destination and identification, and
//!   in IPv4 by protocol too.
//! * They may arrive in any order. A duplicate, of the same place and length, is ignored.
//! * If fragments overlap otherwise, or contradict each other about the end, the packet is not
//!   reassembled, nor are its later fragments (RFC 5722 section 4 for IPv6; Linux does the same
//!   with IPv4).
//! * A packet has 60 seconds from its first fragment to arrive (RFC 8200 section 4.5, RFC 1122
//!   section 3.3.2), in the time of the capture.
//! * A packet with CE in a fragment has CE (RFC 3168 section 5.3).
//!
//! Memory: at most [`MAX_DATAGRAMS`] packets of at most [`MAX_PIECES`] fragments each. One more
//! makes the oldest be given up. That is a megabyte for any input.
//!
//! Out of scope: fragments inside a reassembled packet, and a memory of completed packets. Of the
//! inner packet of a tunnel only the first fragment is read. Fragments that arrive again after
//! completion begin another packet, as in a kernel. If identifications repeat within a minute, a
//! late fragment may be assigned to the next packet (RFC 4963), as in every kernel.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use super::fragment::{Fragment, Fragmentation, Piece};
use super::network::{self, LengthFrom, Packet};
use super::{Captured, DissectError, Layer, Layers, Walk};
use crate::{Ecn, Endpoints, IpHeader};

/// Maximum number of packets being reassembled.
pub const MAX_DATAGRAMS: usize = 256;

/// Maximum number of fragments of a packet: 64 KiB in fragments of 256 octets.
pub const MAX_PIECES: usize = 256;

/// Maximum time that a packet waits for its fragments.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Octets that are kept of a packet. Enough for extension headers, another IP header, and TCP's
/// with all its options.
const HEAD: usize = 256;

/// Maximum length of a packet.
const MAX_LENGTH: u32 = 65_535;

/// A packet that is being reassembled, numbered by its beginning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DatagramId(u64);

/// Result of a fragment.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// Others are missing.
    Incomplete(DatagramId),
    /// It was the last one missing: the segment of the whole packet.
    Complete(DatagramId, Result<Captured<'a>, DissectError>),
    /// It is a duplicate.
    Duplicate(DatagramId),
    /// It contradicts others, or there are too many: the packet is given up.
    Contradicts(DatagramId),
}

/// Fields common to the fragments of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    endpoints: Endpoints,
    ident: u32,
    /// IPv4 only (RFC 8200 section 4.5).
    protocol: Option<u8>,
}

/// A fragment's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    start: u16,
    end: u16,
    /// End of its captured part.
    captured: u16,
}

/// Fields of the first fragment.
#[derive(Clone, Copy, Debug)]
struct First {
    protocol: u8,
    header: IpHeader,
    layers: Layers,
    vlan: Option<u16>,
    is_routed: bool,
    ecn: Ecn,
}

#[derive(Clone, Debug)]
struct Datagram {
    id: DatagramId,
    key: Key,
    began: Instant,
    /// In order, without overlap.
    pieces: Vec<Range>,
    /// Octets that they cover.
    covered: u32,
    /// End of the last one.
    total: Option<u32>,
    first: Option<First>,
    has_ce: bool,
    is_discarded: bool,
    head: [u8; HEAD],
}

/// The packets of a capture whose fragments are being reassembled.
#[derive(Clone, Default, Debug)]
pub struct Reassembly {
    /// In the order of their first fragment to arrive.
    datagrams: VecDeque<Datagram>,
    begun: u64,
    /// A packet that was replaced by a newer one.
    displaced: Option<DatagramId>,
    /// The packet that was completed last.
    done: Option<Datagram>,
}

impl Reassembly {
    /// Accepts a fragment captured at `at`. Packets given up by then are reported by
    /// [`Self::poll_given_up`], which must be called before.
    pub fn handle_fragment(&mut self, at: Instant, fragment: &Fragment<'_>) -> Outcome<'_> {
        let index = self.find(at, fragment);
        let datagram = &mut self.datagrams[index];
        let id = datagram.id;
        match datagram.add(fragment) {
            Added::Duplicate => return Outcome::Duplicate(id),
            Added::Contradiction => {
                datagram.discard();
                return Outcome::Contradicts(id);
            }
            Added::New if !datagram.is_complete() => return Outcome::Incomplete(id),
            Added::New => {}
        }
        match self.datagrams.remove(index) {
            Some(done) => Outcome::Complete(id, self.done.insert(done).read()),
            None => Outcome::Incomplete(id),
        }
    }

    /// A packet that is given up: replaced, or timed out at `now`.
    pub fn poll_given_up(&mut self, now: Instant) -> Option<DatagramId> {
        if let Some(id) = self.displaced.take() {
            return Some(id);
        }
        let is_late = |one: &Datagram| now.saturating_since(one.began) > LIMIT;
        while self.datagrams.front().is_some_and(is_late) {
            let one = self.datagrams.pop_front()?;
            if !one.is_discarded {
                return Some(one.id);
            }
        }
        None
    }

    /// Gives up a packet before its time.
    pub fn give_up(&mut self, id: DatagramId) {
        self.datagrams.retain(|datagram| datagram.id != id);
    }

    /// Index of this fragment's packet, which may begin with it.
    fn find(&mut self, at: Instant, fragment: &Fragment<'_>) -> usize {
        let endpoints = fragment.endpoints();
        let key = Key {
            endpoints,
            ident: fragment.piece.ident,
            protocol: matches!(endpoints, Endpoints::V4 { .. }).then_some(fragment.piece.protocol),
        };
        let found = self.datagrams.iter().rposition(|datagram| {
            datagram.key == key && at.saturating_since(datagram.began) <= LIMIT
        });
        if let Some(index) = found {
            return index;
        }
        if self.datagrams.len() >= MAX_DATAGRAMS {
            let oldest = self.datagrams.pop_front();
            self.displaced = oldest
                .filter(|datagram| !datagram.is_discarded)
                .map(|datagram| datagram.id);
        }
        self.begun += 1;
        self.datagrams.push_back(Datagram {
            id: DatagramId(self.begun),
            key,
            began: at,
            pieces: Vec::new(),
            covered: 0,
            total: None,
            first: None,
            has_ce: false,
            is_discarded: false,
            head: [0; HEAD],
        });
        self.datagrams.len() - 1
    }
}

/// Relation of a fragment to the others.
enum Added {
    New,
    Duplicate,
    Contradiction,
}

impl Datagram {
    fn add(&mut self, fragment: &Fragment<'_>) -> Added {
        let Piece { offset, more, .. } = fragment.piece;
        let len = fragment.payload_len();
        let end = offset.saturating_add(len);
        let is_odd = len == 0 || more && !len.is_multiple_of(8) || end > MAX_LENGTH;
        let is_full = self.pieces.len() >= MAX_PIECES;
        if is_odd || is_full || self.is_discarded {
            return Added::Contradiction;
        }
        let captured = offset + (fragment.octets.len() as u32).min(len);
        let range = Range {
            start: offset as u16,
            end: end as u16,
            captured: captured as u16,
        };
        let place = self
            .pieces
            .partition_point(|piece| piece.start < range.start);
        let next = self.pieces.get(place);
        if next.is_some_and(|next| (next.start, next.end) == (range.start, range.end)) {
            return Added::Duplicate;
        }
        let overlaps_next = next.is_some_and(|next| next.start < range.end);
        let before = place.checked_sub(1).map(|before| self.pieces[before]);
        let overlaps_before = before.is_some_and(|before| before.end > range.start);
        if overlaps_next || overlaps_before || !self.agrees_about_end(end, more) {
            return Added::Contradiction;
        }
        self.pieces.insert(place, range);
        self.covered += len;
        if !more {
            self.total = Some(end);
        }
        self.keep(fragment);
        self.assert_invariants();
        Added::New
    }

    /// Asserts the invariants of the fragments.
    fn assert_invariants(&self) {
        debug_assert!(
            self.pieces
                .iter()
                .all(|piece| piece.start < piece.end && piece.captured <= piece.end)
                && self
                    .pieces
                    .windows(2)
                    .all(|pair| pair[0].end <= pair[1].start),
            "fragments are in order, and none is over another: {:?}",
            self.pieces
        );
        debug_assert_eq!(
            self.pieces
                .iter()
                .map(|piece| u32::from(piece.end - piece.start))
                .sum::<u32>(),
            self.covered,
            "fragments cover what they have octets for"
        );
        debug_assert!(
            self.total.is_none_or(|total| self.covered <= total),
            "fragments are inside of the packet: {} of {:?}",
            self.covered,
            self.total
        );
    }

    /// Whether a fragment that ends there leaves all others inside. `more` is false for the last
    /// one.
    fn agrees_about_end(&self, end: u32, more: bool) -> bool {
        let farthest = self.pieces.last().map_or(0, |last| u32::from(last.end));
        match self.total {
            Some(total) => more && end < total,
            None => more || farthest <= end,
        }
    }

    fn keep(&mut self, fragment: &Fragment<'_>) {
        let packet = &fragment.packet;
        self.has_ce |= packet.ecn == Ecn::Ce;
        if fragment.is_first() {
            self.first = Some(First {
                protocol: fragment.piece.protocol,
                header: packet.header,
                layers: fragment.layers,
                vlan: fragment.vlan,
                is_routed: packet.is_routed,
                ecn: packet.ecn,
            });
        }
        let start = fragment.piece.offset as usize;
        if let Some(room) = self.head.get_mut(start..) {
            let kept = room.len().min(fragment.octets.len());
            room[..kept].copy_from_slice(&fragment.octets[..kept]);
        }
    }

    /// Discards all of it except its name.
    fn discard(&mut self) {
        self.is_discarded = true;
        self.pieces = Vec::new();
    }

    /// Whether it is complete: without overlap the lengths add up to the whole.
    fn is_complete(&self) -> bool {
        self.total == Some(self.covered)
    }

    /// Number of octets captured from its beginning without a gap.
    fn captured(&self) -> usize {
        let mut to = 0;
        for piece in &self.pieces {
            if piece.start != to {
                break;
            }
            to = piece.captured;
            if piece.captured < piece.end {
                break;
            }
        }
        usize::from(to)
    }

    /// Segment of the whole packet.
    fn read(&self) -> Result<Captured<'_>, DissectError> {
        let Some(first) = self.first else {
            return Err(DissectError::Malformed { layer: Layer::Ipv4 });
        };
        let ecn = if self.has_ce { Ecn::Ce } else { first.ecn };
        let mut walk = Walk {
            octets: &self.head[..self.captured().min(HEAD)],
            wire: self.covered as usize,
            layers: first.layers,
            vlan: first.vlan,
            packet: Some(Packet {
                header: first.header,
                ecn,
                length_from: LengthFrom::Header,
                octets: &[],
                is_routed: first.is_routed,
                exceeds_wire: false,
                payload_len: self.covered as usize,
            }),
            fragment: None,
        };
        let next = network::carried(&mut walk, first.protocol)?;
        let mut read = super::go(&mut walk, next)?;
        if read.fragmentation == Fragmentation::Whole {
            read.fragmentation = Fragmentation::Reassembled;
            let missing = self
                .pieces
                .iter()
                .map(|piece| u32::from(piece.end - piece.captured));
            read.parts_missing = missing.sum::<u32>().min(read.payload_len);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
