//! Requests and responses in place of a stream of data, between two ends of this project.
//!
//! The modes are neper's `tcp_rr`, `tcp_crr` and `udp_rr`. A client requests one by private parameters, which a
//! stock server ignores; so the client goes on only with a server that offers the clock exchange
//! (`clock.rs`). Each data connection begins with the test's cookie, as others do. Then the client
//! sends a request of `request` bytes, and the server `response` bytes once it has all of them. The
//! content has no meaning.
//!
//! With `tcp_rr` all connections exist before the test. With `tcp_crr` each transaction has a
//! connection of its own, which the client closes; up to `flows` exist at a time.
//!
//! With `udp_rr` flows begin as UDP streams do (`datagram.rs`). A request and its response are a
//! datagram each, and begin with a [`Tag`]. A request without the tag of its test has no response, so
//! a host that does not know the cookie cannot have responses sent to another.

use alloc::format;
use alloc::string::String;

use serde_json::{Value, json};

use super::{Cookie, Direction, ErrorCode, Parameters, Transport};

/// Maximum number of connections of a test; of `tcp_crr` half of it ([`Mode::max_flows`]).
pub const MAX_FLOWS: u32 = 8192;

/// Maximum bytes of a request, and of a response.
pub const MAX_SIZE: u32 = 64 << 10;

/// Minimum bytes of a message of `udp_rr`: a [`Tag`].
pub const MIN_UDP_SIZE: u32 = 16;

/// Maximum bytes of a message of `udp_rr`: the payload of a datagram over IPv4.
pub const MAX_UDP_SIZE: u32 = 65_507;

/// Connections of the transactions, by neper's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Many transactions on each connection.
    TcpRr,
    /// A connection for each transaction.
    TcpCrr,
    /// Many transactions on each flow of UDP.
    UdpRr,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::TcpRr, Self::TcpCrr, Self::UdpRr];

    /// The name in parameters, on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpRr => "tcp_rr",
            Self::TcpCrr => "tcp_crr",
            Self::UdpRr => "udp_rr",
        }
    }

    /// Transport of its flows.
    pub const fn transport(self) -> Transport {
        match self {
            Self::TcpRr | Self::TcpCrr => Transport::Tcp,
            Self::UdpRr => Transport::Udp,
        }
    }

    /// Minimum and maximum bytes of a message.
    pub const fn sizes(self) -> [u32; 2] {
        match self {
            Self::TcpRr | Self::TcpCrr => [1, MAX_SIZE],
            Self::UdpRr => [MIN_UDP_SIZE, MAX_UDP_SIZE],
        }
    }

    /// Connections of a flow: with `tcp_crr` the next one comes before the server has closed the last.
    const fn connections(self) -> u32 {
        match self {
            Self::TcpRr | Self::UdpRr => 1,
            Self::TcpCrr => 2,
        }
    }

    /// Maximum number of flows of a test.
    pub const fn max_flows(self) -> u32 {
        MAX_FLOWS / self.connections()
    }
}

/// Transactions that a client requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transactions {
    /// Their connections.
    pub mode: Mode,
    /// Connections at a time, each with one transaction at a time.
    pub flows: u32,
    /// Bytes of a request.
    pub request: u32,
    /// Bytes of a response.
    pub response: u32,
}

impl Transactions {
    /// Maximum number of connections that a server has for a test: of `tcp_crr`, those that are used
    /// and as many that wait for one to be closed.
    pub const fn connections(&self) -> u32 {
        self.flows * self.mode.connections()
    }

    /// Adds them to the private parameters.
    pub fn write(&self, private: &mut Value) {
        private["mode"] = self.mode.name().into();
        private["flows"] = self.flows.into();
        private["request"] = self.request.into();
        private["response"] = self.response.into();
    }

