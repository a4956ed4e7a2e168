//! Variable-length integers: seven bits a byte, in little-endian order; the eighth bit says that
//! more bytes follow (LEB128, as in DWARF 5 section 7.6).

/// Writes `value`.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a difference; small ones of either sign take one byte.
#[inline]
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, (value << 1 ^ value >> 63).cast_unsigned());
}

/// Reads from the front of `octets`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// Next byte; zero after the end.
    pub fn octet(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let octet = self.octet();
            value |= u64::from(octet & 0x7f).wrapping_shl(shift);
            shift += 7;
            if octet < 0x80 || shift > 63 {
                return value;
            }
        }
    }

    /// The next difference.
    pub fn signed(&mut self) -> i64 {
        let value = self.number();
        (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_differences_come_back() {
        let numbers = [0, 1, 127, 128, 300, 1 << 35, u64::MAX];
        let differences = [0, -1, 1, 63, -64, 64, i64::MIN, i64::MAX];
        let mut octets = Vec::new();
        numbers.iter().for_each(|value| put(&mut octets, *value));
        differences
            .iter()
            .for_each(|value| put_signed(&mut octets, *value));
        let mut reader = Reader(&octets);
        for value in numbers {
            assert_eq!(reader.number(), value);
        }
        for value in differences {
            assert_eq!(reader.signed(), value);
        }
        assert!(reader.0.is_empty());
    }
}
