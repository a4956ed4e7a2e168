//! Parameters of a test that a client requests.
//!
//! Keys that iperf3 always sends are always sent; the others only if set. A receiver ignores
//! unknown keys.

use alloc::format;
use alloc::string::{String, ToString};

use serde_json::{Map, Value};

use super::json::Object;
use super::message::Violation;
use super::{ErrorCode, PRIVATE, Transactions};

/// Maximum length of parameters that iperf3 3.21 accepts, in bytes (`MAX_PARAMS_JSON_STRING`).
pub const MAX_LENGTH: usize = 8 * 1024;

/// Transport protocol of the data.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP, which not every build of iperf3 supports.
    Sctp,
}

impl Transport {
    const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Sctp];

    /// Its key in the parameters.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
        }
    }
}

/// The end that sends data.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Direction {
    /// The client.
    #[default]
    Forward,
    /// The server (`-R`).
    Reverse,
    /// Both, on separate connections (`--bidir`).
    Bidirectional,
}

/// Parameters of a test. `None`: not requested, the server's default applies.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Parameters {
    /// Transport protocol of the data.
    pub transport: Transport,
    /// Multipath TCP (since 3.19).
    pub mptcp: bool,
    /// The end that sends.
    pub direction: Direction,
    /// Seconds at the beginning that are not counted.
    pub omit: u32,
    /// Seconds; 0: unlimited.
    pub time: u32,
    /// Bytes to send; 0: unlimited.
    pub num: u64,
    /// Blocks to send; 0: unlimited.
    pub blockcount: u64,
    /// Streams in each direction; 0 counts as 1.
    pub parallel: u32,
    /// Bytes of a block: of a write, or of a datagram.
    pub len: Option<u32>,
    /// Requested socket buffers, in bytes.
    pub window: Option<u64>,
    /// Requested maximum segment size, in bytes.
    pub mss: Option<u32>,
    /// Nagle's algorithm is off.
    pub nodelay: bool,
    /// Target rate of a stream, in bit/s. `None`: unlimited.
    pub bandwidth: Option<u64>,
    /// Pacing rate for the kernel (`SO_MAX_PACING_RATE`), in bit/s.
    pub fqrate: Option<u64>,
    /// Blocks to send before the rate is checked.
    pub burst: Option<u32>,
    /// Type of service, the whole byte.
    pub tos: Option<u32>,
    /// Title that is kept with the result.
    pub title: Option<String>,
    /// Requested congestion control, by the kernel's name.
    pub congestion: Option<String>,
    /// Whether the server sends its own output with its results.
    pub get_server_output: bool,
    /// Whether datagrams carry sequence numbers of 64 bits.
    pub udp_counters_64bit: bool,
    /// Send without a copy.
    pub zerocopy: bool,
    /// Whether the receiver discards data in the kernel (since 3.20).
    pub skip_rx_copy: bool,
    /// CPU of the server's sending thread, by number.
    pub server_affinity: Option<u32>,
    /// Name and password, encrypted (`auth.rs`).
    pub authtoken: Option<String>,
    /// Version of the client.
    pub client_version: String,
    /// Private value of a client of this project.
    pub private: Option<Value>,
}

/// Limits of a server; the defaults are iperf3's: no maximum time, no total rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Streams of a test, both directions together.
    pub streams: u32,
    /// Bytes of a block.
    pub block: u32,
    /// Bytes of a datagram's payload.
    pub datagram: u32,
    /// Bytes of a socket buffer.
    pub window: u64,
    /// Seconds of a test; 0: unlimited.
    pub time: u32,
    /// Rate of all streams together, in bit/s; 0: unlimited.
    pub total_rate: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            streams: 128,
            block: 1 << 20,
            datagram: 65_507,
            window: 512 << 20,
            time: 0,
            total_rate: 0,
        }
    }
}

