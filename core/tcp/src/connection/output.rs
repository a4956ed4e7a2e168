//! What may leave now: RFC 9293 sections 3.7.4, 3.8.6.2.1; RFC 5681; RFC 6675
//! section 5 (C).
//!
//! In this order: what is marked lost, new data within both windows, FIN,
//! RFC 6675's rules 3 and 4, a window probe, a bare acknowledgment. Whenever
//! nothing more may leave, exactly one [`Limit`] is the reason and is noted.

use core::ops::Range;

use gigatcp_events::{Event, EventMask, Limit, Phase, SendReason, State};
use gigatcp_units::Instant;
use gigatcp_wire::{Ecn, Flags, Options, Payload, SackBlock, SackBlocks, Segment, WireWindow};

use super::path_mtu::Turn;
use super::repair::EarlyTimer;
use super::{Connection, Reset};

/// What is decided about a segment before it is built.
pub(super) struct Header {
    /// Offset of the first octet.
    pub(super) seq: u64,
    pub(super) flags: Flags,
    pub(super) ecn: Ecn,
    /// Whether an AccECN option fits beside the payload.
    pub(super) has_room: bool,
}

impl<P: Payload> Connection<P> {
    /// The next segment to put on the wire, if there is one. May be a
    /// super-segment (see [`Segment::wire_segments`]).
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment<P>> {
        if self.authentication.is_some() {
            return self.poll_signed(now);
        }
        self.poll_unsigned(now)
    }

    #[inline(never)]
    fn poll_signed(&mut self, now: Instant) -> Option<Segment<P>> {
        let segment = self.poll_unsigned(now)?;
        self.signed(segment)
    }

    fn poll_unsigned(&mut self, now: Instant) -> Option<Segment<P>> {
        if self.reset_due.is_some() || self.ecn.early_ack.is_some() {
            return self.poll_ahead(now);
        }
        match self.state {
            State::Closed | State::Listen => None,
            State::SynSent | State::SynReceived => self.poll_handshake(now),
            State::FinWait2 | State::TimeWait => self.poll_ack(now),
            _ if self.ack.is_due_alone() => self.poll_ack(now),
            _ => self.poll_open(now),
        }
    }

    /// What leaves before anything else: a reset, or an acknowledgment that was
    /// built when its segment arrived.
    #[cold]
    fn poll_ahead(&mut self, now: Instant) -> Option<Segment<P>> {
        match self.reset_due.take() {
            Some(reset) => Some(self.reset_segment(now, reset)),
            None => self.ecn.early_ack.take(),
        }
    }

    /// Data, else a window probe, else an acknowledgment. Tested in turn, and
    /// not chained: each link of a chain would copy the segment.
    #[inline(always)]
    fn poll_open(&mut self, now: Instant) -> Option<Segment<P>> {
        let data = self.poll_data(now);
        if data.is_some() {
            return data;
        }
        if self.probe_due
            && let Some(probe) = self.poll_probe(now)
        {
            return Some(probe);
        }
        self.poll_ack(now)
    }

    #[inline(always)]
    pub(super) fn poll_data(&mut self, now: Instant) -> Option<Segment<P>> {
        self.pacing.pacer.disarm();
        if self.tlp.is_due() {
            return self.poll_tail_probe(now);
        }
        if let Some(may_send) = self.frto.new_data_only() {
            return self.poll_forward(now, may_send);
        }
        if self.board.has_lost() {
            return self.poll_retransmission(now);
        }
        let unsent = self.unsent();
        if unsent == 0 && !self.is_fin_due() {
            return self.poll_beyond_data(now);
        }
        self.poll_new(now, unsent)
    }

    /// Of `unsent` octets and the FIN, what the windows let out.
    #[inline(never)]
    fn poll_new(&mut self, now: Instant, unsent: u64) -> Option<Segment<P>> {
        if self.is_held() {
            self.cwnd_limited = true;
            self.set_limit(now, self.congestion_limit());
            return None;
        }
        let window = self.snd.edge().saturating_sub(self.snd.nxt);
        if window > 0 {
            // Nothing leaves into a closed window, so nothing restarts.
            self.restart_after_idle(now);
        }
        let allowance = self.allowance();
        if self.path.is_act_due(now) && unsent > 0 {
            match self.poll_path_mtu(now, self.unsent_of_record(), allowance, window) {
                Turn::Go => {}
                Turn::Wait => {
                    self.set_limit(now, self.congestion_limit());
                    return None;
                }
                Turn::Probe(probe) => return Some(probe),
            }
        }
        if let Some(most) = self.sendable(unsent, allowance, window) {
            let may_wait = self.profile.tso_win_divisor > 0;
            if may_wait && self.waits_for_more(now, unsent, [allowance, window]) {
                return None;
            }
            if most > 0 && self.is_held_by_pacing(now) {
                return None;
            }
            if self.persist_at != Instant::FAR_FUTURE {
                self.stop_persist();
            }
            let len = if most < u64::from(self.smss) {
                most
            } else {
                self.release_size(most)
            };
            return Some(self.send_new(now, len, self.reason_for_new(len)));
        }
        if self.may_send_unsacked()
            && let Some(segment) = self.poll_unsacked(now)
        {
            return Some(segment);
        }
        self.note_blocked(now, allowance, window, unsent);
        None
    }

