//! The public interface by itself: random transfers, the rules of sockets, the
//! examples.
//!
//! One crate: each that uses the engine compiles it anew for its payload.
#![allow(
    clippy::duplicate_mod,
    reason = "each example is a program with a network of its own"
)]

#[path = "../../examples/network/mod.rs"]
mod network;

mod examples;
mod hosts;
mod sockets;
mod transfers;
