//! The public interface by itself: random transfers, the rules of sockets, the
//! examples.
//!
//! One crate: each that uses the engine compiles it anew for its payload.

#[path = "../../examples/network/mod.rs"]
mod network;

mod examples;
mod hosts;
mod sockets;
mod transfers;
