//! ICMP errors: RFC 9293 section 3.9.2.2, RFC 5927, RFC 1191.
//!
//! * An error counts only if it quotes a segment in flight, SND.UNA =< SEG.SEQ < SND.NXT (RFC 5927
//!   section 4.1). An attacker must therefore guess a number in the window, as for a reset.
//! * Soft errors never end a connection (MUST-56); the last one is kept for the application
//!   (SHLD-25).
//! * Hard errors end a connection that is still opening (SHLD-26). On a synchronized connection
//!   they count as soft (RFC 5927 section 5.2). The peer has answered, so the port exists, and a
//!   timeout detects everything else.
//! * Source quench is ignored (MUST-55, RFC 6633).
//! * "Too big" is the path's MTU, see `path_mtu`.
//!
//! The driver finds the connection by the quoted addresses and ports (MUST-54).

use gigatcp_units::Instant;
use gigatcp_wire::{IcmpError, IcmpKind, Payload};

use super::{Connection, Failure};
use crate::events::{Event, EventMask, State};

impl<P: Payload> Connection<P> {
    /// Processes an ICMP error that quotes a segment of this connection.
    pub fn handle_icmp(&mut self, now: Instant, error: IcmpError) {
        let quoted = self
            .snd
            .offset_of(error.seq)
            .filter(|seq| self.transport.profile.defense.icmp_errors && self.is_in_flight(*seq))
            // A connection that failed while opening still has its SYN in flight.
            .filter(|_| self.state != State::Closed);
        let opening = !self.is_synchronized();
        let believed = quoted.is_some_and(|seq| self.take_icmp(now, error.kind, seq));
        if believed {
            self.counters.icmp_errors += 1;
            if opening && let Some(outcome) = self.open_fast_open_outcome() {
                outcome.icmp_error = true;
            }
        } else {
            self.counters.icmp_errors_ignored += 1;
        }
        let event = Event::IcmpArrived {
            kind: error.kind,
            believed,
        };
        self.outbox.put(EventMask::CHANGES, now, event);
    }

    /// Whether `seq` is in flight (RFC 5927 section 4.1).
    fn is_in_flight(&self, seq: u64) -> bool {
        self.snd.una <= seq && seq < self.snd.nxt
    }

    /// Acts on an error about the segment at `seq`. Returns whether it had an effect.
    fn take_icmp(&mut self, now: Instant, kind: IcmpKind, seq: u64) -> bool {
        // RFC 5925 section 7.8: ICMP errors are not signed, so harmful ones are ignored on an
        // authenticated connection. Probes find the path MTU anyway.
        let would_harm = kind.is_hard() || matches!(kind, IcmpKind::TooBig { .. });
        if self.authentication.is_some() && would_harm {
            return false;
        }
        match kind {
            IcmpKind::SourceQuench => return false,
            IcmpKind::TooBig { mtu } => return self.handle_too_big(now, seq, mtu),
            _ if (kind.is_hard() || self.transport.profile.defense.soft_errors_end_opens)
                && !self.is_synchronized() =>
            {
                self.soft_error = Some(kind);
                self.fail(now, Failure::Unreachable);
            }
            _ => self.soft_error = Some(kind),
        }
        true
    }
}
