//! Impairment outcome of each wire packet at a hop's entrance: lost, policed, corrupted, marked,
//! reordered, duplicated.
//!
//! Each impairment draws from its own random stream once per arriving wire packet, independent of
//! the others. Enabling one therefore does not shift another.

use gigatcp_units::Instant;

use crate::Parcel;
use crate::ack_filter::{AckFilter, EveryNth};
use crate::config::{HopConfig, Period};
use crate::link::Entrance;
use crate::loss::{LossEffect, Losses};
use crate::policer::Bucket;
use crate::random::{Purpose, RandomEvent};

/// Impairment outcome of one wire packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ImpairmentOutcome {
    /// Index of the loss model that drops it.
    pub(crate) lost_to: Option<usize>,
    pub(crate) is_policed: bool,
    pub(crate) is_corrupted: bool,
    pub(crate) is_reordered: bool,
    pub(crate) is_duplicated: bool,
    pub(crate) is_marked: bool,
}

impl ImpairmentOutcome {
    /// Part that queue and line use.
    pub(crate) const fn entrance(self) -> Entrance {
        Entrance {
            is_reordered: self.is_reordered,
            is_marked: self.is_marked,
        }
    }
}

/// Running state of the impairments of a hop.
#[derive(Clone, Debug)]
pub(crate) struct Impairments {
    losses: Losses,
    loss_period: Option<Period>,
    corruptions: Losses,
    reorder: Option<RandomEvent>,
    duplicate: Option<RandomEvent>,
    mark: Option<RandomEvent>,
    policer: Option<Bucket>,
    every_nth_ack: Option<EveryNth>,
    is_clean: bool,
}

impl Impairments {
    /// Impairments of a configuration that has been checked.
    pub(crate) fn new(config: &HopConfig, seed: u64) -> Self {
        let chance =
            |probability, purpose| RandomEvent::new(probability, seed, &config.name, purpose);
        let models = |models, effect| Losses::new(models, effect, seed, &config.name);
        let losses = models(&config.loss, LossEffect::Loss);
        let corruptions = models(&config.corrupt, LossEffect::Corruption);
        let reorder = config
            .reorder
            .map(|reorder| chance(reorder.probability, Purpose::Reorder));
        let duplicate = config.duplicate.map(|p| chance(p, Purpose::Duplicate));
        let mark = config.mark.map(|p| chance(p, Purpose::Mark));
        let every_nth_ack = match config.ack_filter {
            Some(AckFilter::Every(n)) => Some(EveryNth::new(n)),
            Some(AckFilter::Queue) | None => None,
        };
        let is_clean = losses.is_empty()
            && corruptions.is_empty()
            && reorder.is_none()
            && duplicate.is_none()
            && mark.is_none()
            && every_nth_ack.is_none()
            && config.policer.is_none();
        Self {
            is_clean,
            loss_period: config.loss_period,
            losses,
            corruptions,
            reorder,
            duplicate,
            mark,
            policer: config
                .policer
                .map(|policer| Bucket::new(policer.rate, policer.burst)),
            every_nth_ack,
        }
    }

    /// Replaces the configuration `before` by `after`. Parts that are equal in both keep their
    /// random stream, count and tokens.
    pub(crate) fn reconfigure(&mut self, before: &HopConfig, after: &HopConfig, seed: u64) {
        let kept = core::mem::replace(self, Self::new(after, seed));
        if before.loss == after.loss {
            self.losses = kept.losses;
        }
        if before.corrupt == after.corrupt {
            self.corruptions = kept.corruptions;
        }
        if before.policer == after.policer {
            self.policer = kept.policer;
        }
        if before.ack_filter == after.ack_filter {
            self.every_nth_ack = kept.every_nth_ack;
        }
        if before.duplicate == after.duplicate {
            self.duplicate = kept.duplicate;
        }
        if before.mark == after.mark {
            self.mark = kept.mark;
        }
        let chance = |config: &HopConfig| config.reorder.map(|reorder| reorder.probability);
        if chance(before) == chance(after) {
            self.reorder = kept.reorder;
        }
    }

    /// Whether no impairment is configured.
    pub(crate) const fn is_clean(&self) -> bool {
        self.is_clean
    }

    /// Outcome of the next wire packet, of `octets` IP bytes, at `now`.
    pub(crate) fn draw(&mut self, now: Instant, octets: u64) -> ImpairmentOutcome {
        if self.is_clean {
            return ImpairmentOutcome::default();
        }
        let occurs =
            |event: &mut Option<RandomEvent>| event.as_mut().is_some_and(RandomEvent::occurs);
        let takes = self.loss_period.is_none_or(|period| period.contains(now));
        let lost_to = self.losses.select().filter(|_| takes);
        let bucket = self.policer.as_mut().filter(|_| lost_to.is_none());
        ImpairmentOutcome {
            lost_to,
            is_policed: bucket.is_some_and(|bucket| !bucket.takes(now, octets)),
            is_corrupted: self.corruptions.select().is_some(),
            is_reordered: occurs(&mut self.reorder),
            is_duplicated: occurs(&mut self.duplicate),
            is_marked: occurs(&mut self.mark),
        }
    }

    /// Whether a filter drops the parcel, which is neither lost nor policed.
    pub(crate) fn takes_ack<T: Parcel>(&mut self, parcel: &T) -> bool {
        let Some(filter) = &mut self.every_nth_ack else {
            return false;
        };
        let ack = parcel.pure_ack();
        ack.is_some_and(|ack| !filter.passes(parcel.flow(), ack))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use gigatcp_units::{Duration, Probability};

    use super::*;
    use crate::{LossModel, Reorder};

    fn impairments(config: &HopConfig) -> Vec<ImpairmentOutcome> {
        let mut impairments = Impairments::new(config, 9);
        (0..5_000)
            .map(|_| impairments.draw(Instant::ZERO, 1500))
            .collect()
    }

    #[test]
    fn switching_one_impairment_on_does_not_shift_another() {
        let tenth = Probability::try_new(0.1).unwrap();
        let reorder = Some(Reorder {
            probability: tenth,
            extra_delay: Duration::from_millis(1),
        });
        let only_reorder = HopConfig {
            reorder,
            ..HopConfig::default()
        };
        let everything = HopConfig {
            loss: vec![LossModel::Bernoulli(tenth)],
            duplicate: Some(tenth),
            mark: Some(tenth),
            ..only_reorder.clone()
        };
        let reordered = |config| impairments(config).into_iter().map(|f| f.is_reordered);
        assert!(reordered(&only_reorder).eq(reordered(&everything)));
        let all = impairments(&everything);
        assert!(all.iter().any(|f| f.is_reordered != f.is_duplicated));
        assert!(all.iter().any(|f| f.is_marked != f.is_duplicated));
        assert!(all.iter().any(|f| f.lost_to.is_some() && f.is_duplicated));
    }

    #[test]
    fn loss_models_take_packets_within_their_period_and_count_outside() {
        let config = HopConfig {
            loss: vec![LossModel::Periodic { every: 2 }],
            loss_period: Some(Period {
                from: Duration::from_nanos(10),
                until: Duration::from_nanos(20),
            }),
            ..HopConfig::default()
        };
        let mut impairments = Impairments::new(&config, 9);
        let mut is_lost = |ns: u64| {
            impairments
                .draw(Instant::from_nanos(ns), 1500)
                .lost_to
                .is_some()
        };
        let lost: Vec<u64> = (1..30).filter(|ns| is_lost(*ns)).collect();
        assert!(lost.iter().copied().eq([10, 12, 14, 16, 18]));
    }
}
