//! Tracks the connections of a capture segment by segment, without a diagnosis.

use gigatcp_flows::{FlowTable, Observed, Packet, Verdict};

use crate::capture::seed;
use crate::error::{Error, Halt};
use crate::options::Options;
use crate::source::Source;
use crate::walk::{CaptureInfo, CapturedRecord, Unit, Walk};

/// A segment that was just analyzed.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Number of its packet in the file, from 1.
    pub frame: u64,
    /// Its headers.
    pub packet: &'a Observed,
    /// Its connection, its direction, and its kind.
    pub verdict: Verdict,
    /// State of the connections after it.
    pub table: &'a FlowTable,
}

/// The connections of a capture and their counts.
#[derive(Debug)]
pub struct FlowCounts {
    /// Format, notes and counts of the capture itself.
    pub info: CaptureInfo,
    /// TCP segments analyzed.
    pub segments: u64,
    /// The connections, in the order of their first packets.
    pub table: FlowTable,
    /// Number of the first packet of each connection.
    pub first_packets: Vec<u64>,
    /// Unit of all times in nanoseconds: 1000 or 1.
    pub time_unit_ns: u64,
}

/// Tracks and counts the connections of a capture; calls `each` for every segment, in order.
///
/// One thread, one pass, without a diagnosis. An error of `each` ends the reading.
///
/// # Errors
/// [`Error`] as in [`crate::Capture::read`], and the errors of `each`.
pub fn follow<E: From<Error>>(
    source: &Source,
    options: &Options<'_>,
    mut each: impl FnMut(Step<'_>) -> Result<(), E>,
) -> Result<FlowCounts, E> {
    let named = |halt: Halt| halt.of(&source.name());
    let reader = source.open().map_err(|error| named(error.into()))?;
    let mut walk = Walk::new(reader, source, options, true);
    let mut table = FlowTable::new(seed()).with_window_scales(source.window_scales());
    let mut first_packets = Vec::new();
    let mut segments = 0;
    let mut unit = Unit::default();
    let selection = source.selection();
    let mut failed = None;
    loop {
        let more = walk.next_batch(&mut |found: CapturedRecord<'_>| {
            unit.add(found.at);
            let Some(segment) = found.segment.filter(|_| failed.is_none()) else {
                return;
            };
            if selection.is_some_and(|is_kept| !is_kept(found.number)) {
                return;
            }
            segments += 1;
            let packet = segment.observed();
            let verdict = table.handle_packet(&packet);
            if verdict.connection == first_packets.len() {
                first_packets.push(found.number);
            }
            let step = Step {
                frame: found.number,
                packet: &packet,
                verdict,
                table: &table,
            };
            failed = each(step).err();
        });
        let is_over = !more.map_err(named)?;
        if let Some(failure) = failed {
            return Err(failure);
        }
        if is_over {
            break;
        }
    }
    Ok(FlowCounts {
        info: walk.info(),
        segments,
        table,
        first_packets,
        time_unit_ns: unit.as_nanos(),
    })
}

/// Checks that a capture can be opened and its beginning can be read.
///
/// A source that can be read only once is not read. A text without packets is detected only at its
/// end.
///
/// # Errors
/// [`Error::Read`] and [`Error::NoPacket`].
pub fn check(source: &Source) -> Result<(), Error> {
    if source.is_read_once() {
        return Ok(());
    }
    let begun = source
        .open()
        .map_err(Halt::from)
        .and_then(|reader| Walk::quiet(reader).next_batch(&mut |_: CapturedRecord<'_>| ()));
    begun.map(|_| ()).map_err(|halt| halt.of(&source.name()))
}