    /// The application has closed and FIN was not sent yet. In SYN-RECEIVED it
    /// waits for the handshake.
    #[inline]
    pub(super) fn is_fin_due(&self) -> bool {
        self.fin_wanted && !self.fin_sent && self.state != State::SynReceived
    }

    /// Octets cwnd still allows, or PRR while the window is reduced.
    #[inline]
    fn allowance(&self) -> u64 {
        if let Some(sndcnt) = self.prr.allowance() {
            return sndcnt;
        }
        // Without limited transmit (RFC 3042) the first duplicate ACKs send
        // nothing: what they say has left does not count yet.
        let waits = !self.profile.limited_transmit;
        let in_use = if waits && self.recovery.is_disordered(self.board.sacked()) {
            self.snd.flight_size()
        } else {
            self.board.pipe() + self.board.twice() + self.board.deflated()
        };
        // Of a fast open the SYN-ACK may be in flight, and is no data.
        let in_use = in_use.saturating_sub(u64::from(self.snd.una == 0));
        self.congestion.cwnd().as_u64().saturating_sub(in_use)
    }

    /// How many octets of new data may leave: as many as there are and the
    /// windows let out, but less than a segment only when silly-window avoidance
    /// and Nagle's algorithm (RFC 9293 section 3.8.6.2.1) allow it.
    #[inline]
    fn sendable(&self, unsent: u64, allowance: u64, window: u64) -> Option<u64> {
        let smss = u64::from(self.smss);
        let record = self.unsent_of_record();
        let (is_last, unsent) = (record == unsent, record);
        let usable = allowance.min(window);
        let most = unsent.min(usable);
        if most >= smss {
            return Some(most);
        }
        // A SYN-ACK that is not acknowledged is no data (RFC 9293 section 3.7.4).
        let idle = self.snd.nxt == self.snd.una.max(1);
        if unsent == 0 {
            // FIN alone. It takes a sequence number, hence room in the window.
            return (window > 0).then_some(0);
        }
        if unsent <= usable {
            // The last, partial segment.
            let waits =
                !idle && (!self.profile.nagle_minshall || self.snd.una < self.snd.small_end);
            let waits = waits && is_last;
            let nagle_holds = self.profile.nagle && waits && !self.fin_wanted && !self.is_urgent();
            return (!nagle_holds).then_some(unsent);
        }
        if window >= smss || most == 0 {
            return None;
        }
        // The window itself is smaller than a segment.
        let may_be_small = idle || !self.profile.nagle;
        let worth_it = may_be_small && 2 * most >= self.snd.max_wnd;
        (!self.profile.silly_window_avoidance || worth_it).then_some(most)
    }

    /// Octets not sent yet of the record that comes next.
    #[inline]
    pub(super) fn unsent_of_record(&self) -> u64 {
        let unsent = self.unsent();
        let end = self.send_buffer.records().end_after(self.snd.nxt);
        end.map_or(unsent, |end| unsent.min(end - self.snd.nxt))
    }

    /// Where a segment that begins at `from` ends at the latest.
    #[inline]
    pub(super) fn within_record(&self, from: u64, end: u64) -> u64 {
        let record_end = self.send_buffer.records().end_after(from);
        record_end.map_or(end, |record_end| end.min(record_end))
    }

    /// Notes the one reason why nothing leaves.
    fn note_blocked(&mut self, now: Instant, allowance: u64, window: u64, unsent: u64) {
        if self.pacing.pacer.is_armed() {
            // What recovery would repeat waits for its moment.
            return;
        }
        let smss = u64::from(self.smss);
        let needed = unsent.clamp(1, smss);
        let limit = if window < needed && window <= allowance {
            Limit::ReceiveWindow
        } else if allowance < needed {
            self.cwnd_limited = true;
            self.pacing.window_use.on_filled();
            self.congestion_limit()
        } else {
            // Nagle holds a small segment back until more is written.
            self.idle_limit
        };
        if limit == Limit::ReceiveWindow && (self.snd.flight_size() == 0 || self.snd.wnd == 0) {
            self.arm_persist(now);
        }
        self.set_limit(now, limit);
    }

