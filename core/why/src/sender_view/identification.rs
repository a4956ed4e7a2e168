//! IPv4 identifications of the sender's packets: the number of packets that did not pass here.
//!
//! Many hosts count the packets of a connection (Linux: one more for each segment, also within a
//! super-segment). Then a jump shows packets lost before the capture point, even if the
//! retransmission is the first copy seen. Hosts that send zeros or random numbers (RFC 6864 section
//! 4.1 allows both) give no count, and IPv6 has none.

/// The identifications of one sender.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Identifications {
    /// Identification of the next packet, if it is the next one made.
    next: Option<u16>,
    /// Number of packets with the next identification, a later one, and an earlier one.
    exact: u32,
    ahead: u32,
    behind: u32,
}

impl Identifications {
    /// Minimum distance at which a packet is not a later one.
    const FAR: u16 = 1 << 14;

    /// Processes a packet of `segments` segments; returns the number of missing packets before it.
    #[inline(always)]
    pub fn on_packet(&mut self, ident: u16, segments: u16) -> u64 {
        let behind = ident.wrapping_add(segments.max(1));
        let Some(next) = self.next else {
            self.next = Some(behind);
            return 0;
        };
        let ahead = ident.wrapping_sub(next);
        if ahead >= Self::FAR {
            // A reordered packet, or a host that does not count.
            self.behind += 1;
            return 0;
        }
        if ahead == 0 {
            self.exact += 1;
        } else {
            self.ahead += 1;
        }
        self.next = Some(behind);
        ahead.into()
    }

    /// Whether they count the packets of this connection. Offload that numbers the segments of each
    /// burst from zero goes back with every burst.
    pub const fn is_counted(&self) -> bool {
        self.exact >= 10 && self.exact >= 3 * self.ahead && self.exact >= 16 * self.behind
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_jump_is_what_did_not_pass() {
        let mut all = Identifications::default();
        let missing = |all: &mut Identifications, idents: &[u16]| -> u64 {
            idents.iter().map(|ident| all.on_packet(*ident, 1)).sum()
        };
        let first: Vec<u16> = (65_530..=65_535).chain(0..6).collect();
        assert_eq!(missing(&mut all, &first), 0);
        assert!(all.is_counted());
        assert_eq!(missing(&mut all, &[9, 8, 10]), 3);
        assert_eq!(all.on_packet(11, 4) + all.on_packet(15, 1), 0);
    }

    #[test]
    fn zeros_random_numbers_and_those_of_a_burst_count_nothing() {
        let mut bursts = Identifications::default();
        for number in 0..400_u16 {
            bursts.on_packet(number % 8, 1);
        }
        assert!(!bursts.is_counted());
        for step in [0_u16, 40_503] {
            let mut all = Identifications::default();
            for number in 0..100_u16 {
                all.on_packet(number.wrapping_mul(step), 1);
            }
            assert!(!all.is_counted());
        }
    }
}
