//! Writes tables of all rows: compressed CSV, or Parquet with that feature.
//!
//! `cells` has a row for each repetition of a cell; `flows` and `hops` have one for each flow and
//! path element of those; `intervals` and `samples` exist if they were kept. Every table begins
//! with the columns of [`KEYS`] and one for each factor. `columns.json` has name, unit and meaning
//! of every column; a Parquet file has them as metadata of its fields.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::sweep::results::{Repetition, Results};
use crate::sweep::rows::{CELL, CellRow, Column, Detail, FLOW, HOP, INTERVAL, Kind, SAMPLE, Value};
use crate::sweep::store::{StoreError, io_error};

/// First columns of every table.
pub const KEYS: [Field; 4] = [
    field("cell", "", "number of the cell", Kind::Whole),
    field("repetition", "", "number of the repetition", Kind::Whole),
    field("batch", "", "number of the batch", Kind::Whole),
    field("seed", "", "seed of the repetition", Kind::Whole),
];

/// Whether tables are Parquet files.
pub const IS_PARQUET: bool = cfg!(feature = "parquet");

/// Name, unit, meaning and kind of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: std::borrow::Cow<'static, str>,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Kind of its values.
    pub kind: Kind,
}

const fn field(name: &'static str, unit: &'static str, meaning: &'static str, kind: Kind) -> Field {
    Field {
        name: std::borrow::Cow::Borrowed(name),
        unit,
        meaning,
        kind,
    }
}

/// A table being written.
pub(crate) trait Sink {
    /// Adds a row with a value for each column.
    fn row(&mut self, values: Vec<Value>) -> io::Result<()>;
    /// Ends the table.
    fn end(self: Box<Self>) -> io::Result<()>;
}

/// A table of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say what a row is")]
pub enum Table {
    Cells,
    Flows,
    Hops,
    Intervals,
    Samples,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 5] = [
        Self::Cells,
        Self::Flows,
        Self::Hops,
        Self::Intervals,
        Self::Samples,
    ];

    /// Its name, which is that of its file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Flows => "flows",
            Self::Hops => "hops",
            Self::Intervals => "intervals",
            Self::Samples => "samples",
        }
    }

    /// Whether its rows are kept.
    const fn is_in(self, detail: Detail) -> bool {
        match self {
            Self::Intervals => detail.intervals,
            Self::Samples => detail.samples,
            _ => true,
        }
    }

    /// Its columns, after those that identify the repetition.
    pub fn columns(self) -> Vec<Field> {
        match self {
            Self::Cells => fields(CELL),
            Self::Flows => fields(FLOW),
            Self::Hops => fields(HOP),
            Self::Intervals => fields(INTERVAL),
            Self::Samples => fields(SAMPLE),
        }
    }

    /// Values of these columns in the rows of a repetition.
    pub fn rows(self, row: &CellRow) -> Vec<Vec<Value>> {
        let flows = row.flows.iter();
        match self {
            Self::Cells => vec![values(CELL, row)],
            Self::Flows => flows.map(|flow| values(FLOW, flow)).collect(),
            Self::Hops => row.hops.iter().map(|hop| values(HOP, hop)).collect(),
            Self::Intervals => flows
                .flat_map(|flow| flow.intervals.iter().map(|row| (flow.name.clone(), *row)))
                .map(|row| values(INTERVAL, &row))
                .collect(),
            Self::Samples => flows
                .flat_map(|flow| flow.samples.iter().map(|row| (flow.name.clone(), *row)))
                .map(|row| values(SAMPLE, &row))
                .collect(),
        }
    }
}

fn fields<R>(columns: &[Column<R>]) -> Vec<Field> {
    let fields = columns.iter().map(|column| Field {
        name: column.name.into(),
        unit: column.unit,
        meaning: column.meaning,
        kind: column.kind,
    });
    fields.collect()
}

fn values<R>(columns: &[Column<R>], row: &R) -> Vec<Value> {
    columns.iter().map(|column| (column.value)(row)).collect()
}

impl Results<'_> {
    /// Columns of a table: those that identify the repetition, then the table's own.
    pub fn columns(&self, table: Table) -> Vec<Field> {
        let factors = self.space.factors().iter().map(|factor| Field {
            name: factor.name.clone().into(),
            unit: "",
            meaning: "level of the factor; empty where it does not vary",
            kind: Kind::Text,
        });
        let drawn = self.space.draws().map(|key| Field {
            name: key.to_owned().into(),
            unit: "",
            meaning: "value that the batch drew",
            kind: Kind::Text,
        });
        let keys = KEYS.into_iter().chain(factors).chain(drawn);
        keys.chain(table.columns()).collect()
    }

    /// Visits the rows of a table in the order of cells and repetitions. Returns how many
    /// repetitions have no row.
    ///
    /// # Errors
    /// If a row cannot be read; also the errors of `visit`.
    pub fn rows(
        &self,
        table: Table,
        mut visit: impl FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        self.each(|repetition, row| {
            let mut rows = table.rows(row).into_iter();
            rows.try_for_each(|own| {
                let mut values = keys(self, repetition);
                values.extend(own);
                visit(values)
            })
        })
    }
}

