//! A table whose rows can be appended without handling errors one by one.

use lasthop_capture::{CaptureError, FinishedTable, Record, Row, Sink, TableWriter};

/// A table of rows `R` that is being written. The first error is kept and reported once; later rows
/// are dropped.
pub struct Table<R: Record> {
    /// Boxed: the tables of a run are moved with it, and a writer has 2 kB.
    writer: Box<TableWriter>,
    error: Option<CaptureError>,
    rows: std::marker::PhantomData<R>,
}

impl<R: Record> Table<R> {
    /// Creates an empty table that is written to `sink`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn new(sink: Sink) -> Result<Table<R>, CaptureError> {
        let writer = Box::new(TableWriter::new(R::TABLE, sink)?);
        Ok(Table { writer, error: None, rows: std::marker::PhantomData })
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: &R::Row<'_>) {
        if let Err(e) = row.append(&mut self.writer) {
            debug_assert!(!matches!(e, CaptureError::Row { .. }), "{e}");
            self.error.get_or_insert(e);
        }
    }

    /// The first error, if there was one.
    pub fn take_error(&mut self) -> Option<CaptureError> {
        self.error.take()
    }

    /// Ends the table.
    ///
    /// # Errors
    /// The first error of any write.
    pub fn finish(self) -> Result<FinishedTable, CaptureError> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }
}
