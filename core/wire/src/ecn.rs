//! The ECN field of IP, RFC 3168 section 5.
//!
//! It belongs to the packet but is used between transports and queues, so it travels with the
//! [`crate::Segment`]: one mark for all the wire segments of a super-segment. A path splits a
//! super-segment where marks differ.

/// The ECN field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct,
    /// ECT(1), since RFC 9331 the mark of L4S.
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Codepoint in the low two bits of `octet`.
    pub const fn from_bits(octet: u8) -> Self {
        match octet & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Codepoint as two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Whether a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// Marks the packet CE; returns whether the mark is new. A packet that is not capable stays as
    /// it is (RFC 3168 section 5), and a marked one stays marked.
    pub fn try_mark(&mut self) -> bool {
        let is_new = matches!(self, Self::Ect0 | Self::Ect1);
        if is_new {
            *self = Self::Ce;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_are_those_of_rfc_3168_figure_1() {
        let figure = [
            (0, Ecn::NotEct),
            (1, Ecn::Ect1),
            (2, Ecn::Ect0),
            (3, Ecn::Ce),
        ];
        for (bits, ecn) in figure {
            assert_eq!(Ecn::from_bits(bits | 0xfc), ecn);
            assert_eq!(ecn.bits(), bits);
        }
    }

    #[test]
    fn only_a_capable_packet_without_a_mark_takes_one() {
        let marked = |mut ecn: Ecn| (ecn.try_mark(), ecn);
        assert_eq!(marked(Ecn::NotEct), (false, Ecn::NotEct));
        assert_eq!(marked(Ecn::Ect1), (true, Ecn::Ce));
        assert_eq!(marked(Ecn::Ect0), (true, Ecn::Ce));
        assert_eq!(marked(Ecn::Ce), (false, Ecn::Ce));
    }
}
