//! One cell of a table.

#[cfg(doc)]
use crate::ColumnType;

/// A name interned in one table; see [`TableWriter::intern`](crate::TableWriter::intern).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameId(pub(crate) u32);

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// For a column of [`ColumnType::F64`].
    F64(f64),
    /// For a column of [`ColumnType::I64`].
    I64(i64),
    /// For a column of [`ColumnType::U64`].
    U64(u64),
    /// For a column of [`ColumnType::Bool`].
    Bool(bool),
    /// For a column of [`ColumnType::Text`].
    Text(&'a str),
    /// For a column of [`ColumnType::Name`].
    Name(NameId),
    /// No value, for a nullable column.
    Null,
}
