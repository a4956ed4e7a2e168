//! The ACK field: RFC 9293 section 3.10.7.4 fifth; RFC 5681, 6675, 7323.
//!
//! One pass per acknowledgment: window update, SACK blocks, cumulative acknowledgment, RTT sample,
//! loss detection, congestion control, timers. Nothing here iterates over the window.

use core::ops::Range;

use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Payload, Segment};

use super::Connection;
use super::ecn::{CongestionReport, ReportEffect};
use crate::congestion::{Ack, RateSample};
use crate::ecn::Marked;
use crate::events::{CwndCause, Event, EventMask, Phase, State};
use crate::recovery::LossDetection;
use crate::scoreboard::Revealed;
use crate::space::{Offset, Window};

/// Information from one acknowledgment, besides what it revealed about the flight.
#[derive(Clone, Copy, Debug)]
struct AckSummary {
    /// `pipe` before the acknowledgment.
    prior_in_flight: u64,
    rtt: Option<Duration>,
    rate: Option<RateSample>,
    /// Octets newly marked lost.
    lost: u64,
    /// Newly reported as marked by the network.
    marked: Marked,
    /// The window is at its minimum and congestion was notified. Acknowledged data does not open
    /// it (RFC 3168 section 6.1.2).
    held: bool,
    /// Acknowledged octets that may open the window.
    opening: u64,
}

impl<P: Payload> Connection<P> {
    /// Processes the acknowledgment `ack`, a stream offset. Returns whether to process the rest of
    /// the segment.
    pub(super) fn handle_ack(
        &mut self,
        now: Instant,
        received_at: Instant,
        ack: u64,
        segment: &Segment<P>,
    ) -> bool {
        if ack > self.snd.nxt {
            // It acknowledges data never sent (RFC 9293 section 3.10.7.4 fifth, RFC 5961 section
            // 5.2).
            self.challenge(now);
            return false;
        }
        if ack < self.snd.una {
            // Older than SND.UNA.
            if self.is_ack_impossible(ack) {
                self.challenge(now);
                return false;
            }
            self.process_overtaken_ack(now, received_at, ack, segment);
            return true;
        }
        self.liveness.on_heard(now);
        if self.state == State::TimeWait {
            return true;
        }
        let wnd = u64::from(segment.wnd.0) << self.snd.shift;
        let duplicate = self.is_duplicate_ack(Offset(ack), Window(wnd), segment);
        self.update_window(now, Offset(ack), Window(wnd), segment);
        if self.snd.una == self.snd.nxt {
            // A retransmission may still be reported as received twice.
            let mut revealed = Revealed::default();
            self.take_sack_blocks(now, ack, segment, &mut revealed);
            if self.tlp.is_outstanding() {
                let bare = segment.seq_len() == 0 && segment.options.sack.is_empty();
                self.account_for_probe(now, ack, bare, &revealed);
            }
            return true;
        }
        self.process_ack_info(now, received_at, ack, duplicate, segment);
        true
    }

    /// Whether an ACK is a duplicate by RFC 5681 section 2. The conditions: (a) data is
    /// outstanding, (b) no data, (c) no SYN or FIN, (d) nothing new is acknowledged, (e) the
    /// window is the same. Also, the window must be open: otherwise this answers a probe.
    fn is_duplicate_ack(
        &self,
        Offset(ack): Offset,
        Window(wnd): Window,
        segment: &Segment<P>,
    ) -> bool {
        ack == self.snd.una
            && self.snd.una < self.snd.nxt
            && segment.seq_len() == 0
            && wnd == self.snd.wnd
            && wnd > 0
    }

