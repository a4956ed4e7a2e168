//! Reporting congestion to the congestion control.
//!
//! All detection (acknowledgments, the timer, an explicit notification) is reported here, so that
//! the control, the events and the phase always agree.

use gigatcp_units::{Bytes, Instant};
use gigatcp_wire::Payload;

use super::Connection;
use crate::congestion::{Congestion, CongestionKind, Lost};
use crate::events::{CwndCause, Phase};
use crate::scoreboard::Revealed;

impl<P: Payload> Connection<P> {
    /// Enters CWR on a congestion notification (RFC 3168 section 6.1.2). The window is reduced
    /// once per window of data and nothing is retransmitted. `revealed` belongs to the
    /// acknowledgment with the notification. Returns whether the window was reduced now.
    pub(super) fn enter_cwr(&mut self, now: Instant, revealed: &Revealed) -> bool {
        let from = self.recovery.phase();
        if !self.recovery.enter_cwr(self.snd.nxt) {
            return false;
        }
        let flight_size = self.flight_size_at_congestion(revealed.acked, 0);
        self.reduce_window(now, CongestionKind::Ecn, flight_size, self.board.pipe());
        self.put_phase(now, from);
        true
    }

    /// `FlightSize` when an acknowledgment that removed `acked` octets from the flight reveals
    /// congestion. These octets were in the network when it was congested, and an acknowledgment
    /// of everything must not leave the minimum window. So they count, up to cwnd: beyond cwnd
    /// lies only data SACKed long before. Data sent by limited transmit does not count (RFC 5681
    /// section 3.2 step 2).
    ///
    /// SACKed octets count, which matters little at the third duplicate. RACK waits longer, and
    /// new data replaces SACKed data meanwhile: up to three windows may be unacknowledged that
    /// were never in the network together. At most cwnd was, so with RACK cwnd is the bound; Linux
    /// uses cwnd itself. The same holds for a timeout during recovery.
    ///
    /// The part of cwnd that waits for a larger super-segment counts as in flight. The sender
    /// chose to wait; the window is not unused. Without it the window would be halved from less
    /// than it had proved to carry.
    ///
    /// With `reduces_cwnd` it is all of cwnd, used or not.
    pub(super) fn flight_size_at_congestion(&self, acked: u64, limited_transmit: u64) -> u64 {
        let cwnd = self.congestion.cwnd().as_u64();
        if self.transport.profile.congestion.reduces_cwnd {
            return cwnd;
        }
        let left = self.snd.flight_size().saturating_sub(limited_transmit);
        let flight_size = left.max((left + acked).min(cwnd));
        if self.waits_fill_the_window() {
            flight_size.max(cwnd)
        } else if self.transport.profile.recovery.rack && self.handshake.sack {
            flight_size.min(cwnd)
        } else {
            flight_size
        }
    }

    /// Reduces the window for congestion of `kind`. `flight_size` and `pipe`, in octets, are
    /// passed to the control.
    pub(super) fn reduce_window(
        &mut self,
        now: Instant,
        kind: CongestionKind,
        flight_size: u64,
        pipe: u64,
    ) {
        let (flight_size, bounds) = self.validate_reduction(now, kind, flight_size);
        let (before, smss) = (self.congestion.cwnd(), u64::from(self.smss));
        self.congestion.on_congestion(&Congestion {
            now,
            kind,
            flight_size: Bytes::new(flight_size),
            pipe: Bytes::new(pipe),
        });
        debug_assert!(
            self.congestion.cwnd() <= before.max(Bytes::new(4 * smss)),
            "{kind:?} raises cwnd from {before} to {}",
            self.congestion.cwnd()
        );
        // Repeated timeouts keep ssthresh, whose segments may have been smaller.
        debug_assert!(
            kind == CongestionKind::Timeout || self.congestion.ssthresh() >= Bytes::new(2 * smss),
            "{kind:?} leaves ssthresh {} (RFC 5681 equation 4)",
            self.congestion.ssthresh()
        );
        if self.is_quick_starting() {
            self.give_up_quick_start(now);
        }
        self.ecn.on_reduction();
        if kind != CongestionKind::Ecn {
            self.counters.loss_events += 1;
        }
        let cause = match kind {
            CongestionKind::Timeout => CwndCause::Timeout,
            CongestionKind::Loss => CwndCause::EnterRecovery,
            CongestionKind::Ecn => CwndCause::Notified,
        };
        self.put_cwnd(now, cause);
        if let Some(bounds) = bounds {
            self.bound_window(now, &bounds);
        }
        if self.resume.is_some() {
            self.retreat(now, kind);
        }
    }

    /// Reports each newly lost part to the control, with the delivery state when it left.
    #[inline]
    pub(super) fn tell_losses(&mut self, now: Instant) {
        if self.board.has_newly_lost() {
            self.tell_each_loss(now);
        }
    }

    fn tell_each_loss(&mut self, now: Instant) {
        let total_delivered = Bytes::new(self.board.delivered());
        let control = &mut self.congestion;
        self.board.take_newly_lost(|part| {
            let state = &part.state;
            let lost = Lost {
                now,
                from: part.from,
                octets: Bytes::new(part.octets),
                lost: Bytes::new(part.lost_so_far - state.lost),
                total_delivered,
                prior_delivered: Bytes::new(state.delivered),
                tx_in_flight: Bytes::new(u64::from(state.in_flight)),
                sent_at: state.sent_at,
                app_limited: state.app_limited,
                is_retransmission: part.is_retransmission,
            };
            lost.assert_invariants();
            control.on_lost(&lost);
        });
    }

    /// Undoes a reduction that proved unnecessary: restores the window and the phase.
    pub(super) fn undo_reduction(&mut self, now: Instant) {
        let from = self.recovery.phase();
        self.counters.undos += 1;
        if from == Phase::Loss || self.transport.profile.recovery.rack {
            // The timeout was spurious for all of it; RACK decides about the rest again.
            self.board.forget_losses();
        }
        if from != Phase::Loss {
            // The segment was late, not lost: what overtook it shows reordering.
            self.rack.note_reordering();
        }
        self.prr.end();
        self.frto.reset();
        self.eifel.stop();
        self.recovery.end_by_undo();
        self.congestion.undo(now);
        if let Some(validation) = super::validation::validation(&mut self.unused_window) {
            validation.on_undo();
        }
        self.ecn.on_undo();
        self.put_cwnd(now, CwndCause::Undo);
        self.put_phase(now, from);
    }
}
