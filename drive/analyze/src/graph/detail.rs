//! Packed points of a block: each is encoded as its difference to the expected one, mostly in three
//! or four bytes.
//!
//! A point is a tag and the fields that the tag announces. Tags of data: 1 it does not begin at
//! SND.NXT, 2 its length differs from that of the data before. Tags of answers: 1 it acknowledges
//! something other than SND.UNA, 2 its window differs from that of the answer before, 4 SACK blocks
//! follow, 8 an RTT follows. Tags of both: 32 other packets of the capture came between, 64 marks
//! follow, 128 it is an answer.

use super::block::State;
use super::point::{Effect, Point, SackRange};
use super::varint::{Reader, put, put_signed};

const ELSEWHERE: u8 = 1;
const OTHER_LENGTH: u8 = 2;
const MOVED: u8 = 1;
const OTHER_WINDOW: u8 = 2;
const SACKS: u8 = 4;
const RTT: u8 = 8;
const FRAMES: u8 = 32;
const MARKS: u8 = 64;
const ANSWER: u8 = 128;

/// State from which the next point is predicted. Every block starts from the state in its summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    state: State,
    len: u32,
    window: u32,
}

impl Expected {
    pub const fn new(state: State) -> Self {
        Self {
            state,
            len: 0,
            window: 0,
        }
    }

    /// Appends a point.
    #[inline]
    pub fn put(&mut self, out: &mut Vec<u8>, point: &Point, unit_ns: u64) {
        let state = self.state;
        let place = out.len();
        let frames = point.frame - state.frame;
        let mut tag = 0;
        out.push(0);
        put(out, (point.at_ns - state.at_ns) / unit_ns);
        if frames != 1 {
            tag |= FRAMES;
            put(out, frames);
        }
        if point.marks != 0 {
            tag |= MARKS;
            put(out, point.marks.into());
        }
        match point.effect {
            Effect::Data { start, len } => {
                if start != state.next {
                    tag |= ELSEWHERE;
                    put_signed(out, start.wrapping_sub(state.next).cast_signed());
                }
                if len != self.len {
                    tag |= OTHER_LENGTH;
                    put(out, len.into());
                    self.len = len;
                }
            }
            Effect::Ack {
                ack,
                window,
                sack,
                sack_len,
                rtt_ns,
            } => {
                tag |= ANSWER;
                if ack != state.una {
                    tag |= MOVED;
                    put_signed(out, ack.wrapping_sub(state.una).cast_signed());
                }
                if window != self.window {
                    tag |= OTHER_WINDOW;
                    put(out, window.into());
                    self.window = window;
                }
                if sack_len > 0 {
                    tag |= SACKS;
                    put(out, sack_len.into());
                    for range in &sack[..usize::from(sack_len)] {
                        put_signed(out, range.left.wrapping_sub(ack).cast_signed());
                        put(out, range.right - range.left);
                    }
                }
                if let Some(rtt) = rtt_ns {
                    tag |= RTT;
                    put(out, rtt / unit_ns);
                }
            }
        }
        out[place] = tag;
        self.state.add(point);
    }

    /// Reads a point.
    pub fn read(&mut self, reader: &mut Reader<'_>, unit_ns: u64) -> Point {
        let state = self.state;
        let tag = reader.octet();
        let has = |bit| tag & bit != 0;
        let at_ns = state.at_ns + reader.number() * unit_ns;
        let frames = if has(FRAMES) { reader.number() } else { 1 };
        let marks = if has(MARKS) {
            reader.number() as u32
        } else {
            0
        };
        let effect = if has(ANSWER) {
            let ack = if has(MOVED) {
                state.una.wrapping_add_signed(reader.signed())
            } else {
                state.una
            };
            if has(OTHER_WINDOW) {
                self.window = reader.number() as u32;
            }
            let mut sack = [SackRange::default(); 4];
            let sack_len = if has(SACKS) { reader.octet().min(4) } else { 0 };
            for range in &mut sack[..usize::from(sack_len)] {
                range.left = ack.wrapping_add_signed(reader.signed());
                range.right = range.left + reader.number();
            }
            Effect::Ack {
                ack,
                window: self.window,
                sack,
                sack_len,
                rtt_ns: has(RTT).then(|| reader.number() * unit_ns),
            }
        } else {
            let start = if has(ELSEWHERE) {
                state.next.wrapping_add_signed(reader.signed())
            } else {
                state.next
            };
            if has(OTHER_LENGTH) {
                self.len = reader.number() as u32;
            }
            Effect::Data {
                start,
                len: self.len,
            }
        };
        let point = Point {
            frame: state.frame + frames,
            at_ns,
            marks,
            effect,
        };
        self.state.add(&point);
        point
    }
}
