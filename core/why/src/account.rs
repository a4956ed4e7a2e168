//! Attributes each instant of a connection to one cause, or to "unknown".
//!
//! Time is divided into slices, one for each state of each round. A slice is attributed to
//! its most probable cause; if that is less probable than [`MIN_PROBABILITY`] it is
//! unknown. The times of all causes and of unknown add up to the duration.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::CapturePoint;
use crate::causes::{CAUSES, place};
use crate::measures::Measures;
use crate::round::{Round, State};
use crate::score::Scores;

/// A slice whose most probable cause is less probable than this is unknown.
pub(crate) const MIN_PROBABILITY: f64 = 0.4;

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
    /// Returns the mean probability over its time.
    pub fn probability(&self) -> f64 {
        let time = self.time.as_secs_f64();
        if time > 0.0 {
            self.weight / time
        } else {
            self.note.unwrap_or_default()
        }
    }

    /// Returns the delivery rate in its time, in bytes per second.
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
    /// Returns the cause with most time.
    pub fn most(&self) -> Option<usize> {
        (0..CAUSES.len()).max_by_key(|index| self.causes[*index].time)
    }
}

/// Measures and scores of a connection, ready to be attributed.
pub(crate) struct Scored<'a, 'b> {
    m: &'b Measures<'a>,
    scores: Scores,
}

impl<'a, 'b> Scored<'a, 'b> {
    pub fn of(m: &'b Measures<'a>) -> Self {
        Self {
            m,
            scores: Scores::of(m),
        }
    }

    /// Returns the cause of a slice and its probability. `all` has the probabilities of all causes.
    fn cause(&self, index: usize, state: State, all: &[f64]) -> Option<(usize, f64)> {
        let round = &self.m.rounds[index];
        match state {
            State::Opening => self.setup(round),
            State::Closing => self.closing(round),
            // Near the sender no data can be lost before the capture point. If the capture lacks
            // data, the amount in flight is unknown.
            State::Full | State::Slack if self.m.view == CapturePoint::Sender && round.gaps > 0 => {
                None
            }
            _ => most(all),
        }
    }

    /// Attributes the time before the first data. The handshake takes until the last SYN (a lost
    /// one is retransmitted) and an RTT, or as long as its halves took. A longer time waits for the
    /// application.
    fn setup(&self, round: &Round) -> Option<(usize, f64)> {
        let handshake = self.m.connection.handshake_round_trip().unwrap_or_default();
        let last_syn = self.m.sender_view.last_syn;
        let syns = last_syn.map(|last| self.m.since_start(last));
        let setup = syns.unwrap_or_default()
            + handshake.max(self.m.base)
            + self.m.base * 2
            + Duration::from_millis(100);
        let id = if round.spent_in(State::Opening) <= setup {
            "connection-setup"
        } else {
            "application-limited"
        };
        place(id).map(|cause| (cause, 0.95))
    }

    /// Attributes the time after the end. After a FIN or a reset there is nothing to wait for.
    fn closing(&self, round: &Round) -> Option<(usize, f64)> {
        let is_over = self.m.sender_view.over.is_some_and(|at| round.end > at);
        let cause = place("application-limited").filter(|_| !is_over)?;
        Some((cause, 0.95))
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
                let all = self.scores.probabilities(index, state);
                for (sum, probability) in account.expected.iter_mut().zip(all) {
                    *sum += probability * time.as_secs_f64();
                }
                let found = self.cause(index, state, &all);
                let found = found.filter(|(_, probability)| *probability >= MIN_PROBABILITY);
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
                .find_map(|state| most(&self.scores.probabilities(index, state)));
            if let Some((cause, _)) = found {
                account.causes[cause].episodes.push(episode);
            }
        }
    }
}

/// Returns the most probable cause and its probability.
pub(crate) fn most(all: &[f64]) -> Option<(usize, f64)> {
    let all = all.iter().copied().enumerate();
    all.reduce(|best, one| if one.1 > best.1 { one } else { best })
        .filter(|(_, probability)| *probability > 0.0)
}
