//! Does following `gigatcp doctor` give what it promises?
//!
//! Two kernels in network namespaces with an emulated path between them; settings of one are made
//! wrong by the commands that people type. `doctor` examines that host, the tester measures.
//!
//! | file | what |
//! |---|---|
//! | `bed.rs` | two hosts, commands for them, a transfer |
//! | `setting.rs` | settings that a namespace can make wrong |
//! | `costs.rs` | what each costs alone, stated and shown |
//! | `advice.rs` | random wrong settings: the gain of the first advice, predicted and shown |
//!
//! Out of scope: what a namespace cannot change (ring sizes, coalescing, interrupts, the
//! governor, `net.core.rmem_max`).

pub mod advice;
mod bed;
pub mod costs;
mod setting;

pub use bed::{Bed, Link, Transfer};
pub use setting::{SETTINGS, Setting};
