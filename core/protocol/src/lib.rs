//! Protocols of throughput testers as state machines: bytes in, bytes out.
//!
//! | directory | what |
//! |---|---|
//! | [`iperf3`] | iperf3's control protocol and datagrams, client and server |
//! | [`nuttcp`] | nuttcp's control connection, datagrams and lines, client and server |
//! | [`ndt7`] | M-Lab's protocol: sizes and measurements, for a client |
//! | [`stamp`] | STAMP's test packets (RFC 8762) |
//!
//! Out of scope: sockets, clocks, the data itself. `gigatcp-meter` owns them.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod iperf3;
pub mod ndt7;
pub mod nuttcp;
pub mod stamp;
