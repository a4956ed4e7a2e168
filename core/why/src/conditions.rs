//! Physical conditions of causes: named, with values and units.
//!
//! A cause requires some, is refuted by others, and can be told only where a capture shows enough
//! ([`Cause`](crate::Cause)). A cause whose requirement fails, or that is refuted, has probability
//! zero, whatever the weights say. The text of each condition is what `explain` prints.
//!
//! A test returns `None` if the capture does not show it: then it neither holds nor fails.

use alloc::vec::Vec;

use gigatcp_flows::Side;
use gigatcp_units::Duration;

use crate::CapturePoint;
use crate::causes::{mss_clamped::are_messages, place};
use crate::facts::{Facts, MIN_DATA_PACKETS, Moment};
use crate::measures::losses::were_dropped_by_receiver;
use crate::measures::{Measures, per_second, ratio};
use crate::round::State;
use crate::sender_view::scale::MAX_SCALE;
use crate::trigger::{has_stopped_reader, is_peer_unanswered, meets_none, meets_queue};

/// A condition, and how it is tested.
pub struct Condition {
    /// Its name in records.
    pub id: &'static str,
    /// The case if it holds, as a clause.
    pub text: &'static str,
    pub(crate) test: Test,
}

impl core::fmt::Debug for Condition {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.id)
    }
}

