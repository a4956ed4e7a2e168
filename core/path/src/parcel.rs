//! Packets and super-packets as a path carries them.
//!
//! A path sees sizes and counts, never contents. A super-packet (as passed by TSO to a network card
//! and by GRO to a stack) is one parcel with several *wire packets* inside. Every verdict and every
//! count of this crate is about wire packets.

use crate::ack_filter::PureAck;
use crate::{Middlebox, Request, Tally};

/// Unit carried by a path: an IP packet, or a super-packet of several.
///
/// The wire packets of one parcel are of equal size, except that the last may be shorter, as a
/// stack segments contiguous data.
pub trait Parcel: Clone {
    /// Number of wire packets inside: 1 or more.
    fn wire_packets(&self) -> usize;

    /// IP bytes (headers included) of all wire packets together.
    fn ip_bytes(&self) -> u64;

    /// IP bytes of the first wire packet.
    fn leading_ip_bytes(&self) -> u64;

    /// Wire packets, IP bytes and IP bytes of the first wire packet. For parcels that can compute
    /// [`Parcel::wire_packets`], [`Parcel::ip_bytes`] and [`Parcel::leading_ip_bytes`] together at
    /// less cost.
    #[inline]
    fn sizes(&self) -> (usize, u64, u64) {
        let (count, total) = (self.wire_packets(), self.ip_bytes());
        (count, total, self.leading_ip_bytes())
    }

    /// Splits off and returns the first `n` wire packets. Only called with `n` from 1 to
    /// `wire_packets() - 1`.
    fn split_front(&mut self, n: usize) -> Self;

    /// Whether split parcels can be joined again.
    const JOINS: bool = false;

    /// Joins `next`, which was split off the same parcel just after it. Both have the same marks.
    /// Only called if [`Parcel::JOINS`].
    fn join(&mut self, next: &Self) {
        let _ = next;
    }

    /// Marks every wire packet inside with CE (RFC 3168 section 5). Returns whether the mark is
    /// new. A packet of a transport without ECN is not marked. A parcel has one mark for all; the
    /// path splits it where marks differ. By default no parcel is ECN-capable.
    fn try_mark(&mut self) -> bool {
        false
    }

    /// Whether [`Parcel::try_mark`] would succeed.
    fn is_markable(&self) -> bool {
        false
    }

    /// Whether the ECN field is ECT(1) or CE. This is the L4S identifier (RFC 9331 section
    /// 5.1).
    fn is_l4s(&self) -> bool {
        false
    }

    /// Number of the flow. It is the same for all packets of one five-tuple and direction. By
    /// default all belong to one flow.
    fn flow(&self) -> u32 {
        0
    }

    /// Numbers of source and destination. Numbers of different hosts may be equal. By default all
    /// packets are between the same two hosts.
    fn hosts(&self) -> [u16; 2] {
        [0, 0]
    }

    /// DSCP (RFC 2474).
    fn dscp(&self) -> u8 {
        0
    }

    /// Clears the ECN field of every wire packet and returns whether that changed it. Devices do
    /// this that treat the field as part of the former type of service.
    fn try_bleach(&mut self) -> bool {
        false
    }

    /// Applies a middlebox to every wire packet inside and returns whether that changed anything.
    /// Sizes stay.
    fn try_rewrite(&mut self, middlebox: &Middlebox) -> bool {
        let _ = middlebox;
        false
    }

    /// Fields that an ACK filter uses; `None` without a pure ACK. Only called on links with an ACK
    /// filter, for parcels of one wire packet.
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }

    /// Fragments the packet into at most `mtu` IP bytes each (RFC 791 section 3.2). The fragments
    /// then are its wire packets. Returns `false` if it may not be fragmented. `id` is unique to
    /// each packet. Only called with one wire packet inside, which exceeds `mtu`.
    fn try_fragment(&mut self, mtu: u64, id: u64) -> bool {
        let _ = (mtu, id);
        false
    }

    /// Request to routers that each wire packet carries; default: none.
    fn request(&self) -> Option<Request> {
        None
    }

    /// Writes a router's answer into its request. Only called with one wire packet inside that has
    /// a request.
    fn answer(&mut self, request: &Request) {
        let _ = request;
    }

    /// Corrupts the packet, so that its transport checksum fails at the receiver. Returns whether
    /// that changed it. Only called with one wire packet inside. By default a packet cannot be
    /// corrupted.
    fn try_corrupt(&mut self) -> bool {
        false
    }
}

/// Sizes of a parcel's wire packets, read once. The path keeps them so that accounting cannot
/// differ from what was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frames {
    count: usize,
    /// Size of each wire packet except the last; of a single one, unused.
    each: u64,
    /// Total size; at least `each * (count - 1)`.
    total: u64,
}

impl Frames {
    #[inline]
    pub(crate) fn of<T: Parcel>(parcel: &T) -> Self {
        let (count, total, full) = parcel.sizes();
        if count <= 1 {
            let count = 1;
            return Self {
                count,
                each: total,
                total,
            };
        }
        // A parcel with inconsistent sizes is treated as equally split.
        let is_sound = full
            .checked_mul(count as u64 - 1)
            .is_some_and(|all_but_last| all_but_last <= total);
        let each = if is_sound { full } else { total / count as u64 };
        Self { count, each, total }
    }

    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// IP bytes of wire packet `index`.
    pub(crate) const fn size(&self, index: usize) -> u64 {
        if index + 1 < self.count {
            self.each
        } else {
            self.total - self.each_times(self.count - 1)
        }
    }

