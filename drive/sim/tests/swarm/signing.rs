//! Keys that both ends share (RFC 5925), and what that asks of a world: a
//! segment whose header or text was changed on the way is never taken, neither
//! acknowledged nor read; where a box changes every one of a kind, the
//! conversation ends in silence.

use gigatcp_tcp::authentication::{Algorithm, KeyChain, Keys, MasterKey};
use gigatcp_wire::Segment;
use gigatcp_wire::bytes::Bytes;

use super::draw::Draw;
use super::plant::Plant;

/// The keys of a world.
#[derive(Clone, Debug)]
pub struct Signing {
    keys: Keys<Bytes>,
    covers_options: bool,
}

/// What became of a segment on the way, as keys see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seal {
    /// It is what was sent.
    Whole,
    /// Options were changed that the code does not cover; the length of the
    /// header, which it does, may have been changed with them.
    Doubtful,
    /// Something was changed that the code covers.
    Broken,
}

impl Signing {
    /// The keys of that seed's world, if it has any; always where the planted
    /// bug is one of keys.
    pub fn new(seed: u64, plant: Option<Plant>) -> Option<Self> {
        let mut draw = Draw::new(seed, "signing");
        let is_signed = draw.chance(15) || plant == Some(Plant::Unverified);
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

    /// The keys as an engine takes them.
    pub fn keys(&self) -> &Keys<Bytes> {
        &self.keys
    }

    /// What `arrived` is worth where `sent` was sent. The ECN field is IP's.
    pub fn judge(&self, sent: &Segment<Bytes>, arrived: &Segment<Bytes>) -> Seal {
        let same_options = sent.options == arrived.options;
        let bare = |segment: &Segment<Bytes>| Segment {
            options: sent.options.clone(),
            ecn: sent.ecn,
            ..segment.clone()
        };
        let is_signed = arrived.options.authentication() == sent.options.authentication();
        if bare(arrived) != bare(sent) || !is_signed || (self.covers_options && !same_options) {
            Seal::Broken
        } else if same_options {
            Seal::Whole
        } else {
            Seal::Doubtful
        }
    }
}
