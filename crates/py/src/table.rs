//! Tables for Python.

use pyo3::prelude::*;
use pyo3_arrow::PyTable;

/// `table` as `pyarrow.Table`, without copying.
///
/// `pyarrow.table` first tests whether its argument is a `pandas.DataFrame`, and imports pandas for
/// that where it is installed; the stream of a table avoids this test.
pub fn pyarrow_table(py: Python<'_>, table: PyTable) -> PyResult<Bound<'_, PyAny>> {
    py.import("pyarrow")?
        .getattr("RecordBatchReader")?
        .call_method1("from_stream", (table,))?
        .call_method0("read_all")
}
