//! The segments of a capture, fragments reassembled, as the analysis has them.

use std::path::Path;

use gigatcp_analyze::{Error, Options, ReadError, Source, follow};
use gigatcp_flows::Observed;

/// Shows each with the number of its packet; as far as the capture can be read.
/// `None` if it cannot be opened.
pub fn each(path: &Path, mut show: impl FnMut(u64, &Observed)) -> Option<()> {
    let read = follow(&Source::file(path), &Options::default(), |step| {
        show(step.frame, step.packet);
        Ok::<(), Error>(())
    });
    match read {
        Ok(_) | Err(Error::NoPacket { .. }) => Some(()),
        Err(Error::Read {
            source: ReadError::Read { .. } | ReadError::NoPackets { .. },
            ..
        }) => Some(()),
        Err(_) => None,
    }
}
