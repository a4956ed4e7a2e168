//! The TCP of the running Linux kernel, driven packet by packet.
//!
//! A [`TestNetns`] is a network namespace with a TUN device. Packets written to the device arrive
//! at the kernel; packets sent by the kernel are read from it, with their times. No packet leaves
//! the namespace.
//!
//! [`KernelStack`] makes the kernel in a [`TestNetns`] a stack for packet scripts, like the engine.
//! It makes socket calls by name, blocking ones on separate threads, runs the commands of scripts
//! without a shell, and reads `tcp_info` word by word.
//!
//! Creating a namespace requires a privilege. [`privilege`] checks for it, and restarts the process
//! with it if possible.
//!
//! | file | what |
//! |---|---|
//! | `test_netns.rs` | namespace, device, clock, packets in and out |
//! | `gigatcp-linux` | namespaces, devices, clocks, settings, and what may be missing |
//! | `privilege.rs` | checks the privilege to build one, and restarts the process with it |
//! | `stack/` | the kernel as a stack under test |
//! | `runner.rs` | many scripts side by side |
//! | `differences.rs` | where Linux does not meet a shared script, and why |
//! | `constants.rs` | names of the kernel's interface |
//! | `sys/` | system calls of sockets and threads, each wrapped once |
//!
//! Out of scope: verdicts. The runner of a script compares its expectations, equally for every
//! stack.

mod constants;
pub mod differences;
pub mod privilege;
pub mod runner;
mod stack;
mod sys;
mod test_netns;

pub use gigatcp_linux::{SetupError, Step, settings};
pub use stack::KernelStack;
pub use test_netns::{
    DEVICE, LOCAL_V4, LOCAL_V6, REMOTE_V4, REMOTE_V6, Sent, TestNetns, TestNetnsConfig, tick,
};
