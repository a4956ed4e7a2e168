//! What came true of the advice to hosts with wrong settings.

use std::fmt::Write;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::Value;

use super::faults::At;
use super::host::{RESULT, advice, goodput};
use super::world::World;

/// Share of the promised gain that must come true, and share of the best goodput.
const GAIN: RangeInclusive<f64> = 0.7..=1.4;
const BEST: f64 = 0.9;

/// Ratio to a lower bound from which an estimate is printed as well.
const POINT: f64 = 1.01;

/// Relative difference of two tests of the same settings from which the machine was too busy.
const NOISE: f64 = 0.1;

/// The first advice, followed.
#[derive(Debug)]
struct Followed {
    ids: String,
    place: String,
    certainty: String,
    before: f64,
    point: f64,
    low: f64,
    measured: f64,
}

impl Followed {
    fn of(fix: &Value, before: f64, measured: Option<f64>) -> Option<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let ids = fix["ids"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        Some(Self {
            ids: ids.collect::<Vec<_>>().join(" + "),
            place: text(&fix["place"]),
            certainty: text(&fix["prediction"]["certainty"]),
            before,
            point: fix["prediction"]["goodput_bps"].as_f64()?,
            low: fix["prediction"]["interval_bps"][0].as_f64()?,
            measured: measured?,
        })
    }

    /// Whether it promises a goodput, and not only a lower bound.
    fn has_point(&self) -> bool {
        match self.certainty.as_str() {
            "number" | "range" => true,
            "at-least" => self.point > POINT * self.low,
            _ => false,
        }
    }

    fn share(&self) -> f64 {
        (self.measured - self.before) / (self.point - self.before)
    }

    fn is_true(&self) -> bool {
        GAIN.contains(&self.share())
    }
}

/// What came true at one host.
#[derive(Debug)]
pub struct Row {
    before: f64,
    after: f64,
    best: f64,
    followed: Option<Followed>,
    /// Whether `--try` ends near the best; `None` if the wrong setting is not one of this host.
    is_best: Option<bool>,
    is_restored: Option<bool>,
    /// Whether the limit after each change that was kept is the one that was predicted.
    next: Vec<bool>,
    /// Whether hosts without a wrong setting, those tuned well included, got no advice.
    quiet: Vec<bool>,
    /// Whether tests of the same settings differ.
    pub is_noisy: bool,
}

fn differ(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() > NOISE
}

/// For each change that was kept, whether the limit that was predicted to hold next is what the
/// following change lifts; after the last one, whether none is advised.
fn next_limits(attempts: &Value, after: &Value) -> Vec<bool> {
    const SIZES: [&str; 3] = ["small-mtu", "route-mtu", "route-advmss"];
    let kept = attempts.as_array().into_iter().flatten();
    let kept: Vec<&Value> = kept.filter(|attempt| attempt["is_kept"] == true).collect();
    let is_as_said = |place: usize| {
        let said = &kept[place]["next_limit"];
        match kept.get(place + 1).and_then(|next| next["ids"].as_array()) {
            // Larger packets carry more over a path that is full.
            Some(ids) if said == "path-saturated" => {
                ids.iter().any(|id| SIZES.iter().any(|size| id == size))
            }
            Some(ids) => ids.contains(said),
            None => advice(after).is_none(),
        }
    };
    (0..kept.len()).map(is_as_said).collect()
}

impl Row {
    /// Reads the result in a directory.
    ///
    /// # Errors
    /// It is missing or incomplete.
    pub fn read(world: &World, directory: &Path) -> Result<Self, String> {
        let file = directory.join(RESULT);
        let text = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let result: Value = serde_json::from_slice(&text)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(if world.has(At::Program) {
            Self::of_program(world, &result)
        } else {
            Self::of_settings(world, &result)
        })
    }

    fn of_program(world: &World, result: &Value) -> Self {
        let bps = |key: &str| result[key].as_f64().unwrap_or(0.0);
        let (before, best) = (goodput(&result["plan"]), bps("good_bps"));
        let followed = &result["followed"];
        let measured = followed["measured_bps"].as_f64();
        Self {
            before,
            after: measured.unwrap_or(before),
            best,
            followed: Followed::of(&followed["fix"], before, measured),
            is_best: None,
            is_restored: None,
            next: Vec::new(),
            quiet: Vec::new(),
            is_noisy: !world.is_lossy() && differ(bps("repeat_bps"), bps("before_bps")),
        }
    }

