//! What an end may hear of congestion marks on a path that makes none
//! ([`Marks`]), and for how long it may believe a path that marks every packet
//! ([`Belief`]).
//!
//! On a path that makes none:
//!
//! * With classic feedback: nothing.
//! * With accurate feedback the ACE field counts packets modulo 8. Where no
//!   option has ever come that tells octets, and an acknowledgment newly covers
//!   packets enough that the field may have come round unseen, the safest likely
//!   case is assumed (RFC 9768 section 3.2.2.5.2, appendix A.2.1): whole rounds
//!   of the field, of which each needs eight packets newly acknowledged.
//!   Anything else is a mistake. Where options come there is nothing to assume:
//!   they say that no octet was marked.
//! * A peer that keeps no counter in TIME-WAIT (`time_wait_forgets_ecn`: Linux,
//!   against section 3.2.2) sends an ACE field of zero, 5 short of where the
//!   counter begins: three marks, as far as anybody can tell. What is still to
//!   be acknowledged then is a FIN, and the window is of no use any more.
//! * A client tells of each SYN-ACK that comes again, by the handshake's code in
//!   a pure acknowledgment without SACK. A server that is past the handshake may
//!   take that for a counter (section 3.2.2.2), and so the next one, which brings
//!   it back: two mistakes for each, not of eight marks or more.
//!
//! Where a box turns every ECT into CE, accurate feedback is not obeyed for ever
//! (section 3.2.2.3): after some rounds of nothing else the sender disbelieves
//! it. What leaves as Not-ECT cannot be marked and puts that off.

use gigatcp_events::{EcnFeedback, State};
use gigatcp_tcp::connection::{Info, OptionSeen};
use gigatcp_units::Bytes;
use gigatcp_wire::{Ecn, Flags, Payload, Segment};

/// The ACE field counts modulo this.
const ROUND: u64 = 8;

/// What a field of zero says after a counter of 5.
const FORGOTTEN: u64 = 3;

/// What an end on a quiet path has heard.
#[derive(Clone, Copy, Default, Debug)]
pub struct Marks {
    told: u64,
    delivered: Bytes,
    /// Mistakes that codes of the handshake still excuse.
    excused: u32,
}

/// The handshake's code for a SYN-ACK that arrived as it left (RFC 9768 table 3).
const UNCHANGED: u8 = 0b010;

/// Rounds of marks alone after which a path is no longer believed, and as many
/// again for what the engine and the world count differently.
const ROUNDS: u64 = 8;

/// Rounds of which little can be said, for each packet that is not ECT.
const ROUNDS_PER_PLAIN: u64 = 2;

impl Marks {
    /// A segment reaches the end; `is_server` says that it answered a SYN.
    pub fn note<P: Payload>(&mut self, segment: &Segment<P>, is_server: bool) {
        let is_bare = segment.seq_len() == 0 && segment.options.sack.is_empty();
        let has_code = segment.flags.ace() == UNCHANGED;
        if is_server && is_bare && has_code && segment.flags.contains(Flags::ACK) {
            self.excused += 2;
        }
    }

    /// After a step: `info` is what the end knows, `packets` how many with data
    /// it has sent; `forgets` says that its peer keeps no counter in TIME-WAIT.
    pub fn check(&mut self, info: &Info, packets: u64, forgets: bool) -> Result<(), String> {
        let now = Self {
            told: info.ecn.delivered_ce,
            delivered: info.delivered,
            excused: self.excused,
        };
        let before = core::mem::replace(self, now);
        let newly = now.told - before.told;
        if newly == 0 {
            return Ok(());
        }
        let (rounds, rest) = (newly / ROUND, newly % ROUND);
        let is_accurate = info.ecn.feedback == EcnFeedback::Accurate;
        if is_accurate && rounds == 0 && self.excused > 0 {
            self.excused -= 1;
            return Ok(());
        }
        let is_over = matches!(info.state, State::Closed | State::TimeWait);
        let forgotten = if forgets && is_over { FORGOTTEN } else { 0 };
        let covered = (now.delivered - before.delivered).as_u64().min(packets);
        let may_come_round = info.ecn.option_seen != OptionSeen::Seen;
        let is_assumed = is_accurate
            && [0, forgotten].contains(&rest)
            && rounds * ROUND <= if may_come_round { covered } else { 0 };
        if is_assumed {
            Ok(())
        } else {
            Err(format!(
                "heard of {newly} marks on a path that makes none: {before:?} {info:?}"
            ))
        }
    }
}

/// What an end that may doubt makes of a path that marks all that is ECT.
#[derive(Clone, Copy, Default, Debug)]
pub struct Belief {
    rounds: u64,
    round_end: u64,
    /// Packets with data that left as Not-ECT while it believed.
    plain: u64,
}

impl Belief {
    /// A segment leaves the end.
    pub fn note<P: Payload>(&mut self, segment: &Segment<P>) {
        let has_data = segment.seq_len() > 0 && !segment.flags.contains(Flags::SYN);
        self.plain += u64::from(has_data && segment.ecn == Ecn::NotEct);
    }

    /// After a step.
    pub fn check(&mut self, info: &Info) -> Result<(), String> {
        if info.snd_una > self.round_end {
            self.round_end = info.snd_nxt;
            self.rounds += 1;
        }
        // Without options the counter alone may fall short of what is marked.
        let is_certain =
            info.ecn.feedback == EcnFeedback::Accurate && info.ecn.option_seen == OptionSeen::Seen;
        let patience = ROUNDS + ROUNDS_PER_PLAIN * self.plain;
        if is_certain && info.ecn.heeds && self.rounds > patience {
            return Err(format!(
                "believes that every packet is marked: {self:?} {info:?}"
            ));
        }
        Ok(())
    }
}
