//! Writing of a table row by row.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, SchemaRef, UInt64Type};
use arrow::error::ArrowError;

use crate::column::{Column, with_dictionary};
use crate::sink::{BATCH_ROWS, ParquetFile};
use crate::value::{NameId, Value};
use crate::{CaptureError, ColumnType, TableDef};

/// The destination of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Kept as batches.
    Memory,
    /// Streamed to this Parquet file, which is replaced if it exists.
    Parquet(PathBuf),
}

/// A table being filled. Appending a row allocates nothing (beyond the growth of its buffers).
pub struct TableWriter {
    def: &'static TableDef,
    schema: SchemaRef,
    columns: Vec<Column>,
    names: Vec<String>,
    name_ids: BTreeMap<String, NameId>,
    rows_in_batch: usize,
    rows: u64,
    content: blake3::Hasher,
    target: Target,
}

enum Target {
    Memory(Vec<RecordBatch>),
    File(Box<ParquetFile>),
}

/// A complete table.
#[derive(Debug)]
pub struct FinishedTable {
    /// Its declaration.
    pub def: &'static TableDef,
    /// Its Arrow schema.
    pub schema: SchemaRef,
    /// Number of rows.
    pub rows: u64,
    /// BLAKE3 of schema and rows as hex: the same in memory and on file.
    pub content_hash: String,
    /// The rows, or the file that has them.
    pub data: TableData,
}

/// The rows of a table.
#[derive(Debug)]
pub enum TableData {
    /// Batches of [`BATCH_ROWS`] rows, the last one shorter. All batches share their dictionaries.
    Memory(Vec<RecordBatch>),
    /// A Parquet file.
    File {
        /// The path of the file.
        path: PathBuf,
        /// BLAKE3 of its bytes as hex.
        file_hash: String,
        /// Its size [bytes].
        bytes: u64,
    },
}

impl TableWriter {
    /// Creates an empty table that is written to `sink`.
    ///
    /// # Errors
    /// If the file cannot be created; the error names it.
    pub fn new(def: &'static TableDef, sink: Sink) -> Result<TableWriter, CaptureError> {
        let schema = def.schema();
        let target = match sink {
            Sink::Memory => Target::Memory(Vec::new()),
            Sink::Parquet(path) => Target::File(Box::new(ParquetFile::create(&path, schema.clone())?)),
        };
        let mut content = blake3::Hasher::new();
        content.update(def.declaration().as_bytes());
        Ok(TableWriter {
            def,
            schema,
            columns: def.columns.iter().map(Column::new).collect(),
            names: Vec::new(),
            name_ids: BTreeMap::new(),
            rows_in_batch: 0,
            rows: 0,
            content,
            target,
        })
    }

