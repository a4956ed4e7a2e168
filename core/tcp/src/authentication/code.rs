//! From master key to traffic key to code: RFC 5926 sections 3.1 and 3.2.
//!
//! ```text
//! traffic key = KDF(master key, 1 | "TCP-AO" | context | length in bits)
//! context     = source, destination, ports, both initial sequence numbers
//! code        = MAC(traffic key, SNE | pseudo-header | TCP header | text)
//! ```
//!
//! In the header, checksum and code are zero. If options are not covered, the authentication
//! option alone represents them (RFC 5925 section 5.1). Both algorithms yield 96 bits.

use core::net::IpAddr;

use aes::Aes128;
use cmac::Cmac;
use gigatcp_wire::{Endpoints, FIXED_HEADER_LEN, TCP_PROTOCOL, authentication_place};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use super::{Algorithm, Direction};

/// Octets in a code.
pub(crate) const CODE_LEN: usize = 12;

const LABEL: &[u8] = b"TCP-AO";

/// Octets of the longest traffic key.
const LONGEST_KEY: usize = 20;

/// Traffic key, which produces the codes of one direction. `Debug` does not show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TrafficKey {
    algorithm: Algorithm,
    octets: [u8; LONGEST_KEY],
}

impl core::fmt::Debug for TrafficKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "TrafficKey({:?})", self.algorithm)
    }
}

impl TrafficKey {
    /// The octets of the key.
    pub fn as_slice(&self) -> &[u8] {
        &self.octets[..key_len(self.algorithm)]
    }
}

const fn key_len(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::HmacSha1 => 20,
        Algorithm::Aes128Cmac => 16,
    }
}

/// Computation of a code in progress.
#[expect(
    clippy::large_enum_variant,
    reason = "on the stack for one segment; a box would be an allocation for each"
)]
enum Code {
    Sha1(Hmac<Sha1>),
    Aes(Cmac<Aes128>),
}

