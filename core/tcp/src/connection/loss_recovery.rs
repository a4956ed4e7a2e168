//! Order of the loss-recovery algorithms for one acknowledgment or timer.
//!
//! `recovery` detects loss, `rack` and `tlp` do so by time, `prr` decides how much leaves, `frto`
//! and `eifel` detect spurious recovery. This file calls them in order. Without signs of loss an
//! acknowledgment costs one test in [`Connection::detect_losses`].
//!
//! RFC 8985 section 8 has one timer in three roles. Here the retransmission timer is separate. A
//! second, always earlier one is either the reordering timer or the loss probe's. The former takes
//! precedence, since a probe is sent only while nothing is out of order (section 7.2).

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Payload, Segment};

use super::Connection;
use crate::congestion::CongestionKind;
use crate::events::{CwndCause, Event, EventMask, LossVerdict, Phase, SendReason};
use crate::frto::{FrtoAck, FrtoVerdict};
use crate::prr::PrrAck;
use crate::rack::RackAck;
use crate::recovery::{AckFacts, LossDetection};
use crate::scoreboard::Revealed;
use crate::tlp::{self, Probe, ProbeAck};

/// Current role of the timer that is earlier than the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EarlyTimer {
    /// Loss probe timer.
    Probe,
    /// Reordering timer.
    Reordering,
}

impl<P: Payload> Connection<P> {
    /// Detects losses from what an acknowledgment revealed.
    pub(super) fn detect_losses(
        &mut self,
        now: Instant,
        received_at: Instant,
        revealed: &Revealed,
        duplicate: bool,
        segment: &Segment<P>,
    ) -> LossDetection {
        if self.transport.profile.recovery.rack && self.handshake.sack {
            self.update_rack(received_at, revealed, segment);
        }
        // The common case: no sign of loss, before or now.
        if self.recovery.is_quiet()
            && !duplicate
            && revealed.sacked == 0
            && self.board.sacked() == 0
            && !self.board.has_retransmissions()
        {
            return LossDetection::default();
        }
        if revealed.acked > 0 {
            self.run_eifel(now, received_at, segment);
        }
        if self.recovery.phase() == Phase::Loss {
            self.run_frto(now, received_at, revealed, duplicate);
        }
        self.run_recovery(now, revealed.acked, duplicate)
    }

    /// Runs loss detection for an acknowledgment, or for the reordering timer.
    fn run_recovery(&mut self, now: Instant, acked: u64, duplicate: bool) -> LossDetection {
        let from = self.recovery.phase();
        let facts = AckFacts {
            una: self.snd.una,
            nxt: self.snd.nxt,
            acked,
            duplicate,
            sack: self.handshake.sack,
            smss: self.smss,
            overdue: self.overdue(now),
        };
        let detection = self
            .recovery
            .on_ack(&self.transport.profile, &mut self.board, &facts);
        self.after_loss_detection(now, from, &detection);
        detection
    }

    /// Updates events, counters and state after loss detection.
    fn after_loss_detection(&mut self, now: Instant, from: Phase, detection: &LossDetection) {
        if detection.lost_again > 0 {
            self.counters.lost_retransmissions += self.segments_of(detection.lost_again);
        }
        let to = self.recovery.phase();
        if matches!(to, Phase::Recovery) && detection.congestion.is_some() {
            self.eifel.begin();
        }
        let was_repairing = matches!(from, Phase::Recovery | Phase::Loss);
        if was_repairing && (to != from || detection.ended) {
            self.frto.reset();
            self.rack.on_recovery_end();
        }
        self.put_lost(now, detection);
        self.put_phase(now, from);
    }

    fn segments_of(&self, octets: u64) -> u64 {
        octets.div_ceil(u64::from(self.smss))
    }

    // RACK.

    #[inline]
    fn update_rack(&mut self, received_at: Instant, revealed: &Revealed, segment: &Segment<P>) {
        let echo_sent_by = match revealed.newest_resent() {
            None => None,
            Some(_) => self.echo_left_by(received_at, segment),
        };
        let ack = RackAck {
            received_at,
            una: self.snd.una,
            nxt: self.snd.nxt,
            min_rtt: self.min_rtt.value(),
            duplicate_report: revealed.repeated_in_vain,
            echo_sent_by,
        };
        self.rack.on_ack(&ack, revealed);
    }