impl Parameters {
    /// Reads the client's JSON.
    ///
    /// # Errors
    /// [`Violation::Missing`] if no transport is named.
    pub fn from_json(value: &Value) -> Result<Self, Violation> {
        let object = Object::of(value);
        let named = Transport::ALL
            .into_iter()
            .find(|known| object.flag(known.key()));
        // iperf3 before 3.0.7 sends none for TCP; an object without any key is not a test.
        let is_old = object.value("time").is_some() || object.value("parallel").is_some();
        let (what, key) = ("parameters", "tcp");
        let transport = match named {
            Some(transport) => transport,
            None if is_old => Transport::Tcp,
            None => return Err(Violation::Missing { what, key }),
        };
        let direction = match (object.flag("bidirectional"), object.flag("reverse")) {
            (true, _) => Direction::Bidirectional,
            (false, true) => Direction::Reverse,
            (false, false) => Direction::Forward,
        };
        let set = |key| object.unsigned(key).filter(|number| *number > 0);
        let small = |key| object.small(key).filter(|number| *number > 0);
        Ok(Self {
            transport,
            direction,
            mptcp: object.flag("mptcp"),
            omit: object.small("omit").unwrap_or(0),
            time: object.small("time").unwrap_or(0),
            num: object.unsigned("num").unwrap_or(0),
            blockcount: object.unsigned("blockcount").unwrap_or(0),
            parallel: object.small("parallel").unwrap_or(1).max(1),
            len: small("len"),
            window: set("window"),
            mss: small("MSS"),
            nodelay: object.flag("nodelay"),
            bandwidth: set("bandwidth"),
            fqrate: set("fqrate"),
            burst: small("burst"),
            tos: small("TOS"),
            title: object.text("title"),
            congestion: object.text("congestion"),
            get_server_output: object.flag("get_server_output"),
            udp_counters_64bit: object.flag("udp_counters_64bit"),
            zerocopy: object.flag("zerocopy"),
            skip_rx_copy: object.flag("skip_rx_copy"),
            server_affinity: object.small("server_affinity"),
            authtoken: object.text("authtoken"),
            client_version: object.text("client_version").unwrap_or_default(),
            private: object.value(PRIVATE).cloned(),
        })
    }

