//! Requests and responses of a connection, from both directions.
//!
//! A turn is data from one side until the other side sends data. A turn is clean if its first
//! packet comes after all data of the other side was acknowledged. Then the time since the last of
//! that data is the RTT from the capture point to that side and back, plus the think time of that
//! side's application. If that side acknowledged all before it sent, the time until then may have
//! been the path's, with a queue that others fill, or that of a delayed ACK; the rest was thought
//! for sure. The turns of the side that opened the connection are requests, those of the other are
//! responses.
//!
//! The times of all turns, and the pauses between them, add up to the time from the
//! first data to the last.
//!
//! Out of scope: several simultaneous requests, as in HTTP/2. They show as [mixed](Exchange::mixed)
//! turns, whose think time is unknown.

use gigatcp_flows::{Kind, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use crate::sender_view::AnalyzedPacket;

/// Minimum silence within a turn that is a pause.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// Sums over the turns of one side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Turns {
    /// Number of turns.
    pub count: u32,
    /// Maximum bytes of one turn.
    pub largest: u32,
    /// Bytes of payload, without retransmissions.
    pub bytes: u64,
    /// Time from the first data of a turn to its last, less the pauses.
    pub transfer: Duration,
    /// Pauses within turns. All data was acknowledged, and this side sent nothing, for longer than
    /// an RTT from here.
    pub pauses: Duration,
    /// Time in which this side waited for an ACK with a small rest, and went on at once when it came
    /// (Nagle's algorithm, RFC 896): all of a delayed ACK's time, and else a round trip.
    pub held: Duration,
    /// Part of it in which the ACK was not delayed.
    pub held_undelayed: Duration,
    /// Think time of this side before its clean turns, beyond the RTT.
    pub think: Duration,
    /// Part of it that neither the path nor the timer of a delayed ACK can have taken: after an ACK
    /// without data, if one came before.
    pub sure_think: Duration,
    /// The longest think time.
    pub longest_think: Duration,
    /// Minimum RTT from the capture point to this side, added once per clean turn.
    pub trips: Duration,
    /// Number of clean turns.
    pub clean: u32,
}

/// The turns of a connection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Exchange {
    turns: [Turns; 2],
    /// Time before turns that began while data of the other side was not acknowledged.
    mixed: Duration,
    /// Number of these turns.
    mixed_count: u32,
    /// Payload of the current turn.
    current_bytes: u64,
    /// Side that has the turn, its beginning without pauses, and its last data.
    whose: Option<Side>,
    began: Instant,
    last: Instant,
    first: Instant,
    /// Side that sent the first data.
    opener: Option<Side>,
    /// Time of the last pure ACK.
    last_ack: Instant,
    /// Time of the first pure ACK of the other side for all data of the current turn.
    answered: Option<Instant>,
    /// Number of segments below the MSS since then: Nagle's algorithm allows one.
    small: u32,
}

/// Minimum time that an ACK is delayed by a timer: the shortest of hosts is 25 ms.
const LEAST_DELAY: Duration = Duration::from_millis(20);

impl Exchange {
    /// Side that sent the first data, and when.
    pub fn opening(&self) -> Option<(Side, Instant)> {
        self.opener.map(|side| (side, self.first))
    }

    /// Processes a packet and the results of `flows` for it.
    #[inline(always)]
    pub fn on_packet(&mut self, shown: &AnalyzedPacket<'_>) {
        let packet = shown.packet;
        if packet.payload_len == 0 {
            self.last_ack = packet.at;
            if self.answered.is_none() && self.whose == Some(shown.verdict.from.other()) {
                let theirs = shown.connection.direction(shown.verdict.from.other());
                let is_all = theirs.acked_position() == Some(theirs.next_position());
                self.answered = is_all.then_some(packet.at);
            }
            return;
        }
        let since = packet.at.saturating_since(self.last);
        let is_plain = shown.verdict.kinds.is_empty() && !packet.flags.contains(Flags::SYN);
        if self.whose == Some(shown.verdict.from) && since < LEAST_PAUSE && is_plain {
            self.current_bytes += u64::from(packet.payload_len);
            self.last = self.last.max(packet.at);
            self.count_small(shown);
        } else {
            self.on_other(shown, since);
        }
    }

    /// Counts a segment of the current turn if it is below the MSS.
    fn count_small(&mut self, shown: &AnalyzedPacket<'_>) {
        if self.answered.take().is_some() {
            self.small = 0;
        }
        self.small += u32::from(Self::is_small(shown));
    }

