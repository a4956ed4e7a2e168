//! Summary of a block of neighboring points: the minimum and maximum of each value. Where the block
//! is narrow, it is drawn instead of the points.

use gigatcp_flows::Kind;

use super::point::{Effect, Point};
use super::varint::{put, put_signed};

/// State of a stream between two points.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct State {
    /// Time of the last point.
    pub at_ns: u64,
    /// Number of its packet in the capture.
    pub frame: u64,
    /// Position after the highest byte seen.
    pub next: u64,
    /// Position after the highest byte acknowledged.
    pub una: u64,
    /// The right edge of the last advertised window.
    pub edge: u64,
}

impl State {
    /// Bytes sent and not acknowledged.
    pub const fn owin(&self) -> u64 {
        self.next.saturating_sub(self.una)
    }

    /// Adds a point. An ACK below SND.UNA is an old one, and its window is ignored.
    pub fn add(&mut self, point: &Point) {
        self.at_ns = point.at_ns;
        self.frame = point.frame;
        match point.effect {
            Effect::Data { start, len } => self.next = self.next.max(start + u64::from(len)),
            Effect::Ack { ack, window, .. } => {
                self.next = self.next.max(ack);
                if ack >= self.una {
                    self.una = ack;
                    self.edge = ack + u64::from(window);
                }
            }
        }
    }
}

/// A range of values; empty if `low` exceeds `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The minimum.
    pub low: u64,
    /// The maximum.
    pub high: u64,
}

impl Default for Range {
    fn default() -> Self {
        Self {
            low: u64::MAX,
            high: 0,
        }
    }
}

impl Range {
    /// Whether nothing was added.
    pub const fn is_empty(&self) -> bool {
        self.low > self.high
    }

    fn add(&mut self, low: u64, high: u64) {
        self.low = self.low.min(low);
        self.high = self.high.max(high);
    }

    /// Appends the range: one byte if it is empty, otherwise both ends.
    fn put(&self, out: &mut Vec<u8>, near: u64) {
        if self.is_empty() {
            return put(out, 0);
        }
        put(out, self.high - self.low + 1);
        put_signed(out, self.low.wrapping_sub(near).cast_signed());
    }
}

/// Summary of a block of points.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Summary {
    /// State before its first point.
    pub before: State,
    /// State after its last point.
    pub after: State,
    /// Time of the first point.
    pub first_ns: u64,
    /// Number of its packet in the capture.
    pub first_frame: u64,
    /// Number of points.
    pub points: u32,
    /// Number of points with data.
    pub data: u32,
    /// Number of these that are retransmissions.
    pub retransmitted: u32,
    /// Bytes of all data, including retransmissions.
    pub octets: u64,
    /// Union of all marks.
    pub marks: u32,
    /// Data sent for the first time.
    pub new: Range,
    /// Retransmitted data.
    pub repeated: Range,
    /// SACK blocks.
    pub sack: Range,
    /// Right edges of windows.
    pub edge: Range,
    /// Octets in flight.
    pub owin: Range,
    /// Round-trip times.
    pub rtt: Range,
}

/// Number of columns of a packed summary; the page relies on their order.
pub(super) const COLUMNS: usize = 17;

