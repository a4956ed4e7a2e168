//! Urgent data: RFC 9293 section 3.8.5, RFC 6093.
//!
//! Urgent data is only a mark in the stream: the urgent pointer is the octet after the urgent data
//! (MUST-62). The sender sets it on every segment from before the mark until that is acknowledged,
//! even into a closed window. Urgent data has any length (MUST-30, MUST-31). A mark more than
//! 65535 octets away is announced as far as the pointer reaches. The receiver keeps the furthest
//! mark, reports it to the application immediately (MUST-32) together with its distance (MUST-33).
//! A read ends at the mark, so that it can be found.
//!
//! Urgent octets stay in line (`urgent_inline`, RFC 6093 section 5 SHOULD). Otherwise the last
//! octet before the mark is not part of the stream, as in 4.2BSD's sockets.
//! [`Connection::read_urgent`] returns it as soon as it is available, however much before it is
//! unread. A read that reaches it first sets it aside for the next call. Available means in order:
//! an urgent octet beyond a gap waits until the gap is filled. One not requested before the peer
//! moves its mark further stays in line (as in Linux).
//!
//! Firewalls clear the pointer (RFC 6093 section 3.4), and new applications should not use it
//! (MUST-30 is for old ones).

use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment};

use super::{Connection, WriteError};
use crate::events::{Event, EventMask, State};
use crate::lazy::Lazy;

/// Urgent marks of both directions.
#[derive(Clone, Debug)]
pub(super) struct Urgent<P> {
    /// Offset of the next octet the application reads. An octet removed ahead of it counts as
    /// read, so that the distance to the mark is right.
    read_to: u64,
    marks: Lazy<Marks<P>>,
}

/// Ends of urgent data.
#[derive(Clone, Default, Debug)]
struct Marks<P> {
    /// SND.UP: offset after the last urgent octet written.
    snd_up: u64,
    /// RCV.UP: furthest mark the peer has set.
    rcv_up: u64,
    /// The last octet before the mark was already removed from the stream.
    is_taken: bool,
    /// Urgent octet removed from the stream and not yet requested.
    aside: Option<P>,
}

impl<P: Payload> Urgent<P> {
    pub(super) fn new() -> Self {
        Self {
            read_to: 1,
            marks: Lazy::default(),
        }
    }

    /// SND.UP, zero before the first mark.
    #[inline]
    pub(super) fn snd_up(&self) -> u64 {
        self.marks.touched().map_or(0, |marks| marks.snd_up)
    }

    /// RCV.UP, zero before the first mark.
    #[inline]
    fn rcv_up(&self) -> u64 {
        self.marks.touched().map_or(0, |marks| marks.rcv_up)
    }

    fn is_taken(&self) -> bool {
        self.marks.touched().is_some_and(|marks| marks.is_taken)
    }

    /// Notes that the application has read `octets`.
    #[inline]
    pub(super) fn on_read(&mut self, octets: u64) {
        self.read_to += octets;
    }

    /// Whether a mark lies ahead of the read position.
    #[inline]
    pub(super) fn is_ahead(&self) -> bool {
        self.rcv_up() > self.read_to
    }
}

impl<P: Payload> Connection<P> {
    /// SEND with the URGENT flag: [`Connection::write`] with the mark at the end of the data.
    ///
    /// # Errors
    /// As [`Connection::write`].
    pub fn write_urgent(&mut self, payload: P) -> Result<usize, WriteError> {
        let accepted = self.write(payload)?;
        if accepted > 0 {
            self.urgent.marks.make().snd_up = self.send_buffer.end();
            // A closed window holds the data back, but not its announcement.
            if self.is_synchronized() && self.snd.edge() <= self.snd.nxt {
                self.ack.demand_alone();
            }
        }
        Ok(accepted)
    }

    /// Octets left to read before the urgent mark; `None` if none lies ahead.
    #[doc(hidden)]
    pub fn urgent_ahead(&self) -> Option<u64> {
        self.urgent
            .is_ahead()
            .then(|| self.urgent.rcv_up() - self.urgent.read_to)
    }

