//! The TCP Fast Open option: RFC 7413 section 4.1.1.
//!
//! Kind 34, and before IANA assigned it the experimental kind 254 with the
//! experiment identifier 0xF989 (RFC 6994; RFC 7413 appendix B): both are read,
//! and an answer is written in the form of the question. A cookie has 4 to 16
//! octets, an even number of them; none at all asks for one. An option of any
//! other length is ignored, as section 4.1.1 requires, and so is one outside a
//! SYN, which is for the connection to see to.

/// Experiment identifier of Fast Open in options of kind 254 (RFC 7413
/// appendix B).
const EXPERIMENT: [u8; 2] = 0xf989_u16.to_be_bytes();

/// A Fast Open option: a cookie, or the request for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FastOpenCookie {
    octets: [u8; Self::LONGEST],
    len: u8,
    experimental: bool,
}

impl FastOpenCookie {
    /// Octets of the longest cookie.
    pub const LONGEST: usize = 16;
    /// Octets of the shortest cookie.
    pub const SHORTEST: usize = 4;

    /// The request for a cookie.
    pub const REQUEST: Self = Self {
        octets: [0; Self::LONGEST],
        len: 0,
        experimental: false,
    };

    /// A cookie of these octets, or the request for one if there are none;
    /// nothing when that many octets are no cookie.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let legal = octets.is_empty()
            || ((Self::SHORTEST..=Self::LONGEST).contains(&octets.len())
                && octets.len().is_multiple_of(2));
        if !legal {
            return None;
        }
        let mut cookie = Self::REQUEST;
        cookie.octets[..octets.len()].copy_from_slice(octets);
        cookie.len = octets.len() as u8;
        Some(cookie)
    }

    /// The same in the experimental form, or in the standard one.
    #[must_use]
    pub const fn in_form_of(self, other: Self) -> Self {
        Self {
            experimental: other.experimental,
            ..self
        }
    }

    /// The same in the experimental form (kind 254).
    #[must_use]
    pub const fn as_experimental(self) -> Self {
        Self {
            experimental: true,
            ..self
        }
    }

    /// Whether it stands in an experimental option (kind 254).
    #[must_use]
    pub const fn is_experimental(&self) -> bool {
        self.experimental
    }

    /// Whether this asks for a cookie.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        self.len == 0
    }

    /// The octets of the cookie.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }

    /// Octets of the option: kind, length, experiment identifier, cookie.
    pub(crate) const fn option_len(&self) -> usize {
        2 + 2 * self.experimental as usize + self.len as usize
    }

    /// What stands behind kind and length.
    pub(crate) fn write_data(&self, mut put: impl FnMut(&[u8])) {
        if self.experimental {
            put(&EXPERIMENT);
        }
        put(self.as_slice());
    }

    /// Reads the data of an option of kind 34.
    pub(crate) fn from_data(data: &[u8]) -> Option<Self> {
        Self::new(data)
    }

    /// Reads the data of an option of kind 254; nothing when it belongs to
    /// another experiment.
    pub(crate) fn from_experiment(data: &[u8]) -> Option<Self> {
        let cookie = data.strip_prefix(&EXPERIMENT)?;
        Self::new(cookie).map(Self::as_experimental)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_has_4_to_16_octets_and_an_even_number_of_them() {
        let octets = [7; 18];
        for len in 0..=18 {
            let legal = matches!(len, 0 | 4 | 6 | 8 | 10 | 12 | 14 | 16);
            let cookie = FastOpenCookie::new(&octets[..len]);
            assert_eq!(cookie.is_some(), legal, "{len}");
            if let Some(cookie) = cookie {
                assert_eq!(cookie.as_slice(), &octets[..len]);
                assert_eq!(cookie.is_request(), len == 0);
            }
        }
    }

    #[test]
    fn an_answer_takes_the_form_of_the_question() {
        let asked = FastOpenCookie::REQUEST.as_experimental();
        let granted = FastOpenCookie::new(&[1; 8]).unwrap();
        assert!(granted.in_form_of(asked).is_experimental());
        assert!(
            !granted
                .in_form_of(FastOpenCookie::REQUEST)
                .is_experimental()
        );
    }
}
