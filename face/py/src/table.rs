//! Arrow tables through the PyCapsule interface: pandas, polars, pyarrow and DuckDB read them
//! without a copy, and none of them is required.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::error::failed;
use crate::html;

/// A table of results, in Arrow record batches.
#[pyclass(frozen, module = "gigatcp")]
pub struct Table {
    schema: Arc<Schema>,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// A table of batches with one schema.
    pub(crate) const fn new(schema: Arc<Schema>, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }
}

#[pymethods]
impl Table {
    /// Names of the columns; each ends with its unit.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// Unit and meaning of each column, by name.
    #[getter]
    fn meanings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for field in self.schema.fields() {
            let of = |key| field.metadata().get(key).map_or("", String::as_str);
            all.set_item(field.name(), (of("unit"), of("meaning")))?;
        }
        Ok(all)
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        let columns = self.columns().join(", ");
        format!("<gigatcp.Table: {} rows of {columns}>", self.__len__())
    }

    /// The first rows, for a notebook.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        /// Rows that are shown.
        const SHOWN: usize = 10;
        let mut left = SHOWN;
        let first = self.batches.iter().map_while(|batch| {
            let count = left.min(batch.num_rows());
            left -= count;
            (count > 0).then(|| batch.slice(0, count))
        });
        let first = Self::new(Arc::clone(&self.schema), first.collect());
        let names = self.columns();
        let columns = names
            .iter()
            .map(|name| first.__getitem__(py, name))
            .collect::<PyResult<Vec<_>>>()?;
        let rows = (0..first.__len__())
            .map(|row| {
                let cells = columns
                    .iter()
                    .map(|column| Ok(column.get_item(row)?.to_string()));
                cells.collect()
            })
            .collect::<PyResult<Vec<Vec<String>>>>()?;
        let table = html::table(names.iter().map(String::as_str), rows);
        let count = html::paragraph(&format!("{} rows, {} columns", self.__len__(), names.len()));
        Ok(table + &count)
    }

    /// A column as a list, with None for a missing value.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let index = self.schema.index_of(name).map_err(|_| {
            let hint = format!("one of {}", self.columns().join(", "));
            failed(format!("there is no column `{name}`"), "", &hint)
        })?;
        let list = PyList::empty(py);
        for batch in &self.batches {
            append(&list, batch.column(index).as_ref())?;
        }
        Ok(list)
    }

    /// Columns as lists, by name.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for name in self.columns() {
            all.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        Ok(all)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| failed(error, "", ""))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Batches as a stream. A requested schema is ignored, which the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Adds the values of an array to a list.
fn append(list: &Bound<'_, PyList>, array: &dyn Array) -> PyResult<()> {
    macro_rules! all {
        ($values:expr) => {
            $values.iter().try_for_each(|value| list.append(value))
        };
    }
    match array.data_type() {
        DataType::Utf8 => all!(array.as_string::<i32>()),
        DataType::UInt64 => all!(array.as_primitive::<UInt64Type>()),
        DataType::Int64 => all!(array.as_primitive::<Int64Type>()),
        DataType::Float64 => all!(array.as_primitive::<Float64Type>()),
        other => Err(failed(format!("no column is of type {other}"), "", "")),
    }
}