    /// Whether the last octet read was the last one before the mark. Out of line: the last before
    /// the urgent octet.
    pub fn is_at_urgent_mark(&self) -> bool {
        let urgent = &self.urgent;
        let next_is_apart = self.is_apart() && urgent.rcv_up() == urgent.read_to + 1;
        urgent.rcv_up() > 1 && (urgent.rcv_up() == urgent.read_to || next_is_apart)
    }

    /// Whether the last octet before the urgent mark is available (`POLLPRI`). It has arrived and
    /// was neither read nor removed.
    #[doc(hidden)]
    pub fn has_urgent_octet(&self) -> bool {
        let urgent = &self.urgent;
        let is_readable = urgent.is_ahead()
            && !urgent.is_taken()
            && urgent.rcv_up() - urgent.read_to <= self.receive_buffer.readable();
        let marks = urgent.marks.touched();
        is_readable || marks.is_some_and(|marks| marks.aside.is_some())
    }

    /// Arrived urgent octet, each one once. Only if it does not stay in line.
    pub fn read_urgent(&mut self) -> Option<P> {
        let marks = self.urgent.marks.touched_mut();
        let kept = marks.and_then(|marks| marks.aside.take());
        if !self.is_apart() {
            return kept;
        }
        let before = self.urgent.rcv_up() - self.urgent.read_to - 1;
        let Some(octet) = self.receive_buffer.take_out(before) else {
            return kept;
        };
        self.urgent.marks.make().is_taken = true;
        self.urgent.on_read(1);
        self.release_read();
        self.demand_window_update();
        Some(octet)
    }

    /// Whether the last octet before a mark ahead must still be removed from the stream.
    fn is_apart(&self) -> bool {
        !self.transport.profile.segments.urgent_inline
            && self.urgent.is_ahead()
            && !self.urgent.is_taken()
    }

    /// Whether urgent data is unacknowledged.
    #[inline]
    pub(super) fn is_urgent(&self) -> bool {
        self.urgent.snd_up() > self.snd.una
    }

    /// Sets the urgent pointer in a segment that starts at `seq`, before the mark.
    #[cold]
    pub(super) fn point_at_mark(&self, seq: u64, segment: &mut Segment<P>) {
        let distance = self.urgent.snd_up() - seq;
        segment.urgent = u16::try_from(distance).unwrap_or(u16::MAX);
        segment.flags |= Flags::URG;
    }

    /// Processes URG of a segment at `seq`: RFC 9293 section 3.10.7.4 sixth.
    pub(super) fn handle_urgent(&mut self, now: Instant, seq: u64, segment: &Segment<P>) {
        let receiving = matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        let mark = seq + u64::from(segment.urgent);
        if receiving && mark > self.urgent.rcv_up() && mark > self.urgent.read_to {
            let marks = self.urgent.marks.make();
            marks.rcv_up = mark;
            marks.is_taken = false;
            self.counters.urgent_marks += 1;
            let event = Event::UrgentArrived { mark };
            self.outbox.put(EventMask::CHANGES, now, event);
        }
    }

    /// Octets of `max` that a read may return while a mark lies ahead. Sets the urgent octet aside
    /// if it does not stay in line.
    pub(super) fn up_to_mark(&mut self, max: usize) -> usize {
        let ahead = self.urgent.rcv_up() - self.urgent.read_to;
        if !self.is_apart() {
            return max.min(usize::try_from(ahead).unwrap_or(max));
        }
        if ahead > 1 {
            return max.min(usize::try_from(ahead - 1).unwrap_or(max));
        }
        if let Some(octet) = self.receive_buffer.read(1) {
            self.urgent.on_read(1);
            let marks = self.urgent.marks.make();
            marks.is_taken = true;
            marks.aside = Some(octet);
            self.release_read();
            self.demand_window_update();
        }
        max
    }
}
