//! What the drive ring asks of Linux: network namespaces, TUN devices, clocks,
//! settings. Each system call is wrapped once.
//!
//! Every function takes and gives Rust types and turns `-1` into the error
//! number of the thread. What a call means stands with its caller. With the
//! few calls that `gigatcp-kernel` needs alone (`drive/kernel/src/sys`), this
//! is the only unsafe code of the product.
//!
//! | file | what |
//! |---|---|
//! | `pid_namespace.rs` | processes that end with us, and what they started with them |
//! | `privilege.rs` | restarting the process in a user namespace |
//! | `process.rs` | namespaces of threads and of processes about to begin |
//! | `isolated_cpu.rs` | a CPU that all threads but one avoid |
//! | `cpu_latency.rs` | keeps CPUs out of deep idle states |
//! | `namespace.rs` | a network namespace that nothing outlives |
//! | `orphans.rs` | ends connections without an owner |
//! | `batch.rs` | several packets written by one system call |
//! | `datagrams.rs` | several datagrams by one system call; bytes discarded in the kernel |
//! | `written.rs` | what became of the packets that were written to a device |
//! | `device.rs` | a TUN device and its interface: made, addressed, routed, brought up |
//! | `virtio.rs` | what stands before a packet: segmentation and checksums left to others |
//! | `interface.rs` | addresses and routes of an interface |
//! | `first_threshold.rs` | the slow-start threshold that connections to a peer begin with |
//! | `steal_time.rs` | how much of the processors' time a hypervisor gave to others |
//! | `steering.rs` | who works on what an interface receives |
//! | `netlink.rs` | a question about devices and addresses, and whether it was done |
//! | `question.rs` | questions over netlink whose answers carry values |
//! | `ethtool.rs` | what a network card and its driver say about themselves |
//! | `packets.rs` | IP packets out of an interface, whatever is in them |
//! | `sniff.rs` | packets that pass an interface, with their times |
//! | `pair.rs` | two Ethernet devices that are each other's wire |
//! | `probe.rs` | UDP probes and the ICMP errors that come back for them |
//! | `socket.rs` | the kernel's sockets and their options |
//! | `sock_diag.rs` | the TCP sockets of a namespace with their counters |
//! | `owners.rs` | which process has a socket open |
//! | `tcp_info.rs` | `TCP_INFO` of a connection, word by word |
//! | `terminal.rs` | who has the terminal, and how wide it is |
//! | `ping.rs` | ICMP echo without privileges |
//! | `poll.rs` | waiting for descriptors, and waking the waiting thread |
//! | `clock.rs` | clocks, sleeping to an instant, the kernel's tick |
//! | `address.rs` | addresses in the kernel's form |
//! | `settings.rs` | settings under `/proc/sys/net`, and the baseline |
//! | `error.rs` | what may be missing, and what to type |
//! | `userns_check.rs` | why there may be no user namespace |
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg(target_os = "linux")]

pub mod address;
pub mod batch;
pub mod clock;
mod cpu_latency;
pub mod datagrams;
pub mod device;
mod error;
pub mod ethtool;
pub mod first_threshold;
pub mod host_route;
pub mod identity;
pub mod interface;
mod isolated_cpu;
mod namespace;
mod netlink;
pub mod orphans;
pub mod owners;
pub mod packets;
mod pair;
pub mod pid_namespace;
pub mod ping;
pub mod poll;
pub mod privilege;
pub mod probe;
pub mod process;
#[cfg(test)]
mod proven;
pub mod question;
pub mod settings;
pub mod sniff;
pub mod sock_diag;
pub mod socket;
pub mod steal_time;
pub mod steering;
pub mod tcp_info;
pub mod terminal;
mod userns_check;
pub mod virtio;
pub mod written;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

pub use cpu_latency::CpuLatencyRequest;
pub use error::{SetupError, Step};
pub use isolated_cpu::IsolatedCpu;
pub use namespace::Namespace;
pub use pair::make_pair;
pub use pid_namespace::PidNamespace;

/// The result of a system call that gives -1 on failure.
///
/// # Errors
/// The error number of the thread, when the call failed.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The same for calls that count octets.
///
/// # Errors
/// The error number of the thread, when the call failed.
pub fn check_size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes a descriptor that a system call has just made into ownership.
///
/// # Safety
/// `result` is the result of a call that makes a descriptor, and the descriptor has no other owner.
///
/// # Errors
/// The error number of the thread, when the call failed.
pub unsafe fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd: RawFd = check(result)?;
    // SAFETY: `fd` is open and has no other owner, as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
