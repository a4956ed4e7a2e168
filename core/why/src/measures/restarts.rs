//! Slow starts after pauses: RFC 5681 section 4.1.
//!
//! A sender that has sent nothing for a retransmission timeout begins with its restart window; Linux
//! halves the window for each timeout that a pause lasts. Then less than half is in flight of what
//! was before, and acknowledgments double it.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use crate::round::{Round, State};

/// Minimum retransmission timeout of most hosts, beyond the RTT.
const MIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The slow starts after pauses of one sender.
#[derive(Default, Debug)]
pub(crate) struct Restarts {
    /// Number of pauses after which little was in flight.
    pub count: u64,
    /// Largest flight with which one began, in bytes.
    pub flight: u64,
    /// Time in which the flight grew again.
    pub growing: Duration,
    /// For each round, whether it did.
    rounds: Vec<bool>,
}

impl Restarts {
    pub fn of(rounds: &[Round], mss: u64, base: Duration) -> Self {
        let mut all = Self {
            rounds: alloc::vec![false; rounds.len()],
            ..Self::default()
        };
        let is_begin =
            |round: &Round| round.count == 1 && round.spent_in(State::Idle) >= base + MIN_TIMEOUT;
        let begins = (0..rounds.len()).filter(|index| is_begin(&rounds[*index]));
        let ends = begins.clone().skip(1).chain([rounds.len()]);
        let mut last = 0;
        for (begin, end) in begins.zip(ends) {
            // A loss makes the window smaller, too.
            let is_clean = rounds[last..end].iter().all(|round| round.again == 0);
            let flights = rounds[last..begin].iter().map(|round| round.flight);
            let before = flights.max().filter(|_| is_clean).unwrap_or_default();
            last = begin;
            all.add(rounds, begin, end, before, mss);
        }
        all
    }

    /// Adds the rounds after a pause, if the window grows in them. `before` is the largest flight
    /// of the burst before.
    fn add(&mut self, rounds: &[Round], begin: usize, end: usize, before: u64, mss: u64) {
        let first = rounds[begin].flight;
        let is_small = first >= mss && first * 2 <= before;
        let largest = (begin..end).rev().max_by_key(|index| rounds[*index].flight);
        let Some(last) = largest.filter(|last| is_small && rounds[*last].flight >= first * 2)
        else {
            return;
        };
        let growth = &rounds[begin + 1..=last];
        let sum = |of: fn(&Round) -> u64| growth.iter().map(of).sum::<u64>();
        // An acknowledgment releases at most twice what it acknowledges; an application that has more
        // to send by itself does not double.
        if sum(|round| round.sent) > sum(|round| round.acked) * 11 / 5 {
            return;
        }
        self.count += 1;
        self.flight = self.flight.max(first);
        for (index, round) in rounds.iter().enumerate().take(last + 1).skip(begin) {
            self.rounds[index] = true;
            self.growing += round.length().saturating_sub(round.spent_in(State::Idle));
        }
    }

    /// Whether it happened after more than one pause.
    pub fn are_repeated(&self) -> bool {
        self.count >= 2
    }

    /// Whether the flight grew in this round as after a pause.
    pub fn includes(&self, round: usize) -> bool {
        self.rounds[round]
    }
}
