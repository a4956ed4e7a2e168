//! System functions for the tester beyond `std` and `socket2`: Linux directly, other Unixes and
//! Windows with the same names, as far as they have them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gigatcp_units::Bytes;

#[cfg(target_os = "linux")]
pub(crate) use gigatcp_linux::{clock, datagrams, ping, poll, probe, process, settings, socket};

#[cfg(target_os = "linux")]
pub(crate) use crate::host::{interface_towards, loss_counters};

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "unix.rs"]
mod own;
#[cfg(windows)]
#[path = "windows.rs"]
mod own;

#[cfg(not(target_os = "linux"))]
pub use other::Sampler;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{
    datagrams, interface_towards, loss_counters, ping, poll, probe, process, settings, socket,
};
#[cfg(not(target_os = "linux"))]
pub(crate) use own::clock;

/// Waitable descriptors; on Windows, sockets.
pub(crate) mod fd {
    #[cfg(windows)]
    pub(crate) use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
    #[cfg(unix)]
    pub(crate) use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
}

/// Buffer bytes per byte of data: Linux counts its own overhead.
pub(crate) const BUFFER_OVERHEAD: u64 = if cfg!(target_os = "linux") { 2 } else { 1 };

/// `ENOBUFS`: the interface's queue is full.
pub(crate) const NO_BUFFERS: i32 = match () {
    () if cfg!(target_os = "linux") => 105,
    () if cfg!(windows) => 10_055,
    () => 55,
};

/// Unspecified address of the family of `peer`.
pub(crate) fn any_address(peer: SocketAddr) -> IpAddr {
    match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Third values of `tcp_rmem` and `tcp_wmem`, then `rmem_max` and `wmem_max`.
pub(crate) fn buffer_limits() -> [Option<Bytes>; 4] {
    let settings = [
        ("net.ipv4.tcp_rmem", 2),
        ("net.ipv4.tcp_wmem", 2),
        ("net.core.rmem_max", 0),
        ("net.core.wmem_max", 0),
    ];
    settings.map(|(name, place)| {
        let text = settings::read(name).ok()?;
        let number = text.split_whitespace().nth(place)?.parse().ok()?;
        Some(Bytes::new(number))
    })
}

/// Memory that all TCP connections of this host may occupy: `tcp_mem`, in pages.
pub(crate) fn tcp_memory() -> Option<Bytes> {
    /// Smallest page of the systems that have this setting.
    const PAGE: u64 = 4096;
    let text = settings::read("net.ipv4.tcp_mem").ok()?;
    let pages: u64 = text.split_whitespace().nth(2)?.parse().ok()?;
    Some(Bytes::new(pages.saturating_mul(PAGE)))
}

/// Locks `mutex`, even after a thread that held it has failed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
