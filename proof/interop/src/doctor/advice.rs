//! Mis-tuned namespaces: the gain from following the first advice.

use std::fmt;

use gigatcp_units::{Duration, Rate};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::bed::{Bed, Link, Transfer};
use super::setting::{SETTINGS, Setting};
use gigatcp_emulate::Side;

/// Minimum share of the predicted gain.
const SHARE: f64 = 0.7;
/// Share of the path's rate that is reached without a limit.
const FULL: f64 = 0.9;

/// Namespace with random wrong settings, by seed.
#[derive(Clone, Debug)]
pub struct Mistuned {
    /// Seed of the namespace.
    pub seed: u64,
    /// Path between the hosts.
    pub link: Link,
    /// Host with the wrong settings.
    pub side: Side,
    /// Names of the wrong settings.
    pub names: Vec<&'static str>,
    commands: Vec<String>,
}

impl Mistuned {
    /// Returns the namespace of this seed with 1 to 3 wrong settings. They belong to the sender or
    /// the receiver, and at least one has a ceiling. The path has 20 to 200 Mbit/s and 10 to 100
    /// ms.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut share = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let between = |low: f64, high: f64, share: f64| low * (high / low).powf(share);
        let link = Link {
            rate: Rate::from_bps(between(20e6, 200e6, share()) as u64),
            rtt: Duration::from_micros(between(10e3, 100e3, share()) as u64),
            loss: None,
        };
        let side = if share() < 0.5 {
            Side::Client
        } else {
            Side::Server
        };
        let count = 1 + (share() * 3.0) as usize;
        let mut chosen: Vec<&Setting> = Vec::new();
        while chosen.len() < count {
            let fits = |setting: &&Setting| {
                setting.side == side
                    && (setting.has_ceiling || !chosen.is_empty())
                    && chosen.iter().all(|before| before.object != setting.object)
            };
            let all: Vec<&Setting> = SETTINGS.iter().filter(fits).collect();
            chosen.push(all[(share() * all.len() as f64) as usize]);
        }
        let commands = chosen
            .iter()
            .map(|setting| setting.command(&link, between(0.1, 0.7, share())))
            .collect();
        let names = chosen.iter().map(|setting| setting.name).collect();
        Self {
            seed,
            link,
            side,
            names,
            commands,
        }
    }

    /// Tests, follows the first advice, and tests again.
    ///
    /// # Errors
    /// The reason there is no test.
    pub fn follow(&self) -> Result<Followed, String> {
        let bed = Bed::new(self.link)?;
        bed.mistune(self.side, &self.commands)?;
        let report = bed.examine(self.side)?;
        let before = bed.transfer()?;
        let mbps = |rate: Rate| rate.as_bps() as f64 * 1e-6;
        let path = bed.described(self.side);
        let mut followed = Followed {
            mistuned: self.clone(),
            path_mbps: mbps(path.rate),
            before,
            advice: None,
        };
        if let Some(advice) = report.advice(&path) {
            let ceiling = mbps(advice.ceiling);
            for fix in advice.fixes() {
                bed.shell(self.side, fix)?;
            }
            followed.advice = Some(Advice {
                rules: advice.findings.iter().map(|found| found.rule.id).collect(),
                ceiling,
                predicted: mbps(advice.after) - ceiling,
                after: bed.transfer()?,
            });
        }
        Ok(followed)
    }
}

/// First advice, and the test after following it.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Rules, that of the lowest ceiling first.
    pub rules: Vec<&'static str>,
    /// Stated ceiling, in Mbit/s.
    pub ceiling: f64,
    /// Predicted gain, in Mbit/s.
    pub predicted: f64,
    /// Test after the change.
    pub after: Transfer,
}

/// Mis-tuned namespace before and after the first advice.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Namespace with its wrong settings.
    pub mistuned: Mistuned,
    /// Payload rate of its path, in Mbit/s.
    pub path_mbps: f64,
    /// Test before the change.
    pub before: Transfer,
    /// First advice; `None` if there is none.
    pub advice: Option<Advice>,
}

impl Followed {
    /// Whether at least 70 % of the predicted gain was reached. Without advice, whether there was
    /// nothing to gain.
    #[must_use]
    pub fn holds(&self) -> bool {
        match &self.advice {
            Some(advice) => advice.after.mbps - self.before.mbps >= SHARE * advice.predicted,
            None => self.before.mbps >= FULL * self.path_mbps,
        }
    }
}

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rtt = self.mistuned.link.rtt.as_secs_f64() * 1000.0;
        let head = format!(
            "{:3} {:>5} {:>6.1} {rtt:>5.0}",
            if self.holds() { "ok" } else { "no" },
            self.mistuned.seed,
            self.path_mbps,
        );
        let names = self.mistuned.names.join(", ");
        match &self.advice {
            Some(advice) => {
                let gain = advice.after.mbps - self.before.mbps;
                write!(
                    f,
                    "{head} {:>7.1} {:>7.1} {:>7.1} {:>9.1} {gain:>7.1} {:22} {names}",
                    advice.ceiling,
                    self.before.mbps,
                    advice.after.mbps,
                    advice.predicted,
                    advice.rules.join(" + "),
                )
            }
            None => write!(
                f,
                "{head} {:>7} {:>7.1} {:>7} {:>9} {:>7} {:22} {names}",
                "-", self.before.mbps, "-", "-", "-", "(no advice)",
            ),
        }
    }
}

/// Returns the heading of a table of [`Followed`].
#[must_use]
pub fn heading() -> String {
    format!(
        "    {:>5} {:>6} {:>5} {:>7} {:>7} {:>7} {:>9} {:>7} {:22} wrong settings",
        "seed", "path", "RTT", "ceiling", "before", "after", "predicted", "gained", "first advice"
    )
}
