//! Keys that both ends share (RFC 5925), and their guarantees. A segment whose header or data was
//! changed on the path is never accepted, neither acknowledged nor read. If a middlebox changes all
//! segments of a kind, the connection ends in a timeout.

use gigatcp_tcp::authentication::{Algorithm, KeyChain, Keys, MasterKey};
use gigatcp_wire::Segment;
use gigatcp_wire::bytes::Bytes;

use super::draw::Draw;
use super::injected_bug::InjectedBug;

/// Smallest MSS with signed segments: a code, timestamps and some data.
pub const SIGNED_MSS: u16 = 64;

/// Keys of a simulation.
#[derive(Clone, Debug)]
pub struct Signing {
    keys: Keys<Bytes>,
    covers_options: bool,
}

/// State of a segment after the path, as keys see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Integrity {
    /// Unchanged.
    Whole,
    /// Options that the code does not cover were changed. The header length, which it covers, may
    /// have changed with them.
    Doubtful,
    /// Data that the code covers was changed.
    Broken,
}

impl Signing {
    /// Keys for a seed, if it has any.
    ///
    /// It always has if the injected bug is one of keys.
    pub fn new(seed: u64, bug: Option<InjectedBug>) -> Option<Self> {
        let mut draw = Draw::new(seed, "signing");
        let is_signed = draw.chance(15) || bug == Some(InjectedBug::Unverified);
        let algorithm = draw.pick(&[Algorithm::HmacSha1, Algorithm::Aes128Cmac]);
        let covers_options = draw.chance(70);
        let secret = draw.next().to_be_bytes();
        let key = MasterKey::new(draw.next() as u8, algorithm, &secret);
        let mut chain = KeyChain::default();
        chain.add(key.covering_options(covers_options)).ok()?;
        let keys = Keys::new(chain).filter(|_| is_signed)?;
        Some(Self {
            keys,
            covers_options,
        })
    }

    /// Keys for an engine.
    pub fn keys(&self) -> &Keys<Bytes> {
        &self.keys
    }

    /// State of `arrived`, sent as `sent`. The ECN field belongs to IP.
    pub fn judge(&self, sent: &Segment<Bytes>, arrived: &Segment<Bytes>) -> Integrity {
        let same_options = sent.options == arrived.options;
        let bare = |segment: &Segment<Bytes>| Segment {
            options: sent.options.clone(),
            ecn: sent.ecn,
            ..segment.clone()
        };
        let is_signed = arrived.options.authentication() == sent.options.authentication();
        if bare(arrived) != bare(sent) || !is_signed || (self.covers_options && !same_options) {
            Integrity::Broken
        } else if same_options {
            Integrity::Whole
        } else {
            Integrity::Doubtful
        }
    }
}
