//! The counterfactual test: a cause is a limit only if lifting it helps.
//!
//! A graded world runs again with each cause lifted, one at a time; only a simulator can do that.
//! The stated cause holds if lifting it raises goodput by at least half of the stated cost, and
//! lifting no other single cause brings more. `LIFTS` defines each lift.

use rayon::prelude::*;

use crate::worlds::{BOTTLENECK, BUSY, Draft, GradedWorld, Value};

/// Share of the stated cost by which goodput must rise.
const SHARE_OF_COST: f64 = 0.5;

/// Factor above which the goodput of another lift counts as more.
const MARGIN: f64 = 1.1;

/// Definition of lifting one cause.
struct Lift {
    cause: &'static str,
    /// Edits the plan; returns whether anything was lifted.
    edit: fn(&mut Draft, &Sizes) -> bool,
}

/// Path sizes that lifts use.
struct Sizes {
    /// Packets that fill the path.
    packets: f64,
    /// Bytes that fill the path.
    bytes: f64,
}

macro_rules! lifts {
    ($($cause:literal: $edit:expr;)*) => {
        const LIFTS: &[Lift] = &[$(Lift { cause: $cause, edit: $edit }),*];
        const LIFTED: &[&str] = &[$($cause),*];
    };
}

lifts! {
    // Links twice as fast in the forward direction, in packets too, queues twice as long.
    "path-saturated": |draft, _| {
        for hop in &mut draft.forward {
            hop.scale("rate", 2.0);
            hop.scale("packet_rate", 2.0);
            hop.scale("queue", 2.0);
            hop.remove(&["rate_schedule"]);
        }
        true
    };
    // The graded flow is alone.
    "cross-traffic": |draft, _| {
        let had = draft.flows.len() > 1;
        draft.flows.truncate(1);
        had
    };
    // The sender's own link is as fast as the path.
    "local-queue": |draft, _| {
        let had = !draft.sender_link.is_empty();
        draft.sender_link.clear();
        draft.sender.remove(&["tx_queue"]);
        had
    };
    // Pacing off, in both forms.
    "pacing-limited": |draft, _| {
        draft.sender.remove(&["max_pacing_rate"]);
        draft.sender.flag("pacing", false);
        true
    };
    // Twice the window, or eight times the BDP with autotuning.
    "receive-window-limited": |draft, sizes| {
        let ample = (8.0 * sizes.bytes) as u64 + (1 << 20);
        let flow = draft.flow();
        if !flow.scale("receive_buffer", 2.0) {
            flow.set("receive_buffer", Value::Bytes(ample));
        }
        true
    };
    "no-window-scaling": |draft, _| draft.receiver.remove(&["window_scaling"]);
    // The application reads all available data.
    "slow-reader": |draft, _| draft.reader.remove(&["rate"]);
    // The costs of the receiving CPU halved.
    "receiver-cpu-limited": |draft, _| draft.receiver_cpu.scale_all(0.5);
    // The send buffer doubled. An autotuned one holds two windows.
    "send-buffer-limited": |draft, _| draft.flow().scale("send_buffer", 2.0);
    // The application has all its data at the start.
    "application-limited": |draft, _| {
        let keys = ["supply", "supply_every", "supply_until", "application"];
        draft.flow().remove(&keys)
    };
    // The first window fills the path, and slow start ends there at the earliest.
    "cwnd-growth-limited": |draft, sizes| {
        let first = sizes.packets.clamp(10.0, 10_000.0) as u64;
        draft.sender.set("initial_window", Value::Count(first));
        draft.flow().remove(&["initial_ssthresh"]);
        true
    };
    // The costs of the sending CPU halved.
    "sender-cpu-limited": |draft, _| draft.sender_cpu.scale_all(0.5);
    // Every segment is acknowledged immediately.
    "delayed-ack-stall": |draft, _| {
        draft.receiver.set("ack_every", Value::Count(1));
        true
    };
    // No random losses behind the bottleneck.
    "random-loss": |draft, _| draft.forward[2].remove(&["loss", "loss_burst", "loss_from", "loss_until"]);
    // Queue limit of one BDP, or doubled if it exceeds that.
    "queue-overflow": |draft, sizes| {
        let queue = draft.bottleneck().number("queue");
        queue.is_some_and(|queue| {
            let longer = (2.0 * queue).max(sizes.packets).max(100.0);
            draft.bottleneck().scale("queue", longer / queue)
        })
    };
    // A queue that drops only when full, with a limit of at least one BDP.
    "aqm-drops": |draft, sizes| {
        let queue = draft.bottleneck().find("queue").cloned();
        let Some(Value::Queue(_, room)) = queue else { return false };
        let packets = room.max(sizes.packets as u64).max(100);
        draft.bottleneck().set("queue", Value::Packets(packets));
        true
    };
    "policer": |draft, _| draft.bottleneck().remove(&["policer", "policer_burst"]);
    // No hop marks.
    "ecn-marks": |draft, _| {
        let [threshold, random] = ["mark_above", "mark"];
        let had = draft.bottleneck().remove(&[threshold]);
        draft.forward[2].remove(&[random]) || had
    };
    "reordering-mistaken-for-loss": |draft, _| {
        draft.forward[2].remove(&["reorder", "reorder_delay"])
    };
    "no-sack": |draft, _| {
        let had = matches!(draft.sender.find("sack"), Some(Value::Flag(false)));
        draft.both("sack", Value::Flag(true));
        draft.both("dsack", Value::Flag(true));
        had
    };
    // Losses that no ACK reports do not occur.
    "rto-backoff": |draft, _| {
        let had = draft.forward[0].remove(&["lose_packets"]);
        draft.bottleneck().remove(&["loss", "loss_from", "loss_until"]) || had
    };
    "outage": |draft, _| {
        let keys = ["loss", "loss_from", "loss_until"];
        let had = draft.forward[0].remove(&keys);
        draft.reverse[2].remove(&keys) || had
    };
    // The card has buffers for everything.
    "rx-ring-overrun": |draft, _| {
        let had = !draft.rings.is_empty();
        draft.rings.clear();
        had
    };
    // The path passes packets of the hosts' MTU.
    "pmtu-black-hole": lift_mtu;
    "mss-clamped": lift_mtu;
    // The reverse path ten times as fast, without losses and with queue space for every ACK.
    "ack-path": |draft, _| {
        let hop = &mut draft.reverse[BOTTLENECK];
        hop.remove(&["queue", "loss"]);
        hop.scale("rate", 10.0)
    };
    // The answer to the SYN arrives.
    "connection-setup": |draft, _| draft.reverse[0].remove(&["lose_packets"]);
}

