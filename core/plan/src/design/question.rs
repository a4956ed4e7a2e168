//! Specification of an experiment: `[sweep]` of a plan, and options of a command line.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use crate::axis::Axis;
use crate::{Diagnostic, Diagnostics, Place, Plan, Severity, Sweep};
use gigatcp_theory::sample::Summary;
use gigatcp_units::settings::TextError;

use crate::design::statistics::CONFIDENCE;

/// Maximum number of repetitions of a cell with `until`.
const MAX_REPETITIONS: u32 = 200;

/// Minimum number of repetitions for an interval: with fewer, the deviation is uncertain.
pub const FEWEST_REPETITIONS: u32 = 5;

/// Specification of an experiment: factors, cells, repetitions.
///
/// A sweep stores it (`sweep.json`) and names its directory after it: fields, their order and their
/// defaults are a file format.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Question {
    /// Axes as text.
    pub over: Vec<String>,
    /// Excluded combinations.
    pub exclude: Vec<String>,
    /// Selection of combinations, as text.
    pub design: String,
    /// Whether cells run in random order.
    pub is_random: bool,
    /// Seed of repetition 0 in every cell, of the order and of samples.
    pub seed: u64,
    /// Repetitions of each cell in each batch; with `until` the initial ones.
    pub repeat: u32,
    /// Number of batches.
    pub batches: u32,
    /// Random draws per batch, as axes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draw: Vec<String>,
    /// Column for tables and `until`.
    pub metric: String,
    /// Half width of the interval to reach, as a share of the mean.
    pub until: Option<f64>,
    /// Maximum number of repetitions of a cell.
    pub most: u32,
}

impl Question {
    /// Question of a plan, with the options of a command line applied. Axes of the command line
    /// replace those of the plan over the same keys, and are added otherwise.
    pub fn of(plan: &Plan, typed: &Sweep, seed: Option<u64>) -> Self {
        let own = plan.sweep.clone().unwrap_or_default();
        let name = |text: &str| Axis::read(text).map(|axis| axis.name()).ok();
        let replaced = |text: &&String| {
            let mut names = typed.over.iter().map(|axis| name(axis));
            !names.any(|typed| typed.is_some() && typed == name(text))
        };
        let over = own.over.iter().filter(replaced).chain(&typed.over);
        let either = |typed: &Vec<String>, own: &Vec<String>| match typed.is_empty() {
            true => own.clone(),
            false => typed.clone(),
        };
        let until = typed.until.or(own.until);
        let repeat = typed.repeat.or(own.repeat).or(plan.repeat).unwrap_or(1);
        let order = typed.order.as_ref().or(own.order.as_ref());
        let text = |typed: &Option<String>, own: &Option<String>, default: &str| {
            let said = typed.as_ref().or(own.as_ref());
            said.map_or_else(|| default.to_owned(), ToOwned::to_owned)
        };
        Self {
            over: over.cloned().collect(),
            exclude: either(&typed.exclude, &own.exclude),
            design: text(&typed.design, &own.design, "factorial"),
            is_random: order.is_none_or(|order| order != "written"),
            seed: seed.unwrap_or(plan.seed),
            repeat: match until {
                Some(_) => repeat.max(FEWEST_REPETITIONS),
                None => repeat,
            },
            batches: typed.batches.or(own.batches).unwrap_or(1),
            draw: either(&typed.draw, &own.draw),
            metric: text(&typed.metric, &own.metric, "goodput_bps"),
            until,
            most: typed.most.or(own.most).unwrap_or(MAX_REPETITIONS),
        }
    }

    /// Number of repetitions of a cell before the first check of its interval. Without `until`:
    /// all.
    pub const fn first(&self) -> u32 {
        self.repeat.saturating_mul(self.batches)
    }

    /// Number of repetitions that a cell with these values needs; `None`: no more.
    ///
    /// It grows by a quarter at a time: the number depends on the values alone and not on the order
    /// in which cells ran.
    pub fn next(&self, values: &[f64]) -> Option<u32> {
        let width = self.until?;
        let count = values.len() as u32;
        let summary = Summary::of(values)?;
        let half = summary.half_width(CONFIDENCE);
        let is_enough = half.is_some_and(|half| half <= width * libm::fabs(summary.mean));
        let more = count.saturating_add((count / 4).max(1)).min(self.most);
        (!is_enough && more > count).then_some(more)
    }

    /// Batch of a repetition.
    pub const fn batch_of(&self, repetition: u32) -> u32 {
        repetition / self.repeat
    }

    /// Seed of a repetition. It is the same in every cell, so that cells have the same losses.
    pub const fn seed_of(&self, repetition: u32) -> u64 {
        self.seed.wrapping_add(repetition as u64)
    }
}

/// Selection of combinations of levels.
#[derive(Clone, PartialEq, Debug)]
pub enum Design {
    /// All combinations.
    Factorial,
    /// A fraction of the combinations of the first and last level of each axis, of this resolution.
    Fractional(u32),
}

impl Design {
    const HINT: &str = "factorial, or `fractional 4` (a resolution)";

    /// Parses a design.
    ///
    /// # Errors
    /// An unknown word, or a number out of bounds.
    pub fn read(text: &str) -> Result<Self, QuestionError> {
        let wrong = |why: &str| QuestionError::new(text, 0..text.len(), why, Self::HINT);
        let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        match word {
            "factorial" if rest.is_empty() => Ok(Self::Factorial),
            "fractional" => match rest.trim().parse() {
                Ok(resolution @ 3..=10) => Ok(Self::Fractional(resolution)),
                _ => Err(wrong("the resolution is from 3 to 10")),
            },
            _ => {
                let mut error = wrong("no such design");
                error.error = error.error.suggest(word, ["factorial", "fractional"]);
                Err(error)
            }
        }
    }
}

/// Error in a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuestionError {
    /// The invalid text.
    pub text: String,
    /// Location and reason.
    pub error: TextError,
}

impl QuestionError {
    pub(crate) fn new(text: &str, span: Range<usize>, why: &str, hint: &str) -> Self {
        Self {
            text: text.to_owned(),
            error: TextError::new(text.get(span.clone()).unwrap_or(text), span, why, hint),
        }
    }

    pub(crate) fn of(text: &str, error: TextError) -> Self {
        Self {
            text: text.to_owned(),
            error,
        }
    }

    /// Error as diagnostics of a plan; `source` names the text.
    pub fn diagnostics(self, source: &str) -> Diagnostics {
        let finding = Diagnostic {
            severity: Severity::Error,
            message: self.error.why,
            place: Place::in_plan(self.error.span),
            label: "here".to_owned(),
            related: None,
            effect: Some("nothing was run".to_owned()),
            nearest: self.error.nearest,
            hint: Some(self.error.hint),
        };
        Diagnostics {
            source_name: source.to_owned(),
            text: self.text,
            overrides: vec![],
            list: vec![finding],
        }
    }
}

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.error.why, self.error.hint)
    }
}

impl core::error::Error for QuestionError {}
