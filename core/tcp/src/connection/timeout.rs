//! Timers: RFC 9293 sections 3.8.1 (retransmission), 3.8.6.1 (zero-window
//! probes), 3.6.1 (TIME-WAIT); RFC 6298 section 5.

use gigatcp_events::{Event, EventMask, Phase, State};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Payload;

use super::{Connection, Failure};

/// How long a sender that avoids silly windows waits before it uses a small
/// one after all (RFC 9293 SHLD-28).
const OVERRIDE_TIMEOUT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

impl<P: Payload> Connection<P> {
    /// Lets every timer that is due take effect. Calling it early does
    /// nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.ack.handle_timeout(now);
        if self.ecn.hold_until <= now {
            self.ecn.hold_until = Instant::FAR_FUTURE;
        }
        if self.early_at <= now {
            self.on_early_timeout(now);
        }
        if self.retransmit_at <= now {
            self.on_retransmit_timeout(now);
        }
        self.pacing.pacer.handle_timeout(now);
        if self.persist_at <= now {
            self.on_persist_timeout(now);
        }
        if self.liveness.deadline() <= now {
            self.on_silence(now);
        }
        if self.time_wait_until <= now {
            self.set_state(now, State::Closed);
        }
    }

    /// RFC 6298 section 5 (5.4) to (5.7).
    fn on_retransmit_timeout(&mut self, now: Instant) {
        self.retransmit_at = Instant::FAR_FUTURE;
        if self.snd.una == self.snd.nxt {
            return;
        }
        if self.snd.wnd == 0 && self.is_synchronized() {
            // The peer took its window back over what is in flight. That is
            // no loss: it is asked by probes (RFC 9293 SHLD-17, MUST-35).
            self.on_persist_timeout(now);
            return;
        }
        self.counters.timeouts += 1;
        self.timeouts_in_a_row += 1;
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        let rto = self.rtt.rto();
        let event = Event::TimeoutFired {
            rto,
            backoff: self.timeouts_in_a_row,
        };
        self.outbox.put(EventMask::CHANGES, now, event);
        let over = if opening {
            self.timeouts_in_a_row > self.profile.syn_retries
        } else {
            self.is_patience_over(now, rto)
        };
        if over {
            self.fail(now, Failure::TimedOut);
            return;
        }
        if self.profile.backoff {
            self.rtt.back_off();
        }
        if opening {
            self.syn_due = true;
        } else {
            self.begin_loss(now);
            self.on_timeout_of_path(now);
        }
        self.retransmit_at = self.within_patience(now, now + self.rtt.rto());
    }

    fn begin_loss(&mut self, now: Instant) {
        let from = self.recovery.phase();
        let pipe = self.board.pipe();
        let again = self.timeouts_in_a_row > 1;
        let marked = self.mark_lost_on_timeout(now);
        let judgment = self.recovery.on_timeout(marked, self.snd.nxt, again);
        self.prr.end();
        self.tlp.cancel();
        self.early_at = Instant::FAR_FUTURE;
        // RFC 5682 section 2.1 step 1: neither for a repeated timeout, nor
        // where a repair was under way already.
        if self.profile.frto && !again && !matches!(from, Phase::Recovery | Phase::Loss) {
            self.frto.begin(self.snd.nxt);
        } else {
            self.frto.stop();
        }
        if judgment.congestion.is_some() {
            self.eifel.begin();
        }
        if let Some(kind) = judgment.congestion {
            self.reduce_window(now, kind, self.snd.flight_size(), pipe);
        }
        self.put_lost(now, &judgment);
        self.put_phase(now, from);
    }

    /// Something waits to be sent, nothing is in flight that an
    /// acknowledgment could come for, and the window does not let it out:
    /// keep a timer so that a lost window update cannot stop us for ever
    /// (RFC 9293 MUST-36). Where the window is open but small, this is the
    /// override timer of section 3.8.6.2.1, 0.1 to 1 second (SHLD-28).
    pub(super) fn arm_persist(&mut self, now: Instant) {
        if self.persist_at != Instant::FAR_FUTURE || self.probe_due {
            return;
        }
        let wait = if self.snd.wnd > 0 {
            let (least, most) = OVERRIDE_TIMEOUT;
            self.rtt.rto().clamp(least, most)
        } else {
            self.rtt
                .rto()
                .saturating_mul(1 << self.persist_backoff.min(16))
                .min(self.profile.rto_max)
        };
        self.persist_at = self.within_patience(now, now + wait);
    }

    /// A probe is due, unless there is nothing left to ask for. A peer that
    /// answers none is given up like one that acknowledges nothing (R2).
    fn on_persist_timeout(&mut self, now: Instant) {
        let waiting = self.unsent() > 0 || self.is_fin_due();
        if self.snd.una == self.snd.nxt && !waiting {
            self.stop_persist();
            return;
        }
        self.persist_at = Instant::FAR_FUTURE;
        self.persist_backoff += 1;
        self.timeouts_in_a_row += 1;
        if self.is_patience_over(now, self.rtt.rto()) {
            self.fail(now, Failure::TimedOut);
            return;
        }
        self.probe_due = true;
        if self.snd.wnd == 0 {
            self.retransmit_at = Instant::FAR_FUTURE;
        }
    }

    /// The window lets data out: there is nothing to probe for.
    pub(super) fn stop_persist(&mut self) {
        self.persist_at = Instant::FAR_FUTURE;
        self.persist_backoff = 0;
        self.probe_due = false;
    }

    /// The window opened: the probing ends. A probe that found the window
    /// closed was dropped, so what is in flight is presumed lost.
    pub(super) fn leave_persist(&mut self, now: Instant, ack: u64) {
        let probed = self.persist_backoff > 0;
        self.stop_persist();
        self.timeouts_in_a_row = 0;
        if self.snd.nxt > ack {
            if probed && ack == self.snd.una {
                self.board.mark_all_lost();
            }
            self.retransmit_at = now + self.rtt.rto();
        }
    }
}
