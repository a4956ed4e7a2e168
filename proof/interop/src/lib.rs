//! The engine against the machine's kernel, with an emulated path between them:
//! do all octets arrive, whatever the path does and however a connection ends?
//!
//! A [`Lab`] has the engine at one end of an emulated path and the kernel at the
//! other, both in network namespaces. A [`Case`] is a transfer over it with
//! everything that can be chosen; [`covering`] is a set of them in which any two
//! choices meet, [`Case::random`] one that a seed names. [`Soak`] is mixed
//! traffic for as long as wanted, with its memory, its descriptors and its
//! namespaces counted.
//!
//! | file | what |
//! |---|---|
//! | `lab.rs` | the engine, the path, the kernel |
//! | `end.rs` | one end of a connection, the engine's or the kernel's |
//! | `case.rs`, `cover.rs` | what a transfer is made of; sets of pairs |
//! | `transfer.rs` | a transfer, and what must hold of it |
//! | `relay.rs` | a wire to the engine that changes packets |
//! | `packet_corruptor.rs`, `garbage.rs` | corrupts packets; what must hold anyway |
//! | `soak.rs`, `watch.rs` | mixed traffic for long; what the process holds of the system |
//! | `many.rs` | many connections: what an idle one costs, how active ones share |
//! | `doctor/` | what `gigatcp doctor` states of wrong settings, next to tests |
//! | `rivals.rs` | a flow of the kernel and one of the engine on one path |
//! | `octets.rs` | random octets that are not stored |
//!
//! Out of scope: how fast anything is, except what is compared with the
//! figures of the benchmarks (`examples/bench_many.rs`); two engines facing
//! each other, which virtual time does better.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod case;
mod cover;
pub mod doctor;
mod end;
mod garbage;
mod lab;
mod many;
mod octets;
mod packet_corruptor;
mod relay;
mod rivals;
mod soak;
mod transfer;
mod watch;

pub use case::{Case, Ending, Opener, Windows};
pub use cover::covering;
pub use end::End;
pub use garbage::{Survived, survive};
pub use lab::{ENGINE_V4, ENGINE_V6, Lab, LabConfig};
pub use many::{Idle, Shares, Sharing, idle, share};
pub use octets::{Source, digest};
pub use packet_corruptor::{PacketCorruptor, VICTIM_PORT};
pub use relay::{Meddle, Relay, Way};
pub use rivals::{Rivals, Split, compete};
pub use soak::{Progress, Soak, Soaked};
pub use transfer::{Done, Trouble, run};
pub use watch::{Held, memory};