    pub(super) fn congestion_limit(&self) -> Limit {
        match self.recovery.phase() {
            Phase::Recovery | Phase::Loss | Phase::Cwr => Limit::Recovery,
            _ if self.congestion.is_in_slow_start() => Limit::SlowStart,
            _ => Limit::Avoidance,
        }
    }

    /// What leaves beyond cwnd leaves by limited transmit.
    #[inline]
    fn reason_for_new(&self, len: u64) -> SendReason {
        let beyond = self.recovery.phase() == Phase::Disorder
            && self.snd.flight_size() + len > self.congestion.cwnd().as_u64();
        if beyond {
            SendReason::LimitedTransmit
        } else {
            SendReason::New
        }
    }

    /// Sends `len` octets of new data from SND.NXT, with FIN if they are the
    /// last and the window has room for it. A lone FIN may probe the window.
    pub(super) fn send_new(&mut self, now: Instant, len: u64, reason: SendReason) -> Segment<P> {
        self.send_behind(now, self.snd.nxt, len, reason)
    }

    /// The same in one segment with what was sent before from `from` on.
    pub(super) fn send_behind(
        &mut self,
        now: Instant,
        from: u64,
        len: u64,
        reason: SendReason,
    ) -> Segment<P> {
        let to = self.snd.nxt + len;
        let last = to == self.send_buffer.end();
        let mut flags = Flags::ACK;
        let ends_record = self.send_buffer.records().end_after(from) == Some(to);
        if (last || ends_record) && to > from {
            flags |= Flags::PSH;
        }
        let mut end = to;
        if last && self.is_fin_due() && (to == from || to < self.snd.edge()) {
            flags |= Flags::FIN;
            self.fin_sent = true;
            end += 1;
        }
        self.snd.nxt = end;
        self.board.on_transmit(now, end);
        if len < u64::from(self.smss) {
            self.snd.small_end = to;
        } else {
            self.path.note_full_segment(from + u64::from(self.smss));
        }
        if reason == SendReason::LimitedTransmit {
            self.recovery.on_limited_transmit(len);
        }
        let header = self.depart(now, from..to, flags, reason);
        if self.early_timer == EarlyTimer::Probe && reason != SendReason::TailProbe {
            // RFC 8985 section 7.2: new data puts the probe off.
            self.set_early_timer(now, None, true);
        }
        self.data_segment(now, &header, to - from)
    }

    /// What is marked lost, as far as cwnd allows.
    #[inline(never)]
    fn poll_retransmission(&mut self, now: Instant) -> Option<Segment<P>> {
        let mut lost = self.board.first_lost()?;
        // RFC 9293 SHLD-15, SHLD-16: what lies beyond the right edge, because
        // the peer took its window back, is not sent.
        if lost.end > self.snd.edge() {
            lost.end = self.snd.edge();
            if lost.is_empty() {
                self.note_closed_over_flight(now);
                return None;
            }
        }
        lost.end = self.within_record(lost.start, lost.end);
        let smss = u64::from(self.smss);
        let mut allowance = self.allowance();
        if self.recovery.owes_retransmission() {
            allowance = allowance.max(smss);
        }
        let wanted = lost.end - lost.start;
        if allowance < wanted.min(smss) {
            self.cwnd_limited = true;
            self.pacing.window_use.on_filled();
            self.set_limit(now, Limit::Recovery);
            return None;
        }
        if self.is_held_by_pacing(now) {
            return None;
        }
        let mut len = wanted.min(allowance);
        if len > smss {
            len = self.release_size(len);
        }
        let reason = if self.recovery.is_resegmenting() {
            SendReason::Resegmented
        } else if self.recovery.phase() == Phase::Loss {
            SendReason::Timeout
        } else {
            SendReason::FastRetransmit
        };
        if self.is_lone_probe(&lost) {
            return Some(self.resend_with_more(now, lost, allowance, reason));
        }
        Some(self.resend(now, lost.start..lost.start + len, reason))
    }

    /// Everything inside the window that is marked lost has been sent again,
    /// and the rest waits for the window. Where it is closed, probes ask for it
    /// (RFC 9293 MUST-35); where it is open, what is in flight inside it has the
    /// retransmission timer.
    fn note_closed_over_flight(&mut self, now: Instant) {
        if self.snd.wnd == 0 {
            self.arm_persist(now);
        }
        self.set_limit(now, Limit::ReceiveWindow);
    }

