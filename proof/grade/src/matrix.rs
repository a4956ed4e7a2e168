//! Confusion matrix of one capture point, and precision by confidence.

use std::collections::BTreeMap;
use std::fmt;

use crate::dataset::Observed;

/// Answers by true cause, at one capture point.
#[derive(Default, Debug)]
pub struct Matrix {
    name: String,
    /// By truth and answer.
    counts: BTreeMap<(String, String), u64>,
    /// Confidences, and whether the answer was correct.
    answers: Vec<(f64, bool)>,
    all: u64,
    right: u64,
    unsure: u64,
}

/// Bounds of the confidence bands.
const BANDS: [(f64, f64); 6] = [
    (0.0, 0.6),
    (0.6, 0.7),
    (0.7, 0.8),
    (0.8, 0.85),
    (0.85, 0.9),
    (0.9, 1.01),
];

impl Matrix {
    /// An empty matrix.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Counts an answer.
    pub fn add(&mut self, one: &Observed) {
        let is_right = one.is_right();
        let said = if is_right { &one.truth } else { &one.said };
        *self
            .counts
            .entry((one.truth.clone(), said.clone()))
            .or_default() += 1;
        self.all += 1;
        self.right += u64::from(is_right);
        self.unsure += u64::from(one.is_unsure() && !is_right);
        if !one.is_unsure() {
            self.answers.push((one.confidence, is_right));
        }
    }

    /// Share of correct answers.
    pub fn right(&self) -> f64 {
        self.right as f64 / self.all.max(1) as f64
    }

    /// Number of answers with at least this confidence, and the share that is correct.
    pub fn precision(&self, confidence: f64) -> (usize, f64) {
        let said: Vec<bool> = self
            .answers
            .iter()
            .filter(|(probability, _)| *probability >= confidence)
            .map(|(_, right)| *right)
            .collect();
        let right = said.iter().filter(|right| **right).count();
        (said.len(), right as f64 / said.len().max(1) as f64)
    }

    fn count(&self, of: impl Fn(&str, &str) -> bool) -> u64 {
        let found = self
            .counts
            .iter()
            .filter(|((truth, said), _)| of(truth, said));
        found.map(|(_, count)| count).sum()
    }

    fn bands(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "confidence    answers  right")?;
        for (low, high) in BANDS {
            let of = self
                .answers
                .iter()
                .filter(|(probability, _)| (low..high).contains(probability));
            let all = of.clone().count() as u64;
            let right = of.filter(|(_, right)| *right).count() as u64;
            let range = format!("{low:.2} to {:.2}", high.min(1.0));
            writeln!(f, "{range}  {all:7}  {:>5}", share(right, all))?;
        }
        let (count, right) = self.precision(0.85);
        writeln!(f, "0.85 and more {count:7}  {:>5}", percent(right))
    }
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        "-".into()
    } else {
        percent(part as f64 / whole as f64)
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = self.all - self.right - self.unsure;
        writeln!(
            f,
            "{}: {} right, {} unsure, {} wrong of {}",
            self.name,
            share(self.right, self.all),
            share(self.unsure, self.all),
            share(wrong, self.all),
            self.all
        )?;
        writeln!(
            f,
            "{:30} {:>5} {:>6} {:>9}  mistaken for",
            "cause", "cases", "recall", "precision"
        )?;
        let mut truths: Vec<&String> = self.counts.keys().map(|(truth, _)| truth).collect();
        truths.dedup();
        for truth in truths {
            let of = self.count(|cause, _| cause == truth);
            let hit = self.count(|cause, said| cause == truth && said == truth);
            let said = self.count(|_, said| said == truth);
            let others: Vec<String> = self
                .counts
                .iter()
                .filter(|((one, said), _)| one == truth && said != truth)
                .map(|((_, said), count)| format!("{said} {count}"))
                .collect();
            writeln!(
                f,
                "{truth:30} {of:5} {:>6} {:>9}  {}",
                share(hit, of),
                share(hit, said),
                others.join(", ")
            )?;
        }
        self.bands(f)
    }
}
