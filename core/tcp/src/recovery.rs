//! Loss detection, and the begin and end of loss recovery.
//!
//! * RFC 5681 section 3.2: fast retransmit on the third duplicate ACK.
//! * RFC 6582 (NewReno): a partial acknowledgment means the next gap; recovery lasts until
//!   `recover`. Without the heuristics of its section 4: duplicates of data sent before a timeout
//!   never start a recovery. So a segment lost again after one costs another timeout if neither
//!   SACK nor RACK detects it.
//! * RFC 6675: with SACK, loss by the data SACKed above, retransmission by `pipe`.
//! * RFC 6298 section 5: after a timeout everything not SACKed is lost.
//!
//! This module never touches cwnd: it reports congestion to the engine ([`LossDetection::congestion`])
//! and the congestion control reacts. The engine's output decides which octets to send and when
//! ([`crate::connection`]), by `pipe` against cwnd.
//!
//! * RFC 8985: with RACK, loss by time instead of counting, also of retransmissions
//!   ([`AckFacts::overdue`]).
//! * RFC 5681 section 4.3: the loss of a retransmission is a second indication of congestion
//!   ([`ReduceAgain`]).
//!
//! Without RACK a lost retransmission waits for the timer, which reduces anyway. `prr` decides how
//! fast retransmissions leave. `frto`, `eifel` and the D-SACK reports here detect spurious
//! recovery.

use core::ops::Range;

use gigatcp_units::Instant;

use crate::congestion::CongestionKind;
use crate::events::{LossVerdict, Phase};
use crate::profile::Profile;
use crate::scoreboard::{Overdue, Scoreboard};

/// Whether the loss of a retransmission reduces the window once more.
///
/// RFC 5681 section 4.3 requires lowering it twice, in any phase. RFC 8985 section 9.3 repeats
/// that as a MUST only for senders without PRR. With PRR it leaves the decision to the
/// implementer. There a repeated loss releases nothing, so the flight shrinks by itself, but
/// `ssthresh`, where the recovery ends, does not. Linux reduces again after a timeout, by a fast
/// recovery that begins during loss recovery (`FLAG_LOST_RETRANS`), and never within a fast
/// recovery.
///
/// The default follows RFC 5681 literally. With Reno at 100 ms it costs 1 % of the goodput at 1 %
/// random loss, and nothing measurable at 0.1 %.
///
/// One window causes one reduction: only a retransmission sent after the last reduction is a
/// second indication, however many are lost with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceAgain {
    /// Never.
    Never,
    /// After a timeout; in fast recovery only without PRR.
    WithoutPrr,
    /// Always: RFC 5681 literally.
    Always,
}

impl ReduceAgain {
    /// All choices.
    pub(crate) const ALL: [Self; 3] = [Self::Never, Self::WithoutPrr, Self::Always];

    /// Name in plans.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WithoutPrr => "without-prr",
            Self::Always => "always",
        }
    }

    fn applies(self, phase: Phase, prr: bool) -> bool {
        match self {
            Self::Never => false,
            Self::WithoutPrr => phase == Phase::Loss || !prr,
            Self::Always => true,
        }
    }
}

/// Facts about one acknowledgment for loss detection.
#[derive(Clone, Copy, Debug)]
pub struct AckFacts {
    /// SND.UNA after the acknowledgment.
    pub una: u64,
    /// SND.NXT.
    pub nxt: u64,
    /// Octets acknowledged cumulatively.
    pub acked: u64,
    /// Whether it is a duplicate: RFC 5681 section 2, or new SACK information.
    pub duplicate: bool,
    /// Whether SACK is in use.
    pub sack: bool,
    /// SMSS.
    pub smss: u32,
    /// Loss criterion by time, with RACK after any delivery.
    pub overdue: Option<Overdue>,
}

