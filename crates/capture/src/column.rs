//! The columns of the batch that is being filled.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanBuilder, DictionaryArray, Float64Builder, Int32Builder, Int64Builder,
    StringArray, StringBuilder, UInt64Builder,
};
use arrow::datatypes::Int32Type;

use crate::value::{NameId, Value};
use crate::{ColumnDef, ColumnType};

/// One column being filled.
pub(crate) struct Column {
    def: &'static ColumnDef,
    builder: Builder,
}

enum Builder {
    F64(Float64Builder),
    I64(Int64Builder),
    U64(UInt64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    Name(Names),
}

/// A dictionary column: keys of this batch, and the names in the column since the start.
struct Names {
    keys: Int32Builder,
    /// By table-wide name: this column's key, or -1.
    key_of: Vec<i32>,
    seen: Vec<NameId>,
    /// The dictionary, until a name is added.
    values: Option<ArrayRef>,
}

impl Column {
    pub fn new(def: &'static ColumnDef) -> Column {
        let builder = match def.kind {
            ColumnType::F64 => Builder::F64(Float64Builder::new()),
            ColumnType::I64 => Builder::I64(Int64Builder::new()),
            ColumnType::U64 => Builder::U64(UInt64Builder::new()),
            ColumnType::Bool => Builder::Bool(BooleanBuilder::new()),
            ColumnType::Text => Builder::Text(StringBuilder::new()),
            ColumnType::Name => Builder::Name(Names {
                keys: Int32Builder::new(),
                key_of: Vec::new(),
                seen: Vec::new(),
                values: None,
            }),
        };
        Column { def, builder }
    }

    /// True if `value` belongs into this column.
    #[inline]
    pub fn accepts(&self, value: &Value<'_>) -> bool {
        match (self.def.kind, value) {
            (_, Value::Null) => self.def.nullable,
            (ColumnType::F64, Value::F64(_))
            | (ColumnType::I64, Value::I64(_))
            | (ColumnType::U64, Value::U64(_))
            | (ColumnType::Bool, Value::Bool(_))
            | (ColumnType::Text, Value::Text(_))
            | (ColumnType::Name, Value::Name(_)) => true,
            _ => false,
        }
    }

    /// Appends a value that the column accepts.
    #[inline]
    pub fn append(&mut self, value: &Value<'_>) {
        match (&mut self.builder, *value) {
            (Builder::F64(b), Value::F64(v)) => b.append_value(v),
            (Builder::I64(b), Value::I64(v)) => b.append_value(v),
            (Builder::U64(b), Value::U64(v)) => b.append_value(v),
            (Builder::Bool(b), Value::Bool(v)) => b.append_value(v),
            (Builder::Text(b), Value::Text(v)) => b.append_value(v),
            (Builder::Name(b), Value::Name(v)) => b.append(v),
            (Builder::F64(b), _) => b.append_null(),
            (Builder::I64(b), _) => b.append_null(),
            (Builder::U64(b), _) => b.append_null(),
            (Builder::Bool(b), _) => b.append_null(),
            (Builder::Text(b), _) => b.append_null(),
            (Builder::Name(b), _) => b.keys.append_null(),
        }
    }

    /// The values so far as an array; the column is empty afterwards.
    pub fn finish(&mut self, names: &[String]) -> ArrayRef {
        match &mut self.builder {
            Builder::F64(b) => Arc::new(b.finish()),
            Builder::I64(b) => Arc::new(b.finish()),
            Builder::U64(b) => Arc::new(b.finish()),
            Builder::Bool(b) => Arc::new(b.finish()),
            Builder::Text(b) => Arc::new(b.finish()),
            Builder::Name(b) => b.finish(names),
        }
    }

    /// The dictionary with all names so far, for a column of names.
    pub fn dictionary(&mut self, names: &[String]) -> Option<ArrayRef> {
        match &mut self.builder {
            Builder::Name(b) => Some(b.values(names)),
            _ => None,
        }
    }
}

impl Names {
    #[inline]
    fn append(&mut self, name: NameId) {
        let at = name.0 as usize;
        if at >= self.key_of.len() {
            self.key_of.resize(at + 1, -1);
        }
        if self.key_of[at] < 0 {
            self.key_of[at] = self.seen.len() as i32;
            self.seen.push(name);
            self.values = None;
        }
        self.keys.append_value(self.key_of[at]);
    }

    fn values(&mut self, names: &[String]) -> ArrayRef {
        let seen = &self.seen;
        let fresh = || {
            let texts = seen.iter().map(|n| names[n.0 as usize].as_str());
            Arc::new(StringArray::from_iter_values(texts)) as ArrayRef
        };
        self.values.get_or_insert_with(fresh).clone()
    }

    fn finish(&mut self, names: &[String]) -> ArrayRef {
        let values = self.values(names);
        with_dictionary(&self.keys.finish(), values)
    }
}

/// `keys` over `values`, which are at least as many as the keys name.
pub(crate) fn with_dictionary(keys: &arrow::array::Int32Array, values: ArrayRef) -> ArrayRef {
    debug_assert!(keys.iter().flatten().all(|k| (k as usize) < values.len()), "key without a name");
    Arc::new(DictionaryArray::<Int32Type>::new(keys.clone(), values))
}
