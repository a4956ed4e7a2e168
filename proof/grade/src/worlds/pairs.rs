//! Worlds with two limits: one after the other, or one below the other.
//!
//! Two successive limits have known shares: a schedule in the plan ends the first, or begins the
//! second. Both halves are checked as separate worlds, in which only one of the limits is left.

use super::base::{self, Base, Needs};
use super::caps::{CAPS, cap, supply};
use super::causes::Site;
use super::draft::{Draft, Value};
use super::labels;
use super::patch::Patch;
use super::{GradedWorld, MAX_DRAWS, Paths, root};
use crate::draw::Draw;

/// A cause and its share of the connection's time.
pub type Share = (&'static str, f64);

/// A world with two limits at different times, with the share of each.
///
/// The larger share comes first. The sum of the shares is less than 1 by the time of the handshake
/// and of the change between them.
///
/// # Panics
/// If no draw of this seed has two limits that hold.
pub fn two_causes(seed: u64) -> (GradedWorld, [Share; 2]) {
    let draws = 0..4 * MAX_DRAWS;
    draws
        .filter_map(|sub_seed| draw_two(seed, sub_seed))
        .next()
        .unwrap_or_else(|| panic!("no world of seed {seed} has two limits that hold"))
}

/// Sorts the shares by time; `None` if one is within the other.
pub fn by_time(mut shares: [Share; 2]) -> Option<[Share; 2]> {
    if shares.iter().any(|(id, _)| *id == "outage") {
        return None;
    }
    // The application always limits first, and losses begin later.
    if shares[1].0 == "application-limited" || shares[0].0 == "random-loss" {
        shares.swap(0, 1);
    }
    Some(shares)
}

/// A world with two limits, and their causes. The lower one binds, and the other one once it is
/// lifted.
///
/// # Panics
/// If no draw of this seed has two limits that hold.
pub fn next_limit(seed: u64) -> (GradedWorld, [&'static str; 2]) {
    let draws = 0..4 * MAX_DRAWS;
    draws
        .filter_map(|sub_seed| draw_next(seed, sub_seed))
        .next()
        .unwrap_or_else(|| panic!("no world of seed {seed} has one limit below another"))
}

/// Healthy world that gets two causes.
struct Ground {
    draw: Draw,
    base: Base,
    draft: Draft,
    patch: Patch,
}

impl Ground {
    fn new(kind: &str, seed: u64, sub_seed: u64) -> Self {
        let mut draw = Draw::new(root(kind, seed, sub_seed));
        let mut base = Base::draw(&mut draw, Paths::Usual, Needs::default());
        base.length = base.length.clamp(3.0, 5.0);
        let (mut draft, patch) = base::healthy(&mut draw, &base);
        draft
            .top
            .set("name", Value::Word(format!("{kind}-{seed}")))
            .set("duration", Value::seconds(120.0));
        Self {
            draw,
            base,
            draft,
            patch,
        }
    }

    fn site(&mut self) -> Site<'_> {
        Site {
            draw: &mut self.draw,
            base: &self.base,
            draft: &mut self.draft,
            patch: &mut self.patch,
        }
    }

    fn cap(&mut self, cause: &str, [least, most]: [f64; 2]) {
        let level = self.draw.between(least, most);
        cap(&mut self.site(), cause, level);
    }

    fn into_world(self, cause: &'static str, seed: u64) -> GradedWorld {
        GradedWorld::new(cause, seed, Paths::Usual, self.draft, self.base, self.patch)
    }
}

/// Whether the world, after an edit, has `cause` as its only limit.
fn is_alone(world: &GradedWorld, cause: &'static str, edit: impl FnOnce(&mut Draft)) -> bool {
    let alone = world.edited(|draft, _| edit(draft));
    let facts = alone.facts();
    facts.is_ok_and(|facts| labels::check(cause, &facts).is_ok())
}

const SUPPLY: [&str; 3] = ["supply", "supply_every", "supply_until"];
const LOSS: [&str; 3] = ["loss", "loss_from", "loss_until"];

/// Limits that follow the application; random losses are drawn separately.
const AFTER_APPLICATION: [&str; 7] = [
    "path-saturated",
    "receive-window-limited",
    "send-buffer-limited",
    "pacing-limited",
    "local-queue",
    "sender-cpu-limited",
    "random-loss",
];

/// Limits that precede losses or an outage.
const BEFORE_LOSSES: [&str; 4] = [
    "receive-window-limited",
    "send-buffer-limited",
    "pacing-limited",
    "application-limited",
];

fn draw_two(seed: u64, sub_seed: u64) -> Option<(GradedWorld, [Share; 2])> {
    let mut ground = Ground::new("two-causes", seed, sub_seed);
    let change = ground.base.length * ground.draw.between(0.3, 0.7);
    match ground.draw.pick(&[0, 0, 1, 2]) {
        0 => application_first(ground, seed, change),
        1 => losses_second(ground, seed, change),
        _ => outage_between(ground, seed, change),
    }
}

/// Makes a world with little application data up to `change`, then another limit.
fn application_first(
    mut ground: Ground,
    seed: u64,
    change: f64,
) -> Option<(GradedWorld, [Share; 2])> {
    let first = "application-limited";
    let second = ground.draw.pick(&AFTER_APPLICATION);
    let load = ground.draw.between(0.02, 0.1);
    let every = ground.draw.magnitude(0.005, 0.1);
    let rate = ground.base.rate * load;
    supply(&mut ground.site(), rate, every);
    let flow = ground.draft.flow();
    flow.set("supply_until", Value::seconds(change));
    match second {
        "random-loss" => random_losses(&mut ground, change, [0.15, 0.4]),
        "path-saturated" => {}
        _ => ground.cap(second, [0.25, 0.6]),
    }
    let world = ground.into_world(first, seed);
    let second_holds = is_alone(&world, second, |draft| {
        draft.flow().remove(&SUPPLY);
        draft.forward[2].remove(&["loss_from"]);
    });
    let first_holds = is_alone(&world, first, |draft| {
        draft.flow().remove(&["supply_until"]);
        draft.forward[2].remove(&LOSS);
    });
    (first_holds && second_holds).then(|| shares(world, [first, second], change))?
}

/// Makes a world with a host limit until `change`, and with losses afterwards. The losses keep
/// cwnd below the limit.
fn losses_second(mut ground: Ground, seed: u64, change: f64) -> Option<(GradedWorld, [Share; 2])> {
    let first = ground.draw.pick(&BEFORE_LOSSES);
    ground.cap(first, [0.4, 0.7]);
    random_losses(&mut ground, change, [0.06, 0.15]);
    let world = ground.into_world(first, seed);
    let first_holds = is_alone(&world, first, |draft| {
        draft.forward[2].remove(&LOSS);
    });
    let second_holds = is_alone(&world, "random-loss", |draft| {
        draft.forward[2].remove(&["loss_from"]);
    });
    (first_holds && second_holds).then(|| shares(world, [first, "random-loss"], change))?
}

/// Adds losses from `from` on that keep windows at a share of the BDP.
fn random_losses(ground: &mut Ground, from: f64, [least, most]: [f64; 2]) {
    let share = ground.draw.between(least, most);
    let window = share * ground.base.bdp / ground.base.mss;
    let p = 1.5 / (window * window);
    ground.draft.forward[2]
        .set("loss", Value::Probability(p.clamp(1e-5, 0.05)))
        .set("loss_from", Value::seconds(from));
}

/// Makes a world with a host limit that a known outage interrupts.
fn outage_between(mut ground: Ground, seed: u64, change: f64) -> Option<(GradedWorld, [Share; 2])> {
    let first = ground.draw.pick(&BEFORE_LOSSES);
    ground.cap(first, [0.3, 0.6]);
    let span = ground.draw.between(1.0, 2.0);
    let draft = &mut ground.draft;
    for hop in [&mut draft.forward[0], &mut draft.reverse[2]] {
        hop.set("loss", Value::Probability(1.0))
            .set("loss_from", Value::seconds(change))
            .set("loss_until", Value::seconds(change + span));
    }
    // The same bytes with and without the outage, so that its time is known.
    let clean = ground.into_world(first, seed).edited(|draft, _| {
        draft.forward[0].remove(&LOSS);
        draft.reverse[2].remove(&LOSS);
    });
    let without = clean.facts().ok()?;
    labels::check(first, &without).ok()?;
    let world = clean.edited(|draft, _| {
        let flow = draft.flow();
        flow.remove(&["duration"]);
        flow.set("bytes", Value::Bytes(without.bytes));
        for hop in [&mut draft.forward[0], &mut draft.reverse[2]] {
            hop.set("loss", Value::Probability(1.0))
                .set("loss_from", Value::seconds(change))
                .set("loss_until", Value::seconds(change + span));
        }
    });
    let with = world.facts().ok()?;
    let taken = (with.elapsed - without.elapsed) / with.elapsed;
    let rest = without.elapsed / with.elapsed;
    if with.bytes < without.bytes || taken < 0.15 {
        return None;
    }
    Some(ordered(world, [(first, rest), ("outage", taken)]))
}

/// Shares of two limits that change at `change`.
fn shares(
    world: GradedWorld,
    causes: [&'static str; 2],
    change: f64,
) -> Option<(GradedWorld, [Share; 2])> {
    let facts = world.facts().ok()?;
    let established = facts.setup * facts.elapsed;
    let change = change + established;
    let first = (change - established) / facts.elapsed;
    let second = (facts.elapsed - change) / facts.elapsed;
    if first < 0.2 || second < 0.2 {
        return None;
    }
    Some(ordered(world, [(causes[0], first), (causes[1], second)]))
}

/// Sorts the shares, largest first, and names the world after the first.
fn ordered(mut world: GradedWorld, mut shares: [Share; 2]) -> (GradedWorld, [Share; 2]) {
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    world.cause = shares[0].0;
    (world, shares)
}

fn draw_next(seed: u64, sub_seed: u64) -> Option<(GradedWorld, [&'static str; 2])> {
    let mut ground = Ground::new("next-limit", seed, sub_seed);
    let first = ground.draw.pick(&CAPS);
    let second = ground.draw.pick(&CAPS);
    let is_full = ground.draw.chance(0.25);
    let second = if is_full { "path-saturated" } else { second };
    // Both set the receive buffer.
    let buffers = [
        "receive-window-limited",
        "slow-reader",
        "receiver-cpu-limited",
    ];
    if first == second || (buffers.contains(&first) && buffers.contains(&second)) {
        return None;
    }
    let level = ground.draw.between(0.1, 0.3);
    let above = level * ground.draw.between(2.0, 2.5);
    cap(&mut ground.site(), second, above);
    let healthy = ground.draft.clone();
    cap(&mut ground.site(), first, level);
    let lifted = GradedWorld::new(
        second,
        seed,
        Paths::Usual,
        healthy,
        ground.base.clone(),
        ground.patch,
    );
    let world = ground.into_world(first, seed);
    let holds = world.check().is_ok() && lifted.check().is_ok();
    holds.then_some((world, [first, second]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_causes_have_shares_that_add_up_and_the_larger_one_is_first() {
        for seed in 0..3 {
            let (world, [(first, large), (second, small)]) = two_causes(seed);
            assert_ne!(first, second);
            assert!(large >= small && small > 0.1 && large + small <= 1.001);
            assert_eq!(world.cause, first);
        }
    }

    #[test]
    fn without_the_first_limit_the_next_one_is_faster_and_slower_than_the_path() {
        for seed in 0..3 {
            let (world, [first, second]) = next_limit(seed);
            assert_ne!(first, second);
            let facts = world.check().expect("it was checked");
            assert!(facts.goodput_bps < 0.5 * world.base.rate);
        }
    }
}
