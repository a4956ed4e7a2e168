//! Runs the comparison: the paths take turns until each is decided or the time is over.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use gigatcp_emulate::EmulatorConfig;
use gigatcp_units::random::Stream;

use super::Arguments;
use super::paths::{self, ComparedPath};
use super::runs::{self, Contender, Run};
use super::verdict::{self, Pairs, Rule, Verdict};
use crate::commands::Outcome;
use crate::commands::emulate::sysctl;
use crate::commands::privilege;
use crate::commands::repeat::{Bounds, Cell, repeat};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;

/// Least default time after which a run is ended: in less, nothing may have arrived, as
/// after a lost SYN (RFC 6298: 1 s) over a slow path.
const MIN_LIMIT: Duration = Duration::from_secs(3);

/// Maximum number of pairs of a path, which bounds the memory and the time of the statistics.
const MAX_PAIRS: u32 = 2_000;

/// A path that is being measured.
struct Measured<'a> {
    path: ComparedPath,
    config: EmulatorConfig,
    contenders: [Contender<'a>; 2],
    pairs: Pairs,
    /// Order of the runs of a pair.
    order: Stream,
    seed: u64,
    limit: Duration,
    interrupt: &'a Interrupt,
}

impl Measured<'_> {
    /// One run; `None` after a signal.
    fn run(&self, contender: Contender<'_>, seed: u64) -> Result<Option<Run>, Failure> {
        let config = EmulatorConfig {
            seed,
            ..self.config.clone()
        };
        let run = runs::run(&self.path, &config, contender, self.limit, self.interrupt)?;
        match run {
            Some(run) if run.bytes == 0 && !run.is_cut && self.pairs.needs_bytes() => {
                Err(runs::nothing_arrived(&self.path, contender, &run))
            }
            run => Ok(run),
        }
    }
}

impl Cell for Measured<'_> {
    fn is_decided(&self) -> bool {
        self.pairs.verdict() != Verdict::Undecided
    }

    /// Runs OLD and NEW, in random order, with the same losses.
    fn repeat(&mut self, round: u32) -> Result<(), Failure> {
        let seed = self.seed.wrapping_add(u64::from(round) - 1);
        let is_new_first = self.order.uniform() < 0.5;
        let [old, new] = self.contenders;
        let pair = if is_new_first {
            let new = self.run(new, seed)?;
            let old = new.and(self.run(old, seed)?);
            old.zip(new)
        } else {
            let old = self.run(old, seed)?;
            old.zip(old.and(self.run(new, seed)?))
        };
        if let Some((old, new)) = pair {
            self.pairs.push(old, new);
            if let Some((index, run)) = self.pairs.silent() {
                let contender = self.contenders[index];
                return Err(runs::nothing_arrived(&self.path, contender, &run));
            }
            if self.is_decided() {
                let name = &self.path.name;
                output::say(&format!("{name}: decided after {round} pairs"));
            }
        }
        Ok(())
    }
}

/// Compares the commands.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    // First of all, or everything would be said by two processes.
    if let Some(status) = privilege::restart_in_user_namespace()? {
        return Ok(Outcome::Exited(status));
    }
    let paths = paths::read(&arguments.paths)?;
    let settings = sysctl::read(&arguments.sysctl)?;
    let within = Duration::from(arguments.within);
    let rule = Rule::new(arguments, paths.len());
    let limit = match arguments.timeout {
        Some(limit) => limit.into(),
        None => within
            .div_f64(2.0 * rule.budget() * paths.len() as f64)
            .max(MIN_LIMIT),
    };
    let interrupt = Interrupt::listen()?;
    let seed = arguments.seed.unwrap_or_else(drawn_seed);
    let contenders = contenders(arguments);
    let measured = paths.into_iter().zip(0..).map(|(path, index)| {
        let found = path
            .source
            .find()
            .map_err(|failure| failure.effect("nothing was run"))?;
        Ok(Measured {
            config: EmulatorConfig {
                settings: settings.clone(),
                ..found.config()
            },
            path,
            contenders,
            pairs: Pairs::new(rule),
            order: Stream::new(seed, "compare", index),
            seed,
            limit,
            interrupt: &interrupt,
        })
    });
    let mut measured: Vec<Measured<'_>> = measured.collect::<Result<_, Failure>>()?;
    let bounds = Bounds {
        rounds: MAX_PAIRS,
        within: Some(within),
    };
    repeat(&mut measured, bounds, &interrupt)?;
    let answered: Vec<verdict::Answered<'_>> = measured
        .iter()
        .map(|path| (path.path.name.as_str(), &path.pairs))
        .collect();
    if arguments.json {
        output::print_json(&verdict::value(arguments, &answered, seed))?;
    } else {
        output::print(&verdict::text(
            arguments,
            &answered,
            limit.as_secs_f64(),
            seed,
        ))?;
    }
    let is_worse = |path: &Measured<'_>| path.pairs.verdict() == Verdict::Worse;
    Ok(Outcome::of(&interrupt, measured.iter().any(is_worse)))
}

/// A seed of randomness of the operating system, so that no two comparisons toss the same coins. It is
/// short enough to be typed, and for the numbers of every reader of JSON.
fn drawn_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}

fn contenders(arguments: &Arguments) -> [Contender<'_>; 2] {
    let server = arguments.server.as_deref();
    let new = arguments.new.as_deref();
    [
        Contender {
            name: "OLD",
            command: &arguments.old,
            server,
        },
        Contender {
            name: "NEW",
            command: new.unwrap_or(&arguments.old),
            server: arguments.server_new.as_deref().or(server),
        },
    ]
}
