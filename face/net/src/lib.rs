//! TCP and UDP for tests of tokio programs: hosts, paths and time are simulated, the TCP is
//! GigaTCP's.
//!
//! [`TcpStream`], [`TcpListener`], [`UdpSocket`] and [`lookup_host`] have the interface of
//! `tokio::net`. A [`Net`] has hosts and links between them; links are described by the words of
//! plans. Time is virtual: a minute of timeouts takes milliseconds, and equal seeds give equal bytes
//! at equal nanoseconds.
//!
//! ```
//! use gigatcp_net::{TcpListener, TcpStream};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # // A test needs the attribute `#[gigatcp_net::test]` only.
//! gigatcp_net::run(1, async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let at = listener.local_addr()?;
//!     let (near, accepted) = tokio::join!(TcpStream::connect(at), listener.accept());
//!     near?.write_all(b"hello").await?;
//!     let mut text = String::new();
//!     accepted?.0.read_to_string(&mut text).await?;
//!     assert_eq!(text, "hello");
//!     std::io::Result::Ok(())
//! })
//! .unwrap();
//! ```
//!
//! | file | what |
//! |---|---|
//! | `net.rs`, `words.rs`, `report.rs` | networks, words for links and hosts, results |
//! | `stream.rs`, `split.rs`, `listener.rs`, `udp.rs`, `address.rs` | the interface of `tokio::net` |
//! | `futures.rs` | the traits of `futures::io`, for programs without tokio |
//! | `matrix.rs` | `#[gigatcp_net::test]`: cells, seeds, and how to repeat one |
//! | `scope.rs`, `clock.rs` | the host of a task, and its time of day |
//! | `driver.rs` | virtual time: tokio's clock and the network's events |
//! | `world.rs`, `hosts.rs`, `host.rs`, `socket.rs`, `packet.rs` | the network, a function of time |
//! | `waiting.rs` | tasks that wait for a socket |
//! | `observe.rs` | analysis and captures |
//!
//! # Limits
//!
//! * `tokio::select!` without `biased` draws its order from tokio's own random numbers. They depend
//!   on the seed only with `--cfg tokio_unstable`. So does a `HashMap` that a program iterates.
//! * A task of `tokio::spawn` has no host until it uses a socket ([`spawn`]).
//! * Timers follow one clock; [`system_time`] alone differs by host. Multicast, Unix sockets and raw
//!   descriptors are missing.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod address;
mod clock;
mod driver;
mod futures;
mod host;
mod hosts;
mod listener;
mod matrix;
mod net;
mod observe;
mod packet;
mod report;
mod scope;
mod socket;
mod split;
mod stream;
mod udp;
mod waiting;
mod words;
mod world;

pub use address::{ToSocketAddrs, lookup_host};
pub use clock::system_time;
pub use gigatcp_net_macro::test;
pub use gigatcp_tcp::connection::Info;
pub use gigatcp_tcp::events::State;
pub use host::SocketEntry;
pub use listener::{TcpListener, TcpSocket};
#[doc(hidden)]
pub use matrix::{Matrix, run_matrix};
pub use net::{Crash, DEFAULT_HOST, Host, Net, NetError, Outcome, RunError, SEED_VARIABLE};
pub use packet::{Passing, TcpFlags};
pub use report::{ConnectionReport, Report};
pub use scope::spawn;
pub use stream::TcpStream;
pub use udp::UdpSocket;
pub use words::WordsError;

/// Modules of `tokio::net`.
pub mod tcp {
    pub use crate::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
}

/// Runs a future on one host, whose loopback is the only link, in virtual time.
///
/// # Panics
/// If the run does not end ([`Net::time_limit`]), with what its tasks wait for.
pub fn run<F: Future>(seed: u64, body: F) -> F::Output {
    let (output, _) = Net::new(seed).run_with(|| body);
    output.unwrap_or_else(|error| panic!("{error}"))
}
