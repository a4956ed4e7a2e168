//! Settings of a test.

use std::net::{IpAddr, SocketAddr};
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::time::Duration;

use gigatcp_protocol::iperf3::{Parameters, Transport};

#[cfg(target_os = "linux")]
use super::engine::device::Engine;
use super::ndt7::Ndt7Url;

/// Protocol of a test's control connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Protocol {
    /// iperf3's.
    #[default]
    Iperf3,
    /// nuttcp's.
    Nuttcp,
    /// ndt7's.
    Ndt7,
}

/// TCP implementation of the streams of a test.
#[derive(Clone, Default, Debug)]
pub enum Stack {
    /// The kernel.
    #[default]
    Kernel,
    /// The engine, on its device.
    #[cfg(target_os = "linux")]
    Engine(Arc<Engine>),
}

/// Whether datagrams are handed over many at a time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Offload {
    /// Where the kernel does.
    #[default]
    Automatic,
    /// Where the kernel does; the user is notified where it does not.
    Requested,
    /// Never.
    Off,
}

impl Offload {
    /// Its name in private parameters, and as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Automatic => "auto",
            Self::Requested => "on",
            Self::Off => "off",
        }
    }

    /// Parses the name that a client sends; another text is the default.
    pub(super) fn from_name(name: Option<&str>) -> Self {
        let all = [Self::Requested, Self::Off].into_iter();
        let mut known = all.filter(|mode| Some(mode.name()) == name);
        known.next().unwrap_or_default()
    }
}

/// A test as its user requests it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Protocol of the control connection.
    pub protocol: Protocol,
    /// TCP implementation of its streams.
    pub stack: Stack,
    /// Port of the first data stream (nuttcp).
    pub data_port: u16,
    /// Whether the rate is a limit at every instant, without catching up (nuttcp).
    pub instantaneous: bool,
    /// URL of the server (ndt7), whose host and port are those below.
    pub ndt7: Option<Ndt7Url>,
    /// The server, by name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Parameters for both ends.
    pub parameters: Parameters,
    /// Interval between reports; `None`: only the total.
    pub interval: Option<Duration>,
    /// Interval between samples of the sockets.
    pub sampling: Duration,
    /// Maximum wait for a connection.
    pub connect_timeout: Duration,
    /// Local address; `None`: the system's choice.
    pub bind: Option<IpAddr>,
    /// Local interface (`SO_BINDTODEVICE`).
    pub bind_dev: Option<String>,
    /// First local port of the streams; `None`: the system's choice.
    pub client_port: Option<u16>,
    /// Only IPv4 (`Some(true)`) or only IPv6 (`Some(false)`) addresses of the server.
    pub only_v4: Option<bool>,
    /// Maximum time without data from the server, in reverse tests.
    pub receive_timeout: Duration,
    /// CPU of this end's streams (`-A`); `None`: any. The server's is
    /// [`Parameters::server_affinity`].
    pub processor: Option<usize>,
    /// Whether both ends use GSO and GRO for datagrams.
    pub offload: Offload,
    /// Whether streams begin one after another until the goodput is saturated. `parameters.parallel` is
    /// their maximum.
    pub adds_streams: bool,
    /// Pings of the server before and during the test.
    pub latency: PingSet,
    /// Whether packet trains measure what the path carries, before a test of TCP with a server of this
    /// project: to the server if this end sends.
    pub measures_capacity: bool,
}

/// Kinds of pings during a test.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum PingSet {
    /// None.
    #[default]
    None,
    /// ICMP.
    Icmp,
    /// ICMP, UDP and TCP handshakes.
    All,
}

/// Interval between samples of the sockets.
pub const SAMPLING: Duration = Duration::from_millis(10);

impl Request {
    /// A test with iperf3's defaults: TCP, one stream, 10 s, reports each second.
    pub fn new(host: impl Into<String>) -> Self {
        Self {
            protocol: Protocol::default(),
            stack: Stack::default(),
            data_port: gigatcp_protocol::nuttcp::DATA_PORT,
            instantaneous: false,
            ndt7: None,
            host: host.into(),
            port: gigatcp_protocol::iperf3::PORT,
            parameters: Parameters {
                time: 10,
                parallel: 1,
                udp_counters_64bit: true,
                client_version: concat!("gigatcp ", env!("CARGO_PKG_VERSION")).into(),
                ..Parameters::default()
            },
            interval: Some(Duration::from_secs(1)),
            sampling: SAMPLING,
            connect_timeout: Duration::from_secs(30),
            bind: None,
            bind_dev: None,
            client_port: None,
            only_v4: None,
            receive_timeout: Duration::from_secs(120),
            processor: None,
            offload: Offload::default(),
            adds_streams: false,
            latency: PingSet::None,
            measures_capacity: false,
        }
    }

    /// Whether an address of the server may be used.
    pub(super) fn allows(&self, address: &SocketAddr) -> bool {
        self.only_v4
            .is_none_or(|only_v4| only_v4 == address.is_ipv4())
    }
}

/// Bytes of a block.
///
/// The default is 128 KiB for TCP; for UDP the payload of one packet of `mss`.
pub(super) fn block_size(parameters: &Parameters, mss: u32) -> usize {
    let default = match parameters.transport {
        Transport::Udp if mss > 0 => mss,
        Transport::Udp => 1460,
        _ => 128 << 10,
    };
    parameters.len.unwrap_or(default) as usize
}

/// Bytes that all senders of a test may send together; `None`: unlimited.
pub(super) fn budget(parameters: &Parameters, block: usize) -> Option<u64> {
    match (parameters.num, parameters.blockcount) {
        (0, 0) => None,
        (0, blocks) => Some(blocks.saturating_mul(block as u64)),
        (bytes, _) => Some(bytes),
    }
}
