//! The path in real time: hops of `gigatcp-path` between two TUN devices, driven by the machine's
//! clock.
//!
//! [`Emulator`] creates two network namespaces with a device each, and carries packets between them
//! through a network. The network consists of the same objects as in simulated runs, with their
//! rate, delay, queue and losses. Super-segments of the kernel stay whole and are accounted for per
//! wire packet, so that offloads stay on.
//!
//! ```no_run
//! use std::net::TcpListener;
//!
//! use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, Side};
//! use gigatcp_path::HopConfig;
//! use gigatcp_units::Duration;
//!
//! let half = HopConfig {
//!     one_way_delay: Duration::from_millis(40),
//!     ..HopConfig::default()
//! };
//! let config = EmulatorConfig {
//!     forward: vec![half.clone()],
//!     reverse: vec![half],
//!     ..EmulatorConfig::default()
//! };
//! let emulator = Emulator::start(&config, None)?;
//! let server = emulator.namespace(Side::Server);
//! let listener = server.run(|| TcpListener::bind((Addresses::of(Side::Server).v4, 5001)))??;
//! // Connections from the client's namespace have an RTT of 80 ms.
//! # drop(listener);
//! assert!(emulator.stop()?.directions.iter().all(|way| way.is_conserved()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what |
//! |---|---|
//! | `emulator.rs` | namespaces, devices, the thread between them |
//! | `engine.rs` | the loop of that thread |
//! | `side.rs` | the two ends of the path |
//! | `change.rs` | hops that change while it runs |
//! | `outbox.rs` | packets that are due and wait to be delivered in a batch |
//! | `realtime_budget.rs` | CPU time that the thread leaves to others |
//! | `packet.rs` | a packet or super-segment as a path carries it |
//! | `headers.rs` | the headers of a piece of a super-segment |
//! | `too_big.rs` | ICMP errors for packets that were too large |
//! | `device.rs` | a TUN device as an end of the path |
//! | `counters.rs` | packets carried, dropped, and late |
//! | `goodput.rs` | new payload that arrived |
//!
//! Out of scope: more than two ends, links of layer 2 (no ARP, no Ethernet frames), several queues
//! and threads for one direction. A machine that cannot keep up is reported: drops of its devices
//! and lateness of deliveries are counted in addition to the path's own counters.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod change;
mod contention;
mod counters;
mod device;
mod emulator;
mod engine;
mod goodput;
mod headers;
mod outbox;
mod packet;
mod realtime_budget;
mod side;
mod tcp_header;
mod too_big;

pub use change::{Changed, HopChange, OrderError};
pub use counters::{Direction, HopCounters, Snapshot};
pub use device::{DeviceCounters, NAME};
pub use emulator::{Addresses, Emulator, EmulatorConfig, EmulatorError, End};
pub use engine::{PacketEvent, Watch};
pub use goodput::Goodput;
pub use headers::{device_octets, wire_octets};
pub use packet::{Packet, Refusal};
pub use side::Side;
pub use too_big::{Routers, too_big};
