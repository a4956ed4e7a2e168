//! An interface of the calling thread's namespace: addresses, routes, and what
//! it says unasked.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::{device, settings};

/// Keeps a device from sending what is not a connection's: neighbour and
/// router discovery. A wish: such packets are no TCP, and are left out.
pub fn keep_quiet(name: &str) {
    let wishes = [
        ("router_solicitations", "0"),
        ("accept_dad", "0"),
        ("accept_ra", "0"),
        ("addr_gen_mode", "1"),
    ];
    for (wish, value) in wishes {
        let _ = settings::write(&format!("net.ipv6.conf.{name}.{wish}"), value);
    }
}

/// Gives the device `name` an address and its network.
///
/// # Errors
/// What the kernel says. IPv6 that is switched off is none: nothing happens.
pub fn assign(control: &OwnedFd, name: &str, address: IpAddr, prefix: u8) -> io::Result<()> {
    match address {
        IpAddr::V4(address) => device::set_v4(control, name, address, prefix),
        IpAddr::V6(address) => match device::control_socket(libc::AF_INET6) {
            Ok(control_v6) => {
                let index = device::index(control, name)?;
                device::set_v6(&control_v6, index, address, prefix)
            }
            Err(error) => without_v6(error),
        },
    }
}

/// Routes a network through the device `name`.
///
/// # Errors
/// What the kernel says. IPv6 that is switched off is none: nothing happens.
pub fn route(control: &OwnedFd, name: &str, network: IpAddr, prefix: u8) -> io::Result<()> {
    match network {
        IpAddr::V4(network) => device::route_v4(control, name, network, prefix),
        IpAddr::V6(network) => match device::control_socket(libc::AF_INET6) {
            Ok(control_v6) => {
                let index = device::index(control, name)?;
                device::route_v6(&control_v6, index, network, prefix)
            }
            Err(error) => without_v6(error),
        },
    }
}

/// IPv6 may be left out of the kernel; then IPv4 alone is furnished.
fn without_v6(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        Some(libc::EAFNOSUPPORT) => Ok(()),
        _ => Err(error),
    }
}
