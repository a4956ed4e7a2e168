//! Configures an interface of the calling thread's namespace: addresses, routes, and unsolicited
//! packets.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::netlink_request::{self, attribute, value, word};
use crate::{device, host_route, settings};

/// Bytes of `struct ifinfomsg`.
const LINK_LENGTH: usize = 16;

/// Number and name of each interface.
///
/// # Errors
/// The kernel's error.
pub fn list() -> io::Result<Vec<(device::Index, String)>> {
    const NAME: u16 = 3;
    let links = netlink_request::route(libc::RTM_GETLINK, &link(0), true)?;
    let named = |link: Vec<u8>| {
        let name = value(link.get(LINK_LENGTH..)?, NAME)?.strip_suffix(&[0])?;
        let name = String::from_utf8_lossy(name).into_owned();
        Some((word(&link, 4)?.cast_signed(), name))
    };
    Ok(links.into_iter().filter_map(named).collect())
}

/// Disables unsolicited packets of a device: neighbor and router discovery. Best effort: such
/// packets are ignored anyway.
pub fn disable_discovery(name: &str) {
    let settings = [
        ("router_solicitations", "0"),
        ("accept_dad", "0"),
        ("accept_ra", "0"),
        ("addr_gen_mode", "1"),
    ];
    for (setting, value) in settings {
        let _ = settings::write(&format!("net.ipv6.conf.{name}.{setting}"), value);
    }
}

/// Assigns an address and its network to the device `name`, for immediate use: an IPv6 address
/// without duplicate address detection. No other host is on the wire. With detection the address is
/// tentative until a kernel task has run. A connection opened before that is sent from `::1`, and
/// the kernel rejects its answer as forged.
///
/// # Errors
/// The kernel's error. Disabled IPv6 is not an error; nothing is assigned then.
pub fn assign(control: &OwnedFd, name: &str, address: IpAddr, prefix: u8) -> io::Result<()> {
    const IFA_ADDRESS: u16 = 1;
    const IFA_LOCAL: u16 = 2;
    const IFA_F_NODAD: u8 = 2;
    if !is_supported(address)? {
        return Ok(());
    }
    let (family, octets) = octets_of(address);
    // struct ifaddrmsg: family, prefix, flags, scope, index.
    let mut message = vec![family, prefix, IFA_F_NODAD, 0];
    message.extend_from_slice(&device::index(control, name)?.to_ne_bytes());
    attribute(&mut message, IFA_LOCAL, &octets);
    attribute(&mut message, IFA_ADDRESS, &octets);
    netlink_request::create(libc::RTM_NEWADDR, &message)
}

/// Fixed part of a message about an interface (`struct ifinfomsg`). Index 0 is a new interface.
pub(crate) fn link(index: device::Index) -> Vec<u8> {
    let mut message = vec![0; 4];
    message.extend_from_slice(&index.to_ne_bytes());
    message.resize(LINK_LENGTH, 0);
    message
}

/// Deletes the interface `name`, even if its device is open.
///
/// # Errors
/// The kernel's error.
pub fn remove(name: &str) -> io::Result<()> {
    let index = device::index(&device::control_socket(libc::AF_INET)?, name)?;
    netlink_request::change(libc::RTM_DELLINK, &link(index))
}

/// Routes a network through the device `name`.
///
/// # Errors
/// The kernel's error. Disabled IPv6 is not an error; nothing is routed then.
pub fn route(control: &OwnedFd, name: &str, network: IpAddr, prefix: u8) -> io::Result<()> {
    if !is_supported(network)? {
        return Ok(());
    }
    host_route::to_network(device::index(control, name)?, network, prefix)
}

/// Whether the kernel has the address's version of IP.
fn is_supported(address: IpAddr) -> io::Result<bool> {
    match device::control_socket(octets_of(address).0.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(false),
        opened => opened.map(|_| true),
    }
}

/// Family and octets of an address, as in the kernel's messages.
pub(crate) fn octets_of(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;
    use crate::Namespace;
    use crate::skip::or_skip;

    /// Flags of an address in `/proc/net/if_inet6` (`linux/if_addr.h`).
    const NODAD: u8 = 0x02;
    const TENTATIVE: u8 = 0x40;

    /// Flags of `address` in the calling thread's namespace.
    fn flags_of(address: Ipv6Addr) -> Option<u8> {
        let all = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap();
        let wanted = format!("{:032x}", address.to_bits());
        let line = all.lines().find(|line| line.starts_with(&wanted))?;
        let flags = line.split_whitespace().nth(4)?;
        Some(u8::from_str_radix(flags, 16).unwrap())
    }

    #[test]
    fn interfaces_of_a_new_namespace_have_the_loopback_interface() {
        let Some(namespace) = or_skip(Namespace::new()) else {
            return;
        };
        let found = namespace.run(list).unwrap().unwrap();
        assert!(found.contains(&(1, "lo".to_owned())), "{found:?}");
    }

    #[test]
    fn an_address_of_ip_6_is_the_source_of_connections_from_the_first_moment() {
        let Some(namespace) = or_skip(Namespace::new()) else {
            return;
        };
        let address = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 1);
        let done = namespace.run(|| -> io::Result<Option<u8>> {
            if device::control_socket(libc::AF_INET6).is_err() {
                return Ok(None);
            }
            let tun = device::open_tun()?;
            device::make_tun(&tun, "early0", device::Reception::AtOnce)?;
            let control = device::control_socket(libc::AF_INET)?;
            device::bring_up(&control, "early0")?;
            assign(&control, "early0", address.into(), 64)?;
            Ok(flags_of(address))
        });
        if let Some(flags) = done.unwrap().unwrap() {
            assert_eq!(flags & (NODAD | TENTATIVE), NODAD);
        }
    }
}
