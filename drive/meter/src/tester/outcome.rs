//! Results of a test.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use gigatcp_app::datagrams::SinkReport;
use gigatcp_protocol::iperf3::clock::Clocks;
use gigatcp_protocol::iperf3::{
    ClientFailure, Cookie, Cpu, Parameters, Results, StreamResults, Transport,
};
use gigatcp_protocol::nuttcp::output::brief::Brief;

use gigatcp_units::Instant;
use serde_json::{Value, json};

use super::capacity::PathCapacity;
use super::counters::{Role, UdpCounts};
use super::datagram_loss::{self, DatagramLoss, Lost};
use super::delay::{self, OneWayDelay, ReceivedBy, Stratum};
use super::latency::Latency;
use super::options::Effective;
use super::ramp::Ramp;
use super::request::Protocol;
use super::samples::Samples;
use crate::View;

/// CPU time of this end's test threads, as shares of the elapsed time.
pub type CpuShares = Cpu;

/// One stream in one interval.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct StreamInterval {
    /// Bytes of payload.
    pub bytes: u64,
    /// Retransmitted segments; `None`: not the sender, or not TCP.
    pub retransmits: Option<u64>,
    /// `tcp_info` at the end of the interval; `None`: not TCP.
    pub view: Option<View>,
    /// Datagrams sent, or received without duplicates.
    pub datagrams: u64,
    /// Counts of a receiver of datagrams from the beginning to the end of the interval.
    pub udp: UdpCounts,
    /// Datagrams lost in the interval, by iperf3's rules.
    pub lost: i64,
    /// Growth of the largest sequence number in the interval.
    pub expected: u64,
    /// ID of the cause that limited the stream at the end of the interval. It follows from this
    /// end's counters; `None`: unknown.
    pub limit: Option<&'static str>,
}

/// One interval of a test.
#[derive(Clone, PartialEq, Debug)]
pub struct Interval {
    /// Start of the interval, from the start of the measured (or omitted) time.
    pub start: Duration,
    /// End of the interval, on the same clock.
    pub end: Duration,
    /// Whether it is left out of the totals (`-O`).
    pub omitted: bool,
    /// Results of the streams, in the order of their IDs.
    pub streams: Vec<StreamInterval>,
}

/// Results of one stream.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamOutcome {
    /// iperf3's number of the stream.
    pub id: u64,
    /// Role of this end.
    pub role: Role,
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the peer.
    pub peer: SocketAddr,
    /// Socket options in effect at its start.
    pub options: Effective,
    /// Total without the omitted time, over [`Outcome::measured`].
    pub total: StreamInterval,
    /// Delays of the datagrams it received, in differences of both ends' clocks.
    pub delays: Vec<Stratum>,
    /// Largest congestion window, in bytes.
    pub max_cwnd: u64,
    /// Largest window the peer advertised, in bytes.
    pub max_snd_wnd: u64,
    /// Minimum, mean and maximum of the smoothed RTT at the ends of intervals.
    pub rtt: Option<[Duration; 3]>,
}

/// Results of a test at one end.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Protocol of the control connection.
    pub protocol: Protocol,
    /// Requested parameters.
    pub parameters: Parameters,
    /// The server as typed by the user; at a server, the client.
    pub host: String,
    /// Port of the server.
    pub port: u16,
    /// Cookie of the test.
    pub cookie: Cookie,
    /// Start of the data.
    pub started_at: SystemTime,
    /// Bytes of a block.
    pub block: usize,
    /// Maximum segment size of the control connection.
    pub control_mss: u32,
    /// Measured time, without the omitted time.
    pub measured: Duration,
    /// Results of the streams, in the order of their IDs.
    pub streams: Vec<StreamOutcome>,
    /// Results of the intervals, omitted ones first.
    pub intervals: Vec<Interval>,
    /// Readings of this end's sockets and host.
    pub samples: Samples,
    /// CPU time of this end.
    pub cpu: CpuShares,
    /// RTTs of pings during the test, one entry per requested and permitted kind.
    pub latency: Vec<Latency>,
    /// How streams were added; `None`: all began at the start, or the test ended before.
    pub ramp: Option<Ramp>,
    /// Minimum RTT of the control connection before data flowed; `None`: unknown.
    pub base_rtt: Option<gigatcp_units::Duration>,
    /// What the path carries in the direction of the test, or to the server; `None`: it was not
    /// measured, or packet trains did not show it.
    pub capacity: Option<PathCapacity>,
    /// Rate of a first short train, in payload: what is behind a token bucket, within its burst.
    pub first_train: Option<gigatcp_units::Rate>,
    /// Offsets of the server's clock; `None` unless a client of a server of this project.
    pub clocks: Option<Clocks>,
    /// Results of the peer; `None`: the test ended before they arrived.
    pub peer: Option<Results>,
    /// Summary made from both ends' lines (nuttcp); `None`: iperf3's protocol, or no results.
    pub brief: Option<Box<Brief>>,
    /// Reason why the test ended early; `None`: it did not.
    pub cut_short: Option<String>,
}

