//! Figures of a path by published equations with their sources, as text and JSON.

mod figures;

use gigatcp_theory::{BudgetError, Path, PathBudget};
use gigatcp_units::Rate;
use gigatcp_units::grammar::{human_bytes, human_duration, human_probability, human_rate};
use serde_json::{Map, Value, json};

pub use figures::{Figure, Questions, Row, Section, sections};

/// A path and its figures.
#[derive(Debug)]
pub struct Expected {
    /// The path.
    pub path: Path,
    /// Figures that belong together.
    pub sections: Vec<Section>,
}

impl Expected {
    /// Figures of a path, and the answers to `questions` about it.
    ///
    /// # Errors
    ///
    /// When the path leaves nothing to calculate.
    pub fn of(path: &Path, questions: &Questions<'_>) -> Result<Self, BudgetError> {
        let budget = PathBudget::new(path)?;
        Ok(Self {
            path: *path,
            sections: sections(path, &budget, questions),
        })
    }

    /// The values as JSON (`gigatcp.theory/1`), exact, with units in the keys.
    pub fn json(&self) -> Map<String, Value> {
        let path = &self.path;
        let mut map = Map::new();
        map.insert("rate_bps".to_owned(), json!(path.rate.as_bps()));
        map.insert("rtt_ns".to_owned(), json!(path.rtt.as_nanos()));
        map.insert("mss_bytes".to_owned(), json!(path.mss.as_u64()));
        map.insert("iw_segments".to_owned(), json!(path.iw));
        map.insert("growth_per_round".to_owned(), json!(path.growth.factor()));
        map.insert("mathis_constant".to_owned(), json!(path.c.value()));
        for section in &self.sections {
            let mut figures = Map::new();
            if let Some((key, figure)) = &section.question {
                figures.insert(figure.key(key), figure.json());
            }
            for row in &section.rows {
                figures.insert(row.figure.key(row.key), row.figure.json());
            }
            let figures = Value::Object(figures);
            match map.get_mut(section.key) {
                Some(Value::Array(list)) => list.push(figures),
                _ if section.question.is_some() => {
                    map.insert(section.key.to_owned(), json!([figures]));
                }
                _ => {
                    map.insert(section.key.to_owned(), figures);
                }
            }
        }
        map
    }
}

impl Figure {
    /// Figure rounded for reading.
    pub fn text(self) -> String {
        match self {
            Self::Rate(Rate::MAX) => "no bound".to_owned(),
            Self::Rate(rate) => human_rate(rate),
            Self::Time(time) => human_duration(time),
            Self::Amount(bytes) => human_bytes(bytes),
            Self::Probability(probability) => human_probability(probability),
            Self::Segments(number) | Self::PerSecond(number) => format!("{number:.0}"),
            Self::Rounds(number) if number.fract() == 0.0 => format!("{number:.0}"),
            Self::Rounds(number) => format!("{number:.2}"),
            Self::Share(share) => format!("{:.1} %", share * 100.0),
        }
    }

    /// Exact figure; `None` if there is no bound.
    fn json(self) -> Value {
        match self {
            Self::Rate(Rate::MAX) => Value::Null,
            Self::Rate(rate) => json!(rate.as_bps()),
            Self::Time(time) => json!(time.as_nanos()),
            Self::Amount(bytes) => json!(bytes.as_u64()),
            Self::Probability(probability) => json!(probability.as_f64()),
            Self::Segments(number)
            | Self::Rounds(number)
            | Self::PerSecond(number)
            | Self::Share(number) => json!(number),
        }
    }

    /// Key with its unit.
    fn key(self, name: &str) -> String {
        let unit = match self {
            Self::Rate(_) => "bps",
            Self::Time(_) => "ns",
            Self::Amount(_) => "bytes",
            Self::Probability(_) => "probability",
            Self::Segments(_) => "segments",
            Self::Rounds(_) => "rounds",
            Self::PerSecond(_) => "per_second",
            Self::Share(_) => "fraction",
        };
        format!("{name}_{unit}")
    }
}