    /// RFC 5682 section 2.1 step 2: new data in place of what is marked lost,
    /// up to `may_send` octets whatever cwnd says.
    fn poll_forward(&mut self, now: Instant, may_send: u64) -> Option<Segment<P>> {
        let window = self.snd.edge().saturating_sub(self.snd.nxt);
        let len = self.unsent_of_record().min(window).min(may_send);
        let len = len.min(u64::from(self.smss));
        if len == 0 {
            self.set_limit(now, Limit::Recovery);
            return None;
        }
        self.frto.on_sent(len);
        Some(self.send_new(now, len, SendReason::New))
    }

    /// Sends octets again that were sent before.
    pub(super) fn resend(
        &mut self,
        now: Instant,
        range: Range<u64>,
        reason: SendReason,
    ) -> Segment<P> {
        self.board.on_retransmit(now, range.clone());
        let data_end = range.end.min(self.send_buffer.end());
        if reason != SendReason::TailProbe {
            self.recovery.on_retransmit(data_end - range.start);
            self.note_retransmission(now, range.start);
        }
        let mut flags = Flags::ACK;
        if range.end > data_end {
            flags |= Flags::FIN;
        }
        let record_end = self.send_buffer.records().end_after(range.start);
        let is_end = data_end == self.send_buffer.end() || record_end == Some(data_end);
        if is_end && data_end > range.start {
            flags |= Flags::PSH;
        }
        let segments = (data_end - range.start)
            .div_ceil(u64::from(self.smss))
            .max(1);
        self.counters.retransmitted_segments += segments;
        if matches!(reason, SendReason::FastRetransmit | SendReason::Rescue) {
            self.counters.fast_retransmits += segments;
        }
        if reason == SendReason::Timeout {
            self.counters.timeout_retransmits += segments;
        }
        self.send(now, range.start..data_end, flags, reason)
    }

    #[inline]
    fn may_send_unsacked(&self) -> bool {
        self.sack && self.recovery.phase() == Phase::Recovery
    }

    /// Nothing is lost, and nothing new can leave: what RFC 6675 `NextSeg` may
    /// still send in recovery (rules 3 and 4).
    fn poll_unsacked(&mut self, now: Instant) -> Option<Segment<P>> {
        let smss = u64::from(self.smss);
        if self.allowance() < smss {
            return None;
        }
        // With RACK what may only be late is not sent (rule 3 would).
        if !self.profile.rack
            && let Some(range) = self.board.first_unsacked_candidate()
        {
            if self.is_held_by_pacing(now) {
                return None;
            }
            let end = range.end.min(range.start + smss).min(self.snd.edge());
            let end = self.within_record(range.start, end);
            if end <= range.start {
                return None;
            }
            return Some(self.resend(now, range.start..end, SendReason::Rescue));
        }
        if self.profile.rescue_retransmission
            && self.recovery.may_rescue()
            && let Some(range) = self.board.last_unsacked(self.smss)
            && range.end <= self.snd.edge()
        {
            if self.is_held_by_pacing(now) {
                return None;
            }
            self.recovery.on_rescue();
            let data_end = range.end.min(self.send_buffer.end());
            let record = self.send_buffer.records().start_before(data_end);
            let range = range.start.max(record)..range.end;
            return Some(self.resend(now, range, SendReason::Rescue));
        }
        None
    }

