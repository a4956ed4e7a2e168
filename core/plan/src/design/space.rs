//! Cells of a question, computed one by one from their number.
//!
//! A cell is a level of each factor. Factors are the axes, and the series of the plan if it has
//! several (varying slowest). A factor with `when` varies only where its condition holds.
//! Elsewhere it has no level, and only the first of its numbers is a cell. Excluded combinations
//! are not cells either. The draws of a batch ([`Space::in_batch`]) are added to the changes of
//! every cell in it.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::axis::{Amount, Axis, Condition, Setting};
use crate::{Diagnostics, Files, Series, Template};
use gigatcp_units::Bytes;
use gigatcp_units::random::Stream;

use crate::design::fractional::{Fraction, MAX_FACTORS};
use crate::design::question::{Design, Question, QuestionError};

/// Maximum number of cell numbers.
pub const MAX_CELLS: u64 = 100_000_000;

/// Purpose of the random streams of batches.
const DRAW: u64 = 0x6472_6177;

/// A factor: a name, and levels that each set some keys.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Its name in tables.
    pub name: String,
    /// The levels.
    pub levels: Vec<Level>,
    when: Vec<Condition>,
}

/// A level of a factor.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its name in tables.
    pub label: String,
    settings: Vec<(String, Setting)>,
}

impl Level {
    /// Its changes as overrides `KEY=VALUE`; `None` if it has none, or some are computed.
    fn overrides(&self) -> Option<Vec<String>> {
        let changes = self
            .settings
            .iter()
            .map(|(key, setting)| Some(format!("{key}={}", setting.as_text()?)));
        let changes: Vec<String> = changes.collect::<Option<_>>()?;
        (!changes.is_empty()).then_some(changes)
    }
}

/// Levels that correspond to the numbers of cells.
#[derive(Clone, Debug)]
enum Points {
    /// All combinations, the last factor varying fastest.
    All,
    /// Listed, one level of each factor after the other.
    Listed(Vec<u32>),
}

/// Cells of a question.
#[derive(Clone, Debug)]
pub struct Space {
    template: Template,
    /// Numbers of the selected series of the plan.
    series: Vec<usize>,
    factors: Vec<Factor>,
    exclude: Vec<Vec<Condition>>,
    /// Draws of batches.
    draws: Vec<Axis>,
    seed: u64,
    points: Points,
    count: u64,
}

/// A cell: one run of the plan with changes, for each repetition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Its number.
    pub number: u64,
    /// The series of the plan, by number.
    pub series: usize,
    /// The level of each factor; `None` if the factor does not vary.
    pub levels: Vec<Option<u32>>,
    /// Keys and values that change the plan.
    pub changes: Vec<(String, String)>,
    /// Reason why it cannot run, if a value cannot be computed.
    pub refused: Option<String>,
}

impl Cell {
    /// Its changes as overrides `KEY=VALUE`.
    pub fn overrides(&self) -> Vec<String> {
        let changes = self.changes.iter();
        changes
            .map(|(key, value)| format!("{key}={value}"))
            .collect()
    }
}

/// Maximum levels of a factor that are checked.
const MAX_CHECKED_LEVELS: usize = 1_000;

/// Maximum cells in which a level is tried that the plan refuses alone.
const MAX_CHECKED_CELLS: usize = 64;

/// Maximum number of cached BDPs: a path may differ in every cell.
const MAX_BDPS: usize = 4_096;

/// BDPs by series and changes of the path.
type Bdps = BTreeMap<(usize, Vec<String>), Option<Bytes>>;

/// Cache of values computed for cells.
#[derive(Clone, Default, Debug)]
pub struct Memory {
    values: RefCell<BTreeMap<(usize, String), Option<String>>>,
    bdp: RefCell<Bdps>,
}

