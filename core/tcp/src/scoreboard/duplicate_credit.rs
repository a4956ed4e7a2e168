//! Duplicate acknowledgments without SACK: each stands for one segment that left the network.
//!
//! RFC 5681 section 3.2 inflates the window by one SMSS for each; RFC 6582 section 3.2 deflates it
//! at a partial acknowledgment. Here `pipe` shrinks and grows instead, with the same segments sent
//! at the same ACKs.

use super::Scoreboard;

impl Scoreboard {
    /// Octets presumed to have left by duplicate ACKs without SACK.
    #[inline]
    pub fn duplicate_credit(&self) -> u64 {
        self.duplicate_credit
    }

    /// Processes a duplicate acknowledgment without SACK: one more segment has left.
    pub fn on_duplicate_ack(&mut self, smss: u32) {
        let at_most = (self.nxt - self.una).saturating_sub(u64::from(smss));
        self.duplicate_credit = (self.duplicate_credit + u64::from(smss)).min(at_most);
        debug_assert!(
            self.duplicate_credit <= self.nxt - self.una,
            "duplicates stand for {} octets, in flight are {}",
            self.duplicate_credit,
            self.nxt - self.una
        );
    }

    /// Processes a partial acknowledgment without SACK (RFC 6582 section 3.2 step 3). The window
    /// is deflated by what it covers, and inflated by one SMSS if it covers as much. In terms of
    /// `pipe`: the duplicates that stood for covered data are cancelled, except the one for the
    /// retransmission of the gap. If they were lost, or the gap was smaller, the rest is
    /// [`Scoreboard::deflated`].
    pub fn settle_duplicate_credit(&mut self, acked: u64, smss: u32) {
        let smss = u64::from(smss);
        let covered = if acked < smss { acked } else { acked - smss };
        let short = covered.saturating_sub(self.duplicate_credit);
        self.duplicate_credit = self.duplicate_credit.saturating_sub(covered);
        self.deflated += short;
        if self.is_empty() {
            self.clear_duplicate_credit();
        }
    }

    /// Octets that may not leave although `pipe` allows it. NewReno's window is that far below
    /// cwnd.
    #[inline]
    pub fn deflated(&self) -> u64 {
        self.deflated
    }

    /// Clears the credit of duplicate ACKs.
    pub fn clear_duplicate_credit(&mut self) {
        self.duplicate_credit = 0;
        self.deflated = 0;
    }
}
