//! Converts tables to Arrow record batches: units and meanings are metadata of the fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field as ArrowField, Schema};

use crate::sweep::results::Results;
use crate::sweep::rows::{Kind, Value};
use crate::sweep::store::StoreError;
use crate::sweep::tables::{Field, Table};

/// Maximum rows of a batch.
pub const BATCH: usize = 8192;

/// Schema of a table with these columns.
pub fn schema(fields: &[Field]) -> Arc<Schema> {
    let columns = fields.iter().map(|field| {
        let kind = match field.kind {
            Kind::Text => DataType::Utf8,
            Kind::Whole => DataType::UInt64,
            Kind::Number => DataType::Float64,
        };
        let metadata = [("unit", field.unit), ("meaning", field.meaning)]
            .map(|(key, text)| (key.to_owned(), text.to_owned()));
        ArrowField::new(&*field.name, kind, true).with_metadata(HashMap::from(metadata))
    });
    Arc::new(Schema::new(columns.collect::<Vec<_>>()))
}

/// A table of a sweep as batches. There is at least one, so that the columns are known.
///
/// # Errors
/// If a row cannot be read.
pub fn batches(results: &Results<'_>, table: Table) -> Result<Vec<RecordBatch>, StoreError> {
    let mut rows = BatchBuilder::new(&results.columns(table));
    let mut all = Vec::new();
    results.rows(table, |values| {
        rows.push(values);
        if rows.len() >= BATCH {
            all.push(rows.take());
        }
        Ok(())
    })?;
    if !rows.is_empty() || all.is_empty() {
        all.push(rows.take());
    }
    Ok(all)
}

/// Builder of a batch, column by column.
#[derive(Debug)]
pub struct BatchBuilder {
    schema: Arc<Schema>,
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Debug)]
enum Column {
    Text(StringBuilder),
    Whole(UInt64Builder),
    Number(Float64Builder),
}

impl BatchBuilder {
    /// A batch without rows, of a table with these columns.
    pub fn new(fields: &[Field]) -> Self {
        let columns = fields.iter().map(|field| match field.kind {
            Kind::Text => Column::Text(StringBuilder::new()),
            Kind::Whole => Column::Whole(UInt64Builder::new()),
            Kind::Number => Column::Number(Float64Builder::new()),
        });
        Self {
            schema: schema(fields),
            columns: columns.collect(),
            rows: 0,
        }
    }

    /// Schema of its batches.
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema)
    }

    /// Number of rows.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a row with a value for each column. A value of another kind counts as missing.
    pub fn push(&mut self, values: Vec<Value>) {
        self.rows += 1;
        for (column, value) in self.columns.iter_mut().zip(values) {
            match (column, value) {
                (Column::Text(all), Value::Text(text)) => all.append_value(text),
                (Column::Whole(all), Value::Whole(number)) => all.append_value(number),
                (Column::Number(all), Value::Number(number)) => all.append_value(number),
                (Column::Text(all), _) => all.append_null(),
                (Column::Whole(all), _) => all.append_null(),
                (Column::Number(all), _) => all.append_null(),
            }
        }
    }

    /// Returns the rows as a batch and begins another.
    ///
    /// # Panics
    /// If a row had fewer values than there are columns.
    pub fn take(&mut self) -> RecordBatch {
        let finish = |column: &mut Column| -> ArrayRef {
            match column {
                Column::Text(all) => Arc::new(all.finish()),
                Column::Whole(all) => Arc::new(all.finish()),
                Column::Number(all) => Arc::new(all.finish()),
            }
        };
        let columns = self.columns.iter_mut().map(finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        let batch = RecordBatch::try_new_with_options(self.schema(), columns, &options);
        batch.expect("every row has a value for each column")
    }
}
