//! The parameters of a test, and their limits.
//!
//! The client describes the whole test in one line ([`Parameters::line`]); the server reads it
//! ([`Parameters::read`]) and checks it ([`Parameters::check`]). The keys and the versions that
//! support them are in `keys`.

use alloc::format;
use alloc::string::{String, ToString};

use gigatcp_units::Duration;

use super::error::Error;
use super::{DATA_PORT, Side};

/// Maximum number of streams of a test.
pub const MAX_STREAMS: u16 = 128;

/// Maximum UDP payload over IPv4.
pub const MAX_DATAGRAM: u32 = 65_507;

/// Minimum UDP payload: one byte more than a marker.
pub const MIN_DATAGRAM: u32 = 5;

/// Maximum buffer that a server allocates for a client.
pub const MAX_BUFFER: u32 = 64 << 20;

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
    /// `-fxmitstats` and `-frunningtotal`: fields that are not written.
    const NOT_WRITTEN: u32 = 0x5;
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

/// The parts of the jitter that are wanted (`-j`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Wanted(pub u32);

impl Wanted {
    /// Minimum, mean and maximum.
    pub const ALL: u32 = 7;
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

/// A test as requested by the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Bytes of one write or datagram.
    pub buffer_bytes: u32,
    /// Buffers to send over all streams, `None` for no limit.
    pub buffers: Option<u64>,
    /// Socket buffer that the server requests, in bytes; 0 for its default.
    pub window_bytes: u32,
    /// Data streams.
    pub streams: u16,
    /// Maximum rate in kbit/s; `None` for no limit.
    pub rate_kbps: Option<u64>,
    /// Port of the first data stream.
    pub port: u16,
    /// The client's side of the transfer.
    pub client: Side,
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
    /// Whether the rate is a limit at every instant; otherwise a sender may catch up.
    pub instantaneous: bool,
    /// MSS of data connections, 0 for the default.
    pub mss: u32,
    /// TOS or traffic class of data packets.
    pub tos: u8,
    /// Whether small segments are not delayed (`TCP_NODELAY`).
    pub nodelay: bool,
    /// Packets that may exceed the instantaneous rate in a burst.
    pub burst: u32,
    /// Jitter wanted.
    pub jitter: Wanted,
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
            time_limit: Duration::from_secs(10),
            udp: false,
            interval: Duration::ZERO,
            flipped: false,
            format: Format::RTT,
            instantaneous: false,
            mss: 0,
            tos: 0,
            nodelay: false,
            burst: 1,
            jitter: Wanted(0),
            private: false,
        }
    }
}

impl Parameters {
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

    /// Checks combinations of values, and the limits of a server that listens at `control_port`.
    ///
    /// # Errors
    /// The first parameter that is impossible or exceeds a limit.
    pub fn check(&self, control_port: u16) -> Result<(), Error> {
        self.check_amounts()?;
        self.check_ports(control_port)?;
        self.check_combinations()
    }

    fn check_amounts(&self) -> Result<(), Error> {
        let (allowed, expected) = if self.udp {
            let expected = "bytes of a datagram: 5 to 65507";
            (MIN_DATAGRAM..=MAX_DATAGRAM, expected)
        } else {
            (1..=MAX_BUFFER, "bytes of a buffer: 1 to 67108864")
        };
        if !allowed.contains(&self.buffer_bytes) {
            return refuse("buflen", self.buffer_bytes, expected);
        }
        if !(1..=MAX_STREAMS).contains(&self.streams) {
            return refuse("nstream", self.streams, "1 to 128 streams");
        }
        if !self.interval.is_zero() && self.interval < MIN_INTERVAL {
            let seconds = self.interval.as_secs_f64();
            return refuse("interval", seconds, "0 or at least 0.001 s");
        }
        Ok(())
    }

    fn check_ports(&self, control_port: u16) -> Result<(), Error> {
        let last = u32::from(self.port) + u32::from(self.streams) - 1;
        if self.port < MIN_PORT || last > u32::from(u16::MAX) {
            let expected = "1024 to 65535 for every stream's port";
            return refuse("port", self.port, expected);
        }
        if (u32::from(self.port)..=last).contains(&u32::from(control_port)) {
            let expected = "ports of streams apart from the control port";
            return refuse("port", self.port, expected);
        }
        Ok(())
    }

    fn check_combinations(&self) -> Result<(), Error> {
        if self.format.0 & Format::NOT_WRITTEN != 0 {
            let expected = "no running totals nor amounts sent (-frunningtotal, -fxmitstats)";
            return refuse("format", self.format.0, expected);
        }
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

/// Formats seconds as nuttcp does, with six decimal digits.
pub(super) fn seconds(span: Duration) -> String {
    format!("{:.6}", span.as_secs_f64())
}
