//! Receive-side scaling (RSS): a network card distributes flows over its receive queues.
//!
//! The card hashes addresses and ports of each received packet, source first. It looks the queue up
//! in a table of 128 entries, which a driver fills in turn:
//!
//! ```text
//! hash  = XOR over the set bits i of the input of key[i .. i + 32]      (1)
//! queue = (hash mod 128) mod queues                                     (2)
//! ```
//!
//! So a flow stays in one queue and is never reordered. Two flows may share a queue while another
//! is empty. If the number of queues does not divide 128, the first queues get more flows.
//!
//! Source of (1): Toeplitz hash of Krawczyk (CRYPTO 1994) with the key of Microsoft's
//! *Receive Side Scaling* verification suite; of (2): Linux's default for the table
//! (`ethtool_rxfh_indir_default`).
//!
//! Out of scope: a table that is changed while traffic runs, and filters that steer one flow to a
//! chosen queue (`ntuple`, accelerated RFS).

/// Key of the verification suite.
const KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Number of entries of the table from hash to queue.
const ENTRIES: u32 = 128;

/// Hash of a packet's addresses and ports in packet order, equation (1).
///
/// # Panics
/// If the input is longer than 36 bytes, the length for IPv6 with ports.
pub fn rss_hash(input: &[u8]) -> u32 {
    assert!(input.len() + 4 <= KEY.len(), "longer than its key");
    let mut hash = 0;
    let mut window = u32::from_be_bytes([KEY[0], KEY[1], KEY[2], KEY[3]]);
    for (byte, next) in input.iter().zip(&KEY[4..]) {
        for bit in (0..8).rev() {
            if byte >> bit & 1 == 1 {
                hash ^= window;
            }
            window = window << 1 | u32::from(next >> bit & 1);
        }
    }
    hash
}

/// Receive queue of a hash, equation (2).
pub const fn rss_queue(hash: u32, queues: u16) -> u16 {
    (hash % ENTRIES % queues as u32) as u16
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn input(source: [u8; 4], destination: [u8; 4], ports: [u16; 2]) -> Vec<u8> {
        let ports = ports.map(u16::to_be_bytes).concat();
        [&source[..], &destination, &ports].concat()
    }

    /// The verification suite for IPv4: addresses only, and with ports.
    #[test]
    fn hashes_are_those_of_the_verification_suite() {
        for (source, destination, ports, alone, with_ports) in [
            (
                [66, 9, 149, 187],
                [161, 142, 100, 80],
                [2794, 1766],
                0x323e_8fc2,
                0x51cc_c178,
            ),
            (
                [199, 92, 111, 2],
                [65, 69, 140, 83],
                [14_230, 4739],
                0xd718_262a,
                0xc626_b0ea,
            ),
            (
                [24, 19, 198, 95],
                [12, 22, 207, 184],
                [12_898, 38_024],
                0xd2d0_a5de,
                0x5c2b_394a,
            ),
            (
                [38, 27, 205, 30],
                [209, 142, 163, 6],
                [48_228, 2217],
                0x8298_9176,
                0xafc7_327f,
            ),
            (
                [153, 39, 163, 191],
                [202, 188, 127, 2],
                [44_251, 1303],
                0x5d18_09c5,
                0x10e8_28a2,
            ),
        ] {
            let input = input(source, destination, ports);
            assert_eq!(rss_hash(&input[..8]), alone, "{source:?}");
            assert_eq!(rss_hash(&input), with_ports, "{source:?}");
        }
    }

    #[test]
    fn queues_take_turns_in_the_table() {
        let queues = |hash| [1, 2, 3, 128].map(|queues| rss_queue(hash, queues));
        assert_eq!(queues(0x51cc_c178), [0, 0, 0, 0x78]);
        assert_eq!(queues(0xffff_ffff), [0, 1, 1, 127]);
        assert_eq!(queues(0x80), [0, 0, 0, 0]);
    }
}
