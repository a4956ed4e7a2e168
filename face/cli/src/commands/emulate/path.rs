//! Turns arguments into hops. The arguments become a plan first, so that a queue or a rate is
//! parsed, checked and reported as in any plan.

use std::path::Path;

use gigatcp_path::HopConfig;
use gigatcp_plan::{Plan, Scenario, Series};
use gigatcp_run::files::PlanDirectory;
use gigatcp_units::{Bytes, Duration, Rate};

#[cfg(target_os = "linux")]
use super::set::{Direction, Request};
use super::words::Words;
use super::{Arguments, Link};
use crate::failure::Failure;
use crate::plan_file::PlanFile;
use crate::{nearest, output};

/// The emulated path between both ends.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "other systems check a path and emulate none")
)]
pub(super) struct EmulatedPath {
    /// From client to server.
    pub(super) forward: Vec<HopConfig>,
    /// From server to client.
    pub(super) reverse: Vec<HopConfig>,
    /// Largest packets of client and server.
    pub(super) mtu: [u16; 2],
    /// Root of all random streams.
    pub(super) seed: u64,
}

/// Default queue limit in packets of a path, as in plans.
const LEAST_DEFAULT_QUEUE: u64 = 100;
/// The default MTU.
const DEFAULT_MTU: u64 = 1500;

/// Description of the path: a plan or options.
#[derive(Clone, Debug)]
pub(super) struct Source {
    said: Said,
    /// Seed that replaces the plan's.
    seed: Option<u64>,
}

/// A plan with its overrides, or options.
#[derive(Clone, Debug)]
enum Said {
    Plan {
        file: PlanFile,
        overrides: Vec<String>,
        series: Option<String>,
    },
    /// Options of each direction.
    Options([Words; 2]),
}

impl Source {
    /// Returns the description in the arguments. Only the file of a plan is read.
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let said = match &arguments.plan {
            Some(name) => Said::Plan {
                file: PlanFile::find(name)?,
                overrides: arguments.overrides.clone(),
                series: arguments.series.clone(),
            },
            None => Said::Options([(); 2].map(|()| arguments.path.words.clone())),
        };
        Ok(Self {
            said,
            seed: arguments.seed,
        })
    }

    /// Returns the path, and prints the plan's warnings.
    pub(super) fn find_aloud(&self) -> Result<EmulatedPath, Failure> {
        let plan = self.plan(true)?;
        let series = self.series(&plan, false)?;
        found(&series.scenario, self.seed.unwrap_or(plan.seed))
    }

    /// Finds the path.
    #[cfg(target_os = "linux")]
    pub(super) fn find(&self) -> Result<EmulatedPath, Failure> {
        let plan = self.plan(false)?;
        let series = self.series(&plan, true)?;
        found(&series.scenario, self.seed.unwrap_or(plan.seed))
    }

    fn plan(&self, is_aloud: bool) -> Result<Plan, Failure> {
        match &self.said {
            Said::Plan {
                file, overrides, ..
            } if is_aloud => file.parse(overrides),
            Said::Plan {
                file, overrides, ..
            } => file.parse_silently(overrides),
            Said::Options([forward, reverse]) => {
                let text = text([forward, reverse], [&forward.read()?, &reverse.read()?]);
                let here = PlanDirectory(Path::new("."));
                let name = "the arguments, as a plan";
                let plan = gigatcp_plan::parse_with(name, text.as_bytes(), &[], &here);
                plan.map_err(|findings| Failure::Plan(Box::new(findings)))
            }
        }
    }

    fn series<'a>(&self, plan: &'a Plan, is_quiet: bool) -> Result<&'a Series, Failure> {
        match &self.said {
            Said::Plan { series, .. } => self::series(plan, series.as_deref(), is_quiet),
            Said::Options(_) => Ok(&plan.series[0]),
        }
    }

    /// Returns this description with the values of a request replacing earlier ones.
    #[cfg(target_os = "linux")]
    pub(super) fn changed(&self, request: &Request) -> Result<Self, Failure> {
        let mut changed = self.clone();
        let Request {
            keys,
            direction,
            unset,
            words,
        } = request;
        match &mut changed.said {
            Said::Plan { overrides, .. } => {
                let mut names = words.names();
                names.extend(unset.iter().map(|name| format!("--unset {name}")));
                names.extend(direction.map(|_| "--direction".to_owned()));
                if !names.is_empty() {
                    let message = format!(
                        "the path is that of a plan, and {} is not",
                        names.join(", ")
                    );
                    return Err(Failure::new(message).hint(
                        "a plan is changed by its keys, as in `gigatcp emulate set path.rate='5 Mbit/s'` \
                         (`gigatcp list keys`)",
                    ));
                }
                overrides.extend(keys.iter().cloned());
            }
            Said::Options(directions) => {
                if let Some(key) = keys.first() {
                    let message = format!("`{key}` is a key of a plan, and the path is of none");
                    return Err(Failure::new(message)
                        .hint("options change it, as in `gigatcp emulate set --rate '5 Mbit/s'`"));
                }
                let meant = match direction {
                    None => &mut directions[..],
                    Some(Direction::Forward) => &mut directions[..1],
                    Some(Direction::Reverse) => &mut directions[1..],
                };
                for known in meant {
                    if *direction == Some(Direction::Reverse) && words.has("rate") {
                        known.remove("reverse-rate");
                    }
                    unset.iter().for_each(|name| known.remove(name));
                    known.merge(words);
                }
            }
        }
        Ok(changed)
    }
}