    fn is_small(shown: &AnalyzedPacket<'_>) -> bool {
        let data = shown.connection.direction(shown.verdict.from);
        shown.packet.payload_len < data.largest_segment()
    }

    #[inline(never)]
    fn on_other(&mut self, shown: &AnalyzedPacket<'_>, since: Duration) {
        let (packet, kinds) = (shown.packet, shown.verdict.kinds);
        let is_none = kinds.contains(Kind::CapturedTwice)
            || kinds.contains(Kind::KeepAlive)
            || kinds.contains(Kind::ZeroWindowProbe);
        if is_none {
            return;
        }
        let from = shown.verdict.from;
        let bytes = if kinds.is_retransmission() {
            0
        } else {
            u64::from(packet.payload_len)
        };
        match self.whose {
            None => {
                (self.first, self.last) = (packet.at, packet.at);
                self.opener = Some(from);
                self.begin(from, packet.at);
            }
            Some(whose) if whose == from => self.go_on(shown, since, bytes),
            // Retransmissions of earlier data do not change the turn.
            Some(_) if bytes == 0 => return,
            Some(_) => self.change(shown, since),
        }
        self.current_bytes += bytes;
        self.last = self.last.max(packet.at);
        self.count_small(shown);
        debug_assert!(
            self.first <= self.began && self.began <= self.last,
            "a turn begins after the first data and before its last: {self:?}"
        );
    }

    /// Minimum RTT from the capture point to that side and back.
    fn trip_to(shown: &AnalyzedPacket<'_>, side: Side) -> Duration {
        let data = shown.connection.direction(side.other());
        data.round_trips().min().unwrap_or_default()
    }

    /// Continues the same turn.
    fn go_on(&mut self, shown: &AnalyzedPacket<'_>, since: Duration, bytes: u64) {
        let from = shown.verdict.from;
        let data = shown.connection.direction(from);
        let start = data.position_of(shown.packet.seq);
        let was_acked = data.acked_position().is_some_and(|acked| acked >= start);
        let turns = &mut self.turns[from as usize];
        let trip = data.round_trips().min().unwrap_or_default();
        let own_trip = Self::trip_to(shown, from);
        let trips = trip + own_trip;
        if since < LEAST_PAUSE || !was_acked || bytes == 0 {
            return;
        }
        if since > trips {
            turns.pauses += since - trips;
            self.began += since - trips;
        }
        let delay = self.last_ack.saturating_since(self.last);
        let answer = shown.packet.at.saturating_since(self.last_ack);
        let late = answer.saturating_sub(own_trip + own_trip / 4);
        // Messages at a period near the RTT come by themselves at about the time of the ACK.
        let slack = LEAST_PAUSE.min(trips / 8);
        let is_with_ack = answer <= own_trip + slack && answer + slack >= own_trip;
        if since > trips && late <= LEAST_PAUSE && delay >= trip + LEAST_DELAY {
            turns.held += since - trips;
        } else if is_with_ack && delay >= trip && self.small == 1 && Self::is_small(shown) {
            turns.held += since;
            turns.held_undelayed += since;
        }
        debug_assert!(
            turns.held_undelayed <= turns.held,
            "waits for ACKs that were not delayed are a part of all: {turns:?}"
        );
    }

    /// Changes the turn to the other side.
    fn change(&mut self, shown: &AnalyzedPacket<'_>, since: Duration) {
        let from = shown.verdict.from;
        self.finish_turn();
        let theirs = shown.connection.direction(from.other());
        let is_clean = theirs.acked_position() == Some(theirs.next_position());
        if is_clean {
            let trip = Self::trip_to(shown, from).min(since);
            let think = since - trip;
            let turns = &mut self.turns[from as usize];
            turns.clean += 1;
            turns.trips += trip;
            turns.think += think;
            turns.sure_think += self.answered.map_or(think, |answered| {
                think.min(shown.packet.at.saturating_since(answered))
            });
            debug_assert!(
                turns.sure_think <= turns.think,
                "what was thought for sure is a part of the think time: {turns:?}"
            );
            turns.longest_think = turns.longest_think.max(think);
        } else {
            self.mixed += since;
            self.mixed_count += 1;
        }
        self.begin(from, shown.packet.at);
    }

    const fn begin(&mut self, from: Side, at: Instant) {
        (self.whose, self.began, self.small) = (Some(from), at, 0);
        let turns = &mut self.turns[from as usize];
        turns.count = turns.count.saturating_add(1);
    }

