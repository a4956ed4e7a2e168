//! Quantities of the field, exact and typed: time, bytes, rates, chances.
//!
//! Every number that crosses a crate border carries its unit in its type.
//! All quantities are integers (nanoseconds, bytes, bit/s) so that a run is
//! the same bit for bit on every machine; the one exception is
//! [`Probability`], which only ever meets a random number.
//!
//! One grammar reads and prints them all (see [`grammar`]): `10 Gbit/s`,
//! `80 ms`, `60 MiB`, `9000 B`, `1e-5`.
//!
//! Also here because several crates need them: [`random`] streams and [`order`], [`settings`]
//! of whatever is chosen by name (queue disciplines, applications), and what the name
//! of a [`kernel_control`] says.
//!
//! Out of scope: a general dimension system. Six types cover the field
//! and a seventh is a file away.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod bytes;
mod chance;
pub mod grammar;
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
