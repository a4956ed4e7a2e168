//! Loss models: select wire packets to drop or corrupt at a hop's entrance.
//!
//! A model sees *every* wire packet that arrives, including those selected by another model of the
//! same hop. Its count and its random stream therefore do not depend on other models. If two models
//! select the same packet, the first in the list is reported as the cause.
//!
//! **Bursty loss** is the chain of Gilbert (1960) and Elliott (1963): a good and a bad state with
//! different loss probabilities.
//!
//! ```text
//! P(good -> bad) = p,  P(bad -> good) = r,  per packet
//! loss = p/(p+r) * bad loss + r/(p+r) * good loss                       (1)
//! mean burst = 1/r, mean gap between bursts = 1/p                       (2)
//! ```
//!
//! A packet's outcome is decided by the state before the transition that it causes, as in netem's
//! `gemodel`. The chain begins in the good state.

use alloc::vec::Vec;

use gigatcp_units::Probability;

use crate::ConfigError;
use crate::random::{Purpose, RandomEvent};

/// A model that selects wire packets arriving at a hop. Selected packets are lost or, in
/// [`HopConfig::corrupt`], corrupted.
///
/// [`HopConfig::corrupt`]: crate::HopConfig::corrupt
#[derive(Clone, PartialEq, Debug)]
pub enum LossModel {
    /// Each packet with this probability, independently.
    ///
    /// The random stream is determined by the hop's name and this model's index among the Bernoulli
    /// models of the hop.
    Bernoulli(Probability),
    /// In bursts.
    GilbertElliott(GilbertElliott),
    /// Every n-th: with `every: 100` the 100th, the 200th and so on.
    Periodic {
        /// The period in wire packets, 1 or more.
        every: u64,
    },
    /// The listed packets, counted from 1 in order of arrival; strictly ascending.
    Listed(Vec<u64>),
}

/// A chain of two states with different loss probabilities.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GilbertElliott {
    /// Probability per packet of the transition from the good to the bad state.
    pub to_bad: Probability,
    /// Probability per packet of the transition from the bad to the good state.
    pub to_good: Probability,
    /// Loss probability in the bad state: 1 in Gilbert's simple chain.
    pub bad_loss: Probability,
    /// Loss probability in the good state: 0 in Gilbert's simple chain.
    pub good_loss: Probability,
}

impl GilbertElliott {
    /// Gilbert's simple chain with this loss probability and mean burst length. In its bad state
    /// all packets are lost, in its good state none. `None` if there is no such chain: bursts are
    /// of one packet or more, and the good state must be left with a probability of at most 1.
    pub fn of_bursts(loss: Probability, mean_burst: f64) -> Option<Self> {
        let loss = loss.as_f64();
        if !(mean_burst >= 1.0 && loss < 1.0) {
            return None;
        }
        Some(Self {
            to_bad: Probability::try_new(loss / (mean_burst * (1.0 - loss)))?,
            to_good: Probability::try_new(1.0 / mean_burst)?,
            bad_loss: Probability::try_new(1.0)?,
            good_loss: Probability::NEVER,
        })
    }

    /// Long-run loss probability: equation (1).
    pub fn mean_loss(&self) -> f64 {
        let (p, r) = (self.to_bad.as_f64(), self.to_good.as_f64());
        if p + r == 0.0 {
            return self.good_loss.as_f64();
        }
        (p * self.bad_loss.as_f64() + r * self.good_loss.as_f64()) / (p + r)
    }
}

impl LossModel {
    /// Checks whether the settings are valid.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Bernoulli(_) | Self::GilbertElliott(_) => Ok(()),
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

/// Running state of a Gilbert-Elliott chain.
#[derive(Clone, Debug)]
struct Chain {
    is_bad: bool,
    to_bad: RandomEvent,
    to_good: RandomEvent,
    bad_loss: RandomEvent,
    good_loss: RandomEvent,
}

impl Chain {
    /// A chain whose four random streams have the purposes `purpose(0)` to `purpose(3)`.
    fn new(
        model: &GilbertElliott,
        seed: u64,
        name: &str,
        purpose: impl Fn(u64) -> Purpose,
    ) -> Self {
        let chance = |probability, part| RandomEvent::new(probability, seed, name, purpose(part));
        Self {
            is_bad: false,
            to_bad: chance(model.to_bad, 0),
            to_good: chance(model.to_good, 1),
            bad_loss: chance(model.bad_loss, 2),
            good_loss: chance(model.good_loss, 3),
        }
    }

    fn is_selected(&mut self) -> bool {
        let (moves, is_lost) = if self.is_bad {
            (self.to_good.occurs(), self.bad_loss.occurs())
        } else {
            (self.to_bad.occurs(), self.good_loss.occurs())
        };
        self.is_bad ^= moves;
        is_lost
    }
}

/// Running state of a loss model.
#[derive(Clone, Debug)]
enum LossModelState {
    Bernoulli(RandomEvent),
    Chain(Chain),
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

impl LossModelState {
    /// Whether the next wire packet is selected.
    fn is_selected(&mut self) -> bool {
        match self {
            Self::Bernoulli(chance) => chance.occurs(),
            Self::Chain(chain) => chain.is_selected(),
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
                debug_assert!(
                    list.get(*next).is_none_or(|listed| listed >= seen),
                    "packet {seen} passes, the next to be lost is {:?}",
                    list.get(*next)
                );
                let is_lost = list.get(*next) == Some(seen);
                *next += usize::from(is_lost);
                is_lost
            }
        }
    }
}

/// Effect of models on the packets that they select.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LossEffect {
    Loss,
    Corruption,
}

