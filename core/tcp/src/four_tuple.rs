//! Identity of a connection: addresses and ports of both sides.
//!
//! RFC 9293 section 3.3.1 identifies a connection by its two sockets. Both addresses are of one
//! family, which [`Endpoints`] guarantees; everything here applies to IPv4 and IPv6.

use core::net::{IpAddr, SocketAddr};

use gigatcp_wire::{Endpoints, IpVersion, Segment};

/// Identity of a connection: the local socket and the remote one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FourTuple {
    /// Our address as the source, the peer's as the destination.
    pub endpoints: Endpoints,
    /// Our port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
}

impl FourTuple {
    /// The identity of a connection between two sockets; `None` if they differ in the IP version.
    pub fn new(local: SocketAddr, remote: SocketAddr) -> Option<Self> {
        Some(Self {
            endpoints: Endpoints::new(local.ip(), remote.ip())?,
            local_port: local.port(),
            remote_port: remote.port(),
        })
    }

    /// Connection of a segment that arrived between `endpoints`. The segment's sender is the
    /// source.
    pub fn of_arrival<P>(endpoints: Endpoints, segment: &Segment<P>) -> Self {
        Self {
            endpoints: endpoints.reversed(),
            local_port: segment.dst_port,
            remote_port: segment.src_port,
        }
    }

    /// Our address.
    pub const fn local_address(&self) -> IpAddr {
        self.endpoints.src()
    }

    /// The peer's address.
    pub const fn remote_address(&self) -> IpAddr {
        self.endpoints.dst()
    }

    /// IP version below TCP.
    pub const fn ip(&self) -> IpVersion {
        match self.endpoints {
            Endpoints::V4 { .. } => IpVersion::V4,
            Endpoints::V6 { .. } => IpVersion::V6,
        }
    }

    /// Whether both ends can be single hosts (RFC 9293 MUST-57, MUST-63).
    pub(crate) fn is_between_hosts(&self) -> bool {
        is_host(self.local_address()) && is_host(self.remote_address())
    }

    /// Connection as the peer identifies it.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            endpoints: self.endpoints.reversed(),
            local_port: self.remote_port,
            remote_port: self.local_port,
        }
    }
}

/// Whether an address can be that of a single host. Directed broadcasts are indistinguishable from
/// hosts here.
pub const fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast() && !v4.is_unspecified(),
        IpAddr::V6(v6) => !v6.is_multicast() && !v6.is_unspecified(),
    }
}
