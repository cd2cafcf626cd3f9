//! Errors of tables and captures.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use thiserror::Error;

/// A table that could not be filled, written or read, or a capture that could not be written.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The file could not be created or written: disk full, no permission, no such folder.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system or the encoder.
        reason: String,
    },
    /// The file could not be read, or is no Parquet.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system or the decoder.
        reason: String,
    },
    /// A row that does not fit the declaration of its table: a mistake in the program.
    #[error("table `{table}`: {what}")]
    Row {
        /// The table.
        table: &'static str,
        /// The value that does not fit.
        what: String,
    },
    /// A file of a packet capture could not be created or written to its end.
    #[error("cannot write the capture {}: {reason}; {remedy}", path.display())]
    Pcapng {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: String,
        /// The remedy.
        remedy: String,
    },
    /// A frame that is not in order: a mistake in the program.
    #[error(
        "cannot write the capture {}: a frame of interface {interface} at {time_ns} ns: {what}; this is a \
         mistake of the program: report it with the scenario, and run without the capture",
        path.display()
    )]
    Frame {
        /// The file.
        path: PathBuf,
        /// The number of the interface.
        interface: u32,
        /// The time of the frame [ns since 1970-01-01 00:00 UTC].
        time_ns: u64,
        /// The mistake in the frame.
        what: String,
    },
}

impl CaptureError {
    pub(crate) fn write(path: &Path, reason: impl ToString) -> CaptureError {
        CaptureError::Write { path: path.to_owned(), reason: reason.to_string() }
    }
    pub(crate) fn read(path: &Path, reason: impl ToString) -> CaptureError {
        CaptureError::Read { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// The message of the system, where an encoder's error contains it.
pub(crate) fn reason(error: &ParquetError) -> String {
    match error {
        ParquetError::External(inner) => match inner.downcast_ref::<io::Error>() {
            Some(io) => io.to_string(),
            None => inner.to_string(),
        },
        other => other.to_string(),
    }
}
