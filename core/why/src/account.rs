//! Attributes each instant of a connection to one cause, or to "unknown".
//!
//! Time is divided into slices, one for each state of each round. Where facts decide, they decide;
//! otherwise a slice is attributed to the most probable of the causes that no condition excludes.
//! If that is less probable than [`MIN_PROBABILITY`] it is unknown. The times of all causes and of
//! unknown add up to the duration.

use alloc::vec::Vec;

use gigatcp_flows::Side;
use gigatcp_units::{Duration, Instant};

use crate::CapturePoint;
use crate::causes::{CAUSES, Cause, no_sack, place};
use crate::conditions::{Test, acks_late, closes, is_dead};
use crate::facts::{Facts, Moment};
use crate::features::{self, hides_loss};
use crate::measures::Measures;
use crate::round::{Round, State};
use crate::score::Scores;
use crate::watcher::Slice;

/// A slice whose most probable cause is less probable than this is unknown.
pub const MIN_PROBABILITY: f64 = 0.4;

/// An interval attributed to one cause.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// Its beginning.
    pub start: Instant,
    /// Its duration.
    pub length: Duration,
    /// Index of the cause in [`CAUSES`]; `None` if it is unknown.
    pub cause: Option<usize>,
}

/// Time and losses attributed to a cause.
#[derive(Clone, Default, Debug)]
pub(crate) struct Attributed {
    pub time: Duration,
    /// Probability times seconds.
    weight: f64,
    /// Time that facts decided, without a weight.
    pub decided: Duration,
    /// Whether the capture shows what tells this cause from others.
    pub is_observable: bool,
    /// Confidence of a note, for a cause that takes no time.
    pub note: Option<f64>,
    /// Bytes delivered in that time.
    pub bytes: f64,
    /// The round with the longest slice.
    pub round: usize,
    longest: Duration,
    /// Indices of the recovery episodes of this cause.
    pub episodes: Vec<usize>,
}

impl Attributed {
    /// Mean probability over its time.
    pub fn probability(&self) -> f64 {
        let time = self.time.as_secs_f64();
        if time > 0.0 {
            self.weight / time
        } else {
            self.note.unwrap_or_default()
        }
    }

    /// Delivery rate in its time, in bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes / self.time.as_secs_f64().max(1e-9)
    }

    pub fn is_nothing(&self) -> bool {
        self.time.is_zero() && self.note.is_none()
    }
}

/// Time attribution of a connection.
pub(crate) struct Account {
    /// One entry for each cause.
    pub causes: Vec<Attributed>,
    pub unknown: Duration,
    /// Seconds of each cause weighted by probability, whatever cause the slices were attributed to.
    pub expected: Vec<f64>,
}

impl Account {
    /// Cause with most time.
    pub fn most(&self) -> Option<usize> {
        // Of equal ones the first, as in the order of the verdicts.
        (0..CAUSES.len())
            .rev()
            .max_by_key(|index| self.causes[*index].time)
    }
}

/// Probability of what facts decide.
pub const DECIDED: f64 = 0.98;

/// Facts and scores of a connection, ready to be attributed.
pub(crate) struct Scored<'a, 'b, 'c> {
    m: &'b Measures<'a>,
    facts: &'c Facts<'a, 'b>,
    scores: Scores,
}

impl<'a, 'b, 'c> Scored<'a, 'b, 'c> {
    pub fn of(facts: &'c Facts<'a, 'b>) -> Self {
        Self {
            m: facts.m,
            facts,
            scores: Scores::of(facts),
        }
    }

