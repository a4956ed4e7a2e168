//! Test of the predictions of `gigatcp doctor`.
//!
//! Two kernels in network namespaces are connected by an emulated path. Ordinary commands make
//! settings of one of them wrong. `doctor` examines that host, and the tester measures.
//!
//! | File | Contents |
//! |---|---|
//! | `bed.rs` | Two hosts, commands on them, and a transfer |
//! | `costs.rs` | Cost of each setting alone, predicted and measured |
//!
//! Hosts with several wrong settings, and what following the advice brings them:
//! `cargo xtask proof --fix`.
//!
//! Out of scope: settings that a namespace cannot change (ring sizes, coalescing, interrupts, the
//! governor, `net.core.rmem_max`).

mod bed;
pub mod costs;

pub use bed::{Bed, Link, Transfer};
