//! Sets the initial ssthresh of connections to a peer.
//!
//! A socket has no option for it. A route has (`ssthresh lock` of `ip-route(8)`), but that has no
//! effect alone. A connection begins with the metrics that the kernel caches for its peer
//! (`ip-tcp_metrics(8)`). The cache adopts the route's value only after a connection to the peer
//! has ended. The peer's address is therefore made local for a moment, by a route with that metric,
//! and one connection to it is opened and closed.
//!
//! Side effect: the kernel of the namespace then has cached metrics of this peer. Their RTT is that
//! of the loopback, which can only lengthen a first timeout.
//!
//! Out of scope: whether a congestion control uses it. Reno and CUBIC do; BBR ignores it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

use crate::{device, host_route, netlink_request, settings, socket};

/// Sets the initial ssthresh of connections from `from` to `to` in the calling thread's namespace.
/// It is `segments`. There must be no connection to `to` yet, since its route is interrupted for a
/// moment.
///
/// # Errors
/// The kernel's error.
pub fn set(from: IpAddr, to: IpAddr, segments: u32) -> io::Result<()> {
    settings::write("net.ipv4.tcp_no_ssthresh_metrics_save", "0")?;
    settings::write("net.ipv4.tcp_no_metrics_save", "0")?;
    let control = device::control_socket(libc::AF_INET)?;
    device::bring_up(&control, "lo")?;
    let route = host_route::own(device::index(&control, "lo")?, to, segments);
    netlink_request::create(libc::RTM_NEWROUTE, &route)?;
    let result = open_and_close(from, to);
    result.and(netlink_request::change(libc::RTM_DELROUTE, &route))
}

/// Opens and closes a connection to a local address.
fn open_and_close(from: IpAddr, to: IpAddr) -> io::Result<()> {
    let any: IpAddr = match to {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let listener = TcpListener::bind((any, 0))?;
    let to = SocketAddr::new(to, listener.local_addr()?.port());
    let connecting = socket::tcp(&to)?;
    socket::bind(&connecting, &SocketAddr::new(from, 0))?;
    socket::connect(&connecting, &to)?;
    let mut connection = TcpStream::from(connecting);
    let (mut peer, _) = listener.accept()?;
    connection.write_all(&[0])?;
    connection.shutdown(Shutdown::Write)?;
    peer.read_to_end(&mut Vec::new())?;
    drop(peer);
    // Metrics are cached once the peer's end has been read.
    connection.read_to_end(&mut Vec::new())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::or_skip;
    use crate::{Namespace, tcp_info};

    /// Initial ssthresh of a connection under `control`.
    fn first(from: IpAddr, to: IpAddr, control: &str) -> i64 {
        let listener = TcpListener::bind((to, 0)).unwrap();
        let to = listener.local_addr().unwrap();
        let connecting = socket::tcp(&to).unwrap();
        socket::set_congestion(&connecting, control).unwrap();
        socket::bind(&connecting, &SocketAddr::new(from, 0)).unwrap();
        socket::connect(&connecting, &to).unwrap();
        let words = tcp_info::words(&socket::tcp_info(&connecting).unwrap());
        let found = words.iter().find(|(name, _)| *name == "tcpi_snd_ssthresh");
        found.unwrap().1
    }

    #[test]
    fn connections_begin_with_the_threshold_that_was_set_for_their_peer() {
        let Some(namespace) = or_skip(Namespace::new()) else {
            return;
        };
        let from: IpAddr = Ipv4Addr::LOCALHOST.into();
        let [to, other] = [2, 3].map(|last| IpAddr::from([127, 83, 0, last]));
        let found = namespace.run(|| {
            set(from, to, 100).unwrap();
            [first(from, to, "reno"), first(from, other, "reno")]
        });
        assert_eq!(found.unwrap(), [100, 0x7fff_ffff]);
    }
}
