//! Ends connections of the kernel that no longer have an owner.
//!
//! A socket closed with unsent bytes lives on: the kernel continues to send them (RFC 9293 section
//! 3.6). If the path is gone as well, it tries for two minutes. All that time the socket's bytes
//! count against the memory that all connections of the *machine* share (`tcp_mem`), other
//! namespaces included. A few aborted transfers over a long fat path can thus close the windows of
//! every other connection of the machine. The owner of a network therefore ends remaining
//! connections before removing it, by `SOCK_DESTROY` of `sock_diag(7)`.
//!
//! Out of scope: connections with an owner, which must close them.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, SOCK_DESTROY};
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponseHeader, SocketId, StateFlags,
};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use crate::netlink;

/// Ends all TCP connections of the calling thread's network namespace that no process has open.
/// Returns how many there were. Connections in `TIME-WAIT` are left, since they hold little memory.
///
/// # Errors
/// The kernel's error: no privilege, or built without `SOCK_DESTROY`.
pub fn end_orphans() -> io::Result<usize> {
    let socket = netlink::dial(NETLINK_SOCK_DIAG)?;
    let mut ended = 0;
    for family in [AF_INET, AF_INET6] {
        for orphan in orphans(&socket, family)? {
            // A connection that ended by itself meanwhile is gone as well.
            if destroy(&socket, family, orphan).is_ok() {
                ended += 1;
            }
        }
    }
    Ok(ended)
}

fn orphans(socket: &Socket, family: u8) -> io::Result<Vec<SocketId>> {
    let any = match family {
        AF_INET => SocketId::new_v4(),
        _ => SocketId::new_v6(),
    };
    let listing = NLM_F_REQUEST | NLM_F_DUMP;
    netlink::send(socket, &request(family, any, listing))?;
    let mut found = Vec::new();
    loop {
        let (answer, _) = socket.recv_from_full()?;
        let mut rest = answer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest);
            let message = message.map_err(io::Error::other)?;
            match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                    found.extend(is_orphan(&response.header).then_some(response.header.socket_id));
                }
                NetlinkPayload::Done(_) => return Ok(found),
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                _ => {}
            }
            // Messages begin at multiples of four octets (`netlink(7)`).
            let length = (message.header.length as usize).next_multiple_of(4).max(4);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

/// Returns whether a socket has no file, and so no owner.
const fn is_orphan(header: &InetResponseHeader) -> bool {
    header.inode == 0
}

fn destroy(socket: &Socket, family: u8, which: SocketId) -> io::Result<()> {
    let mut message = request(family, which, NLM_F_REQUEST | NLM_F_ACK);
    message.header.message_type = SOCK_DESTROY;
    netlink::send(socket, &message)?;
    netlink::done::<SockDiagMessage>(socket)
}

fn request(family: u8, socket_id: SocketId, flags: u16) -> NetlinkMessage<SockDiagMessage> {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    let wanted = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::all() - StateFlags::TIME_WAIT - StateFlags::LISTEN,
        socket_id,
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(wanted).into());
    message.finalize();
    message
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use crate::Namespace;
    use crate::proven::unless_forbidden;

    use super::*;

    /// Returns the number of IPv4 connections of a namespace without an owner.
    fn count() -> usize {
        let socket = netlink::dial(NETLINK_SOCK_DIAG).unwrap();
        orphans(&socket, AF_INET).unwrap().len()
    }

    /// Closes a connection with unsent bytes. Its peer does not read.
    fn leave_an_orphan() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();
        while sender.write(&[0; 65_536]).is_ok() {}
        peer
    }

    #[test]
    fn a_connection_nobody_owns_is_ended_and_one_with_an_owner_is_not() {
        let Some(namespace) = unless_forbidden(Namespace::new()) else {
            return;
        };
        let work = || {
            let peer = leave_an_orphan();
            assert_eq!(count(), 1, "before");
            assert_eq!(end_orphans().unwrap(), 1);
            assert_eq!(count(), 0, "after");
            assert!(
                peer.peer_addr().is_err() || peer.take_error().unwrap().is_some(),
                "who had the other end was told"
            );
        };
        namespace.run(work).unwrap();
    }
}
