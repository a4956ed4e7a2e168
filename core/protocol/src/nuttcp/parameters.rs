//! The parameters of a test, and a server's limits for them.
//!
//! The client describes the whole test in one line ([`Parameters::line`]); the server reads it
//! ([`Parameters::read`]) and checks it ([`Parameters::check`]). The keys and the versions that
//! support them are in `keys`.

use alloc::format;
use alloc::string::{String, ToString};

use gigatcp_units::Duration;

use super::error::Error;
use super::{CONTROL_PORT, DATA_PORT, Side};

/// Maximum number of streams of a test.
pub const MAX_STREAMS: u16 = 128;

/// Maximum UDP payload over IPv4.
pub const MAX_DATAGRAM: u32 = 65_507;

/// Minimum UDP payload: one byte more than a marker.
pub const MIN_DATAGRAM: u32 = 5;

/// Default UDP payload, unless the MSS of the control connection is smaller.
pub const DEFAULT_DATAGRAM: u32 = 8192;

/// Maximum buffer that a server allocates for a client.
pub const MAX_BUFFER: u32 = 64 << 20;

/// Maximum length of a third party's name, with its address and address stride.
pub const MAX_HOST: usize = 174;

/// Maximum length of a multicast group.
pub const MAX_GROUP: usize = 45;

/// Maximum time limit and interval, in seconds: 31 years.
pub const MAX_SECONDS: u64 = 1_000_000_000;

/// Minimum interval that a server reports.
pub const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Minimum port of data and control connections.
pub const MIN_PORT: u16 = 1024;

/// Content and form of the output: nuttcp's `-f` options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format(pub u32);

impl Format {
    /// `-fxmitstats`: amounts sent, in UDP intervals and summaries.
    pub const TRANSMITTED: Self = Self(0x1);
    /// `-frunningtotal`: totals since the beginning, in intervals.
    pub const RUNNING_TOTAL: Self = Self(0x4);
    /// `-f-drops`: no counts of lost datagrams.
    pub const NO_DROPS: Self = Self(0x8);
    /// `-f-percentloss`: no fraction of lost datagrams.
    pub const NO_PERCENT_LOSS: Self = Self(0x10);
    /// `-fparse`: `key=value` instead of words.
    pub const PARSE: Self = Self(0x40);
    /// `-f-retrans`: no retransmissions.
    pub const NO_RETRANSMISSIONS: Self = Self(0x100);
    /// Default, unless `-f-rtt`: the RTT in the summary.
    pub const RTT: Self = Self(0x800);
    /// `-f-cwnd`: no congestion window.
    pub const NO_CONGESTION_WINDOW: Self = Self(0x2000);

    /// Whether all bits of `part` are set.
    pub const fn has(self, part: Self) -> bool {
        self.0 & part.0 == part.0
    }

    /// These bits and those of `part`.
    #[must_use]
    pub const fn with(self, part: Self) -> Self {
        Self(self.0 | part.0)
    }
}

/// The parts of minimum, mean and maximum that are wanted: `-j` and `-o`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Wanted(pub u32);

impl Wanted {
    /// The minimum.
    pub const MIN: u32 = 1;
    /// The mean.
    pub const MEAN: u32 = 2;
    /// The maximum.
    pub const MAX: u32 = 4;
    /// Jitter only of datagrams in sequence.
    pub const IN_SEQUENCE: u32 = 8;

    /// Whether anything is wanted.
    pub const fn any(self) -> bool {
        self.0 != 0
    }

    /// Whether `part` is wanted.
    pub const fn has(self, part: u32) -> bool {
        self.0 & part != 0
    }
}

/// A test between two other hosts: this server becomes its client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThirdParty {
    /// The other host, in the client's notation: `name`, `name=address`, `address+stride`.
    pub host: String,
    /// Brief output wanted: nuttcp's `-b` value, 1 by default.
    pub brief: i32,
    /// The other host's control port, 0 for the default.
    pub control_port: u16,
    /// The CPU for the other host's process, `None` for any.
    pub server_cpu: Option<u32>,
    /// IP version: 4, 6, or 0 for either.
    pub address_family: u8,
}