impl Outcome {
    /// Leaves out the streams that have not begun, of each direction all but the first `begun`.
    pub(super) fn of_begun(mut self, begun: usize) -> Self {
        let parallel = self.parameters.parallel.max(1) as usize;
        let has_begun = |place: &usize| place % parallel < begun;
        let places: Vec<usize> = (0..self.streams.len()).filter(has_begun).collect();
        self.streams = places
            .iter()
            .map(|place| self.streams[*place].clone())
            .collect();
        for interval in &mut self.intervals {
            interval.streams = places
                .iter()
                .map(|place| interval.streams[*place])
                .collect();
        }
        let streams = &self.streams;
        let is_left = |id: u64| streams.iter().any(|stream| stream.id == id);
        self.samples.streams.retain(|(id, _)| is_left(*id));
        self.parameters.parallel = begun.min(parallel) as u32;
        self
    }

    /// Peer's counts of a stream.
    pub fn peer_of(&self, stream: &StreamOutcome) -> Option<&StreamResults> {
        let streams = &self.peer.as_ref()?.streams;
        streams.iter().find(|theirs| theirs.id == stream.id)
    }

    /// Bytes counted by the senders of one direction; `role` is this end's.
    ///
    /// If this end received, this is the peer's count, and `None` without the peer's results.
    pub fn sent(&self, role: Role) -> Option<u64> {
        self.sum(role, role == Role::Sender)
    }

    /// Bytes counted by the receivers of one direction; `role` is this end's.
    pub fn received(&self, role: Role) -> Option<u64> {
        self.sum(role, role == Role::Receiver)
    }

    /// Bytes of a stream that its receiver counted, and over which time. Without the receiver's
    /// count they are the sender's.
    pub fn received_of(&self, stream: &StreamOutcome) -> (u64, Duration) {
        let is_sender = stream.role == Role::Sender;
        match self.peer_of(stream).filter(|_| is_sender) {
            Some(peer) => (peer.bytes, self.time_of(peer)),
            None => (stream.total.bytes, self.measured),
        }
    }

    /// Time over which a peer counted.
    pub fn time_of(&self, peer: &StreamResults) -> Duration {
        let end = peer.end_time.filter(|end| *end > 0.0);
        end.map_or(self.measured, Duration::from_secs_f64)
    }

