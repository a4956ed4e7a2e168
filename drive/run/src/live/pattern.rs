//! Content of flows in real time: bytes determined by their offset in the stream, so that the
//! reader can detect missing, duplicated and misplaced ones.

use std::sync::LazyLock;

use bytes::Bytes;

/// Period of the pattern in bytes.
///
/// It is a prime, so that no size of packets, pages or buffers can hide a displacement.
const PERIOD: usize = 65_521;

/// Bytes per write, as testers use.
pub(super) const PIECE: usize = 65_536;

static OCTETS: LazyLock<Bytes> = LazyLock::new(|| {
    let octet = |at: usize| {
        let mixed = (at as u32).wrapping_mul(0x9e37_79b9);
        (mixed >> 24) as u8
    };
    (0..PERIOD + PIECE).map(|at| octet(at % PERIOD)).collect()
});

/// Bytes from `offset` on, at most a piece of them.
pub(super) fn octets(offset: u64, most: u64) -> Bytes {
    let start = (offset % PERIOD as u64) as usize;
    let len = usize::try_from(most).map_or(PIECE, |most| most.min(PIECE));
    OCTETS.slice(start..start + len)
}

/// Whether `octets` are those from `offset` on.
pub(super) fn is_at(offset: u64, octets: &[u8]) -> bool {
    let mut at = offset;
    octets.chunks(PIECE).all(|piece| {
        let start = (at % PERIOD as u64) as usize;
        at += piece.len() as u64;
        OCTETS[start..start + piece.len()] == *piece
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_known_by_their_place_alone() {
        let whole: Vec<u8> = (0..10)
            .flat_map(|piece| octets(piece * 30_000, 30_000).to_vec())
            .collect();
        assert!(is_at(0, &whole));
        assert!(is_at(123_456, &whole[123_456..]));
        assert!(!is_at(123_457, &whole[123_456..]));
    }
}
