//! The declaration of a table: columns with types, units and descriptions.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// A table as declared, usually in a `const`.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// Its name, as in file names.
    pub name: &'static str,
    /// The meaning of a row, and the purpose of the table.
    pub description: &'static str,
    /// Its columns, in order.
    pub columns: &'static [ColumnDef],
    /// Of a table of samples, whose values hold until the next row of their series: the columns
    /// that distinguish the series. Empty for every other table.
    pub series: &'static [&'static str],
    /// The time to which a row refers.
    pub rows: Rows,
}

/// The time to which a row of a table refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The moment that the column of its time names.
    Moment,
    /// An interval; a table with one time has that of its end.
    Interval,
    /// All of the run or survey.
    Whole,
}

impl Rows {
    /// The word for it in `table!`.
    pub const fn word(self) -> &'static str {
        match self {
            Rows::Moment => "moment",
            Rows::Interval => "interval",
            Rows::Whole => "whole",
        }
    }
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    /// Its name; carries the unit where there is one (`time_s`).
    pub name: &'static str,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether values may be missing.
    pub nullable: bool,
    /// The unit; empty where there is none.
    pub unit: &'static str,
    /// Its description.
    pub description: &'static str,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// 64-bit floating point.
    F64,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// True or false.
    Bool,
    /// Text that differs from row to row.
    Text,
    /// One of a few names (flows, causes): stored once each, dictionary-encoded.
    Name,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $fn:ident => $kind:ident),* $(,)?) => {$(
        $(#[$doc])*
        pub const fn $fn(name: &'static str, unit: &'static str, description: &'static str) -> ColumnDef {
            ColumnDef { name, kind: ColumnType::$kind, nullable: false, unit, description }
        }
    )*};
}

impl ColumnDef {
    constructors! {
        /// A column of floating-point numbers.
        f64 => F64,
        /// A column of signed integers.
        i64 => I64,
        /// A column of unsigned integers.
        u64 => U64,
        /// A column of truths.
        bool => Bool,
        /// A column of free text.
        text => Text,
        /// A column of names.
        name => Name,
    }

    /// The same column with optional values.
    pub const fn nullable(mut self) -> ColumnDef {
        self.nullable = true;
        self
    }
}

impl ColumnType {
    /// The name of the variant.
    const fn name(self) -> &'static str {
        match self {
            ColumnType::F64 => "F64",
            ColumnType::I64 => "I64",
            ColumnType::U64 => "U64",
            ColumnType::Bool => "Bool",
            ColumnType::Text => "Text",
            ColumnType::Name => "Name",
        }
    }
    /// The Arrow type.
    pub fn arrow(self) -> DataType {
        match self {
            ColumnType::F64 => DataType::Float64,
            ColumnType::I64 => DataType::Int64,
            ColumnType::U64 => DataType::UInt64,
            ColumnType::Bool => DataType::Boolean,
            ColumnType::Text => DataType::Utf8,
            ColumnType::Name => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        }
    }
}

impl TableDef {
    /// The Arrow schema: "unit" and "description" in each field's metadata, "table" and
    /// "description" in the schema's.
    pub fn schema(&self) -> SchemaRef {
        let text = |s: &str| s.to_owned();
        let fields: Vec<Field> = self
            .columns
            .iter()
            .map(|c| {
                let metadata = [(text("unit"), text(c.unit)), (text("description"), text(c.description))];
                Field::new(c.name, c.kind.arrow(), c.nullable).with_metadata(metadata.into_iter().collect())
            })
            .collect();
        let metadata = [(text("table"), text(self.name)), (text("description"), text(self.description))];
        Arc::new(Schema::new_with_metadata(fields, metadata.into_iter().collect()))
    }

    /// Names, types and units of the columns, for the hash of a table: one line a column.
    pub(crate) fn declaration(&self) -> String {
        let mut out = String::with_capacity(self.columns.len() * 32);
        for c in self.columns {
            let nullable = if c.nullable { "true" } else { "false" };
            for part in [c.name, " ", c.kind.name(), " ", nullable, " ", c.unit, "\n"] {
                out.push_str(part);
            }
        }
        out
    }

    /// The place of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}
