//! What comes out of a world: the hosts as they are at its end, what was seen of
//! them, and the elements of the path with their counters.

use gigatcp_path::{Hop, SharedMedium};
use gigatcp_units::{Bytes, Duration, Instant};

use crate::account::{ByLimit, Settled};
use crate::endpoint::Endpoint;
use crate::observe::{Samples, Sequence};
use crate::packet::Packet;

/// What came out of a world.
#[derive(Debug)]
pub struct Outcome {
    /// The moment it ended.
    pub now: Instant,
    /// Per flow.
    pub flows: Vec<FlowOutcome>,
    /// The shared hops, forward then reverse.
    pub hops: Vec<Hop<Packet>>,
    /// The medium that hosts shared.
    pub shared: Option<Box<SharedMedium<Packet>>>,
    /// Largest backlog of each hop, in wire packets.
    pub max_backlog: Vec<u64>,
    /// Fingerprint of every packet and drop.
    pub event_hash: u64,
    /// Wire packets delivered to hosts.
    pub packets: u64,
}

/// What came out of one flow.
#[derive(Debug)]
pub struct FlowOutcome {
    /// The sending host.
    pub sender: Endpoint,
    /// The receiving host.
    pub receiver: Endpoint,
    /// Samples of the sender.
    pub samples: Samples,
    /// Time-sequence data, if asked for.
    pub sequence: Option<Sequence>,
    /// When the receiver had read everything; absent when it had not.
    pub finished_at: Option<Instant>,
    /// Time by mechanism until then, or until the world ended; `None` without an account.
    pub limits: Option<ByLimit>,
    /// Time by cause until the same moment.
    pub account: Option<Settled>,
}

impl FlowOutcome {
    /// Octets the receiving application read.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.receiver
            .meter()
            .map_or(Bytes::ZERO, |meter| meter.total())
    }

    /// From the start of the tester's clock to the last octet read.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.receiver
            .meter()
            .map_or(Duration::ZERO, |meter| meter.elapsed())
    }
}