    fn sum(&self, role: Role, is_ours: bool) -> Option<u64> {
        let streams = self.streams.iter().filter(|stream| stream.role == role);
        let mut bytes = streams.map(|stream| match is_ours {
            true => Some(stream.total.bytes),
            false => Some(self.peer_of(stream)?.bytes),
        });
        // A peer's numbers are arbitrary.
        bytes.try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?)))
    }

    /// Exact counts of a stream's receiver. `None` unless it is a peer of this project.
    pub fn peer_datagrams(&self, stream: &StreamOutcome) -> Option<UdpCounts> {
        let theirs = self.peer_private(stream)?;
        let count = |key: &str| theirs[key].as_u64();
        Some(UdpCounts {
            report: SinkReport {
                received: count("received")?,
                lost: count("lost")?,
                duplicates: count("duplicates")?,
                reordered: count("reordered")?,
                max_extent: count("max_extent")?,
                jitter: gigatcp_units::Duration::from_micros(count("jitter_us")?),
                ..SinkReport::default()
            },
            socket_drops: count("socket_drops")?,
            ..UdpCounts::default()
        })
    }

    /// A peer's private results for the datagrams of a stream.
    fn peer_private(&self, stream: &StreamOutcome) -> Option<&Value> {
        let private = self.peer.as_ref()?.private.as_ref()?;
        let mut streams = private["datagrams"].as_array()?.iter();
        streams.find(|sent| sent["id"].as_u64() == Some(stream.id))
    }

    /// One-way delays of a stream's datagrams over time, in nanoseconds: the arrival of the first
    /// of some consecutive ones by their receiver's clock, the smallest, the largest.
    pub fn delay_over_time(&self, stream: &StreamOutcome) -> Vec<(Instant, i64, i64)> {
        let Some(clocks) = &self.clocks else {
            return Vec::new();
        };
        let theirs = self
            .peer_private(stream)
            .map_or_else(Vec::new, |sent| delay::from_json(&sent["delays"]));
        let (strata, received_by) = match stream.role {
            Role::Sender => (&theirs, ReceivedBy::Server),
            Role::Receiver => (&stream.delays, ReceivedBy::Client),
        };
        let shifted = strata.iter().map(|stratum| {
            let shift = received_by.shift(stratum.at, clocks) as i64;
            let [min, max] = [stratum.min_ns, stratum.max_ns].map(|ns| ns.saturating_add(shift));
            (stratum.at, min, max)
        });
        shifted.collect()
    }

    /// One-way delays of the datagrams that this end sent, or received.
    ///
    /// `None`: this end is not a client, the server is not of this project, or nothing arrived.
    pub fn one_way_delay(&self, role: Role) -> Option<OneWayDelay> {
        let streams = self.streams.iter().filter(|stream| stream.role == role);
        let clocks = self.clocks.as_ref()?;
        if role == Role::Receiver {
            let strata = streams.flat_map(|stream| &stream.delays);
            return OneWayDelay::of(strata, ReceivedBy::Client, clocks);
        }
        let theirs = streams.filter_map(|stream| self.peer_private(stream));
        let theirs: Vec<Stratum> = theirs
            .flat_map(|sent| delay::from_json(&sent["delays"]))
            .collect();
        OneWayDelay::of(theirs.iter(), ReceivedBy::Server, clocks)
    }

    /// Why datagrams of a direction were lost. `None`: next to none were, or it is not known how many.
    pub fn datagram_loss(&self, role: Role) -> Option<DatagramLoss> {
        let is_udp = self.parameters.transport == Transport::Udp;
        let all = self.streams.iter();
        let streams = all.filter(|stream| is_udp && stream.role == role);
        let mut counts = Lost::default();
        let mut strata = Vec::new();
        for stream in streams {
            let udp = match role {
                Role::Sender => self.peer_datagrams(stream)?,
                Role::Receiver => stream.total.udp,
            };
            counts.add(Lost {
                sent: match role {
                    Role::Sender => stream.total.datagrams,
                    Role::Receiver => stream.total.expected,
                },
                lost: udp.report.lost,
                socket_drops: udp.socket_drops,
            });
            strata.push(match role {
                Role::Sender => delay::from_json(&self.peer_private(stream)?["delays"]),
                Role::Receiver => stream.delays.clone(),
            });
        }
        let delay = self.one_way_delay(role);
        let delays = delay.map(|delay| [delay.min, delay.median, delay.p95]);
        datagram_loss::cause(counts, delays, &strata)
    }

    /// Results as a stock peer expects them.
    pub fn to_results(&self) -> Results {
        let is_tcp = self.parameters.transport == Transport::Tcp;
        let sends = self
            .streams
            .iter()
            .any(|stream| stream.role == Role::Sender);
        let first = self.streams.first();
        Results {
            cpu: self.cpu,
            sender_has_retransmits: sends.then(|| {
                let is_known = |one: &StreamOutcome| one.total.retransmits.is_some();
                is_tcp && self.streams.iter().any(is_known)
            }),
            congestion_used: first.and_then(|stream| stream.options.congestion.clone()),
            server_output: None,
            streams: self
                .streams
                .iter()
                .map(|stream| self.stream_results(stream))
                .collect(),
            private: None,
        }
    }

    /// Additional results for a client of this project.
    pub(super) fn private(&self) -> Value {
        let mut private = self.samples.to_json();
        private["datagrams"] = (self.streams.iter())
            .map(|stream| datagrams_to_json(stream, self.streams.len()))
            .collect();
        private
    }

    fn stream_results(&self, stream: &StreamOutcome) -> StreamResults {
        let total = &stream.total;
        let is_receiver = stream.role == Role::Receiver;
        let packets = if is_receiver {
            total.expected
        } else {
            total.datagrams
        };
        let is_udp = self.parameters.transport == Transport::Udp;
        StreamResults {
            id: stream.id,
            bytes: total.bytes,
            retransmits: total.retransmits,
            jitter: total.udp.report.jitter.as_secs_f64(),
            errors: total.lost,
            packets: if is_udp { packets } else { 0 },
            omitted_errors: Some(0),
            omitted_packets: Some(0),
            start_time: Some(0.0),
            end_time: Some(self.measured.as_secs_f64()),
        }
    }
}

