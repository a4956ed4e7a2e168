//! Building of segments that `output` has decided to send: RFC 9293 section 3.1; RFC 7323; RFC
//! 2018; RFC 2883.
//!
//! Header, window, options, and the bookkeeping of sent data. Rare parts (an authentication code,
//! AccECN, an urgent mark) are added afterwards by their own files.

use core::ops::Range;

use gigatcp_units::{Bytes, Instant};
use gigatcp_wire::{Ecn, Flags, Options, Payload, SackBlock, SackBlocks, Segment, WireWindow};

use super::{Connection, Reset};
use crate::congestion::Sent;
use crate::events::{Event, EventMask, SendReason, State};
use crate::space::{Length, Offset, RightEdge};

/// Fields of a segment decided before it is built.
pub(super) struct Header {
    /// Offset of the first octet.
    pub(super) seq: u64,
    pub(super) flags: Flags,
    pub(super) ecn: Ecn,
    /// Whether an AccECN option fits next to the payload.
    pub(super) has_room: bool,
}

impl<P: Payload> Connection<P> {
    pub(super) fn bare_ack(&mut self, now: Instant) -> Segment<P> {
        self.counters.acks_sent += 1;
        let mut seq = self.snd.acceptable();
        if self.liveness.take_probe() {
            seq = self.snd.nxt - 1;
        }
        let forgets =
            self.transport.profile.ecn.time_wait_forgets_ecn && self.state == State::TimeWait;
        let counter = match forgets {
            true => Flags::NONE,
            false => self.ecn.flags_of_ack(),
        };
        let is_challenge = core::mem::take(&mut self.closing.is_challenge_due);
        let fin = if self.transport.profile.closing.fin_on_acks
            && !is_challenge
            && self.is_fin_in_flight()
        {
            seq = self.snd.nxt - 1;
            Flags::FIN
        } else {
            Flags::NONE
        };
        let header = Header {
            seq,
            flags: Flags::ACK | counter | fin,
            ecn: self.ect_if(self.ecn.sends_ect_everywhere()),
            has_room: !forgets,
        };
        if !self.user_timeout.announces() {
            return self.segment(now, &header, P::default());
        }
        let mut segment = self.segment(now, &header, P::default());
        self.tell_user_timeout(&mut segment.options);
        segment
    }

    /// Whether our FIN was sent and is not acknowledged.
    fn is_fin_in_flight(&self) -> bool {
        matches!(
            self.state,
            State::FinWait1 | State::Closing | State::LastAck
        ) && self.closing.fin_sent
    }

    /// Builds a segment with data (or FIN) and does its bookkeeping.
    pub(super) fn send(
        &mut self,
        now: Instant,
        range: Range<u64>,
        flags: Flags,
        reason: SendReason,
    ) -> Segment<P> {
        let len = range.end - range.start;
        let header = self.depart(now, range, flags, reason);
        self.data_segment(now, &header, len)
    }

    /// Does the bookkeeping of a segment with data (or FIN).
    pub(super) fn depart(
        &mut self,
        now: Instant,
        range: Range<u64>,
        flags: Flags,
        reason: SendReason,
    ) -> Header {
        let len = range.end - range.start;
        let fresh = len > 0 && matches!(reason, SendReason::New | SendReason::LimitedTransmit);
        let flags = flags | self.ecn.flags_of_data(fresh);
        let segments = match reason {
            SendReason::PathMtuProbe => 1,
            // The usual case, without a division.
            _ if len <= u64::from(self.smss) => u64::from(len > 0),
            _ => len.div_ceil(u64::from(self.smss)),
        };
        let is_pushed = segments > 1 && self.transport.profile.segments.push_super_segments;
        let flags = if is_pushed { flags | Flags::PSH } else { flags };
        self.counters.data_segments_sent += segments;
        self.last_sent_at = now;
        self.prr.on_sent(len);
        self.congestion.on_sent(&Sent {
            now,
            octets: Bytes::new(len),
            in_flight: Bytes::new(self.board.in_flight()),
            app_limited: self.board.is_app_limited(),
        });
        self.on_released(now, len);
        // RFC 6298 section 5 (5.1). During probing, the persist timer applies.
        if self.timers.retransmit_at == Instant::FAR_FUTURE && reason != SendReason::WindowProbe {
            self.timers.retransmit_at = now + self.rtt.rto();
        }
        if self.outbox.wants(EventMask::SEGMENTS) {
            let event = Event::SegmentSent {
                seq: range.start,
                len: len as u32,
                segments: segments as u32,
                flags,
                reason,
            };
            self.outbox.put(EventMask::SEGMENTS, now, event);
        }
        let ect = (fresh && self.ecn.sends_ect()) || self.ecn.sends_ect_everywhere();
        if !ect && self.ecn.sends_ect() {
            // A FIN occupies the sequence number after its data.
            self.ecn.on_plain_data(range.end + 1);
        }
        Header {
            seq: range.start,
            flags,
            ecn: self.ect_if(ect),
            has_room: self.has_room_for_accecn(Offset(range.start), Length(len), fresh),
        }
    }

    /// ECN field of a segment that is ECN-capable or not.
    fn ect_if(&self, is_ect: bool) -> Ecn {
        if !is_ect {
            Ecn::NotEct
        } else if self.ecn.is_l4s() && self.congestion.is_scalable() {
            Ecn::Ect1
        } else {
            Ecn::Ect0
        }
    }

    pub(super) fn data_segment(&mut self, now: Instant, header: &Header, len: u64) -> Segment<P> {
        let payload = self.send_buffer.slice(header.seq..header.seq + len);
        self.segment(now, header, payload)
    }

