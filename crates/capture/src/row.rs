//! Rows as structs: a table is declared once, as the struct of its rows.

use crate::{CaptureError, ColumnType, TableDef, TableWriter, Value};

/// A value of a column, whose type follows from the field's type.
pub trait Cell {
    /// The type of the column.
    const KIND: ColumnType;
    /// Whether values may be missing.
    const NULLABLE: bool = false;
    /// The value for the table `table`, which keeps the names.
    fn value(&self, table: &mut TableWriter) -> Value<'_>;
}

macro_rules! numbers {
    ($($type:ty => $kind:ident;)*) => {$(
        impl Cell for $type {
            const KIND: ColumnType = ColumnType::$kind;
            #[inline]
            fn value(&self, _: &mut TableWriter) -> Value<'_> {
                Value::$kind(*self)
            }
        }
    )*};
}

numbers! {
    f64 => F64;
    i64 => I64;
    u64 => U64;
    bool => Bool;
}

/// A name: one of a few, stored once.
impl Cell for &str {
    const KIND: ColumnType = ColumnType::Name;
    #[inline]
    fn value(&self, table: &mut TableWriter) -> Value<'_> {
        Value::Name(table.intern(self))
    }
}

/// Text that differs from row to row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a>(pub &'a str);

impl Cell for Text<'_> {
    const KIND: ColumnType = ColumnType::Text;
    #[inline]
    fn value(&self, _: &mut TableWriter) -> Value<'_> {
        Value::Text(self.0)
    }
}

/// A value that may be missing.
impl<C: Cell> Cell for Option<C> {
    const KIND: ColumnType = C::KIND;
    const NULLABLE: bool = true;
    #[inline]
    fn value(&self, table: &mut TableWriter) -> Value<'_> {
        self.as_ref().map_or(Value::Null, |cell| cell.value(table))
    }
}

/// A row of a table; [`table!`](crate::table) implements it.
pub trait Row {
    /// Appends the row to `table`.
    ///
    /// # Errors
    /// As [`TableWriter::row`]; the row fits if the table was made for [`Record::TABLE`].
    fn append(&self, table: &mut TableWriter) -> Result<(), CaptureError>;
}

/// The declaration of a table; [`table!`](crate::table) implements it for the struct of the rows.
pub trait Record {
    /// Name, description and columns.
    const TABLE: &'static TableDef;
    /// The struct, its names borrowed for `'a`.
    type Row<'a>: Row;
}

/// Declares a table as the struct of its rows.
///
/// The head has the table's name and description. A field is a column: its name (or the name after
/// `as`, where the column's name is a keyword), its type (a [`Cell`]), its unit ("" without one)
/// and its description. A table of samples names the columns that distinguish its series
/// ([`TableDef::series`]). A row is about a moment, unless `rows interval;` or `rows whole;` says
/// otherwise ([`Rows`](crate::Rows)).
///
/// ```
/// use lasthop_capture::{Record, Row, Sink, TableWriter, table};
///
/// table! {
///     "queues", "Queues of links.";
///     series ["where"];
///     pub struct Queues<'a> {
///         time_s: f64, "s", "virtual time";
///         link as "where": &'a str, "", "name of the link";
///         delay_s: Option<f64>, "s", "delay of the last packet; empty: there was none";
///     }
/// }
/// let mut table = TableWriter::new(Queues::TABLE, Sink::Memory)?;
/// Queues { time_s: 0.0, link: "a", delay_s: None }.append(&mut table)?;
/// assert_eq!(table.finish()?.rows, 1);
/// # Ok::<(), lasthop_capture::CaptureError>(())
/// ```
#[macro_export]
macro_rules! table {
    (
        $name:literal, $description:expr;
        $(series [$($series:literal),+];)?
        $(rows $rows:ident;)?
        $(#[$doc:meta])*
        pub struct $Row:ident<$a:lifetime> {
            $($field:ident $(as $column:literal)?: $type:ty, $unit:literal, $text:literal;)*
        }
    ) => {
        #[doc = $description]
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Row<$a> {
            $(#[doc = $text] pub $field: $type,)*
        }

        impl<$a> $Row<$a> {
            /// Name, description and columns of the table.
            pub const TABLE: &'static $crate::TableDef = &$crate::TableDef {
                name: $name,
                description: $description,
                columns: &[$($crate::ColumnDef {
                    name: $crate::column_name!($field $($column)?),
                    kind: <$type as $crate::Cell>::KIND,
                    nullable: <$type as $crate::Cell>::NULLABLE,
                    unit: $unit,
                    description: $text,
                },)*],
                series: &[$($($series),+)?],
                rows: $crate::rows!($($rows)?),
            };
        }

        impl $crate::Record for $Row<'static> {
            const TABLE: &'static $crate::TableDef = $Row::TABLE;
            type Row<$a> = $Row<$a>;
        }

        impl $crate::Row for $Row<'_> {
            #[inline]
            fn append(&self, table: &mut $crate::TableWriter) -> Result<(), $crate::CaptureError> {
                let values = [$($crate::Cell::value(&self.$field, table),)*];
                table.row(&values)
            }
        }
    };
}

/// The time to which a row of a table refers.
#[doc(hidden)]
#[macro_export]
macro_rules! rows {
    () => {
        $crate::Rows::Moment
    };
    (interval) => {
        $crate::Rows::Interval
    };
    (whole) => {
        $crate::Rows::Whole
    };
}

/// The name of a column: the field's, or the one after `as`.
#[doc(hidden)]
#[macro_export]
macro_rules! column_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $column:literal) => {
        $column
    };
}
