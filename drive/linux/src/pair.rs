//! A pair of Ethernet devices (`veth`) in two namespaces: each is the other's
//! wire. What two kernels are compared over.

use std::io;
use std::os::fd::AsRawFd;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage,
};

use crate::error::{SetupError, Step};
use crate::namespace::Namespace;
use crate::netlink;

/// Makes the device `name` in `here` and in `there`. Either end takes the other
/// with it when its namespace goes.
///
/// # Errors
/// [`SetupError`], with what the kernel says.
pub fn make_pair(here: &Namespace, there: &Namespace, name: &str) -> Result<(), SetupError> {
    let failed = |cause| SetupError::about(Step::Pair, name, cause);
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
    netlink::create(RouteNetlinkMessage::NewLink(link))
}