impl Space {
    /// Cells of a question about a plan. With `only`, about these series.
    ///
    /// # Errors
    /// The first invalid text of the question.
    pub fn new(
        template: Template,
        question: &Question,
        only: &[String],
    ) -> Result<Self, QuestionError> {
        let all = template.plan().series.iter().enumerate();
        let wanted = all.filter(|(_, series)| only.is_empty() || only.contains(&series.name));
        let series: Vec<usize> = wanted.map(|(number, _)| number).collect();
        let design = Design::read(&question.design)?;
        let axes = question
            .over
            .iter()
            .map(|text| Axis::read(text).map_err(|error| QuestionError::of(text, error)))
            .collect::<Result<Vec<_>, _>>()?;
        let exclude = question
            .exclude
            .iter()
            .map(|text| {
                Condition::read_all(text, 0).map_err(|error| QuestionError::of(text, error))
            })
            .collect::<Result<Vec<_>, QuestionError>>()?;
        let mut factors = Vec::new();
        if series.len() > 1 {
            factors.push(of_series(&template, &series));
        }
        factors.extend(axes.iter().map(of_axis));
        let draws = question
            .draw
            .iter()
            .map(|text| of_batches(text, question))
            .collect::<Result<Vec<_>, _>>()?;
        let drawn = draws.iter().map(of_axis);
        check_overlap(
            &template,
            &factors.iter().cloned().chain(drawn).collect::<Vec<_>>(),
        )?;
        let mut space = Self {
            template,
            series,
            factors,
            exclude,
            draws,
            seed: question.seed,
            points: Points::All,
            count: 0,
        };
        space.lay_out(&design, &question.design)?;
        space.assert_invariants();
        Ok(space)
    }

    /// Asserts the invariants of the chosen combinations.
    fn assert_invariants(&self) {
        debug_assert!(
            self.factors.iter().all(|factor| !factor.levels.is_empty()),
            "each factor of a space has a level"
        );
        let dimensions = self.factors.len();
        if let Points::Listed(levels) = &self.points {
            debug_assert_eq!(
                levels.len() as u64,
                self.count * dimensions as u64,
                "each listed combination has a level of each of {dimensions} factors"
            );
            debug_assert!(
                levels.iter().enumerate().all(|(at, level)| {
                    (*level as usize) < self.factors[at % dimensions].levels.len()
                }),
                "listed levels are those of their factors"
            );
        }
    }

    /// Chooses the combinations.
    fn lay_out(&mut self, design: &Design, text: &str) -> Result<(), QuestionError> {
        let wrong = |why: &str, hint: &str| QuestionError::new(text, 0..text.len(), why, hint);
        let nested = self.factors.iter().any(|factor| !factor.when.is_empty());
        if *design != Design::Factorial && nested {
            return Err(wrong(
                "an axis with `when` varies in a factorial design only",
                "factorial",
            ));
        }
        let dimensions = self.factors.len();
        if let Design::Fractional(resolution) = design {
            if let Some(short) = self.factors.iter().find(|factor| factor.levels.len() < 2) {
                let why = format!("axis {} has one level, and two are needed", short.name);
                return Err(wrong(&why, "two levels, as in sender.sack=true,false"));
            }
            for factor in &mut self.factors {
                let last = factor.levels.len() - 1;
                factor.levels.swap(1, last);
                factor.levels.truncate(2);
            }
            let fraction = Fraction::smallest(dimensions, *resolution).ok_or_else(|| {
                let hint = format!("a fraction has up to {MAX_FACTORS} axes");
                wrong("no such fraction of these axes", &hint)
            })?;
            let runs = (0..fraction.runs()).flat_map(|run| fraction.levels(run));
            self.points = Points::Listed(runs.collect());
        }
        let product = || {
            let mut levels = self.factors.iter().map(|factor| factor.levels.len() as u64);
            levels.try_fold(1_u64, |product, count| product.checked_mul(count))
        };
        let count = match &self.points {
            Points::All => product(),
            Points::Listed(levels) => Some((levels.len() / dimensions.max(1)) as u64),
        };
        let few = count.filter(|count| *count <= MAX_CELLS);
        self.count = few.ok_or_else(|| {
            let why = format!("more than {MAX_CELLS} cells");
            wrong(&why, "fewer levels, or two of each axis: `fractional 4`")
        })?;
        Ok(())
    }

    /// Number of cell numbers; some may not be cells.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Factors, the slowest-varying first.
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// Plan that cells change.
    pub const fn template(&self) -> &Template {
        &self.template
    }

    /// Numbers of the selected series.
    pub fn series(&self) -> &[usize] {
        &self.series
    }

