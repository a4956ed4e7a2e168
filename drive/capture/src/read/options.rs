//! Options of pcapng blocks (draft-ietf-opsawg-pcapng section 3.5): code, length, value padded to
//! 32 bits, in the byte order of the section.

/// End of options.
const END: u16 = 0;
/// A comment, in every kind of block.
const COMMENT: u16 = 1;

/// The byte order of a file or section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Order {
    /// Little-endian.
    #[default]
    Little,
    /// Big-endian.
    Big,
}

impl Order {
    /// Reads two bytes at `at`.
    ///
    /// # Panics
    /// If they are beyond the end.
    #[inline]
    pub fn u16(self, octets: &[u8], at: usize) -> u16 {
        let two = [octets[at], octets[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(two),
            Self::Big => u16::from_be_bytes(two),
        }
    }

    /// Reads four bytes at `at`.
    ///
    /// # Panics
    /// If they are beyond the end.
    #[inline]
    pub fn u32(self, octets: &[u8], at: usize) -> u32 {
        let mut four = [0; 4];
        four.copy_from_slice(&octets[at..at + 4]);
        match self {
            Self::Little => u32::from_le_bytes(four),
            Self::Big => u32::from_be_bytes(four),
        }
    }

    /// Reads eight bytes at `at`.
    ///
    /// # Panics
    /// If they are beyond the end.
    pub fn u64(self, octets: &[u8], at: usize) -> u64 {
        let mut eight = [0; 8];
        eight.copy_from_slice(&octets[at..at + 8]);
        match self {
            Self::Little => u64::from_le_bytes(eight),
            Self::Big => u64::from_be_bytes(eight),
        }
    }
}

/// The unparsed options of one block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options<'a> {
    pub(super) octets: &'a [u8],
    pub(super) order: Order,
}

impl<'a> Options<'a> {
    /// Code and value of each option. It stops at the end or at an implausible length.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let Self { mut octets, order } = *self;
        std::iter::from_fn(move || {
            if octets.len() < 4 {
                return None;
            }
            let (code, len) = (order.u16(octets, 0), usize::from(order.u16(octets, 2)));
            let value = octets.get(4..4 + len)?;
            if code == END {
                return None;
            }
            let next = (4 + len).next_multiple_of(4).min(octets.len());
            octets = &octets[next..];
            Some((code, value))
        })
    }

    /// Comments; those not in UTF-8 are left out.
    pub fn comments(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let comments = self.iter().filter(|(code, _)| *code == COMMENT);
        comments.filter_map(|(_, value)| str::from_utf8(value).ok())
    }

    /// Byte order of numbers in the values.
    pub const fn order(&self) -> Order {
        self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_both_orders_up_to_the_end() {
        let little = [
            1, 0, 3, 0, b'a', b'b', b'c', 0, 2, 0, 4, 0, 1, 2, 3, 4, 0, 0, 0, 0, 9,
        ];
        let big = [
            0, 1, 0, 3, b'a', b'b', b'c', 0, 0, 2, 0, 4, 1, 2, 3, 4, 0, 0, 0, 0, 9,
        ];
        for (octets, order) in [(&little, Order::Little), (&big, Order::Big)] {
            let options = Options { octets, order };
            let all: Vec<_> = options.iter().collect();
            assert_eq!(all, [(1, &b"abc"[..]), (2, &[1, 2, 3, 4])]);
            assert_eq!(options.comments().collect::<Vec<_>>(), ["abc"]);
        }
    }

    #[test]
    fn a_length_beyond_the_block_ends_the_list() {
        let octets = [1, 0, 200, 0, b'a'];
        let order = Order::Little;
        assert_eq!(
            Options {
                octets: &octets,
                order
            }
            .iter()
            .next(),
            None
        );
    }
}
