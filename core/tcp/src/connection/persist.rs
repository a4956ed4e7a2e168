//! Closed and small windows: RFC 9293 sections 3.8.6.1 (zero-window probes) and
//! 3.8.6.2.1 (the override timer of silly-window avoidance).
//!
//! A probe is one octet of new data, or FIN. A peer whose window is closed drops it, so it stays
//! in flight until the window opens. Then it is retransmitted in one segment with the data behind
//! it. Linux probes with an octet acknowledged long ago and has nothing in flight. Its probe never
//! advances the stream; the engine's probe does if the peer accepts it.

use core::ops::Range;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Ecn, Flags, Payload, Segment};

use super::Connection;
use super::segment::Header;
use crate::events::{Phase, SendReason};
use crate::space::{Length, Offset};

/// Range of the wait before a small window is used anyway (RFC 9293 SHLD-28).
const OVERRIDE_TIMEOUT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

impl<P: Payload> Connection<P> {
    /// Sets a timer if the window blocks waiting data, with nothing in flight. A lost window
    /// update then cannot stop the connection indefinitely (RFC 9293 MUST-36). If the window is
    /// open but small, this is the override timer of section 3.8.6.2.1, 0.1 to 1 second (SHLD-28).
    pub(super) fn arm_persist(&mut self, now: Instant) {
        if self.timers.persist_at != Instant::FAR_FUTURE || self.timers.probe_due {
            return;
        }
        let wait = if self.snd.wnd > 0 {
            let (least, most) = OVERRIDE_TIMEOUT;
            self.rtt.rto().clamp(least, most)
        } else {
            self.rtt
                .rto()
                .saturating_mul(1 << self.timers.persist_backoff.min(16))
                .min(self.transport.profile.timer.rto_max)
        };
        self.timers.persist_at = self.bounded_by_user_timeout(now, now + wait);
    }

    /// Makes a probe due, unless nothing waits. A peer that answers no probe counts as one that
    /// acknowledges nothing (R2): the connection is aborted.
    pub(super) fn on_persist_timeout(&mut self, now: Instant) {
        let waiting = self.unsent() > 0 || self.is_fin_due();
        if self.snd.una == self.snd.nxt && !waiting {
            self.stop_persist();
            return;
        }
        self.timers.persist_at = Instant::FAR_FUTURE;
        self.timers.persist_backoff = self.timers.persist_backoff.saturating_add(1);
        self.timers.timeouts_in_a_row += 1;
        if self.is_timed_out(now, self.rtt.rto()) {
            self.abort_timed_out(now);
            return;
        }
        self.timers.probe_due = true;
        if self.snd.wnd == 0 {
            self.timers.retransmit_at = Instant::FAR_FUTURE;
        }
    }

    /// Stops probing, because the window allows output.
    pub(super) fn stop_persist(&mut self) {
        self.timers.persist_at = Instant::FAR_FUTURE;
        self.timers.persist_backoff = 0;
        self.timers.probe_due = false;
    }

    /// Ends probing after the window opened. A closed window dropped the probe, so data in flight
    /// is presumed lost.
    pub(super) fn leave_persist(&mut self, now: Instant, ack: u64) {
        let probed = self.timers.persist_backoff > 0;
        self.stop_persist();
        self.timers.timeouts_in_a_row = 0;
        if self.snd.nxt > ack {
            if probed && ack == self.snd.una {
                self.board.mark_all_not_taken();
            }
            self.timers.retransmit_at = now + self.rtt.rto();
        }
    }

    /// Segment for an expired persist timer. Into a closed window: one octet or the FIN, new if
    /// nothing is in flight (RFC 9293 section 3.8.6.1). Into a small window: what fits (section
    /// 3.8.6.2.1 (4)).
    #[cold]
    pub(super) fn poll_probe(&mut self, now: Instant) -> Option<Segment<P>> {
        if !core::mem::take(&mut self.timers.probe_due) {
            return None;
        }
        let window = self.snd.edge().saturating_sub(self.snd.nxt);
        let waiting = self.unsent() > 0 || self.is_fin_due();
        if window > 0 {
            self.stop_persist();
            let len = self.unsent_of_record().min(window);
            let len = len.min(u64::from(self.smss));
            return waiting.then(|| self.send_new(now, len, SendReason::New));
        }
        self.counters.window_probes += 1;
        self.arm_persist(now);
        if self.transport.profile.segments.bare_window_probes {
            // An acknowledgment from just before the window makes the peer report its window
            // (Linux `tcp_xmit_probe_skb`).
            let header = Header {
                seq: self.snd.una - 1,
                flags: Flags::ACK | self.ecn.flags_of_ack(),
                ecn: Ecn::NotEct,
                has_room: false,
            };
            return Some(self.segment(now, &header, P::default()));
        }
        if self.snd.una == self.snd.nxt {
            let len = self.unsent().min(1);
            return waiting.then(|| self.send_new(now, len, SendReason::WindowProbe));
        }
        let una = self.snd.una;
        self.board.on_retransmit(now, una..una + 1);
        let data_end = (una + 1).min(self.send_buffer.end());
        let flags = if data_end == una {
            Flags::ACK | Flags::FIN
        } else {
            Flags::ACK
        };
        self.counters.retransmitted_segments += 1;
        Some(self.send(now, una..data_end, flags, SendReason::WindowProbe))
    }

    /// Whether all data in flight is a probe whose window has since opened. It is less than a
    /// segment, lost although loss detection has not marked it.
    pub(super) fn is_lone_probe(&self, lost: &Range<u64>) -> bool {
        *lost == (self.snd.una..self.snd.nxt)
            && lost.end - lost.start < u64::from(self.smss)
            && self.recovery.phase() == Phase::Open
            && !self.closing.fin_sent
            && !self.resends_syn_text()
    }

    /// Retransmits `lost` in one segment with as much waiting data as fits. An opened window is
    /// then used with whole segments (RFC 9293 section 3.8.6.2.1) instead of the probe's octet.
    pub(super) fn resend_with_more(
        &mut self,
        now: Instant,
        lost: Range<u64>,
        allowance: u64,
        reason: SendReason,
    ) -> Segment<P> {
        let again = lost.end - lost.start;
        let room = u64::from(self.smss).min(allowance).saturating_sub(again);
        let window = self.snd.edge().saturating_sub(self.snd.nxt);
        let in_record = self.within_record(lost.start..u64::MAX) - lost.end;
        let more = room.min(window).min(self.unsent()).min(in_record);
        if more == 0 {
            return self.resend(now, lost, reason);
        }
        self.board.on_retransmit(now, lost.clone());
        self.recovery.on_retransmit(again);
        self.note_retransmission(now, lost.start);
        self.counters.retransmitted_segments += 1;
        self.send_behind(now, Offset(lost.start), Length(more), reason)
    }
}
