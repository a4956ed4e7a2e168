//! The TCP Authentication Option outside connections: RFC 5925 and 5926.
//!
//! * [`MasterKey`]: a master key tuple (RFC 5925 section 3.1): two identifiers,
//!   an algorithm, a secret, and whether the other TCP options are covered.
//! * [`KeyChain`]: the master keys two hosts share.
//! * [`Keys`]: a key chain as connections of one payload type use it. A code is computed over
//!   octets, and only the payload type can produce its octets.
//!
//! `authentication/code.rs` computes codes from keys; `connection/authenticate.rs` signs and
//! checks the segments of a connection.
//!
//! Segments are signed and checked in the form in which `gigatcp_wire` encodes them, with its
//! order of options. A connection receives parsed segments. If a peer orders its options
//! differently and the master key covers them, the connection cannot verify its codes. A caller
//! that has the received octets can: [`MasterKey::verify`] takes them unchanged. Without covered
//! options the order does not matter.

mod code;

use alloc::vec::Vec;

use gigatcp_wire::{EncodeError, Endpoints, PayloadOctets, Segment, SeqNumber, encode};

use crate::four_tuple::FourTuple;

pub(crate) use code::CODE_LEN;
pub use code::TrafficKey;

/// Algorithms that RFC 5926 requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// `KDF_HMAC_SHA1` and HMAC-SHA-1-96 (RFC 5926 sections 3.1.1.1, 3.2.1).
    HmacSha1,
    /// `KDF_AES_128_CMAC` and AES-128-CMAC-96 (RFC 5926 sections 3.1.1.2,
    /// 3.2.2).
    Aes128Cmac,
}

/// A master key tuple, RFC 5925 section 3.1. `Debug` does not show the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey {
    /// KeyID of segments we send with this key.
    pub send_id: u8,
    /// KeyID of segments we receive with this key.
    pub receive_id: u8,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Whether the code also covers the other TCP options.
    pub covers_options: bool,
    secret: Vec<u8>,
}

impl core::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MasterKey")
            .field("send_id", &self.send_id)
            .field("receive_id", &self.receive_id)
            .field("algorithm", &self.algorithm)
            .field("covers_options", &self.covers_options)
            .finish_non_exhaustive()
    }
}

/// One direction of a connection, as input of key derivation (RFC 5925 section 5.2). It consists
/// of the sender and both initial sequence numbers; that of the receiver is 0 while unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Direction {
    /// The sender's socket as the local side.
    pub tuple: FourTuple,
    /// The sender's initial sequence number.
    pub sender_isn: SeqNumber,
    /// The receiver's initial sequence number.
    pub receiver_isn: SeqNumber,
}

impl MasterKey {
    /// A master key with `id` for both directions that covers the other options.
    pub fn new(id: u8, algorithm: Algorithm, secret: &[u8]) -> Self {
        Self {
            send_id: id,
            receive_id: id,
            algorithm,
            covers_options: true,
            secret: secret.to_vec(),
        }
    }

    /// This key with one identifier for each direction.
    #[must_use]
    pub fn with_ids(self, send_id: u8, receive_id: u8) -> Self {
        Self {
            send_id,
            receive_id,
            ..self
        }
    }

    /// This key with the other options covered or not. Without coverage, middleboxes may change
    /// them.
    #[must_use]
    pub fn covering_options(self, covers_options: bool) -> Self {
        Self {
            covers_options,
            ..self
        }
    }

    /// Traffic key of one direction.
    pub fn traffic_key(&self, direction: &Direction) -> TrafficKey {
        code::derive(self.algorithm, &self.secret, direction)
    }

    /// Code of an encoded segment sent between `endpoints`. The segment must have an authentication
    /// option; the content of its code field does not matter. `sne` is the extension of its
    /// sequence number (RFC 5925 section 6.2). `None` for octets without the option.
    pub fn code(
        &self,
        key: &TrafficKey,
        sne: u32,
        endpoints: &Endpoints,
        segment: &[u8],
    ) -> Option<[u8; CODE_LEN]> {
        code::of_segment(key, sne, endpoints, segment, self.covers_options)
    }

