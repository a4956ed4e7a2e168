//! A throughput tester between two hosts, over the kernel's sockets or the engine, with the
//! protocols of iperf3 and nuttcp, and of ndt7 as client.
//!
//! | file | what |
//! |---|---|
//! | `request.rs` | settings of a test |
//! | `options.rs` | socket options: requested, granted, and their usable part |
//! | `switch.rs` | starts and stops all threads of a test |
//! | `budget.rs` | bytes or blocks that a test is limited to |
//! | `shared.rs` | state that all threads of a test share |
//! | `stream.rs`, `socket.rs` | one stream: its socket, its counters, its thread |
//! | `counters.rs` | counters of one stream, which its thread writes |
//! | `connection.rs`, `engine/` | TCP of a stream: the kernel's, and the engine |
//! | `delay.rs`, `datagram_loss.rs` | one-way delays of datagrams; why some were lost |
//! | `offload.rs` | many datagrams as one packet: GSO and GRO |
//! | `tcp.rs`, `udp.rs` | threads of streams |
//! | `traffic.rs` | all streams of a test, and the results of each interval |
//! | `samples.rs` | readings of sockets and host, and their form for the peer |
//! | `outcome.rs` | results of a test |
//! | `explain.rs` | limits of each stream |
//! | `ceiling.rs` | rate of this host's TCP to itself |
//! | `readings.rs` | input of an explanation, as a file |
//! | `latency.rs` | pings next to the bulk data |
//! | `ramp.rs`, `responsiveness.rs` | streams added until the goodput is stable; round trips per minute |
//! | `stamp.rs` | one-way delays against a reflector of STAMP |
//! | `steady.rs` | the rate without slow start |
//! | `wire.rs` | a control connection with non-blocking reads |
//! | `client.rs` | a whole test as client |
//! | `auth.rs` | names and passwords |
//! | `ndt7/` | a test with a server of ndt7 |
//! | `nuttcp/` | nuttcp's protocol: client, and one test of a server |
//! | `server/`, `admission.rs`, `session.rs` | a server of many clients |
//! | `transactions/` | request/response rates over many connections |
//! | `presence.rs` | whether a receiver of datagrams is still there |
//! | `rate_limit.rs`, `memory.rs` | rate and memory of a server's tests |
//! | `listening.rs` | sockets of a server |
//!
//! Data is sent by one blocking thread per stream. The thread of the control connection keeps time,
//! reads `tcp_info` and closes intervals; streams only count.

mod admission;
pub mod auth;
mod budget;
mod capacity;
mod ceiling;
mod client;
mod connection;
mod counters;
mod datagram_loss;
mod delay;
#[cfg(target_os = "linux")]
mod engine;
mod explain;
mod latency;
mod listening;
mod memory;
mod ndt7;
pub mod nuttcp;
mod offload;
mod options;
mod outcome;
mod page_aligned;
mod presence;
mod ramp;
mod rate_limit;
mod readings;
mod request;
mod responsiveness;
mod samples;
mod server;
mod session;
mod shared;
mod socket;
pub mod stamp;
mod steady;
mod stream;
mod switch;
mod tcp;
mod traffic;
pub mod transactions;
mod udp;
mod wire;

pub use admission::{Admission, MAX_DURATION, Network};
pub use capacity::PathCapacity;
pub use ceiling::loopback_ceiling;
pub use client::run;
pub use connection::BufferLimits;
pub use counters::{Role, UdpCounts};
pub use datagram_loss::DatagramLoss;
pub use delay::OneWayDelay;
#[cfg(target_os = "linux")]
pub use engine::Engine;
pub use explain::{Explanation, account_of, boots, explain, host_summaries};
pub use latency::{Latency, PingKind};
pub use memory::default_limit as default_memory;
pub use ndt7::Ndt7Url;
pub use options::{Effective, Override, StackKind};
pub use outcome::{CpuShares, Interval, Outcome, StreamInterval, StreamOutcome, TestError};
pub use ramp::Ramp;
pub use readings::Readings;
pub use request::{Offload, PingSet, Protocol, Request, Stack};
pub use responsiveness::{Components, Responses, Responsiveness, responses};
pub use samples::Samples;
pub use server::{
    Authorize, BindError, MAX_STAMP_RATE, MAX_TOTAL_STAMP_RATE, Notify, NuttcpConfig, Server,
    ServerConfig, ServerNotice,
};

pub use session::Render;
pub use steady::{Steady, steady};
pub use traffic::Progress;
