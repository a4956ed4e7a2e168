//! Keep-alives (RFC 9293 section 3.8.4) and the FIN-WAIT-2 timeout.
//!
//! Keep-alives are off unless requested, by profile or application (MUST-24, MUST-25). A probe
//! leaves after `keepalive_time` (MUST-27, MUST-28: two hours) without any acceptable segment, and
//! with nothing in flight or waiting (MUST-26). It has no data and SEG.SEQ = SND.NXT - 1, which
//! every TCP answers because it is outside its window. No single probe decides (MUST-29): the
//! connection is reset only after `keepalive_probes` of them, `keepalive_interval` apart, without
//! an answer.
//!
//! `fin_wait_2_timeout` ends a connection whose peer has acknowledged our FIN and then stays
//! silent. Off by default, since a half-closed connection may legitimately be silent. Linux does
//! it after 60 s (`tcp_fin_timeout`), for sockets without a reader; only the driver can identify
//! those.

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Payload;

use super::{Connection, Failure, Reset};
use crate::events::State;

/// Timers that detect a silent peer.
#[derive(Clone, Debug)]
pub(super) struct Liveness {
    keepalive: bool,
    /// Time of the last acceptable segment.
    heard_at: Instant,
    keepalive_at: Instant,
    /// Probes without answer.
    probes: u32,
    /// A probe must leave.
    probe_due: bool,
    fin_wait_2_at: Instant,
    /// Earlier of the two deadlines.
    next: Instant,
}

impl Liveness {
    pub(super) fn new(keepalive: bool, now: Instant) -> Self {
        Self {
            keepalive,
            heard_at: now,
            keepalive_at: Instant::FAR_FUTURE,
            probes: 0,
            probe_due: false,
            fin_wait_2_at: Instant::FAR_FUTURE,
            next: Instant::FAR_FUTURE,
        }
    }

    /// Time of the next timeout.
    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        self.next
    }

    /// Time of the last acceptable segment, or of the open before any.
    pub(super) const fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// Notes an acceptable segment.
    #[inline]
    pub(super) fn on_heard(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// Whether the bare acknowledgment about to leave is a probe; clears the request.
    pub(super) fn take_probe(&mut self) -> bool {
        core::mem::take(&mut self.probe_due)
    }

    pub(super) fn stop(&mut self) {
        self.probe_due = false;
        self.set(Instant::FAR_FUTURE, Instant::FAR_FUTURE);
    }

    fn set(&mut self, keepalive_at: Instant, fin_wait_2_at: Instant) {
        self.keepalive_at = keepalive_at;
        self.fin_wait_2_at = fin_wait_2_at;
        self.next = keepalive_at.min(fin_wait_2_at);
    }
}

impl<P: Payload> Connection<P> {
    pub(super) fn set_keepalive(&mut self, now: Instant, on: bool) {
        self.liveness.keepalive = on;
        self.liveness.probes = 0;
        let waits = on && self.is_synchronized() && self.state != State::TimeWait;
        let at = if waits {
            now + self.transport.profile.liveness.keepalive_time
        } else {
            Instant::FAR_FUTURE
        };
        self.liveness.set(at, self.liveness.fin_wait_2_at);
    }

    pub(super) fn set_keepalive_times(
        &mut self,
        now: Instant,
        time: Duration,
        interval: Duration,
        probes: u32,
    ) {
        self.profile_mut().liveness.keepalive_time = time;
        self.profile_mut().liveness.keepalive_interval = interval;
        self.profile_mut().liveness.keepalive_probes = probes.max(2);
        let runs = self.liveness.keepalive_at != Instant::FAR_FUTURE;
        if runs && self.liveness.probes == 0 {
            let at = (self.liveness.heard_at + time).max(now);
            self.liveness.set(at, self.liveness.fin_wait_2_at);
        }
    }

    /// Sets or stops the timers for a new state.
    pub(super) fn watch_silence(&mut self, now: Instant) {
        match self.state {
            State::Closed | State::TimeWait => self.liveness.stop(),
            State::Established if self.liveness.keepalive => {
                let at = now + self.transport.profile.liveness.keepalive_time;
                self.liveness.set(at, Instant::FAR_FUTURE);
            }
            State::FinWait2 if !self.transport.profile.closing.fin_wait_2_timeout.is_zero() => {
                let at = now + self.transport.profile.closing.fin_wait_2_timeout;
                self.liveness.set(self.liveness.keepalive_at, at);
            }
            _ => {}
        }
    }

    /// Handles a due silence timer.
    #[cold]
    pub(super) fn on_silence(&mut self, now: Instant) {
        if self.liveness.fin_wait_2_at <= now {
            let until = self.liveness.heard_at + self.transport.profile.closing.fin_wait_2_timeout;
            if until <= now {
                self.fail(now, Failure::TimedOut);
                return;
            }
            self.liveness.set(self.liveness.keepalive_at, until);
        }
        if self.liveness.keepalive_at <= now {
            self.on_keepalive_timeout(now);
        }
    }

    fn on_keepalive_timeout(&mut self, now: Instant) {
        let fin_wait_2_at = self.liveness.fin_wait_2_at;
        let time = self.transport.profile.liveness.keepalive_time;
        let busy = self.snd.una < self.snd.nxt || self.unsent() > 0 || self.is_fin_due();
        if busy {
            // The retransmission and persist timers watch the peer (MUST-26).
            self.liveness.probes = 0;
            self.liveness.set(now + time, fin_wait_2_at);
            return;
        }
        let silent_until = self.liveness.heard_at + time;
        if now < silent_until {
            self.liveness.probes = 0;
            self.liveness.set(silent_until, fin_wait_2_at);
            return;
        }
        if self.is_taken_for_dead(now) {
            self.closing.reset_due = Some(Reset {
                seq: self.snd.on_wire(self.snd.acceptable()),
                ack: Some(self.rcv.on_wire(self.rcv.nxt)),
            });
            self.fail(now, Failure::TimedOut);
            return;
        }
        self.liveness.probes += 1;
        self.liveness.probe_due = true;
        self.counters.keepalive_probes += 1;
        self.ack.demand_alone();
        let next = now + self.transport.profile.liveness.keepalive_interval;
        self.liveness.set(next, fin_wait_2_at);
    }

    /// Whether the peer counts as dead: by probes without answer, or by the user timeout. One
    /// probe alone never suffices (RFC 9293 MUST-29); the user timeout takes precedence, as in
    /// Linux.
    fn is_taken_for_dead(&self, now: Instant) -> bool {
        let limit = self.user_timeout();
        if limit.is_zero() {
            self.liveness.probes >= self.transport.profile.liveness.keepalive_probes
        } else {
            self.liveness.probes >= 2 && now >= self.liveness.heard_at + limit
        }
    }
}
