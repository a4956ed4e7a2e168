//! RACK: loss by time, RFC 8985 section 6.
//!
//! A segment is lost when one sent later was delivered and it is `RACK.reo_wnd` late:
//!
//! > lost iff sent before `RACK.segment` and
//! > `xmit_ts` + `RACK.rtt` + `RACK.reo_wnd` <= now
//!
//! `RACK.segment` is the latest transmission known to be delivered, first transmission or not, and
//! `RACK.rtt` its RTT. So the loss of a retransmission is detected like any other, and reordering
//! within the reordering window costs nothing. That window (section 6.2 step 4) is
//!
//! > `reo_wnd` = min(`reo_wnd_mult` * `min_RTT` / 4, SRTT)
//!
//! or zero if no reordering was seen and loss is likely. Each round in which the receiver reports
//! a duplicate raises the multiplier. It is reset after 16 recoveries without.
//!
//! The scoreboard finds the octets concerned (`scoreboard/by_time`).
//!
//! # ACK compression and stretch ACKs
//!
//! A link that delays acknowledgments and releases them together ("ACK compression"), or a
//! receiver that acknowledges seldom, delays only `now`. It does not distort the decision at an
//! acknowledgment. There `RACK.rtt` is now minus the send time of `RACK.segment`, so *now*
//! cancels. What remains is whether a segment left `reo_wnd` before `RACK.segment`: a comparison
//! of two send times. `RACK.rtt` is taken from the latest transmission an acknowledgment covers,
//! the one that waited least. `min_RTT` is taken from the same, and waiting cannot raise a
//! minimum. Data newly delivered by *one* acknowledgment has no order among itself, so reordering
//! is detected against what was known before it (`Revealed::fack`). The loss probe waits two SRTT,
//! which delays only lengthen.
//!
//! The reordering timer can be early: set by a prompt acknowledgment, it may expire while the next
//! ones are delayed. It runs only for segments already overtaken, and a D-SACK widens the window.
//!
//! # Deviations
//!
//! Segments are counted as octets over SMSS, or as separate SACKed ranges if these are more.
//! `min_RTT` is the minimum over a window of time (`min_rtt`).

use gigatcp_units::{Duration, Instant};

use crate::lazy::Untouched;
use crate::retransmissions::Departure;
use crate::scoreboard::{Overdue, Revealed};

/// Recoveries for which the multiplier persists (section 6.2 step 4).
const REO_WND_PERSIST: u32 = 16;

/// Input of RACK from one acknowledgment.
#[derive(Clone, Copy, Debug)]
pub struct RackAck {
    /// Time at which it reached the host.
    pub received_at: Instant,
    /// SND.UNA after the acknowledgment.
    pub una: u64,
    /// SND.NXT.
    pub nxt: u64,
    /// Minimum RTT.
    pub min_rtt: Option<Duration>,
    /// Whether it reports a duplicate of retransmitted data.
    pub duplicate_report: bool,
    /// Latest possible send time of the echoed timestamp; `None` without timestamps.
    pub echo_sent_by: Option<Instant>,
}

/// State of RACK.
#[derive(Clone, Debug)]
pub struct Rack {
    /// `RACK.segment`.
    delivered: Option<Departure>,
    /// `RACK.rtt`.
    rtt: Duration,
    reordering_seen: bool,
    /// Maximum distance in octets by which data was overtaken.
    reordering_extent: u64,
    reo_wnd: Duration,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    dsack_round: Option<u64>,
}

impl Untouched for Rack {
    const UNTOUCHED: &'static Self = &Self {
        delivered: None,
        rtt: Duration::ZERO,
        reordering_seen: false,
        reordering_extent: 0,
        reo_wnd: Duration::ZERO,
        reo_wnd_mult: 1,
        reo_wnd_persist: 0,
        dsack_round: None,
    };
}

/// State before any delivery.
impl Default for Rack {
    fn default() -> Self {
        Self::UNTOUCHED.clone()
    }
}

