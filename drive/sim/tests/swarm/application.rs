//! A random application: it writes an amount, reads everything at its own pace, and marks some data
//! as urgent.
//!
//! All data read is compared byte by byte with the data the peer wrote. So are the positions of
//! urgent marks (RFC 9293 section 3.8.5, RFC 6093): a mark is where the peer set one, a read ends
//! there, the last one is never missed, and an out-of-band byte is the one before its mark. Beyond
//! 64 KiB the pointer cannot reach the mark, so there a mark may also be before one.

use std::collections::BTreeSet;

use gigatcp_tcp::Connection;
use gigatcp_tcp::events::State;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{fill_phantom, verify_phantom};

use super::draw::Draw;

/// Distance between the contents of the two streams.
const CONTENTS_APART: u64 = 1 << 40;

/// Maximum distance of an urgent pointer.
const POINTER_REACHES: u64 = u16::MAX as u64;

/// Condition for an application to close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closes {
    /// When everything is written.
    AfterWriting,
    /// When everything is written and the peer has closed.
    AfterPeer,
}

/// Expected content of a stream, for its reader.
#[derive(Clone, Default, Debug)]
pub struct Written {
    /// Start of the contents.
    contents: u64,
    total: u64,
    /// Offsets after the last byte of each urgent write.
    marks: BTreeSet<u64>,
}

/// An application.
#[derive(Debug)]
pub struct Application {
    pub stream: Written,
    pub written: u64,
    write_most: u64,
    write_every: Duration,
    next_write: Instant,
    /// Percentage of urgent writes.
    urgent: u64,
    draw: Draw,
    /// Whether urgent bytes stay in line.
    inline: bool,
    /// Offset of the next byte to be read in line.
    place: u64,
    /// Offsets of bytes read out of band, ahead of that.
    taken: BTreeSet<u64>,
    read_most: usize,
    read_every: Duration,
    next_read: Instant,
    /// Whether it requests urgent bytes that are out of band.
    asks: bool,
    /// The furthest mark reported to it.
    mark: u64,
    pub closes: Closes,
    pub closed: bool,
    pub abort_at: Instant,
}

impl Application {
    /// Application of end `number`; `totals` are the bytes that the two ends write.
    ///
    /// Its urgent writes use a separate random stream, so that they change nothing else.
    pub fn new(draw: &mut Draw, seed: u64, number: usize, totals: [u64; 2]) -> Self {
        // Slow applications move everything in at most 300 calls.
        let least = |total| total / 300 + 1;
        let (total, peer_total) = (totals[number], totals[1 - number]);
        let pause = |draw: &mut Draw| {
            if draw.chance(60) {
                Duration::ZERO
            } else {
                draw.span(Duration::from_micros(1), Duration::from_millis(300))
            }
        };
        let mut urgency = Draw::new(seed, ["urgent 0", "urgent 1"][number]);
        let urgent = urgency.pick(&[0, 0, 0, 10, 100]);
        Self {
            stream: Written {
                contents: number as u64 * CONTENTS_APART,
                total,
                marks: BTreeSet::new(),
            },
            written: 0,
            write_most: draw.magnitude(least(total), 1 << 20),
            write_every: pause(draw),
            next_write: Instant::ZERO,
            urgent,
            asks: urgency.chance(50),
            draw: urgency,
            inline: true,
            place: 0,
            taken: BTreeSet::new(),
            read_most: draw.magnitude(least(peer_total), 1 << 20) as usize,
            read_every: pause(draw),
            next_read: Instant::ZERO,
            mark: 0,
            closes: Closes::AfterWriting,
            closed: false,
            abort_at: Instant::FAR_FUTURE,
        }
    }

    /// Sets the percentage of urgent writes.
    pub fn set_urgent(&mut self, percent: u64) {
        self.urgent = percent;
    }

    /// Sets whether its engine leaves urgent bytes in line.
    pub fn expect_inline(&mut self, inline: bool) {
        self.inline = inline;
    }

    /// Bytes read, including those out of band.
    pub fn read_octets(&self) -> u64 {
        self.place + self.taken.len() as u64
    }

    /// Whether a mark was set.
    pub fn has_marks(&self) -> bool {
        !self.stream.marks.is_empty()
    }

    /// Bytes it writes.
    pub fn total(&self) -> u64 {
        self.stream.total
    }

    /// When it acts next.
    pub fn next(&self, connection: &Connection<Bytes>) -> Instant {
        let mut next = self.abort_at;
        let may_write = connection.state() != State::Closed && !self.closed;
        if may_write && self.written < self.total() && connection.send_space() > 0 {
            next = next.min(self.next_write);
        }
        if connection.readable() > 0 {
            next = next.min(self.next_read);
        }
        next
    }

    /// Performs the actions that are due; `peer` is the data the other end writes.
    pub fn act(
        &mut self,
        now: Instant,
        connection: &mut Connection<Bytes>,
        peer: &Written,
    ) -> Result<(), String> {
        if self.abort_at <= now {
            self.abort_at = Instant::FAR_FUTURE;
            self.closed = true;
            connection.abort(now);
        }
        self.read(now, connection, peer)?;
        self.write(now, connection);
        let open = connection.established_at().is_some();
        let peer_is_done = self.closes == Closes::AfterWriting || connection.is_finished_reading();
        if open && !self.closed && self.written == self.total() && peer_is_done {
            self.closed = true;
            connection.shutdown(now);
        }
        Ok(())
    }