    /// Updates SND.WND from the newest segment (SND.WL1, SND.WL2). A retransmission with an old
    /// SEG.SEQ and a new SEG.ACK also counts as the newest. SND.WND counts from SND.UNA and must
    /// follow it.
    fn update_window(
        &mut self,
        now: Instant,
        Offset(ack): Offset,
        Window(wnd): Window,
        segment: &Segment<P>,
    ) {
        let seq = self.rcv.offset_of(segment.seq).unwrap_or(0);
        let newer = ack > self.snd.una
            || self.snd.wl1 < seq
            || (self.snd.wl1 == seq && self.snd.wl2 <= ack);
        if !newer {
            return;
        }
        let was_closed = self.snd.wnd == 0;
        self.snd.wnd = wnd;
        self.snd.wl1 = self.snd.wl1.max(seq);
        self.snd.wl2 = ack;
        self.snd.max_wnd = self.snd.max_wnd.max(wnd);
        // The peer answers, so it is alive: probing may continue indefinitely (RFC 9293 MUST-37).
        if wnd == 0 {
            self.timers.timeouts_in_a_row = 0;
        } else if was_closed {
            self.leave_persist(now, ack);
        }
    }

    /// Processes an acknowledgment that others overtook. It acknowledges nothing and its window is
    /// old. Its SACK and D-SACK blocks may still be new: RFC 6675 section 5 accepts any
    /// acknowledgment with SACK information (Linux `tcp_ack`, `old_ack`).
    fn process_overtaken_ack(
        &mut self,
        now: Instant,
        received_at: Instant,
        ack: u64,
        segment: &Segment<P>,
    ) {
        if !self.handshake.sack || segment.options.sack.is_empty() {
            return;
        }
        if self.snd.una == self.snd.nxt {
            self.take_sack_blocks(now, ack, segment, &mut Revealed::default());
        } else {
            self.process_ack_info(now, received_at, ack, false, segment);
        }
    }

    /// Processes everything the acknowledgment reports about data in flight.
    fn process_ack_info(
        &mut self,
        now: Instant,
        received_at: Instant,
        ack: u64,
        duplicate: bool,
        segment: &Segment<P>,
    ) {
        let prior_in_flight = self.board.pipe();
        let credit = self.board.duplicate_credit();
        let mut revealed = self.board.begin_ack();
        let is_late = ack < self.snd.una;
        if ack > self.snd.una {
            self.advance_una(ack, &mut revealed);
        }
        self.take_sack_blocks(now, ack, segment, &mut revealed);
        let rtt = self.measure_rtt(now, received_at, &revealed, segment);
        let mut rate = self.board.finish_ack(now, &revealed);
        if let Some(sample) = &mut rate {
            sample.ack_delayed = is_probably_delayed(&revealed, self.smss);
            self.note_delivery(sample);
        }
        if self.tlp.is_outstanding() {
            let bare = duplicate && segment.options.sack.is_empty();
            self.account_for_probe(now, ack, bare, &revealed);
        }
        // RFC 6675 section 2: with SACK, an ACK with new SACK information is a duplicate, whatever
        // else the segment carries.
        let duplicate = if self.handshake.sack {
            revealed.sacked > 0
        } else {
            duplicate
        };
        if duplicate {
            self.counters.duplicate_acks_received += 1;
        }
        let mut detection = self.detect_losses(now, received_at, &revealed, duplicate, segment);
        if detection.congestion.is_some() {
            detection = self.excuse_probe(now, detection);
        }
        self.apply_loss_detection(now, &detection, revealed.acked);
        let report = if is_late {
            // Its mark counts are as old as its SEG.ACK (RFC 9768 appendix A.1).
            CongestionReport::default()
        } else {
            self.process_ecn_feedback(now, segment, &revealed)
        };
        let answer = self.apply_congestion_report(now, &report, &revealed);
        if self.recovery.phase() != Phase::Open || self.prr.allowance().is_some() {
            let begins = detection.congestion.is_some() || answer == ReportEffect::Reduced;
            self.follow_reduction(&revealed, &detection, credit, begins);
        }
        let summary = AckSummary {
            prior_in_flight,
            rtt,
            rate,
            lost: detection.lost.map_or(0, |(_, octets, _)| octets),
            marked: report.marked,
            held: answer == ReportEffect::Held,
            opening: self.opening_octets(&revealed, credit),
        };
        self.notify_congestion_control(now, &revealed, &summary);
        if self.is_quick_starting() || self.resume.is_some() {
            self.follow_fast_start(now, &revealed);
        }
        if revealed.acked > 0 {
            self.on_una_advanced(now, ack, detection.keeps_timer, revealed.retransmitted);
        }
        self.set_early_timer(now, detection.look_again, revealed.acked > 0);
        if self.outbox.wants(EventMask::SEGMENTS) {
            let event = Event::AckReceived {
                ack,
                acked: revealed.acked,
                sacked: revealed.sacked,
                wnd: self.snd.wnd,
                duplicate,
            };
            self.outbox.put(EventMask::SEGMENTS, now, event);
        }
    }

