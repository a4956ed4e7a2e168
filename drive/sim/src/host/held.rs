//! Buffers of a host that a packet takes.

use gigatcp_path::Ring;

/// Buffers that a packet takes until it is read.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Held {
    pub(super) ring: Option<Ring>,
    /// The receive queue that it came by.
    pub(super) queue: u16,
    pub(super) clusters: u32,
}