    /// Builds a segment of the open connection. Rare parts are added afterwards, so that all other
    /// segments are built in place, without a copy.
    #[inline(always)]
    pub(super) fn segment(&mut self, now: Instant, header: &Header, payload: P) -> Segment<P> {
        let has_mark = self.urgent.snd_up() > header.seq;
        if !has_mark && !self.is_dressed() {
            return self.plain_segment(now, header, payload);
        }
        let mut segment = self.plain_segment(now, header, payload);
        self.dress(&mut segment, header.has_room);
        if has_mark {
            self.point_at_mark(header.seq, &mut segment);
        }
        segment
    }

    /// Builds header fields, options, and the acknowledgment.
    #[inline(never)]
    fn plain_segment(&mut self, now: Instant, header: &Header, payload: P) -> Segment<P> {
        let sack = if payload.is_empty() {
            self.sack_blocks()
        } else {
            // Data segments carry no SACK blocks: they would not fit next to a full segment. The
            // bare ACK that follows carries them.
            SackBlocks::default()
        };
        let wnd = self.advertise();
        self.rcv.last_ack_sent = self.rcv.nxt;
        self.ack.on_ack_sent();
        if self.outbox.wants(EventMask::SEGMENTS) {
            let event = Event::AckSent {
                ack: self.rcv.nxt,
                wnd: self.rcv.wnd(),
                sack_blocks: sack.len() as u32,
            };
            self.outbox.put(EventMask::SEGMENTS, now, event);
        }
        Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq: self.snd.on_wire(header.seq),
            ack: self.rcv.on_wire(self.rcv.nxt),
            flags: header.flags,
            wnd,
            urgent: 0,
            segment_size: self.smss as u16,
            ecn: header.ecn,
            ident: 0,
            ace: false,
            options: Options {
                timestamps: self.timestamps.as_ref().map(|clock| clock.stamp(now)),
                sack,
                ..Options::default()
            },
            payload,
        }
    }

    /// Advances the right edge as far as the buffer allows. Returns the window field.
    fn advertise(&mut self) -> WireWindow {
        let wnd = self.window_on_wire();
        self.rcv.advertised_edge = self.rcv.nxt + wnd;
        self.rcv.edge = self.rcv.edge.max(self.rcv.advertised_edge);
        self.rcv.last_wnd = self.rcv.wnd();
        self.window.on_said(wnd);
        WireWindow((wnd >> self.rcv.shift) as u16)
    }

    /// Window to advertise now, in octets: whole units of the scale. It is rounded up rather than
    /// shrunk or scaled down to zero. It never exceeds the buffer by more than one unit, as the
    /// window could not close otherwise. If it has to be rounded down, what was advertised before
    /// is still accepted (RFC 7323 section 2.4).
    pub(super) fn window_on_wire(&self) -> u64 {
        let unread = self.receive_buffer.readable();
        let nxt = self.rcv.nxt;
        let edge = RightEdge(self.rcv.edge);
        let edge = self.window.edge(Offset(nxt), edge, Length(unread));
        let wnd = edge.saturating_sub(nxt);
        let shift = self.rcv.shift;
        let units = wnd >> shift;
        let down = units << shift;
        let takes_back = nxt + down < self.rcv.edge && !self.window.may_shrink();
        let says_too_little = takes_back || (units == 0 && wnd > 0);
        let units = if says_too_little && unread + down < self.window.buffer() {
            units + 1
        } else {
            units
        };
        units.min(65_535) << shift
    }

    /// SACK blocks to report. A duplicate comes first (RFC 2883), then held ranges, most recent
    /// first. There are three next to timestamps, else four.
    fn sack_blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if !self.handshake.sack || (self.dsack.is_none() && self.receive_buffer.is_contiguous()) {
            return blocks;
        }
        // Of 40 octets, timestamps occupy 12, an authentication code 16.
        let room = match (self.timestamps.is_some(), self.authentication.is_some()) {
            (false, false) => 4,
            (true, false) => 3,
            (false, true) => 2,
            (true, true) => 1,
        };
        let duplicate = self.dsack.take().map(|range| *range);
        let held = self.receive_buffer.sack_blocks();
        for range in duplicate.into_iter().chain(held).take(room) {
            blocks.try_push(SackBlock {
                left: self.rcv.on_wire(range.start),
                right: self.rcv.on_wire(range.end),
            });
        }
        blocks
    }

    fn window_of_reset(&self) -> u16 {
        if self.transport.profile.closing.reset_without_window {
            return 0;
        }
        (self.rcv.wnd() >> self.rcv.shift).min(65_535) as u16
    }

    pub(super) fn reset_segment(&mut self, now: Instant, reset: Reset) -> Segment<P> {
        let flags = match reset.ack {
            Some(_) => Flags::RST | Flags::ACK,
            None => Flags::RST,
        };
        if self.outbox.wants(EventMask::SEGMENTS) {
            let event = Event::SegmentSent {
                seq: 0,
                len: 0,
                segments: 1,
                flags,
                reason: SendReason::Reset,
            };
            self.outbox.put(EventMask::SEGMENTS, now, event);
        }
        Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq: reset.seq,
            ack: reset.ack.unwrap_or_default(),
            flags,
            // The window is meaningless; a reset with an acknowledgment has one.
            wnd: WireWindow(reset.ack.map_or(0, |_| self.window_of_reset())),
            options: Options {
                // RFC 7323 section 3.2: a reset should carry them too, if they were negotiated.
                timestamps: reset.ack.and(self.timestamps.as_ref()).and_then(|clock| {
                    let agreed = clock.has_begun();
                    agreed.then(|| clock.stamp(now))
                }),
                ..Options::default()
            },
            ..Segment::default()
        }
    }
}
