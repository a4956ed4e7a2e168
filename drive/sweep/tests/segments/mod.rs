//! The segments of a capture, those in fragments put together, as the analyser
//! has them.

use std::path::Path;

use gigatcp_capture::CaptureReader;
use gigatcp_flows::{Arrival, Datagrams, Observed};
use gigatcp_units::Instant;

/// Shows each with the number of its packet; as far as the capture can be read.
/// Nothing where it cannot be opened.
pub fn each(path: &Path, mut show: impl FnMut(u64, &Observed)) -> Option<()> {
    let mut reader = CaptureReader::open(path).ok()?;
    let mut datagrams = Datagrams::new();
    let mut now = Instant::ZERO;
    let mut is_more = true;
    while is_more {
        is_more = match reader.next_record() {
            Ok(Some(record)) => {
                now = record.time.unwrap_or(now);
                datagrams.handle_packet(&Arrival {
                    number: record.number,
                    offset: record.offset,
                    at: now,
                    link: record.link,
                    octets: record.octets,
                    wire_len: record.wire_len,
                });
                true
            }
            _ => {
                datagrams.handle_end();
                false
            }
        };
        while let Some(packet) = datagrams.poll_packet() {
            if let Ok(Some(segment)) = &packet.found {
                show(packet.number, segment);
            }
        }
    }
    Some(())
}
