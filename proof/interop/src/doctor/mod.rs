//! Test of the predictions of `gigatcp doctor`.
//!
//! Two kernels in network namespaces are connected by an emulated path. Ordinary commands make
//! settings of one of them wrong. `doctor` examines that host, and the tester measures.
//!
//! | File | Contents |
//! |---|---|
//! | `bed.rs` | Two hosts, commands on them, and a transfer |
//! | `setting.rs` | Settings that a namespace can make wrong |
//! | `costs.rs` | Cost of each setting alone, predicted and measured |
//! | `advice.rs` | Random wrong settings: gain of the first advice, predicted and measured |
//!
//! Out of scope: settings that a namespace cannot change (ring sizes, coalescing, interrupts, the
//! governor, `net.core.rmem_max`).

pub mod advice;
mod bed;
pub mod costs;
mod setting;

pub use bed::{Bed, Link, Transfer};
pub use setting::{SETTINGS, Setting};
