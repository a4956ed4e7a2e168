//! Whether a silent peer is still there: keep-alives, RFC 9293 section 3.8.4;
//! and how long FIN-WAIT-2 waits for it.
//!
//! Keep-alives are off unless requested, by profile or application (MUST-24,
//! MUST-25). After `keepalive_time` (MUST-27, MUST-28: two hours) without any
//! acceptable segment, and with nothing in flight or waiting (MUST-26), a probe
//! leaves: no data, SEG.SEQ = SND.NXT - 1, which every TCP answers because it is
//! outside its window. No single probe decides (MUST-29): only after
//! `keepalive_probes` of them without answer, `keepalive_interval` apart, is
//! the connection reset.
//!
//! `fin_wait_2_timeout` ends a connection whose peer has acknowledged our FIN
//! and then says nothing: never by default, since a half-closed connection may
//! be silent by right. Linux does it after 60 s (`tcp_fin_timeout`), for
//! sockets without a reader; only the driver knows which those are.

use gigatcp_events::State;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Payload;

use super::{Connection, Failure, Reset};

/// Timers of silence.
#[derive(Clone, Debug)]
pub(super) struct Liveness {
    keepalive: bool,
    /// When the last acceptable segment came.
    heard_at: Instant,
    keepalive_at: Instant,
    /// Probes without answer.
    probes: u32,
    /// A probe must leave.
    probe_due: bool,
    fin_wait_2_at: Instant,
    /// The earlier of the two.
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

    /// When something is due.
    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        self.next
    }

    /// An acceptable segment came.
    #[inline]
    pub(super) fn on_heard(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// Whether the bare acknowledgment that leaves now is to be a probe.
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
    /// Switches keep-alives on or off (RFC 9293 MUST-24).
    pub fn set_keepalive(&mut self, now: Instant, on: bool) {
        self.liveness.keepalive = on;
        self.liveness.probes = 0;
        let waits = on && self.is_synchronized() && self.state != State::TimeWait;
        let at = if waits {
            now + self.profile.liveness.keepalive_time
        } else {
            Instant::FAR_FUTURE
        };
        self.liveness.set(at, self.liveness.fin_wait_2_at);
    }

    /// How keep-alives are sent from now on (RFC 9293 MUST-27): the first after
    /// `time` of silence, counted from when the peer was heard last, then one
    /// each `interval`, of which `probes`, two at least (MUST-29), may stay
    /// without answer. An interval in progress ends as it began.
    pub fn set_keepalive_times(
        &mut self,
        now: Instant,
        time: Duration,
        interval: Duration,
        probes: u32,
    ) {
        self.profile.liveness.keepalive_time = time;
        self.profile.liveness.keepalive_interval = interval;
        self.profile.liveness.keepalive_probes = probes.max(2);
        let runs = self.liveness.keepalive_at != Instant::FAR_FUTURE;
        if runs && self.liveness.probes == 0 {
            let at = (self.liveness.heard_at + time).max(now);
            self.liveness.set(at, self.liveness.fin_wait_2_at);
        }
    }

    /// The connection came to a new state.
    pub(super) fn watch_silence(&mut self, now: Instant) {
        match self.state {
            State::Closed | State::TimeWait => self.liveness.stop(),
            State::Established if self.liveness.keepalive => {
                let at = now + self.profile.liveness.keepalive_time;
                self.liveness.set(at, Instant::FAR_FUTURE);
            }
            State::FinWait2 if !self.profile.closing.fin_wait_2_timeout.is_zero() => {
                let at = now + self.profile.closing.fin_wait_2_timeout;
                self.liveness.set(self.liveness.keepalive_at, at);
            }
            _ => {}
        }
    }

    /// A timer of silence is due.
    #[cold]
    pub(super) fn on_silence(&mut self, now: Instant) {
        if self.liveness.fin_wait_2_at <= now {
            let until = self.liveness.heard_at + self.profile.closing.fin_wait_2_timeout;
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
        let time = self.profile.liveness.keepalive_time;
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
        let next = now + self.profile.liveness.keepalive_interval;
        self.liveness.set(next, fin_wait_2_at);
    }

    /// By the number of probes, or by the user timeout where there is one (as
    /// Linux), but never by one probe alone (RFC 9293 MUST-29).
    fn is_taken_for_dead(&self, now: Instant) -> bool {
        let limit = self.user_timeout();
        if limit.is_zero() {
            self.liveness.probes >= self.profile.liveness.keepalive_probes
        } else {
            self.liveness.probes >= 2 && now >= self.liveness.heard_at + limit
        }
    }
}
