//! One question to the kernel about its devices and addresses (`rtnetlink`),
//! and its answer: done, or why not.
//!
//! Deliberately not here: answers that carry something, and news that nobody
//! asked for.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
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
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);

    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&octets, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer);
    match answer.map_err(io::Error::other)?.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}