    /// Advances a Quick-Start or a Careful Resume.
    #[cold]
    fn follow_fast_start(&mut self, now: Instant, revealed: &Revealed) {
        if self.is_quick_starting() && revealed.acked > 0 {
            self.follow_quick_start(now);
        }
        self.follow_resume(now, revealed);
    }

    /// Updates everything that waited for SND.UNA to reach `ack`. That is the retransmission
    /// timer, octets kept for retransmission, an MTU probe, our FIN.
    #[inline]
    fn on_una_advanced(&mut self, now: Instant, ack: u64, keeps_timer: bool, retransmitted: bool) {
        self.timers.timeouts_in_a_row = 0;
        if !keeps_timer {
            self.restart_retransmit_timer(now);
        }
        self.send_buffer.release(ack);
        if let Some(memory) = &mut self.buffers.send_memory {
            memory.release(ack);
        }
        if ack >= self.path.probe_end() {
            self.on_probe_covered(now, retransmitted);
        }
        self.on_fin_acknowledged(now);
    }

    /// Octets that may open the window. These are all that are acknowledged (RFC 3465 section 2.1),
    /// or all that are newly known to be delivered (Linux `tcp_may_raise_cwnd`): of an ACK that
    /// only reports data above a gap, once that was seen to overtake more than `DupThresh`
    /// segments.
    #[inline]
    fn opening_octets(&self, revealed: &Revealed, credit: u64) -> u64 {
        if !self.transport.profile.congestion.growth_by_delivery {
            return revealed.acked;
        }
        let smss = u64::from(self.smss);
        if !self.handshake.sack {
            // Each duplicate acknowledgment stood for a segment.
            return revealed.acked - credit.min(revealed.acked.saturating_sub(smss));
        }
        let usual = u64::from(self.transport.profile.recovery.dup_thresh) * smss;
        if revealed.acked > 0 || self.rack.reordering_extent() > usual {
            revealed.delivered()
        } else {
            0
        }
    }

    fn advance_una(&mut self, ack: u64, revealed: &mut Revealed) {
        self.board.on_ack(ack, revealed);
        self.snd.una = ack;
    }

    /// Processes the SACK blocks (RFC 2018). The first may report a duplicate (RFC 2883 section
    /// 4).
    fn take_sack_blocks(
        &mut self,
        now: Instant,
        ack: u64,
        segment: &Segment<P>,
        revealed: &mut Revealed,
    ) {
        if !self.handshake.sack || segment.options.sack.is_empty() {
            return;
        }
        let offset = |seq| self.snd.offset_of(seq);
        let blocks = segment.options.sack.as_slice().iter();
        let blocks: [Option<(u64, u64)>; 4] = {
            let mut all = [None; 4];
            for (slot, block) in all.iter_mut().zip(blocks) {
                *slot = offset(block.left).zip(offset(block.right));
            }
            all
        };
        let mut usable = blocks.as_slice();
        if let Some((left, right)) = blocks[0]
            && left < right
            && is_duplicate_report((left, right), ack, blocks[1])
        {
            usable = &blocks[1..];
            self.take_duplicate_report(now, left..right, revealed);
        }
        for (left, right) in usable.iter().flatten().copied() {
            // Blocks outside what is in flight are false or old duplicates.
            let inside = left < right && right <= self.snd.nxt && right > self.snd.una;
            if inside {
                let block = left.max(self.snd.una)..right;
                if let Some(memory) = &mut self.buffers.send_memory {
                    let joins = self.board.joins(block.clone());
                    joins.for_each(|octets| memory.on_sacked(octets));
                }
                self.board.on_sack(block, revealed);
            }
        }
    }

