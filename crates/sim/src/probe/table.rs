//! A table in writing, filled cell by cell in the order of its columns.

use lasthop_capture::{CaptureError, FinishedTable, Sink, TableDef, TableWriter, Value};

/// A table in writing. The first error is kept and told once; rows after it are dropped.
pub struct Table {
    writer: TableWriter,
    cells: Vec<Value<'static>>,
    error: Option<CaptureError>,
}

impl Table {
    /// An empty table that goes to `sink`.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn new(def: &'static TableDef, sink: Sink) -> Result<Table, CaptureError> {
        let cells = Vec::with_capacity(def.columns.len());
        Ok(Table { writer: TableWriter::new(def, sink)?, cells, error: None })
    }

    /// Begins a row: give every column its value, in order, then [`Row::end`].
    #[inline]
    pub fn row(&mut self) -> Row<'_> {
        self.cells.clear();
        Row(self)
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

/// A row in the making.
pub struct Row<'a>(&'a mut Table);

macro_rules! cells {
    ($($(#[$doc:meta])* $name:ident, $opt:ident, $variant:ident, $ty:ty;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[must_use]
        pub fn $name(self, value: $ty) -> Self {
            self.0.cells.push(Value::$variant(value));
            self
        }
        /// The same, or nothing.
        #[inline]
        #[must_use]
        pub fn $opt(self, value: Option<$ty>) -> Self {
            self.0.cells.push(value.map_or(Value::Null, Value::$variant));
            self
        }
    )*};
}

impl Row<'_> {
    cells! {
        /// A float.
        f64, opt_f64, F64, f64;
        /// An unsigned integer.
        u64, opt_u64, U64, u64;
        /// A truth value.
        bool, opt_bool, Bool, bool;
    }

    /// A name.
    #[inline]
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        let id = self.0.writer.intern(name);
        self.0.cells.push(Value::Name(id));
        self
    }
    /// A name, or nothing.
    #[must_use]
    pub fn opt_name(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.name(name),
            None => {
                self.0.cells.push(Value::Null);
                self
            }
        }
    }

    /// The row is whole.
    #[inline]
    pub fn end(self) {
        let Table { writer, cells, error } = self.0;
        if let Err(e) = writer.row(cells) {
            debug_assert!(!matches!(e, CaptureError::Row { .. }), "{e}");
            error.get_or_insert(e);
        }
    }
}