    /// Whether the code in an encoded segment is correct.
    pub fn verify(
        &self,
        key: &TrafficKey,
        sne: u32,
        endpoints: &Endpoints,
        segment: &[u8],
    ) -> bool {
        let Some(place) = gigatcp_wire::authentication_place(segment) else {
            return false;
        };
        let expected = self.code(key, sne, endpoints, segment);
        expected.is_some_and(|expected| is_same(&expected, &segment[place.start + 4..place.end]))
    }
}

/// Compares two codes in constant time.
pub(crate) fn is_same(expected: &[u8], found: &[u8]) -> bool {
    let differ = expected
        .iter()
        .zip(found)
        .fold(0, |differ, (a, b)| differ | (a ^ b));
    expected.len() == found.len() && differ == 0
}

/// Reason a key was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyError {
    /// Another key has one of its identifiers. RFC 5925 section 3.1 requires them to be unique.
    IdTaken,
    /// No key has this identifier.
    Unknown,
    /// The key is in use (RFC 5925 section 3.3). It is the current key, or was last announced as
    /// the next one.
    InUse,
}

impl core::fmt::Display for KeyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::IdTaken => "another key has this identifier",
            Self::Unknown => "there is no key of this identifier",
            Self::InUse => "the key is in use",
        })
    }
}

impl core::error::Error for KeyError {}

/// Master keys that two hosts share.
#[derive(Clone, Default, Debug)]
pub struct KeyChain {
    keys: Vec<MasterKey>,
}

impl KeyChain {
    /// Adds a key.
    ///
    /// # Errors
    /// [`KeyError::IdTaken`].
    pub fn add(&mut self, key: MasterKey) -> Result<(), KeyError> {
        let taken = self
            .keys
            .iter()
            .any(|other| other.send_id == key.send_id || other.receive_id == key.receive_id);
        if taken {
            return Err(KeyError::IdTaken);
        }
        self.keys.push(key);
        Ok(())
    }

    /// Removes the key whose send KeyID is `send_id`.
    ///
    /// # Errors
    /// [`KeyError::Unknown`].
    pub fn remove(&mut self, send_id: u8) -> Result<(), KeyError> {
        let before = self.keys.len();
        self.keys.retain(|key| key.send_id != send_id);
        if self.keys.len() == before {
            return Err(KeyError::Unknown);
        }
        Ok(())
    }

    /// First key, with which an active open begins.
    pub fn first(&self) -> Option<&MasterKey> {
        self.keys.first()
    }

    /// Key we send with under this KeyID.
    pub fn sending(&self, send_id: u8) -> Option<&MasterKey> {
        self.keys.iter().find(|key| key.send_id == send_id)
    }

    /// Key the peer sends with under this KeyID.
    pub fn receiving(&self, receive_id: u8) -> Option<&MasterKey> {
        self.keys.iter().find(|key| key.receive_id == receive_id)
    }
}

/// Encodes a segment, replacing the content of the buffer.
type Encoder<P> = fn(&Segment<P>, &Endpoints, &mut Vec<u8>) -> Result<usize, EncodeError>;

/// A key chain for connections with payload `P`.
#[derive(Clone, Debug)]
pub struct Keys<P> {
    pub(crate) chain: KeyChain,
    pub(crate) encode: Encoder<P>,
}

impl<P: PayloadOctets> Keys<P> {
    /// Keys of `chain`; `None` if it is empty.
    pub fn new(chain: KeyChain) -> Option<Self> {
        chain.first()?;
        Some(Self {
            chain,
            encode: |segment, endpoints, out| {
                out.resize(segment.header_len() + segment.payload.len(), 0);
                encode(segment, endpoints, out)
            },
        })
    }
}
