//! Tables as Parquet files: units and meanings are metadata of the fields.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder, RecordBatch, StringBuilder, UInt64Builder};
use arrow::datatypes::{DataType, Field as ArrowField, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::rows::{Kind, Value};
use crate::tables::{Field, Sink};

/// Rows of a batch.
const BATCH: usize = 8192;

struct Table {
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
    kinds: Vec<Kind>,
    rows: Vec<Vec<Value>>,
}

/// Begins a table.
pub(crate) fn open(path: &Path, fields: &[Field]) -> io::Result<Box<dyn Sink>> {
    let columns = fields.iter().map(|field| {
        let kind = match field.kind {
            Kind::Text => DataType::Utf8,
            Kind::Whole => DataType::UInt64,
            Kind::Number => DataType::Float64,
        };
        let metadata = [("unit", field.unit), ("meaning", field.meaning)];
        let metadata = metadata.map(|(key, text)| (key.to_owned(), text.to_owned()));
        ArrowField::new(&*field.name, kind, true).with_metadata(HashMap::from(metadata))
    });
    let schema = Arc::new(Schema::new(columns.collect::<Vec<_>>()));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = File::create(path)?;
    let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties.build()));
    Ok(Box::new(Table {
        writer: writer.map_err(io::Error::other)?,
        schema,
        kinds: fields.iter().map(|field| field.kind).collect(),
        rows: Vec::new(),
    }))
}

impl Table {
    fn flush(&mut self) -> io::Result<()> {
        let columns = self.kinds.iter().enumerate().map(|(at, kind)| {
            let values = self.rows.iter().map(|row| &row[at]);
            column(*kind, values)
        });
        let columns: Vec<ArrayRef> = columns.collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        let batch = batch.map_err(io::Error::other)?;
        self.rows.clear();
        self.writer.write(&batch).map_err(io::Error::other)
    }
}

fn column<'a>(kind: Kind, values: impl Iterator<Item = &'a Value>) -> ArrayRef {
    match kind {
        Kind::Text => {
            let mut builder = StringBuilder::new();
            values.for_each(|value| match value {
                Value::Text(text) => builder.append_value(text),
                _ => builder.append_null(),
            });
            Arc::new(builder.finish())
        }
        Kind::Whole => {
            let mut builder = UInt64Builder::new();
            values.for_each(|value| match value {
                Value::Whole(number) => builder.append_value(*number),
                _ => builder.append_null(),
            });
            Arc::new(builder.finish())
        }
        Kind::Number => {
            let mut builder = Float64Builder::new();
            values.for_each(|value| match value {
                Value::Number(number) => builder.append_value(*number),
                _ => builder.append_null(),
            });
            Arc::new(builder.finish())
        }
    }
}

impl Sink for Table {
    fn row(&mut self, values: Vec<Value>) -> io::Result<()> {
        self.rows.push(values);
        match self.rows.len() >= BATCH {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn end(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        self.writer.close().map(|_| ()).map_err(io::Error::other)
    }
}
