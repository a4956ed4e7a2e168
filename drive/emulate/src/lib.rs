//! The path in real time: the hops of `gigatcp-path` between two TUN devices,
//! driven by the machine's clock.
//!
//! | file | what |
//! |---|---|
//! | `packet.rs` | a packet or super-segment as a path carries it |
//! | `headers.rs` | the headers of a piece of a super-segment |
//! | `slabs.rs` | memory that packets are read into |
//! | `path.rs` | hops one behind another, brought up to a clock |
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod headers;
mod packet;
mod path;
mod slabs;

pub use headers::{device_octets, wire_octets};
pub use packet::{Packet, Refusal};
pub use path::{Delivery, Path};
pub use slabs::Slabs;