    /// Cell with a number; `None` if there is none.
    pub fn cell(&self, number: u64, files: &dyn Files, memory: &Memory) -> Option<Cell> {
        let chosen = self.chosen(number);
        let has_series = self.series.len() > 1;
        let series = self.series[if has_series { chosen[0] as usize } else { 0 }];
        let mut cell = Cell {
            number,
            series,
            levels: Vec::with_capacity(chosen.len()),
            changes: Vec::new(),
            refused: None,
        };
        let mut computed = Vec::new();
        for (factor, level) in self.factors.iter().zip(&chosen) {
            let varies = holds_all(&factor.when, &|key| self.text(&cell, key, files, memory));
            if !varies.unwrap_or(false) {
                if *level > 0 {
                    return None;
                }
                cell.levels.push(None);
                continue;
            }
            cell.levels.push(Some(*level));
            for (key, setting) in &factor.levels[*level as usize].settings {
                match setting {
                    Setting::Text(text) => cell.changes.push((key.clone(), text.clone())),
                    Setting::Computed(expression) => computed.push((key, expression)),
                }
            }
        }
        for (key, expression) in computed {
            let found =
                expression.evaluate(&|name| Amount::read(&self.text(&cell, name, files, memory)?));
            let text = found.and_then(|amount| {
                amount.text().ok_or_else(|| {
                    let text = expression.text();
                    format!("`{text}` is neither data, a time, a rate nor a number")
                })
            });
            match text {
                Ok(text) => cell.changes.push((key.clone(), text)),
                Err(why) => cell.refused = Some(format!("{key}: {why}")),
            }
        }
        let mut excluded = self.exclude.iter();
        let is_excluded = excluded.any(|conditions| {
            holds_all(conditions, &|key| self.text(&cell, key, files, memory)).unwrap_or(false)
        });
        (!is_excluded).then_some(cell)
    }

    /// Keys drawn per batch.
    pub fn draws(&self) -> impl Iterator<Item = &str> {
        self.draws
            .iter()
            .flat_map(|axis| &axis.keys)
            .map(String::as_str)
    }

    /// Draws of a batch, the same in all cells: keys and values.
    pub fn drawn(&self, batch: u32) -> impl Iterator<Item = (String, String)> {
        self.draws.iter().flat_map(move |axis| {
            let name = format!("batch-{batch}-{}", axis.name());
            let share = Stream::new(self.seed, &name, DRAW).uniform();
            let values = match &axis.span {
                Some(span) => vec![span.at(share); axis.keys.len()],
                None => {
                    let count = axis.levels.len();
                    let level = ((share * count as f64) as usize).min(count - 1);
                    let values = axis.levels[level].values.iter();
                    values
                        .filter_map(Setting::as_text)
                        .map(ToOwned::to_owned)
                        .collect()
                }
            };
            axis.keys.iter().cloned().zip(values)
        })
    }

    /// A cell with the draws of a batch.
    pub fn in_batch<'a>(&self, cell: &'a Cell, batch: u32) -> Cow<'a, Cell> {
        if self.draws.is_empty() {
            return Cow::Borrowed(cell);
        }
        Cow::Owned(self.with_draws(cell.clone(), batch))
    }

    /// Adds the draws of a batch to a cell.
    pub fn with_draws(&self, mut cell: Cell, batch: u32) -> Cell {
        if !self.draws.is_empty() {
            cell.changes.extend(self.drawn(batch));
        }
        cell
    }

    /// Series that a cell runs.
    ///
    /// # Errors
    /// Every fault of the plan after the changes.
    pub fn scenario(&self, cell: &Cell, files: &dyn Files) -> Result<Series, Diagnostics> {
        self.template.cell(cell.series, &cell.overrides(), files)
    }

    /// Checks the levels of all factors, the first 1,000 of each. A level is invalid if the plan
    /// refuses it alone, and in each of up to 64 cells that have it.
    ///
    /// # Errors
    /// The findings about the first invalid level.
    pub fn check_levels(&self, files: &dyn Files) -> Result<(), Diagnostics> {
        let memory = Memory::default();
        for (place, factor) in self.factors.iter().enumerate() {
            for (number, level) in factor.levels.iter().take(MAX_CHECKED_LEVELS).enumerate() {
                let Some(changes) = level.overrides() else {
                    continue;
                };
                let refused = self.series.iter().map(|series| {
                    let changed = self.template.cell(*series, &changes, files);
                    changed.err()
                });
                let Some(findings) = refused.collect::<Option<Vec<_>>>() else {
                    continue;
                };
                let cells = (0..self.count)
                    .filter(|cell| self.chosen(*cell)[place] as usize == number)
                    .filter_map(|cell| self.cell(cell, files, &memory))
                    .take(MAX_CHECKED_CELLS);
                let outcomes: Vec<bool> = cells
                    .map(|cell| cell.refused.is_none() && self.scenario(&cell, files).is_ok())
                    .collect();
                if !outcomes.is_empty() && !outcomes.contains(&true) {
                    return findings.into_iter().next().map_or(Ok(()), Err);
                }
            }
        }
        Ok(())
    }

    fn chosen(&self, number: u64) -> Vec<u32> {
        debug_assert!(number < self.count, "cell {number} of {}", self.count);
        let dimensions = self.factors.len();
        if let Points::Listed(levels) = &self.points {
            let begin = number as usize * dimensions;
            return levels[begin..begin + dimensions].to_vec();
        }
        let mut rest = number;
        let mut chosen = vec![0; dimensions];
        for (level, factor) in chosen.iter_mut().zip(&self.factors).rev() {
            let count = factor.levels.len() as u64;
            *level = (rest % count) as u32;
            rest /= count;
        }
        chosen
    }

    /// Value of a key, or of `bdp`, in a cell, if known.
    fn text(&self, cell: &Cell, name: &str, files: &dyn Files, memory: &Memory) -> Option<String> {
        let own = cell.changes.iter().rev().find(|(key, _)| key == name);
        if let Some((_, text)) = own {
            return Some(text.clone());
        }
        if name == "bdp" {
            return self.bdp(cell, files, memory);
        }
        let mut values = memory.values.borrow_mut();
        values
            .entry((cell.series, name.to_owned()))
            .or_insert_with(|| {
                let path = self.template.paths(cell.series, name).into_iter().next()?;
                self.template.leaves(cell.series).remove(&path)
            })
            .clone()
    }

    fn bdp(&self, cell: &Cell, files: &dyn Files, memory: &Memory) -> Option<String> {
        let of_path = |change: &&String| {
            let sections = ["path.", "link.", "node.", "sender.link.", "receiver.link."];
            sections.iter().any(|section| change.starts_with(section))
        };
        let all = cell.overrides();
        let changes: Vec<String> = all.iter().filter(of_path).cloned().collect();
        let mut known = memory.bdp.borrow_mut();
        if known.len() >= MAX_BDPS {
            known.clear();
        }
        let bdp = known.entry((cell.series, changes.clone()));
        let bdp = *bdp.or_insert_with(|| {
            let series = self.template.cell(cell.series, &changes, files).ok()?;
            series.scenario.bdp()
        });
        Some(format!("{} B", bdp?.as_u64()))
    }
}