impl Code {
    /// Begins a code. An HMAC key may have any length; an AES key here has 16 octets.
    fn new(algorithm: Algorithm, key: &[u8]) -> Self {
        match algorithm {
            Algorithm::HmacSha1 => {
                Self::Sha1(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
            }
            Algorithm::Aes128Cmac => {
                Self::Aes(Cmac::new_from_slice(key).expect("the key has 16 octets"))
            }
        }
    }

    fn add(&mut self, octets: &[u8]) {
        match self {
            Self::Sha1(mac) => mac.update(octets),
            Self::Aes(mac) => mac.update(octets),
        }
    }

    /// Untruncated code: 20 or 16 octets.
    fn finish(self) -> [u8; LONGEST_KEY] {
        let mut whole = [0; LONGEST_KEY];
        match self {
            Self::Sha1(mac) => whole.copy_from_slice(&mac.finalize().into_bytes()),
            Self::Aes(mac) => whole[..16].copy_from_slice(&mac.finalize().into_bytes()),
        }
        whole
    }
}

/// Derives a traffic key: RFC 5926 section 3.1.1.
pub(super) fn derive(algorithm: Algorithm, secret: &[u8], direction: &Direction) -> TrafficKey {
    let mut code = match algorithm {
        Algorithm::HmacSha1 => Code::new(algorithm, secret),
        Algorithm::Aes128Cmac => Code::new(algorithm, &aes_key(secret)),
    };
    code.add(&[1]);
    code.add(LABEL);
    add_address(&mut code, direction.tuple.local_address());
    add_address(&mut code, direction.tuple.remote_address());
    code.add(&direction.tuple.local_port.to_be_bytes());
    code.add(&direction.tuple.remote_port.to_be_bytes());
    code.add(&direction.sender_isn.as_u32().to_be_bytes());
    code.add(&direction.receiver_isn.as_u32().to_be_bytes());
    code.add(&(8 * key_len(algorithm) as u16).to_be_bytes());
    TrafficKey {
        algorithm,
        octets: code.finish(),
    }
}

/// AES key of a secret (RFC 5926 section 3.1.1.2). A secret that is not 16 octets long is condensed
/// under the zero key, as in RFC 4615.
fn aes_key(secret: &[u8]) -> [u8; 16] {
    if let Ok(key) = secret.try_into() {
        return key;
    }
    let mut code = Code::new(Algorithm::Aes128Cmac, &[0; 16]);
    code.add(secret);
    let mut key = [0; 16];
    key.copy_from_slice(&code.finish()[..16]);
    key
}

fn add_address(code: &mut Code, address: IpAddr) {
    match address {
        IpAddr::V4(address) => code.add(&address.octets()),
        IpAddr::V6(address) => code.add(&address.octets()),
    }
}

/// Code of an encoded segment; `None` without an authentication option. See RFC 5925 section 5.1.
pub(super) fn of_segment(
    key: &TrafficKey,
    sne: u32,
    endpoints: &Endpoints,
    segment: &[u8],
    covers_options: bool,
) -> Option<[u8; CODE_LEN]> {
    let option = authentication_place(segment)?;
    let header_len = 4 * usize::from(segment[12] >> 4);
    let mut code = Code::new(key.algorithm, key.as_slice());
    code.add(&sne.to_be_bytes());
    add_pseudo_header(&mut code, endpoints, segment.len());
    // The checksum counts as zero; the urgent pointer follows it.
    code.add(&segment[..16]);
    code.add(&[0; 2]);
    code.add(&segment[18..FIXED_HEADER_LEN]);
    if covers_options {
        code.add(&segment[FIXED_HEADER_LEN..option.start]);
    }
    code.add(&segment[option.start..option.start + 4]);
    for _ in option.start + 4..option.end {
        code.add(&[0]);
    }
    if covers_options {
        code.add(&segment[option.end..header_len]);
    }
    code.add(&segment[header_len..]);
    let mut first = [0; CODE_LEN];
    first.copy_from_slice(&code.finish()[..CODE_LEN]);
    Some(first)
}

/// Adds the pseudo-header (RFC 9293 section 3.1 for IPv4, RFC 8200 section 8.1 for IPv6).
fn add_pseudo_header(code: &mut Code, endpoints: &Endpoints, len: usize) {
    add_address(code, endpoints.src());
    add_address(code, endpoints.dst());
    match endpoints {
        Endpoints::V4 { .. } => {
            code.add(&[0, TCP_PROTOCOL]);
            code.add(&(len as u16).to_be_bytes());
        }
        Endpoints::V6 { .. } => {
            code.add(&(len as u32).to_be_bytes());
            code.add(&[0, 0, 0, TCP_PROTOCOL]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2202 section 3, test case 1 and 2; RFC 4493 section 4, example 2.
    #[test]
    fn both_algorithms_give_the_published_codes() {
        let mut code = Code::new(Algorithm::HmacSha1, &[0x0b; 20]);
        code.add(b"Hi There");
        assert_eq!(code.finish()[..6], [0xb6, 0x17, 0x31, 0x86, 0x55, 0x05]);
        let mut code = Code::new(Algorithm::HmacSha1, b"Jefe");
        code.add(b"what do ya want for nothing?");
        assert_eq!(code.finish()[..6], [0xef, 0xfc, 0xdf, 0x6a, 0xe5, 0xeb]);

        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let mut code = Code::new(Algorithm::Aes128Cmac, &key);
        code.add(&0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128.to_be_bytes());
        let expected = 0x070a_16b4_6b4d_4144_f79b_dd9d_d04a_287c_u128.to_be_bytes();
        assert_eq!(code.finish()[..16], expected);
    }

    /// RFC 4615 section 4: AES-CMAC-PRF-128, the same condensation.
    #[test]
    fn a_secret_that_is_no_aes_key_is_condensed_as_rfc_4615_shows() {
        let message: [u8; 20] = core::array::from_fn(|n| n as u8);
        for (len, expected) in [
            (18, 0x84a3_48a4_a45d_235b_abff_fc0d_2b4d_a09a_u128),
            (16, 0x980a_e87b_5f4c_9c52_14f5_b6a8_455e_4c2d),
            (10, 0x290d_9e11_2edb_09ee_141f_cf64_c0b7_2f3d),
        ] {
            let mut secret = [0; 18];
            for (n, octet) in secret.iter_mut().enumerate() {
                *octet = n as u8;
            }
            // The RFC's 18-octet key ends in 0xed, 0xcb.
            (secret[16], secret[17]) = (0xed, 0xcb);
            let mut code = Code::new(Algorithm::Aes128Cmac, &aes_key(&secret[..len]));
            code.add(&message);
            assert_eq!(code.finish()[..16], expected.to_be_bytes(), "{len}");
        }
    }
}