/// A receiver's exact counts for a peer of this project; a sender's are zero.
fn datagrams_to_json(stream: &StreamOutcome, streams: usize) -> Value {
    let UdpCounts {
        report,
        socket_drops,
        ..
    } = &stream.total.udp;
    json!({
        "id": stream.id,
        "received": report.received,
        "lost": report.lost,
        "duplicates": report.duplicates,
        "reordered": report.reordered,
        "max_extent": report.max_extent,
        "jitter_us": report.jitter.as_micros(),
        "socket_drops": socket_drops,
        "delays": delay::to_json(&stream.delays, streams),
    })
}

/// Failure of a test, or of a part of it.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// The name has no address of the requested family.
    #[error("`{host}` {}", unresolved(.cause.as_ref()))]
    Unresolved {
        /// The name.
        host: String,
        /// The resolver's error; `None`: only addresses of another family.
        cause: Option<io::Error>,
    },
    /// The system does not have the requested congestion control, or refuses it to this user.
    #[error("cannot use the congestion control {name}: {cause}")]
    Controller {
        /// The requested congestion control.
        name: String,
        /// The system's error.
        cause: io::Error,
    },
    /// A connection was not established.
    #[error("cannot connect to {to}: {cause}")]
    Connect {
        /// The last address of the server that was tried.
        to: SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
    /// A server accepted the connection, and sent nothing.
    #[error("{to} has sent nothing for {} s: it serves others, or speaks another protocol", .timeout.as_secs())]
    NoAnswer {
        /// The server's address.
        to: SocketAddr,
        /// Time without an answer.
        timeout: Duration,
    },
    /// A server of ndt7 did not accept the test.
    #[error("{to} serves no ndt7 test: {reason}")]
    Handshake {
        /// The server's address.
        to: SocketAddr,
        /// The reason.
        reason: String,
    },
    /// The engine could not connect a stream, although the kernel's control connection exists.
    #[error("the engine cannot connect to {to}, though the kernel can: {cause}")]
    EngineConnect {
        /// The server's address.
        to: SocketAddr,
        /// The engine's error.
        cause: io::Error,
    },
    /// A socket could not be created, or an option not set.
    #[error("cannot {action}: {cause}")]
    Socket {
        /// The attempted action, to follow "cannot".
        action: String,
        /// The system's error.
        cause: io::Error,
    },
    /// The protocol ended the test.
    #[error("{0}")]
    Protocol(ClientFailure),
    /// nuttcp's protocol ended the test.
    #[error("{0}")]
    Nuttcp(gigatcp_protocol::nuttcp::Error),
    /// A stream failed.
    #[error("stream {id} failed: {cause}")]
    Stream {
        /// Its id.
        id: u64,
        /// The system's error.
        cause: io::Error,
    },
    /// No data arrived for too long.
    #[error("no data came for {} s", .timeout.as_secs())]
    Silent {
        /// Time without data.
        timeout: Duration,
    },
    /// The engine, or a protocol, does not support an option.
    #[error("{option}: {reason}")]
    Lacks {
        /// The option, as on the command line.
        option: &'static str,
        /// The reason.
        reason: String,
    },
    /// The caller stopped it before data flowed.
    #[error("stopped before data flowed")]
    Stopped,
}

/// Why a name has no usable address.
fn unresolved(cause: Option<&io::Error>) -> String {
    match cause {
        Some(cause) => format!("cannot be resolved: {cause}"),
        None => "has no address of the family requested".to_owned(),
    }
}
