//! A Parquet file that is hashed as it is written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::CaptureError;
use crate::error::reason;

/// Rows of a batch; a table is flushed whenever it has this many rows in memory.
pub const BATCH_ROWS: usize = 65_536;

/// Rows of a row group: what the encoder holds in memory at most.
const GROUP_ROWS: usize = 4 * BATCH_ROWS;
/// Zstandard level: its default, near its best ratio per time.
const LEVEL: i32 = 3;

/// An open Parquet file. Its bytes depend on the rows alone: the footer has no time, host or
/// version of a library.
pub(crate) struct ParquetFile {
    path: PathBuf,
    writer: ArrowWriter<Hashing<BufWriter<File>>>,
}

impl ParquetFile {
    pub fn create(path: &Path, schema: SchemaRef) -> Result<ParquetFile, CaptureError> {
        let file = File::create(path).map_err(|e| CaptureError::write(path, e))?;
        let out = Hashing { inner: BufWriter::new(file), hasher: blake3::Hasher::new(), bytes: 0 };
        let level = ZstdLevel::try_new(LEVEL).map_err(|e| CaptureError::write(path, reason(&e)))?;
        let properties = WriterProperties::builder()
            .set_created_by("lasthop".to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let writer = ArrowWriter::try_new(out, schema, Some(properties))
            .map_err(|e| CaptureError::write(path, reason(&e)))?;
        Ok(ParquetFile { path: path.to_owned(), writer })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), CaptureError> {
        self.writer.write(batch).map_err(|e| CaptureError::write(&self.path, reason(&e)))
    }

    /// Writes the footer. Returns the path, the BLAKE3 of the file's bytes as hex, and their
    /// number.
    pub fn finish(self) -> Result<(PathBuf, String, u64), CaptureError> {
        let ParquetFile { path, writer } = self;
        let mut out = writer.into_inner().map_err(|e| CaptureError::write(&path, reason(&e)))?;
        out.flush().map_err(|e| CaptureError::write(&path, e))?;
        let (hash, bytes) = (out.hasher.finalize().to_hex().to_string(), out.bytes);
        Ok((path, hash, bytes))
    }
}

/// Passes bytes to the inner writer and hashes them.
struct Hashing<W> {
    inner: W,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(buf)?;
        self.hasher.update(&buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
