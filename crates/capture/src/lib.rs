//! What a run leaves behind: tables with units and descriptions, in memory as Arrow batches or
//! streamed to Parquet.
//!
//! A table is declared once ([`TableDef`]), filled row by row ([`TableWriter::row`]) and finished
//! ([`TableWriter::finish`]). Memory is flat when it goes to a file, and identical rows give
//! identical bytes.

mod column;
mod def;
mod error;
mod read;
mod sink;
mod writer;

pub use def::{ColumnDef, ColumnType, TableDef};
pub use error::CaptureError;
pub use read::{ReadTable, read_parquet};
pub use writer::{BATCH_ROWS, FinishedTable, NameId, Sink, TableData, TableWriter, Value};
