//! Timers: RFC 9293 sections 3.8.1 (retransmission) and 3.6.1 (TIME-WAIT); RFC 6298 section 5. The
//! persist timer is in `connection/persist.rs`.

use gigatcp_units::Instant;
use gigatcp_wire::Payload;

use super::loss_recovery::EarlyTimer;
use super::{Connection, Failure, Reset};
use crate::events::{Event, EventMask, Phase, State};

/// Expiry times of the connection's timers; some mechanisms keep their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    pub retransmit_at: Instant,
    /// Expiry of the reordering timer or the loss probe's.
    pub early_at: Instant,
    pub early_timer: EarlyTimer,
    /// Timeouts since the last progress.
    pub timeouts_in_a_row: u32,
    pub persist_at: Instant,
    /// Zero-window probes in a row, up to the capacity of `tcpi_backoff`.
    pub persist_backoff: u8,
    /// The persist timer expired: one probe may leave.
    pub probe_due: bool,
    pub time_wait_until: Instant,
}

impl Timers {
    /// State with no timer running.
    pub(super) const fn new() -> Self {
        Self {
            retransmit_at: Instant::FAR_FUTURE,
            early_at: Instant::FAR_FUTURE,
            early_timer: EarlyTimer::Probe,
            timeouts_in_a_row: 0,
            persist_at: Instant::FAR_FUTURE,
            persist_backoff: 0,
            probe_due: false,
            time_wait_until: Instant::FAR_FUTURE,
        }
    }
}

impl<P: Payload> Connection<P> {
    /// Handles all due timers. Calling it early has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.ack.handle_timeout(now);
        if self.ecn.hold_until <= now {
            self.ecn.hold_until = Instant::FAR_FUTURE;
        }
        if self.timers.early_at <= now {
            self.on_early_timeout(now);
        }
        if self.timers.retransmit_at <= now {
            self.on_retransmit_timeout(now);
        }
        self.pacing.pacer.handle_timeout(now);
        if self.timers.persist_at <= now {
            self.on_persist_timeout(now);
        }
        if self.liveness.deadline() <= now {
            self.on_silence(now);
        }
        if self.timers.time_wait_until <= now {
            self.set_state(now, State::Closed);
        }
        self.assert_invariants();
    }

    /// Handles a retransmission timeout: RFC 6298 section 5 (5.4) to (5.7).
    fn on_retransmit_timeout(&mut self, now: Instant) {
        self.timers.retransmit_at = Instant::FAR_FUTURE;
        if self.snd.una == self.snd.nxt {
            return;
        }
        if self.snd.wnd == 0 && self.is_synchronized() {
            // The peer retracted its window behind data in flight. That is not a loss: the window
            // is probed (RFC 9293 SHLD-17, MUST-35).
            self.on_persist_timeout(now);
            return;
        }
        self.counters.timeouts += 1;
        self.timers.timeouts_in_a_row += 1;
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        if opening && let Some(outcome) = self.open_fast_open_outcome() {
            outcome.timed_out = true;
        }
        let rto = self.rtt.rto();
        let event = Event::TimeoutFired {
            rto,
            backoff: self.timers.timeouts_in_a_row,
        };
        self.outbox.put(EventMask::CHANGES, now, event);
        let over = if opening {
            self.timers.timeouts_in_a_row > self.transport.profile.opening.syn_retries
        } else {
            self.is_timed_out(now, rto)
        };
        if over {
            self.abort_timed_out(now);
            return;
        }
        let is_linear = self.state == State::SynSent
            && self.timers.timeouts_in_a_row <= self.transport.profile.opening.syn_linear_timeouts;
        if self.transport.profile.timer.backoff && !is_linear {
            self.rtt.back_off();
        }
        if opening {
            self.handshake.syn_due = true;
        } else {
            self.begin_loss(now);
            self.on_timeout_of_path(now);
        }
        self.timers.retransmit_at = self.bounded_by_user_timeout(now, now + self.rtt.rto());
    }

    fn begin_loss(&mut self, now: Instant) {
        let from = self.recovery.phase();
        let pipe = self.board.pipe();
        let again = self.timers.timeouts_in_a_row > 1;
        let marked = self.mark_lost_on_timeout(now);
        let detection = self
            .recovery
            .on_timeout(&self.board, marked, self.snd.nxt, again);
        self.prr.end();
        self.tlp.cancel();
        self.timers.early_at = Instant::FAR_FUTURE;
        // RFC 5682 section 2.1 step 1: neither for a repeated timeout (Linux: for it too), nor with
        // a retransmission already in flight.
        let recovery = &self.transport.profile.recovery;
        let is_tested = if again {
            recovery.frto_again
        } else {
            !matches!(from, Phase::Recovery | Phase::Loss)
        };
        if recovery.frto && is_tested {
            self.frto.begin(self.snd.nxt);
        } else {
            self.frto.reset();
        }
        if detection.congestion.is_some() {
            self.eifel.begin();
        }
        self.tell_losses(now);
        if let Some(kind) = detection.congestion {
            let flight_size = self.flight_size_at_congestion(0, 0);
            self.reduce_window(now, kind, flight_size, pipe);
        }
        self.put_lost(now, &detection);
        self.put_phase(now, from);
    }

    /// Aborts the connection. If the profile requires it, a reset is sent.
    pub(super) fn abort_timed_out(&mut self, now: Instant) {
        if self.transport.profile.timer.reset_on_giving_up && self.is_synchronized() {
            self.reset_at_end();
        }
        self.fail(now, Failure::TimedOut);
    }

    /// Sends a reset at SND.MAX, which the peer accepts only if its window reaches that far (BSD
    /// `tcp_drop`).
    pub(super) fn reset_at_end(&mut self) {
        self.closing.reset_due = Some(Reset {
            seq: self.snd.on_wire(self.snd.nxt),
            ack: Some(self.rcv.on_wire(self.rcv.nxt)),
        });
    }
}
