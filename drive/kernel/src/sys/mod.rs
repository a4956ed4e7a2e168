//! System calls that only packet scripts need, each wrapped once;
//! the others are `gigatcp-linux`'s.
//!
//! Every function here takes and gives Rust types and turns `-1` into the
//! error number of the thread. What a call means stands with its caller.

pub(crate) mod socket;
pub(crate) mod thread;
