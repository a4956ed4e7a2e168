//! Applications: traffic sources and sinks on top of connections, independent of TCP.
//!
//! * [`Application`]: the interface between a host and an application.
//! * [`REGISTRY`]: every named application, with its settings. [`AppConfig`] is one of them with
//!   its values, and [`read`] parses the text of a plan: `"on-off, burst 4 MB, every 4 s"`.
//! * [`writer`]: everything immediately, an amount, or piece by piece; [`on_off`]: bursts, and the
//!   player that plays them; [`request_response`]: requests and answers on one connection; [`rpc`]:
//!   calls over several connections to one server.
//! * [`reader`]: reading immediately, with a pause, or at a rate.
//! * [`arrivals`]: flows that start at random, with sizes from a distribution.
//! * [`datagrams`]: a source at a rate, and a sink that counts losses, reordering,
//!   duplicates and jitter.
//! * [`draws`]: the distributions behind sizes and times; [`report`]: the results.
//!
//! An application counts bytes and never holds any: the host supplies them. Nothing here has a
//! clock; `now` comes with every call and never runs backwards. Randomness comes from streams
//! selected by the run's seed and the flow's name. So both ends of a connection draw the same sizes
//! and no message needs a header.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod application;
pub mod arrivals;
pub mod datagrams;
mod dialog;
pub mod draws;
pub mod on_off;
pub mod reader;
mod registry;
pub mod report;
pub mod request_response;
pub mod rpc;
#[cfg(test)]
mod testbed;
pub mod writer;

pub use application::{Application, Role};
pub use arrivals::Arrivals;
pub use reader::Reader;
pub use registry::{AppConfig, Build, Entry, Make, REGISTRY, find, read};
pub use report::{Report, Times};
pub use writer::{Stop, Supply, Writer};
