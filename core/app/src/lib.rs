//! Applications: everything that uses connections without knowing TCP.
//!
//! * [`Application`]: the contract between a host and what runs on it.
//! * [`REGISTRY`]: every application that has a name, with its settings. [`AppConfig`]
//!   is one of them with its values, and [`read`] understands the text of a plan:
//!   `"on-off, burst 4 MB, every 4 s"`.
//! * [`writer`]: everything at once, an amount, or piece by piece; [`on_off`]: bursts,
//!   and the player that plays them; [`request_response`]: questions and answers on one
//!   connection; [`rpc`]: calls over several connections to one server.
//! * [`reader`]: reading at once, with a pause, or at a rate.
//! * [`arrivals`]: flows that start at random, with sizes from a distribution.
//! * [`datagrams`]: a source at a rate, and a sink that counts losses, reordering,
//!   duplicates and jitter.
//! * [`draws`]: the distributions behind sizes and times; [`report`]: the results.
//!
//! An application counts bytes and never holds any: the host supplies them. Nothing
//! here has a clock; `now` comes with every call and never runs backwards. Randomness
//! comes from streams that the run's seed and the flow's name select, so both ends of a
//! connection draw the same sizes and no message needs a header.
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
