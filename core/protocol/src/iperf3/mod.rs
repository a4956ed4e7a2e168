//! iperf3's protocol, 3.1 to 3.21: one control connection, data connections to the same port.
//!
//! The client sends a [`Cookie`] of 37 bytes. Everything on the control connection after it is
//! either one signed byte, a [`State`], or JSON after its length in four bytes, most significant
//! first:
//!
//! ```text
//! client                                   server
//! cookie                            ->
//!                                   <-     PARAM_EXCHANGE
//! JSON: Parameters                  ->
//!                                   <-     CREATE_STREAMS
//! data connections, each a cookie   ->
//!                                   <-     TEST_START TEST_RUNNING
//! TEST_END                          ->                       (the client owns the clock)
//!                                   <-     EXCHANGE_RESULTS
//! JSON: Results                     ->
//!                                   <-     JSON: Results, DISPLAY_RESULTS
//! IPERF_DONE                        ->
//! ```
//!
//! | file | what |
//! |---|---|
//! | `message.rs` | cookie, state bytes, and bytes that were read and not processed yet |
//! | `parameters.rs` | the client's requests |
//! | `results.rs`, `reader.rs` | the counts of each end; reading them in bounded memory |
//! | `error_code.rs` | error numbers of iperf3 with their names |
//! | `client.rs`, `server.rs` | the two roles |
//! | `clock.rs` | offset between the clocks of two ends of this project |
//! | `datagram.rs` | UDP: first message of a stream, header, the receiver's counts |
//! | `transactions.rs` | requests and responses in place of a stream: neper's `tcp_rr`, `tcp_crr` and `udp_rr` |
//! | `train.rs` | packet trains that measure the path, and their arrivals |
//! | `auth.rs` | text and digest of a user's name and password; RSA is the caller's |
//!
//! Contract: `handle_*` takes an input, `poll_output` returns bytes to send and events until there
//! is none, `poll_timeout` returns when to call `handle_timeout`.
//!
//! Private keys: two ends of this project put a value under [`PRIVATE`] into parameters and
//! results. A stock iperf3 ignores it.

pub mod auth;
mod client;
pub mod clock;
pub mod datagram;
mod error_code;
mod json;
mod message;
mod parameters;
mod reader;
mod results;
mod server;
pub mod train;
mod transactions;

pub use client::{Client, ClientEvent, ClientFailure};
pub use error_code::ErrorCode;
pub use message::{COOKIE_LENGTH, Cookie, State, Violation};
pub use parameters::{Direction, Limits, MAX_LENGTH as MAX_PARAMETERS, Parameters, Transport};
pub use results::{
    Cpu, Extras, MAX_OF_CLIENT as MAX_CLIENT_RESULTS, Results, ServerOutput, StreamResults,
    stream_id,
};
pub use server::{ANSWER_TIMEOUT, ServerEnd, ServerEvent, Session};
pub use transactions::{MAX_FLOWS, MAX_SIZE, Mode, Responses, Tag, Transactions};

use alloc::vec::Vec;

/// TCP and UDP port of a server.
pub const PORT: u16 = 5201;

/// Key of private values between two ends of this project, in parameters and results.
pub const PRIVATE: &str = "gigatcp";

/// Output of a state machine for its caller.
#[derive(Clone, PartialEq, Debug)]
pub enum Output<E> {
    /// Bytes for the control connection.
    Send(Vec<u8>),
    /// An instruction or information.
    Event(E),
}
