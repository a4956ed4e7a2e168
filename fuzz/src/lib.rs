//! Adversaries of the readers and of the engine.
//!
//! | module | what it does |
//! |---|---|
//! | [`targets`] | octets in, no panic out: packets, options, scripts, captures, the engine |
//! | [`captures`] | captures of every form, in memory and in pieces |
//! | [`fragments`] | fragments that fit, and such that do not |
//! | [`endpoint`] | two endpoints whose packets are octets; what is read is what was written |
//! | [`engine`] | an engine driven by arbitrary octets, with what must always hold |
//! | [`iperf3`] | iperf3's machines: either end, datagrams, credentials |
//! | [`nuttcp`] | nuttcp's machines: either end, lines, datagrams |
//! | [`peers`] | peers that lie, flood, starve and stall, and what each costs |
//! | [`flood`] | SYNs without end at a listener, and what they cost |
//! | [`memory`] | an allocator that counts, so that a cost can be said |
//! | [`octets`] | choices drawn from octets |
//!
//! Three ways to run it:
//!
//! * `cargo test -p gigatcp-fuzz` replays the corpora and holds every hostile
//!   peer to its bounds;
//! * `cargo run --release -p gigatcp-fuzz --bin soak -- --segments 100000000`
//!   drives engines with random segments, for as long as asked;
//! * `cargo xtask fuzz TARGET` lets libFuzzer look for new inputs.
#![forbid(unsafe_op_in_unsafe_fn)]
#![deny(missing_docs)]

pub mod captures;
pub mod endpoint;
pub mod engine;
pub mod flood;
pub mod fragments;
pub mod iperf3;
pub mod memory;
pub mod nuttcp;
pub mod octets;
pub mod peers;
pub mod targets;
