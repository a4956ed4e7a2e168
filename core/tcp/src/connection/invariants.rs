//! Invariants of a connection between any two calls, asserted in debug builds only.
//!
//! Each structure asserts its own invariants where it changes. This file relates them to each
//! other. It compares the sequence variables of RFC 9293 section 3.3.1 with the scoreboard and the
//! buffers. It also compares states with sent and received data, and timers with the events they
//! wait for. Each check costs O(1) or a search per call. A peer cannot violate any of them:
//! segments are validated on arrival.

use gigatcp_units::Instant;
use gigatcp_wire::Payload;

use super::Connection;
use crate::events::{Phase, State};

/// Whether RFC 9293 allows a transition, in figure 5 or its text.
pub(super) const fn may_follow(from: State, to: State) -> bool {
    use State::*;
    match (from, to) {
        // A reset, an abort, a timeout; CLOSE before there is a connection.
        (_, Closed) => !matches!(from, Closed),
        (Closed, SynSent) | (Listen, SynReceived) => true,
        // The second: two SYNs crossed (MUST-10).
        (SynSent, Established | SynReceived) => true,
        (SynReceived, Established) => true,
        (Established, FinWait1 | CloseWait) => true,
        (FinWait1, FinWait2 | Closing) => true,
        (FinWait2 | Closing, TimeWait) => true,
        (CloseWait, LastAck) => true,
        _ => false,
    }
}

impl<P: Payload> Connection<P> {
    pub(super) fn assert_invariants(&self) {
        if cfg!(debug_assertions) {
            self.assert_send_space();
            self.assert_receive_space();
            self.assert_state();
            self.assert_recovery();
            self.assert_timers();
            self.counters.assert_invariants();
        }
    }

    /// Asserts RFC 9293 figure 3 and the send buffer's agreement with it.
    fn assert_send_space(&self) {
        let snd = &self.snd;
        debug_assert!(
            snd.una <= snd.nxt,
            "SND.UNA {} <= SND.NXT {} (RFC 9293 section 3.4)",
            snd.una,
            snd.nxt
        );
        debug_assert!(
            self.board.in_flight_is(snd.una..snd.nxt),
            "the scoreboard has another flight than {}..{}",
            snd.una,
            snd.nxt
        );
        debug_assert!(
            snd.wl2 <= snd.una,
            "SND.WL2 {} is newer than SND.UNA {}",
            snd.wl2,
            snd.una
        );
        debug_assert!(
            snd.wnd <= snd.max_wnd,
            "SND.WND {} is more than the largest window, {}",
            snd.wnd,
            snd.max_wnd
        );
        debug_assert!(
            snd.shift <= 14 && self.rcv.shift <= 14,
            "window scales {} and {} (RFC 7323 section 2.3)",
            snd.shift,
            self.rcv.shift
        );
        debug_assert!(
            snd.small_end <= snd.nxt,
            "a small segment ends at {}, SND.NXT is {}",
            snd.small_end,
            snd.nxt
        );
        let end = self.send_buffer.end();
        let start = end - self.send_buffer.queued();
        debug_assert!(
            start == snd.una.clamp(1, end),
            "the send buffer begins at {start}, SND.UNA is {}",
            snd.una
        );
        debug_assert!(
            if self.closing.fin_sent {
                snd.nxt == end + 1
            } else {
                snd.nxt <= end
            },
            "SND.NXT is {}, {end} octets and {} FIN are there to send",
            snd.nxt,
            u8::from(self.closing.fin_sent)
        );
        debug_assert!(
            1 <= self.smss && self.smss <= self.mss_limit && self.mss_limit <= self.rmss,
            "SMSS {} <= {} (interface and peer) <= RMSS {}",
            self.smss,
            self.mss_limit,
            self.rmss
        );
        debug_assert!(
            self.board.delivered() >= snd.una + self.board.sacked(),
            "{} octets delivered, SND.UNA is {} and {} are SACKed",
            self.board.delivered(),
            snd.una,
            self.board.sacked()
        );
    }

    /// Asserts RFC 9293 figure 4 and the receive buffer's agreement with it.
    fn assert_receive_space(&self) {
        let rcv = &self.rcv;
        debug_assert!(
            rcv.nxt <= rcv.edge,
            "the window's right edge {} is left of RCV.NXT {}",
            rcv.edge,
            rcv.nxt
        );
        debug_assert!(
            rcv.advertised_edge <= rcv.edge,
            "a window up to {} was said, offered is up to {}",
            rcv.advertised_edge,
            rcv.edge
        );
        debug_assert!(
            rcv.last_ack_sent <= rcv.nxt,
            "acknowledged up to {}, received up to {}",
            rcv.last_ack_sent,
            rcv.nxt
        );
        let readable = self.receive_buffer.readable();
        debug_assert!(
            readable <= rcv.nxt.saturating_sub(1),
            "{readable} octets to read, RCV.NXT is {}",
            rcv.nxt
        );
        let dropped_beyond = self.window.counts_packets() || self.window.may_shrink();
        debug_assert!(
            dropped_beyond || self.receive_buffer.held() <= rcv.wnd(),
            "{} octets are held beyond gaps of a window of {}",
            self.receive_buffer.held(),
            rcv.wnd()
        );
        debug_assert!(
            !self.dsack.as_ref().is_some_and(|range| range.is_empty()),
            "a duplicate of no octets is to be reported (RFC 2883)"
        );
    }

