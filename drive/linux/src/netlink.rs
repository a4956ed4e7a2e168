//! One question to the kernel about its devices, addresses and routes
//! (`rtnetlink`), and its answer: done, or why not; and the way of asking, for
//! who asks another part of the kernel.
//!
//! Out of scope: answers that carry something, and unsolicited notifications.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkDeserializable, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Makes what `wanted` describes in the calling thread's namespace; what is
/// already there is an error.
pub fn create(wanted: RouteNetlinkMessage) -> io::Result<()> {
    ask(wanted, NLM_F_CREATE | NLM_F_EXCL)
}

/// Does what `wanted` says to something that is there, in the calling thread's
/// namespace.
pub fn change(wanted: RouteNetlinkMessage) -> io::Result<()> {
    ask(wanted, 0)
}

fn ask(wanted: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut message = NetlinkMessage::from(wanted);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    message.finalize();
    let socket = dial(NETLINK_ROUTE)?;
    send(&socket, &message)?;
    done::<RouteNetlinkMessage>(&socket)
}

/// A line to the part of the kernel that speaks `protocol`.
pub fn dial(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Says what was made ready by `finalize`: length and kind stand in its header.
pub fn send<M: NetlinkSerializable>(
    socket: &Socket,
    message: &NetlinkMessage<M>,
) -> io::Result<()> {
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    socket.send(&octets, 0)?;
    Ok(())
}

/// Waits for the answer to a request without a result: done, or why not.
pub fn done<M: NetlinkDeserializable>(socket: &Socket) -> io::Result<()> {
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<M>::deserialize(&answer);
    match answer.map_err(io::Error::other)?.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}