impl Summary {
    /// An empty block that begins in this state.
    pub(super) fn starting(before: State) -> Self {
        Self {
            before,
            after: before,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, point: &Point) {
        if self.points == 0 {
            self.first_ns = point.at_ns;
            self.first_frame = point.frame;
        }
        self.points += 1;
        self.marks |= point.marks;
        self.after.add(point);
        self.owin.add(self.after.owin(), self.after.owin());
        match point.effect {
            Effect::Data { start, len } => {
                let end = start + u64::from(len);
                self.data += 1;
                self.octets += u64::from(len);
                if point.is_retransmission() {
                    self.retransmitted += 1;
                    self.repeated.add(start, end);
                } else {
                    self.new.add(start, end);
                }
            }
            Effect::Ack {
                sack,
                sack_len,
                rtt_ns,
                ..
            } => {
                self.edge.add(self.after.edge, self.after.edge);
                for range in &sack[..usize::from(sack_len)] {
                    self.sack.add(range.left, range.right);
                }
                if let Some(rtt) = rtt_ns {
                    self.rtt.add(rtt, rtt);
                }
            }
        }
    }

    /// Whether a point has one of these kinds.
    pub const fn has(&self, kinds: &[Kind]) -> bool {
        self.marks & Point::of_kinds(kinds) != 0
    }

    /// Appends the summary to the columns; times are in units of `unit_ns`.
    pub(super) fn put(&self, columns: &mut [Vec<u8>; COLUMNS], unit_ns: u64, detail_len: u64) {
        let Self {
            before,
            after,
            first_ns,
            first_frame,
            points,
            data,
            retransmitted,
            octets,
            marks,
            new,
            repeated,
            sack,
            edge,
            owin,
            rtt,
        } = *self;
        let [
            c_first,
            c_last,
            c_frame,
            c_frames,
            c_next,
            c_una,
            c_edge,
            c_points,
            c_data,
            c_retransmitted,
            c_octets,
            c_marks,
            c_places,
            c_edges,
            c_owin,
            c_rtt,
            c_detail,
        ] = columns;
        put(c_first, (first_ns - before.at_ns) / unit_ns);
        put(c_last, (after.at_ns - first_ns) / unit_ns);
        put(c_frame, first_frame - before.frame);
        put(c_frames, after.frame - first_frame);
        put(c_next, after.next - before.next);
        put(c_una, after.una - before.una);
        let moved = after.edge.wrapping_sub(before.edge).cast_signed();
        put_signed(c_edge, moved);
        put(c_points, points.into());
        put(c_data, data.into());
        put(c_retransmitted, retransmitted.into());
        put(c_octets, octets);
        put(c_marks, marks.into());
        new.put(c_places, before.next);
        repeated.put(c_places, before.una);
        sack.put(c_places, before.una);
        edge.put(c_edges, before.edge);
        owin.put(c_owin, before.owin());
        rtt.put(c_rtt, 0);
        put(c_detail, detail_len);
    }
}

#[cfg(test)]
mod tests {
    use super::super::varint::Reader;
    use super::*;

    impl Range {
        fn read(reader: &mut Reader<'_>, near: u64) -> Self {
            match reader.number() {
                0 => Self::default(),
                span => {
                    let low = near.wrapping_add_signed(reader.signed());
                    Self {
                        low,
                        high: low.wrapping_add(span - 1),
                    }
                }
            }
        }
    }

    impl Summary {
        /// Reads a summary written by [`Summary::put`], and the length of its detail.
        pub(in crate::graph) fn read(
            columns: &mut [Reader<'_>; COLUMNS],
            unit_ns: u64,
            before: State,
        ) -> (Self, u64) {
            let first_ns = before.at_ns + columns[0].number() * unit_ns;
            let first_frame = before.frame + columns[2].number();
            let after = State {
                at_ns: first_ns + columns[1].number() * unit_ns,
                frame: first_frame + columns[3].number(),
                next: before.next + columns[4].number(),
                una: before.una + columns[5].number(),
                edge: before.edge.wrapping_add_signed(columns[6].signed()),
            };
            let summary = Self {
                before,
                after,
                first_ns,
                first_frame,
                points: columns[7].number() as u32,
                data: columns[8].number() as u32,
                retransmitted: columns[9].number() as u32,
                octets: columns[10].number(),
                marks: columns[11].number() as u32,
                new: Range::read(&mut columns[12], before.next),
                repeated: Range::read(&mut columns[12], before.una),
                sack: Range::read(&mut columns[12], before.una),
                edge: Range::read(&mut columns[13], before.edge),
                owin: Range::read(&mut columns[14], before.owin()),
                rtt: Range::read(&mut columns[15], 0),
            };
            (summary, columns[16].number())
        }
    }
}
