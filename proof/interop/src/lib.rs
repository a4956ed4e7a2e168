//! Interoperability tests of the engine with the Linux kernel over an emulated path.
//!
//! All octets must arrive on any path and with any ending of a connection. A [`Testbed`] has the
//! engine at one end of an emulated path and the kernel at the other, both in network namespaces.
//! A [`Case`] holds all parameters of one transfer. [`covering`] returns cases that cover all
//! pairs of choices, and [`Case::random`] the case of a seed. [`Soak`] runs mixed traffic for a
//! given time and counts memory, descriptors and namespaces.
//!
//! | File | Contents |
//! |---|---|
//! | `testbed.rs` | Engine, path, and kernel |
//! | `end.rs` | One end of a connection, of the engine or the kernel |
//! | `case.rs`, `cover.rs` | Parameters of a transfer; pairwise covering set |
//! | `transfer.rs` | Transfer, and its checks |
//! | `relay.rs` | Wire to the engine that changes packets |
//! | `packet_corruptor.rs`, `garbage.rs` | Corruption of packets; checks under corruption |
//! | `soak.rs`, `watch.rs` | Long mixed traffic; system resources of the process |
//! | `many.rs` | Many connections: cost when idle, fairness when active |
//! | `doctor/` | Predictions of `gigatcp doctor` for wrong settings, against measurements |
//! | `rivals.rs` | One flow of the kernel and one of the engine on one path |
//! | `octets.rs` | Random octets that are not stored |
//!
//! Out of scope: speed, except for comparisons with the benchmarks (`examples/bench_many.rs`);
//! pairs of engines, which the simulation with virtual time covers.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod case;
mod cover;
pub mod doctor;
mod end;
mod garbage;
mod many;
mod octets;
mod packet_corruptor;
mod relay;
mod rivals;
mod soak;
mod testbed;
mod transfer;
mod watch;

pub use case::{Case, Ending, Opener, Windows};
pub use cover::covering;
pub use end::End;
pub use garbage::{Survived, survive};
pub use many::{Idle, Shares, Sharing, idle, share};
pub use octets::{Source, digest};
pub use packet_corruptor::{PacketCorruptor, VICTIM_PORT};
pub use relay::{Direction, PacketFilter, Relay};
pub use rivals::{Rivals, Split, compete};
pub use soak::{Progress, Soak, Soaked};
pub use testbed::{ENGINE_V4, ENGINE_V6, Testbed, TestbedConfig};
pub use transfer::{Done, Trouble, run};
pub use watch::{Held, memory};
