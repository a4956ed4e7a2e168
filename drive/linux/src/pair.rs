//! A pair of Ethernet devices (`veth`) in two namespaces: each is the other's
//! wire. What two kernels are compared over.

use std::io;
use std::os::fd::AsRawFd;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage,
};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::error::{LabError, Step};
use crate::namespace::Namespace;

/// Makes the device `name` in `here` and in `there`. Either end takes the other
/// with it when its namespace goes.
///
/// # Errors
/// [`LabError`], with what the kernel says.
pub fn make_pair(here: &Namespace, there: &Namespace, name: &str) -> Result<(), LabError> {
    let failed = |cause| LabError::about(Step::Pair, name, cause);
    here.run(|| create(there, name))?.map_err(failed)
}

/// In the calling thread's namespace.
fn create(there: &Namespace, name: &str) -> io::Result<()> {
    let descriptor = std::os::fd::AsFd::as_fd(there).as_raw_fd();
    let mut peer = LinkMessage::default();
    peer.attributes = vec![
        LinkAttribute::IfName(name.into()),
        LinkAttribute::NetNsFd(descriptor),
    ];
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(name.into()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    let mut message = NetlinkMessage::from(RouteNetlinkMessage::NewLink(link));
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
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
