//! Addresses and ports of flows, as captures show them and network cards hash them.

use std::net::{Ipv4Addr, Ipv6Addr};

use gigatcp_path::rss_hash;
use gigatcp_tcp::FourTuple;
use gigatcp_wire::{Endpoints, IpVersion};

/// Addresses of a flow's packets.
///
/// Senders are in 10.1/16 or fd00:1::/32, receivers in 10.2/16 or fd00:2::/32.
pub fn endpoints(ip: IpVersion, flow: u32, reverse: bool) -> Endpoints {
    let [top, next, high, low] = (flow + 1).to_be_bytes();
    let forward = match ip {
        IpVersion::V4 => {
            let at = |net| Ipv4Addr::new(10, net, high, low);
            Endpoints::V4 {
                src: at(1),
                dst: at(2),
            }
        }
        IpVersion::V6 => {
            let upper = u16::from_be_bytes([top, next]);
            let lower = u16::from_be_bytes([high, low]);
            let at = |net| Ipv6Addr::new(0xfd00, net, 0, 0, 0, 0, upper, lower);
            Endpoints::V6 {
                src: at(1),
                dst: at(2),
            }
        }
    };
    match reverse {
        true => forward.reversed(),
        false => forward,
    }
}

/// RSS hash of segments that a host receives on a connection. `tuple` is the connection as that
/// host names it.
pub fn connection_hash(tuple: &FourTuple) -> u32 {
    let arriving = tuple.reversed();
    let ports = [arriving.local_port, arriving.remote_port].map(u16::to_be_bytes);
    rss_hash(&[addresses(arriving.endpoints), ports.concat()].concat())
}

/// RSS hash of datagrams between these addresses. Ports are not hashed, since fragments have none.
pub fn datagram_hash(arriving: Endpoints) -> u32 {
    rss_hash(&addresses(arriving))
}

/// Source and destination, in the order of the header.
fn addresses(endpoints: Endpoints) -> Vec<u8> {
    match endpoints {
        Endpoints::V4 { src, dst } => [src.octets(), dst.octets()].concat(),
        Endpoints::V6 { src, dst } => [src.octets(), dst.octets()].concat(),
    }
}