/// Result of loss detection for one acknowledgment or timeout.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossDetection {
    /// Congestion to which the congestion control must react.
    pub congestion: Option<CongestionKind>,
    /// Fast recovery is over.
    pub ended: bool,
    /// Octets newly marked lost: first offset, amount, detection method.
    pub lost: Option<(u64, u64, LossVerdict)>,
    /// With congestion: octets in flight sent by limited transmit. RFC 5681 section 3.2 step 2
    /// does not count them.
    pub limited_transmit: u64,
    /// Whether the retransmission timer keeps running despite newly acknowledged data. RFC 6582
    /// section 3.2 step 3: for all partial ACKs but the first.
    pub keeps_timer: bool,
    /// Octets whose retransmission was found lost.
    pub lost_again: u64,
    /// Number of the latest transmission among these retransmissions.
    pub lost_again_latest: Option<u64>,
    /// Next expiry of the reordering timer.
    pub look_again: Option<Instant>,
}

impl LossDetection {
    /// Takes the losses found by time, or else by SACK counting.
    fn find(&mut self, profile: &Profile, board: &mut Scoreboard, facts: &AckFacts) {
        if let Some(overdue) = &facts.overdue {
            let found = board.mark_lost_by_time(overdue);
            self.lost = found
                .lost
                .map(|(seq, octets)| (seq, octets, LossVerdict::Time));
            self.lost_again = found.resent;
            self.lost_again_latest = found.resent_latest;
            self.look_again = found.look_again;
        } else {
            let found = board.mark_lost_by_sack(profile.recovery.dup_thresh, facts.smss);
            self.lost = found.map(|(seq, octets)| (seq, octets, LossVerdict::Sack));
        }
    }
}

/// State of loss recovery.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    phase: Phase,
    /// `recover` of RFC 6582, `RecoveryPoint` of RFC 6675.
    recover: u64,
    /// End of the reduction of [`Phase::Cwr`]: SND.NXT when it began.
    cwr_end: u64,
    /// Duplicate acknowledgments in a row.
    duplicate_acks: u32,
    /// Whether one retransmission is due whatever `pipe` is. It is the first of a recovery (RFC
    /// 6675 section 5 (4.3)), or a partial ACK's (RFC 6582).
    owes_retransmission: bool,
    /// Whether the rescue retransmission of this recovery was sent.
    rescued: bool,
    /// Whether a partial acknowledgment arrived in this recovery.
    partial: bool,
    /// Octets sent by limited transmit since SND.UNA advanced.
    limited_transmit: u64,
    /// SND.UNA when the episode began. Only duplicates from here up to `recover` can result from
    /// it.
    episode_start: u64,
    /// Octets retransmitted in this episode and not yet reported as duplicates. At zero the whole
    /// episode was spurious.
    unproven: u64,
    /// Whether anything was retransmitted in this episode.
    retransmitted: bool,
    /// Whether the last window reduction belongs to this episode.
    undoable: bool,
    /// The lost data was too big for the path: no congestion, nothing to undo.
    resegmenting: bool,
    /// Number of transmissions at the last reduction for a loss. Earlier ones belong to the window
    /// that was reduced.
    reduced_at: u64,
}

impl Recovery {
    /// Current phase.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// `recover` of RFC 6582, `RecoveryPoint` of RFC 6675.
    pub(crate) fn recover(&self) -> u64 {
        self.recover
    }

    /// Whether duplicate acknowledgments arrived without recovery, with `sacked` octets SACKed.
    /// This holds in Disorder, and during a reduction for a notification.
    #[inline]
    pub fn is_disordered(&self, sacked: u64) -> bool {
        match self.phase {
            Phase::Disorder => true,
            Phase::Cwr => self.duplicate_acks > 0 || sacked > 0,
            Phase::Open | Phase::Recovery | Phase::Loss => false,
        }
    }

    /// Whether a retransmission is due whatever `pipe` is.
    #[inline]
    pub fn owes_retransmission(&self) -> bool {
        self.owes_retransmission
    }

    /// Makes one retransmission due whatever `pipe` is.
    pub fn owe_retransmission(&mut self) {
        self.owes_retransmission = true;
    }