/// A test as requested by the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Bytes of one write or datagram; 0 lets a third party choose.
    pub buffer_bytes: u32,
    /// Buffers to send over all streams, `None` for no limit.
    pub buffers: Option<u64>,
    /// Socket buffer that the server requests, in bytes; 0 for its default.
    pub window_bytes: u32,
    /// Data streams.
    pub streams: u16,
    /// Maximum rate in kbit/s, or packets/s with `rate_in_packets`; `None` for no limit.
    pub rate_kbps: Option<u64>,
    /// Port of the first data stream.
    pub port: u16,
    /// The client's side of the transfer.
    pub client: Side,
    /// Whether to request both socket buffers on either side.
    pub both_windows: bool,
    /// Time to transfer for, zero for no limit.
    pub time_limit: Duration,
    /// UDP instead of TCP.
    pub udp: bool,
    /// Time between the receiver's reports, zero for none.
    pub interval: Duration,
    /// Whether the receiver opens the data connections, not the transmitter.
    pub flipped: bool,
    /// Content and form of lines.
    pub format: Format,
    /// Whether to trace the route instead of transferring data.
    pub traceroute: bool,
    /// Whether the rate is a limit at every instant; otherwise a sender may catch up.
    pub instantaneous: bool,
    /// Run the test from the server to another host.
    pub third_party: Option<ThirdParty>,
    /// Time to live of multicast datagrams, 0 for unicast.
    pub multicast_ttl: u8,
    /// Source-specific multicast; `None` leaves it to the address family.
    pub source_specific: Option<bool>,
    /// MSS of data connections, 0 for the default.
    pub mss: u32,
    /// TOS or traffic class of data packets.
    pub tos: u8,
    /// Whether `buffers` comes from an amount in bytes.
    pub amount_in_bytes: bool,
    /// Whether `rate_kbps` counts packets per second (third party only).
    pub rate_in_packets: bool,
    /// Whether small segments are not delayed (`TCP_NODELAY`).
    pub nodelay: bool,
    /// The CPU for the server's process, `None` for any.
    pub cpu: Option<u32>,
    /// Packets that may exceed the instantaneous rate in a burst.
    pub burst: u32,
    /// Jitter wanted.
    pub jitter: Wanted,
    /// One-way delay wanted.
    pub one_way_delay: Wanted,
    /// Distance of the IPv4 addresses of successive streams.
    pub stride: u32,
    /// Whether to spread streams over all addresses of the client.
    pub multilink: bool,
    /// Multicast group, `None` for one derived from the client's address.
    pub group: Option<String>,
    /// Source port of data streams, 0 for any.
    pub source_port: u16,
    /// Pace slow start by the congestion window (`-Ris`).
    pub smoothed_slow_start: bool,
    /// Whether the client is of this project and reads private lines.
    pub private: bool,
}

impl Default for Parameters {
    /// Parameters of `nuttcp HOST`: ten seconds of TCP from client to server.
    fn default() -> Self {
        Self {
            buffer_bytes: 65_536,
            buffers: None,
            window_bytes: 0,
            streams: 1,
            rate_kbps: None,
            port: DATA_PORT,
            client: Side::Transmitter,
            both_windows: false,
            time_limit: Duration::from_secs(10),
            udp: false,
            interval: Duration::ZERO,
            flipped: false,
            format: Format::RTT,
            traceroute: false,
            instantaneous: false,
            third_party: None,
            multicast_ttl: 0,
            source_specific: Some(false),
            mss: 0,
            tos: 0,
            amount_in_bytes: false,
            rate_in_packets: false,
            nodelay: false,
            cpu: None,
            burst: 1,
            jitter: Wanted(0),
            one_way_delay: Wanted(0),
            stride: 0,
            multilink: false,
            group: None,
            source_port: 0,
            smoothed_slow_start: false,
            private: false,
        }
    }
}

/// A server's limits on its clients' tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Port that it listens on, which no data stream may use.
    pub control_port: u16,
    /// Maximum number of streams of a test.
    pub streams: u16,
    /// Maximum buffer.
    pub buffer_bytes: u32,
    /// Whether it runs tests to third parties.
    pub third_party: bool,
    /// Whether it traces routes.
    pub traceroute: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            control_port: CONTROL_PORT,
            streams: MAX_STREAMS,
            buffer_bytes: MAX_BUFFER,
            third_party: false,
            traceroute: true,
        }
    }
}

impl Parameters {
    /// Whether data flows between client and server at all.
    pub fn has_data(&self) -> bool {
        !self.traceroute && self.third_party.is_none()
    }

    /// Server's side of the transfer.
    pub fn server(&self) -> Side {
        match self.client {
            Side::Transmitter => Side::Receiver,
            Side::Receiver => Side::Transmitter,
        }
    }

    /// Whether the client opens the data connections; UDP has none.
    pub fn client_connects(&self) -> bool {
        (self.client == Side::Transmitter) != self.flipped
    }