    /// Asserts that sent and received data fit the state (RFC 9293 section 3.3.2).
    fn assert_state(&self) {
        let (snd, rcv, state) = (&self.snd, &self.rcv, self.state);
        debug_assert!(
            !self.is_synchronized() || (snd.una >= 1 && rcv.nxt >= 1),
            "{state:?} with SND.UNA {} and RCV.NXT {}: both SYNs are acknowledged",
            snd.una,
            rcv.nxt
        );
        debug_assert!(
            !self.is_synchronized() || self.established_at.is_some(),
            "{state:?} was not established"
        );
        debug_assert!(
            !matches!(state, State::SynSent | State::SynReceived) || snd.una == 0,
            "{state:?} with SND.UNA {}",
            snd.una
        );
        debug_assert!(
            state != State::SynSent || rcv.nxt == 0,
            "SYN-SENT, and RCV.NXT is {}",
            rcv.nxt
        );
        let has_closed = matches!(
            state,
            State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck | State::TimeWait
        );
        debug_assert!(
            self.closing.fin_wanted || (!has_closed && !self.closing.fin_sent),
            "{state:?}, and the application has not closed"
        );
        let is_acknowledged = matches!(state, State::FinWait2 | State::TimeWait);
        debug_assert!(
            !is_acknowledged || (self.closing.fin_sent && snd.una == snd.nxt),
            "{state:?} with SND.UNA {} and SND.NXT {}: our FIN is acknowledged",
            snd.una,
            snd.nxt
        );
        debug_assert!(
            self.failure.is_none() || state == State::Closed,
            "{:?} in {state:?}",
            self.failure
        );
    }

    /// Asserts that the recovery algorithms fit the phase.
    fn assert_recovery(&self) {
        let (snd, phase) = (&self.snd, self.recovery.phase());
        self.recovery.assert_invariants(snd.una..snd.nxt);
        debug_assert!(
            phase != Phase::Recovery || snd.una < self.recovery.recover(),
            "fast recovery up to {} is not over at SND.UNA {} (RFC 6582, RFC 6675)",
            self.recovery.recover(),
            snd.una
        );
        debug_assert!(
            self.prr.allowance().is_none() || matches!(phase, Phase::Recovery | Phase::Cwr),
            "PRR in {phase:?} (RFC 9937 section 6)"
        );
        debug_assert!(
            self.frto.new_data_only().is_none() || phase == Phase::Loss,
            "F-RTO in {phase:?} (RFC 5682 section 2.1)"
        );
        debug_assert!(
            self.handshake.sack || self.board.sacked() == 0,
            "{} octets are SACKed without SACK",
            self.board.sacked()
        );
        debug_assert!(
            !self.board.has_newly_lost(),
            "octets were marked lost and the congestion control was not informed"
        );
        debug_assert!(
            self.round_end <= snd.nxt,
            "the round ends at {}, SND.NXT is {}",
            self.round_end,
            snd.nxt
        );
    }

    /// Asserts that timers are set exactly for what is awaited.
    fn assert_timers(&self) {
        let is_set = |at: Instant| at != Instant::FAR_FUTURE;
        let in_flight = self.snd.una < self.snd.nxt;
        let is_open = self.state != State::Closed;
        debug_assert!(
            !(is_open && in_flight)
                || is_set(self.timers.retransmit_at)
                || is_set(self.timers.persist_at)
                || self.timers.probe_due
                || self.handshake.syn_due,
            "{}..{} in flight without a timer in {:?} (RFC 6298 section 5, RFC 9293 MUST-36)",
            self.snd.una,
            self.snd.nxt,
            self.state
        );
        debug_assert!(
            in_flight || !is_set(self.timers.early_at),
            "a {:?} timer for nothing in flight",
            self.timers.early_timer
        );
        debug_assert!(
            (self.state == State::TimeWait) == is_set(self.timers.time_wait_until),
            "the timer of TIME-WAIT in {:?}",
            self.state
        );
        debug_assert!(
            is_open || self.poll_timeout().is_none(),
            "a closed connection is to be called at {:?}",
            self.poll_timeout()
        );
        debug_assert!(
            self.timers.timeouts_in_a_row > 0
                || self.timers.persist_backoff == 0
                || self.snd.wnd == 0,
            "the persist timer has backed off {} times at a window of {}",
            self.timers.persist_backoff,
            self.snd.wnd
        );
    }
}
