//! From arguments to hops. Arguments become a plan, so that a queue or a rate
//! is read, checked and complained about as in any other.

use std::path::Path;

use gigatcp_path::HopConfig;
use gigatcp_plan::{Plan, Scenario, Series};
use gigatcp_units::{Bytes, Rate};

use super::{Arguments, Link};
use crate::failure::Failure;
use crate::plan_file::{Beside, PlanFile};
use crate::{nearest, output};

/// What lies between the ends.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// From client to server.
    pub(super) forward: Vec<HopConfig>,
    /// From server to client.
    pub(super) reverse: Vec<HopConfig>,
    /// Largest packets of client and server.
    pub(super) mtu: [u16; 2],
    /// Root of all random streams.
    pub(super) seed: u64,
}

/// Packets that fit into the queue of a path nobody has described, as in plans.
const LEAST_DEFAULT_QUEUE: u64 = 100;
/// The MTU where nobody says.
const DEFAULT_MTU: u64 = 1500;

/// Finds the path that the arguments mean.
pub(super) fn find(arguments: &Arguments) -> Result<Found, Failure> {
    let plan = match &arguments.plan {
        Some(name) => PlanFile::find(name)?.parse(&arguments.overrides)?,
        None => {
            let text = text(&arguments.link);
            let here = Beside(Path::new("."));
            let name = "the arguments, as a plan";
            let plan = gigatcp_plan::parse_with(name, text.as_bytes(), &[], &here);
            plan.map_err(|findings| Failure::Plan(Box::new(findings)))?
        }
    };
    let series = series(&plan, arguments)?;
    let seed = arguments.seed.unwrap_or(plan.seed);
    found(&series.scenario, seed)
}

/// The series whose path is meant; says which where it was not asked for and
/// could matter.
fn series<'a>(plan: &'a Plan, arguments: &Arguments) -> Result<&'a Series, Failure> {
    let names: Vec<&str> = plan
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    let Some(wanted) = &arguments.series else {
        let first = &plan.series[0];
        let is_same = |other: &Series| same_path(&first.scenario, &other.scenario);
        if !arguments.quiet && !plan.series.iter().all(is_same) {
            let others = names[1..].join(", ");
            output::say(&format!(
                "the path of series {}; others of this plan (--series): {others}",
                first.name
            ));
        }
        return Ok(first);
    };
    plan.series
        .iter()
        .find(|series| series.name == *wanted)
        .ok_or_else(|| {
            Failure::new(format!("the plan {} has no series `{wanted}`", plan.name))
                .effect("nothing was run")
                .hint(nearest::hint(wanted, "series", &names))
        })
}

fn same_path(one: &Scenario, other: &Scenario) -> bool {
    let ends = |scenario: &Scenario| {
        let host = |host: &gigatcp_plan::Host| (host.mtu, host.link.clone());
        (host(&scenario.sender), host(&scenario.receiver))
    };
    one.forward == other.forward && one.reverse == other.reverse && ends(one) == ends(other)
}

fn found(scenario: &Scenario, seed: u64) -> Result<Found, Failure> {
    let [forward, reverse] = scenario.path();
    let mtu = |mtu: u32| {
        let mtu = u16::try_from(mtu);
        mtu.map_err(|_| Failure::new("an MTU is 65535 at most").effect("nothing was run"))
    };
    if !scenario.links.is_empty() {
        let failure = Failure::new("the plan has nodes and links, and the emulator has one path");
        return Err(failure
            .effect("nothing was run")
            .hint("`gigatcp run` simulates it; a plan with [path] can be emulated"));
    }
    if scenario.ethernet.is_some() {
        let failure = Failure::new("the path is an Ethernet, which the emulator does not have");
        return Err(failure
            .effect("nothing was run")
            .hint("`gigatcp run` simulates it"));
    }
    Ok(Found {
        forward,
        reverse,
        mtu: [mtu(scenario.sender.mtu)?, mtu(scenario.receiver.mtu)?],
        seed,
    })
}

/// The plan that the options mean.
fn text(link: &Link) -> String {
    let mtu = link.mtu.map_or(DEFAULT_MTU, Bytes::as_u64);
    let mut text = format!(
        "name = \"emulate\"\nflow = {{ duration = \"1 s\" }}\nsender.mtu = {mtu}\n\
         receiver.mtu = {mtu}\n"
    );
    let rtt = link.rtt.unwrap_or_default();
    for (direction, delay) in [
        ("forward", rtt.saturating_sub(rtt / 2)),
        ("reverse", rtt / 2),
    ] {
        text.push_str(&format!("[[path.{direction}]]\nname = \"{direction}\"\n"));
        let mut say = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                text.push_str(&format!("{key} = {}\n", quoted(&value)));
            }
        };
        say("delay", Some(delay.to_string()));
        let rate = match direction {
            "reverse" => link.reverse_rate.or(link.rate),
            _ => link.rate,
        };
        say("rate", rate.map(|rate| rate.to_string()));
        say("rate_trace", link.rate_trace.clone());
        say("rate_schedule", link.rate_schedule.clone());
        say("delay_schedule", link.delay_schedule.clone());
        say("jitter", link.jitter.clone());
        say("loss_burst", link.loss_burst.clone());
        say("shaper", link.shaper.map(|rate| rate.to_string()));
        say(
            "shaper_burst",
            link.shaper_burst.map(|burst| burst.to_string()),
        );
        say(
            "queue",
            link.queue
                .clone()
                .or_else(|| default_queue(rate?, link, mtu)),
        );
        say("loss", link.loss.map(|p| p.to_string()));
        say("corrupt", link.corrupt.map(|p| p.to_string()));
        say("reorder", link.reorder.map(|p| p.to_string()));
        say(
            "reorder_delay",
            link.reorder_delay.map(|delay| delay.to_string()),
        );
        say("policer", link.policer.map(|rate| rate.to_string()));
        say(
            "policer_burst",
            link.policer_burst.map(|burst| burst.to_string()),
        );
        say(
            "policer_peak",
            link.policer_peak.map(|rate| rate.to_string()),
        );
        say(
            "policer_peak_burst",
            link.policer_peak_burst.map(|burst| burst.to_string()),
        );
        say("policer_yellow", link.policer_yellow.clone());
        say("ack_filter", link.ack_filter.clone());
        say("middlebox", link.middlebox.clone());
        say("duplicate", link.duplicate.map(|p| p.to_string()));
        if let Some(overhead) = link.link_overhead {
            text.push_str(&format!("link_overhead = {}\n", overhead.as_u64()));
        }
    }
    text
}

/// One bandwidth-delay product, as a plan without hops has it.
fn default_queue(rate: Rate, link: &Link, mtu: u64) -> Option<String> {
    let bdp = rate.amount_in(link.rtt.unwrap_or_default());
    Some(bdp.max(Bytes::new(LEAST_DEFAULT_QUEUE * mtu)).to_string())
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
