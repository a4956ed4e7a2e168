//! Netlink sockets for messages that other crates encode.

use std::io;

use netlink_packet_core::{
    NetlinkDeserializable, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

/// Opens a netlink socket for `protocol`.
pub fn dial(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Sends a message completed by `finalize`, whose header has length and kind.
pub fn send<M: NetlinkSerializable>(
    socket: &Socket,
    message: &NetlinkMessage<M>,
) -> io::Result<()> {
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    socket.send(&octets, 0)?;
    Ok(())
}

/// Waits for the acknowledgment of a request, or its error.
pub fn done<M: NetlinkDeserializable>(socket: &Socket) -> io::Result<()> {
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<M>::deserialize(&answer);
    match answer.map_err(io::Error::other)?.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}
