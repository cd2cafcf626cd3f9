//! The output of a run: tables with units and descriptions, in memory as Arrow batches or streamed
//! to Parquet.
//!
//! A table is declared once, as the struct of its rows ([`table!`]), filled row by row
//! ([`Row::append`]) and finished ([`TableWriter::finish`]). Memory is constant when a table is
//! written to a file, and identical rows give identical bytes.
//!
//! [`pcapng`] has packet captures.

mod column;
mod def;
mod error;
pub mod pcapng;
mod read;
mod row;
mod sink;
mod value;
mod writer;

pub use def::{ColumnDef, ColumnType, Rows, TableDef};
pub use error::CaptureError;
pub use read::{ReadTable, read_parquet};
pub use row::{Cell, Record, Row, Text};
pub use sink::BATCH_ROWS;
pub use value::{NameId, Value};
pub use writer::{FinishedTable, Sink, TableData, TableWriter};
