//! The figures as a table, one column per path, and as JSON.

use gigatcp_report::theory::{Expected, Questions, Row};
use gigatcp_theory::{BudgetError, Path};
use serde::Serialize;
use serde_json::{Map, Value};

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
    columns: Vec<Expected>,
}

impl TheoryView {
    /// What is expected of `paths`, and the answers to `questions` for each.
    pub(super) fn of(paths: &[Path], questions: &Questions<'_>) -> Result<Self, Failure> {
        let columns = paths.iter().map(|path| Expected::of(path, questions));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        Ok(Self {
            schema: SCHEMA,
            paths: columns.iter().map(Expected::json).collect(),
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
