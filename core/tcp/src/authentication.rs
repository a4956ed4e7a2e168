//! The TCP Authentication Option outside connections: RFC 5925 and 5926.
//!
//! * [`MasterKey`]: a master key tuple (RFC 5925 section 3.1): two identifiers,
//!   an algorithm, a secret, and whether the other TCP options are covered.
//! * [`KeyChain`]: the master keys two hosts share.
//! * [`Keys`]: a key chain as connections of one payload type use it: the code
//!   is made over octets, and only the payload knows its own.
//!
//! How keys become codes is in `authentication/code.rs`, how a connection signs
//! and checks in `connection/authenticate.rs`.
//!
//! Segments are signed and checked in the form in which `gigatcp_wire` writes
//! them, options in its order. A peer that lays its options out otherwise, and
//! whose master key covers them, is understood by any caller that has the octets:
//! [`MasterKey::verify`] takes them as they came. A connection cannot, since it
//! is handed segments. Where options are not covered the order does not matter.

mod code;

use alloc::vec::Vec;

use gigatcp_wire::{EncodeError, Endpoints, PayloadOctets, Segment, SeqNumber, encode};

use crate::four_tuple::FourTuple;

pub use code::TrafficKey;

/// The algorithms that RFC 5926 requires.
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
    /// KeyID of what we send by it.
    pub send_id: u8,
    /// KeyID of what we receive by it.
    pub receive_id: u8,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Whether the code covers the other TCP options too.
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

/// One direction of a connection, as keys are derived from it (RFC 5925
/// section 5.2): who sends, and both initial sequence numbers, that of the
/// receiver being 0 as long as it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Direction {
    /// The sender's socket as the local one.
    pub tuple: FourTuple,
    /// The sender's initial sequence number.
    pub sender_isn: SeqNumber,
    /// The receiver's.
    pub receiver_isn: SeqNumber,
}

impl MasterKey {
    /// A master key whose both identifiers are `id`, covering the other
    /// options.
    #[must_use]
    pub fn new(id: u8, algorithm: Algorithm, secret: &[u8]) -> Self {
        Self {
            send_id: id,
            receive_id: id,
            algorithm,
            covers_options: true,
            secret: secret.to_vec(),
        }
    }

    /// The same with an identifier for each direction.
    #[must_use]
    pub fn with_ids(self, send_id: u8, receive_id: u8) -> Self {
        Self {
            send_id,
            receive_id,
            ..self
        }
    }

    /// The same, covering the other options or not: without, middleboxes may
    /// change them.
    #[must_use]
    pub fn covering_options(self, covers_options: bool) -> Self {
        Self {
            covers_options,
            ..self
        }
    }

    /// The traffic key of one direction.
    #[must_use]
    pub fn traffic_key(&self, direction: &Direction) -> TrafficKey {
        code::derive(self.algorithm, &self.secret, direction)
    }

    /// The code of a segment in octets, sent between `endpoints`: its
    /// authentication option must be there, what stands in its code field does
    /// not matter. `sne` is the extension of its sequence number (RFC 5925
    /// section 6.2). Nothing for octets without the option.
    #[must_use]
    pub fn code(
        &self,
        key: &TrafficKey,
        sne: u32,
        endpoints: &Endpoints,
        segment: &[u8],
    ) -> Option<[u8; code::LEN]> {
        code::of_segment(key, sne, endpoints, segment, self.covers_options)
    }

    /// Whether the code in a segment of octets is the right one.
    #[must_use]
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

/// Compares without saying by its time where two codes differ.
pub(crate) fn is_same(expected: &[u8], found: &[u8]) -> bool {
    let differ = expected
        .iter()
        .zip(found)
        .fold(0, |differ, (a, b)| differ | (a ^ b));
    expected.len() == found.len() && differ == 0
}

/// Why a key was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyError {
    /// Another key has one of its identifiers (RFC 5925 section 3.1: they must
    /// tell keys apart).
    IdTaken,
    /// There is no key of that identifier.
    Unknown,
    /// It is in use: the current key, or the one this side last named to the peer
    /// as the next (RFC 5925 section 3.3).
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

/// The master keys of a pair of hosts.
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

    /// Removes the key that is sent by `send_id`.
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

    /// The first key: what an active open begins with.
    #[must_use]
    pub fn first(&self) -> Option<&MasterKey> {
        self.keys.first()
    }

    /// The key by which we send with this KeyID.
    #[must_use]
    pub fn sending(&self, send_id: u8) -> Option<&MasterKey> {
        self.keys.iter().find(|key| key.send_id == send_id)
    }

    /// The key by which the peer sends with this KeyID.
    #[must_use]
    pub fn receiving(&self, receive_id: u8) -> Option<&MasterKey> {
        self.keys.iter().find(|key| key.receive_id == receive_id)
    }
}

/// How a segment becomes octets, in place of what was there.
type Encoder<P> = fn(&Segment<P>, &Endpoints, &mut Vec<u8>) -> Result<usize, EncodeError>;

/// A key chain for connections with payload `P`.
#[derive(Clone, Debug)]
pub struct Keys<P> {
    pub(crate) chain: KeyChain,
    pub(crate) encode: Encoder<P>,
}

impl<P: PayloadOctets> Keys<P> {
    /// The keys of `chain`; nothing when there is none.
    #[must_use]
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
