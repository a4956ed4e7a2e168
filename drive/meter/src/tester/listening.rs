//! Sockets of a server: ports at which it listens, and that several sockets share.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use super::options::mptcp;

/// Maximum of connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// A non-blocking listening socket.
pub(super) fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    listen_with(at, None)
}

/// A listening socket that accepts connections of Multipath TCP, and of TCP.
pub(super) fn listen_mptcp(at: SocketAddr) -> io::Result<TcpListener> {
    listen_with(at, mptcp(true)?)
}

fn listen_with(at: SocketAddr, protocol: Option<Protocol>) -> io::Result<TcpListener> {
    // On Windows reuse would let a second server listen at the same port.
    let socket = bound(at, (Type::STREAM, protocol), cfg!(unix))?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// A non-blocking UDP socket on a port that several may share.
pub(super) fn udp_socket(at: SocketAddr) -> io::Result<UdpSocket> {
    bound(at, (Type::DGRAM, None), true).map(UdpSocket::from)
}

/// A UDP socket on a port of its own.
pub(super) fn exclusive_udp_socket(at: SocketAddr) -> io::Result<UdpSocket> {
    bound(at, (Type::DGRAM, None), false).map(UdpSocket::from)
}

/// A UDP socket on a shared port that is connected to one peer.
pub(super) fn udp_stream(mut at: SocketAddr, peer: SocketAddr) -> io::Result<UdpSocket> {
    if let (SocketAddr::V6(at), SocketAddr::V6(peer)) = (&mut at, peer) {
        // A link-local address is one of an interface.
        at.set_scope_id(peer.scope_id());
    }
    let socket = udp_socket(at)?;
    socket.connect(peer)?;
    socket.set_nonblocking(false)?;
    Ok(socket)
}

fn bound(
    at: SocketAddr,
    (kind, protocol): (Type, Option<Protocol>),
    reuses: bool,
) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), kind, protocol)?;
    if at.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(reuses)?;
    socket.bind(&at.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
