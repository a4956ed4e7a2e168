//! Tables as Parquet files.

use std::fs::File;
use std::io;
use std::path::Path;

use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::sweep::arrow::BatchBuilder;
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

impl Sink for Table {
    fn row(&mut self, values: Vec<Value>) -> io::Result<()> {
        self.rows.push(values);
        let mut full = self.rows.take().into_iter();
        let written = full.try_for_each(|batch| self.writer.write(&batch));
        written.map_err(io::Error::other)
    }

    fn end(self: Box<Self>) -> io::Result<()> {
        let Self { mut writer, rows } = *self;
        let mut rest = rows.finish().into_iter();
        let written = rest.try_for_each(|batch| writer.write(&batch));
        let closed = written.and_then(|()| writer.close());
        closed.map(|_| ()).map_err(io::Error::other)
    }
}
