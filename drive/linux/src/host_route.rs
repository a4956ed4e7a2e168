//! A route to one address, with metrics for its connections (`ip-route(8)`).

use std::io;
use std::net::IpAddr;

use crate::device;
use crate::interface::octets_of;
use crate::netlink_request::{self, attribute};

/// Metrics (`RTAX_*` of linux/rtnetlink.h).
const RTAX_LOCK: u16 = 1;
const RTAX_SSTHRESH: u16 = 6;
const RTAX_CC_ALGO: u16 = 16;

/// Kind of a route: table, protocol, scope and type.
type Kind = [u8; 4];

const RTPROT_STATIC: u8 = 4;
/// Another host on the link: main table, type unicast.
const ON_LINK: Kind = [254, RTPROT_STATIC, 253, 1];
/// This machine: local table, type local.
const OWN: Kind = [255, RTPROT_STATIC, 254, 2];

/// Sets the congestion control of connections to `to` over the interface `name`. It takes
/// precedence over the default.
///
/// # Errors
/// The kernel's error; `EINVAL` if it does not have the control.
pub fn set_control(name: &str, to: IpAddr, control: &str) -> io::Result<()> {
    let index = device::index(&device::control_socket(libc::AF_INET)?, name)?;
    let mut metrics = Vec::new();
    attribute(
        &mut metrics,
        RTAX_CC_ALGO,
        &[control.as_bytes(), &[0]].concat(),
    );
    let message = message(ON_LINK, index, (to, whole(to)), &metrics);
    netlink_request::create(libc::RTM_NEWROUTE, &message)
}

/// Message for a route that makes `to` a local address. The route has a locked `ssthresh`.
pub(crate) fn own(loopback: device::Index, to: IpAddr, ssthresh: u32) -> Vec<u8> {
    let mut metrics = Vec::new();
    let locked = 1_u32 << RTAX_SSTHRESH;
    attribute(&mut metrics, RTAX_LOCK, &locked.to_ne_bytes());
    attribute(&mut metrics, RTAX_SSTHRESH, &ssthresh.to_ne_bytes());
    message(OWN, loopback, (to, whole(to)), &metrics)
}

/// Routes a network through an interface.
pub(crate) fn to_network(interface: device::Index, network: IpAddr, prefix: u8) -> io::Result<()> {
    let message = message(ON_LINK, interface, (network, prefix), &[]);
    netlink_request::create(libc::RTM_NEWROUTE, &message)
}

/// Length of the prefix that is one address.
const fn whole(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn message(
    kind: Kind,
    interface: device::Index,
    (to, prefix): (IpAddr, u8),
    metrics: &[u8],
) -> Vec<u8> {
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const RTA_METRICS: u16 = 8;
    let (family, mut address) = octets_of(to);
    for (octet, start) in address.iter_mut().zip((0..).step_by(8)) {
        let kept = prefix.saturating_sub(start).min(8);
        *octet &= (0xff00_u16 >> kept) as u8;
    }
    // struct rtmsg: family, lengths of destination and source, TOS, kind, flags.
    let mut message = [[family, prefix, 0, 0], kind, [0; 4]].concat();
    attribute(&mut message, RTA_DST, &address);
    attribute(&mut message, RTA_OIF, &interface.to_ne_bytes());
    attribute(&mut message, RTA_METRICS, metrics);
    message
}
