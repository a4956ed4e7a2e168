//! Closed and small windows: RFC 9293 sections 3.8.6.1 (zero-window probes) and
//! 3.8.6.2.1 (the override timer of silly-window avoidance).
//!
//! A probe is one octet of new data, or FIN. A peer whose window is closed drops
//! it, so it stays in flight until the window opens; then it leaves once more,
//! in one segment with what waits behind it. Linux probes with an octet that was
//! acknowledged long ago and has nothing in flight meanwhile: its probe never
//! advances the stream, ours does where the peer takes it.

use core::ops::Range;

use gigatcp_events::{Phase, SendReason};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Ecn, Flags, Payload, Segment};

use super::Connection;
use super::segment::Header;
use crate::space::{Length, Offset};

/// How long a sender that avoids silly windows waits before it uses a small
/// one after all (RFC 9293 SHLD-28).
const OVERRIDE_TIMEOUT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

impl<P: Payload> Connection<P> {
    /// Something waits to be sent, nothing is in flight that an
    /// acknowledgment could come for, and the window does not let it out:
    /// keep a timer so that a lost window update cannot stop us indefinitely
    /// (RFC 9293 MUST-36). Where the window is open but small, this is the
    /// override timer of section 3.8.6.2.1, 0.1 to 1 second (SHLD-28).
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
                .min(self.profile.timer.rto_max)
        };
        self.timers.persist_at = self.within_patience(now, now + wait);
    }

    /// A probe is due, unless there is nothing left to ask for. A peer that
    /// answers none is given up like one that acknowledges nothing (R2).
    pub(super) fn on_persist_timeout(&mut self, now: Instant) {
        let waiting = self.unsent() > 0 || self.is_fin_due();
        if self.snd.una == self.snd.nxt && !waiting {
            self.stop_persist();
            return;
        }
        self.timers.persist_at = Instant::FAR_FUTURE;
        self.timers.persist_backoff = self.timers.persist_backoff.saturating_add(1);
        self.timers.timeouts_in_a_row += 1;
        if self.is_patience_over(now, self.rtt.rto()) {
            self.give_up(now);
            return;
        }
        self.timers.probe_due = true;
        if self.snd.wnd == 0 {
            self.timers.retransmit_at = Instant::FAR_FUTURE;
        }
    }

    /// The window lets data out: there is nothing to probe for.
    pub(super) fn stop_persist(&mut self) {
        self.timers.persist_at = Instant::FAR_FUTURE;
        self.timers.persist_backoff = 0;
        self.timers.probe_due = false;
    }

    /// The window opened: the probing ends. A probe that found the window
    /// closed was dropped, so what is in flight is presumed lost.
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

    /// The persist timer fired. RFC 9293 section 3.8.6.1: one octet (or the
    /// FIN) into the closed window, new if nothing is in flight. Where the
    /// window is open but small, section 3.8.6.2.1 (4): what little fits.
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
        if self.profile.segments.bare_window_probes {
            // An acknowledgment from just before the window makes the peer say
            // how wide it is (Linux `tcp_xmit_probe_skb`).
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

    /// All that is in flight is what probed a window that has opened since: less
    /// than a segment, lost although loss detection has not marked it.
    pub(super) fn is_lone_probe(&self, lost: &Range<u64>) -> bool {
        *lost == (self.snd.una..self.snd.nxt)
            && lost.end - lost.start < u64::from(self.smss)
            && self.recovery.phase() == Phase::Open
            && !self.closing.fin_sent
    }

    /// `lost` leaves again in one segment with as much of what waits behind it
    /// as there is room for, so that a window that opens is answered with whole
    /// segments (RFC 9293 section 3.8.6.2.1) and not with the octet that probed
    /// it.
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
