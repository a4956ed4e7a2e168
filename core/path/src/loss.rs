//! Loss models: which wire packets disappear at a hop's entrance.
//!
//! A model sees *every* wire packet that arrives, also those another model of
//! the same hop has taken: its count and its random stream never depend on
//! its neighbours. Where two models claim the same packet, the first in the
//! list is named as the cause.
//!
//! Deliberately absent: loss in bursts (Gilbert, Elliott). Bursts that matter
//! to TCP come from full queues, which a hop has; a recorded burst can be
//! given as [`LossModel::Listed`].

use alloc::vec::Vec;

use gigatcp_units::Probability;

use crate::ConfigError;
use crate::random::{Chance, Purpose};

/// Which of the wire packets arriving at a hop are lost.
#[derive(Clone, PartialEq, Debug)]
pub enum LossModel {
    /// Each with this probability, independent of all others.
    ///
    /// The random stream belongs to the hop's name and to this model's place
    /// among the Bernoulli models of the hop.
    Bernoulli(Probability),
    /// Every n-th: with `every: 100` the 100th, the 200th and so on.
    Periodic {
        /// The period in wire packets, 1 or more.
        every: u64,
    },
    /// Exactly these, counted from 1 in order of arrival; strictly ascending.
    Listed(Vec<u64>),
}

impl LossModel {
    /// Says what is wrong with the model, if anything.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Bernoulli(_) => Ok(()),
            Self::Periodic { every: 0 } => Err(ConfigError::PeriodZero),
            Self::Periodic { .. } => Ok(()),
            Self::Listed(list) if list.first() == Some(&0) => Err(ConfigError::ListedZero),
            Self::Listed(list) if !list.is_sorted_by(|a, b| a < b) => {
                Err(ConfigError::ListNotAscending)
            }
            Self::Listed(_) => Ok(()),
        }
    }
}

/// A loss model at work.
#[derive(Clone, Debug)]
enum Judge {
    Bernoulli(Chance),
    Periodic {
        every: u64,
        left: u64,
    },
    Listed {
        list: Vec<u64>,
        next: usize,
        seen: u64,
    },
}

impl Judge {
    /// Whether the next wire packet is lost.
    fn is_lost(&mut self) -> bool {
        match self {
            Self::Bernoulli(chance) => chance.strikes(),
            Self::Periodic { every, left } => {
                *left -= 1;
                let is_lost = *left == 0;
                if is_lost {
                    *left = *every;
                }
                is_lost
            }
            Self::Listed { list, next, seen } => {
                *seen += 1;
                let is_lost = list.get(*next) == Some(seen);
                *next += usize::from(is_lost);
                is_lost
            }
        }
    }
}

/// All loss models of a hop at work.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    judges: Vec<Judge>,
}

impl Losses {
    /// Models as configured; they must have passed [`LossModel::check`].
    pub(crate) fn new(models: &[LossModel], seed: u64, name: &str) -> Self {
        let mut bernoullis = 0;
        let judges = models.iter().map(|model| match model {
            LossModel::Bernoulli(probability) => {
                let purpose = Purpose::Loss(bernoullis);
                bernoullis += 1;
                Judge::Bernoulli(Chance::new(*probability, seed, name, purpose))
            }
            LossModel::Periodic { every } => Judge::Periodic {
                every: *every,
                left: *every,
            },
            LossModel::Listed(list) => Judge::Listed {
                list: list.clone(),
                next: 0,
                seen: 0,
            },
        });
        Self {
            judges: judges.collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.judges.is_empty()
    }

    /// The first model that takes the next wire packet, if any does.
    pub(crate) fn judge(&mut self) -> Option<usize> {
        let mut taken_by = None;
        for (index, judge) in self.judges.iter_mut().enumerate() {
            if judge.is_lost() && taken_by.is_none() {
                taken_by = Some(index);
            }
        }
        taken_by
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn lost_of(models: &[LossModel], packets: u64) -> Vec<u64> {
        let mut losses = Losses::new(models, 1, "hop");
        (1..=packets).filter(|_| losses.judge().is_some()).collect()
    }

    fn bernoulli(p: f64) -> LossModel {
        LossModel::Bernoulli(Probability::try_new(p).unwrap())
    }

    #[test]
    fn periodic_loss_takes_every_nth_packet_exactly() {
        let lost = lost_of(&[LossModel::Periodic { every: 100 }], 1000);
        assert_eq!(lost, (1..=10).map(|k| k * 100).collect::<Vec<_>>());
        assert_eq!(lost_of(&[LossModel::Periodic { every: 1 }], 3), [1, 2, 3]);
    }

    #[test]
    fn listed_loss_takes_exactly_the_listed_packets() {
        let list = vec![1, 2, 77, 500];
        assert_eq!(lost_of(&[LossModel::Listed(list)], 400), [1, 2, 77]);
    }

    /// The count of a binomial(n, p) lies within five standard deviations of
    /// n p except once in 1.7 million: here never, since the seed is fixed.
    #[test]
    fn bernoulli_loss_lies_within_the_binomial_interval() {
        for p in [1e-5, 1e-3, 0.01, 0.5, 0.99] {
            let n = 2_000_000;
            let lost = lost_of(&[bernoulli(p)], n).len() as f64;
            let mean = n as f64 * p;
            let deviation = 5.0 * (mean * (1.0 - p)).sqrt();
            assert!((lost - mean).abs() <= deviation, "p {p}: {lost} lost");
        }
    }

    #[test]
    fn bernoulli_losses_do_not_cluster() {
        let lost = lost_of(&[bernoulli(0.1)], 1_000_000);
        let pairs = lost.windows(2).filter(|w| w[0] + 1 == w[1]).count() as f64;
        let (mean, deviation) = (10_000.0, 5.0 * 10_000.0_f64.sqrt());
        assert!((pairs - mean).abs() < deviation, "{pairs} adjacent pairs");
    }

    #[test]
    fn a_further_model_takes_nothing_from_the_stream_of_the_others() {
        let alone = lost_of(&[bernoulli(0.01)], 10_000);
        let models = [
            LossModel::Periodic { every: 7 },
            bernoulli(0.01),
            bernoulli(0.5),
        ];
        let mut losses = Losses::new(&models, 1, "hop");
        let second: Vec<u64> = (1..=10_000).filter(|_| losses.judge() == Some(1)).collect();
        let expected: Vec<u64> = alone.into_iter().filter(|k| k % 7 != 0).collect();
        assert_eq!(second, expected);
    }

    #[test]
    fn impossible_models_are_refused_with_the_reason() {
        let listed = |list| LossModel::Listed(list).check();
        assert_eq!(listed(vec![0, 1]), Err(ConfigError::ListedZero));
        assert_eq!(listed(vec![2, 2]), Err(ConfigError::ListNotAscending));
        assert_eq!(listed(vec![]), Ok(()));
        let periodic = LossModel::Periodic { every: 0 };
        assert_eq!(periodic.check(), Err(ConfigError::PeriodZero));
    }
}
