//! Segment text and FIN: RFC 9293 section 3.10.7.4 seventh and eighth.

use alloc::boxed::Box;
use core::ops::Range;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Flags, Payload, Segment};

use super::Connection;
use crate::delayed_ack::{Data, GAP_BLOCKS, GapArrival, ack_every};
use crate::events::{Event, EventMask, State};
use crate::space::{Length, Offset, Window};

/// Receive-buffer octets per separate piece beyond a gap. A separate piece costs about a hundred
/// octets of bookkeeping, so all of it stays below half of the buffer.
const OCTETS_PER_PIECE: u64 = 256;

/// Number of pieces allowed however small the buffer is.
const LEAST_PIECES: u64 = 64;

impl<P: Payload> Connection<P> {
    /// Fast path: takes the next data. `segment` lies wholly inside the window, and nothing is
    /// held beyond a gap.
    #[inline]
    pub(super) fn take_expected_data(&mut self, now: Instant, segment: &mut Segment<P>) {
        let len = segment.payload.len() as u64;
        let seq = self.rcv.nxt;
        self.liveness.on_heard(now);
        self.measure_as_receiver(now, segment);
        self.charge(seq + len, segment);
        self.acknowledge_data(now, len, segment);
        self.rcv.nxt += len;
        let payload = core::mem::take(&mut segment.payload);
        self.receive_buffer.append(payload);
        self.put_received(now, seq, len as u32, false, 0);
    }

    /// Processes data, then FIN, of an acceptable segment that starts at `seq`. The data is moved
    /// out of it.
    pub(super) fn handle_text(&mut self, now: Instant, seq: u64, segment: &mut Segment<P>) {
        let may_receive = matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        if !may_receive {
            // No data follows the peer's FIN.
            if segment.seq_len() > 0 {
                self.ack.demand();
            }
            return;
        }
        let has_fin = segment.flags.contains(Flags::FIN);
        let end = seq + segment.payload.len() as u64;
        if self.window.counts_packets() && !self.keeps_whole(now, seq..end, segment) {
            self.ack.demand();
            return;
        }
        let kept_end = end.min(self.last_acceptable());
        if kept_end < end {
            let _beyond_the_window = segment
                .payload
                .split_off(kept_end.saturating_sub(seq) as usize);
            self.ack.demand();
        }
        if has_fin && kept_end == end {
            self.closing.peer_fin = Some(end);
            if end > self.rcv.nxt {
                self.ack.demand_alone();
            }
        }
        if !segment.payload.is_empty() {
            self.take_data(now, seq, segment);
        }
        if self.closing.peer_fin == Some(self.rcv.nxt) {
            self.handle_fin(now);
        }
    }

    /// End of acceptable data: the advertised right edge. In a retracted window, only what fits.
    fn last_acceptable(&self) -> u64 {
        let (nxt, edge) = (self.rcv.nxt, self.rcv.edge);
        if self.window.counts_packets() {
            return u64::MAX;
        }
        if !self.window.may_shrink() {
            return edge.max(nxt);
        }
        let unread = self.receive_buffer.readable();
        let room = self.window.buffer().saturating_sub(unread);
        edge.min(nxt + room).max(self.rcv.advertised_edge).max(nxt)
    }

    /// Whether a packet is kept whole or dropped, if packets count. It is kept up to the furthest
    /// window advertised, or beyond it if nothing is readable (Linux `tcp_sequence`), unless the
    /// buffer is already exceeded. The next octet in order is always accepted if nothing is
    /// readable. Otherwise data beyond a gap could keep the gap open indefinitely (Linux
    /// `tcp_prune_queue` discards that data instead).
    fn keeps_whole(
        &mut self,
        now: Instant,
        Range { start, end }: Range<u64>,
        segment: &Segment<P>,
    ) -> bool {
        let is_empty = segment.payload.is_empty();
        let fits = end <= self.rcv.edge.max(self.rcv.nxt) || self.receive_buffer.readable() == 0;
        if !fits {
            self.counters.beyond_window += 1;
        }
        let is_next = start <= self.rcv.nxt && end > self.rcv.nxt;
        let fills_gap = is_next && self.receive_buffer.readable() == 0;
        is_empty || (fits && (self.has_memory(now) || fills_gap))
    }

    /// Counts the memory of an arrival that ends at `end`, until it is read.
    #[inline]
    fn charge(&mut self, end: u64, segment: &Segment<P>) {
        let len = segment.payload.len() as u64;
        if self
            .window
            .on_arrival(Offset(end), Length(len), segment_octets(segment))
        {
            self.ack.on_window_growth();
        }
        if self.window.is_tight() {
            self.ack.end_quick();
        }
    }