    /// Test that a server runs as the client of the third party.
    pub fn delegated(&self) -> Option<Self> {
        let third = self.third_party.as_ref()?;
        let buffer_bytes = match (self.buffer_bytes, self.udp) {
            (0, true) => DEFAULT_DATAGRAM,
            (0, false) => Self::default().buffer_bytes,
            (chosen, _) => chosen,
        };
        Some(Self {
            buffer_bytes,
            cpu: third.server_cpu,
            third_party: None,
            private: false,
            ..self.clone()
        })
    }

    /// Checks combinations of values, and the server's limits.
    ///
    /// # Errors
    /// The first parameter that is impossible or exceeds a limit.
    pub fn check(&self, limits: &Limits) -> Result<(), Error> {
        if self.third_party.is_some() && !limits.third_party {
            let what = "tests to third parties";
            return Err(Error::NotAllowed { what });
        }
        if self.traceroute && !limits.traceroute {
            let what = "traceroute";
            return Err(Error::NotAllowed { what });
        }
        self.check_amounts(limits)?;
        self.check_ports(limits)?;
        self.check_combinations()
    }

    fn check_amounts(&self, limits: &Limits) -> Result<(), Error> {
        let (min, max) = match self.udp {
            true => (MIN_DATAGRAM, MAX_DATAGRAM.min(limits.buffer_bytes)),
            false => (1, limits.buffer_bytes),
        };
        if self.has_data() && !(min..=max).contains(&self.buffer_bytes) {
            let expected = match self.udp {
                true => "bytes of a datagram: 5 to 65507, and the server's limit",
                false => "bytes of a buffer: at least 1, and the server's limit",
            };
            return refuse("buflen", self.buffer_bytes, expected);
        }
        if self.streams < 1 || self.streams > limits.streams.min(MAX_STREAMS) {
            return refuse("nstream", self.streams, "1 to 128 streams, or fewer here");
        }
        if !self.interval.is_zero() && self.interval < MIN_INTERVAL {
            let seconds = self.interval.as_secs_f64();
            return refuse("interval", seconds, "0 or at least 0.001 s");
        }
        Ok(())
    }

    fn check_ports(&self, limits: &Limits) -> Result<(), Error> {
        if !self.has_data() {
            return Ok(());
        }
        let last = u32::from(self.port) + u32::from(self.streams) - 1;
        if self.port < MIN_PORT || last > u32::from(u16::MAX) {
            let expected = "1024 to 65535 for every stream's port";
            return refuse("port", self.port, expected);
        }
        if (u32::from(self.port)..=last).contains(&u32::from(limits.control_port)) {
            let expected = "ports of streams apart from the control port";
            return refuse("port", self.port, expected);
        }
        if self.source_port != 0 && self.source_port < MIN_PORT {
            return refuse("srcport", self.source_port, "0 or at least 1024");
        }
        Ok(())
    }

    fn check_combinations(&self) -> Result<(), Error> {
        if self.flipped && self.udp {
            return refuse("reverse", 1, "0 with UDP, which has no connection to open");
        }
        if self.jitter.any() && !self.udp {
            return refuse("do_jitter", self.jitter.0, "0 with TCP");
        }
        if self.jitter.any() && (self.rate_kbps.is_none() || !self.instantaneous) {
            let expected = "0 without an instantaneous rate limit";
            return refuse("do_jitter", self.jitter.0, expected);
        }
        let plain = !self.udp && self.burst == 1 && self.streams == 1;
        if self.smoothed_slow_start && !plain {
            let expected = "0 with UDP, bursts or several streams";
            return refuse("iratesss", 1, expected);
        }
        Ok(())
    }
}

fn refuse(key: &'static str, read: impl ToString, expected: &'static str) -> Result<(), Error> {
    Err(Error::Parameter {
        key,
        read: read.to_string(),
        expected,
    })
}

/// Whether a third party's name contains only a host and an address.
pub(super) fn is_host(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-.:/+=".contains(c);
    // A server that runs a command would read a leading dash as an option.
    !text.is_empty()
        && text.len() <= MAX_HOST
        && !text.starts_with('-')
        && text.chars().all(is_part)
}

/// Whether a multicast group contains only an address.
pub(super) fn is_group(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_hexdigit() || ".:".contains(c);
    !text.is_empty() && text.len() <= MAX_GROUP && text.chars().all(is_part)
}

/// Formats seconds as nuttcp does, with six decimal digits.
pub(super) fn seconds(span: Duration) -> String {
    format!("{:.6}", span.as_secs_f64())
}
