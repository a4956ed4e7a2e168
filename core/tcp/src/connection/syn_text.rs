//! Data and FIN on a SYN: RFC 9293 sections 3.4, 3.10.7.2 and 3.10.7.3.
//!
//! Data and FIN in a SYN wait, unacknowledged, until the connection is established. In a SYN-ACK
//! they are accepted immediately, since it establishes the connection. No data is delivered before
//! the three-way handshake has verified the peer's address; Fast Open (`connection/fast_open.rs`)
//! is the faster way. Without the switches `syn_text` and `syn_ack_text` the data is dropped, as most
//! kernels do, and the peer retransmits it: at least one round trip later.
//!
//! At most one segment is kept, and of it no more than the window of the SYN-ACK.

use alloc::boxed::Box;

use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment};

use super::Connection;

impl<P: Payload> Connection<P> {
    /// Keeps data and FIN of the peer's `syn` for later.
    pub(super) fn keep_syn_text(&mut self, syn: &Segment<P>) {
        if self.transport.profile.opening.syn_text && has_text(syn) {
            self.handshake.syn_text = Some(Box::new(without_syn(syn.clone())));
        }
    }

    /// Processes the kept data and FIN once the connection is established.
    pub(super) fn take_syn_text(&mut self, now: Instant) {
        if let Some(mut text) = self.handshake.syn_text.take() {
            // Follows what Fast Open already delivered.
            let seq = self.rcv.nxt;
            self.handle_text(now, seq, &mut text);
        }
    }

    /// Processes data and FIN of the SYN-ACK that has just established the connection. Section
    /// 3.10.7.3 continues at the sixth step.
    pub(super) fn take_syn_ack_text(&mut self, now: Instant, syn_ack: &Segment<P>) {
        let takes = self.transport.profile.opening.syn_ack_text || self.is_fast_open_client();
        if takes && has_text(syn_ack) {
            self.handle_text(now, 1, &mut without_syn(syn_ack.clone()));
        }
    }
}

/// Whether a SYN carries data or FIN.
fn has_text<P: Payload>(syn: &Segment<P>) -> bool {
    !syn.payload.is_empty() || syn.flags.contains(Flags::FIN)
}

/// Segment without SYN, as if its SYN had arrived before.
pub(super) fn without_syn<P>(syn: Segment<P>) -> Segment<P> {
    Segment {
        seq: syn.seq + 1,
        flags: syn.flags.without(Flags::SYN),
        ..syn
    }
}
