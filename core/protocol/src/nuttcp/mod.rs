//! nuttcp's protocol: one control connection of text lines, client and server.
//!
//! ```text
//! C: HELO nuttcp v8.2.2
//! S: HELO nuttcp v6.1.2
//! C: buflen = 65536, nbuf = 2147483647, win = 0, ...   parameters, one line
//! S: OK v6.1.2                                         or KO, reasons, KO
//!    (data connections are opened, data flows)
//! S: nuttcp-r: ...                                     setup, in words
//! S:   827.2500 MB /   1.00 sec = 6939.2400 Mbps       once an interval
//! S: DONE                                              if there were intervals
//! S: nuttcp-r: ...                                     results, in words
//!    (the server closes)
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`client`], [`server`] | the two ends as state machines |
//! | [`greeting`] | versions and their abilities |
//! | [`parameters`], `keys` | the line of parameters, both ways |
//! | [`output`] | intervals, results and the one-line summary as text, both ways |
//! | [`datagram`] | UDP's markers and stamps, TCP's stamps, the UDP receiver's counts |
//! | [`lines`], [`error`] | lines of bounded length, errors |
//!
//! # How to drive a machine
//!
//! Hand in the inputs (`handle_bytes`, `handle_closed`, and the calls by which an application
//! reports its transfer), then call `poll_output` until it returns `None`. A machine that has
//! failed or finished ignores later inputs.
//!
//! The driver opens data connections, from the transmitter unless the test is flipped
//! ([`Parameters::client_connects`]). It stamps and counts data ([`datagram`]) and measures
//! intervals at the receiver. It has all timeouts: for a silent peer, and for a sender of datagrams
//! none of which arrives ([`Server::abort`]).
//!
//! # Memory
//!
//! A machine holds at most one unfinished line of [`lines::MAX_LINE`] bytes and
//! [`lines::MAX_WAITING`] outputs not yet polled. Their text does not exceed the bytes handed in
//! since (three times that for text that is not UTF-8). A peer that exceeds either ends the test
//! with an error.
//!
//! Facts are from nuttcp 8.2.2 (source) and 6.1.2 (on the wire). Out of scope: older versions; tests
//! with a third party, traceroutes and multicast; the mode without a control connection
//! ("classic"), in which both ends are started by hand.

pub mod client;
pub mod datagram;
pub mod error;
pub mod greeting;
mod keys;
pub mod lines;
pub mod output;
pub mod parameters;
pub mod server;
mod version;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::Duration;

pub use client::Client;
pub use error::Error;
pub use parameters::Parameters;
pub use server::Server;
pub use version::Version;

use lines::MAX_WAITING;

/// TCP port of the control connection.
pub const CONTROL_PORT: u16 = 5000;

/// Port of the first data stream; stream `i` uses the `i`-th after it.
pub const DATA_PORT: u16 = 5101;

/// Time to wait before opening each data connection.
///
/// nuttcp listens on a stream's port only after it has accepted the previous stream, and up to
/// 6.2.7 it consents before it listens at all: a refused connection must be retried.
pub const CONNECT_PAUSE: Duration = Duration::from_millis(20);

/// Time for which nuttcp waits for each data connection.
pub const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// A machine's output, to be carried out by the driver in order.
#[derive(Clone, PartialEq, Debug)]
pub enum Output<Event> {
    /// Bytes to write to the control connection.
    Send(Vec<u8>),
    /// A byte to write to the control connection as TCP urgent data.
    SendUrgent(u8),
    /// Close the control connection for writing.
    ShutdownWrite,
    /// Close the control connection.
    Close,
    /// An event that the driver must handle.
    Event(Event),
}

/// The role of an end of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Sends the data: lines begin with `nuttcp-t`.
    Transmitter,
    /// Receives the data: lines begin with `nuttcp-r`.
    Receiver,
}

impl Side {
    /// Letter in the line's prefix.
    pub const fn letter(self) -> char {
        match self {
            Self::Transmitter => 't',
            Self::Receiver => 'r',
        }
    }
}

/// Outputs not yet polled; the peer cannot make them grow without bound.
#[derive(Clone, Debug)]
struct Waiting<Event> {
    outputs: VecDeque<Output<Event>>,
}

impl<Event> Default for Waiting<Event> {
    fn default() -> Self {
        Self {
            outputs: VecDeque::new(),
        }
    }
}

impl<Event> Waiting<Event> {
    fn send(&mut self, text: impl Into<Vec<u8>>) {
        self.outputs.push_back(Output::Send(text.into()));
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn push(&mut self, output: Output<Event>) {
        self.outputs.push_back(output);
    }

    fn pop(&mut self) -> Option<Output<Event>> {
        self.outputs.pop_front()
    }

    fn is_full(&self) -> bool {
        self.outputs.len() >= MAX_WAITING
    }
}
