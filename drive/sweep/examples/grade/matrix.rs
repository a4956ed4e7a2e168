//! The confusion matrix of one place of capture.

use std::collections::BTreeMap;
use std::fmt;

/// What was said of what.
pub struct Matrix {
    view: &'static str,
    /// The order in which causes are printed.
    causes: Vec<&'static str>,
    /// By truth and answer.
    counts: BTreeMap<(&'static str, &'static str), u64>,
    /// Confidences, and whether the answer was right.
    sure: Vec<(f64, bool)>,
}

impl Matrix {
    pub fn new(view: &'static str, causes: &[&'static str]) -> Self {
        Self {
            view,
            causes: causes.to_vec(),
            counts: BTreeMap::new(),
            sure: Vec::new(),
        }
    }

    pub fn add(&mut self, truth: &'static str, said: &'static str, confidence: f64) {
        *self.counts.entry((truth, said)).or_default() += 1;
        if said != "unknown" {
            self.sure.push((confidence, truth == said));
        }
    }

    fn count(&self, of: impl Fn(&str, &str) -> bool) -> u64 {
        let found = self
            .counts
            .iter()
            .filter(|((truth, said), _)| of(truth, said));
        found.map(|(_, count)| count).sum()
    }

    fn share(part: u64, whole: u64) -> String {
        if whole == 0 {
            return "-".into();
        }
        format!("{:.0} %", part as f64 * 100.0 / whole as f64)
    }

    fn calibration(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "confidence  answers  right")?;
        for (least, most) in [(0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01)] {
            let of = |(sure, _): &&(f64, bool)| *sure >= least && *sure < most;
            let all = self.sure.iter().filter(of).count() as u64;
            let right = self
                .sure
                .iter()
                .filter(of)
                .filter(|(_, right)| *right)
                .count();
            writeln!(
                f,
                "{least:.1} to {:.1}  {all:7}  {:>5}",
                f64::min(most, 1.0),
                Self::share(right as u64, all)
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.count(|_, _| true);
        let right = self.count(|truth, said| truth == said);
        let unknown = self.count(|truth, said| said == "unknown" && truth != said);
        writeln!(
            f,
            "{}: {} right, {} unknown, {} wrong of {all}",
            self.view,
            Self::share(right, all),
            Self::share(unknown, all),
            Self::share(all - right - unknown, all)
        )?;
        writeln!(f, "cause                      recall precision  taken for")?;
        for cause in self.causes.iter().copied().chain(["unknown"]) {
            let of = self.count(|truth, _| truth == cause);
            if of == 0 {
                continue;
            }
            let hit = self.count(|truth, said| truth == cause && said == cause);
            let said = self.count(|_, said| said == cause);
            let others: Vec<String> = self
                .counts
                .iter()
                .filter(|((truth, said), _)| *truth == cause && *said != cause)
                .map(|((_, said), count)| format!("{said} {count}"))
                .collect();
            writeln!(
                f,
                "{cause:26} {:>6} {:>9}  {}",
                Self::share(hit, of),
                Self::share(hit, said),
                others.join(", ")
            )?;
        }
        self.calibration(f)
    }
}