    fn take_data(&mut self, now: Instant, seq: u64, segment: &mut Segment<P>) {
        let len = segment.payload.len() as u64;
        let per_segment = segment_octets(segment);
        if seq == self.rcv.nxt {
            self.measure_as_receiver(now, segment);
        }
        let most_pieces = LEAST_PIECES + self.window.buffer() / OCTETS_PER_PIECE;
        self.charge(seq + len, segment);
        let payload = core::mem::take(&mut segment.payload);
        let is_elsewhere = self.transport.profile.acknowledgments.compressed_acks > 0
            && self.receive_buffer.ranges_before(&(seq..seq + len)) >= GAP_BLOCKS;
        let arrival = self
            .receive_buffer
            .insert(self.rcv.nxt, seq, payload, most_pieces);
        let in_order = arrival.advanced == len && !arrival.filled_hole;
        let duplicate = arrival.duplicate.clone().map_or(0, |r| r.end - r.start);
        let is_duplicate = arrival.duplicate.is_some();
        if let Some(range) = arrival.duplicate {
            self.note_duplicate(range);
        }
        let nxt = self.rcv.nxt + arrival.advanced;
        let profile = &self.transport.profile;
        if arrival.advanced > 0 && !in_order && profile.acknowledgments.quick_ack_again {
            let (rto, wnd) = (self.rtt.rto(), self.rcv.wnd());
            self.ack.on_progress(now, profile, rto, wnd);
        }
        if in_order {
            self.count_for_ack(now, len, per_segment, segment.flags);
        } else if is_duplicate || self.receive_buffer.is_contiguous() {
            // RFC 5681 section 4.2: data filling a gap, or duplicate. It is a duplicate ACK only
            // if it carries no data (section 2).
            self.ack.demand_alone();
        } else {
            let gap = GapArrival {
                advanced: arrival.advanced > 0,
                is_elsewhere,
                rtt: self.compression_rtt(),
            };
            self.ack.on_gap(now, &self.transport.profile, gap);
        }
        self.rcv.nxt = nxt;
        self.rcv.edge = self.rcv.edge.max(nxt);
        self.put_received(now, seq, len as u32, arrival.out_of_order, duplicate as u32);
    }

    /// RTT that bounds the wait of a compressed ACK: the smaller of the receiver's and the
    /// sender's. `None` without SACK, whose blocks a later ACK repeats.
    fn compression_rtt(&self) -> Option<Duration> {
        let of_sender = self.rtt.measured_srtt().filter(|_| self.handshake.sack);
        let of_receiver = self.receiver_rtt().filter(|_| self.handshake.sack);
        of_sender.into_iter().chain(of_receiver).min()
    }

    #[inline]
    fn acknowledge_data(&mut self, now: Instant, len: u64, segment: &Segment<P>) {
        self.count_for_ack(now, len, segment_octets(segment), segment.flags);
    }

    /// Processes in-order data: the window may grow, an acknowledgment may become due.
    #[inline]
    fn count_for_ack(&mut self, now: Instant, len: u64, per_segment: u64, flags: Flags) {
        let unread = self.receive_buffer.readable();
        let full_sized = per_segment + 128 > u64::from(self.rmss);
        if full_sized && self.window.on_full_segments(len, unread) {
            self.ack.on_window_growth();
        }
        let data = Data {
            len,
            segment_size: per_segment as u32,
            wnd: self.rcv.wnd(),
            rto: self.rtt.rto(),
            has_push: flags.contains(Flags::PSH),
            ack_every: self.ack_every(now),
            must_wait_for_reader: self.transport.profile.acknowledgments.ack_waits_for_reader
                && self
                    .window
                    .would_shrink(Length(unread + len), Window(self.rcv.last_wnd)),
        };
        self.ack.on_data(now, &self.transport.profile, &data);
    }

    /// Current number of segments per acknowledgment.
    pub(super) fn ack_every(&self, now: Instant) -> u32 {
        let age = || now.saturating_since(self.established_at.unwrap_or(now));
        ack_every(&self.transport.profile, age)
    }

    pub(super) fn put_received(
        &mut self,
        now: Instant,
        seq: u64,
        len: u32,
        out_of_order: bool,
        dup: u32,
    ) {
        if self.outbox.wants(EventMask::SEGMENTS) {
            let event = Event::SegmentReceived {
                seq,
                len,
                out_of_order,
                duplicate: dup,
            };
            self.outbox.put(EventMask::SEGMENTS, now, event);
        }
    }

    /// Reports `range` as received twice in the next acknowledgment (RFC 2883).
    pub(super) fn note_duplicate(&mut self, range: Range<u64>) {
        if self.handshake.sack && self.transport.profile.recovery.dsack && !range.is_empty() {
            self.dsack = Some(Box::new(range));
            self.ack.demand_alone();
        }
    }

    /// Processes the FIN when it is next in order.
    fn handle_fin(&mut self, now: Instant) {
        self.rcv.nxt += 1;
        // A FIN occupies no buffer, so it is accepted even at the window's end.
        self.rcv.edge = self.rcv.edge.max(self.rcv.nxt);
        self.closing.peer_fin = None;
        // RFC 2018 section 3: no data is left to select.
        self.dsack = None;
        let waits = self.transport.profile.closing.delayed_fin_ack && self.rcv.last_wnd > 0;
        if waits && self.state == State::Established && !self.ack.is_due() {
            self.ack.hold_back(now, &self.transport.profile);
        } else {
            self.ack.demand();
        }
        match self.state {
            State::Established => self.set_state(now, State::CloseWait),
            State::FinWait1 => self.set_state(now, State::Closing),
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }
}

/// Payload octets of one wire segment inside `segment`.
#[inline]
fn segment_octets<P: Payload>(segment: &Segment<P>) -> u64 {
    let len = segment.payload.len() as u64;
    match u64::from(segment.segment_size) {
        0 => len,
        size => size.min(len),
    }
}
