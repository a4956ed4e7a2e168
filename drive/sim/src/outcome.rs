//! Results of a simulation: the hosts at its end, their records, and the elements of the path with
//! their counters.

use std::rc::Rc;

use gigatcp_app::Report;
use gigatcp_app::datagrams::SinkReport;
use gigatcp_path::{Drops, Histogram, Hop, ReceiveRings, SharedMedium};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Phantom;

use crate::account::{Attribution, ByLimit};
use crate::host::{Host, Socket};
use crate::meter::Meter;
use crate::observe::{LinkSamples, Sample};
use crate::packet::Packet;
use crate::short_flows::ArrivalsOutcome;

/// Results of a simulation.
#[derive(Debug)]
pub struct Outcome {
    /// Time at which it ended.
    pub now: Instant,
    /// Results per connection, in the order of the flows.
    pub flows: Vec<FlowOutcome>,
    /// Results per process of arrivals, whose flows began during the simulation.
    pub arrivals: Vec<ArrivalsOutcome>,
    /// Largest number of these flows that were alive simultaneously.
    pub most_alive: usize,
    /// Results per source of datagrams.
    pub datagrams: Vec<DatagramsOutcome>,
    /// All hosts: those with numbers first.
    pub hosts: Vec<Rc<Host>>,
    /// The shared hops, forward then reverse.
    pub hops: Vec<Hop<Packet>>,
    /// The shared media.
    pub media: Vec<SharedMedium<Packet>>,
    /// Interval between samples at the end, if the limit on their size has made it longer.
    pub sample_step: Option<Duration>,
    /// Queues of each hop over time.
    pub link_samples: Vec<LinkSamples>,
    /// Sojourn times of the packets that left the queue of each hop.
    pub sojourns: Vec<Histogram>,
    /// Largest backlog of each hop, in wire packets.
    pub max_backlog: Vec<u64>,
    /// Fingerprint of every packet and drop.
    pub event_hash: u64,
    /// Wire packets delivered to hosts.
    pub packets: u64,
}

/// Results of a source of datagrams and its sink.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DatagramsOutcome {
    /// Datagrams that the source has sent.
    pub sent: u64,
    /// Counters of the sink.
    pub received: SinkReport,
    /// Datagrams that at the end were neither received nor on the path.
    pub lost: u64,
    /// Datagrams that the receiving host dropped, by cause.
    pub drops: Drops,
}

/// Results of one connection.
#[derive(Debug)]
pub struct FlowOutcome {
    /// Configured flow that it belongs to. An application may have several connections.
    pub flow: usize,
    /// The sending end.
    pub sender: Endpoint,
    /// The receiving end.
    pub receiver: Endpoint,
    /// Samples of the sender, oldest first.
    pub samples: Vec<Sample>,
    /// Time at which the receiver had read everything; `None` if it had not.
    pub finished_at: Option<Instant>,
    /// Time by mechanism until then, or until the end; `None` without an account.
    pub limits: Option<ByLimit>,
    /// Time by cause until the same moment.
    pub account: Option<Attribution>,
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

    /// Socket.
    pub fn socket(&self) -> &Socket {
        self.host.socket(self.socket)
    }

    /// Engine, if the connection was opened.
    pub fn connection(&self) -> Option<&Connection<Phantom>> {
        self.socket().connection()
    }

    /// Tester's meter; `None` if the connection was not established.
    pub fn meter(&self) -> Option<&Meter> {
        let meter = self.socket().meter();
        meter.started_at().map(|_| meter)
    }

    /// Results of the application, over all its connections.
    pub fn report(&self, now: Instant) -> Report {
        self.host.application(self.socket).report(now)
    }

    /// CPU time that the host has used, for all its flows.
    pub fn cpu_busy(&self, now: Instant) -> Duration {
        self.host.cpu_busy(now)
    }

    /// Hop of the network card, if the host has one.
    pub fn link(&self) -> Option<&Hop<Packet>> {
        self.host.link()
    }

    /// Rings of its receive queue, if there are any.
    pub fn rings(&self) -> Option<&ReceiveRings> {
        self.host.rings_of(self.socket)
    }
}

impl FlowOutcome {
    /// Bytes the receiving application has read.
    pub fn bytes(&self) -> Bytes {
        self.receiver.socket().meter().total()
    }

    /// Time from the start of the tester's clock to the last byte read.
    pub fn elapsed(&self) -> Duration {
        self.receiver.socket().meter().elapsed()
    }
}
