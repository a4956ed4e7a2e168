//! A route to one address, with metrics for its connections (`ip-route(8)`).

use std::io;
use std::net::IpAddr;

use crate::device;
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
    netlink_request::create(libc::RTM_NEWROUTE, &message(ON_LINK, index, to, &metrics))
}

/// Returns the message for a route that makes `to` a local address. The route has a locked
/// `ssthresh`.
pub(crate) fn own(loopback: device::Index, to: IpAddr, ssthresh: u32) -> Vec<u8> {
    let mut metrics = Vec::new();
    let locked = 1_u32 << RTAX_SSTHRESH;
    attribute(&mut metrics, RTAX_LOCK, &locked.to_ne_bytes());
    attribute(&mut metrics, RTAX_SSTHRESH, &ssthresh.to_ne_bytes());
    message(OWN, loopback, to, &metrics)
}

fn message(kind: Kind, interface: device::Index, to: IpAddr, metrics: &[u8]) -> Vec<u8> {
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const RTA_METRICS: u16 = 8;
    let (family, address) = match to {
        IpAddr::V4(to) => (libc::AF_INET, to.octets().to_vec()),
        IpAddr::V6(to) => (libc::AF_INET6, to.octets().to_vec()),
    };
    // struct rtmsg: family, lengths of destination and source, TOS, kind, flags.
    let length = (address.len() * 8) as u8;
    let mut message = [[family as u8, length, 0, 0], kind, [0; 4]].concat();
    attribute(&mut message, RTA_DST, &address);
    attribute(&mut message, RTA_OIF, &interface.to_ne_bytes());
    attribute(&mut message, RTA_METRICS, metrics);
    message
}
