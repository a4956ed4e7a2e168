//! The TCP Authentication Option: RFC 5925 section 2.2.
//!
//! Kind 29, then KeyID, RNextKeyID and the message authentication code (MAC), whose length depends
//! on the algorithm; those of RFC 5926 have 12 octets. MACs of up to 16 octets are supported. The
//! engine interprets the option. This module only reads and writes it, and finds it in a segment
//! ([`authentication_place`]).

use core::ops::Range;

use crate::options::option_kind;
use crate::segment::FIXED_HEADER_LEN;

/// A TCP Authentication Option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Authentication {
    /// KeyID: the key that the MAC was made with.
    pub key_id: u8,
    /// RNextKeyID: the key that the sender is ready to receive next.
    pub r_next_key_id: u8,
    mac: [u8; Self::LONGEST_MAC],
    mac_len: u8,
}

impl Authentication {
    /// Maximum length of a MAC in octets.
    pub const LONGEST_MAC: usize = 16;

    /// Creates an option with this MAC; `None` if it is too long.
    pub fn new(key_id: u8, r_next_key_id: u8, mac: &[u8]) -> Option<Self> {
        let mut option = Self {
            key_id,
            r_next_key_id,
            mac: [0; Self::LONGEST_MAC],
            mac_len: mac.len() as u8,
        };
        option.mac.get_mut(..mac.len())?.copy_from_slice(mac);
        Some(option)
    }

    /// Message authentication code.
    pub fn mac(&self) -> &[u8] {
        &self.mac[..usize::from(self.mac_len)]
    }

    /// Number of octets of the option: kind, length, both key identifiers, MAC.
    pub(crate) const fn option_len(&self) -> usize {
        4 + self.mac_len as usize
    }

    /// Reads the data after kind and length.
    pub(crate) fn from_data(data: &[u8]) -> Option<Self> {
        let [key_id, r_next_key_id, mac @ ..] = data else {
            return None;
        };
        Self::new(*key_id, *r_next_key_id, mac)
    }
}

/// Place of the authentication option in a segment's octets. Kind and length are included. `None`
/// if there is none or the options cannot be read.
pub fn authentication_place(segment: &[u8]) -> Option<Range<usize>> {
    let words = usize::from(segment.get(12)? >> 4);
    let header = segment.get(..4 * words)?;
    let mut at = FIXED_HEADER_LEN;
    while let Some(&kind) = header.get(at) {
        match kind {
            option_kind::END => return None,
            option_kind::NO_OPERATION => at += 1,
            _ => {
                let len = usize::from(*header.get(at + 1)?);
                if len < 2 || at + len > header.len() {
                    return None;
                }
                if kind == option_kind::AUTHENTICATION {
                    return (len >= 4).then_some(at..at + len);
                }
                at += len;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_up_to_16_octets_is_held() {
        for len in 0..=16 {
            let option = Authentication::new(1, 2, &[9; 16][..len]).unwrap();
            assert_eq!(option.mac(), &[9; 16][..len]);
        }
        assert_eq!(Authentication::new(1, 2, &[9; 17]), None);
    }

    #[test]
    fn an_option_that_is_not_there_or_cut_has_no_place() {
        let mut octets = [0_u8; 40];
        octets[12] = 10 << 4;
        assert_eq!(authentication_place(&octets), None);
        octets[20..24].copy_from_slice(&[1, 1, 29, 16]);
        assert_eq!(authentication_place(&octets), Some(22..38));
        octets[23] = 19;
        assert_eq!(authentication_place(&octets), None);
        octets[23] = 3;
        assert_eq!(authentication_place(&octets), None);
        assert_eq!(authentication_place(&octets[..13]), None);
        assert_eq!(authentication_place(&[]), None);
    }
}
