//! Fast Open without the feature `fast-open`: data in SYN is never delivered early.

use core::convert::Infallible;

use gigatcp_units::Instant;
use gigatcp_wire::{FastOpenCookie, Options, Payload, Segment};

use super::{Connection, ConnectionConfig, Received};
use crate::fast_open::{FastOpenOutcome, FastOpenSlot};

/// Always `None`.
pub(super) type OptionalFastOpen = Option<Infallible>;

impl<P: Payload> Connection<P> {
    /// Whether the connection was opened with data in SYN: never.
    #[doc(hidden)]
    pub const fn is_opened_fast(&self) -> bool {
        false
    }

    /// Whether data in a SYN was accepted early: never.
    pub(super) const fn has_taken_syn_text(&self) -> bool {
        false
    }

    #[doc(hidden)]
    pub fn accept_fast_open(
        now: Instant,
        config: &ConnectionConfig,
        syn: &Received<P>,
        _grant: Option<FastOpenCookie>,
        _take_text: bool,
    ) -> Option<Self> {
        Self::accept(now, config, syn)
    }

    pub(crate) fn hold_fast_open_slot(&mut self, _slot: FastOpenSlot) {}

    pub(super) fn release_fast_open_slot(&mut self) {}

    pub(super) const fn may_send_early(&self) -> bool {
        false
    }

    pub(super) const fn fast_open_option(&self) -> Option<FastOpenCookie> {
        None
    }

    pub(super) const fn text_for_syn(&self, _options: &Options) -> u64 {
        0
    }

    pub(super) const fn is_fast_open_client(&self) -> bool {
        false
    }

    pub(super) const fn resends_syn_text(&self) -> bool {
        false
    }

    pub(super) const fn open_fast_open_outcome(&mut self) -> Option<&mut FastOpenOutcome> {
        None
    }

    pub(super) fn note_fast_open_answer(&mut self, _ack: u64, _answer: &Segment<P>) {}
}