    /// Processes a D-SACK. When every retransmission of the recovery episode proves spurious, the
    /// reduction is undone.
    fn take_duplicate_report(&mut self, now: Instant, octets: Range<u64>, revealed: &mut Revealed) {
        self.counters.dsacks_received += 1;
        revealed.duplicate_end = Some(octets.end);
        // More reports than retransmissions: the network duplicates packets.
        if self.counters.dsacks_received <= self.counters.retransmitted_segments {
            let segments = (octets.end - octets.start).div_ceil(u64::from(self.smss));
            self.counters.spurious_retransmits += segments;
            revealed.repeated_in_vain = !self.tlp.is_probe_end(octets.end);
        }
        if !self.transport.profile.recovery.dsack_undo || !self.recovery.on_duplicate_report(octets)
        {
            return;
        }
        self.undo_reduction(now);
    }

    /// Takes an RTT sample from the send time of the acknowledged data. If any of it was
    /// retransmitted, the rest waited at the receiver until the gap was filled. The sample then
    /// comes from newly SACKed data, which is reported on arrival, or from the timestamp echo.
    fn measure_rtt(
        &mut self,
        now: Instant,
        received_at: Instant,
        revealed: &Revealed,
        segment: &Segment<P>,
    ) -> Option<Duration> {
        if let Some(sent_at) = revealed.oldest_sent_at
            && !revealed.retransmitted
        {
            self.take_rtt(now, received_at.saturating_since(sent_at));
            let newest = revealed
                .newest_sent_at
                .map(|sent_at| received_at.saturating_since(sent_at))?;
            // It waited less than the oldest, from which the sample is taken.
            self.min_rtt.on_sample(now, newest);
            return Some(newest);
        }
        if self.transport.profile.timer.rtt_from_sack
            && let Some(sent_at) = revealed.oldest_sacked_sent_at
        {
            self.take_rtt(now, received_at.saturating_since(sent_at));
            let newest = revealed.newest_original()?.sent_at;
            let newest = received_at.saturating_since(newest);
            self.min_rtt.on_sample(now, newest);
            return Some(newest);
        }
        if revealed.acked == 0 {
            return None;
        }
        let echo = segment.options.timestamps?.ecr;
        let rtt = self.timestamps.as_ref()?.rtt_by_echo(received_at, echo)?;
        self.take_rtt(now, rtt);
        Some(rtt)
    }

    pub(super) fn take_rtt(&mut self, now: Instant, rtt: Duration) {
        self.rtt.on_sample(now, rtt);
        self.min_rtt.on_sample(now, rtt);
        self.tlp.on_rtt_sample();
        if self.outbox.wants(EventMask::RTT) {
            let event = Event::RttSampled {
                rtt,
                srtt: self.rtt.srtt().unwrap_or_default(),
                rttvar: self.rtt.rttvar().unwrap_or_default(),
                rto: self.rtt.rto(),
            };
            self.outbox.put(EventMask::RTT, now, event);
        }
    }

    pub(super) fn put_lost(&mut self, now: Instant, detection: &LossDetection) {
        if let Some((seq, len, verdict)) = detection.lost {
            self.outbox
                .put(EventMask::CHANGES, now, Event::Lost { seq, len, verdict });
        }
    }

    pub(super) fn put_phase(&mut self, now: Instant, from: Phase) {
        let to = self.recovery.phase();
        if from != to {
            self.outbox
                .put(EventMask::CHANGES, now, Event::PhaseChanged { from, to });
        }
    }

    /// Applies a loss-detection result to the window. The acknowledgment behind it removed `acked`
    /// octets from the flight.
    pub(super) fn apply_loss_detection(
        &mut self,
        now: Instant,
        detection: &LossDetection,
        acked: u64,
    ) {
        self.tell_losses(now);
        if detection.ended {
            // The next phase begins with the remaining window.
            self.validate_recovery_end(now);
            self.congestion.on_recovery_end(now);
            self.put_cwnd(now, CwndCause::ExitRecovery);
        }
        if let Some(kind) = detection.congestion {
            let flight_size = self.flight_size_at_congestion(acked, detection.limited_transmit);
            self.reduce_window(now, kind, flight_size, self.board.pipe());
            if self.transport.profile.timer.repair_restarts_timer {
                // For the retransmission that follows. Pacing may delay it, and it may be found
                // spurious before it leaves: the timer must not wait for it.
                self.restart_retransmit_timer(now);
            }
        }
    }

