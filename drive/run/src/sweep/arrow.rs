//! Converts tables to Arrow record batches: units and meanings are metadata of the fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field as ArrowField, Schema};

use crate::sweep::results::Results;
use crate::sweep::rows::{Kind, Value};
use crate::sweep::store::StoreError;
use crate::sweep::tables::{Field, Table};

/// Maximum rows of a batch.
const BATCH: usize = 8192;

/// Schema of a table with these columns.
pub fn schema(fields: &[Field]) -> Arc<Schema> {
    let columns = fields.iter().map(|field| {
        let kind = match field.kind {
            Kind::Text => DataType::Utf8,
            Kind::Whole => DataType::UInt64,
            Kind::Signed => DataType::Int64,
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
    results.rows(table, |values| {
        rows.push(values);
        Ok(())
    })?;
    Ok(rows.finish())
}

/// Builder of the batches of a table.
#[derive(Debug)]
pub struct BatchBuilder {
    schema: Arc<Schema>,
    kinds: Vec<Kind>,
    rows: Vec<Vec<Value>>,
    full: Vec<RecordBatch>,
}

impl BatchBuilder {
    /// A table without rows, with these columns.
    pub fn new(fields: &[Field]) -> Self {
        Self {
            schema: schema(fields),
            kinds: fields.iter().map(|field| field.kind).collect(),
            rows: Vec::new(),
            full: Vec::new(),
        }
    }

    /// Schema of its batches.
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema)
    }

    /// Adds a row with a value for each column. A value of another kind counts as missing.
    ///
    /// # Panics
    /// If a row has fewer values than there are columns.
    pub fn push(&mut self, values: Vec<Value>) {
        self.rows.push(values);
        if self.rows.len() == BATCH {
            self.seal();
        }
    }

    /// Takes the full batches.
    pub fn take(&mut self) -> Vec<RecordBatch> {
        std::mem::take(&mut self.full)
    }

    /// The batches that were not taken. There is at least one, so that the columns are known.
    ///
    /// # Panics
    /// If a row has fewer values than there are columns.
    pub fn finish(mut self) -> Vec<RecordBatch> {
        if !self.rows.is_empty() || self.full.is_empty() {
            self.seal();
        }
        self.full
    }

    fn seal(&mut self) {
        let kinds = self.kinds.iter().enumerate();
        let columns = kinds.map(|(place, kind)| column(*kind, place, &self.rows));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns.collect(), &options);
        self.full
            .push(batch.expect("columns are those of the schema"));
        self.rows.clear();
    }
}

fn column(kind: Kind, place: usize, rows: &[Vec<Value>]) -> ArrayRef {
    macro_rules! values {
        ($array:ident, $kind:ident) => {
            Arc::new($array::from_iter(rows.iter().map(|row| {
                match &row[place] {
                    Value::$kind(value) => Some(value.clone()),
                    _ => None,
                }
            })))
        };
    }
    match kind {
        Kind::Text => values!(StringArray, Text),
        Kind::Whole => values!(UInt64Array, Whole),
        Kind::Signed => values!(Int64Array, Signed),
        Kind::Number => values!(Float64Array, Number),
    }
}
