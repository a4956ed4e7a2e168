//! Telling the congestion control that there was congestion.
//!
//! Whoever finds it (acknowledgments, the timer, an explicit notification)
//! comes here, so that the control, the events and the phase always agree.

use gigatcp_events::{CwndCause, Phase};
use gigatcp_units::{Bytes, Instant};
use gigatcp_wire::Payload;

use super::Connection;
use crate::congestion::{Congestion, CongestionKind};

impl<P: Payload> Connection<P> {
    /// The network said that it is congested (RFC 3168 section 6.1.2): the
    /// window is reduced once per window of data and nothing is repaired.
    /// Returns whether it was reduced now.
    pub(super) fn enter_cwr(&mut self, now: Instant) -> bool {
        let from = self.recovery.phase();
        if !self.recovery.enter_cwr(self.snd.nxt) {
            return false;
        }
        let flight_size = self.snd.flight_size();
        self.reduce_window(now, CongestionKind::Ecn, flight_size, self.board.pipe());
        self.begin_reduction(0, self.board.sacked());
        self.put_phase(now, from);
        true
    }

    /// The control answers congestion of `kind`; `flight_size` and `pipe` in
    /// octets, as the control is to see them.
    pub(super) fn reduce_window(
        &mut self,
        now: Instant,
        kind: CongestionKind,
        flight_size: u64,
        pipe: u64,
    ) {
        let (flight_size, bounds) = self.validate_reduction(now, kind, flight_size);
        self.congestion.on_congestion(&Congestion {
            now,
            kind,
            flight_size: Bytes::new(flight_size),
            pipe: Bytes::new(pipe),
        });
        self.ecn.on_reduction();
        let cause = match kind {
            CongestionKind::Timeout => CwndCause::Timeout,
            CongestionKind::Loss => CwndCause::EnterRecovery,
            CongestionKind::Ecn => CwndCause::Notified,
        };
        self.put_cwnd(now, cause);
        if let Some(bounds) = bounds {
            self.bound_window(now, &bounds);
        }
    }

    /// A reduction proved unnecessary: the window returns, and with it the
    /// phase.
    pub(super) fn undo_reduction(&mut self, now: Instant) {
        let from = self.recovery.phase();
        self.counters.undos += 1;
        if from == Phase::Loss || self.profile.rack {
            // The timer was wrong about all of it; time judges the rest anew.
            self.board.forget_losses();
        }
        if from != Phase::Loss {
            // Late, not lost: whatever overtook it was early.
            self.rack.note_reordering();
        }
        self.prr.end();
        self.frto.stop();
        self.eifel.stop();
        self.recovery.end_by_undo();
        self.congestion.undo(now);
        self.validation.on_undo();
        self.ecn.on_undo();
        self.put_cwnd(now, CwndCause::Undo);
        self.put_phase(now, from);
    }
}