    /// IP bytes of the largest wire packet.
    pub(crate) const fn largest(&self) -> u64 {
        let last = self.size(self.count - 1);
        if self.count > 1 && self.each > last {
            self.each
        } else {
            last
        }
    }

    /// Wire packets without the first `n`; at least one must be left.
    pub(crate) const fn without_front(self, n: usize) -> Self {
        debug_assert!(n < self.count, "at least one wire packet is left");
        debug_assert!(
            self.each_times(n) <= self.total,
            "wire packets together are no longer than the parcel"
        );
        Self {
            count: self.count - n,
            each: self.each,
            total: self.total - self.each_times(n),
        }
    }

    /// First `n` wire packets, fewer than all.
    pub(crate) const fn front(self, n: usize) -> Self {
        Self {
            count: n,
            each: self.each,
            total: self.each_times(n),
        }
    }

    pub(crate) const fn tally(&self) -> Tally {
        Tally::new(self.count as u64, self.total)
    }

    const fn each_times(&self, n: usize) -> u64 {
        self.each * n as u64
    }
}

/// A parcel that is split into pieces of equal verdict.
pub(crate) struct Pieces<T> {
    rest: Option<T>,
    frames: Frames,
}

impl<T: Parcel> Pieces<T> {
    pub(crate) fn new(parcel: T, frames: Frames) -> Self {
        Self {
            rest: Some(parcel),
            frames,
        }
    }

    /// Next `n` wire packets; `None` when `n` is zero or none is left. The last piece is moved,
    /// never split or copied.
    pub(crate) fn take(&mut self, n: usize) -> Option<(T, Frames)> {
        if n == 0 {
            return None;
        }
        if n >= self.frames.count {
            return self.rest.take().map(|last| (last, self.frames));
        }
        let piece = self.rest.as_mut()?.split_front(n);
        debug_assert!(
            piece.wire_packets() == n,
            "{} wire packets are cut off, {n} were to be",
            piece.wire_packets()
        );
        let sizes = self.frames.front(n);
        self.frames = self.frames.without_front(n);
        Some((piece, sizes))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Wire packets numbered from `first`, all of `size` bytes except the last.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub(crate) struct Numbered {
        pub(crate) first: u64,
        pub(crate) count: usize,
        pub(crate) size: u64,
        pub(crate) last: u64,
    }

    impl Numbered {
        pub(crate) fn several(first: u64, count: usize, size: u64, last: u64) -> Self {
            Self {
                first,
                count,
                size,
                last,
            }
        }
    }

    impl Parcel for Numbered {
        fn wire_packets(&self) -> usize {
            self.count
        }

        fn ip_bytes(&self) -> u64 {
            self.size * (self.count as u64 - 1) + self.last
        }

        fn leading_ip_bytes(&self) -> u64 {
            if self.count == 1 {
                self.last
            } else {
                self.size
            }
        }

        fn split_front(&mut self, n: usize) -> Self {
            let front = Self::several(self.first, n, self.size, self.size);
            self.first += n as u64;
            self.count -= n;
            front
        }
    }

    #[test]
    fn sizes_of_a_super_packet_with_a_short_tail_add_up() {
        let frames = Frames::of(&Numbered::several(0, 3, 1500, 200));
        assert_eq!([0, 1, 2].map(|i| frames.size(i)), [1500, 1500, 200]);
        assert_eq!(frames.tally(), Tally::new(3, 3200));
    }

    #[test]
    fn pieces_keep_sizes_and_order() {
        let parcel = Numbered::several(7, 4, 100, 30);
        let frames = Frames::of(&parcel);
        let mut pieces = Pieces::new(parcel, frames);
        assert!(pieces.take(0).is_none());
        let (front, sizes) = pieces.take(3).unwrap();
        assert_eq!((front.first, front.count), (7, 3));
        assert_eq!(sizes.tally(), Tally::new(3, 300));
        let (tail, sizes) = pieces.take(1).unwrap();
        assert_eq!((tail.first, tail.count), (10, 1));
        assert_eq!(sizes.tally(), Tally::new(1, 30));
        assert!(pieces.take(1).is_none());
    }

    /// A parcel that reports arbitrary sizes.
    #[derive(Clone)]
    struct Liar {
        count: usize,
        total: u64,
        leading: u64,
    }

    impl Parcel for Liar {
        fn wire_packets(&self) -> usize {
            self.count
        }

        fn ip_bytes(&self) -> u64 {
            self.total
        }

        fn leading_ip_bytes(&self) -> u64 {
            self.leading
        }

        fn split_front(&mut self, _: usize) -> Self {
            self.clone()
        }
    }

    #[test]
    fn a_parcel_whose_sizes_make_no_sense_is_counted_without_harm() {
        let sizes = |count, total, leading| {
            let frames = Frames::of(&Liar {
                count,
                total,
                leading,
            });
            assert_eq!(frames.tally(), Tally::new(count.max(1) as u64, total));
            (frames.size(0), frames.size(count.max(1) - 1))
        };
        assert_eq!(sizes(0, 40, 9000), (40, 40));
        assert_eq!(sizes(3, 100, 9000), (33, 34));
        assert_eq!(sizes(4, 7, u64::MAX), (1, 4));
        assert_eq!(sizes(9, 0, 0), (0, 0));
    }
}