    /// A round with the sender in a state. While a recovery changes nothing the sender sends on.
    fn moment(&self, index: usize, state: State) -> Moment<'a, 'b, 'c> {
        let sends_on = state == State::Recovery && self.m.is_recovery_harmless(index);
        Moment {
            facts: self.facts,
            index,
            state: if sends_on { State::Full } else { state },
        }
    }

    /// Cause of a slice and its probability. `all` has the probabilities of all causes.
    fn cause(&self, moment: &Moment<'_, '_, '_>, all: &[f64]) -> Option<(usize, f64)> {
        let round = moment.round();
        match moment.state {
            // Near the sender no data can be lost before the capture point. If the capture lacks
            // data, the amount in flight is unknown.
            State::Full | State::Slack if self.m.view == CapturePoint::Sender && round.gaps > 0 => {
                None
            }
            _ => most(all),
        }
    }

    /// Cause of a slice if facts decide it.
    fn decided(&self, moment: &Moment<'_, '_, '_>) -> Option<usize> {
        let round = moment.round();
        let is_after_edge = self.facts.lost_at_edge.is_some_and(|at| round.end > at);
        match moment.state {
            State::Recovery | State::Timeout | State::Idle if is_after_edge => {
                place("rx-ring-overrun")
            }
            State::Full | State::Slack | State::Window if self.is_held(moment) => place("outage"),
            State::Opening => self.setup(round),
            State::Closing => self.closing(round),
            State::Window => self.window(moment),
            State::Idle | State::Full | State::Slack if self.facts.waits_for_acks() => {
                place("delayed-ack-stall")
            }
            State::Idle if self.is_held_back(moment) => place("outage"),
            State::Idle | State::Full | State::Slack if self.facts.is_trips => {
                place("request-response-rtt")
            }
            State::Idle if hides_loss(self.m, moment.index) => {
                self.hidden_trigger(moment).or_else(|| place("rto-backoff"))
            }
            State::Recovery if self.is_outage(moment) => place("outage"),
            State::Recovery | State::Timeout => moment
                .trigger()
                .or_else(|| self.repair_without_sack(moment)),
            State::Full | State::Slack if self.is_answered(moment) => place("request-response-rtt"),
            State::Full | State::Slack if self.facts.is_slow_start => place("cwnd-growth-limited"),
            State::Full | State::Slack if self.is_restart(moment) => place("cwnd-growth-limited"),
            State::Full | State::Slack if self.is_late_acks(moment) => place("ack-path"),
            State::Full | State::Slack if self.is_shared(moment) => place("cross-traffic"),
            State::Full | State::Slack if self.is_path_despite_gaps(moment) => {
                place("path-saturated")
            }
            _ => None,
        }
    }

    /// Whether the window grew in slow start again, after one of at least two pauses, and had not
    /// reached the best rate.
    fn is_restart(&self, moment: &Moment<'_, '_, '_>) -> bool {
        let restarts = &self.m.restarts;
        restarts.are_repeated()
            && restarts.includes(moment.index)
            && moment.has_standing_queue() != Some(true)
            && self.m.near_rate(moment.index) < 0.85 * self.m.peak
    }

    /// Trigger of the losses that a silence hid: an outage, if a whole flight is missing by the
    /// sender's IPv4 identifications or more than one timeout fits into it; or that of the first
    /// episode after it, within two RTTs.
    fn hidden_trigger(&self, moment: &Moment<'_, '_, '_>) -> Option<usize> {
        /// Missing packets that are a flight, and not the end of a burst.
        const FLIGHT: u64 = 4;
        let silence = moment.round().spent_in(State::Idle);
        if moment.round().hidden >= FLIGHT || silence >= self.facts.first_timeout + self.m.base * 2
        {
            return place("outage");
        }
        let until = moment.round().end + self.m.base * 2;
        let list = &self.m.sender_view.episodes.list;
        let next = list.partition_point(|episode| episode.at < moment.round().start);
        list.get(next)
            .filter(|episode| episode.at <= until)
            .and(self.facts.triggers.get(next).copied().flatten())
    }

    /// Whether nothing passed for longer than a first retransmission timeout takes while a gap was
    /// open, and data did later.
    fn is_outage(&self, moment: &Moment<'_, '_, '_>) -> bool {
        let round = moment.round();
        let later = self
            .m
            .rounds
            .iter()
            .filter(|following| following.start >= round.end);
        let acked: u64 = later.map(|following| following.acked).sum();
        let is_long = round.spent_in(State::Recovery) >= self.facts.first_timeout + self.m.base * 2;
        is_long && is_dead(self.m, moment.index) && acked >= 10 * self.m.mss()
    }

    /// The missing option, if that made a recovery slow. What lost the segments set the window that
    /// follows, and stays open.
    fn repair_without_sack(&self, moment: &Moment<'_, '_, '_>) -> Option<usize> {
        let episode = &self.m.sender_view.episodes.list[self.m.after[moment.index]?];
        place("no-sack").filter(|_| no_sack::is_slow(self.m, episode))
    }

    /// Whether the sender waited most of that time for ACKs which then came, and seldom did: a link
    /// that serves in slots holds what is in flight again and again.
    fn is_held(&self, moment: &Moment<'_, '_, '_>) -> bool {
        let round = moment.round();
        let is_seldom = self.facts.held_in_flight * 5 < self.m.duration * 3;
        is_seldom && round.held * 2 > round.spent_in(moment.state) && round.held >= self.silence()
    }

    /// Minimum silence that no RTT explains.
    fn silence(&self) -> Duration {
        (self.m.base * 3 / 2).max(Duration::from_millis(100))
    }

    /// Whether the data after a silence had been sent in it, by its timestamps: the path held it.
    fn is_held_back(&self, moment: &Moment<'_, '_, '_>) -> bool {
        let silence = moment.round().spent_in(State::Idle);
        let least = (self.m.base * 2).max(Duration::from_millis(200));
        silence >= least && self.m.has_held_data(moment.index, silence)
    }

    /// Whether a standing queue is one of ACKs.
    fn is_late_acks(&self, moment: &Moment<'_, '_, '_>) -> bool {
        moment.has_standing_queue() == Some(true)
            && self.facts.delivered > 0
            && acks_late(moment) == Some(true)
    }

    /// Whether the application waits for answers, and the path has room.
    fn is_answered(&self, moment: &Moment<'_, '_, '_>) -> bool {
        self.facts.answers_release && moment.has_standing_queue() != Some(true)
    }

    /// Whether a queue is in the RTT of a bottleneck that others share.
    fn is_shared(&self, moment: &Moment<'_, '_, '_>) -> bool {
        let queue = self.m.queue(moment.index);
        self.facts.has_others
            && !self.facts.writes_release
            && queue.is_some_and(|queue| queue >= self.m.queue_step)
            && acks_late(moment) != Some(true)
            && !closes(self.m, moment.index)
    }

    /// Whether the bottleneck was busy in a round whose flight is unknown, since the capture lacks
    /// packets of it.
    fn is_path_despite_gaps(&self, moment: &Moment<'_, '_, '_>) -> bool {
        self.m.view == CapturePoint::Sender
            && moment.round().gaps > 0
            && moment.has_standing_queue() == Some(true)
    }

    /// Attributes a full or closed receive window: to its reader, if the window closes; to the
    /// window, if the path has no queue. With a queue of its own the bottleneck is busy, and a larger
    /// window would only make that queue longer. A longer path, or a queue of others, leaves room.
    fn window(&self, moment: &Moment<'_, '_, '_>) -> Option<usize> {
        if moment.zero_share() >= 0.5 {
            return place("slow-reader");
        }
        if !self.m.knows_windows() {
            return None;
        }
        if closes(self.m, moment.index) || self.facts.closing >= 0.3 {
            return place("slow-reader");
        }
        if moment.has_standing_queue() != Some(false) && !moment.waits_beyond_flight() {
            return None;
        }
        place(if self.facts.is_unscaled() {
            "no-window-scaling"
        } else {
            "receive-window-limited"
        })
    }

    /// Attributes the time before the first data. The handshake takes until the last SYN (a lost
    /// one is retransmitted) and an RTT, or as long as its halves took. A longer time waits for the
    /// application.
    fn setup(&self, round: &Round) -> Option<usize> {
        let handshake = self.m.connection.handshake_round_trip().unwrap_or_default();
        let last_syn = self.m.sender_view.last_syn;
        let syns = last_syn.map(|last| self.m.since_start(last));
        let setup = syns.unwrap_or_default()
            + handshake.max(self.m.base)
            + self.m.base * 2
            + Duration::from_millis(100);
        let is_short = round.spent_in(State::Opening) <= setup;
        place(if is_short {
            "connection-setup"
        } else {
            self.who_waited(handshake)
        })
    }

    /// Cause of a long time before the first data of this side: the client that asked late, the
    /// server that answered late, or the only application that sends.
    fn who_waited(&self, handshake: Duration) -> &'static str {
        let Some((opener, at)) = self.m.exchange.opening() else {
            return "application-limited";
        };
        let asked = self.m.since_start(at).saturating_sub(handshake);
        let first = self.m.sender_view.first_data.unwrap_or(at);
        let answered = first.saturating_since(at);
        match (self.m.side, opener) {
            (Side::Server, Side::Client) if asked >= answered => "client-think-time",
            (Side::Server, Side::Client) => "server-think-time",
            _ => "application-limited",
        }
    }

    /// Attributes the time after the end. After a FIN or a reset there is nothing to wait for.
    ///
    /// The end may have been lost, and waits for a timer.
    fn closing(&self, round: &Round) -> Option<usize> {
        let is_late = round.spent_in(State::Closing) >= self.m.base + self.m.base / 2;
        if round.again > 0 && is_late {
            return place("rto-backoff");
        }
        let is_over = self.m.sender_view.over.is_some_and(|at| round.end > at);
        place("application-limited").filter(|_| !is_over)
    }

    /// Every slice, with what facts leave open in it.
    pub fn slices(&self) -> Vec<Slice> {
        let features = features::of_rounds(self.m);
        let rounds = self.m.rounds.iter().zip(features).enumerate();
        let slices = rounds.flat_map(|(index, (round, features))| {
            let spent = State::ALL.map(|state| (state, round.spent_in(state)));
            let states = spent.into_iter().filter(|(_, time)| !time.is_zero());
            states.map(move |(state, time)| {
                let moment = self.moment(index, state);
                let decided = self.decided(&moment);
                Slice {
                    state,
                    time,
                    decided,
                    open: decided.map_or_else(|| self.scores.open_causes(&moment), |_| 0),
                    features,
                }
            })
        });
        slices.collect()
    }

    /// Attributes every slice, and passes each one to `each`.
    pub fn attribute(&self, mut each: impl FnMut(Span)) -> Account {
        let mut account = Account {
            causes: alloc::vec![Attributed::default(); CAUSES.len()],
            unknown: Duration::ZERO,
            expected: alloc::vec![0.0; CAUSES.len()],
        };
        for (index, round) in self.m.rounds.iter().enumerate() {
            let mut at = round.start;
            for state in State::ALL {
                let time = round.spent_in(state);
                if time.is_zero() {
                    continue;
                }
                let moment = self.moment(index, state);
                let decided = self.decided(&moment).map(|cause| (cause, DECIDED));
                let found = if let Some((cause, probability)) = decided {
                    account.causes[cause].decided += time;
                    account.expected[cause] += probability * time.as_secs_f64();
                    decided
                } else {
                    let all = self.scores.probabilities(&moment);
                    for (sum, probability) in account.expected.iter_mut().zip(all) {
                        *sum += probability * time.as_secs_f64();
                    }
                    self.cause(&moment, &all)
                        .filter(|(_, probability)| *probability >= MIN_PROBABILITY)
                };
                match found {
                    Some((cause, probability)) => {
                        let to = &mut account.causes[cause];
                        to.time += time;
                        to.weight += probability * time.as_secs_f64();
                        to.bytes += self.m.rate(index) * time.as_secs_f64();
                        if time > to.longest {
                            (to.longest, to.round) = (time, index);
                        }
                    }
                    None => account.unknown += time,
                }
                each(Span {
                    start: at,
                    length: time,
                    cause: found.map(|(cause, _)| cause),
                });
                at += time;
            }
            debug_assert_eq!(
                at, round.end,
                "the states of round {index} take all its time"
            );
        }
        self.assign_episodes(&mut account);
        for (cause, attributed) in CAUSES.iter().zip(&mut account.causes) {
            attributed.note = cause.note.and_then(|note| note(self.m));
            attributed.is_observable = is_observable(cause, self.facts);
        }
        account
    }

    /// Assigns each recovery episode to the loss cause of the first round after it.
    fn assign_episodes(&self, account: &mut Account) {
        let mut assigned = None;
        for (index, episode) in self.m.after.iter().enumerate() {
            let Some(episode) = episode.filter(|_| *episode != assigned) else {
                continue;
            };
            assigned = Some(episode);
            let states = [State::Recovery, State::Timeout, State::Full, State::Slack];
            let round = &self.m.rounds[index];
            let spent = |state: &State| !round.spent_in(*state).is_zero();
            let found = states
                .into_iter()
                .filter(spent)
                .find_map(|state| most(&self.scores.probabilities(&self.moment(index, state))));
            if let Some((cause, _)) = found {
                account.causes[cause].episodes.push(episode);
            }
        }
    }
}

/// Whether a capture shows what tells a cause from others.
fn is_observable(cause: &Cause, facts: &Facts<'_, '_>) -> bool {
    cause
        .observable
        .iter()
        .all(|condition| match condition.test {
            Test::Connection(test) => test(facts) == Some(true),
            Test::Round(_) => true,
        })
}

/// Most probable cause and its probability.
pub(crate) fn most(all: &[f64]) -> Option<(usize, f64)> {
    let indexed = all.iter().copied().enumerate();
    indexed
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .filter(|(_, probability)| *probability > 0.0)
}
