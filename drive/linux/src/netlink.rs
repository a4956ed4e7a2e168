//! Sockets to the parts of the kernel that speak netlink, for messages that other crates encode.

use std::io;

use netlink_packet_core::{
    NetlinkDeserializable, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

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
