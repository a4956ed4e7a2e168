//! Decides what may be sent now: RFC 9293 sections 3.7.4, 3.8.6.2.1; RFC 5681; RFC 6675 section 5
//! (C).
//!
//! The order: data marked lost, new data within both windows, FIN, RFC 6675's rules 3 and 4, a
//! window probe, a bare acknowledgment. When nothing more may leave, exactly one [`Limit`] is
//! noted as the reason.

use core::ops::Range;

use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment};

use super::Connection;
use super::loss_recovery::EarlyTimer;
use super::path_mtu::ProbeDecision;
use crate::events::{Limit, Phase, SendReason, State};
use crate::space::{Length, Offset, Usable};

/// Conditions that decide the current [`Limit`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiting {
    /// The application had more to write than fitted.
    pub write_blocked: bool,
    /// Limit to report when no written data is left to send.
    pub idle_limit: Limit,
    /// cwnd, not the receive window or the application, stopped the last output.
    pub cwnd_limited: bool,
    /// More data of the last write call follows.
    pub more_to_come: bool,
}

impl Limiting {
    /// State before any write.
    pub(super) const fn new() -> Self {
        Self {
            write_blocked: false,
            idle_limit: Limit::Application,
            cwnd_limited: false,
            more_to_come: false,
        }
    }
}

impl<P: Payload> Connection<P> {
    /// Next segment to send, if any. It may be a super-segment (see
    /// [`Segment::into_wire_segments`]).
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment<P>> {
        self.assert_invariants();
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
        if self.closing.reset_due.is_some() || self.ecn.early_ack.is_some() {
            return self.poll_ahead(now);
        }
        match self.state {
            // The usual state first.
            State::Established if !self.ack.is_due_alone() => self.poll_open(now),
            State::Closed | State::Listen => None,
            State::SynSent | State::SynReceived => self.poll_handshake(now),
            State::FinWait2 | State::TimeWait => self.poll_ack(now),
            _ if self.ack.is_due_alone() => self.poll_ack(now),
            _ => self.poll_open(now),
        }
    }

    /// What precedes all else: a reset, or an acknowledgment built when its segment arrived.
    #[cold]
    fn poll_ahead(&mut self, now: Instant) -> Option<Segment<P>> {
        match self.closing.reset_due.take() {
            Some(reset) => Some(self.reset_segment(now, reset)),
            None => self.ecn.early_ack.take().map(|ack| *ack),
        }
    }