impl LossEffect {
    /// Random stream of the n-th Bernoulli model.
    const fn bernoulli(self, n: u64) -> Purpose {
        match self {
            Self::Loss => Purpose::Loss(n),
            Self::Corruption => Purpose::Corrupt(n),
        }
    }

    /// Random stream of one of the probabilities of the n-th chain.
    const fn chain(self, n: u64, part: u64) -> Purpose {
        match self {
            Self::Loss => Purpose::Burst(4 * n + part),
            Self::Corruption => Purpose::CorruptBurst(4 * n + part),
        }
    }
}

/// Running state of all models of a hop with the same effect.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    models: Vec<LossModelState>,
}

impl Losses {
    /// Models as configured; they must have passed [`LossModel::check`].
    pub(crate) fn new(models: &[LossModel], effect: LossEffect, seed: u64, name: &str) -> Self {
        let (mut bernoullis, mut chains) = (0, 0);
        let models = models.iter().map(|model| match model {
            LossModel::Bernoulli(probability) => {
                let purpose = effect.bernoulli(bernoullis);
                bernoullis += 1;
                LossModelState::Bernoulli(RandomEvent::new(*probability, seed, name, purpose))
            }
            LossModel::GilbertElliott(model) => {
                chains += 1;
                let purpose = |part| effect.chain(chains - 1, part);
                LossModelState::Chain(Chain::new(model, seed, name, purpose))
            }
            LossModel::Periodic { every } => LossModelState::Periodic {
                every: *every,
                left: *every,
            },
            LossModel::Listed(list) => LossModelState::Listed {
                list: list.clone(),
                next: 0,
                seen: 0,
            },
        });
        Self {
            models: models.collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// First model that selects the next wire packet, if any.
    pub(crate) fn select(&mut self) -> Option<usize> {
        let mut taken_by = None;
        for (index, model) in self.models.iter_mut().enumerate() {
            if model.is_selected() && taken_by.is_none() {
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
        let mut losses = Losses::new(models, LossEffect::Loss, 1, "hop");
        (1..=packets)
            .filter(|_| losses.select().is_some())
            .collect()
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

    /// The count of a binomial(n, p) lies within five standard deviations of n p. Exceptions occur
    /// once in 1.7 million; here never, since the seed is fixed.
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

    /// Expected by equations (1) and (2). p 0.01 and r 0.25: loss of 3.846 % in bursts of 4. p
    /// 0.001 and r 0.1: loss of 0.990 % in bursts of 10. The second chain is built from these
    /// figures.
    #[test]
    fn bursts_have_the_share_and_the_length_that_were_asked_for() {
        let chance = |p| Probability::try_new(p).unwrap();
        let first = GilbertElliott {
            to_bad: chance(0.01),
            to_good: chance(0.25),
            bad_loss: chance(1.0),
            good_loss: Probability::NEVER,
        };
        let second = GilbertElliott::of_bursts(chance(0.001 / 0.101), 10.0).unwrap();
        assert!((second.to_bad.as_f64() - 0.001).abs() < 1e-12);
        for (chain, share, burst) in [(first, 0.038_46, 4.0), (second, 0.009_901, 10.0)] {
            assert!((chain.mean_loss() - share).abs() < 1e-5);
            let packets = 4_000_000;
            let lost = lost_of(&[LossModel::GilbertElliott(chain)], packets);
            let bursts = 1 + lost.windows(2).filter(|w| w[0] + 1 != w[1]).count();
            let mean = lost.len() as f64 / bursts as f64;
            // Five standard deviations: bursts and gaps are geometric, about as
            // variable as they are long.
            let bound = 5.0 * (2.0 / bursts as f64).sqrt();
            assert!((mean / burst - 1.0).abs() < bound, "bursts of {mean}");
            let of_all = lost.len() as f64 / packets as f64;
            assert!((of_all / share - 1.0).abs() < bound, "{of_all} lost");
        }
    }

    #[test]
    fn a_chain_that_cannot_be_is_refused() {
        let chance = |p| Probability::try_new(p).unwrap();
        assert_eq!(GilbertElliott::of_bursts(chance(0.1), 0.5), None);
        assert_eq!(GilbertElliott::of_bursts(chance(0.9), 1.0), None);
        assert_eq!(GilbertElliott::of_bursts(chance(1.0), 9.0), None);
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
        let mut losses = Losses::new(&models, LossEffect::Loss, 1, "hop");
        let second: Vec<u64> = (1..=10_000)
            .filter(|_| losses.select() == Some(1))
            .collect();
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