    /// Whether there is no sign of loss: the fast path may be taken.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.phase == Phase::Open && self.duplicate_acks == 0
    }

    /// Notes that `octets` left by limited transmit.
    pub fn on_limited_transmit(&mut self, octets: u64) {
        self.limited_transmit += octets;
    }

    /// Notes that `octets` were retransmitted.
    pub fn on_retransmit(&mut self, octets: u64) {
        self.owes_retransmission = false;
        self.retransmitted = true;
        self.unproven += octets;
    }

    /// Retransmits data in flight that was too big for the path. Done as after a timeout, but
    /// without congestion. A reduction in progress continues meanwhile.
    pub fn on_resegmentation(&mut self, in_flight: Range<u64>) {
        self.recover = in_flight.end;
        self.owes_retransmission = true;
        if matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.resegment(in_flight.start);
        }
    }

    /// Cancels the recovery just begun: the loss was an MTU probe.
    pub fn on_probe_lost(&mut self, in_flight: Range<u64>) {
        // One less: the next probe may be the very next segment, and RFC 6582 section 3.2 step 2
        // would hide its loss.
        self.recover = in_flight.end - 1;
        self.owes_retransmission = true;
        self.resegment(in_flight.start);
    }

    /// Enters retransmission without congestion. No loss is marked until all is acknowledged, and
    /// nothing can be undone.
    fn resegment(&mut self, una: u64) {
        self.begin_episode(una);
        self.undoable = false;
        self.phase = Phase::Loss;
        self.resegmenting = true;
        self.duplicate_acks = 0;
        self.limited_transmit = 0;
    }

    /// Whether the retransmitted data was too big, and not lost by congestion.
    #[inline]
    pub fn is_resegmenting(&self) -> bool {
        self.resegmenting
    }

    /// Whether the one rescue retransmission of this recovery may be sent.
    pub fn may_rescue(&self) -> bool {
        self.phase == Phase::Recovery && !self.rescued
    }

    /// Notes that the rescue retransmission was sent.
    pub fn on_rescue(&mut self) {
        self.rescued = true;
    }

    /// Notes a loss of `probe` that a tail loss probe repaired before detection. RFC 8985 section
    /// 7.4. The episode ends as it begins. Returns whether to reduce the window for it.
    pub fn on_probe_repair(&mut self, probe: Range<u64>) -> bool {
        if !matches!(self.phase, Phase::Open | Phase::Disorder) {
            return false;
        }
        self.begin_episode(probe.start);
        self.retransmitted = true;
        self.unproven = probe.end - probe.start;
        self.recover = self.recover.max(probe.end);
        true
    }

    /// Processes a D-SACK of `octets`. Returns whether this proves every retransmission of the
    /// episode spurious (RFC 3708 section 2; as Linux's `undo_retrans`).
    pub fn on_duplicate_report(&mut self, octets: Range<u64>) -> bool {
        let of_this_episode = octets.start.max(self.episode_start)..octets.end.min(self.recover);
        if !self.retransmitted || !self.undoable || of_this_episode.is_empty() {
            return false;
        }
        let count = of_this_episode.end - of_this_episode.start;
        self.unproven = self.unproven.saturating_sub(count);
        let unnecessary = self.unproven == 0;
        self.retransmitted = !unnecessary;
        unnecessary
    }

    /// Ends an episode that is undone: nothing was lost.
    pub fn end_by_undo(&mut self) {
        self.phase = Phase::Open;
        self.limited_transmit = 0;
        self.duplicate_acks = 0;
        self.owes_retransmission = false;
        // Only once, however many duplicates are still reported.
        self.undoable = false;
    }

    /// Enters CWR on a congestion notification (RFC 3168 section 6.1.2): reduces the window,
    /// retransmits nothing. Returns `false` if this window of data was already reduced, for any
    /// reason.
    ///
    /// The caller informs the congestion control ([`CongestionKind::Ecn`]). The reduction ends
    /// when data sent after it is acknowledged ([`LossDetection::ended`]).
    pub fn enter_cwr(&mut self, nxt: u64) -> bool {
        if !matches!(self.phase, Phase::Open | Phase::Disorder) {
            return false;
        }
        self.phase = Phase::Cwr;
        self.cwr_end = nxt;
        // No D-SACK may undo this reduction.
        self.undoable = false;
        true
    }

    /// Processes one acknowledgment. After a timeout everything is already marked lost, and no
    /// recovery begins until data sent before it is acknowledged (RFC 6675 section 5.1).
    ///
    /// The reordering timer (RFC 8985 section 6.2 step 5) calls this too, with nothing
    /// acknowledged.
    pub fn on_ack(
        &mut self,
        profile: &Profile,
        board: &mut Scoreboard,
        facts: &AckFacts,
    ) -> LossDetection {
        self.assert_invariants(facts.una..facts.nxt);
        match self.phase {
            Phase::Open | Phase::Disorder => self.on_ack_in_open(profile, board, facts),
            Phase::Cwr => self.on_ack_in_cwr(profile, board, facts),
            Phase::Recovery => self.on_ack_in_recovery(profile, board, facts),
            Phase::Loss if facts.una < self.recover => {
                // Losses after the timeout, and repeated losses, are found only by time: counting
                // has marked everything before.
                let mut detection = LossDetection::default();
                if facts.overdue.is_some() {
                    detection.find(profile, board, facts);
                    self.reduce_again(profile, board, facts, &mut detection);
                }
                detection
            }
            Phase::Loss => {
                self.end();
                self.on_ack_in_open(profile, board, facts)
            }
        }
    }

    /// Asserts the invariants with `flight` in flight: recorded positions were sent.
    pub(crate) fn assert_invariants(&self, flight: Range<u64>) {
        debug_assert!(
            self.recover <= flight.end,
            "RecoveryPoint {} lies beyond SND.NXT {} (RFC 6675 section 5)",
            self.recover,
            flight.end
        );
        debug_assert!(
            self.cwr_end <= flight.end,
            "the reduction ends at {}, beyond SND.NXT {}",
            self.cwr_end,
            flight.end
        );
        debug_assert!(
            self.episode_start <= flight.start,
            "the episode began at {}, beyond SND.UNA {}",
            self.episode_start,
            flight.start
        );
        debug_assert!(
            !self.resegmenting || self.phase == Phase::Loss,
            "what was too big is repaired in {:?}",
            self.phase
        );
    }

    /// Processes a retransmission timeout. `again`: nothing was acknowledged since the previous
    /// one. `marked` is what `board` marked: the first offset, and total octets lost.
    pub fn on_timeout(
        &mut self,
        board: &Scoreboard,
        marked: (u64, u64),
        nxt: u64,
        again: bool,
    ) -> LossDetection {
        let first = self.phase != Phase::Loss || !again;
        let (seq, octets) = marked;
        if first {
            self.begin_episode(seq);
        }
        self.phase = Phase::Loss;
        self.resegmenting = false;
        self.recover = nxt;
        self.reduced_at = board.departures();
        self.limited_transmit = 0;
        self.duplicate_acks = 0;
        self.owes_retransmission = true;
        LossDetection {
            congestion: first.then_some(CongestionKind::Timeout),
            lost: Some((seq, octets, LossVerdict::Timeout)),
            ..LossDetection::default()
        }
    }

    /// Looks for the first loss, in Open or Disorder.
    fn on_ack_in_open(
        &mut self,
        profile: &Profile,
        board: &mut Scoreboard,
        facts: &AckFacts,
    ) -> LossDetection {
        let limited_transmit = self.limited_transmit;
        if facts.acked > 0 {
            self.duplicate_acks = 0;
            self.limited_transmit = 0;
            board.clear_duplicate_credit();
        }
        if facts.duplicate {
            self.duplicate_acks += 1;
            if !facts.sack {
                board.on_duplicate_ack(facts.smss);
            }
        } else if profile.recovery.row_of_duplicates_ends && facts.acked == 0 {
            self.duplicate_acks = 0;
            board.clear_duplicate_credit();
        }
        let mut detection = LossDetection::default();
        if profile.recovery.fast_retransmit
            && let Some(lost) = self.find_first_loss(profile, board, facts, &mut detection)
        {
            self.begin_recovery(board, facts);
            return LossDetection {
                congestion: Some(CongestionKind::Loss),
                lost: Some(lost),
                limited_transmit,
                ..detection
            };
        }
        let suspicious = self.duplicate_acks > 0 || board.sacked() > 0;
        self.phase = if suspicious {
            Phase::Disorder
        } else {
            Phase::Open
        };
        detection
    }

    /// Processes an acknowledgment in CWR. CWR ends once an octet sent after the notification is
    /// acknowledged, as in Linux. This also shows that the CWR flag reached the receiver (RFC 3168
    /// section 6.1.2). A loss found earlier belongs to a window already reduced: it is
    /// retransmitted without another reduction.
    fn on_ack_in_cwr(
        &mut self,
        profile: &Profile,
        board: &mut Scoreboard,
        facts: &AckFacts,
    ) -> LossDetection {
        let ended = facts.una > self.cwr_end || facts.una == facts.nxt;
        let mut detection = self.on_ack_in_open(profile, board, facts);
        detection.ended = ended;
        if !ended {
            detection.congestion = None;
            self.undoable = false;
            if self.phase != Phase::Recovery {
                self.phase = Phase::Cwr;
            }
        }
        detection
    }

    /// Begins fast recovery, until all data now in flight is acknowledged.
    fn begin_recovery(&mut self, board: &Scoreboard, facts: &AckFacts) {
        self.begin_episode(facts.una);
        self.phase = Phase::Recovery;
        self.resegmenting = false;
        self.recover = facts.nxt;
        self.reduced_at = board.departures();
        self.owes_retransmission = true;
        self.rescued = false;
        self.partial = false;
        self.limited_transmit = 0;
    }

    /// Reduces the window again after a lost retransmission (RFC 5681 section 4.3). It must have
    /// left after the last reduction. A new fast recovery begins during another or during recovery
    /// from a timeout.
    fn reduce_again(
        &mut self,
        profile: &Profile,
        board: &Scoreboard,
        facts: &AckFacts,
        detection: &mut LossDetection,
    ) {
        let is_news = detection
            .lost_again_latest
            .is_some_and(|departure| departure >= self.reduced_at);
        let applies = profile
            .recovery
            .reduce_again
            .applies(self.phase, profile.recovery.prr.is_some());
        if is_news && applies && profile.recovery.fast_retransmit {
            self.begin_recovery(board, facts);
            detection.congestion = Some(CongestionKind::Loss);
        }
    }

    fn begin_episode(&mut self, una: u64) {
        self.episode_start = una;
        self.unproven = 0;
        self.retransmitted = false;
        self.undoable = true;
    }

    /// Finds the first loss by RFC 6675 section 5, or by the third duplicate acknowledgment. With
    /// NewReno, duplicates for the previous window do not count (RFC 6582 section 3.2 step 2).
    fn find_first_loss(
        &self,
        profile: &Profile,
        board: &mut Scoreboard,
        facts: &AckFacts,
        detection: &mut LossDetection,
    ) -> Option<(u64, u64, LossVerdict)> {
        if facts.sack {
            detection.find(profile, board, facts);
        }
        if detection.lost.is_some() || facts.overdue.is_some() {
            return detection.lost;
        }
        let enough = self.duplicate_acks >= profile.recovery.dup_thresh;
        let careful = !facts.sack && profile.recovery.newreno;
        if !enough || (careful && facts.una <= self.recover) {
            return None;
        }
        let (seq, octets) = board.mark_first_lost(facts.smss)?;
        Some((seq, octets, LossVerdict::DuplicateAcks))
    }

    /// Continues or ends fast recovery.
    fn on_ack_in_recovery(
        &mut self,
        profile: &Profile,
        board: &mut Scoreboard,
        facts: &AckFacts,
    ) -> LossDetection {
        let plain_reno = !facts.sack && !profile.recovery.newreno;
        if facts.una >= self.recover || (plain_reno && facts.acked > 0) {
            self.end();
            // The same acknowledgment may show losses in the next window.
            let next = self.on_ack_in_open(profile, board, facts);
            return LossDetection {
                ended: true,
                ..next
            };
        }
        let mut detection = LossDetection::default();
        if facts.sack {
            detection.find(profile, board, facts);
            self.reduce_again(profile, board, facts, &mut detection);
        } else if facts.acked > 0 {
            board.settle_duplicate_credit(facts.acked, facts.smss);
            detection.lost = board
                .mark_first_lost(facts.smss)
                .map(|(seq, octets)| (seq, octets, LossVerdict::PartialAck));
            self.owes_retransmission = detection.lost.is_some();
            detection.keeps_timer = core::mem::replace(&mut self.partial, true)
                && !profile.timer.partial_ack_restarts_timer;
        } else if facts.duplicate {
            board.on_duplicate_ack(facts.smss);
        }
        detection
    }

    /// Ends recovery: everything up to `recover` is acknowledged.
    fn end(&mut self) {
        self.phase = Phase::Open;
        self.resegmenting = false;
        self.duplicate_acks = 0;
        self.owes_retransmission = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_units::Instant;

    const SMSS: u32 = 1000;

    /// Twenty segments in flight.
    fn flight() -> (Recovery, Scoreboard) {
        let mut board = Scoreboard::new();
        board.on_transmit(Instant::ZERO, 20_000);
        (Recovery::default(), board)
    }

    fn acknowledge(recovery: &mut Recovery, board: &mut Scoreboard, una: u64) -> LossDetection {
        take(recovery, board, una, 0)
    }

    /// Processes an acknowledgment up to `una`. `sacked` octets are SACKed above a gap of one
    /// segment.
    fn take(
        recovery: &mut Recovery,
        board: &mut Scoreboard,
        una: u64,
        sacked: u64,
    ) -> LossDetection {
        let mut revealed = crate::scoreboard::Revealed::default();
        board.on_ack(una, &mut revealed);
        if sacked > 0 {
            board.on_sack(una + 1000..una + 1000 + sacked, &mut revealed);
        }
        let facts = AckFacts {
            una,
            nxt: 20_000,
            acked: revealed.acked,
            duplicate: sacked > 0,
            sack: true,
            smss: SMSS,
            overdue: None,
        };
        recovery.on_ack(&Profile::MODERN, board, &facts)
    }

    #[test]
    fn a_notification_reduces_once_per_window_of_data() {
        // RFC 3168 section 6.1.2.
        let (mut recovery, mut board) = flight();
        assert!(recovery.enter_cwr(10_000));
        assert!(!recovery.enter_cwr(12_000));
        assert!(!acknowledge(&mut recovery, &mut board, 10_000).ended);
        assert_eq!(recovery.phase(), Phase::Cwr);
        assert!(acknowledge(&mut recovery, &mut board, 11_000).ended);
        assert_eq!(recovery.phase(), Phase::Open);
        assert!(recovery.enter_cwr(20_000));
    }

    #[test]
    fn a_loss_in_a_window_already_reduced_is_repaired_without_another_reduction() {
        let (mut recovery, mut board) = flight();
        recovery.enter_cwr(20_000);
        let detection = take(&mut recovery, &mut board, 0, 4000);
        assert_eq!(detection.congestion, None);
        assert!(detection.lost.is_some());
        assert_eq!(recovery.phase(), Phase::Recovery);
        // A D-SACK of the retransmission does not undo a reduction made for another reason.
        recovery.on_retransmit(1000);
        assert!(!recovery.on_duplicate_report(0..1000));
    }

    #[test]
    fn the_acknowledgment_of_everything_ends_the_reduction() {
        let (mut recovery, mut board) = flight();
        recovery.enter_cwr(20_000);
        assert!(acknowledge(&mut recovery, &mut board, 20_000).ended);
        assert_eq!(recovery.phase(), Phase::Open);
    }

    #[test]
    fn in_recovery_and_after_a_timeout_a_notification_is_no_news() {
        let (mut recovery, mut board) = flight();
        take(&mut recovery, &mut board, 0, 4000);
        assert_eq!(recovery.phase(), Phase::Recovery);
        assert!(!recovery.enter_cwr(20_000));
        let marked = board.mark_all_lost();
        recovery.on_timeout(&board, marked, 20_000, false);
        assert!(!recovery.enter_cwr(20_000));
    }
}
