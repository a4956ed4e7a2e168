//! Encodes bytes as base64 (RFC 4648 section 4), which a script element may contain.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends `octets` as base64 to `out`.
pub(super) fn put(out: &mut String, octets: &[u8]) {
    out.reserve(octets.len().div_ceil(3) * 4);
    for three in octets.chunks(3) {
        let word = three
            .iter()
            .fold(0_u32, |word, octet| word << 8 | u32::from(*octet));
        let word = word << (8 * (3 - three.len()));
        for place in 0..4 {
            if place > three.len() {
                out.push('=');
            } else {
                let digit = word >> (18 - 6 * place) & 63;
                out.push(char::from(ALPHABET[digit as usize]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648 section 10.
    #[test]
    fn the_vectors_of_the_rfc_hold() {
        for (octets, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = String::new();
            put(&mut out, octets.as_bytes());
            assert_eq!(out, text);
        }
    }
}
