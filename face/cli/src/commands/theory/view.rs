//! The figures as a table, one column per path, and as JSON.

use gigatcp_report::grid::{Align, grid};
use gigatcp_report::theory::{Expected, Questions, Row, Section};
use gigatcp_theory::{BudgetError, Path, PathBudget};
use gigatcp_units::Bytes;
use gigatcp_units::grammar::{human_bytes, human_rate};
use serde::Serialize;
use serde_json::{Map, Value};

use super::buffers::Buffers;
use crate::failure::Failure;

/// Lines shown without `--verbose`, except requested answers.
const MAX_LINES: usize = 39;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.theory/1";

/// Paths and their figures.
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
    bdp: Bytes,
    segments: f64,
    expected: Expected,
}

impl TheoryView {
    /// Figures of `paths`, and the answers to `questions` for each.
    pub(super) fn of(paths: &[Path], questions: &Questions<'_>) -> Result<Self, Failure> {
        let mut columns = Vec::new();
        for path in paths {
            let budget = PathBudget::new(path).map_err(refused)?;
            columns.push(Column {
                bdp: budget.bdp,
                segments: budget.window,
                expected: Expected::of(path, questions).map_err(refused)?,
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
        let is_kept = |row: &Row| names.iter().any(|name| name == row.key);
        for column in &mut self.columns {
            let sections = &mut column.expected.sections;
            for section in sections
                .iter_mut()
                .filter(|section| section.is_of_controls())
            {
                section.rows.retain(is_kept);
            }
            sections.retain(|section| !section.rows.is_empty());
        }
        self.paths = self.columns.iter().map(Column::json).collect();
    }

    /// Answer, the settings, and the table: [`MAX_LINES`] lines, or all of it.
    pub(super) fn text(&self, is_verbose: bool) -> String {
        let Some(first) = self.columns.first() else {
            return String::new();
        };
        let mut cells = match self.columns.len() {
            1 => vec![vec![first.answer()]],
            _ => [self.path_lines(), self.section(0)].concat(),
        };
        let has_many = self.columns.len() > 1;
        let largest = self.columns.iter().max_by_key(|column| column.bdp);
        cells.extend(
            largest
                .into_iter()
                .flat_map(|column| column.settings(has_many)),
        );
        let sections = first.sections().iter();
        let is_lossy = sections.clone().any(|section| section.key == "at_loss");
        let mut is_cut = false;
        let skipped = usize::from(!is_verbose || has_many);
        for (index, section) in sections.enumerate().skip(skipped) {
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

    /// Lines of a section, after an empty line.
    fn section(&self, index: usize) -> Vec<Vec<String>> {
        let first = self.columns.first();
        let Some(section) = first.and_then(|column| column.sections().get(index)) else {
            return Vec::new();
        };
        let rows = section.rows.iter().enumerate();
        let mut lines = vec![Vec::new(), vec![section.title.clone()]];
        lines.extend(rows.map(|(number, row)| self.line(index, number, row)));
        lines
    }

    /// Lines that identify the columns.
    fn path_lines(&self) -> Vec<Vec<String>> {
        let line = |what: &str, value: fn(&Path) -> String| {
            let columns = self.columns.iter();
            let values = columns.map(|column| value(&column.expected.path));
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
            let section = column.sections().get(section);
            let row = section.and_then(|section| section.rows.get(number));
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
    let rows = cells.iter().filter(|line| line.len() > 1);
    let aligned = grid(columns, &rows.cloned().collect::<Vec<_>>());
    let mut aligned_lines = aligned.lines();
    let mut text = String::new();
    for line in cells {
        let line = match line.as_slice() {
            [] => "",
            [heading] => heading,
            _ => aligned_lines.next().unwrap_or_default(),
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
    /// Window as a sentence.
    fn answer(&self) -> String {
        let Path { rate, rtt, mss, .. } = self.expected.path;
        format!(
            "{rate} over an RTT of {rtt} requires a window of {}: {:.0} segments of {mss}.",
            human_bytes(self.bdp),
            self.segments
        )
    }

    /// Settings that allow one connection this window. `is_named`: the lines name the window.
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
                human_rate(Buffers::max_rate(self.expected.path.rtt))
            ));
        }
        let rows = lines.into_iter().map(|line| vec![line]);
        std::iter::once(Vec::new()).chain(rows).collect()
    }

    fn json(&self) -> Map<String, Value> {
        let mut map = self.expected.json();
        map.insert("buffers".to_owned(), Buffers::of(self.bdp).json());
        map
    }

    fn sections(&self) -> &[Section] {
        &self.expected.sections
    }
}
