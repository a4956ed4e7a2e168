//! Stub for systems without packet sockets.

use gigatcp_analyze::Source;

use super::{Arguments, Live};
use crate::failure::Failure;

/// Error that this system is not supported.
pub(super) fn capture(interface: &str, _: &Arguments) -> Result<(Source, Live), Failure> {
    Err(Failure::new("--interface: its capture needs Linux")
        .effect("nothing is captured")
        .hint(format!(
            "capture with tcpdump: `sudo tcpdump -i {interface} -s 128 -w x.pcap tcp`, then \
             `gigatcp why x.pcap`"
        )))
}
