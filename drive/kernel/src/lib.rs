//! The TCP of the running Linux kernel, driven packet by packet.
//!
//! A [`TestNetns`] is a network namespace with a TUN device: what is handed to the
//! device has arrived for the kernel, and what the kernel sends comes out with
//! the time at which it did. No packet leaves the namespace.
//!
//! [`KernelStack`] makes the kernel in a [`TestNetns`] a stack that packet scripts run against, as they
//! do against the engine: socket calls by name, blocking ones on threads
//! of their own, the commands of scripts without a shell, `tcp_info` word by
//! word.
//!
//! Making a namespace takes a privilege. [`privilege`] says who has it and
//! starts a process again where it can have it.
//!
//! | file | what |
//! |---|---|
//! | `test_netns.rs` | namespace, device, clock, packets in and out |
//! | `gigatcp-linux` | namespaces, devices, clocks, settings, and what may be missing |
//! | `privilege.rs` | checks the privilege to build one, and restarts the process with it |
//! | `stack/` | the kernel as a stack under test |
//! | `judge.rs` | many scripts side by side |
//! | `differences.rs` | where Linux does not meet a shared script, and why |
//! | `constants.rs` | names of the kernel's interface |
//! | `sys/` | system calls of sockets and threads, each wrapped once |
//!
//! Out of scope: any verdict. What a script expects is
//! compared by its runner, for every stack alike.
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg(target_os = "linux")]

mod constants;
pub mod differences;
pub mod judge;
pub mod privilege;
mod stack;
mod sys;
mod test_netns;

pub use gigatcp_linux::{SetupError, Step, settings};
pub use stack::KernelStack;
pub use test_netns::{
    DEVICE, LOCAL_V4, LOCAL_V6, REMOTE_V4, REMOTE_V6, Sent, TestNetns, TestNetnsConfig, tick,
};
