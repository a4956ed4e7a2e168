//! A pair of connected Ethernet devices (`veth`) in two namespaces, for comparing two kernels.

use std::io;
use std::os::fd::AsRawFd;

use crate::error::{SetupError, Step};
use crate::interface;
use crate::namespace::Namespace;
use crate::netlink_request::{self, attribute};

/// Creates the device `name` in `here` and in `there`. Either end removes the other when its
/// namespace ends.
///
/// # Errors
/// [`SetupError`], with the kernel's error.
pub fn make_pair(here: &Namespace, there: &Namespace, name: &str) -> Result<(), SetupError> {
    let failed = |cause| SetupError::about(Step::Pair, name, cause);
    here.run(|| create(there, name))?.map_err(failed)
}

/// Attribute numbers (linux/if_link.h, linux/veth.h) that libc lacks or types otherwise.
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// Creates the pair in the calling thread's namespace.
fn create(there: &Namespace, name: &str) -> io::Result<()> {
    let descriptor = std::os::fd::AsFd::as_fd(there).as_raw_fd();
    let name = [name.as_bytes(), &[0]].concat();
    let mut peer = interface::link(0);
    attribute(&mut peer, IFLA_IFNAME, &name);
    attribute(&mut peer, IFLA_NET_NS_FD, &descriptor.to_ne_bytes());
    let mut data = Vec::new();
    attribute(&mut data, VETH_INFO_PEER, &peer);
    let mut info = Vec::new();
    attribute(&mut info, IFLA_INFO_KIND, b"veth");
    attribute(&mut info, IFLA_INFO_DATA, &data);
    let mut link = interface::link(0);
    attribute(&mut link, IFLA_IFNAME, &name);
    attribute(&mut link, IFLA_LINKINFO, &info);
    netlink_request::create(libc::RTM_NEWLINK, &link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;
    use crate::skip::or_skip;

    #[test]
    fn both_namespaces_have_an_end_of_a_pair() {
        let Some(here) = or_skip(Namespace::new()) else {
            return;
        };
        let there = Namespace::new().unwrap();
        make_pair(&here, &there, "wire0").unwrap();
        for namespace in [&here, &there] {
            let index = namespace.run(|| {
                let control = device::control_socket(libc::AF_INET)?;
                device::index(&control, "wire0")
            });
            assert!(index.unwrap().unwrap() > 0);
        }
        assert!(make_pair(&here, &there, "wire0").is_err());
    }
}