    /// Data, else a window probe, else an acknowledgment. Tested in turn and not chained: each link
    /// of a chain would copy the segment.
    #[inline(always)]
    fn poll_open(&mut self, now: Instant) -> Option<Segment<P>> {
        let data = self.poll_data(now);
        if data.is_some() {
            return data;
        }
        if self.timers.probe_due
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
            if self.snd.flight_size() > 0 {
                return Some(self.poll_tail_probe(now));
            }
            // All was acknowledged before the probe could leave.
            self.tlp.cancel();
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

    /// A segment of `unsent` octets and the FIN, as the windows allow.
    #[inline(never)]
    fn poll_new(&mut self, now: Instant, unsent: u64) -> Option<Segment<P>> {
        if self.is_held() {
            self.limiting.cwnd_limited = true;
            self.set_limit(now, self.congestion_limit());
            return None;
        }
        let window = self.snd.edge().saturating_sub(self.snd.nxt);
        if window > 0 {
            // Nothing leaves into a closed window, so nothing restarts.
            self.restart_after_idle(now);
        }
        let usable = Usable {
            allowance: self.allowance(),
            window,
        };
        if self.path.is_act_due(now) && unsent > 0 {
            match self.poll_path_mtu(now, Length(self.unsent_of_record()), usable) {
                ProbeDecision::Go => {}
                ProbeDecision::Wait => {
                    self.set_limit(now, self.congestion_limit());
                    return None;
                }
                ProbeDecision::Probe(probe) => return Some(probe),
            }
        }
        if let Some(most) = self.sendable(Length(unsent), usable) {
            let may_wait = self.transport.profile.segments.tso_win_divisor > 0;
            if may_wait && self.waits_for_more(now, Length(unsent), usable) {
                return None;
            }
            if most > 0 && self.is_held_by_pacing(now) {
                return None;
            }
            if self.timers.persist_at != Instant::FAR_FUTURE {
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
        self.note_blocked(now, Length(unsent), usable);
        None
    }

    /// Whether the application has closed and the FIN was not sent. In SYN-RECEIVED the FIN waits
    /// for the handshake.
    #[inline]
    pub(super) fn is_fin_due(&self) -> bool {
        self.closing.fin_wanted && !self.closing.fin_sent && self.state != State::SynReceived
    }

    /// Octets that cwnd allows, or PRR while the window is being reduced.
    #[inline]
    fn allowance(&self) -> u64 {
        if let Some(sndcnt) = self.prr.allowance() {
            return sndcnt;
        }
        // Without limited transmit (RFC 3042) the first duplicate ACKs release nothing: SACKed
        // data still counts as in flight.
        let waits = !self.transport.profile.recovery.limited_transmit;
        let in_use = if waits && self.recovery.is_disordered(self.board.sacked()) {
            self.snd.flight_size()
        } else {
            self.board.in_flight() + self.board.deflated()
        };
        // In a fast open the SYN-ACK may be in flight, which is not data.
        let in_use = in_use.saturating_sub(u64::from(self.snd.una == 0));
        self.congestion.cwnd().as_u64().saturating_sub(in_use)
    }

    /// Octets of new data that may leave: as many as exist and the windows allow. Less than a
    /// segment only if silly-window avoidance and Nagle's algorithm (RFC 9293 section 3.8.6.2.1)
    /// allow it.
    #[inline]
    fn sendable(
        &self,
        Length(unsent): Length,
        Usable { allowance, window }: Usable,
    ) -> Option<u64> {
        let smss = u64::from(self.smss);
        let record = self.unsent_of_record();
        let (is_last, unsent) = (record == unsent, record);
        let usable = allowance.min(window);
        let most = unsent.min(usable);
        if most >= smss {
            return Some(most);
        }
        // An unacknowledged SYN-ACK is not data (RFC 9293 section 3.7.4).
        let idle = self.snd.nxt == self.snd.una.max(1);
        if unsent == 0 {
            // A FIN alone. It requires a sequence number inside the window.
            return (window > 0).then_some(0);
        }
        if unsent <= usable {
            // The last, partial segment.
            let waits = !idle
                && (!self.transport.profile.segments.nagle_minshall
                    || self.snd.una < self.snd.small_end);
            let waits = waits && is_last;
            let nagle_holds = self.transport.profile.segments.nagle
                && waits
                && !self.closing.fin_wanted
                && !self.is_urgent();
            let holds =
                nagle_holds || (self.limiting.more_to_come && is_last && !self.closing.fin_wanted);
            return (!holds || self.is_half_window(unsent)).then_some(unsent);
        }
        if window >= smss || most == 0 {
            return None;
        }
        // The receive window itself is smaller than a segment.
        let may_be_small = idle || !self.transport.profile.segments.nagle;
        let worth_it = may_be_small && 2 * most >= self.snd.max_wnd;
        (!self.transport.profile.segments.silly_window_avoidance || worth_it).then_some(most)
    }

    /// Whether `octets` may leave by the rule `half_window_leaves`.
    fn is_half_window(&self, octets: u64) -> bool {
        self.transport.profile.segments.half_window_leaves && 2 * octets >= self.snd.max_wnd
    }

    /// Unsent octets of the next record.
    #[inline]
    pub(super) fn unsent_of_record(&self) -> u64 {
        let unsent = self.unsent();
        let end = self.send_buffer.records().end_after(self.snd.nxt);
        end.map_or(unsent, |end| unsent.min(end - self.snd.nxt))
    }

    /// End of a segment of `octets`: their end or that of the first one's record.
    #[inline]
    pub(super) fn within_record(&self, octets: Range<u64>) -> u64 {
        let record_end = self.send_buffer.records().end_after(octets.start);
        record_end.map_or(octets.end, |record_end| octets.end.min(record_end))
    }

    /// Notes the reason nothing leaves.
    fn note_blocked(
        &mut self,
        now: Instant,
        Length(unsent): Length,
        Usable { allowance, window }: Usable,
    ) {
        if self.pacing.pacer.is_armed() {
            // Pacing delays a retransmission of recovery.
            return;
        }
        let smss = u64::from(self.smss);
        let needed = unsent.clamp(1, smss);
        // Where both are used up it is cwnd (Linux `tcp_write_xmit` asks for it first).
        let limit = if window < needed && window < allowance {
            Limit::ReceiveWindow
        } else if allowance < needed {
            self.limiting.cwnd_limited = true;
            self.pacing.window_use.on_filled();
            self.congestion_limit()
        } else {
            // Nagle holds a small segment back until more is written.
            self.limiting.idle_limit
        };
        let is_closed = window < needed && window <= allowance;
        if is_closed && (self.snd.flight_size() == 0 || self.snd.wnd == 0) {
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

    /// Reason of a new segment: data beyond cwnd leaves by limited transmit.
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

    /// Sends `len` octets of new data from SND.NXT. A FIN is added if they are the last and it
    /// fits the window. A lone FIN may probe the window.
    pub(super) fn send_new(&mut self, now: Instant, len: u64, reason: SendReason) -> Segment<P> {
        self.send_behind(now, Offset(self.snd.nxt), Length(len), reason)
    }

    /// Sends `len` new octets in one segment with data retransmitted from `from` on.
    pub(super) fn send_behind(
        &mut self,
        now: Instant,
        Offset(from): Offset,
        Length(len): Length,
        reason: SendReason,
    ) -> Segment<P> {
        let to = self.snd.nxt + len;
        let last = to == self.send_buffer.end();
        let mut flags = Flags::ACK;
        let ends_record = || self.send_buffer.records().end_after(from) == Some(to);
        if to > from && (last || ends_record()) {
            flags |= Flags::PSH;
        }
        let mut end = to;
        if last && self.is_fin_due() && (to == from || to < self.snd.edge()) {
            flags |= Flags::FIN;
            self.closing.fin_sent = true;
            end += 1;
        }
        self.snd.nxt = end;
        if let Some(memory) = &mut self.buffers.send_memory {
            memory.on_sent(to);
        }
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
        if self.timers.early_timer == EarlyTimer::Probe && reason != SendReason::TailProbe {
            // RFC 8985 section 7.2: new data postpones the probe.
            self.set_early_timer(now, None, true);
        }
        self.data_segment(now, &header, to - from)
    }

    /// Retransmits data marked lost, as far as cwnd allows.
    #[inline(never)]
    fn poll_retransmission(&mut self, now: Instant) -> Option<Segment<P>> {
        let mut lost = self.board.first_lost()?;
        // RFC 9293 SHLD-15, SHLD-16: data beyond the right edge is not sent, after the peer
        // retracted its window.
        if lost.end > self.snd.edge() {
            lost.end = self.snd.edge();
            if lost.is_empty() {
                self.note_closed_over_flight(now);
                return None;
            }
        }
        lost.end = self.within_record(lost.clone());
        let smss = u64::from(self.smss);
        let mut allowance = self.allowance();
        if self.recovery.owes_retransmission() {
            allowance = allowance.max(smss);
        }
        let wanted = lost.end - lost.start;
        if allowance < wanted.min(smss) {
            self.limiting.cwnd_limited = true;
            self.pacing.window_use.on_filled();
            self.set_limit(now, Limit::Recovery);
            return None;
        }
        // A timeout's own retransmission is not paced (Linux `tcp_retransmit_timer`): at the low rate
        // of a starved model the timer would run out again before it leaves.
        let of_timer = self.recovery.owes_retransmission() && self.timers.timeouts_in_a_row > 0;
        if !of_timer && self.is_held_by_pacing(now) {
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

    /// Notes that only data outside the window is left to retransmit. A closed window is probed
    /// (RFC 9293 MUST-35); in an open one, data in flight has the retransmission timer.
    fn note_closed_over_flight(&mut self, now: Instant) {
        if self.snd.wnd == 0 {
            self.arm_persist(now);
        }
        self.set_limit(now, Limit::ReceiveWindow);
    }

    /// Sends new data in place of data marked lost (RFC 5682 section 2.1 step 2). Up to `may_send`
    /// octets, whatever cwnd allows.
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

    /// Retransmits a range of octets.
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
        self.handshake.sack && self.recovery.phase() == Phase::Recovery
    }

    /// Retransmits by rules 3 and 4 of RFC 6675 `NextSeg` in recovery. Called when nothing is lost
    /// and nothing new can leave.
    fn poll_unsacked(&mut self, now: Instant) -> Option<Segment<P>> {
        let smss = u64::from(self.smss);
        if self.allowance() < smss {
            return None;
        }
        // With RACK, possibly late data is not sent (rule 3 would).
        if !self.transport.profile.recovery.rack
            && let Some(range) = self.board.first_unsacked_candidate()
        {
            if self.is_held_by_pacing(now) {
                return None;
            }
            let end = range.end.min(range.start + smss).min(self.snd.edge());
            let end = self.within_record(range.start..end);
            if end <= range.start {
                return None;
            }
            return Some(self.resend(now, range.start..end, SendReason::Rescue));
        }
        if self.transport.profile.recovery.rescue_retransmission
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

    /// Handles the case of no lost and no new data.
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
        // If packets count, writes look for it.
        if self.buffers.send_memory.is_none() {
            self.note_app_limit();
        }
        let repairing = matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss);
        let limit = if repairing {
            Limit::Recovery
        } else if self.limiting.write_blocked {
            Limit::SendBuffer
        } else {
            self.limiting.idle_limit
        };
        self.set_limit(now, limit);
        None
    }

    /// Notes that more could leave than was written, if cwnd has space
    /// (draft-ietf-ccwg-bbr, `CheckIfApplicationLimited`).
    #[inline]
    pub(super) fn note_app_limit(&mut self) {
        let in_flight = self.board.in_flight();
        if in_flight == 0 || in_flight < self.congestion.cwnd().as_u64() {
            self.board.note_app_limited();
        }
    }

    /// A bare acknowledgment, if one is due.
    #[inline]
    pub(super) fn poll_ack(&mut self, now: Instant) -> Option<Segment<P>> {
        self.ack.is_due().then(|| self.bare_ack(now))
    }
}