fn lift_mtu(draft: &mut Draft, _: &Sizes) -> bool {
    draft.bottleneck().remove(&["mtu", "icmp"])
}

/// Causes that can be lifted.
pub fn lifts() -> &'static [&'static str] {
    LIFTED
}

/// World with `cause` lifted; `None` if the world has nothing to lift.
pub fn lift(world: &GradedWorld, cause: &str) -> Option<GradedWorld> {
    let lift = LIFTS.iter().find(|lift| lift.cause == cause)?;
    let sizes = Sizes {
        packets: world.base.bdp / f64::from(world.base.mtu),
        bytes: world.base.bdp,
    };
    let mut is_lifted = false;
    let lifted = world.edited(|draft, _| is_lifted = (lift.edit)(draft, &sizes));
    is_lifted.then_some(lifted)
}

/// Goodput of a world unchanged, and with each cause lifted.
#[derive(Clone, PartialEq, Debug)]
pub struct Counterfactual {
    /// Goodput of the unchanged world, in bits per second.
    pub goodput_bps: f64,
    /// Causes that were lifted and the goodput without each, in bits per second.
    pub lifted: Vec<(&'static str, f64)>,
}

/// Runs the world unchanged, and with every cause lifted that it contains.
///
/// `path-saturated` is lifted only if the bottleneck was busy: after losses, a halved window grows
/// with the link, however idle the link is.
///
/// # Errors
/// If a plan cannot be read or built.
pub fn counterfactual(world: &GradedWorld) -> Result<Counterfactual, String> {
    let facts = world.facts()?;
    let is_full = facts.busy >= BUSY;
    let run = |cause: &&'static str| {
        let lifted = lift(world, cause)?;
        Some(lifted.goodput_bps().map(|goodput| (*cause, goodput)))
    };
    let causes = LIFTED
        .par_iter()
        .filter(|cause| is_full || **cause != "path-saturated");
    Ok(Counterfactual {
        goodput_bps: facts.goodput_bps,
        lifted: causes.filter_map(run).collect::<Result<_, _>>()?,
    })
}

