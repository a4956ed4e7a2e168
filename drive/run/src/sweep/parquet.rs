//! Tables as Parquet files.

use std::fs::File;
use std::io;
use std::path::Path;

use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::sweep::arrow::{BATCH, BatchBuilder};
use crate::sweep::rows::Value;
use crate::sweep::tables::{Field, Sink};

struct Table {
    writer: ArrowWriter<File>,
    rows: BatchBuilder,
}

/// Creates a table.
pub(crate) fn open(path: &Path, fields: &[Field]) -> io::Result<Box<dyn Sink>> {
    let rows = BatchBuilder::new(fields);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = File::create(path)?;
    let writer = ArrowWriter::try_new(file, rows.schema(), Some(properties.build()));
    Ok(Box::new(Table {
        writer: writer.map_err(io::Error::other)?,
        rows,
    }))
}

impl Table {
    fn flush(&mut self) -> io::Result<()> {
        self.writer
            .write(&self.rows.take())
            .map_err(io::Error::other)
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