    fn finish_turn(&mut self) {
        let Some(whose) = self.whose else { return };
        let bytes = core::mem::take(&mut self.current_bytes);
        let turns = &mut self.turns[whose as usize];
        turns.bytes += bytes;
        turns.transfer += self.last.saturating_since(self.began);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        turns.largest = turns.largest.max(bytes);
    }
}

/// Values for causes.
impl Exchange {
    /// Turns of that side, including the current one.
    pub fn turns(&self, side: Side) -> Turns {
        let mut all = *self;
        all.finish_turn();
        all.turns[side as usize]
    }

    /// Number of responses that came after a whole request.
    pub const fn exchanges(&self) -> u32 {
        self.turns[Side::Server as usize].clean
    }

    /// Number of mixed turns, and the time before them. These began before all data of the other
    /// side was acknowledged.
    pub const fn mixed(&self) -> (u32, Duration) {
        (self.mixed_count, self.mixed)
    }

    /// Time of RTTs, with what may have been a longer RTT.
    pub fn trips(&self) -> Duration {
        let [client, server] = Side::BOTH.map(|side| {
            let turns = self.turns(side);
            turns.trips + turns.think.saturating_sub(turns.sure_think)
        });
        debug_assert!(
            client + server <= self.elapsed(),
            "RTTs between turns are a part of the time: {self:?}"
        );
        client + server
    }

