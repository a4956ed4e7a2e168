//! Wraps system calls that only packet scripts need; `gigatcp-linux` has the others.
//!
//! Every function takes and returns Rust types and turns `-1` into the error number of the thread.

pub(crate) mod socket;
pub(crate) mod thread;
