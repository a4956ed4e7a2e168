//! Changes of a path while it runs: requested changes, steps of schedules, and the list of both.
//!
//! The path's thread applies a requested change between two packets;
//! [`Hop::reconfigure`](gigatcp_path::Hop::reconfigure) defines its effect on packets inside. Steps
//! of a schedule happen inside the hop, each at its instant. They are listed here, with that
//! instant, at the next reading of the counters.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time;

use gigatcp_path::{ConfigError, Difference, HopConfig, RateSource};
use gigatcp_units::{Duration, Instant};

use crate::side::Side;

/// Maximum time for the path's thread to apply a change.
const LONGEST: time::Duration = time::Duration::from_secs(5);

/// A requested change of a hop.
#[derive(Clone, PartialEq, Debug)]
pub struct HopChange {
    /// Side that the hop's packets come from.
    pub from: Side,
    /// Index of the hop in that direction, from zero.
    pub hop: usize,
    /// New configuration; the name stays.
    pub config: HopConfig,
}

/// A change that was made at a hop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// Time since the path began.
    pub at: Instant,
    /// Side that the hop's packets come from.
    pub from: Side,
    /// Name of the hop.
    pub hop: String,
    /// Setting, old and new value.
    pub difference: Difference,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// There is no such hop, or the configuration is invalid.
    #[error("a hop cannot be so: {0}")]
    Hop(ConfigError),
    /// The path has stopped.
    #[error("the path carries no packets any more")]
    Stopped,
}

/// Requests to the path's thread, and the changes made so far.
#[derive(Default, Debug)]
pub(crate) struct Changes {
    /// Whether a request is pending. It is read between packets, so it costs only a load.
    is_ordered: AtomicBool,
    orders: Mutex<VecDeque<Order>>,
    done: Mutex<Vec<Changed>>,
}

/// Hops to change at one instant, and the channel for the reply.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) hops: Vec<HopChange>,
    pub(crate) reply: Sender<Result<Vec<Changed>, ConfigError>>,
}

impl Changes {
    /// Requests changes, wakes the thread by `wake`, and waits until they are made.
    pub(crate) fn order(
        &self,
        hops: Vec<HopChange>,
        wake: impl FnOnce(),
    ) -> Result<Vec<Changed>, OrderError> {
        for hop in &hops {
            hop.config.check().map_err(OrderError::Hop)?;
        }
        let (reply, replies) = mpsc::channel();
        locked(&self.orders).push_back(Order { hops, reply });
        self.is_ordered.store(true, Ordering::Release);
        wake();
        replies
            .recv_timeout(LONGEST)
            .map_err(|_| OrderError::Stopped)?
            .map_err(OrderError::Hop)
    }

    /// Next request, if any.
    pub(crate) fn take(&self) -> Option<Order> {
        if !self.is_ordered.load(Ordering::Acquire) {
            return None;
        }
        let mut orders = locked(&self.orders);
        let order = orders.pop_front();
        self.is_ordered.store(!orders.is_empty(), Ordering::Release);
        order
    }

    /// Appends to the list of changes.
    pub(crate) fn list(&self, changed: &[Changed]) {
        locked(&self.done).extend_from_slice(changed);
    }

    pub(crate) fn so_far(&self) -> Vec<Changed> {
        locked(&self.done).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The schedules of a hop.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled {
    from: Side,
    config: HopConfig,
    /// Start of its rate schedule.
    rates_from: Instant,
    /// Start of its delay schedule.
    delays_from: Instant,
    /// Rate and delay as last listed.
    rate: String,
    delay: String,
}

impl Scheduled {
    /// Schedules of a hop at the start of the path.
    pub(crate) fn new(from: Side, config: &HopConfig) -> Self {
        Self {
            from,
            config: config.clone(),
            rates_from: Instant::ZERO,
            delays_from: Instant::ZERO,
            rate: rate_of(config),
            delay: config.one_way_delay.to_string(),
        }
    }

    /// Updates the schedules after the hop became `config` at `now`.
    pub(crate) fn reconfigure(&mut self, now: Instant, config: &HopConfig) {
        if self.config.rate_source != config.rate_source {
            self.rates_from = now;
        }
        if self.config.delay_schedule != config.delay_schedule {
            self.delays_from = now;
        }
        self.rate = rate_of(config);
        self.delay = config.one_way_delay.to_string();
        self.config = config.clone();
    }

    /// Steps of its schedules after `before` and no later than `now`.
    pub(crate) fn steps(&mut self, before: Instant, now: Instant) -> Vec<Changed> {
        let mut steps: Vec<(Instant, &'static str, String)> = Vec::new();
        let span = |start: Instant| {
            let since = |at: Instant| at.saturating_since(start);
            (since(before), since(now))
        };
        if let Some(RateSource::Schedule(schedule)) = &self.config.rate_source {
            let (from, until) = span(self.rates_from);
            let taken = schedule.steps_between(from, until);
            steps.extend(taken.map(|(at, rate)| (self.rates_from + at, "rate", rate.to_string())));
        }
        if let Some(schedule) = &self.config.delay_schedule {
            let (from, until) = span(self.delays_from);
            let taken = schedule.steps_between(from, until);
            steps.extend(taken.map(|(at, delay): (Duration, Duration)| {
                (self.delays_from + at, "delay", delay.to_string())
            }));
        }
        steps.sort_by_key(|(at, ..)| *at);
        let changed = steps.into_iter().map(|(at, what, to)| {
            let known = match what {
                "rate" => &mut self.rate,
                _ => &mut self.delay,
            };
            let from = std::mem::replace(known, to.clone());
            Changed {
                at,
                from: self.from,
                hop: self.config.name.clone(),
                difference: Difference {
                    what,
                    from: Some(from).filter(|from| !from.is_empty()),
                    to: Some(to),
                },
            }
        });
        changed.collect()
    }
}

/// Rate as text; empty without a rate.
fn rate_of(config: &HopConfig) -> String {
    config
        .rate
        .map_or_else(String::new, |rate| rate.to_string())
}

#[cfg(test)]
mod tests {
    use gigatcp_path::Schedule;
    use gigatcp_units::Rate;

    use super::*;

    #[test]
    fn steps_of_a_schedule_are_listed_once_with_their_instant() {
        let ms = Duration::from_millis;
        let config = HopConfig {
            rate: Some(Rate::from_bps(10_000_000)),
            rate_source: Some(RateSource::Schedule(Schedule {
                steps: vec![(ms(10), Rate::from_bps(1_000_000)), (ms(20), Rate::ZERO)],
                every: None,
            })),
            ..HopConfig::default()
        };
        let mut hop = Scheduled::new(Side::Client, &HopConfig::default());
        let at = |time| Instant::ZERO + time;
        hop.reconfigure(at(ms(100)), &config);
        assert_eq!(hop.steps(at(ms(100)), at(ms(109))), []);
        let told: Vec<_> = hop
            .steps(at(ms(109)), at(ms(150)))
            .into_iter()
            .map(|step| (step.at, step.difference.from, step.difference.to))
            .collect();
        let expected = [
            (
                at(ms(110)),
                Some("10 Mbit/s".into()),
                Some("1 Mbit/s".into()),
            ),
            (at(ms(120)), Some("1 Mbit/s".into()), Some("0 bit/s".into())),
        ];
        assert_eq!(told, expected);
        assert_eq!(hop.steps(at(ms(150)), at(ms(999))), []);
    }
}
