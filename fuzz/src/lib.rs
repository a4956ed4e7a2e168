//! Adversaries of the readers and of the engine.
//!
//! | module | what it does |
//! |---|---|
//! | [`targets`] | octets in, no panic out: packets, options, scripts, captures, the engine |
//! | [`captures`] | captures of every form, in memory and in pieces |
//! | [`fragments`] | fragments that fit, overlap and contradict one another |
//! | [`endpoint`] | two endpoints whose packets are octets; reads equal writes |
//! | [`engine`] | an engine driven by arbitrary octets, with its invariants |
//! | [`iperf3`] | iperf3's state machines: either end, datagrams, credentials |
//! | [`nuttcp`] | nuttcp's state machines: either end, lines, datagrams |
//! | [`peers`] | hostile peers that lie, flood, starve and stall, and their cost |
//! | [`flood`] | a SYN flood at a listener, and its cost |
//! | [`memory`] | a counting allocator, to measure costs |
//! | [`octets`] | random choices drawn from octets |
//!
//! Three ways to run it:
//!
//! * `cargo test -p gigatcp-fuzz` replays the corpora and checks the bounds of every hostile
//!   peer;
//! * `cargo run --release -p gigatcp-fuzz --bin soak -- --segments 100000000` drives engines with
//!   that number of random segments;
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
