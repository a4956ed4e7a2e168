//! Text and FIN on a SYN: RFC 9293 sections 3.4, 3.10.7.2 and 3.10.7.3.
//!
//! What stands on a SYN next to it waits, unacknowledged, until the connection
//! is established; what stands on a SYN-ACK is taken at once, for with it the
//! connection is. No data is read before the three-way handshake has shown
//! that the peer is where it says: to be faster takes Fast Open
//! (`connection/fast_open.rs`). Without the switch `syn_text` it is dropped, as
//! most kernels do, and the peer retransmits it: one round trip later or more.
//!
//! No more is kept than one segment, and of that no more than the window of the
//! SYN-ACK offers.

use alloc::boxed::Box;

use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment};

use super::Connection;

impl<P: Payload> Connection<P> {
    /// Keeps text and FIN of the peer's `syn` for later.
    pub(super) fn keep_syn_text(&mut self, syn: &Segment<P>) {
        if self.profile.opening.syn_text && has_text(syn) {
            self.handshake.syn_text = Some(Box::new(without_syn(syn.clone())));
        }
    }

    /// The connection is established: what waited is processed now.
    pub(super) fn take_syn_text(&mut self, now: Instant) {
        if let Some(mut text) = self.handshake.syn_text.take() {
            // Behind what Fast Open took already.
            let seq = self.rcv.nxt;
            self.handle_text(now, seq, &mut text);
        }
    }

    /// Text and FIN of the SYN-ACK that has just established the connection
    /// (section 3.10.7.3: processing goes on at the sixth step).
    pub(super) fn take_syn_ack_text(&mut self, now: Instant, syn_ack: &Segment<P>) {
        if self.profile.opening.syn_text && has_text(syn_ack) {
            self.handle_text(now, 1, &mut without_syn(syn_ack.clone()));
        }
    }
}

/// Whether a SYN carries more than itself.
fn has_text<P: Payload>(syn: &Segment<P>) -> bool {
    !syn.payload.is_empty() || syn.flags.contains(Flags::FIN)
}

/// The same segment as if its SYN had come before.
pub(super) fn without_syn<P>(syn: Segment<P>) -> Segment<P> {
    Segment {
        seq: syn.seq + 1,
        flags: syn.flags.without(Flags::SYN),
        ..syn
    }
}