    /// Returns the id of `name` in this table; call it once per name, not per row.
    pub fn intern(&mut self, name: &str) -> NameId {
        if let Some(id) = self.name_ids.get(name) {
            return *id;
        }
        let id = NameId(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.name_ids.insert(name.to_owned(), id);
        id
    }

    /// Appends a row: one value for each column, in order.
    ///
    /// # Errors If a value does not fit its column (nothing is appended then), or if a batch was
    /// full and could not be written.
    #[inline]
    pub fn row(&mut self, values: &[Value<'_>]) -> Result<(), CaptureError> {
        let fits = values.len() == self.columns.len()
            && self.columns.iter().zip(values).all(|(column, value)| column.accepts(value))
            && values.iter().all(|v| !matches!(v, Value::Name(n) if n.0 as usize >= self.names.len()));
        if !fits {
            return Err(self.misfit(values));
        }
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.append(value);
        }
        self.rows += 1;
        self.rows_in_batch += 1;
        if self.rows_in_batch == BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    #[cold]
    fn misfit(&self, values: &[Value<'_>]) -> CaptureError {
        let (table, columns) = (self.def.name, self.def.columns);
        let what = if values.len() != columns.len() {
            format!("a row of {} values for {} columns", values.len(), columns.len())
        } else {
            let bad = self.columns.iter().zip(values).position(|(column, value)| !column.accepts(value));
            match bad {
                Some(i) => {
                    let null = if columns[i].nullable { " or null" } else { "" };
                    format!(
                        "{:?} for column `{}`, which is {:?}{null}",
                        values[i], columns[i].name, columns[i].kind
                    )
                }
                None => "a name that was interned in another table".to_owned(),
            }
        };
        CaptureError::Row { table, what }
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// The declaration.
    pub fn def(&self) -> &'static TableDef {
        self.def
    }

    fn flush(&mut self) -> Result<(), CaptureError> {
        if self.rows_in_batch == 0 {
            return Ok(());
        }
        self.rows_in_batch = 0;
        let names = &self.names;
        let arrays: Vec<ArrayRef> = self.columns.iter_mut().map(|c| c.finish(names)).collect();
        for (array, column) in arrays.iter().zip(self.def.columns) {
            hash_array(&mut self.content, array, column.kind);
        }
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(|e| self.broken(&e))?;
        match &mut self.target {
            Target::Memory(batches) => {
                batches.push(batch);
                Ok(())
            }
            Target::File(file) => file.write(&batch),
        }
    }

    fn broken(&self, error: &ArrowError) -> CaptureError {
        CaptureError::Row { table: self.def.name, what: error.to_string() }
    }

    /// Writes the rest and closes the table.
    ///
    /// # Errors
    /// If the file cannot be written to its end.
    pub fn finish(mut self) -> Result<FinishedTable, CaptureError> {
        self.flush()?;
        let content_hash = self.content.finalize().to_hex().to_string();
        let data = match std::mem::replace(&mut self.target, Target::Memory(Vec::new())) {
            Target::Memory(batches) => TableData::Memory(self.share_dictionaries(batches)?),
            Target::File(file) => {
                let (path, file_hash, bytes) = file.finish()?;
                TableData::File { path, file_hash, bytes }
            }
        };
        Ok(FinishedTable { def: self.def, schema: self.schema, rows: self.rows, content_hash, data })
    }

    /// Shares the last dictionary among all batches: names are only appended to a dictionary, so
    /// the last one has the keys of every batch.
    fn share_dictionaries(&mut self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>, CaptureError> {
        if batches.len() <= 1 {
            return Ok(batches); // the dictionaries of the only batch are the last ones
        }
        let names = &self.names;
        let dictionaries: Vec<Option<ArrayRef>> =
            self.columns.iter_mut().map(|c| c.dictionary(names)).collect();
        batches
            .into_iter()
            .map(|batch| {
                let arrays =
                    batch.columns().iter().zip(&dictionaries).map(|(array, dictionary)| match dictionary {
                        Some(values) => {
                            with_dictionary(array.as_dictionary::<Int32Type>().keys(), values.clone())
                        }
                        None => array.clone(),
                    });
                RecordBatch::try_new(self.schema.clone(), arrays.collect()).map_err(|e| self.broken(&e))
            })
            .collect()
    }
}

/// Hashes one column of one batch: for each row a byte that is 1 if there is a value, then the
/// value.
fn hash_array(hash: &mut blake3::Hasher, array: &ArrayRef, kind: ColumnType) {
    let mut bytes = Vec::with_capacity(array.len() * 9);
    let mut put = |value: Option<[u8; 8]>| match value {
        Some(v) => {
            bytes.push(1);
            bytes.extend_from_slice(&v);
        }
        None => bytes.push(0),
    };
    match kind {
        ColumnType::F64 => {
            array
                .as_primitive::<Float64Type>()
                .iter()
                .for_each(|v| put(v.map(|v| v.to_bits().to_le_bytes())));
        }
        ColumnType::I64 => {
            array.as_primitive::<Int64Type>().iter().for_each(|v| put(v.map(i64::to_le_bytes)))
        }
        ColumnType::U64 => {
            array.as_primitive::<UInt64Type>().iter().for_each(|v| put(v.map(u64::to_le_bytes)))
        }
        ColumnType::Bool => {
            array.as_boolean().iter().for_each(|v| put(v.map(|v| u64::from(v).to_le_bytes())))
        }
        ColumnType::Text => {
            let texts = array.as_string::<i32>();
            (0..texts.len()).for_each(|i| put_text(&mut bytes, texts.is_valid(i).then(|| texts.value(i))));
        }
        ColumnType::Name => {
            let dictionary = array.as_dictionary::<Int32Type>();
            let names = dictionary.values().as_string::<i32>();
            dictionary.keys().iter().for_each(|k| put_text(&mut bytes, k.map(|k| names.value(k as usize))));
        }
    }
    hash.update(&bytes);
}

fn put_text(bytes: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => {
            bytes.push(1);
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        None => bytes.push(0),
    }
}

#[cfg(test)]
mod tests;
