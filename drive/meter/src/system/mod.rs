//! What the tester asks of its system beyond `std` and `socket2`: Linux as it is, other systems
//! of Unix in the same words, as far as they have it.

#[cfg(target_os = "linux")]
pub(crate) use gigatcp_linux::{clock, datagrams, ping, poll, probe, settings, socket};

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
pub use other::Sampler;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{clock, datagrams, ping, poll, probe, settings, socket};

/// Bytes of a socket's buffer for each byte of data: Linux counts its own overhead.
pub(crate) const BUFFER_OVERHEAD: u64 = if cfg!(target_os = "linux") { 2 } else { 1 };

/// `ENOBUFS`: the interface's queue is full.
pub(crate) const NO_BUFFERS: i32 = if cfg!(target_os = "linux") { 105 } else { 55 };
