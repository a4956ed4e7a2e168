//! The figures as a table, one column per path, and as JSON.

use gigatcp_theory::{BudgetError, Path, PathBudget};
use gigatcp_units::Rate;
use gigatcp_units::grammar::{human_bytes, human_duration, human_probability, human_rate};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::figures::{Figure, Questions, Row, Section, sections};
use crate::failure::Failure;
use crate::grid::{Align, grid};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.theory/1";

/// Paths and what is expected of them.
#[derive(Serialize, Debug)]
pub(super) struct TheoryView {
    schema: &'static str,
    paths: Vec<Map<String, Value>>,
    #[serde(skip)]
    columns: Vec<Column>,
}

/// A path and its figures.
#[derive(Debug)]
struct Column {
    path: Path,
    sections: Vec<Section>,
}

impl TheoryView {
    /// What is expected of `paths`, and the answers to `questions` for each.
    pub(super) fn of(paths: &[Path], questions: &Questions<'_>) -> Result<Self, Failure> {
        let mut columns = Vec::new();
        for path in paths {
            let budget = PathBudget::new(path).map_err(refused)?;
            columns.push(Column {
                path: *path,
                sections: sections(path, &budget, questions),
            });
        }
        Ok(Self {
            schema: SCHEMA,
            paths: columns.iter().map(Column::json).collect(),
            columns,
        })
    }

    /// The table.
    pub(super) fn text(&self) -> String {
        let Some(first) = self.columns.first() else {
            return String::new();
        };
        let mut cells = self.path_lines();
        for (index, section) in first.sections.iter().enumerate() {
            cells.push(Vec::new());
            cells.push(vec![section.title.clone()]);
            for (number, row) in section.rows.iter().enumerate() {
                cells.push(self.line(index, number, row));
            }
        }
        let mut columns = vec![Align::Left];
        columns.extend(self.columns.iter().map(|_| Align::Right));
        columns.push(Align::Left);
        table(&columns, &cells)
    }

    /// What the columns are.
    fn path_lines(&self) -> Vec<Vec<String>> {
        let line = |what: &str, value: fn(&Path) -> String| {
            let values = self.columns.iter().map(|column| value(&column.path));
            std::iter::once(format!("  {what}")).chain(values).collect()
        };
        vec![
            vec!["path".to_owned()],
            line("rate", |path| path.rate.to_string()),
            line("round-trip time (RTT)", |path| path.rtt.to_string()),
            line("segment (MSS)", |path| path.mss.to_string()),
        ]
    }

    fn line(&self, section: usize, number: usize, row: &Row) -> Vec<String> {
        let values = self.columns.iter().map(|column| {
            let row = column
                .sections
                .get(section)
                .and_then(|s| s.rows.get(number));
            row.map_or_else(String::new, |row| row.figure.text())
        });
        let mut cells = vec![format!("  {}", row.what)];
        cells.extend(values);
        cells.push(row.source.clone());
        cells
    }
}

/// Aligns `cells`; a line of one cell is a heading and sets no width.
fn table(columns: &[Align], cells: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = cells
        .iter()
        .filter(|line| line.len() > 1)
        .cloned()
        .collect();
    let aligned = grid(columns, &rows);
    let mut aligned = aligned.lines();
    let mut text = String::new();
    for line in cells {
        let line = match line.as_slice() {
            [] => "",
            [heading] => heading,
            _ => aligned.next().unwrap_or_default(),
        };
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn refused(error: BudgetError) -> Failure {
    let hint = match error {
        BudgetError::NoRate => "as in `--rate '10 Gbit/s'`",
        BudgetError::NoRtt => "as in `--rtt '80 ms'`",
        BudgetError::NoSegment => "as in `--mss 1448`",
        BudgetError::NoInitialWindow => "as in `--iw 10`",
        _ => "as in `--constant 0.7`",
    };
    Failure::new(error.to_string())
        .effect("there is nothing to work out")
        .hint(hint)
}

impl Column {
    fn json(&self) -> Map<String, Value> {
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
    /// Rounded for eyes.
    fn text(self) -> String {
        match self {
            Self::Rate(Rate::MAX) => "no bound".to_owned(),
            Self::Rate(rate) => human_rate(rate),
            Self::Time(time) => human_duration(time),
            Self::Amount(bytes) => human_bytes(bytes),
            Self::Chance(chance) => human_probability(chance),
            Self::Segments(number) | Self::PerSecond(number) => format!("{number:.0}"),
            Self::Rounds(number) if number.fract() == 0.0 => format!("{number:.0}"),
            Self::Rounds(number) => format!("{number:.2}"),
            Self::Share(share) => format!("{:.1} %", share * 100.0),
        }
    }

    /// The exact value; null if there is no bound.
    fn json(self) -> Value {
        match self {
            Self::Rate(Rate::MAX) => Value::Null,
            Self::Rate(rate) => json!(rate.as_bps()),
            Self::Time(time) => json!(time.as_nanos()),
            Self::Amount(bytes) => json!(bytes.as_u64()),
            Self::Chance(chance) => json!(chance.as_f64()),
            Self::Segments(number)
            | Self::Rounds(number)
            | Self::PerSecond(number)
            | Self::Share(number) => json!(number),
        }
    }

    /// A key with its unit.
    fn key(self, name: &str) -> String {
        let unit = match self {
            Self::Rate(_) => "bps",
            Self::Time(_) => "ns",
            Self::Amount(_) => "bytes",
            Self::Chance(_) => "probability",
            Self::Segments(_) => "segments",
            Self::Rounds(_) => "rounds",
            Self::PerSecond(_) => "per_second",
            Self::Share(_) => "fraction",
        };
        format!("{name}_{unit}")
    }
}
