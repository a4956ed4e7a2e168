//! A diagnosis in figures alone: for tables of many connections, where sentences
//! and evidence would cost more than all the rest.
//!
//! The account is the same as that of a [`crate::Diagnosis`], and so is its
//! dominant cause; nothing is told.

use gigatcp_flows::{Connection, Side};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::View;
use crate::account::{self, Won};
use crate::case::{Case, rate};
use crate::rules::{RULES, Rule};
use crate::trail::Trail;
use crate::verdict::{SURE_ENOUGH, hear};

/// What limited one direction of a connection most.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    /// The side that sent.
    pub sender: Side,
    /// Where the capture was taken.
    pub view: View,
    /// The connection's time in the capture.
    pub run: Duration,
    /// Octets acknowledged.
    pub delivered: Bytes,
    /// Their rate over the run.
    pub rate: Rate,
    /// The least round trip of the path.
    pub round_trip: Duration,
    /// What took most of the time, where that is more than is unknown.
    pub cause: Option<Cause>,
    /// Time whose cause the capture does not show.
    pub unknown: Duration,
}

/// A cause, and what it took.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// By which rule.
    pub rule: &'static Rule,
    /// Time of the connection that it took.
    pub time: Duration,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
}

impl Brief {
    pub(crate) fn of(connection: &Connection, trail: &Trail, start: Instant) -> Self {
        let case = Case::new(connection, trail, start, None);
        let (won, unknown) = account::settle_each(&case, &hear(&case), RULES.len(), |_| {});
        // Of two that took the same the earlier rule stands first.
        let most = |best: Option<(usize, Won)>, (index, won): (usize, &Won)| match best {
            Some((_, most)) if most.time >= won.time => best,
            _ => Some((index, *won)),
        };
        let most = won.iter().enumerate().fold(None, most);
        let cause = most.filter(|(_, won)| {
            !won.time.is_zero() && won.time >= unknown && won.sure() >= SURE_ENOUGH
        });
        let delivered = case.rounds.iter().map(|round| round.acked).sum();
        Self {
            sender: trail.side,
            view: case.view,
            run: case.run,
            delivered: Bytes::new(delivered),
            rate: rate(case.mean_rate()),
            round_trip: case.base,
            cause: cause.map(|(index, won)| Cause {
                rule: RULES[index],
                time: won.time,
                confidence: won.sure(),
            }),
            unknown,
        }
    }

    /// The share of the time that its cause took, or that nothing is known of.
    #[must_use]
    pub fn share(&self) -> f64 {
        let time = self.cause.map_or(self.unknown, |cause| cause.time);
        time.as_secs_f64() / self.run.as_secs_f64().max(1e-9)
    }
}
