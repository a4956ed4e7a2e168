//! Cookies, state bytes and JSON blocks of the control connection.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde_json::Value;

/// Bytes of a cookie, including the zero at its end.
pub const COOKIE_LENGTH: usize = 37;

/// Characters of a cookie.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Identifier of a test: first bytes of its control connection and each data connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cookie([u8; COOKIE_LENGTH]);

impl Cookie {
    /// Creates a cookie from 36 random bytes.
    pub fn from_random(random: [u8; COOKIE_LENGTH - 1]) -> Self {
        let mut bytes = [0; COOKIE_LENGTH];
        for (byte, random) in bytes.iter_mut().zip(random) {
            *byte = ALPHABET[usize::from(random) % ALPHABET.len()];
        }
        Self(bytes)
    }

    /// Creates a cookie from bytes read. Any bytes are valid: a server only compares them.
    pub const fn from_bytes(bytes: [u8; COOKIE_LENGTH]) -> Self {
        Self(bytes)
    }

    /// Bytes to send.
    pub const fn as_bytes(&self) -> &[u8; COOKIE_LENGTH] {
        &self.0
    }
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        text.iter()
            .flat_map(|byte| byte.escape_ascii())
            .try_for_each(|byte| write!(f, "{}", char::from(byte)))
    }
}

/// State byte of the control connection (`iperf_api.h`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The streams are connected; clocks start.
    TestStart,
    /// Data may flow.
    TestRunning,
    /// The client has sent its data.
    TestEnd,
    /// The server expects the parameters.
    ParamExchange,
    /// The server expects the data connections.
    CreateStreams,
    /// The server aborts the test.
    ServerTerminate,
    /// The client aborts the test.
    ClientTerminate,
    /// The server expects the client's results, and sends its own.
    ExchangeResults,
    /// The results are complete.
    DisplayResults,
    /// The client has finished.
    IperfDone,
    /// The server runs another test, or the cookie is unknown.
    AccessDenied,
    /// The server failed: two numbers follow.
    ServerError,
    /// Only in this project: a server offers a clock exchange, a client requests the time.
    Clock,
    /// Only in this project: the client ends the clock exchange.
    ClockDone,
}

/// States by their byte. Bytes 3, 5 to 8 and 15 are declared by iperf3 and never sent.
const STATES: [(State, i8, &str); 14] = [
    (State::TestStart, 1, "TEST_START"),
    (State::TestRunning, 2, "TEST_RUNNING"),
    (State::TestEnd, 4, "TEST_END"),
    (State::ParamExchange, 9, "PARAM_EXCHANGE"),
    (State::CreateStreams, 10, "CREATE_STREAMS"),
    (State::ServerTerminate, 11, "SERVER_TERMINATE"),
    (State::ClientTerminate, 12, "CLIENT_TERMINATE"),
    (State::ExchangeResults, 13, "EXCHANGE_RESULTS"),
    (State::DisplayResults, 14, "DISPLAY_RESULTS"),
    (State::IperfDone, 16, "IPERF_DONE"),
    (State::AccessDenied, -1, "ACCESS_DENIED"),
    (State::ServerError, -2, "SERVER_ERROR"),
    (State::Clock, 100, "CLOCK"),
    (State::ClockDone, 101, "CLOCK_DONE"),
];

impl State {
    fn entry(self) -> &'static (Self, i8, &'static str) {
        let entry = STATES.iter().find(|(state, ..)| *state == self);
        entry.expect("every state has an entry")
    }

    /// Byte on the wire.
    pub fn to_byte(self) -> u8 {
        self.entry().1.cast_unsigned()
    }

    /// Reads a byte; `None` if no state has it.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let (state, ..) = STATES
            .iter()
            .find(|(_, known, _)| *known == byte.cast_signed())?;
        Some(*state)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().2)
    }
}

/// A violation of the protocol by a peer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// A byte that is not a state, or not valid at this point.
    #[error("read {}, expected {expected}", state_text(*.byte))]
    UnexpectedState {
        /// The byte.
        byte: u8,
        /// The states that are valid.
        expected: &'static str,
    },
    /// A JSON block that exceeds the limit.
    #[error("a JSON block of {length} bytes, at most {limit} are accepted")]
    TooLong {
        /// Its length field.
        length: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// A JSON block that cannot be parsed.
    #[error("{what} cannot be parsed: {reason}")]
    BadJson {
        /// The expected content.
        what: &'static str,
        /// The reason, and its place in the block.
        reason: String,
    },
    /// A JSON block without a required value.
    #[error("{what} without `{key}`")]
    Missing {
        /// The expected content of the block.
        what: &'static str,
        /// The key.
        key: &'static str,
    },
    /// Results of a stream that was not opened (IESTREAMID).
    #[error("results of stream {id}, which was not opened")]
    UnknownStream {
        /// Its id.
        id: u64,
    },
    /// The connection was closed before the test ended.
    #[error("the other end closed the control connection before {expected}")]
    Closed {
        /// The message expected from the peer.
        expected: &'static str,
    },
    /// The peer did not answer in time.
    #[error("no answer, expected {expected}")]
    TimedOut {
        /// The message expected from the peer.
        expected: &'static str,
    },
}

