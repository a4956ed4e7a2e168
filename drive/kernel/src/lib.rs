//! The TCP of the running Linux kernel, driven packet by packet.
//!
//! A [`Lab`] is a network namespace with a TUN device: what is handed to the
//! device has arrived for the kernel, and what the kernel sends comes out with
//! the time at which it did. No packet leaves the namespace.
//!
//! Making a namespace takes a privilege. [`privilege`] says who has it and
//! starts a process again where it can have it.
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg(target_os = "linux")]

mod error;
mod lab;
pub mod privilege;
pub mod settings;
mod sys;

pub use error::{LabError, Step};
pub use lab::{DEVICE, LOCAL_V4, LOCAL_V6, Lab, LabConfig, REMOTE_V4, REMOTE_V6, Sent, tick};
