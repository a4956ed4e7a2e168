//! Request/response and connect/request/response rates over many connections (neper's `tcp_rr`,
//! `tcp_crr` and `udp_rr`).
//!
//! Control connection, admission and results are those of other tests. Each end runs all
//! connections of a test in one thread, as an event loop: only the sockets grow with their number.
//! Each connection has one transaction at a time, so the load adapts to the answers (a closed
//! loop): the latencies are those at that load, not those of arrivals at a rate.
//!
//! | file | content |
//! |---|---|
//! | `client.rs` | a whole test as client |
//! | `connection.rs` | one connection of a client |
//! | `outcome.rs` | results of a test |
//! | `server.rs` | one test of a server |
//! | `flow.rs` | one connection of a server |

mod client;
mod connection;
pub(super) mod flow;
mod outcome;
pub(super) mod server;

use std::io;
use std::time::Duration;

use gigatcp_protocol::iperf3::{Cpu, Mode, Transactions};
use mio::{Poll, Token};

use super::traffic;
use crate::system::clock;
use crate::system::fd::AsFd;

pub use client::{Notice, run};
pub use outcome::{ServedTransactions, TransactionInterval, TransactionOutcome};

/// Token of the control connection. Those of the connections are their places.
const CONTROL: Token = Token(usize::MAX);

/// Maximum number of events taken at a time.
const EVENTS: usize = 1024;

/// Bytes of the buffer that all connections of a test read into.
pub(super) const SCRATCH: usize = 64 << 10;

/// Bytes that a message costs in addition to its payload, and each segment after its first: headers
/// of a segment and of its acknowledgment.
pub(super) const MESSAGE: u64 = 2 * 60;

/// Bytes that a connection costs: four segments without data.
pub(super) const CONNECTION: u64 = 4 * 60;

/// Payload of a segment on most paths.
const SEGMENT: u64 = 1448;

/// Bytes that a transaction costs under a rate.
fn cost(transactions: &Transactions) -> u64 {
    let connection = match transactions.mode {
        Mode::TcpRr | Mode::UdpRr => 0,
        Mode::TcpCrr => CONNECTION,
    };
    let bytes = u64::from(transactions.request) + u64::from(transactions.response);
    connection + cost_of((bytes, 1), SEGMENT)
}

/// Bytes that responses cost with their requests, of which `bytes` are payload in segments of at most
/// `segment`.
const fn cost_of((bytes, responses): (u64, u64), segment: u64) -> u64 {
    bytes + MESSAGE * (2 * responses + bytes / segment)
}

/// CPU time of this thread since it was `before`, in percent of the time elapsed.
fn cpu_shares(elapsed: Duration, before: [Duration; 2]) -> Cpu {
    let (user, system) = clock::thread_split();
    traffic::cpu_of([user - before[0], system - before[1]], elapsed)
}

/// Adds a descriptor that is read when it is ready.
fn add_reader(poll: &Poll, descriptor: &impl AsFd, token: Token) -> io::Result<()> {
    #[cfg(unix)]
    {
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&descriptor.as_fd());
        let source = &mut mio::unix::SourceFd(&descriptor);
        poll.registry()
            .register(source, token, mio::Interest::READABLE)
    }
    #[cfg(not(unix))]
    {
        let _ = (poll, descriptor, token);
        let text = "request/response tests are not available on this system";
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    }
}

/// Waits for events; an interruption is none.
fn wait(poll: &mut Poll, events: &mut mio::Events, longest: Duration) -> io::Result<()> {
    match poll.poll(events, Some(longest)) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            events.clear();
            Ok(())
        }
        polled => polled,
    }
}
