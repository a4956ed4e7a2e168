//! Wraps the Linux system calls of the drive ring: network namespaces, TUN devices, clocks,
//! settings.
//!
//! Every system call is wrapped once. Functions take and return Rust types and turn `-1` into the
//! error number of the thread. Nearly all unsafe code of the product is here.
//!
//! | file | what |
//! |---|---|
//! | `pid_namespace.rs` | processes that end with this one, with all their children |
//! | `privilege.rs` | restarting the process in a user namespace |
//! | `process.rs` | namespaces of threads and of processes about to start |
//! | `isolated_cpu.rs` | a CPU that all threads except one avoid |
//! | `cpu_latency.rs` | keeps CPUs out of deep idle states |
//! | `namespace.rs` | a network namespace that ends with its owner |
//! | `orphans.rs` | ends connections without an owner |
//! | `batch.rs` | several packets written by one system call |
//! | `bpf_control.rs` | a congestion control as a BPF object (feature `bpf`) |
//! | `datagrams.rs` | several datagrams by one system call; bytes discarded in the kernel |
//! | `write_outcomes.rs` | outcome of packets written to a device |
//! | `control_data.rs` | control data of received messages |
//! | `device.rs` | a TUN device and its interface: single steps of creating it |
//! | `tun.rs` | a TUN device with addresses and routes, ready for use |
//! | `virtio.rs` | header before a packet: segmentation and checksum offloads |
//! | `interface.rs` | addresses and routes of an interface |
//! | `initial_ssthresh.rs` | initial ssthresh of connections to a peer |
//! | `steal_time.rs` | CPU time that a hypervisor gave to others |
//! | `steering.rs` | threads that process what an interface receives |
//! | `netlink_request.rs` | netlink requests whose answers have values |
//! | `ethtool.rs` | settings and counters of a network card and its driver |
//! | `packets.rs` | packet sockets: raw IP packets and Ethernet frames |
//! | `sniff.rs` | packets that pass an interface, with their times |
//! | `header_ring.rs` | headers of packets that pass an interface, through shared memory |
//! | `socket_filter.rs` | instructions of a socket's filter |
//! | `pair.rs` | two connected Ethernet devices |
//! | `probe.rs` | UDP probes and the ICMP errors they cause |
//! | `socket.rs` | the kernel's sockets and their options |
//! | `sock_diag.rs` | the TCP sockets of a namespace with their counters |
//! | `owners.rs` | processes that have a socket open |
//! | `tcp_info.rs` | `TCP_INFO` of a connection, word by word |
//! | `file.rs` | opening a file that others may have placed |
//! | `terminal.rs` | owner, width and input of the terminal |
//! | `ping.rs` | ICMP echo without privileges |
//! | `poll.rs` | waiting for descriptors, and waking the waiting thread |
//! | `clock.rs` | clocks, sleeping to an instant, the kernel's tick |
//! | `address.rs` | addresses in the kernel's form |
//! | `settings.rs` | settings under `/proc/sys/net`, and the baseline |
//! | `error.rs` | missing privileges and drivers, with hints |
//! | `userns_check.rs` | why a user namespace is refused |
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg(target_os = "linux")]

pub mod address;
pub mod batch;
#[cfg(feature = "bpf")]
pub mod bpf_control;
pub mod clock;
pub mod control_data;
mod cpu_latency;
pub mod datagrams;
pub mod device;
mod error;
pub mod ethtool;
pub mod file;
pub mod header_ring;
pub mod host_route;
pub mod identity;
pub mod initial_ssthresh;
pub mod interface;
mod isolated_cpu;
mod namespace;
pub mod netlink_request;
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
pub mod settings;
#[cfg(test)]
mod skip;
pub mod sniff;
pub mod sock_diag;
pub mod socket;
pub mod socket_filter;
pub mod steal_time;
mod steering;
pub mod tcp_info;
pub mod terminal;
pub mod tun;
mod userns_check;
pub mod virtio;
pub mod write_outcomes;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

pub use cpu_latency::CpuLatencyRequest;
pub use error::{SetupError, Step};
pub use isolated_cpu::IsolatedCpu;
pub use namespace::Namespace;
pub use pair::make_pair;
pub use pid_namespace::PidNamespace;

/// Checks the result of a system call that returns -1 on failure.
///
/// # Errors
/// The error number of the thread, if the call failed.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Checks the result of a system call that returns a number of bytes.
///
/// # Errors
/// The error number of the thread, if the call failed.
pub fn check_size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes ownership of a descriptor that a system call has just created.
///
/// # Safety
/// `result` is the result of a call that creates a descriptor, and the descriptor has no other
/// owner.
///
/// # Errors
/// The error number of the thread, if the call failed.
pub unsafe fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd: RawFd = check(result)?;
    // SAFETY: `fd` is open and has no other owner, as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