    /// Reads them from the parameters of a client; `None`: it requests streams.
    ///
    /// # Errors
    /// An unknown mode, another transport or direction, or a number out of bounds, with the bounds as text.
    pub fn read(parameters: &Parameters) -> Result<Option<Self>, (ErrorCode, String)> {
        let Some(private) = &parameters.private else {
            return Ok(None);
        };
        let mode = match &private["mode"] {
            Value::Null => return Ok(None),
            mode => mode,
        };
        let mode = Mode::ALL
            .into_iter()
            .find(|known| mode.as_str() == Some(known.name()))
            .ok_or_else(|| (ErrorCode::RECEIVE_PARAMETERS, "an unknown mode".into()))?;
        let is_forward = parameters.direction == Direction::Forward;
        if parameters.transport != mode.transport() || !is_forward {
            let (name, transport) = (mode.name(), mode.transport().key());
            let text = format!("{name} is for {transport} and one direction");
            return Err((ErrorCode::RECEIVE_PARAMETERS, text));
        }
        let number = |key: &str, [min, max]: [u32; 2], code| {
            let number = private[key].as_u64().unwrap_or(0);
            let is_within = (u64::from(min)..=u64::from(max)).contains(&number);
            let text = || format!("{key} {number}, limits {min} and {max}");
            is_within
                .then_some(number as u32)
                .ok_or_else(|| (code, text()))
        };
        Ok(Some(Self {
            mode,
            flows: number("flows", [1, mode.max_flows()], ErrorCode::NUM_STREAMS)?,
            request: number("request", mode.sizes(), ErrorCode::BLOCK_SIZE)?,
            response: number("response", mode.sizes(), ErrorCode::BLOCK_SIZE)?,
        }))
    }
}

/// Beginning of a request and of its response over UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag([u8; 8]);

impl Tag {
    /// That of a test.
    pub fn of(cookie: &Cookie) -> Self {
        let mut tag = [0; 8];
        tag.copy_from_slice(&cookie.as_bytes()[..8]);
        Self(tag)
    }

    /// Writes it, with the number of a request, to the front of a datagram of at least
    /// 16 bytes.
    pub fn write(self, number: u64, datagram: &mut [u8]) {
        datagram[..8].copy_from_slice(&self.0);
        datagram[8..16].copy_from_slice(&number.to_be_bytes());
    }

    /// The number of a request with this tag; `None` of any other datagram.
    pub fn read(self, datagram: &[u8]) -> Option<u64> {
        let number = datagram.strip_prefix(&self.0)?;
        Some(u64::from_be_bytes(*number.first_chunk()?))
    }
}

/// Number of responses that a server sent, in its private results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Responses(pub u64);

impl Responses {
    /// The private results.
    pub fn to_json(self) -> Value {
        json!({"responses": self.0})
    }

    /// Reads private results.
    pub fn from_json(private: &Value) -> Option<Self> {
        private["responses"].as_u64().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(private: Value) -> Result<Option<Transactions>, (ErrorCode, String)> {
        Transactions::read(&Parameters {
            private: Some(private),
            ..Parameters::default()
        })
    }

    #[test]
    fn transactions_are_read_as_they_were_written() {
        let transactions = Transactions {
            mode: Mode::TcpCrr,
            flows: 4000,
            request: 1,
            response: 1000,
        };
        let mut private = json!({"version": 1});
        assert_eq!(read(private.clone()), Ok(None));
        transactions.write(&mut private);
        assert_eq!(read(private), Ok(Some(transactions)));
    }

    #[test]
    fn unknown_mode_and_numbers_out_of_bounds_are_refused() {
        let asked = |mode: Value, flows: Value, request: Value| {
            read(json!({"mode": mode, "flows": flows, "request": request, "response": 1}))
        };
        for refused in [
            asked(json!("udp_rr"), json!(1), json!(16)),
            asked(json!("sctp_rr"), json!(1), json!(1)),
            asked(json!(7), json!(1), json!(1)),
            asked(json!("tcp_rr"), json!(0), json!(1)),
            asked(json!("tcp_rr"), json!(MAX_FLOWS + 1), json!(1)),
            asked(json!("tcp_rr"), json!(-1), json!(1)),
            asked(json!("tcp_rr"), json!(1), json!(u64::MAX)),
            asked(json!("tcp_rr"), json!(1), json!("1")),
        ] {
            assert!(refused.is_err(), "{refused:?}");
        }
        for (transport, direction) in [
            (Transport::Udp, Direction::Forward),
            (Transport::Tcp, Direction::Reverse),
        ] {
            let refused = Transactions::read(&Parameters {
                private: Some(json!({"mode": "tcp_rr", "flows": 1, "request": 1, "response": 1})),
                transport,
                direction,
                ..Parameters::default()
            });
            assert!(refused.is_err(), "{refused:?}");
        }
        for (mode, limit) in [("tcp_rr", 8192), ("tcp_crr", 4096)] {
            assert!(asked(json!(mode), json!(limit), json!(1)).is_ok());
            let (_, text) = asked(json!(mode), json!(limit + 1), json!(1)).unwrap_err();
            assert_eq!(text, format!("flows {}, limits 1 and {limit}", limit + 1));
        }
    }
}