    fn echo_left_by(&self, received_at: Instant, segment: &Segment<P>) -> Option<Instant> {
        let echo = segment.options.timestamps?.ecr;
        self.timestamps.as_ref()?.left_by(received_at, echo)
    }

    /// Losses found by time: RFC 8985 section 6.2 steps 4 and 5.
    fn overdue(&mut self, now: Instant) -> Option<crate::scoreboard::Overdue> {
        if !(self.transport.profile.recovery.rack && self.handshake.sack) {
            return None;
        }
        self.update_reo_wnd();
        self.rack.overdue(now)
    }

    /// Updates the reordering window: RFC 8985 section 6.2 step 4.
    fn update_reo_wnd(&mut self) {
        let many = self.transport.profile.recovery.dup_thresh;
        let repairing = matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss);
        let urgent = repairing
            || self.board.sacked() >= u64::from(many) * u64::from(self.smss)
            || self.board.sacked_ranges() >= many as usize;
        self.rack
            .update_reo_wnd(urgent, self.min_rtt.value(), self.rtt.srtt());
    }

    /// Handles the reordering timer: RFC 8985 section 6.2 step 5.
    fn on_reordering_timeout(&mut self, now: Instant) {
        let mut detection = self.run_recovery(now, 0, false);
        if detection.congestion.is_some() {
            detection = self.excuse_probe(now, detection);
        }
        self.apply_loss_detection(now, &detection, 0);
        if detection.congestion.is_some() {
            self.begin_reduction(0, self.board.sacked());
            self.release_in_reduction(0, &detection, false);
        }
        self.set_early_timer(now, detection.look_again, false);
    }

    /// Marks the losses of a retransmission timeout. All data is lost, or with RACK only data that
    /// cannot still be in flight (RFC 8985 section 6.3).
    pub(super) fn mark_lost_on_timeout(&mut self, now: Instant) -> (u64, u64) {
        if self.transport.profile.recovery.rack && self.handshake.sack {
            self.update_reo_wnd();
            if let Some(after) = self.rack.overdue_on_timeout(self.rtt.srtt()) {
                return self.board.mark_lost_on_timeout(now, after, self.smss);
            }
        }
        self.board.mark_all_lost()
    }

    // The timer before the retransmission timer.

    /// Sets the reordering timer, or that of the loss probe. With `restart`, after progress, a
    /// running probe timer starts anew.
    pub(super) fn set_early_timer(
        &mut self,
        now: Instant,
        look_again: Option<Instant>,
        restart: bool,
    ) {
        if let Some(at) = look_again.filter(|at| *at > now) {
            self.timers.early_timer = EarlyTimer::Reordering;
            self.timers.early_at = at;
        } else if !self.may_probe_tail() {
            self.timers.early_at = Instant::FAR_FUTURE;
        } else if restart
            || self.timers.early_timer != EarlyTimer::Probe
            || self.timers.early_at == Instant::FAR_FUTURE
        {
            self.timers.early_timer = EarlyTimer::Probe;
            self.timers.early_at = tlp::probe_at(
                now,
                self.rtt.srtt(),
                self.snd.flight_size() <= u64::from(self.smss),
                tlp::Delays {
                    acknowledgment: self.transport.profile.recovery.tlp_max_ack_delay,
                    slack: self.transport.profile.recovery.tlp_slack,
                },
                self.timers.retransmit_at,
            );
        }
    }

    pub(super) fn on_early_timeout(&mut self, now: Instant) {
        self.timers.early_at = Instant::FAR_FUTURE;
        match self.timers.early_timer {
            EarlyTimer::Reordering => self.on_reordering_timeout(now),
            EarlyTimer::Probe if self.may_probe_tail() => {
                self.tlp.on_timeout();
                // RFC 8985 section 7.3: after the probe, the retransmission timer runs alone, for
                // its full time.
                self.timers.retransmit_at = now + self.rtt.rto();
            }
            EarlyTimer::Probe => {}
        }
    }

    // The tail loss probe.

    /// Whether a tail loss probe may be sent (RFC 8985 section 7.2). Conditions: SACK, outside
    /// recovery, nothing out of order, data in flight and an open window.
    #[inline]
    fn may_probe_tail(&self) -> bool {
        self.transport.profile.recovery.tlp
            && self.handshake.sack
            && self.tlp.may_probe()
            && matches!(self.recovery.phase(), Phase::Open | Phase::Cwr)
            && self.board.sacked() == 0
            && self.snd.una < self.snd.nxt
            && self.snd.wnd > 0
            && self.timers.retransmit_at != Instant::FAR_FUTURE
    }

    /// Sends a tail loss probe (RFC 8985 section 7.3). It is new data if possible, whatever cwnd
    /// allows, else the last segment again.
    pub(super) fn poll_tail_probe(&mut self, now: Instant) -> Segment<P> {
        let smss = u64::from(self.smss);
        let flight_size = self.snd.flight_size();
        let window = self.snd.edge().saturating_sub(self.snd.nxt);
        let new = self.unsent_of_record().min(smss);
        self.counters.tail_probes += 1;
        let (segment, resent_from) = if new > 0 && new <= window {
            (self.send_new(now, new, SendReason::TailProbe), None)
        } else {
            let data_end = self.snd.nxt.min(self.send_buffer.end());
            let record = self.send_buffer.records().start_before(data_end);
            let from = data_end.saturating_sub(smss).max(self.snd.una).max(record);
            let range = from..self.snd.nxt;
            (self.resend(now, range, SendReason::TailProbe), Some(from))
        };
        self.tlp.on_probe(Probe {
            end: self.snd.nxt,
            resent_from,
            flight_size,
        });
        self.timers.early_at = Instant::FAR_FUTURE;
        segment
    }

    /// Detects a loss that the probe itself repaired (RFC 8985 section 7.4). The congestion
    /// control then has to react to it.
    pub(super) fn account_for_probe(
        &mut self,
        now: Instant,
        ack: u64,
        bare_duplicate: bool,
        revealed: &Revealed,
    ) {
        let ack = ProbeAck {
            ack,
            duplicate_end: revealed.duplicate_end,
            bare_duplicate,
        };
        let Some(probe) = self.tlp.on_ack(&ack) else {
            return;
        };
        let from = probe.resent_from.unwrap_or(probe.end);
        if !self.recovery.on_probe_repair(from..probe.end) {
            return;
        }
        self.counters.tail_probe_repairs += 1;
        let event = Event::Lost {
            seq: from,
            len: probe.end - from,
            verdict: LossVerdict::TailProbe,
        };
        self.outbox.put(EventMask::CHANGES, now, event);
        let pipe = self.board.pipe();
        self.reduce_window(now, CongestionKind::Loss, probe.flight_size, pipe);
        self.congestion.on_recovery_end(now);
        self.put_cwnd(now, CwndCause::ExitRecovery);
    }

    // Spurious retransmissions.

    /// Notes that a retransmission from `start` on leaves.
    pub(super) fn note_retransmission(&mut self, now: Instant, start: u64) {
        if self.transport.profile.recovery.eifel
            && let Some(clock) = &self.timestamps
        {
            self.eifel.on_retransmit(clock.val(now));
        }
        // The retransmission timer is that of the first outstanding segment. If RACK can also
        // detect the loss of its retransmission, that gets the timer's full time, as in Linux; RFC
        // 6298 (5.1) does not restart a running timer.
        if self.transport.profile.recovery.rack && self.handshake.sack && start == self.snd.una {
            self.timers.retransmit_at = now + self.rtt.rto();
        }
    }

    /// Applies RFC 3522 to an acceptable acknowledgment after a retransmission. Ends when one
    /// answers a retransmission or the reduction is undone.
    fn run_eifel(&mut self, now: Instant, received_at: Instant, segment: &Segment<P>) {
        if !self.eifel.is_waiting() {
            return;
        }
        let Some(stamps) = segment.options.timestamps else {
            return;
        };
        let original_came = self.eifel.on_acceptable_ack(stamps.ecr);
        // In fast recovery the first gap may have been late and others real: the recovery was
        // spurious only if all were late. For a timeout, the first suffices.
        let only_one = !self.board.has_lost() && !self.board.has_retransmissions();
        if original_came && (only_one || self.recovery.phase() == Phase::Loss) {
            let clock = self.timestamps.as_ref();
            let rtt = clock.and_then(|clock| clock.rtt_by_echo(received_at, stamps.ecr));
            self.answer_spurious(now, rtt);
        }
    }

    /// Applies RFC 5682 to an acknowledgment after a timeout.
    fn run_frto(
        &mut self,
        now: Instant,
        received_at: Instant,
        revealed: &Revealed,
        duplicate: bool,
    ) {
        let window = self.snd.edge().saturating_sub(self.snd.nxt);
        let ack = FrtoAck {
            una: self.snd.una,
            acked: revealed.acked,
            duplicate,
            lowest_original: revealed.lowest_original,
            highest: self.board.highest_delivered(),
            sack: self.handshake.sack,
            new_data: self.unsent().min(window),
        };
        match self.frto.on_ack(&ack, self.smss) {
            FrtoVerdict::Undecided => {}
            // RFC 5682 section 2.1 (3a): 3 SMSS, the two new ones among them.
            FrtoVerdict::Genuine => self.recovery.owe_retransmission(),
            FrtoVerdict::Spurious => {
                let departure = revealed.newest_original();
                let rtt =
                    departure.map(|departure| received_at.saturating_since(departure.sent_at));
                self.answer_spurious(now, rtt);
            }
        }
    }

    /// Undoes a spurious recovery completely. After a spurious timeout the RTO also becomes more
    /// conservative (RFC 4015), by the RTT `rtt` that it should have waited for.
    fn answer_spurious(&mut self, now: Instant, rtt: Option<Duration>) {
        if self.recovery.phase() == Phase::Loss {
            self.counters.spurious_timeouts += 1;
            if let Some(rtt) = rtt.filter(|_| self.transport.profile.recovery.eifel) {
                self.rtt.on_spurious_timeout(rtt);
            }
        }
        self.undo_reduction(now);
    }

    // Output during a reduction.

    /// Begins PRR. `acked` octets have just left the flight; `known` were known to be delivered
    /// before this acknowledgment. With nothing in flight no acknowledgment would release
    /// anything: then cwnd decides.
    pub(super) fn begin_reduction(&mut self, acked: u64, known: u64) {
        self.prr.end();
        if let Some(rule) = self.transport.profile.recovery.prr
            && self.snd.flight_size() > 0
            && !self.congestion.reduces_by_itself()
        {
            self.prr.begin(rule, self.snd.flight_size() + acked, known);
        }
    }

    /// Updates PRR on an acknowledgment that delivered `delivered` octets.
    pub(super) fn release_in_reduction(
        &mut self,
        delivered: u64,
        detection: &LossDetection,
        advanced: bool,
    ) {
        let ack = PrrAck {
            delivered,
            pipe: self.board.pipe() + self.board.twice(),
            target: self.congestion.cwnd().as_u64(),
            safe: advanced && detection.lost.is_none(),
            repairs: self.board.has_lost(),
        };
        self.prr.on_ack(&ack, self.smss);
    }

    /// Follows the reduction through an acknowledgment, which may begin it (`begins`). `credit` is
    /// the octets that duplicates without SACK stood for before it.
    pub(super) fn follow_reduction(
        &mut self,
        revealed: &Revealed,
        detection: &LossDetection,
        credit: u64,
        begins: bool,
    ) {
        let reducing = matches!(self.recovery.phase(), Phase::Recovery | Phase::Cwr);
        if !reducing {
            self.prr.end();
            return;
        }
        // Without SACK a duplicate stands for a segment. Those octets do not count as delivered
        // again when acknowledged.
        let delivered = revealed.delivered() + self.board.duplicate_credit();
        let delivered = delivered.saturating_sub(credit);
        if begins {
            let known = (self.board.sacked() + revealed.acked_after_sack + credit)
                .saturating_sub(revealed.sacked);
            self.begin_reduction(revealed.acked, known);
        }
        self.release_in_reduction(delivered, detection, revealed.acked > 0);
    }
}