/// Parses a draw of batches: an axis that does not depend on others.
fn of_batches(text: &str, question: &Question) -> Result<Axis, QuestionError> {
    let axis = Axis::read(text).map_err(|error| QuestionError::of(text, error))?;
    let settings = axis.levels.iter().flat_map(|level| &level.values);
    let is_free =
        axis.when.is_empty() && settings.clone().all(|setting| setting.as_text().is_some());
    let wrong = |why: &str, hint: &str| Err(QuestionError::new(text, 0..text.len(), why, hint));
    match is_free {
        false => wrong(
            "what a batch draws depends on no other key",
            "KEY=FROM..TO, or values as they are written",
        ),
        true if question.batches < 2 => wrong(
            "one batch draws once, and nothing varies",
            "more batches, as in sweep.batches=10",
        ),
        true => Ok(axis),
    }
}

fn holds_all(
    conditions: &[Condition],
    text_of: &dyn Fn(&str) -> Option<String>,
) -> Result<bool, String> {
    for condition in conditions {
        if !condition.holds(text_of)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn of_series(template: &Template, numbers: &[usize]) -> Factor {
    let levels = numbers.iter().map(|number| Level {
        label: template.plan().series[*number].name.clone(),
        settings: vec![],
    });
    Factor {
        name: "series".to_owned(),
        levels: levels.collect(),
        when: vec![],
    }
}

fn of_axis(axis: &Axis) -> Factor {
    let levels = axis.levels.iter().map(|level| Level {
        label: level.label.clone(),
        settings: axis
            .keys
            .iter()
            .cloned()
            .zip(level.values.iter().cloned())
            .collect(),
    });
    Factor {
        name: axis.name(),
        levels: levels.collect(),
        when: axis.when.clone(),
    }
}

/// Rejects two factors that set one key. A table could not show which of them applies.
fn check_overlap(template: &Template, factors: &[Factor]) -> Result<(), QuestionError> {
    let mut owners: BTreeMap<String, usize> = BTreeMap::new();
    for (number, factor) in factors.iter().enumerate() {
        let settings = factor.levels.iter().flat_map(|level| &level.settings);
        let mut keys: Vec<&String> = settings.map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys.dedup();
        for path in keys.into_iter().flat_map(|key| template.paths(0, key)) {
            let owner = *owners.entry(path.clone()).or_insert(number);
            if owner != number {
                let why = format!("{path} is set by {} as well", factors[owner].name);
                let name = &factor.name;
                return Err(QuestionError::new(
                    name,
                    0..name.len(),
                    &why,
                    "one axis for each key",
                ));
            }
        }
    }
    Ok(())
}