/// Test of a condition.
pub(crate) enum Test {
    /// Of the connection and its capture.
    Connection(fn(&Facts<'_, '_>) -> Option<bool>),
    /// Of a round, and the state of the sender in it.
    Round(fn(&Moment<'_, '_, '_>) -> Option<bool>),
}

/// Declares conditions: name, id, text, and test.
macro_rules! conditions {
    ($($name:ident $id:literal $text:literal $scope:ident $test:expr;)*) => {
        $(pub(crate) const $name: &Condition = &Condition {
            id: $id,
            text: $text,
            test: Test::$scope($test),
        };)*

        /// Every condition.
        #[cfg(test)]
        pub(crate) const CONDITIONS: &[&Condition] = &[$($name,)*];
    };
}

conditions! {
    // The capture.
    ENOUGH_DATA "enough-data" "at least 10 packets with data passed"
        Connection |facts| Some(facts.data_packets >= MIN_DATA_PACKETS);
    AT_SENDER "at-sender" "the capture point is the sender"
        Connection |facts| Some(facts.m.view == CapturePoint::Sender);
    QUEUES_SEEN "queues-seen" "RTTs of the whole path can be measured at the capture point, or show a queue beyond it for half of the time"
        Connection |facts| Some(facts.sees_queues());
    LINK_SEEN "link-seen" "queues show in RTTs, or away from the sender packets come at 95 % of the bottleneck rate and some are lost, as neither a pace nor an application has it"
        Connection |facts| {
            let lost = facts.retransmitted.saturating_sub(facts.spurious);
            let is_away = !facts.m.view.is_near_sender();
            let is_at_rate = facts.m.line.is_some_and(|line| facts.m.peak >= 0.95 * line);
            Some(facts.sees_queues() || is_away && is_at_rate && lost > 0)
        };
    PACE_SEEN "pace-seen" "RTTs of the whole path can be measured at the capture point, or packets follow each other at a quarter more than the mean rate"
        Connection |facts| {
            let m = facts.m;
            Some(m.sees_queues() || m.line.is_some_and(|line| line >= 1.25 * m.mean_rate()))
        };
    COUNTERS "counters" "counters of the host are known, such as CPU time"
        Connection |_| Some(false);

    // The receive window.
    SCALING_KNOWN "scaling-known" "the window scale is known: both SYNs are in the capture, a socket of this host has it, or one scale fits what was in flight"
        Connection |facts| Some(facts.scales().is_some());
    SCALING_MISSING "scaling-missing" "a SYN lacks the window scale option"
        Connection |facts| facts.scales().map(|scales| !scales);
    SCALING_USED "scaling-used" "both SYNs have the window scale option, or the largest window is below 32 KiB"
        Connection |facts| Some(!facts.is_unscaled());
    WINDOW_AT_LIMIT "window-at-64k" "the largest advertised window is above 32 KiB"
        Connection |facts| Some(facts.is_unscaled());
    WINDOW_BINDS "window-binds" "the window was at least 80 % full, or closed"
        Round |moment| {
            let is_bound = moment.state == State::Window || moment.zero_share() > 0.0;
            Some(is_bound || moment.fill().is_some_and(|fill| fill >= 0.8))
        };
    WINDOW_FILLED "window-filled" "the sender waited for a window above zero, or filled 80 % of it without having 4 times as much in flight per minimum RTT as was delivered (as where data waits in a queue of its own)"
        Round |moment| {
            let m = moment.m();
            let is_open = moment.zero_share() < 0.5;
            let is_waiting = moment.state == State::Window;
            let allowed = per_second(moment.round().flight, m.base);
            let is_ample = m.view.is_near_sender() && allowed >= 4.0 * m.near_rate(moment.index);
            let is_filled = |fill| (fill >= 0.8 && !is_ample) || is_waiting;
            moment.fill().map(|fill| is_open && is_filled(fill))
        };
    WINDOW_CLOSES "window-closes" "the receiver advertised less than 60 % of its largest window, or its right window edge did not advance for 2 minimum RTTs and 5 ms while data was acknowledged"
        Round |moment| Some(closes(moment.m(), moment.index));
    WINDOW_ZERO "window-zero" "a zero window was advertised"
        Round |moment| Some(moment.zero_share() > 0.0 || moment.round().zero_windows > 0);

    SACK_MISSING "sack-missing" "a SYN does not permit SACK"
        Connection |facts| Some(facts.m.lacks_sack());

    // The path.
    STANDING_QUEUE "standing-queue" "even the shortest RTT of the round is above the minimum by a quarter, by 3 segments, and by 200 us, and no burst of its own explains that: the bottleneck delivers 60 % of its rate, or the delay is longer than the flight takes at it, or 100 ms"
        Round |moment| moment.has_standing_queue();
    BOTTLENECK_BUSY "bottleneck-busy" "the bottleneck has a standing queue while data is in flight that an ACK or a pace released"
        Round |moment| {
            let is_sending = matches!(moment.state, State::Full | State::Slack | State::Window);
            let is_waiting = is_sending && !moment.facts.writes_release;
            moment.has_standing_queue().map(|is_standing| is_standing && is_waiting)
        };
    TRANSFERRING "transferring" "data was in flight for all of an RTT, in which two initial windows or more were acknowledged"
        Round |moment| {
            let round = moment.round();
            let is_sending = matches!(moment.state, State::Full | State::Slack);
            let is_whole = round.spent_in(State::Idle).is_zero();
            Some(is_sending && is_whole && round.acked >= 20 * moment.m().mss() * round.count)
        };
    DELIVERING "delivering" "data was delivered, at a twentieth of the best rate or more"
        Round |moment| {
            let m = moment.m();
            Some(m.near_rate(moment.index) > 0.0 && !is_dead(m, moment.index))
        };
    LINK_FULL "link-full" "the mean delivery rate is at least 85 % of the bottleneck rate, and a fifth of the rounds have a queue"
        Connection |facts| {
            let is_queued = facts.queued >= 0.2;
            facts.m.line.map(|line| is_queued && facts.m.mean_rate() >= 0.85 * line)
        };
    AT_LINE_RATE "at-line-rate" "away from the sender, the mean delivery rate is at least 95 % of the bottleneck rate"
        Connection |facts| {
            let is_away = !facts.m.view.is_near_sender();
            facts.m.line.map(|line| is_away && facts.m.mean_rate() >= 0.95 * line)
        };
    RATE_HELD "rate-held" "after the first tenth of at least 20 rounds, nine of ten delivered 85 % of the ninth decile or more, which is 70 % of the bottleneck rate, and a third of the rounds have a queue: the link stayed full"
        Connection |facts| {
            let m = facts.m;
            let is_fine = m.rounds.iter().all(|round| round.count <= 2);
            let from = m.rounds.len() / 10;
            let mut rates: Vec<f64> = (from..m.rounds.len()).map(|index| m.near_rate(index)).collect();
            rates.sort_by(f64::total_cmp);
            let count = rates.len();
            let (low, high) = (rates.get(count / 10)?, rates.get(count * 9 / 10)?);
            let is_best = *high > 0.0 && m.line.is_none_or(|line| *high >= 0.7 * line);
            let is_held = is_best && *low >= 0.85 * high;
            Some(count >= 18 && is_fine && is_held && facts.queued >= 1.0 / 3.0)
        };
    LINE_REACHED "line-reached" "the flow itself delivered 85 % of the bottleneck rate over two RTTs, so its packets show a link that others share, not one that serves in slots"
        Connection |facts| facts.m.line.map(|line| facts.m.peak >= 0.85 * line);
    QUEUE_GREW "queue-grew" "the RTT was above its minimum, or packets came back to back at the bottleneck rate"
        Round queue_grew;
    QUEUE_IS_OWN "queue-is-own" "no full window waited behind the queue of others: for most of the time with a queue a window that does not grow was 80 % full, packets waited longer than twice the flight takes at the bottleneck rate, and the flow never delivered half of that"
        Connection |facts| Some(facts.has_own_queue());
    FLIGHT_BELOW_PATH "flight-below-path" "a queue is in the RTT although less was in flight than the bottleneck alone holds"
        Round flight_below_path;
    UNEVEN_ACKS "uneven-acks" "distances between ACKs vary by more than half, as where other packets come between"
        Round |moment| moment.round().ack_gaps.variation().map(|variation| variation >= 0.5);
    ECN_ECHO "ecn-echo" "an echo of congestion came back"
        Connection |facts| Some(facts.m.rounds.iter().any(|round| round.ece + round.ce > 0));

    // Losses.
    RETRANSMITTED "retransmitted" "data was retransmitted, or a gap showed"
        Connection |facts| {
            let gaps = facts.m.rounds.iter().any(|round| round.gaps > 0);
            Some(facts.retransmitted > 0 || gaps)
        };
    LOSS_BEFORE "loss-before" "a loss event came before"
        Round |moment| Some(moment.m().after[moment.index].is_some());
    MOSTLY_SPURIOUS "mostly-spurious" "more than half of the retransmissions were of data that had arrived"
        Connection |facts| Some(facts.spurious * 2 > facts.retransmitted && facts.spurious > 0);
    LOST_AT_RECEIVER "lost-at-receiver" "most of what was lost had passed the capture at the receiver: its host dropped it"
        Connection |facts| Some(were_dropped_by_receiver(facts.m));
    REORDERED "reordered" "in an eighth of the loss events more than half of the retransmissions were of data that had arrived, after duplicate ACKs, SACK or packets out of order"
        Connection |facts| {
            let reordering = place("reordering-mistaken-for-loss");
            let triggers = facts.triggers.iter();
            let reordered = triggers.filter(|trigger| **trigger == reordering).count();
            Some(reordered > 0 && reordered * 8 >= facts.triggers.len())
        };
    STEADY_RATE "steady-rate" "at least 5 loss events, between which the delivery rate varies by less than a quarter"
        Connection |facts| {
            let is_steady = facts.m.pattern.rate_variation.map(|variation| variation <= 0.25);
            Some(facts.loss_events >= 5 && is_steady == Some(true))
        };
    LATE_LOSS_LARGE "late-loss-large" "the last of several loss events, long after slow start, lost at least 10 segments, or the only one lost 100 from a queue that had doubled the RTT"
        Connection |facts| {
            let list = &facts.m.sender_view.episodes.list;
            let lost = list.last().map(|last| last.again.saturating_sub(last.needless));
            let is_late = facts.loss_events >= 3 && lost >= Some(10);
            let is_long = facts.m.queue_max >= facts.m.base;
            Some(is_late || (facts.loss_events == 1 && lost >= Some(100) && is_long))
        };
    DROPS_WITHOUT_QUEUE "drops-without-queue" "the median queue before losses adds less than 4 ms and less than a thirty-second of the minimum RTT"
        Connection drops_without_queue;
    DROPS_AT_LONGEST_QUEUE "drops-at-longest-queue" "the queue before losses was the longest one, each time"
        Connection |facts| facts.m.pattern.queue_low.map(|low| low >= 0.85);
    DROPS_MEET_QUEUE "drops-meet-queue" "most loss events met a queue of half a minimum RTT beyond the capture point"
        Connection |facts| Some(meets_queue(facts.m));
    DROPS_MEET_NONE "drops-meet-no-queue" "near the sender 4 of 5 loss events (8 at least) met no queue that could hold three segments, and the delivery rate between them varies by less than a quarter"
        Connection |facts| {
            let is_steady = facts.m.pattern.rate_variation.map(|variation| variation <= 0.25);
            let is_queue = facts.m.drops_fill_queue();
            meets_none(facts.m).map(|meets_none| meets_none && is_steady == Some(true) && !is_queue)
        };
    DROPS_AT_ONE_FLIGHT "drops-at-one-flight" "of at least 8 loss events after the first quarter 4 of 5 met the same amount in flight within a tenth, and a third of the rounds with that much in flight met one: a limit is there"
        Connection |facts| Some(drops_at_one_flight(facts.m));
    DROPS_FILL_QUEUE "drops-fill-queue" "every loss met the same number of bytes in a queue that drains at the rate of the link, and packets were late by the time that these take"
        Connection |facts| Some(facts.m.drops_fill_queue());
    DROPS_BELOW_PASSED "drops-below-passed" "of at least 2 loss events after the first 2 of 3 met less than half of the flight that had passed without a loss, and no queue: where more fits, nothing is full"
        Connection |facts| Some(drops_below_passed(facts.m));
    DROPS_BETWEEN "drops-between" "more than a third of the loss events met a queue that was neither empty nor the longest"
        Connection drops_between;
    EDGE_STOOD "edge-stood" "the right window edge did not advance for half a minimum RTT and 5 ms (or 10 minimum RTTs) while data was acknowledged, and the losses reach up to it"
        Round edge_stood;
    OUTAGE_BEFORE "outage-before" "the sender waits for a retransmission timer or recovers, or facts show that the last loss event was of an outage"
        Round |moment| {
            let outage = place("outage");
            let is_of_one = |episode: usize| moment.facts.triggers[episode] == outage;
            let is_waiting = !matches!(moment.state, State::Full | State::Slack);
            Some(is_waiting || moment.m().after[moment.index].is_some_and(is_of_one))
        };
    NOTHING_PASSED "nothing-passed" "no later data reported the gap of the last loss event, or two timers expired in it: where data passed there was no outage"
        Round |moment| {
            let m = moment.m();
            let episode = m.after[moment.index].map(|index| &m.sender_view.episodes.list[index]);
            Some(episode.is_none_or(|episode| !episode.is_reported || episode.timeouts > 1))
        };
    TIMEOUT_SEEN "timeout-seen" "data was retransmitted after a silence"
        Round |moment| {
            let m = moment.m();
            let episode = m.after[moment.index].map(|index| &m.sender_view.episodes.list[index]);
            let is_hidden = moment.state == State::Idle;
            Some(is_hidden || moment.state == State::Timeout || episode.is_some_and(|episode| episode.timeouts > 0))
        };
    TIMER_NEEDED "timer-needed" "five segments or less were in flight at the last loss event, too few to report a loss, or its timer expired again"
        Round |moment| {
            let m = moment.m();
            let episode = m.after[moment.index].map(|index| &m.sender_view.episodes.list[index]);
            let is_small = |flight| flight <= 5 * m.mss();
            Some(episode.is_none_or(|episode| is_small(episode.flight) || episode.timeouts > 1))
        };
    FULL_SIZE_NEVER_ARRIVED "full-size-never-arrived" "no segment of that size was ever acknowledged, or ICMP named a smaller MTU"
        Connection |facts| {
            let is_none = facts.m.sender_view.largest_acked < facts.m.sender_view.mss;
            Some(is_none || facts.m.ignored_mtu().is_some())
        };
    LOST_TWICE "lost-twice" "the same bytes were lost at least twice, or the sender went on after ICMP had named a smaller MTU"
        Connection |facts| Some(facts.timeouts_in_row >= 2 || facts.m.ignored_mtu().is_some());
    SILENCE "silence" "data was in flight and nothing came back for 200 ms and 2 minimum RTTs"
        Connection |facts| Some(facts.silence >= (facts.m.base * 2).max(Duration::from_millis(200)));
    SMALLER_ARRIVED "smaller-arrived" "a smaller packet arrived, shown by an ACK or by a peer that does not send its own data again, or ICMP names a smaller MTU"
        Connection |facts| {
            let is_told = facts.m.ignored_mtu().is_some();
            let peer = facts.m.receiver();
            let is_peer_answered = peer.data_packets() > 0 && !is_peer_unanswered(facts.m);
            Some(is_told || facts.small_acked || is_peer_answered)
        };

    // The sender.
    FULL_SEGMENTS "full-segments" "at least 85 % of the packets are full segments"
        Connection |facts| {
            let sum = |of: fn(&crate::round::Round) -> u64| -> u64 { facts.m.rounds.iter().map(of).sum() };
            Some(ratio(sum(|round| round.small) as f64, sum(|round| round.segments) as f64) <= 0.15)
        };
    MESSAGES "messages" "most segments are messages of one size, at most three quarters of what both SYNs allow and below 1280 bytes with headers, which ACKs do not release: a sender with data waiting would fill its segments"
        Connection |facts| Some(are_messages(facts.m));
    LOSSY "lossy" "more than 1 in 300 segments was retransmitted"
        Connection |facts| Some(facts.m.pattern.loss_rate > 1.0 / 300.0);
    WRITES_RELEASE "writes-release" "of at least 10 pauses of the sender 4 of 5 were ended by no ACK, and all written data had been sent for two fifths of the time: it sends when the application writes"
        Connection |facts| Some(facts.writes_release);
    ACKS_RELEASE_IN_FLIGHT "acks-release" "data is in flight, and of at least 10 pauses of the sender 4 of 5 were ended by an ACK, without a dialog of requests"
        Round |moment| Some(moment.state != State::Idle && moment.facts.acks_release);
    TURN_KNOWN "turn-known" "the capture point is near the sender, or the handshake or timestamps show the time to it and back"
        Connection |facts| {
            let m = facts.m;
            let is_shown = m.sender_view.had_handshake || m.pair.is_some() || m.knows_directions();
            Some(is_shown || m.view == CapturePoint::Sender)
        };
    SAID_ENOUGH "said-enough" "the hosts exchanged 2 kB or more: less may be an idle connection that they keep open"
        Connection |facts| {
            let sides = [facts.m.data(), facts.m.receiver()];
            Some(sides.iter().map(|side| side.unique_bytes()).sum::<u64>() >= 2_000)
        };
    WINDOW_TOLD "window-told" "the window scale is known, or none makes the advertised window what was in flight at most"
        Connection |facts| Some(facts.m.knows_windows() || !fits_a_scale(facts.m));
    FLIGHT_STEADY "flight-steady" "the flight of at least 5 rounds around it reaches the same maximum within 2 segments, or a packet of the capture, in every second of them"
        Round flight_steady;
    WINDOW_HAD_ROOM "window-had-room" "the receive window had room for a segment"
        Round |moment| Some(moment.state != State::Window);
    EXCHANGES "exchanges" "at least two requests were answered"
        Connection |facts| Some(facts.m.exchange.exchanges() >= 2);
    CLIENT_THOUGHT "client-thought" "the client took at least a tenth of the time between responses and its next requests, beyond the RTT, and most of the silence where there was one"
        Round |moment| Some(thought(moment, Side::Client));
    SERVER_THOUGHT "server-thought" "the server took at least a tenth of the time between requests and its responses, beyond the RTT, and most of the silence where there was one"
        Round |moment| Some(thought(moment, Side::Server));

    TURNS_ALONE "turns-alone" "requests and responses took turns, each after all of the other, without pauses in them for a tenth of the time: each silence is the turn of an end"
        Round |moment| Some(moment.state == State::Idle && takes_turns(moment.m()));

    // ACKs.
    ACKS_TIMED "acks-timed" "timestamps of both hosts or a second capture show in which direction packets wait"
        Connection |facts| Some(facts.m.pair.is_some() || facts.m.knows_directions());
    ACKS_LATE "acks-late" "ACKs wait on the reverse path, or are lost there: by timestamps, turnarounds or a second capture"
        Round acks_late;
    ACK_HELD "ack-held" "an ACK of two segments or less came 20 ms to 1 s later than the minimum RTT, and than another of the same flight; or small rests went out as soon as all before them was acknowledged, for 30 % of the time"
        Round |moment| {
            let m = moment.m();
            if moment.facts.waits_for_acks() {
                return Some(true);
            }
            let round = moment.round();
            let shortest = m.data().round_trips().min().unwrap_or(m.base);
            let others = round.trip.least.filter(|_| round.trip.count > 1 && round.count == 1);
            let path = shortest.max(others.unwrap_or_default());
            let held = round.trip.most.saturating_sub(path);
            let is_small = round.flight <= 2 * m.mss();
            Some(is_small && held >= Duration::from_millis(20) && held <= Duration::from_secs(1))
        };
}

/// Whether the receiver held its window back in a round.
pub(crate) fn closes(m: &Measures<'_>, index: usize) -> bool {
    let round = &m.rounds[index];
    // A window that grows within a round is smaller at its beginning, and does not close.
    let before = m.window_max[index.saturating_sub(1)];
    let is_low = round
        .window
        .is_some_and(|(least, _)| ratio(least as f64, before as f64) < 0.6);
    let is_still = round.still >= (m.base * 2).max(Duration::from_millis(5));
    is_low || is_still || !round.zero_time.is_zero()
}

/// Whether a round of four minimum RTTs and 200 ms delivered less than a twentieth of the best rate, or
/// nothing passed for most of it.
pub(crate) fn is_dead(m: &Measures<'_>, index: usize) -> bool {
    let round = &m.rounds[index];
    let is_long = round.length() >= (m.base * 4).max(Duration::from_millis(200));
    let is_slow = per_second(round.acked, round.length()) * 20.0 < m.peak;
    is_long && (is_slow || round.quiet * 2 > round.length())
}

/// A buffer that is full has one size. The flight of an application that writes by its own clock
/// differs from round to round.
fn flight_steady(moment: &Moment<'_, '_, '_>) -> Option<bool> {
    const MIN_ROUNDS: usize = 5;
    let m = moment.m();
    let near = m.around(moment.index, 4, 4).iter();
    let sending = near.filter(|round| round.acked > 0 && round.count == 1);
    let mut flights: Vec<u64> = sending.map(|round| round.flight).collect();
    if flights.len() < MIN_ROUNDS {
        return None;
    }
    flights.sort_unstable();
    // The largest of all may be an accident.
    let most = flights[flights.len() - 2];
    let unit = (2 * m.mss()).max(m.sender_view.largest);
    Some(most - flights[flights.len() / 2] <= unit)
}

fn queue_grew(moment: &Moment<'_, '_, '_>) -> Option<bool> {
    let m = moment.m();
    let near = m.around(moment.index, 2, 2);
    let first = moment.index.saturating_sub(2);
    if m.sees_queues() {
        let has_grown = (first..first + near.len())
            .filter_map(|index| m.queue(index))
            .any(|queue| queue * 2 >= m.queue_step);
        if has_grown {
            return Some(true);
        }
    }
    // Behind the bottleneck a busy link shows in the distances of packets.
    let is_busy = m.busy(moment.index) >= 0.7;
    let is_far = m.view == CapturePoint::Receiver || m.view == CapturePoint::Middle;
    Some(is_far && is_busy)
}

fn drops_without_queue(facts: &Facts<'_, '_>) -> Option<bool> {
    let m = facts.m;
    let list = m.sender_view.episodes.list.iter();
    let mut queues: Vec<Duration> = list.filter_map(|episode| m.queue_before(episode)).collect();
    queues.sort_unstable();
    let median = queues.get(queues.len() / 2).filter(|_| m.sees_queues())?;
    Some(*median < no_queue(m))
}

/// A managed queue drops between its target and the longest queue that it lets pass. Losses at the
/// longest are those of a full one, and those without a queue come from elsewhere.
fn drops_between(facts: &Facts<'_, '_>) -> Option<bool> {
    let m = facts.m;
    if !m.sees_queues() {
        return None;
    }
    let list = m.sender_view.episodes.list.iter();
    let queues: Vec<Duration> = list.filter_map(|episode| m.queue_before(episode)).collect();
    let is_between = |queue: &&Duration| **queue >= no_queue(m) && **queue * 20 < m.queue_max * 17;
    let between = queues.iter().filter(is_between).count();
    (!queues.is_empty()).then(|| between * 3 > queues.len())
}

/// Losses at random come at any flight, and most often at the one that is there most often.
fn drops_at_one_flight(m: &Measures<'_>) -> bool {
    const MIN_EVENTS: usize = 8;
    let list = &m.sender_view.episodes.list;
    let later = &list[list.len() / 4..];
    let mut flights: Vec<u64> = later.iter().map(|episode| episode.flight).collect();
    if flights.len() < MIN_EVENTS {
        return false;
    }
    flights.sort_unstable();
    let usual = flights[flights.len() / 2];
    let at_level = |flight: u64| flight * 10 >= usual * 9 && flight * 10 <= usual * 11;
    let same = flights.iter().filter(|flight| at_level(**flight)).count();
    let from = later[0].at;
    let rounds = m.rounds.iter().filter(|round| round.start >= from);
    let full: u64 = rounds
        .filter(|round| at_level(round.flight))
        .map(|round| round.count)
        .sum();
    usual > 0 && same * 5 >= flights.len() * 4 && same as u64 * 3 >= full
}

/// A queue of the flow's own drops nothing while less is in flight than it held before.
fn drops_below_passed(m: &Measures<'_>) -> bool {
    const MIN_EVENTS: usize = 2;
    let list = &m.sender_view.episodes.list;
    let mut passed = 0;
    let (mut later, mut below) = (0, 0);
    for (index, episode) in list.iter().enumerate() {
        let is_empty = m
            .queue_before(episode)
            .is_none_or(|queue| queue < no_queue(m));
        later += usize::from(index > 0);
        below += usize::from(index > 0 && is_empty && episode.flight * 2 < passed);
        passed = passed.max(episode.flight.saturating_sub(episode.again * m.mss()));
    }
    later >= MIN_EVENTS && below * 3 >= later * 2
}

/// A delay below this is no queue.
fn no_queue(m: &Measures<'_>) -> Duration {
    (m.base / 32).min(Duration::from_millis(4))
}

fn flight_below_path(moment: &Moment<'_, '_, '_>) -> Option<bool> {
    let m = moment.m();
    let queue = m.queue(moment.index).filter(|_| m.sees_queues())?;
    let line = m.line?;
    let holds = line * m.base.as_secs_f64();
    let is_queued = queue >= m.queue_step;
    Some(is_queued && (moment.round().flight as f64) < holds + 2.0 * m.mss() as f64)
}

/// Whether that side's application had the turn for long.
fn thought(moment: &Moment<'_, '_, '_>, side: Side) -> bool {
    let m = moment.m();
    let round = moment.round();
    let think = m.exchange.turns(side).sure_think;
    let is_own = m.side == side;
    let (mine, others) = if is_own {
        (round.idle_own, round.idle_peer)
    } else {
        (round.idle_peer, round.idle_own)
    };
    let is_silent = moment.state == State::Idle && !(mine + others).is_zero();
    think * 10 >= m.exchange.elapsed() && (!is_silent || mine >= others)
}

fn edge_stood(moment: &Moment<'_, '_, '_>) -> Option<bool> {
    let m = moment.m();
    let Some(episode) = m.after[moment.index] else {
        return Some(false);
    };
    let episode = &m.sender_view.episodes.list[episode];
    Some(has_stopped_reader(m, episode))
}

/// Whether the largest flight is within two segments of the advertised window at one of the scales that
/// RFC 7323 allows.
fn fits_a_scale(m: &Measures<'_>) -> bool {
    let flight = m.rounds.iter().map(|round| round.flight).max();
    let window = m.receiver().windows().map(|windows| windows.most);
    let Some((flight, window)) = flight.zip(window) else {
        return true;
    };
    let mut windows = (0..=MAX_SCALE).map(|scale| window << scale);
    windows.any(|window| window >= flight && window - flight < 2 * m.mss())
}

/// Whether requests and responses took turns, each after all of the other, without pauses in them for a
/// tenth of the time.
fn takes_turns(m: &Measures<'_>) -> bool {
    let mixed = m.exchange.mixed().0;
    let pauses = Side::BOTH.map(|side| m.exchange.turns(side).pauses);
    let is_dialog = m.exchange.exchanges() >= 2 && mixed * 10 <= m.exchange.exchanges();
    is_dialog && (pauses[0] + pauses[1]) * 10 <= m.exchange.elapsed()
}

/// Whether ends took turns for half of the time: away from the sender, the time from an ACK to the next
/// data is that of the turn.
fn waits_for_turns(m: &Measures<'_>) -> bool {
    let [client, server] = Side::BOTH.map(|side| m.exchange.turns(side).think);
    let turns = client + server + m.exchange.trips();
    !m.view.is_near_sender() && takes_turns(m) && turns * 2 >= m.exchange.elapsed()
}

pub(crate) fn acks_late(moment: &Moment<'_, '_, '_>) -> Option<bool> {
    let m = moment.m();
    // Without an acknowledgment, either data or ACKs are lost.
    if moment.facts.delivered == 0 || moment.round().idle_again > Duration::ZERO {
        return Some(moment.facts.retransmitted > 0);
    }
    if let Some((data, acks)) = m.pair_delays(moment.index) {
        return Some(acks >= m.queue_step && acks >= data);
    }
    if waits_for_turns(m) {
        return Some(false);
    }
    let queue = m
        .queue(moment.index)
        .filter(|queue| *queue >= m.queue_step)?;
    let reverse = m.reverse_delay(moment.index)?;
    Some(reverse * 2 >= queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_unique_ids_and_texts() {
        for (index, condition) in CONDITIONS.iter().enumerate() {
            let others = &CONDITIONS[..index];
            assert!(
                others
                    .iter()
                    .all(|earlier| earlier.id != condition.id && earlier.text != condition.text)
            );
        }
    }
}