/// Returns the series whose path is used. Names it on stderr if it was not requested and the choice
/// matters.
fn series<'a>(plan: &'a Plan, wanted: Option<&str>, is_quiet: bool) -> Result<&'a Series, Failure> {
    let names: Vec<&str> = plan
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    let Some(wanted) = wanted else {
        let first = &plan.series[0];
        let is_same = |other: &Series| same_path(&first.scenario, &other.scenario);
        if !is_quiet && !plan.series.iter().all(is_same) {
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
        .find(|series| series.name == wanted)
        .ok_or_else(|| {
            Failure::new(format!("the plan {} has no series `{wanted}`", plan.name))
                .effect("nothing was run")
                .hint(nearest::hint(wanted, "series", &names))
        })
}

fn same_path(one: &Scenario, other: &Scenario) -> bool {
    let path = |scenario: &Scenario| {
        let path = scenario.as_path()?;
        let host = |host: gigatcp_plan::Host| (host.mtu, host.link);
        let ends = [host(path.sender), host(path.receiver)];
        Some((path.forward, path.reverse, ends))
    };
    path(one) == path(other)
}

fn found(scenario: &Scenario, seed: u64) -> Result<EmulatedPath, Failure> {
    let mtu = |mtu: u32| {
        let mtu = u16::try_from(mtu);
        mtu.map_err(|_| Failure::new("an MTU is 65535 at most").effect("nothing was run"))
    };
    let Some(scenario) = scenario.as_path() else {
        let failure = Failure::new(
            "the nodes and links of the plan are not one chain from one sender to one receiver",
        );
        return Err(failure
            .effect("nothing was run")
            .hint("`gigatcp run` simulates it; one path, or one chain of links, can be emulated"));
    };
    let [forward, reverse] = scenario.path();
    if scenario.ethernet.is_some() {
        let failure = Failure::new("the path is an Ethernet, which the emulator does not have");
        return Err(failure
            .effect("nothing was run")
            .hint("`gigatcp run` simulates it"));
    }
    Ok(EmulatedPath {
        forward,
        reverse,
        mtu: [mtu(scenario.sender.mtu)?, mtu(scenario.receiver.mtu)?],
        seed,
    })
}

/// Returns the plan for the options of both directions.
fn text(words: [&Words; 2], links: [&Link; 2]) -> String {
    let mtu = links[0].mtu.map_or(DEFAULT_MTU, Bytes::as_u64);
    let mut text = format!(
        "name = \"emulate\"\nflow = {{ duration = \"1 s\" }}\nsender.mtu = {mtu}\n\
         receiver.mtu = {mtu}\n"
    );
    let [there, back] = links.map(|link| link.rtt.unwrap_or_default());
    let delays = [there.saturating_sub(there / 2), back / 2];
    let rtt = delays[0] + delays[1];
    let names = ["forward", "reverse"];
    for (((direction, link), words), delay) in names.into_iter().zip(links).zip(words).zip(delays) {
        text.push_str(&format!(
            "[[path.{direction}]]\nname = \"{direction}\"\ndelay = \"{delay}\"\n"
        ));
        let is_reverse = direction == "reverse";
        let rate = link.reverse_rate.filter(|_| is_reverse).or(link.rate);
        if let Some(rate) = rate {
            text.push_str(&format!("rate = \"{rate}\"\n"));
            if link.queue.is_none() {
                text.push_str(&format!("queue = \"{}\"\n", default_queue(rate, rtt, mtu)));
            }
        }
        for (name, value) in words.iter() {
            match name.as_str() {
                // Written above.
                "rate" | "reverse_rate" | "rtt" | "mtu" => {}
                "no_icmp" => text.push_str("icmp = false\n"),
                "link_mtu" => text.push_str(&number("mtu", link.link_mtu)),
                "link_overhead" => text.push_str(&number("link_overhead", link.link_overhead)),
                "lose_packets" | "corrupt_packets" => {
                    text.push_str(&format!("{name} = [{value}]\n"));
                }
                "lose_every" | "corrupt_every" | "hold_limit" | "aggregate" => {
                    text.push_str(&format!("{name} = {value}\n"));
                }
                _ if value.is_empty() => text.push_str(&format!("{name} = true\n")),
                _ => text.push_str(&format!("{name} = {}\n", quoted(value))),
            }
        }
    }
    text
}

fn number(key: &str, value: Option<Bytes>) -> String {
    value.map_or_else(String::new, |value| format!("{key} = {}\n", value.as_u64()))
}

/// Returns one bandwidth-delay product, the default of a plan without hops.
fn default_queue(rate: Rate, rtt: Duration, mtu: u64) -> Bytes {
    let bdp = rate.amount_in(rtt);
    bdp.max(Bytes::new(LEAST_DEFAULT_QUEUE * mtu))
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
