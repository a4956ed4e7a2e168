//! Exact, typed quantities: time, bytes, rates, probabilities.
//!
//! Every number in a crate's interface carries its unit in its type. All quantities are integers
//! (nanoseconds, bytes, bit/s) so that a run is reproducible bit for bit on every machine. The one
//! exception is [`Probability`], which is only compared with random numbers.
//!
//! One grammar reads and prints them all (see [`grammar`]): `10 Gbit/s`, `80 ms`, `60 MiB`, `9000
//! B`, `1e-5`.
//!
//! Also here because several crates use them: [`random`] streams and [`order`], a [`histogram`] of durations, [`settings`] of
//! objects chosen by name (queue disciplines, applications), and properties of a [`kernel_control`]
//! by its name.
//!
//! Out of scope: a general dimension system. Six types cover the field; a seventh would be one more
//! file.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod bytes;
mod chance;
pub mod grammar;
pub mod histogram;
pub mod kernel_control;
pub mod nearest;
pub mod order;
pub mod random;
mod rate;
pub mod settings;
mod time;

pub use bytes::Bytes;
pub use chance::Probability;
pub use rate::Rate;
pub use time::{Duration, Instant};
