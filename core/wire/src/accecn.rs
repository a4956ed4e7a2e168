//! The AccECN options, RFC 9768 section 3.2.3.
//!
//! Three 24-bit counters of octets received by their ECN field, in one of two
//! orders, of which the tail may be left out:
//!
//! | length | kind 172 (order 0) | kind 174 (order 1) |
//! |---|---|---|
//! | 11 | EE0B, ECEB, EE1B | EE1B, ECEB, EE0B |
//! | 8 | EE0B, ECEB | EE1B, ECEB |
//! | 5 | EE0B | EE1B |
//! | 2 | | |

use crate::Ecn;
use crate::options::option_kind;

/// Order of the counters in an AccECN option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum AccEcnOrder {
    /// Order 0, kind 172: ECT(0), CE, ECT(1).
    #[default]
    Ect0First,
    /// Order 1, kind 174: ECT(1), CE, ECT(0).
    Ect1First,
}

impl AccEcnOrder {
    /// ECN field that each counter counts, in order (RFC 9768 figure 4).
    pub const fn counts(self) -> [Ecn; 3] {
        match self {
            Self::Ect0First => [Ecn::Ect0, Ecn::Ce, Ecn::Ect1],
            Self::Ect1First => [Ecn::Ect1, Ecn::Ce, Ecn::Ect0],
        }
    }
}

/// An AccECN option.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AccEcn {
    order: AccEcnOrder,
    len: u8,
    fields: [u32; 3],
}

impl AccEcn {
    /// The largest value of a field and its modulus less one: 24 bits.
    pub const FIELD_MASK: u32 = 0x00ff_ffff;

    /// Creates the option with the first `fields` of `order`, at most three. Of each counter the 24
    /// low bits are sent (RFC 9768 section 3.2.3.1).
    pub fn new(order: AccEcnOrder, fields: &[u32]) -> Self {
        debug_assert!(
            fields.len() <= 3,
            "at most three counters (RFC 9768 section 3.2.3): {}",
            fields.len()
        );
        let mut option = Self {
            order,
            ..Self::default()
        };
        for (to, from) in option.fields.iter_mut().zip(fields) {
            *to = from & Self::FIELD_MASK;
            option.len += 1;
        }
        option
    }

    /// Reads the data after kind and length. Octets that make up no whole field, and those beyond
    /// the third, are padding (RFC 9768 section 3.2.3).
    pub(crate) fn from_octets(order: AccEcnOrder, data: &[u8]) -> Self {
        let (whole, _padding) = data.as_chunks::<3>();
        let mut option = Self {
            order,
            ..Self::default()
        };
        for (to, &[high, mid, low]) in option.fields.iter_mut().zip(whole) {
            *to = u32::from_be_bytes([0, high, mid, low]);
            option.len += 1;
        }
        option
    }

    /// Order of the counters.
    pub const fn order(&self) -> AccEcnOrder {
        self.order
    }

    /// Fields that are present.
    pub fn fields(&self) -> &[u32] {
        &self.fields[..usize::from(self.len)]
    }

    /// Field that counts octets received with that mark, if present.
    pub fn field(&self, counts: Ecn) -> Option<u32> {
        let place = self.order.counts().iter().position(|ecn| *ecn == counts)?;
        self.fields().get(place).copied()
    }

    /// Kind of the option.
    pub const fn kind(&self) -> u8 {
        match self.order {
            AccEcnOrder::Ect0First => option_kind::ACCECN_0,
            AccEcnOrder::Ect1First => option_kind::ACCECN_1,
        }
    }

    /// Number of octets of the option without padding: 2, 5, 8 or 11.
    #[inline]
    pub const fn wire_len(&self) -> usize {
        2 + 3 * self.len as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_as_in_table_5_of_rfc_9768() {
        let table: [(AccEcnOrder, [Ecn; 3]); 2] = [
            (AccEcnOrder::Ect0First, [Ecn::Ect0, Ecn::Ce, Ecn::Ect1]),
            (AccEcnOrder::Ect1First, [Ecn::Ect1, Ecn::Ce, Ecn::Ect0]),
        ];
        for (order, counted) in table {
            for (count, len) in [(0, 2), (1, 5), (2, 8), (3, 11)] {
                let option = AccEcn::new(order, &[7, 8, 9][..count]);
                assert_eq!(option.wire_len(), len);
                for (place, ecn) in counted.into_iter().enumerate() {
                    let expected = (place < count).then_some(7 + place as u32);
                    assert_eq!(option.field(ecn), expected, "{order:?} {len} {ecn:?}");
                }
                assert_eq!(option.field(Ecn::NotEct), None);
            }
        }
    }

    #[test]
    fn other_lengths_are_read_as_far_as_whole_fields_reach() {
        let octets = [0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4];
        let fields = |len: usize| {
            let option = AccEcn::from_octets(AccEcnOrder::Ect1First, &octets[..len]);
            option.fields().len()
        };
        assert_eq!(
            [0, 1, 2, 3, 5, 6, 8, 9, 12].map(fields),
            [0, 0, 0, 1, 1, 2, 2, 3, 3]
        );
    }
}
