//! Retransmissions of reordered segments: the sender marked them lost, but the observer sees both
//! transmissions.
//!
//! After the reordering element, the original passes late and out of order, and a copy of it passes
//! before or after. The timestamp shows which of the two is the original. Without timestamps the IP
//! identification does, which grows from packet to packet of a connection if a host counts it. A
//! copy proves that the sender considered the segment lost (RFC 3522 and RFC 2883 prove it to the
//! sender; this requires neither).
//!
//! Out of scope: their fate behind the capture point. Near the sender nothing has been overtaken
//! yet, and nothing is reported.

use alloc::collections::VecDeque;

use gigatcp_flows::{Kinds, PacketSummary};

use crate::echoes::is_newer;

/// Maximum number of passages remembered.
const MOST: usize = 64;

/// A segment that was reordered, or retransmitted.
#[derive(Clone, Copy, Debug)]
struct Passage {
    start: u64,
    end: u64,
    made: Made,
    is_copy: bool,
}

/// Fields that show which of two packets is older.
#[derive(Clone, Copy, Debug)]
struct Made {
    ts_val: Option<u32>,
    ident: u16,
}

impl Made {
    const fn of(packet: &PacketSummary) -> Self {
        Self {
            ts_val: match packet.timestamps {
                Some(stamps) => Some(stamps.val),
                None => None,
            },
            ident: packet.ident,
        }
    }

    /// Whether it was made before `other`; `None` if both are indistinguishable.
    fn is_before(self, other: Self) -> Option<bool> {
        if let (Some(mine), Some(theirs)) = (self.ts_val, other.ts_val)
            && mine != theirs
        {
            return Some(is_newer(theirs, mine));
        }
        let are_counted = self.ident != 0 && other.ident != 0 && self.ident != other.ident;
        are_counted.then(|| other.ident.wrapping_sub(self.ident).cast_signed() > 0)
    }
}

/// Result for a packet that fills a gap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReorderResult {
    /// A copy of a reordered segment.
    CopyOfLate,
    /// Reordered: a copy of it has overtaken it.
    Overtaken,
    /// As classified before.
    AsItSeems,
}

/// The latest reordered segments and copies of them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Overtaken(VecDeque<Passage>);

impl Overtaken {
    /// Records a reordered segment from `start` to `end`.
    pub fn on_late(&mut self, range: (u64, u64), packet: &PacketSummary) {
        self.note(range, packet, false);
    }

    /// Classifies a segment that looks retransmitted.
    pub fn on_again(
        &mut self,
        (start, end): (u64, u64),
        packet: &PacketSummary,
        kinds: Kinds,
    ) -> ReorderResult {
        debug_assert!(
            kinds.is_retransmission(),
            "what passes again is a retransmission: {kinds:?}"
        );
        let made = Made::of(packet);
        let covers = |one: &Passage| one.start < end && start < one.end;
        if let Some(place) = self.0.iter().position(covers) {
            let other = self.0[place];
            let is_older = made.is_before(other.made);
            if !other.is_copy && is_older == Some(false) {
                self.0.remove(place);
                return ReorderResult::CopyOfLate;
            }
            if other.is_copy && is_older == Some(true) {
                self.0.remove(place);
                return ReorderResult::Overtaken;
            }
        }
        self.note((start, end), packet, true);
        ReorderResult::AsItSeems
    }

    fn note(&mut self, (start, end): (u64, u64), packet: &PacketSummary, is_copy: bool) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Passage {
            start,
            end,
            made: Made::of(packet),
            is_copy,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_flows::Kind;
    use gigatcp_units::Instant;
    use gigatcp_wire::{Flags, SeqNumber};

    fn packet(ident: u16) -> PacketSummary {
        PacketSummary {
            at: Instant::ZERO,
            seq: SeqNumber::new(0),
            ack: SeqNumber::new(0),
            flags: Flags::ACK,
            wnd: 0,
            ident,
            options_len: 0,
            has_sack_or_ce: false,
            payload_len: 1000,
            timestamps: None,
        }
    }

    fn again() -> Kinds {
        let mut kinds = Kinds::NONE;
        kinds.add(Kind::FastRetransmission);
        kinds
    }

    #[test]
    fn a_newer_packet_of_what_came_late_is_a_needless_copy() {
        let mut overtaken = Overtaken::default();
        overtaken.on_late((0, 1000), &packet(7));
        let turned = overtaken.on_again((0, 1000), &packet(20), again());
        assert_eq!(turned, ReorderResult::CopyOfLate);
    }

    #[test]
    fn an_older_packet_behind_its_copy_was_overtaken_by_it() {
        let mut overtaken = Overtaken::default();
        let first = overtaken.on_again((0, 1000), &packet(20), again());
        let second = overtaken.on_again((0, 1000), &packet(7), again());
        assert_eq!(
            (first, second),
            (ReorderResult::AsItSeems, ReorderResult::Overtaken)
        );
    }

    #[test]
    fn a_copy_of_a_copy_shows_nothing() {
        let mut overtaken = Overtaken::default();
        overtaken.on_again((0, 1000), &packet(20), again());
        let turned = overtaken.on_again((0, 1000), &packet(30), again());
        assert_eq!(turned, ReorderResult::AsItSeems);
    }
}
