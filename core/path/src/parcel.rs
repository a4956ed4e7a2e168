//! What a path carries.
//!
//! A path sees sizes and counts, never contents. A super-packet (the shape
//! that TSO hands to a network card and GRO hands to a stack) is one parcel
//! with several *wire packets* inside; every verdict and every count of this
//! crate is about wire packets.

use crate::ack_filter::PureAck;
use crate::{Middlebox, Request, Tally};

/// What a path carries: an IP packet, or a super-packet of several.
///
/// The wire packets of one parcel are of equal size, except that the last may
/// be shorter: the shape in which a stack cuts a stretch of data.
pub trait Parcel: Clone {
    /// Number of wire packets inside: 1 or more.
    fn wire_packets(&self) -> usize;

    /// IP octets (headers included) of all wire packets together.
    fn ip_bytes(&self) -> u64;

    /// IP octets of the first wire packet.
    fn leading_ip_bytes(&self) -> u64;

    /// [`Parcel::wire_packets`], [`Parcel::ip_bytes`] and
    /// [`Parcel::leading_ip_bytes`], for parcels that know them cheaper
    /// together.
    #[inline]
    fn sizes(&self) -> (usize, u64, u64) {
        let (count, total) = (self.wire_packets(), self.ip_bytes());
        (count, total, self.leading_ip_bytes())
    }

    /// Cuts off and returns the first `n` wire packets. Only called with `n`
    /// from 1 to `wire_packets() - 1`.
    fn split_front(&mut self, n: usize) -> Self;

    /// Whether what was cut apart can be joined again.
    const JOINS: bool = false;

    /// Takes in `next`, which was cut off the same parcel just behind it and has the
    /// same marks. Only called where [`Parcel::JOINS`].
    fn join(&mut self, next: &Self) {
        let _ = next;
    }

    /// Marks every wire packet inside as having met congestion (RFC 3168
    /// section 5) and says whether the mark is new: a packet whose transport
    /// does not speak ECN takes none. A parcel has one mark for all; where
    /// marks differ the path splits it. By default nothing speaks ECN.
    fn try_mark(&mut self) -> bool {
        false
    }

    /// Whether [`Parcel::try_mark`] would succeed.
    fn takes_mark(&self) -> bool {
        false
    }

    /// Whether the ECN field is ECT(1) or CE, the identifier of low-latency service
    /// (RFC 9331 section 5.1).
    fn is_l4s(&self) -> bool {
        false
    }

    /// Number of the flow: the same for all packets of one five-tuple and direction.
    /// By default all are of one flow.
    fn flow(&self) -> u32 {
        0
    }

    /// Clears the ECN field of every wire packet, as a box that takes it for a
    /// part of the old type of service does; says whether that changed it.
    fn try_bleach(&mut self) -> bool {
        false
    }

    /// Does to every wire packet inside what a middlebox does to it, and says whether that
    /// changed anything. Sizes stay.
    fn try_rewrite(&mut self, middlebox: &Middlebox) -> bool {
        let _ = middlebox;
        false
    }

    /// What an ACK filter reads of it; `None` if it is not a segment that does nothing but
    /// acknowledge. Read only on links with an ACK filter, and only of parcels of one
    /// wire packet.
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }

    /// Cuts the packet into fragments of at most `mtu` IP bytes (RFC 791 section 3.2), which
    /// then are its wire packets; `false` if it may not be cut. `id` is a number of its own
    /// for each packet. Only called where one wire packet is inside, a larger one.
    fn try_fragment(&mut self, mtu: u64, id: u64) -> bool {
        let _ = (mtu, id);
        false
    }

    /// Returns the request to routers that each wire packet carries; by default none.
    fn request(&self) -> Option<Request> {
        None
    }

    /// Writes into its request what a router has made of it. Only called with one wire
    /// packet inside that has a request.
    fn answer(&mut self, request: &Request) {
        let _ = request;
    }

    /// Damages the packet, so that the checksum of its transport fails at the receiver;
    /// says whether that changed it. Only called where one wire packet is inside. By
    /// default nothing can be damaged.
    fn try_corrupt(&mut self) -> bool {
        false
    }
}

/// The sizes of a parcel's wire packets, read once and then kept by the path
/// so that accounting cannot drift from what was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frames {
    count: usize,
    /// Size of each wire packet but the last; of a lone one, unused.
    each: u64,
    /// All together; at least `each * (count - 1)`.
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
        // A parcel whose sizes do not add up is taken as equally cut.
        let is_sound = full
            .checked_mul(count as u64 - 1)
            .is_some_and(|all_but_last| all_but_last <= total);
        let each = if is_sound { full } else { total / count as u64 };
        Self { count, each, total }
    }

    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// IP octets of wire packet `index`.
    pub(crate) const fn size(&self, index: usize) -> u64 {
        if index + 1 < self.count {
            self.each
        } else {
            self.total - self.each_times(self.count - 1)
        }
    }

    /// IP octets of the largest wire packet.
    pub(crate) const fn largest(&self) -> u64 {
        let last = self.size(self.count - 1);
        if self.count > 1 && self.each > last {
            self.each
        } else {
            last
        }
    }

    /// The wire packets without the first `n`; at least one must be left.
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

    /// The first `n` wire packets, fewer than all.
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

/// A parcel on the way through a verdict per wire packet, handed on in pieces
/// of equal verdict.
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

    /// The next `n` wire packets; nothing when `n` is zero or none is left.
    /// The last piece is moved, never split or copied.
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

    /// Wire packets numbered from `first`, all of `size` octets but the last.
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

    /// A parcel that says of itself whatever it likes.
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