/// Writes all tables of a question into a directory. Returns how many repetitions have no row.
///
/// # Errors
/// If a row cannot be read or a table cannot be written; earlier tables then remain.
pub fn write(results: &Results<'_>, directory: &Path) -> Result<u64, StoreError> {
    fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
    let mut writer = Tables {
        results,
        directory,
        described: serde_json::Map::new(),
    };
    // The same repetitions are missing in all tables.
    let mut missing = 0;
    for table in Table::ALL {
        if table.is_in(results.detail) {
            missing = writer.table(table)?;
        }
    }
    writer.describe()?;
    Ok(missing)
}

struct Tables<'a> {
    results: &'a Results<'a>,
    directory: &'a Path,
    described: serde_json::Map<String, serde_json::Value>,
}

impl Tables<'_> {
    /// Writes a table.
    fn table(&mut self, table: Table) -> Result<u64, StoreError> {
        let fields = self.results.columns(table);
        let path = self.directory.join(file_name(table.name()));
        let mut sink: Option<Box<dyn Sink>> = None;
        let building = building(&path);
        let failed = |error| io_error("write", &building)(error);
        let missing = self.results.rows(table, |values| {
            // A table without rows has no file.
            let sink = match &mut sink {
                Some(sink) => sink,
                none => none.insert(open(&building, &fields).map_err(failed)?),
            };
            sink.row(values).map_err(failed)
        })?;
        if let Some(sink) = sink {
            sink.end().map_err(failed)?;
            fs::rename(&building, &path).map_err(io_error("write", &path))?;
            let described = described(&fields);
            self.described.insert(table.name().to_owned(), described);
        }
        Ok(missing)
    }

    fn describe(&self) -> Result<(), StoreError> {
        let text = serde_json::to_string_pretty(&self.described).unwrap_or_default();
        replace(&self.directory.join("columns.json"), |file| {
            file.write_all(text.as_bytes())
        })
    }
}

fn described(fields: &[Field]) -> serde_json::Value {
    let columns = fields.iter().map(|field| {
        serde_json::json!({ "name": field.name, "unit": field.unit, "meaning": field.meaning })
    });
    columns.collect::<Vec<_>>().into()
}

/// Values of the columns that identify a row.
fn keys(results: &Results<'_>, one: &Repetition<'_>) -> Vec<Value> {
    let numbers = [
        one.cell.number,
        u64::from(one.number),
        u64::from(one.batch),
        one.seed,
    ]
    .into_iter()
    .map(Value::Whole);
    let factors = results.space.factors().iter().zip(&one.cell.levels);
    let labels = factors.map(|(factor, level)| match level {
        Some(level) => Value::Text(factor.levels[*level as usize].label.clone()),
        None => Value::Missing,
    });
    let drawn = results
        .space
        .drawn(one.batch)
        .map(|(_, value)| Value::Text(value));
    numbers.chain(labels).chain(drawn).collect()
}

fn file_name(table: &str) -> String {
    match IS_PARQUET {
        true => format!("{table}.parquet"),
        false => format!("{table}.csv.gz"),
    }
}

#[cfg(feature = "parquet")]
fn open(path: &Path, fields: &[Field]) -> io::Result<Box<dyn Sink>> {
    crate::sweep::parquet::open(path, fields)
}

#[cfg(not(feature = "parquet"))]
fn open(path: &Path, fields: &[Field]) -> io::Result<Box<dyn Sink>> {
    let file = io::BufWriter::with_capacity(1 << 16, File::create(path)?);
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let names: Vec<String> = fields.iter().map(|field| quoted(&field.name)).collect();
    writeln!(out, "{}", names.join(","))?;
    Ok(Box::new(Csv(out)))
}

#[cfg(not(feature = "parquet"))]
struct Csv(flate2::write::GzEncoder<io::BufWriter<File>>);

#[cfg(not(feature = "parquet"))]
impl Sink for Csv {
    fn row(&mut self, values: Vec<Value>) -> io::Result<()> {
        for (at, value) in values.into_iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            match value {
                Value::Missing => write!(self.0, "{separator}")?,
                Value::Text(text) => write!(self.0, "{separator}{}", quoted(&text))?,
                Value::Whole(number) => write!(self.0, "{separator}{number}")?,
                Value::Signed(number) => write!(self.0, "{separator}{number}")?,
                Value::Number(number) => write!(self.0, "{separator}{number}")?,
            }
        }
        writeln!(self.0)
    }

    fn end(self: Box<Self>) -> io::Result<()> {
        let file = self.0.finish()?;
        file.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    }
}

/// Quotes a text as a field of CSV (RFC 4180).
#[cfg(not(feature = "parquet"))]
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Temporary path of a file being written.
fn building(path: &Path) -> std::path::PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// Replaces a file atomically.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), StoreError> {
    let building = building(path);
    File::create(&building)
        .and_then(|mut file| {
            write(&mut file)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&building, path))
        .map_err(|error| {
            let _ = fs::remove_file(&building);
            io_error("write", path)(error)
        })
}
