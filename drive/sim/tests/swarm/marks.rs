//! Checks of ECN at an end: the marks it may count on a path that makes none ([`Marks`]), and for
//! how long it may trust a path that marks every packet ([`Belief`]).
//!
//! On a path that makes none:
//!
//! * With classic feedback: nothing.
//! * With accurate feedback the ACE field counts packets modulo 8. If no option with byte counts
//!   has ever arrived, and an ACK newly covers enough packets that the field may have wrapped
//!   unseen, the safest likely case is assumed (RFC 9768 section 3.2.2.5.2, appendix A.2.1): whole
//!   rounds of the field, each of which needs eight packets newly acknowledged. Anything else is an
//!   error. With options nothing is assumed: they show that no byte was marked.
//! * A peer that keeps no counter in TIME-WAIT (`time_wait_forgets_ecn`: Linux, against section
//!   3.2.2) sends an ACE field of zero, 5 short of the counter's initial value: apparently three
//!   marks. Only a FIN is unacknowledged then, and the window is no longer used.
//! * A client reports each retransmitted SYN-ACK by the handshake's code in a pure ACK without
//!   SACK. A server past the handshake may read that as a counter (section 3.2.2.2), and also the
//!   next one, which corrects it: two errors for each, of fewer than eight marks.
//!
//! If a middlebox turns every ECT into CE, accurate feedback is not obeyed indefinitely (section
//! 3.2.2.3): after some rounds of only such marks the sender distrusts it. Packets that leave as
//! Not-ECT cannot be marked and delay that.

use gigatcp_tcp::connection::{Info, OptionSeen};
use gigatcp_tcp::events::{EcnFeedback, State};
use gigatcp_units::Bytes;
use gigatcp_wire::{Ecn, Flags, Payload, Segment};

/// Modulus of the ACE field.
const ROUND: u64 = 8;

/// Apparent marks of a zero field after a counter of 5.
const FORGOTTEN: u64 = 3;

/// Marks counted by an end on a path without marks.
#[derive(Clone, Copy, Default, Debug)]
pub struct Marks {
    told: u64,
    delivered: Bytes,
    /// Errors that codes of the handshake still excuse.
    excused: u32,
}

/// The handshake's code for a SYN-ACK that arrived as it left (RFC 9768 table 3).
const UNCHANGED: u8 = 0b010;

/// Rounds with marks only after which a path is distrusted.
///
/// Half of them are tolerance for different ways to count in the engine and here.
const ROUNDS: u64 = 8;

/// Rounds of tolerance for each packet that is not ECT.
const ROUNDS_PER_PLAIN: u64 = 2;

impl Marks {
    /// Records a segment that reaches the end; `is_server` if the end answered a SYN.
    pub fn note<P: Payload>(&mut self, segment: &Segment<P>, is_server: bool) {
        let is_bare = segment.seq_len() == 0 && segment.options.sack.is_empty();
        let has_code = segment.flags.ace() == UNCHANGED;
        if is_server && is_bare && has_code && segment.flags.contains(Flags::ACK) {
            self.excused += 2;
        }
    }

    /// Checks the state `info` of an end after a step.
    ///
    /// `packets` is the number of data packets it has sent; `forgets` that its peer keeps no
    /// counter in TIME-WAIT.
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

/// Trust of an end in a path that marks every ECT packet.
#[derive(Clone, Copy, Default, Debug)]
pub struct Belief {
    rounds: u64,
    round_end: u64,
    /// Packets with data that left as Not-ECT while it trusted the path.
    plain: u64,
}

impl Belief {
    /// Records a segment that leaves the end.
    pub fn note<P: Payload>(&mut self, segment: &Segment<P>) {
        let has_data = segment.seq_len() > 0 && !segment.flags.contains(Flags::SYN);
        self.plain += u64::from(has_data && segment.ecn == Ecn::NotEct);
    }

    /// Checks the end after a step.
    pub fn check(&mut self, info: &Info) -> Result<(), String> {
        if info.snd_una > self.round_end {
            self.round_end = info.snd_nxt;
            self.rounds += 1;
        }
        // Without options the counter alone may fall short of the marks.
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
