//! Turns arguments into hops. Without a plan the arguments become one, so that a queue or a rate is
//! parsed, checked and reported as in any plan.

use std::path::Path;

#[cfg(target_os = "linux")]
use gigatcp_emulate::EmulatorConfig;
use gigatcp_path::HopConfig;
use gigatcp_plan::{Plan, Scenario, Series};
use gigatcp_run::files::PlanDirectory;
use gigatcp_units::Bytes;

use super::Arguments;
use super::hop_keys::HopKeys;
#[cfg(target_os = "linux")]
use super::set::Request;
use crate::failure::Failure;
use crate::plan_file::PlanFile;
use crate::{nearest, output};

/// The emulated path between both ends.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "other systems check a path and emulate none")
)]
pub(crate) struct EmulatedPath {
    /// From client to server.
    pub(crate) forward: Vec<HopConfig>,
    /// From server to client.
    pub(crate) reverse: Vec<HopConfig>,
    /// Largest packets of client and server.
    pub(crate) mtu: [u16; 2],
    /// Root of all random streams.
    pub(crate) seed: u64,
}

#[cfg(target_os = "linux")]
impl EmulatedPath {
    /// The path in the emulator's configuration.
    pub(crate) fn config(&self) -> EmulatorConfig {
        EmulatorConfig {
            forward: self.forward.clone(),
            reverse: self.reverse.clone(),
            seed: self.seed,
            mtu: self.mtu,
            ..EmulatorConfig::default()
        }
    }
}

/// Description of the path: a plan or keys of hops.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    said: Said,
    /// Seed that replaces the plan's.
    seed: Option<u64>,
}

/// A plan with its overrides, or keys of hops.
#[derive(Clone, Debug)]
enum Said {
    Plan {
        file: PlanFile,
        overrides: Vec<String>,
        series: Option<String>,
    },
    /// A path without a plan.
    Hops { keys: HopKeys, mtu: Option<Bytes> },
}

impl Source {
    /// Description in the arguments. Only the file of a plan is read.
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let (plan, settings) = arguments.plan()?;
        let said = match plan {
            Some(name) => Said::Plan {
                file: PlanFile::find(name)?,
                overrides: settings,
                series: arguments.series.clone(),
            },
            None => {
                let mut keys = HopKeys::default();
                let common = arguments.common.given().into_iter();
                for setting in common
                    .flat_map(|(_, assignments)| assignments)
                    .chain(settings)
                {
                    keys.set(&setting)
                        .map_err(|failure| failure.effect("nothing was run"))?;
                }
                let mtu = arguments.mtu;
                Said::Hops { keys, mtu }
            }
        };
        Ok(Self {
            said,
            seed: arguments.seed,
        })
    }

    /// The path of a plan, with overrides.
    pub(crate) fn of_plan(name: &Path, overrides: Vec<String>) -> Result<Self, Failure> {
        let file = PlanFile::find(name)?;
        let said = Said::Plan {
            file,
            overrides,
            series: None,
        };
        Ok(Self { said, seed: None })
    }

    /// The path with these keys of hops.
    pub(crate) fn of_hops<'a>(
        assignments: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Failure> {
        let mut keys = HopKeys::default();
        for assignment in assignments {
            keys.set(assignment)?;
        }
        let said = Said::Hops { keys, mtu: None };
        Ok(Self { said, seed: None })
    }

    /// Returns the path, and prints the plan's warnings.
    pub(super) fn find_aloud(&self) -> Result<EmulatedPath, Failure> {
        let plan = self
            .plan(true)
            .map_err(|failure| failure.effect("nothing was run"))?;
        let series = self.series(&plan, false)?;
        found(&series.scenario, self.seed.unwrap_or(plan.seed))
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn find(&self) -> Result<EmulatedPath, Failure> {
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
            Said::Hops { keys, mtu } => {
                keys.check()?;
                let text = keys.plan(*mtu);
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
            Said::Hops { .. } => Ok(&plan.series[0]),
        }
    }

    /// This description with the values of a request replacing earlier ones.
    #[cfg(target_os = "linux")]
    pub(super) fn changed(&self, request: &Request) -> Result<Self, Failure> {
        let mut changed = self.clone();
        match &mut changed.said {
            Said::Plan { overrides, .. } => {
                if let Some(foreign) = request.of_hops().next() {
                    return Err(Failure::new(format!(
                        "the path is that of a plan, and `{foreign}` is no key of a plan"
                    ))
                    .hint(
                        "as in `gigatcp emulate set path.rate='5 Mbit/s'` (`gigatcp list keys`); \
                         nothing can be unset",
                    ));
                }
                overrides.extend(request.settings.iter().cloned());
            }
            Said::Hops { keys, .. } => {
                if let Some(key) = request.of_plan().next() {
                    return Err(Failure::new(format!(
                        "the path is of no plan, and `{key}` is a key of one"
                    ))
                    .hint("as in `gigatcp emulate set rate='5 Mbit/s'`"));
                }
                for key in &request.unset {
                    keys.unset(key)?;
                }
                for setting in &request.settings {
                    keys.set(setting)?;
                }
            }
        }
        Ok(changed)
    }
}

/// Series whose path is used. Names it on stderr if it was not requested and the choice matters.
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
            Failure::not_run(format!("the plan {} has no series `{wanted}`", plan.name))
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
        mtu.map_err(|_| Failure::not_run("an MTU is 65535 at most"))
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
