//! The segments of a capture, fragments reassembled, as the analysis sees them.

use std::path::Path;

use gigatcp_analyze::{Error, Options, ReadError, Source, follow};
use gigatcp_flows::Observed;

/// Passes each readable segment of a capture to `show` with its frame number.
///
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
