//! The TCP Fast Open option: RFC 7413 section 4.1.1.
//!
//! Kind 34, and before IANA assigned it the experimental kind 254 with the experiment identifier
//! 0xF989 (RFC 6994; RFC 7413 appendix B). Both are read, and an answer has the form of the
//! request. A cookie has 4 to 16 octets, an even number of them; an empty one requests a cookie. An
//! option of any other length is ignored, as section 4.1.1 requires. The connection ignores one
//! outside a SYN.

/// Experiment identifier of Fast Open in options of kind 254 (RFC 7413
/// appendix B).
const EXPERIMENT: [u8; 2] = 0xf989_u16.to_be_bytes();

/// A Fast Open option: a cookie or a request for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FastOpenCookie {
    octets: [u8; Self::LONGEST],
    len: u8,
    experimental: bool,
}

impl FastOpenCookie {
    /// Maximum length of a cookie in octets.
    pub const LONGEST: usize = 16;
    /// Minimum length of a cookie in octets.
    pub const SHORTEST: usize = 4;

    /// The request for a cookie.
    pub const REQUEST: Self = Self {
        octets: [0; Self::LONGEST],
        len: 0,
        experimental: false,
    };

    /// Creates a cookie of these octets, or a request if there are none. `None` if a cookie cannot
    /// have this length.
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

    /// Cookie in the form of `other`, experimental or standard.
    #[must_use]
    pub const fn in_form_of(self, other: Self) -> Self {
        Self {
            experimental: other.experimental,
            ..self
        }
    }

    /// Cookie in the experimental form (kind 254).
    #[must_use]
    pub const fn as_experimental(self) -> Self {
        Self {
            experimental: true,
            ..self
        }
    }

    /// Whether it has the experimental form (kind 254).
    pub const fn is_experimental(&self) -> bool {
        self.experimental
    }

    /// Whether this requests a cookie.
    pub const fn is_request(&self) -> bool {
        self.len == 0
    }

    /// Octets of the cookie.
    pub fn as_slice(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }

    /// Number of octets of the option: kind, length, experiment identifier, cookie.
    pub(crate) const fn option_len(&self) -> usize {
        2 + 2 * self.experimental as usize + self.len as usize
    }

    /// Writes the data after kind and length.
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

    /// Reads the data of an option of kind 254; `None` if it is another experiment.
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
