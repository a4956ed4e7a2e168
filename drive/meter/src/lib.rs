//! The ends of a throughput tester over the kernel's own TCP: sockets that are
//! told what they are to have before they are connected, say what they got, and
//! are looked at while they run.
//!
//! | file | what |
//! |---|---|
//! | `ends.rs` | listening, accepting, connecting; what was wished for and granted |
//! | `view.rs` | a connection at one moment: `tcp_info` in our words |
//! | `sample.rs` | a connection at one moment, every counter, at little cost |
//! | `host_sampler.rs` | CPU time and drops of this host |
//! | `trace.rs` | the path to a host: hops, RTTs, path MTU |
//! | `tester/` | a throughput tester, client and server; its streams may be the engine's |
//! | `host/` | settings and counters of this host that limit connections |
//! | `watch/` | all connections of a namespace, look after look |
//! | `system/` | what the tester asks of its system: Linux, another Unix, Windows |
//! | `limits.rs` | what limited the sender, from one look to the next |
//!
//! Out of scope: who writes and reads how much and when. That is the business of the runner of a
//! plan (`gigatcp-run`), and is the same for the kernel's connections and the engine's.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
pub mod host;
mod host_sampler;
mod limits;
#[cfg(target_os = "linux")]
mod sample;
mod system;
pub mod tester;
mod trace;
mod view;
#[cfg(target_os = "linux")]
pub mod watch;

#[cfg(target_os = "linux")]
pub use ends::{
    Granted, MeterError, SocketSettings, accept, congestion_controls, connect, granted, listen,
};
pub use host_sampler::Boot;
use host_sampler::{CardWatch, HostSampler};
pub use limits::LimitTally;
#[cfg(target_os = "linux")]
use sample::Sampler;
#[cfg(not(target_os = "linux"))]
use system::Sampler;
pub use trace::{Hop, ReverseError, Trace, reverse, trace};
pub use view::View;