    /// Checks that everything was read and the last mark was seen.
    ///
    /// `marks_arrive` is false if middleboxes remove marks or one was on a SYN.
    pub fn check_end(&self, peer: &Written, marks_arrive: bool) -> Result<(), String> {
        let read = self.read_octets();
        if read != peer.total {
            return Err(format!("read {read} of {} octets", peer.total));
        }
        let last = peer.marks.last().copied().unwrap_or(0);
        if marks_arrive && self.mark < last {
            return Err(format!("the mark at {last} was missed: {}", self.mark));
        }
        Ok(())
    }

    fn read(
        &mut self,
        now: Instant,
        connection: &mut Connection<Bytes>,
        peer: &Written,
    ) -> Result<(), String> {
        loop {
            let ahead = self.note_mark(connection, peer)?;
            if self.next_read > now {
                return Ok(());
            }
            if self.asks && !self.inline && connection.has_urgent_octet() {
                self.take_out(connection, ahead, peer)?;
                continue;
            }
            let limit = self.take_aside(connection, ahead);
            let Some(octets) = connection.read(now, self.read_most) else {
                return Ok(());
            };
            let len = octets.len() as u64;
            if limit.is_some_and(|limit| len > limit) {
                return Err(format!(
                    "a read of {len} octets passed a mark {ahead:?} ahead"
                ));
            }
            if limit == Some(len) && !connection.is_at_urgent_mark() {
                return Err("read up to the mark and not told so".into());
            }
            self.verify(&octets, peer)?;
            self.next_read = now + self.read_every;
        }
    }

    /// Limit of the next read. An urgent byte that is next, out of band and not requested, is
    /// skipped by a read.
    fn take_aside(&mut self, connection: &Connection<Bytes>, ahead: Option<u64>) -> Option<u64> {
        let place = self.place_before_mark(ahead?);
        let is_apart = !self.inline && !self.taken.contains(&place);
        match ahead? {
            1 if is_apart => {
                if connection.readable() > 0 {
                    self.taken.insert(place);
                    self.skip_taken();
                }
                None
            }
            ahead => Some(ahead - u64::from(is_apart)),
        }
    }

    /// Offset of the byte before a mark that is `ahead` bytes away.
    fn place_before_mark(&self, ahead: u64) -> u64 {
        self.read_octets() + ahead - 1
    }

    /// Skips bytes in line that were already read out of band.
    fn skip_taken(&mut self) {
        while self.taken.remove(&self.place) {
            self.place += 1;
        }
    }

    /// Checks that the mark ahead, if any, is where the peer set one.
    fn note_mark(
        &mut self,
        connection: &Connection<Bytes>,
        peer: &Written,
    ) -> Result<Option<u64>, String> {
        let Some(ahead) = connection.urgent_ahead() else {
            return Ok(None);
        };
        let mark = self.read_octets() + ahead;
        self.mark = self.mark.max(mark);
        let last = peer.marks.last().copied().unwrap_or(0);
        let clipped = peer.total > POINTER_REACHES && mark < last;
        if peer.marks.contains(&mark) || clipped {
            Ok(Some(ahead))
        } else {
            Err(format!(
                "a mark at {mark}, where the peer set none; its last is at {last}"
            ))
        }
    }

    /// Reads an urgent byte out of band.
    fn take_out(
        &mut self,
        connection: &mut Connection<Bytes>,
        ahead: Option<u64>,
        peer: &Written,
    ) -> Result<(), String> {
        let octet = connection.read_urgent();
        let (Some(octet), Some(ahead)) = (octet, ahead) else {
            return Err("an urgent octet that is not to be had".into());
        };
        let place = self.place_before_mark(ahead);
        verify_phantom(peer.contents + place, &octet)
            .map_err(|wrong| format!("out of line came what was not written: {wrong}"))?;
        self.taken.insert(place);
        self.skip_taken();
        Ok(())
    }

    /// Checks that the bytes read in line are the next ones, without out-of-band bytes.
    fn verify(&mut self, octets: &[u8], peer: &Written) -> Result<(), String> {
        let mut rest = octets;
        while !rest.is_empty() {
            let gap = self.taken.first().map_or(u64::MAX, |gap| gap - self.place);
            let (piece, behind) = rest.split_at(gap.min(rest.len() as u64) as usize);
            verify_phantom(peer.contents + self.place, piece)
                .map_err(|wrong| format!("read what was not written: {wrong}"))?;
            self.place += piece.len() as u64;
            self.skip_taken();
            rest = behind;
        }
        Ok(())
    }

    fn write(&mut self, now: Instant, connection: &mut Connection<Bytes>) {
        while self.next_write <= now && self.written < self.total() && !self.closed {
            let most = self.write_most.min(self.total() - self.written);
            let mut octets = vec![0; most.min(connection.send_space()) as usize];
            fill_phantom(self.stream.contents + self.written, &mut octets);
            let urgent = self.urgent > 0 && self.draw.chance(self.urgent);
            let taken = if urgent {
                connection.write_urgent(octets.into())
            } else {
                connection.write(octets.into())
            };
            let Ok(taken @ 1..) = taken else { return };
            self.written += taken as u64;
            if urgent {
                self.stream.marks.insert(self.written);
            }
            self.next_write = now + self.write_every;
        }
    }
}