    /// Nothing is lost and nothing new waits.
    #[inline(always)]
    fn poll_beyond_data(&mut self, now: Instant) -> Option<Segment<P>> {
        if self.may_send_unsacked()
            && let Some(segment) = self.poll_unsacked(now)
        {
            return Some(segment);
        }
        if self.pacing.pacer.is_armed() {
            return None;
        }
        self.board.note_app_limited();
        let repairing = matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss);
        let limit = if repairing {
            Limit::Recovery
        } else if self.write_blocked {
            Limit::SendBuffer
        } else {
            self.idle_limit
        };
        self.set_limit(now, limit);
        None
    }

    /// An acknowledgment alone, if one is due.
    #[inline]
    pub(super) fn poll_ack(&mut self, now: Instant) -> Option<Segment<P>> {
        self.ack.is_due().then(|| self.bare_ack(now))
    }

    fn bare_ack(&mut self, now: Instant) -> Segment<P> {
        self.counters.acks_sent += 1;
        let mut seq = self.snd.acceptable();
        if self.liveness.take_probe() {
            seq = self.snd.nxt - 1;
        }
        let forgets = self.profile.time_wait_forgets_ecn && self.state == State::TimeWait;
        let counter = match forgets {
            true => Flags::NONE,
            false => self.ecn.flags_of_ack(),
        };
        let header = Header {
            seq,
            flags: Flags::ACK | counter,
            ecn: ect_if(self.ecn.sends_ect_everywhere()),
            has_room: !forgets,
        };
        if !self.patience.tells() {
            return self.segment(now, &header, P::default());
        }
        let mut segment = self.segment(now, &header, P::default());
        self.tell_user_timeout(&mut segment.options);
        segment
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

    /// The bookkeeping of a segment with data (or FIN).
    fn depart(
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
            _ => len.div_ceil(u64::from(self.smss)),
        };
        self.counters.data_segments_sent += segments;
        self.last_sent_at = now;
        self.prr.on_sent(len);
        self.on_released(now, len);
        // RFC 6298 section 5 (5.1). While probing, the persist timer rules.
        if self.retransmit_at == Instant::FAR_FUTURE && reason != SendReason::WindowProbe {
            self.retransmit_at = now + self.rtt.rto();
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
            // A FIN takes the number behind its data.
            self.ecn.on_plain_data(range.end + 1);
        }
        Header {
            seq: range.start,
            flags,
            ecn: ect_if(ect),
            has_room: self.has_room_for_accecn(range.start, len, fresh),
        }
    }

    fn data_segment(&mut self, now: Instant, header: &Header, len: u64) -> Segment<P> {
        let payload = self.send_buffer.slice(header.seq, header.seq + len);
        self.segment(now, header, payload)
    }

    /// A segment of the open connection. What few have is put on afterwards, so
    /// that all others are built where they are wanted, without a copy.
    #[inline(always)]
    pub(super) fn segment(&mut self, now: Instant, header: &Header, payload: P) -> Segment<P> {
        let has_mark = self.urgent.snd_up > header.seq;
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

    /// Header fields, options, and the acknowledgment it carries.
    #[inline(never)]
    fn plain_segment(&mut self, now: Instant, header: &Header, payload: P) -> Segment<P> {
        let sack = if payload.is_empty() {
            self.sack_blocks()
        } else {
            // Data segments carry no SACK blocks: they would not fit beside
            // a full segment. The bare ACK that follows does.
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
            ace: false,
            options: Options {
                timestamps: self.timestamps.as_ref().map(|clock| clock.stamp(now)),
                sack,
                ..Options::default()
            },
            payload,
        }
    }

    /// Moves the right edge as far as the buffer allows and gives the window
    /// field.
    fn advertise(&mut self) -> WireWindow {
        let wnd = self.window_on_wire();
        self.rcv.told = self.rcv.nxt + wnd;
        self.rcv.edge = self.rcv.edge.max(self.rcv.told);
        self.rcv.last_wnd = self.rcv.wnd();
        WireWindow((wnd >> self.rcv.shift) as u16)
    }

    /// The window to offer now, in octets: whole units of the scale. It is
    /// rounded up rather than shrunk or scaled away to nothing, but never more
    /// than one unit beyond the buffer: rounding up for ever would never close
    /// the window. Where it has to be rounded down, what was offered before is
    /// still accepted (RFC 7323 section 2.4).
    pub(super) fn window_on_wire(&self) -> u64 {
        let unread = self.receive_buffer.readable();
        let nxt = self.rcv.nxt;
        let edge = self.window.edge(nxt, self.rcv.edge, unread);
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

    /// The blocks to report: a duplicate first (RFC 2883), then what is held,
    /// most recent first; three beside timestamps, else four.
    fn sack_blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if !self.sack {
            return blocks;
        }
        // Of 40 octets timestamps take 12, an authentication code 16.
        let room = match (self.timestamps.is_some(), self.authentication.is_some()) {
            (false, false) => 4,
            (true, false) => 3,
            (false, true) => 2,
            (true, true) => 1,
        };
        let duplicate = self.dsack.take();
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
        (self.rcv.wnd() >> self.rcv.shift).min(65_535) as u16
    }

    fn reset_segment(&mut self, now: Instant, reset: Reset) -> Segment<P> {
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
            // The window says nothing any more; an acknowledgment has one.
            wnd: WireWindow(reset.ack.map_or(0, |_| self.window_of_reset())),
            options: Options {
                // RFC 7323 section 3.2: a reset should carry them too, where
                // they were agreed on.
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

const fn ect_if(is_ect: bool) -> Ecn {
    if is_ect { Ecn::Ect0 } else { Ecn::NotEct }
}
