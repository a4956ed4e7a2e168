//! Acknowledgments that may grow the window.
//!
//! The window does not grow while it is being reduced: in Recovery after loss, in CWR after ECN.
//! Nor does it on the ACK that ends the reduction. That ACK covers a whole window, most of which
//! was reported before, so it shows no spare capacity. An ACK must acknowledge new data, and the
//! window must have been in use (RFC 7661, RFC 9438 section 5.8). After a timeout the window
//! grows: slow start.

use gigatcp_units::Bytes;

use super::{Ack, CongestionKind};
use crate::events::Phase;

/// Effect that an ACK may have on the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckEffect {
    /// None: the window is being reduced.
    None,
    /// No growth, but the RTT counts: the ACK reports data above a gap.
    RttOnly,
    /// Growth, if the window was in use.
    Growth,
}

/// Phase before the current ACK, and whether a reduction is in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    before: Phase,
    reducing: bool,
}

impl Gate {
    /// Notes an ACK; returns the phase before it.
    pub(super) fn pass(&mut self, ack: &Ack) -> Phase {
        self.reducing &= is_reducing(ack.phase);
        core::mem::replace(&mut self.before, ack.phase)
    }

    /// Effect that this ACK may have.
    pub(super) fn effect(&mut self, ack: &Ack) -> AckEffect {
        let before = self.pass(ack);
        if is_reducing(before) || is_reducing(ack.phase) {
            AckEffect::None
        } else if ack.acked == Bytes::ZERO {
            AckEffect::RttOnly
        } else {
            AckEffect::Growth
        }
    }

    /// Whether the window has been reduced for the data in flight.
    pub(super) fn is_reducing(&self) -> bool {
        self.reducing
    }

    /// Notes congestion.
    pub(super) fn on_congestion(&mut self, kind: CongestionKind) {
        self.before = match kind {
            CongestionKind::Loss => Phase::Recovery,
            CongestionKind::Ecn => Phase::Cwr,
            CongestionKind::Timeout => Phase::Loss,
        };
        self.reducing = is_reducing(self.before);
    }

    /// Notes that the data in flight at the reduction is acknowledged. That ACK itself grows
    /// nothing, but new congestion is another event.
    pub(super) fn on_recovery_end(&mut self) {
        self.reducing = false;
    }

    /// Notes that the reduction was undone.
    pub(super) fn on_undo(&mut self) {
        *self = Self::default();
    }
}

/// Whether the window is being reduced in `phase`.
pub(super) fn is_reducing(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Cwr)
}
