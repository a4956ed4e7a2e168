//! Addresses in the kernel's form.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An IPv4 address and port in the kernel's form.
pub fn v4(address: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(address.octets()),
        },
        sin_zero: [0; 8],
    }
}

/// An IPv6 address in the kernel's form.
pub fn in6(address: Ipv6Addr) -> libc::in6_addr {
    libc::in6_addr {
        s6_addr: address.octets(),
    }
}

/// An IPv6 address and port in the kernel's form.
pub fn v6(address: Ipv6Addr, port: u16) -> libc::sockaddr_in6 {
    libc::sockaddr_in6 {
        sin6_family: libc::AF_INET6 as libc::sa_family_t,
        sin6_port: port.to_be(),
        sin6_flowinfo: 0,
        sin6_addr: in6(address),
        sin6_scope_id: 0,
    }
}
