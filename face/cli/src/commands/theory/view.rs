//! The figures as a table, one column per path, and as JSON.

use gigatcp_theory::{BudgetError, Path, PathBudget};
use gigatcp_units::grammar::{human_bytes, human_duration, human_probability, human_rate};
use gigatcp_units::{Bytes, Rate};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::buffers::Buffers;
use super::figures::{Figure, Questions, Row, Section, sections};
use crate::failure::Failure;
use crate::grid::{Align, grid};

/// Lines shown without `--verbose`, except requested answers.
const MAX_LINES: usize = 39;

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
    bdp: Bytes,
    segments: f64,
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
                bdp: budget.bdp,
                segments: budget.window,
                sections: sections(path, &budget, questions),
            });
        }
        Ok(Self {
            schema: SCHEMA,
            paths: columns.iter().map(Column::json).collect(),
            columns,
        })
    }

    /// Removes the rows of other congestion controls.
    pub(super) fn keep_controls(&mut self, names: &[String]) {
        for column in &mut self.columns {
            for section in column
                .sections
                .iter_mut()
                .filter(|one| one.is_of_controls())
            {
                section
                    .rows
                    .retain(|row| names.iter().any(|name| name == row.key));
            }
            column.sections.retain(|section| !section.rows.is_empty());
        }
        self.paths = self.columns.iter().map(Column::json).collect();
    }

    /// The answer, the settings, and the table: [`MAX_LINES`] lines, or all of it.
    pub(super) fn text(&self, is_verbose: bool) -> String {
        let Some(first) = self.columns.first() else {
            return String::new();
        };
        let mut cells = match self.columns.len() {
            1 => vec![vec![first.answer()]],
            _ => [self.path_lines(), self.section(0)].concat(),
        };
        let largest = self.columns.iter().max_by_key(|column| column.bdp);
        cells.extend(
            largest
                .map(|column| column.settings(self.columns.len() > 1))
                .unwrap_or_default(),
        );
        let is_lossy = first
            .sections
            .iter()
            .any(|section| section.key == "at_loss");
        let mut is_cut = false;
        for (index, section) in first
            .sections
            .iter()
            .enumerate()
            .skip(usize::from(!is_verbose || self.columns.len() > 1))
        {
            let block = self.section(index);
            let fits = cells.len() + block.len() < MAX_LINES;
            let is_wanted = section.question.is_some()
                || fits
                    && !(is_lossy && section.key == "loss_budget")
                    && section.key != "between_losses";
            if is_verbose || is_wanted {
                cells.extend(block);
            } else {
                is_cut = true;
            }
        }
        let mut columns = vec![Align::Left];
        columns.extend(self.columns.iter().map(|_| Align::Right));
        columns.push(Align::Left);
        let mut text = table(&columns, &cells);
        if is_cut {
            text.push_str("\nall equations: -v\n");
        }
        text
    }

    /// The lines of a section, after an empty one.
    fn section(&self, index: usize) -> Vec<Vec<String>> {
        let section = self
            .columns
            .first()
            .and_then(|column| column.sections.get(index));
        let Some(section) = section else {
            return Vec::new();
        };
        let rows = section.rows.iter().enumerate();
        let mut lines = vec![Vec::new(), vec![section.title.clone()]];
        lines.extend(rows.map(|(number, row)| self.line(index, number, row)));
        lines
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
    /// The window, in a sentence.
    fn answer(&self) -> String {
        let Path { rate, rtt, mss, .. } = self.path;
        format!(
            "{rate} over an RTT of {rtt} requires a window of {}: {:.0} segments of {mss}.",
            human_bytes(self.bdp),
            self.segments
        )
    }

    /// The settings that allow one connection this window; `is_named` says which window.
    fn settings(&self, is_named: bool) -> Vec<Vec<String>> {
        let buffers = Buffers::of(self.bdp);
        let window = match is_named {
            _ if buffers.exceeds_tcp => "the largest window of TCP".to_owned(),
            true => format!("a window of {}", human_bytes(self.bdp)),
            false => "it".to_owned(),
        };
        let mut lines = vec![format!(
            "settings that allow {window} (larger values do too)"
        )];
        lines.extend(buffers.lines());
        if buffers.exceeds_tcp {
            lines.push(format!(
                "  TCP's largest window is 1 GiB (RFC 7323): one connection reaches {}",
                human_rate(Buffers::max_rate(self.path.rtt))
            ));
        }
        let lines = lines.into_iter().map(|line| vec![line]);
        std::iter::once(Vec::new()).chain(lines).collect()
    }

    fn json(&self) -> Map<String, Value> {
        let path = &self.path;
        let mut map = Map::new();
        map.insert("rate_bps".to_owned(), json!(path.rate.as_bps()));
        map.insert("rtt_ns".to_owned(), json!(path.rtt.as_nanos()));
        map.insert("mss_bytes".to_owned(), json!(path.mss.as_u64()));
        map.insert("iw_segments".to_owned(), json!(path.iw));
        map.insert("growth_per_round".to_owned(), json!(path.growth.factor()));
        map.insert("mathis_constant".to_owned(), json!(path.c.value()));
        map.insert("buffers".to_owned(), json!(Buffers::of(self.bdp)));
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

    /// Exact; nothing where there is no bound.
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