/// Whether a stated cause passes the counterfactual test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// Lifting it raises goodput enough, and no other cause brings more.
    Holds,
    /// Lifting it brings less than half of the stated cost.
    TooLittle {
        /// Gain from lifting it, in bits per second.
        gain_bps: f64,
        /// Minimum gain required, in bits per second.
        wanted_bps: f64,
    },
    /// Lifting another cause brings more.
    OtherBetter {
        /// The other cause.
        cause: &'static str,
        /// Gain from lifting the other cause, in bits per second.
        gain_bps: f64,
    },
}

/// Tests a stated cause and its stated cost against the runs.
pub fn holds(runs: &Counterfactual, stated: &str, cost_bps: f64) -> Verdict {
    let gain = |goodput: f64| goodput - runs.goodput_bps;
    let of = |cause: &str| runs.lifted.iter().find(|(lifted, _)| *lifted == cause);
    let goodput = of(stated).map_or(runs.goodput_bps, |(_, goodput)| *goodput);
    let wanted_bps = SHARE_OF_COST * cost_bps;
    if gain(goodput) < wanted_bps || gain(goodput) <= 0.0 {
        return Verdict::TooLittle {
            gain_bps: gain(goodput),
            wanted_bps,
        };
    }
    let others = runs.lifted.iter().filter(|(cause, _)| *cause != stated);
    let best = others.max_by(|a, b| a.1.total_cmp(&b.1));
    match best {
        Some((cause, other)) if *other > goodput * MARGIN => Verdict::OtherBetter {
            cause,
            gain_bps: gain(*other),
        },
        _ => Verdict::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::{CAUSES, Paths, world};

    fn runs(lifted: &[(&'static str, f64)]) -> Counterfactual {
        Counterfactual {
            goodput_bps: 40e6,
            lifted: lifted.to_vec(),
        }
    }

    #[test]
    fn a_cause_whose_lifting_brings_half_of_its_cost_holds() {
        let runs = runs(&[("policer", 61e6), ("random-loss", 60e6)]);
        assert_eq!(holds(&runs, "policer", 40e6), Verdict::Holds);
    }

    #[test]
    fn a_cause_brings_too_little_below_half_of_its_cost_and_without_a_lift() {
        let runs = runs(&[("policer", 59e6)]);
        let little = Verdict::TooLittle {
            gain_bps: 19e6,
            wanted_bps: 20e6,
        };
        assert_eq!(holds(&runs, "policer", 40e6), little);
        let none = Verdict::TooLittle {
            gain_bps: 0.0,
            wanted_bps: 0.0,
        };
        assert_eq!(holds(&runs, "outage", 0.0), none);
    }

    #[test]
    fn another_cause_is_better_if_lifting_it_brings_clearly_more() {
        let runs = runs(&[("policer", 60e6), ("random-loss", 70e6), ("outage", 50e6)]);
        let better = Verdict::OtherBetter {
            cause: "random-loss",
            gain_bps: 30e6,
        };
        assert_eq!(holds(&runs, "policer", 30e6), better);
    }

    #[test]
    fn more_room_leaves_a_managed_queue_managed() {
        let managed = world("aqm-drops", 7, Paths::Usual);
        let queue = |cause: &str| {
            let lifted = lift(&managed, cause).expect("it has a queue");
            lifted.draft.forward[BOTTLENECK].find("queue").cloned()
        };
        assert!(matches!(queue("queue-overflow"), Some(Value::Queue(..))));
        assert!(matches!(queue("aqm-drops"), Some(Value::Packets(_))));
    }

    #[test]
    fn every_cause_but_a_fault_of_the_capture_can_be_lifted_where_it_was_injected() {
        for cause in CAUSES {
            let lifted = lift(&world(cause, 7, Paths::Usual), cause);
            let is_of_network = *cause != "capture-artifact";
            assert_eq!(lifted.is_some(), is_of_network, "{cause}");
        }
    }
}
