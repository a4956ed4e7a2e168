//! Two hosts, of both versions of IP, for tests of packets in fragments and in tunnels. A module
//! that includes this has [`Endpoints`] in scope.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::Endpoints;

pub const V4: Endpoints = Endpoints::V4 {
    src: Ipv4Addr::new(192, 0, 2, 1),
    dst: Ipv4Addr::new(198, 51, 100, 2),
};

pub const V6: Endpoints = Endpoints::V6 {
    src: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    dst: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
};