    fn of_settings(world: &World, result: &Value) -> Self {
        let tried = &result["tried"];
        let trial = &tried["tried"][0];
        let bps = |value: &Value| value.as_f64().unwrap_or(0.0);
        let (before, after, good) = (
            bps(&trial["before_bps"]),
            bps(&trial["after_bps"]),
            goodput(&result["good"]),
        );
        let first = &trial["attempts"][0];
        let followed = advice(tried).and_then(|fix| {
            let measured = if first["commands"] == fix["commands"] {
                first["measured_bps"].as_f64()
            } else {
                result["followed"]["measured_bps"].as_f64()
            };
            Followed::of(fix, before, measured)
        });
        let [is_far, is_lossy] = [world.has(At::Far), world.is_lossy()];
        let mut quiet = Vec::new();
        if !is_lossy {
            quiet.push(advice(&result["good"]).is_none());
        }
        if world.faults.is_empty() {
            quiet.push(advice(tried).is_none());
        }
        let repeated = [
            (before, goodput(&result["repeat"])),
            (after, goodput(&result["after"])),
        ];
        Self {
            before,
            after,
            best: good,
            followed,
            is_best: (!is_far).then_some(after >= BEST * good),
            next: next_limits(&trial["attempts"], &result["after"]),
            is_restored: result["different"].as_array().map(Vec::is_empty),
            quiet,
            is_noisy: !is_lossy && repeated.iter().any(|(one, two)| differ(*one, *two)),
        }
    }

    /// The row as text.
    pub fn text(&self) -> String {
        let mbps = |bps: f64| bps / 1e6;
        let mut text = format!(
            "{:6.1} -> {:6.1} of {:6.1}",
            mbps(self.before),
            mbps(self.after),
            mbps(self.best)
        );
        if let Some(followed) = &self.followed {
            let Followed {
                ids,
                place,
                certainty,
                point,
                measured,
                ..
            } = followed;
            let _ = write!(
                text,
                "; {ids} ({place}): predicted {:.1} ({certainty}), measured {:.1}, {:.2} of the gain",
                mbps(*point),
                mbps(*measured),
                followed.share()
            );
            if !followed.has_point() {
                text.push_str(" NO POINT");
            } else if !followed.is_true() {
                text.push_str(" NOT TRUE");
            }
        }
        let flags = [
            (self.is_best == Some(false), " NOT THE BEST"),
            (self.is_restored == Some(false), " NOT RESTORED"),
            (self.next.contains(&false), " ANOTHER LIMIT NEXT"),
            (self.quiet.contains(&false), " ADVICE TO A HEALTHY HOST"),
            (self.is_noisy, " NOISY"),
        ];
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            text.push_str(flag);
        }
        text
    }
}

/// Part of a number.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    of: u32,
    met: u32,
}

impl Part {
    fn add(&mut self, is_met: bool) {
        self.of += 1;
        self.met += u32::from(is_met);
    }

    fn text(self) -> String {
        format!(
            "{} of {} ({:.0} %)",
            self.met,
            self.of,
            100.0 * f64::from(self.met) / f64::from(self.of.max(1))
        )
    }
}

/// Counts over all hosts.
#[derive(Debug, Default)]
pub struct Score {
    mistuned: u32,
    healthy: u32,
    noisy: u32,
    advised: u32,
    promised: Part,
    best: Part,
    restored: Part,
    next: Part,
    quiet: Part,
}

impl Score {
    /// Adds a host.
    pub fn add(&mut self, world: &World, row: &Row) {
        if world.faults.is_empty() {
            self.healthy += 1
        } else {
            self.mistuned += 1
        }
        self.noisy += u32::from(row.is_noisy);
        if let Some(followed) = &row.followed {
            self.advised += 1;
            if followed.has_point() {
                self.promised.add(followed.is_true());
            }
        }
        for (part, met) in [
            (&mut self.best, row.is_best),
            (&mut self.restored, row.is_restored),
        ] {
            if let Some(is_met) = met {
                part.add(is_met);
            }
        }
        row.quiet
            .iter()
            .for_each(|is_quiet| self.quiet.add(*is_quiet));
        row.next
            .iter()
            .for_each(|is_as_said| self.next.add(*is_as_said));
    }

    /// The counts.
    pub fn text(&self) -> String {
        format!(
            "{} hosts with wrong settings, {} healthy ones; {} too noisy in the end\n\
             first advice brings 70 to 140 % of the promised gain   {}; {} with advice in all\n\
             --try ends within 10 % of the best                     {}\n\
             every setting restored                                 {}\n\
             next limit as predicted                                {}\n\
             no advice to a healthy host                            {}",
            self.mistuned,
            self.healthy,
            self.noisy,
            self.promised.text(),
            self.advised,
            self.best.text(),
            self.restored.text(),
            self.next.text(),
            self.quiet.text()
        )
    }
}
