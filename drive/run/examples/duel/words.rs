//! Command line options.

use std::path::PathBuf;

use gigatcp_units::Rate;

use crate::PAIRINGS;
use crate::twins::Half;

/// Command line options.
pub(crate) struct Words {
    /// Names of series; empty: all.
    pub(crate) only: Vec<String>,
    pub(crate) repeat: u32,
    /// Overrides of the plan.
    pub(crate) set: Vec<String>,
    /// Directory for the whole records.
    pub(crate) store: Option<PathBuf>,
    /// Names of pairings; empty: all.
    pub(crate) pairings: Vec<String>,
    /// Share of CPU time that may be stolen before a run is repeated.
    pub(crate) steal_at_most: f64,
    /// Number of plans to draw instead of the fixed ones, and their seed.
    pub(crate) twins: Option<u32>,
    pub(crate) seed: u64,
    /// Half of the drawn plans; `None`: all.
    pub(crate) half: Option<Half>,
    /// Rate above which drawn plans are left out.
    pub(crate) rate_at_most: Rate,
    /// Plan to compare instead of drawn ones.
    pub(crate) plan: Option<PathBuf>,
}

impl Words {
    /// Parses the options.
    pub(crate) fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut read = Self {
            only: Vec::new(),
            repeat: 1,
            set: Vec::new(),
            store: None,
            pairings: Vec::new(),
            steal_at_most: 1.0,
            twins: None,
            seed: 1,
            half: None,
            rate_at_most: Rate::from_bps(1_000_000_000),
            plan: None,
        };
        let mut rest = words.into_iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or(format!("`{word}` needs a value"));
            match word.as_str() {
                "--series" => read.only.push(value()?),
                "--set" => read.set.push(value()?),
                "--pairing" => read.pairings.push(pairing(value()?)?),
                "--store" => read.store = Some(value()?.into()),
                "--repeat" => read.repeat = repeats(&value()?)?,
                "--twins" => read.twins = Some(repeats(&value()?)?),
                "--seed" => read.seed = u64::from(repeats(&value()?)?),
                "--half" => read.half = Some(half(&value()?)?),
                "--rate-at-most" => read.rate_at_most = rate(&value()?)?,
                "--plan" => read.plan = Some(value()?.into()),
                "--steal-at-most" => read.steal_at_most = percent(&value()?)?,
                odd => {
                    return Err(format!(
                        "what is `{odd}`? There are --series NAME, --pairing NAME, --repeat N, \
                         --set KEY=VALUE, --steal-at-most PERCENT, --store DIR, --twins N, \
                         --seed N, --half shown|held, --rate-at-most RATE and --plan FILE"
                    ));
                }
            }
        }
        Ok(read)
    }
}

fn pairing(name: String) -> Result<String, String> {
    if PAIRINGS.iter().any(|pairing| pairing.name == name) {
        return Ok(name);
    }
    let known = PAIRINGS.map(|pairing| pairing.name).join(", ");
    Err(format!("no pairing is called `{name}`: there are {known}"))
}

fn repeats(word: &str) -> Result<u32, String> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or(format!("`{word}` is no number of runs"))
}

fn half(word: &str) -> Result<Half, String> {
    match word {
        "shown" => Ok(Half::Shown),
        "held" => Ok(Half::Held),
        _ => Err(format!("`{word}` is no half: there are shown and held")),
    }
}

fn rate(word: &str) -> Result<Rate, String> {
    word.parse()
        .map_err(|_| format!("`{word}` is no rate, as in \"1 Gbit/s\""))
}

fn percent(word: &str) -> Result<f64, String> {
    let number = word.strip_suffix('%').unwrap_or(word).trim_end();
    let percent = number
        .parse::<f64>()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or(format!("`{word}` is no percentage between 0 and 100"))?;
    Ok(percent / 100.0)
}
