//! Reading of a table from its Parquet file.

use std::fs::File;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::sink::BATCH_ROWS;
use crate::{CaptureError, error::reason};

/// A table that was read.
#[derive(Clone, Debug)]
pub struct ReadTable {
    /// Its schema, with units and descriptions in the metadata.
    pub schema: SchemaRef,
    /// Its rows.
    pub batches: Vec<RecordBatch>,
}

impl ReadTable {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// Reads the table in the Parquet file at `path`.
///
/// # Errors
/// If the file does not exist, or is not readable, truncated or no Parquet file; the error names
/// it.
pub fn read_parquet(path: &Path) -> Result<ReadTable, CaptureError> {
    let file = File::open(path).map_err(|e| CaptureError::read(path, e))?;
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| CaptureError::read(path, reason(&e)))?;
    let schema = builder.schema().clone();
    let reader =
        builder.with_batch_size(BATCH_ROWS).build().map_err(|e| CaptureError::read(path, reason(&e)))?;
    let batches = reader.collect::<Result<Vec<_>, _>>().map_err(|e| CaptureError::read(path, e))?;
    Ok(ReadTable { schema, batches })
}