/// The state of a byte, if it is one.
fn state_text(byte: u8) -> String {
    match State::from_byte(byte) {
        Some(state) => format!("{state}"),
        None => format!("byte {byte:#04x}"),
    }
}

/// A JSON block: its length in four bytes, then the text.
pub(super) fn json_block(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

/// Bytes that were read and not processed yet.
///
/// Holds at most one JSON block of the limit that it is read with, and the bytes of one read.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox(VecDeque<u8>);

impl Inbox {
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// Takes the next byte.
    pub(super) fn byte(&mut self) -> Option<u8> {
        self.0.pop_front()
    }

    fn peek_u32(&self) -> Option<u32> {
        let mut bytes = [0; 4];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = *self.0.get(index)?;
        }
        Some(u32::from_be_bytes(bytes))
    }

    /// Takes the next four bytes as a number.
    pub(super) fn i32(&mut self) -> Option<i32> {
        let number = self.peek_u32()?;
        self.0.drain(..4);
        Some(number.cast_signed())
    }

    /// Takes the next eight bytes as a number.
    pub(super) fn u64(&mut self) -> Option<u64> {
        let mut bytes = [0; 8];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = *self.0.get(index)?;
        }
        self.0.drain(..8);
        Some(u64::from_be_bytes(bytes))
    }

    /// Takes the next JSON block, once it is complete, and reads it.
    pub(super) fn json(
        &mut self,
        what: &'static str,
        limit: usize,
    ) -> Result<Option<Value>, Violation> {
        let Some(text) = self.block(limit)? else {
            return Ok(None);
        };
        let parsed = serde_json::from_slice(&text);
        parsed.map(Some).map_err(|error| bad_json(what, &error))
    }

    /// Takes the text of the next JSON block, once it is complete. A length above `limit` is refused
    /// before its bytes are kept.
    pub(super) fn block(&mut self, limit: usize) -> Result<Option<Vec<u8>>, Violation> {
        let Some(length) = self.peek_u32() else {
            return Ok(None);
        };
        let Some(size) = usize::try_from(length).ok().filter(|size| *size <= limit) else {
            let length = u64::from(length);
            return Err(Violation::TooLong { length, limit });
        };
        if self.0.len() < 4 + size {
            return Ok(None);
        }
        self.0.drain(..4);
        let mut text: Vec<u8> = self.0.drain(..size).collect();
        // cJSON of an old peer counts the zero at the end of its text.
        let last = text.iter().rposition(|byte| *byte != 0);
        text.truncate(last.map_or(0, |last| last + 1));
        Ok(Some(text))
    }
}

/// A block that is not the JSON of `what`.
pub(super) fn bad_json(what: &'static str, error: &serde_json::Error) -> Violation {
    Violation::BadJson {
        what,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_bytes_of_iperf3() {
        assert_eq!(State::ParamExchange.to_byte(), 9);
        assert_eq!(State::AccessDenied.to_byte(), 0xff);
        assert_eq!(State::ServerError.to_byte(), 0xfe);
        for (state, ..) in STATES {
            assert_eq!(State::from_byte(state.to_byte()), Some(state));
        }
        assert_eq!(State::from_byte(3), None);
    }

    #[test]
    fn a_cookie_is_36_characters_of_iperf3s_alphabet_and_a_zero() {
        let cookie = Cookie::from_random(core::array::from_fn(|index| (index * 7) as u8));
        let (text, end) = cookie.as_bytes().split_at(36);
        assert!(text.iter().all(|byte| ALPHABET.contains(byte)));
        assert_eq!(end, [0]);
        assert_eq!(cookie.to_string().len(), 36);
    }

    #[test]
    fn a_block_is_read_once_all_of_it_is_there() {
        let block = json_block(&serde_json::json!({"time": 10}));
        let mut inbox = Inbox::default();
        for byte in &block[..block.len() - 1] {
            inbox.extend(&[*byte]);
            assert_eq!(inbox.json("parameters", 100), Ok(None));
        }
        inbox.extend(&[*block.last().unwrap(), 9]);
        let value = inbox.json("parameters", 100).unwrap().unwrap();
        assert_eq!(value["time"], 10);
        assert_eq!(inbox.byte(), Some(9));
    }

    #[test]
    fn a_length_of_4_gib_is_refused_at_its_fourth_byte() {
        let mut inbox = Inbox::default();
        inbox.extend(&[0xff; 4]);
        let refused = inbox.json("parameters", 8192).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a JSON block of 4294967295 bytes, at most 8192 are accepted"
        );
    }

    #[test]
    fn nested_arrays_do_not_exhaust_the_stack() {
        let text = "[".repeat(8000);
        let mut inbox = Inbox::default();
        inbox.extend(&8000_u32.to_be_bytes());
        inbox.extend(text.as_bytes());
        assert!(matches!(
            inbox.json("parameters", 8192),
            Err(Violation::BadJson { .. })
        ));
    }
}