    /// Time from the first data to the last, of either side.
    pub fn elapsed(&self) -> Duration {
        self.last.saturating_since(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Conversation, MSS};

    /// Ten requests of 200 bytes with responses of 3000. They are captured `to_server` and
    /// `to_client` from them, in us. Think time is 20 ms on the server, 300 ms on the client.
    fn ten_exchanges(to_server: u64, to_client: u64) -> Exchange {
        let mut all = Conversation::opened(to_server, to_client);
        let (mut at, mut asked, mut answered) = (100_000, 1, 1);
        for _ in 0..10 {
            all.say(at, Side::Client, asked, answered, 200);
            asked += 200;
            at += to_server + 20_000;
            for _ in 0..3 {
                all.say(at, Side::Server, answered, asked, 1000);
                answered += 1000;
                at += 100;
            }
            all.say(at - 100 + to_client, Side::Client, asked, answered, 0);
            at += to_client + 300_000 - 100;
        }
        all.exchange()
    }

    #[test]
    fn thinking_is_told_from_rtt_wherever_the_capture_point_is() {
        for (to_server, to_client) in [(80_000, 50), (40_000, 40_000), (50, 80_000)] {
            let exchange = ten_exchanges(to_server, to_client);
            let requests = exchange.turns(Side::Client);
            let responses = exchange.turns(Side::Server);
            assert_eq!((exchange.exchanges(), exchange.mixed().0), (10, 0));
            assert_eq!((requests.count, requests.clean), (10, 9));
            assert_eq!((requests.bytes, requests.largest), (2000, 200));
            assert_eq!((responses.bytes, responses.largest), (30_000, 3000));
            assert_eq!(responses.think, Duration::from_micros(200_000));
            assert_eq!(responses.trips, Duration::from_micros(10 * to_server));
            assert_eq!(responses.transfer, Duration::from_micros(2000));
            assert_eq!(requests.think, Duration::from_micros(9 * 300_000));
            assert_eq!(requests.trips, Duration::from_micros(9 * to_client));
            let parts = [requests, responses]
                .map(|turns| turns.think + turns.trips + turns.transfer + turns.pauses);
            assert_eq!(parts[0] + parts[1] + exchange.mixed().1, exchange.elapsed());
        }
    }

    #[test]
    fn a_wait_for_a_late_ack_is_no_sure_think_time() {
        let mut dialog = Conversation::opened(50, 20_000);
        let (mut at, mut asked, mut answered) = (100_000, 1, 1);
        for _ in 0..10 {
            dialog.say(at, Side::Client, asked, answered, 200);
            asked += 200;
            dialog.say(at + 50, Side::Server, answered, asked, 900);
            answered += 900;
            // A queue of others holds the response for 180 ms; the client then thinks for 10 ms.
            at += 200_000;
            dialog.say(at, Side::Client, asked, answered, 0);
            at += 10_000;
        }
        let exchange = dialog.exchange();
        let requests = exchange.turns(Side::Client);
        assert_eq!(requests.clean, 9);
        assert_eq!(requests.sure_think, Duration::from_millis(90));
        assert!(exchange.trips() * 10 >= exchange.elapsed() * 9);
    }

    #[test]
    fn keepalives_after_the_ack_take_nothing_from_the_think_time() {
        let mut dialog = Conversation::opened(50, 20_000);
        let (mut at, mut asked, mut answered) = (100_000, 1, 1);
        for _ in 0..4 {
            dialog.say(at, Side::Client, asked, answered, 200);
            asked += 200;
            dialog.say(at + 50, Side::Server, answered, asked, 900);
            answered += 900;
            for wait in [20_050, 15_000_000, 30_000_000] {
                dialog.say(at + wait, Side::Client, asked, answered, 0);
            }
            at += 40_000_000;
        }
        let requests = dialog.exchange().turns(Side::Client);
        assert!(requests.sure_think * 100 >= requests.think * 99);
    }

    /// Ten messages of one full segment and two small ones, the last of which waits for the ACK of
    /// the others if `is_held`, each answered.
    fn messages_in_three_pieces(is_held: bool) -> Exchange {
        let mut dialog = Conversation::opened(10_000, 50);
        let (mut at, mut sent, mut answered) = (100_000, 1, 1);
        for _ in 0..10 {
            dialog.say(at, Side::Client, sent, answered, 300);
            dialog.say(at + 1, Side::Client, sent + 300, answered, MSS);
            sent += 300 + MSS;
            dialog.say(at + 10_000, Side::Server, answered, sent, 0);
            let rest = if is_held { at + 10_050 } else { at + 14_000 };
            dialog.say(rest, Side::Client, sent, answered, 52);
            sent += 52;
            dialog.say(rest + 10_000, Side::Server, answered, sent, 200);
            answered += 200;
            at = rest + 10_100;
        }
        dialog.exchange()
    }

    #[test]
    fn a_small_rest_sent_at_the_ack_was_held_and_a_later_one_was_not() {
        let held = messages_in_three_pieces(true).turns(Side::Client);
        // Of the first message the MSS is not known yet.
        assert_eq!(held.held, Duration::from_micros(9 * 10_049));
        assert_eq!(held.held_undelayed, held.held);
        let written = messages_in_three_pieces(false).turns(Side::Client);
        assert_eq!(written.held, Duration::ZERO);
    }

    #[test]
    fn small_messages_at_a_period_near_the_rtt_were_not_held_by_a_far_sender() {
        let mut dialog = Conversation::opened(50, 90_000);
        dialog.say(200_000, Side::Client, 1, 1, MSS);
        dialog.say(200_050, Side::Server, 1, 1 + MSS, 0);
        for message in 0..10_u32 {
            let (at, sent) = (
                300_000 + u64::from(message) * 100_000,
                1 + MSS + message * 52,
            );
            dialog.say(at, Side::Client, sent, 1, 52);
            dialog.say(at + 50, Side::Server, 1, sent + 52, 0);
        }
        assert_eq!(dialog.exchange().turns(Side::Client).held, Duration::ZERO);
    }

    #[test]
    fn small_segments_in_flight_together_were_not_held() {
        let mut dialog = Conversation::opened(10_000, 50);
        for round in 0..10_u32 {
            let at = 100_000 + u64::from(round) * 10_050;
            let sent = 1 + round * 800;
            for piece in 0..4_u32 {
                dialog.say(
                    at + u64::from(piece),
                    Side::Client,
                    sent + piece * 200,
                    1,
                    200,
                );
            }
            dialog.say(at + 10_000, Side::Server, 1, sent + 800, 0);
        }
        assert_eq!(dialog.exchange().turns(Side::Client).held, Duration::ZERO);
    }

    #[test]
    fn data_of_both_sides_at_once_is_no_exchange() {
        let mut all = Conversation::opened(10_000, 50);
        for index in 0..50_u32 {
            let at = 100_000 + u64::from(index) * 1000;
            all.say(at, Side::Client, 1 + index * 500, 1, 500);
            all.say(at + 500, Side::Server, 1 + index * 500, 1, 500);
        }
        let exchange = all.exchange();
        assert_eq!((exchange.exchanges(), exchange.mixed().0), (0, 99));
    }

    #[test]
    fn a_silence_within_a_turn_is_a_pause_only_if_all_was_acknowledged() {
        for is_acked in [true, false] {
            let mut all = Conversation::opened(10_000, 50);
            all.say(100_000, Side::Client, 1, 1, 500);
            if is_acked {
                all.say(110_000, Side::Server, 1, 501, 0);
            }
            all.say(400_000, Side::Client, 501, 1, 500);
            let pauses = all.exchange().turns(Side::Client).pauses;
            let expected = if is_acked { 300_000 - 10_050 } else { 0 };
            assert_eq!(pauses, Duration::from_micros(expected));
        }
    }
}
