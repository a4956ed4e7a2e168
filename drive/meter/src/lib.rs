//! Ends of a throughput tester over the kernel's TCP: sockets with options set before they connect,
//! options read back, and samples during the run.
//!
//! | file | what |
//! |---|---|
//! | `ends.rs` | listening, accepting, connecting; requested and granted options |
//! | `view.rs` | state of a connection from `tcp_info`, in the project's terms |
//! | `sample.rs` | all counters of a connection, at low cost |
//! | `host_sampler.rs` | CPU time and drops of this host |
//! | `trace.rs` | the path to a host: hops, RTTs, path MTU |
//! | `tester/` | a throughput tester, client and server; its streams may be the engine's |
//! | `host/` | settings and counters of this host that limit connections |
//! | `doctor/` | rules on them: from facts to findings with costs; pure, since facts may come from another host |
//! | `watch/` | all connections of a namespace, sampled repeatedly |
//! | `filter.rs`, `filter/` | filter of connections, for `watch` and for captures |
//! | `system/` | system functions for the tester: Linux, another Unix, Windows |
//! | `limits.rs` | time by limit of the sender, from one sample to the next |
//!
//! Out of scope: the amount and timing of writes and reads. The runner of a plan (`gigatcp-run`)
//! determines them, in the same way for the kernel's connections and the engine's.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod doctor;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
pub mod filter;
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
