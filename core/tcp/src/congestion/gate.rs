//! Which acknowledgments may open the window.
//!
//! The window stands still while it is being reduced (Recovery after loss,
//! CWR after an explicit notification), and so it does for the ACK that ends
//! the reduction: that one acknowledges a whole window at once, most of which
//! was reported before, and says nothing about room for more. It must have
//! acknowledged something new, and the window must have been in use (RFC 7661,
//! RFC 9438 section 5.8). After a timeout the window opens: slow start.

use gigatcp_events::Phase;
use gigatcp_units::Bytes;

use super::{Ack, CongestionKind};

/// What an ACK may do to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passage {
    /// Nothing: it is being reduced.
    Shut,
    /// Nothing, but what the ACK says of round trips counts: it reports what
    /// arrived above a hole.
    Heard,
    /// Open it, were it in use.
    Opens,
}

/// The phase before the ACK at hand, and whether a reduction is in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    before: Phase,
    reducing: bool,
}

impl Gate {
    /// Notes an ACK; answers the phase before it.
    pub(super) fn pass(&mut self, ack: &Ack) -> Phase {
        self.reducing &= is_reducing(ack.phase);
        core::mem::replace(&mut self.before, ack.phase)
    }

    /// What this ACK may do.
    pub(super) fn passage(&mut self, ack: &Ack) -> Passage {
        let before = self.pass(ack);
        if is_reducing(before) || is_reducing(ack.phase) {
            Passage::Shut
        } else if ack.acked == Bytes::ZERO {
            Passage::Heard
        } else {
            Passage::Opens
        }
    }

    /// Whether the window has been reduced for the data that is in flight.
    pub(super) fn is_reducing(&self) -> bool {
        self.reducing
    }

    /// There was congestion.
    pub(super) fn on_congestion(&mut self, kind: CongestionKind) {
        self.before = match kind {
            CongestionKind::Loss => Phase::Recovery,
            CongestionKind::Ecn => Phase::Cwr,
            CongestionKind::Timeout => Phase::Loss,
        };
        self.reducing = is_reducing(self.before);
    }

    /// What was in flight when the window was reduced is acknowledged. The
    /// ACK that did it stays shut out, but new congestion is another event.
    pub(super) fn on_recovery_end(&mut self) {
        self.reducing = false;
    }

    /// The reduction was taken back.
    pub(super) fn on_undo(&mut self) {
        *self = Self::default();
    }
}

/// Whether that phase is one in which the window is being reduced.
pub(super) fn is_reducing(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Cwr)
}