    fn notify_congestion_control(
        &mut self,
        now: Instant,
        revealed: &Revealed,
        summary: &AckSummary,
    ) {
        // A round ends only with data sent during it; data sent earlier, its last octet included,
        // does not count. The measure is what is known to be delivered: behind a gap SND.UNA does
        // not advance.
        let round_end = self.board.highest_delivered() > self.round_end;
        if round_end {
            self.round_end = self.snd.nxt;
            self.pacing.window_use.on_round_end();
        }
        let window_use = &mut self.pacing.window_use;
        let most_in_flight = window_use.most_in_flight(summary.prior_in_flight, round_end);
        let validated = self.validate_window(now);
        let was_slow_start = self.congestion.is_in_slow_start();
        let before = self.congestion.cwnd();
        let grows_limited = self.limits_growth(before, revealed.acked);
        let cwnd_limited = core::mem::take(&mut self.limiting.cwnd_limited)
            || validated
            || grows_limited
            || summary.prior_in_flight + u64::from(self.smss) > before.as_u64()
            || (self.transport.profile.congestion.half_used_opens
                && was_slow_start
                && 2 * most_in_flight > before.as_u64());
        let ack = Ack {
            now,
            acked: Bytes::new(if summary.held { 0 } else { summary.opening }),
            sacked: Bytes::new(revealed.sacked),
            delivered: Bytes::new(revealed.delivered()),
            total_delivered: Bytes::new(self.board.delivered()),
            lost: Bytes::new(summary.lost),
            ce_marked: Bytes::new(summary.marked.octets),
            ce_marked_segments: summary.marked.packets,
            acked_transmissions: revealed.transmissions,
            phase: self.recovery.phase(),
            prior_in_flight: Bytes::new(summary.prior_in_flight),
            in_flight: Bytes::new(self.board.in_flight()),
            cwnd_limited,
            rtt: summary.rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.min_rtt.value(),
            round_end,
            rate: summary.rate,
        };
        ack.assert_invariants();
        self.congestion.on_ack(&ack);
        if grows_limited {
            self.bound_growth(was_slow_start);
        }
        if self.congestion.cwnd() != before {
            let cause = match (self.recovery.phase(), was_slow_start) {
                (Phase::Recovery, _) => CwndCause::InRecovery,
                (_, true) => CwndCause::SlowStart,
                (_, false) => CwndCause::Avoidance,
            };
            self.put_cwnd(now, cause);
        }
    }

    /// Restarts or stops the retransmission timer: RFC 6298 section 5 (5.2) and (5.3).
    pub(super) fn restart_retransmit_timer(&mut self, now: Instant) {
        self.timers.retransmit_at = if self.snd.una == self.snd.nxt {
            Instant::FAR_FUTURE
        } else {
            now + self.rtt.rto()
        };
    }

    /// Changes the state when our FIN is acknowledged, that is, when everything is.
    fn on_fin_acknowledged(&mut self, now: Instant) {
        if !self.closing.fin_sent || self.snd.una < self.snd.nxt {
            return;
        }
        match self.state {
            State::FinWait1 => self.set_state(now, State::FinWait2),
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.set_state(now, State::Closed),
            _ => {}
        }
    }

    /// Enters TIME-WAIT for 2 MSL (RFC 9293 section 3.6.1).
    pub(super) fn enter_time_wait(&mut self, now: Instant) {
        self.set_state(now, State::TimeWait);
        self.timers.time_wait_until = now + self.transport.profile.closing.time_wait;
    }
}

/// Whether the receiver may have delayed this ACK: it acknowledges at most one full segment.
fn is_probably_delayed(revealed: &Revealed, smss: u32) -> bool {
    revealed.acked > 0 && revealed.acked <= u64::from(smss)
}

/// Whether the first block reports a duplicate (RFC 2883 section 4). It does if it lies at or
/// below the cumulative acknowledgment, or inside the second block.
fn is_duplicate_report(first: (u64, u64), ack: u64, second: Option<(u64, u64)>) -> bool {
    let inside = |(left, right): (u64, u64)| left <= first.0 && first.1 <= right;
    first.1 <= ack || second.is_some_and(inside)
}
