//! A throughput tester between two hosts, over the kernel's sockets or the engine: iperf3's
//! protocol and nuttcp's.
//!
//! | file | what |
//! |---|---|
//! | `request.rs` | what a test is to do |
//! | `options.rs` | socket options: requested, granted, and what they are good for |
//! | `switch.rs` | starts and stops all threads of a test |
//! | `budget.rs` | bytes or blocks that a test is limited to |
//! | `stream.rs` | one stream: its socket, its counters, its thread |
//! | `connection.rs`, `engine/` | what a stream needs of its TCP: the kernel's, and the engine |
//! | `delay.rs` | one-way delays of datagrams |
//! | `offload.rs` | many datagrams as one packet: GSO and GRO |
//! | `tcp.rs`, `udp.rs` | what the thread of a stream does |
//! | `traffic.rs` | all streams of a test, and what each interval brought |
//! | `samples.rs` | readings of sockets and host, and their form for the peer |
//! | `outcome.rs` | what a test found |
//! | `explain.rs` | what limited each stream |
//! | `ceiling.rs` | the rate that this host's TCP carries to itself |
//! | `readings.rs` | what an explanation rests on, as a file |
//! | `latency.rs` | pings next to the bulk data |
//! | `steady.rs` | the rate without slow start |
//! | `wire.rs` | a control connection that is read without waiting |
//! | `client.rs` | a whole test as client |
//! | `auth.rs` | names and passwords |
//! | `nuttcp/` | nuttcp's protocol: client, and one test of a server |
//! | `server/`, `admission.rs`, `session.rs` | a server of many clients |
//!
//! Data is sent by one blocking thread per stream. The thread of the control connection keeps
//! time, reads `tcp_info` and closes intervals; streams only count.

mod admission;
pub mod auth;
mod budget;
mod ceiling;
mod client;
mod connection;
mod counters;
mod delay;
#[cfg(target_os = "linux")]
mod engine;
mod explain;
mod latency;
pub mod nuttcp;
mod offload;
mod options;
mod outcome;
mod readings;
mod request;
mod samples;
mod server;
mod session;
mod steady;

mod stream;
mod switch;
mod tcp;
mod traffic;
mod udp;
mod wire;

pub use admission::{Admission, Network};
pub use ceiling::loopback_ceiling;
pub use client::run;
pub use connection::BufferLimits;
pub use counters::{Role, UdpCounts};
pub use delay::OneWayDelay;
#[cfg(target_os = "linux")]
pub use engine::Engine;
pub use explain::{Explanation, account_of, boots, explain, host_summaries};
pub use latency::{Latency, PingKind};
pub use options::{Effective, Override, StackKind};
pub use outcome::{CpuShares, Interval, Outcome, StreamInterval, StreamOutcome, TestError};
pub use readings::Readings;
pub use request::{Offload, PingSet, Protocol, Request, Stack};
pub use samples::Samples;
pub use server::{
    Authorize, BindError, Notify, NuttcpConfig, Render, Server, ServerConfig, ServerNotice,
};

pub use steady::{Steady, steady};
pub use traffic::Progress;