    /// JSON that a client sends.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| {
            map.insert(key.to_string(), value);
        };
        put(self.transport.key(), true.into());
        put("omit", self.omit.into());
        put("time", self.time.into());
        put("num", self.num.into());
        put("blockcount", self.blockcount.into());
        put("parallel", self.parallel.max(1).into());
        let flags = [
            ("mptcp", self.mptcp),
            ("nodelay", self.nodelay),
            ("reverse", self.direction == Direction::Reverse),
            ("bidirectional", self.direction == Direction::Bidirectional),
            ("skip_rx_copy", self.skip_rx_copy),
        ];
        for (key, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            put(key, true.into());
        }
        let numbers = [
            ("len", self.len.map(u64::from)),
            ("window", self.window),
            ("MSS", self.mss.map(u64::from)),
            ("bandwidth", self.bandwidth),
            ("fqrate", self.fqrate),
            ("burst", self.burst.map(u64::from)),
            ("TOS", self.tos.map(u64::from)),
            ("server_affinity", self.server_affinity.map(u64::from)),
            ("get_server_output", self.get_server_output.then_some(1)),
            ("udp_counters_64bit", self.udp_counters_64bit.then_some(1)),
            ("zerocopy", self.zerocopy.then_some(1)),
        ];
        for (key, number) in numbers {
            if let Some(number) = number {
                put(key, number.into());
            }
        }
        let texts = [
            ("title", &self.title),
            ("congestion", &self.congestion),
            ("authtoken", &self.authtoken),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                put(key, text.as_str().into());
            }
        }
        put("client_version", self.client_version.as_str().into());
        if let Some(private) = &self.private {
            put(PRIVATE, private.clone());
        }
        Value::Object(map)
    }

    /// Number of streams, both directions together.
    pub fn streams(&self) -> u32 {
        let directions = if self.direction == Direction::Bidirectional {
            2
        } else {
            1
        };
        self.parallel.max(1).saturating_mul(directions)
    }

    /// Checks the parameters against a server's limits.
    ///
    /// # Errors
    /// iperf3's number for the exceeded limit, with value and limit as text.
    pub fn check(&self, limits: &Limits) -> Result<(), (ErrorCode, String)> {
        if self.transport == Transport::Sctp {
            return Err((ErrorCode::NO_SCTP, "SCTP is not supported".into()));
        }
        Transactions::read(self)?;
        let exceeds = |what: &str, value: u64, limit: u64| format!("{what} {value}, limit {limit}");
        let streams = self.streams();
        if streams > limits.streams {
            let text = exceeds("streams", streams.into(), limits.streams.into());
            return Err((ErrorCode::NUM_STREAMS, text));
        }
        let (block, code) = match self.transport {
            Transport::Udp => (limits.datagram, ErrorCode::UDP_BLOCK_SIZE),
            _ => (limits.block, ErrorCode::BLOCK_SIZE),
        };
        let len = self.len.unwrap_or(block);
        if len > block || (self.transport == Transport::Udp && len < 16) {
            return Err((code, exceeds("block size", len.into(), block.into())));
        }
        if let Some(window) = self.window.filter(|window| *window > limits.window) {
            let text = exceeds("window", window, limits.window);
            return Err((ErrorCode::BUFFER_SIZE, text));
        }
        let seconds = u64::from(self.time) + u64::from(self.omit);
        // A test without a time, such as `-n`, is ended by the server once its time is over.
        if limits.time > 0 && seconds > u64::from(limits.time) {
            let text = exceeds("seconds", seconds, limits.time.into());
            return Err((ErrorCode::MAX_SERVER_DURATION, text));
        }
        let rate = self
            .bandwidth
            .map(|rate| rate.saturating_mul(streams.into()));
        if limits.total_rate > 0 && rate.is_none_or(|rate| rate > limits.total_rate) {
            let text = match rate {
                Some(rate) => exceeds("total bit/s", rate, limits.total_rate),
                None => format!("no rate announced, limit {} bit/s", limits.total_rate),
            };
            return Err((ErrorCode::TOTAL_RATE, text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Parameters of iperf3 3.12 for `-P 2 --bidir -t 1 -C cubic`.
    fn stock() -> Value {
        json!({"tcp": true, "omit": 0, "time": 1, "num": 0, "blockcount": 0, "parallel": 2,
            "bidirectional": true, "len": 131_072,
            "congestion": "cubic", "client_version": "3.12"})
    }

    #[test]
    fn parameters_of_a_stock_client_are_read_and_written_alike() {
        let read = Parameters::from_json(&stock()).unwrap();
        assert_eq!(read.direction, Direction::Bidirectional);
        assert_eq!((read.streams(), read.len), (4, Some(131_072)));
        assert_eq!((read.bandwidth, read.window), (None, None));
        assert_eq!(read.to_json(), stock());
    }

    #[test]
    fn a_value_of_a_wrong_type_counts_as_absent() {
        let odd = json!({"udp": true, "time": "ten", "len": [1], "TOS": null, "window": -5});
        let read = Parameters::from_json(&odd).unwrap();
        assert_eq!(read.transport, Transport::Udp);
        assert_eq!((read.time, read.len, read.window), (0, None, None));
    }

    #[test]
    fn an_object_without_a_test_in_it_is_refused() {
        for odd in [
            json!({}),
            json!([1, 2]),
            json!("tcp"),
            json!({"sctp": false}),
        ] {
            let refused = Parameters::from_json(&odd).unwrap_err();
            assert_eq!(refused.to_string(), "parameters without `tcp`");
        }
    }

    #[test]
    fn a_servers_limits_give_iperf3s_error_numbers() {
        let limits = Limits {
            time: 60,
            total_rate: 1_000_000_000,
            ..Limits::default()
        };
        let wanted = Parameters {
            time: 10,
            bandwidth: Some(100_000_000),
            parallel: 4,
            ..Parameters::default()
        };
        assert_eq!(wanted.check(&limits), Ok(()));
        let refused = |change: fn(&mut Parameters)| {
            let mut changed = wanted.clone();
            change(&mut changed);
            changed.check(&limits).unwrap_err()
        };
        assert_eq!(refused(|it| it.parallel = 129).0, ErrorCode::NUM_STREAMS);
        assert_eq!(refused(|it| it.bandwidth = None).0, ErrorCode::TOTAL_RATE);
        assert_eq!(refused(|it| it.time = 61).0, ErrorCode::MAX_SERVER_DURATION);
        let endless = Parameters {
            time: 0,
            ..wanted.clone()
        };
        assert_eq!(endless.check(&limits), Ok(()));
        let (code, text) = refused(|it| it.window = Some(4 << 30));
        assert_eq!(code, ErrorCode::BUFFER_SIZE);
        assert_eq!(text, "window 4294967296, limit 536870912");
        assert_eq!(
            refused(|it| it.len = Some(1 << 21)).0,
            ErrorCode::BLOCK_SIZE
        );
    }
}