impl Rack {
    /// `RACK.reordering_seen`.
    pub fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }

    /// Reordering extent seen, in octets.
    pub fn reordering_extent(&self) -> u64 {
        self.reordering_extent
    }

    /// Last value of `RACK.reo_wnd`.
    pub fn reo_wnd(&self) -> Duration {
        self.reo_wnd
    }

    /// Notes reordering after a spurious retransmission: the segment had only been overtaken. The
    /// RFC's step 3 does not detect that, since the octets were retransmitted.
    pub fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Performs section 6.2 steps 2 and 3, and the round count of step 4.
    #[inline]
    pub fn on_ack(&mut self, ack: &RackAck, revealed: &Revealed) {
        if let Some(departure) = revealed.newest_original() {
            self.advance(departure, ack.received_at);
        }
        if let Some(departure) = revealed.newest_resent()
            && is_of_the_retransmission(departure, ack)
        {
            self.advance(departure, ack.received_at);
        }
        // Step 3: an octet sent once arrived below the highest known one.
        let lowest = revealed.lowest_original;
        if let Some(offset) = lowest.filter(|offset| *offset < revealed.fack) {
            self.reordering_seen = true;
            let extent = revealed.fack - offset;
            self.reordering_extent = self.reordering_extent.max(extent);
        }
        if ack.duplicate_report || self.dsack_round.is_some() {
            self.count_round(ack);
        }
    }

    /// Step 2: updates the latest delivered transmission and its RTT.
    #[inline]
    fn advance(&mut self, departure: Departure, received_at: Instant) {
        debug_assert!(
            departure.sent_at <= received_at,
            "{departure:?} is delivered at {received_at:?}"
        );
        if self.delivered.is_none_or(|delivered| delivered < departure) {
            self.delivered = Some(departure);
            self.rtt = received_at.saturating_since(departure.sent_at);
        }
    }

    /// Step 4: at most one report per round raises the multiplier.
    fn count_round(&mut self, ack: &RackAck) {
        if self.dsack_round.is_some_and(|end| ack.una >= end) {
            self.dsack_round = None;
        }
        if ack.duplicate_report && self.dsack_round.is_none() {
            self.dsack_round = Some(ack.nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// Step 4: notes the end of a recovery, fast or after a timeout.
    pub fn on_recovery_end(&mut self) {
        if self.reo_wnd_mult > 1 {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// Step 4: updates `RACK.reo_wnd`. `urgent` holds in recovery, and once `DupThresh` segments
    /// are SACKed.
    pub fn update_reo_wnd(
        &mut self,
        urgent: bool,
        min_rtt: Option<Duration>,
        srtt: Option<Duration>,
    ) {
        self.reo_wnd = match (min_rtt, srtt) {
            _ if urgent && !self.reordering_seen => Duration::ZERO,
            (Some(min_rtt), Some(srtt)) => {
                let wide = min_rtt.saturating_mul(u64::from(self.reo_wnd_mult)) / 4;
                wide.min(srtt)
            }
            _ => Duration::ZERO,
        };
        debug_assert!(
            srtt.map_or(self.reo_wnd.is_zero(), |srtt| self.reo_wnd <= srtt),
            "RACK.reo_wnd {:?} is more than SRTT {srtt:?} (RFC 8985 section 6.2 step 4)",
            self.reo_wnd
        );
        debug_assert!(
            self.reo_wnd_mult >= 1 && self.reo_wnd_persist <= REO_WND_PERSIST,
            "RACK.reo_wnd_mult {}, persists for {} recoveries",
            self.reo_wnd_mult,
            self.reo_wnd_persist
        );
    }

    /// Step 5: returns the scoreboard's criterion of loss; `None` before a delivery.
    pub fn overdue(&self, now: Instant) -> Option<Overdue> {
        Some(Overdue {
            now,
            delivered: self.delivered?,
            after: self.rtt + self.reo_wnd,
        })
    }

    /// Time from departure until a retransmission timeout marks a segment lost (section 6.3).
    /// Before any delivery, SRTT from the handshake replaces `RACK.rtt`.
    pub fn overdue_on_timeout(&self, srtt: Option<Duration>) -> Option<Duration> {
        let rtt = self.delivered.map(|_| self.rtt).or(srtt)?;
        Some(rtt + self.reo_wnd)
    }
}

/// Step 2: whether an acknowledgment belongs to the retransmission, not to a late original. It
/// echoes no timestamp from before the retransmission, and is not faster than any RTT seen.
fn is_of_the_retransmission(departure: Departure, ack: &RackAck) -> bool {
    let echoes_older = ack.echo_sent_by.is_some_and(|by| by < departure.sent_at);
    let rtt = ack.received_at.saturating_since(departure.sent_at);
    !echoes_older && ack.min_rtt.is_none_or(|min_rtt| rtt >= min_rtt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Scoreboard;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn ms(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    fn ack(received_at: u64) -> RackAck {
        RackAck {
            received_at: at(received_at),
            una: 0,
            nxt: 1000,
            min_rtt: ms(40),
            duplicate_report: false,
            echo_sent_by: None,
        }
    }

    /// Ten transmissions of 100 octets, one per millisecond from 0 on.
    fn flight() -> Scoreboard {
        let mut board = Scoreboard::new();
        for n in 0..10 {
            board.on_transmit(at(n), (n + 1) * 100);
        }
        board
    }

    fn sack(rack: &mut Rack, board: &mut Scoreboard, range: core::ops::Range<u64>, now: u64) {
        let mut revealed = board.begin_ack();
        board.on_sack(range, &mut revealed);
        rack.on_ack(&ack(now), &revealed);
    }

    #[test]
    fn what_left_before_the_latest_delivery_by_the_window_of_time_is_lost() {
        let (mut rack, mut board) = (Rack::default(), flight());
        sack(&mut rack, &mut board, 500..600, 45);
        rack.update_reo_wnd(false, ms(8), ms(40));
        assert_eq!(rack.reo_wnd(), Duration::from_millis(2));
        // 0 to 3 left at least 2 ms before 5; 4 has a millisecond left.
        let found = board.mark_lost_by_time(&rack.overdue(at(45)).unwrap());
        assert_eq!(found.lost, Some((0, 400)));
        assert_eq!(found.look_again, Some(at(4 + 40 + 2)));
        let found = board.mark_lost_by_time(&rack.overdue(at(46)).unwrap());
        assert_eq!(found.lost, Some((400, 100)));
        assert_eq!(found.look_again, None, "what left later is not judged");
    }

    #[test]
    fn acknowledgments_held_back_do_not_change_what_is_lost() {
        for late in [0, 7, 500] {
            let (mut rack, mut board) = (Rack::default(), flight());
            sack(&mut rack, &mut board, 500..600, 45 + late);
            rack.update_reo_wnd(false, ms(8), ms(40));
            let found = board.mark_lost_by_time(&rack.overdue(at(45 + late)).unwrap());
            assert_eq!(found.lost, Some((0, 400)), "{late} ms late");
        }
    }

    #[test]
    fn within_one_departure_the_sequence_number_decides() {
        let (mut rack, mut board) = (Rack::default(), Scoreboard::new());
        board.on_transmit(at(0), 1000);
        sack(&mut rack, &mut board, 300..400, 40);
        let found = board.mark_lost_by_time(&rack.overdue(at(40)).unwrap());
        assert_eq!(found.lost, Some((0, 300)));
    }

    #[test]
    fn a_lost_retransmission_is_found_by_what_left_after_it() {
        let (mut rack, mut board) = (Rack::default(), flight());
        sack(&mut rack, &mut board, 100..500, 45);
        let found = board.mark_lost_by_time(&rack.overdue(at(45)).unwrap());
        assert_eq!((found.lost, found.resent), (Some((0, 100)), 0));
        board.on_retransmit(at(45), 0..100);
        board.on_transmit(at(46), 1100);
        sack(&mut rack, &mut board, 500..1000, 50);
        let found = board.mark_lost_by_time(&rack.overdue(at(50)).unwrap());
        assert_eq!(found.lost, None);
        sack(&mut rack, &mut board, 1000..1100, 90);
        let found = board.mark_lost_by_time(&rack.overdue(at(90)).unwrap());
        assert_eq!((found.lost, found.resent), (Some((0, 100)), 100));
        assert_eq!(board.first_lost(), Some(0..100));
    }

    #[test]
    fn the_acknowledgment_of_an_original_is_not_taken_for_its_retransmissions() {
        let (mut rack, mut board) = (Rack::default(), flight());
        sack(&mut rack, &mut board, 500..600, 45);
        board.on_retransmit(at(45), 0..100);
        // Back after 30 ms although the minimum RTT is 40 ms.
        sack(&mut rack, &mut board, 0..100, 75);
        assert_eq!(rack.delivered.unwrap().end, 600);
        // Echoes a timestamp from before the retransmission.
        board.on_retransmit(at(80), 100..200);
        let mut revealed = board.begin_ack();
        board.on_sack(100..200, &mut revealed);
        let mut echo = ack(130);
        echo.echo_sent_by = Some(at(79));
        rack.on_ack(&echo, &revealed);
        assert_eq!(rack.delivered.unwrap().end, 600);
        // Acknowledgment of the retransmission itself.
        board.on_retransmit(at(80), 200..300);
        sack(&mut rack, &mut board, 200..300, 130);
        assert_eq!(rack.delivered.unwrap().end, 300);
        assert_eq!(rack.rtt, Duration::from_millis(50));
    }

    #[test]
    fn an_octet_sent_once_that_arrives_below_others_is_reordering() {
        let (mut rack, mut board) = (Rack::default(), flight());
        sack(&mut rack, &mut board, 500..600, 45);
        assert!(!rack.reordering_seen());
        board.on_retransmit(at(46), 0..100);
        sack(&mut rack, &mut board, 0..100, 90);
        assert!(!rack.reordering_seen(), "a repair is none");
        sack(&mut rack, &mut board, 300..400, 91);
        assert!(rack.reordering_seen());
        assert!(rack.reordering_extent() > 0);
    }

    #[test]
    fn what_one_acknowledgment_reports_has_no_order() {
        let (mut rack, mut board) = (Rack::default(), flight());
        let mut revealed = board.begin_ack();
        board.on_sack(500..600, &mut revealed);
        board.on_sack(200..300, &mut revealed);
        rack.on_ack(&ack(45), &revealed);
        assert!(!rack.reordering_seen());
    }

    #[test]
    fn a_report_of_a_duplicate_widens_the_window_once_a_round_and_for_16_recoveries() {
        let mut rack = Rack::default();
        let mut report = ack(10);
        report.duplicate_report = true;
        for (una, mult) in [(0, 2), (500, 2), (999, 2), (1000, 3)] {
            report.una = una;
            rack.on_ack(&report, &Revealed::default());
            assert_eq!(rack.reo_wnd_mult, mult, "SND.UNA {una}");
        }
        rack.update_reo_wnd(false, ms(40), ms(100));
        assert_eq!(rack.reo_wnd(), Duration::from_millis(30));
        rack.update_reo_wnd(false, ms(40), ms(25));
        assert_eq!(rack.reo_wnd(), Duration::from_millis(25), "SRTT bounds it");
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        assert_eq!(rack.reo_wnd_mult, 3);
        rack.on_recovery_end();
        assert_eq!(rack.reo_wnd_mult, 1);
    }

    #[test]
    fn without_reordering_seen_there_is_no_wait_when_it_is_urgent() {
        let mut rack = Rack::default();
        rack.update_reo_wnd(true, ms(40), ms(40));
        assert_eq!(rack.reo_wnd(), Duration::ZERO);
        rack.reordering_seen = true;
        rack.update_reo_wnd(true, ms(40), ms(40));
        assert_eq!(rack.reo_wnd(), Duration::from_millis(10));
    }
}
