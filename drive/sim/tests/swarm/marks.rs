//! What an end may hear of congestion marks on a path that makes none.
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

use gigatcp_events::{EcnFeedback, State};
use gigatcp_tcp::connection::{Info, OptionSeen};
use gigatcp_units::Bytes;

/// The ACE field counts modulo this.
const ROUND: u64 = 8;

/// What a field of zero says after a counter of 5.
const FORGOTTEN: u64 = 3;

/// What an end on a quiet path has heard.
#[derive(Clone, Copy, Default, Debug)]
pub struct Marks {
    told: u64,
    delivered: Bytes,
}

impl Marks {
    /// After a step: `info` is what the end knows, `packets` how many with data
    /// it has sent; `forgets` says that its peer keeps no counter in TIME-WAIT.
    pub fn check(&mut self, info: &Info, packets: u64, forgets: bool) -> Result<(), String> {
        let now = Self {
            told: info.ecn.delivered_ce,
            delivered: info.delivered,
        };
        let before = core::mem::replace(self, now);
        let newly = now.told - before.told;
        if newly == 0 {
            return Ok(());
        }
        let (rounds, rest) = (newly / ROUND, newly % ROUND);
        let is_over = matches!(info.state, State::Closed | State::TimeWait);
        let forgotten = if forgets && is_over { FORGOTTEN } else { 0 };
        let covered = (now.delivered - before.delivered).as_u64().min(packets);
        let may_come_round = info.ecn.option_seen != OptionSeen::Seen;
        let is_assumed = info.ecn.feedback == EcnFeedback::Accurate
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
