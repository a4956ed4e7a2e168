//! What comes out of a world: the hosts as they are at its end, what was seen of
//! them, and the elements of the path with their counters.

use std::rc::Rc;

use gigatcp_app::Report;
use gigatcp_app::datagrams::SinkReport;
use gigatcp_path::{Drops, Histogram, Hop, ReceiveRings, SharedMedium};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Phantom;

use crate::account::{ByLimit, Settled};
use crate::host::{Host, Socket};
use crate::meter::Meter;
use crate::observe::{LinkSamples, Samples, Sequence};
use crate::packet::Packet;
use crate::short_flows::ArrivalsOutcome;

/// What came out of a world.
#[derive(Debug)]
pub struct Outcome {
    /// The moment it ended.
    pub now: Instant,
    /// Per connection, in the order of the flows.
    pub flows: Vec<FlowOutcome>,
    /// Per process of arrivals, whose flows began while the world ran.
    pub arrivals: Vec<ArrivalsOutcome>,
    /// The largest number of these flows that were alive at a time.
    pub most_alive: usize,
    /// Per source of datagrams.
    pub datagrams: Vec<DatagramsOutcome>,
    /// All hosts: those with numbers first.
    pub hosts: Vec<Rc<Host>>,
    /// The shared hops, forward then reverse.
    pub hops: Vec<Hop<Packet>>,
    /// The shared media.
    pub media: Vec<SharedMedium<Packet>>,
    /// Queues of each hop over time.
    pub link_samples: Vec<LinkSamples>,
    /// How long packets waited that left the queue of each hop.
    pub sojourns: Vec<Histogram>,
    /// Largest backlog of each hop, in wire packets.
    pub max_backlog: Vec<u64>,
    /// Fingerprint of every packet and drop.
    pub event_hash: u64,
    /// Wire packets delivered to hosts.
    pub packets: u64,
}

/// What came out of a source of datagrams and its sink.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DatagramsOutcome {
    /// Datagrams that the source has sent.
    pub sent: u64,
    /// What the sink has counted.
    pub received: SinkReport,
    /// Datagrams that at the end were neither received nor on their way.
    pub lost: u64,
    /// What the receiving host dropped of them, by cause.
    pub drops: Drops,
}

/// What came out of one connection.
#[derive(Debug)]
pub struct FlowOutcome {
    /// The configured flow that it belongs to: an application may have several
    /// connections.
    pub flow: usize,
    /// The sending end.
    pub sender: Endpoint,
    /// The receiving end.
    pub receiver: Endpoint,
    /// Samples of the sender.
    pub samples: Samples,
    /// Time-sequence data, if requested.
    pub sequence: Option<Sequence>,
    /// When the receiver had read everything; absent when it had not.
    pub finished_at: Option<Instant>,
    /// Time by mechanism until then, or until the world ended; `None` without an account.
    pub limits: Option<ByLimit>,
    /// Time by cause until the same moment.
    pub account: Option<Settled>,
}

/// An end of a flow: its socket, and its host, which others may share.
#[derive(Clone, Debug)]
pub struct Endpoint {
    host: Rc<Host>,
    socket: u32,
}

impl Endpoint {
    pub(crate) fn new(host: Rc<Host>, socket: u32) -> Self {
        Self { host, socket }
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        self.host.socket(self.socket)
    }

    /// The engine, if the connection was opened.
    #[must_use]
    pub fn connection(&self) -> Option<&Connection<Phantom>> {
        self.socket().connection()
    }

    /// The tester's meter; `None` if the connection was not established.
    #[must_use]
    pub fn meter(&self) -> Option<&Meter> {
        let meter = self.socket().meter();
        meter.started_at().map(|_| meter)
    }

    /// The results of the application, of all its connections.
    #[must_use]
    pub fn report(&self, now: Instant) -> Report {
        self.host.application(self.socket).report(now)
    }

    /// Processor time that the host has used, for all its flows.
    #[must_use]
    pub fn cpu_busy(&self, now: Instant) -> Duration {
        self.host.cpu_busy(now)
    }

    /// Processor time that the host has used, with what others took of it, on the busier
    /// one of the processors that work for the socket.
    #[must_use]
    pub fn cpu_occupied(&self, now: Instant) -> Duration {
        self.host.cpu_occupied(self.socket, now)
    }

    /// The network card's element, if the host has one.
    #[must_use]
    pub fn link(&self) -> Option<&Hop<Packet>> {
        self.host.link()
    }

    /// The rings of its receive queue, if there are any.
    #[must_use]
    pub fn rings(&self) -> Option<&ReceiveRings> {
        self.host.rings_of(self.socket)
    }
}

impl FlowOutcome {
    /// Octets the receiving application read.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.receiver.socket().meter().total()
    }

    /// From the start of the tester's clock to the last octet read.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.receiver.socket().meter().elapsed()
    }
}
