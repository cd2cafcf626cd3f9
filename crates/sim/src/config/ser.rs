//! Serialization of any `T: Serialize` to the notation of configuration files.

use std::fmt;

use serde::Serialize;
use serde::ser;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::Document;
use super::mistake::Mistake;
use super::tree::{Table, Value};

/// `value`, complete with its defaults, as TOML in the notation that [`Document::read`] reads back
/// to an equal value.
pub fn to_toml_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Diagnostics> {
    Ok(Document::from_value(value, "the effective configuration")?.to_toml())
}

impl Document {
    /// The document that [`Document::read`] turns into `value` again.
    pub fn from_value<T: Serialize + ?Sized>(value: &T, name: &str) -> Result<Document, Diagnostics> {
        let fail = |message: String| Diagnostics::from(Diagnostic::error(name, message));
        let piece = value.serialize(Writer).map_err(|m| fail(m.to_string()))?;
        match piece {
            Some(Piece { value: value @ Value::Table(_), .. }) => {
                let mut doc = Document::empty(name);
                doc.root = value.into();
                Ok(doc)
            }
            _ => Err(fail("a configuration is a table of keys".to_owned())),
        }
    }
}

impl ser::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Mistake {
        Mistake::message(message.to_string())
    }
}

/// A serialized value; `None` has no notation and is left out.
type Written = Result<Option<Piece>, Mistake>;

/// A value, and whether an enum wrote it, with its own `kind`.
struct Piece {
    value: Value,
    is_enum: bool,
}

fn plain(value: impl Into<Value>) -> Written {
    Ok(Some(Piece { value: value.into(), is_enum: false }))
}

fn of_enum(value: Value) -> Written {
    Ok(Some(Piece { value, is_enum: true }))
}

/// `{ kind = "name", ... }`, or the bare name without further keys.
fn variant(name: &str, content: Option<Piece>) -> Written {
    let Some(content) = content else { return of_enum(name.into()) };
    let mut table = Table::default();
    table.insert("kind", name);
    match content {
        Piece { value: Value::Table(inner), is_enum: false } => {
            if inner.get("kind").is_some() {
                let message =
                    format!("the variant `{name}` holds a key `kind` of its own: it cannot be written");
                return Err(Mistake::message(message));
            }
            table.0.extend(inner.0);
        }
        piece => table.insert("value", piece.value),
    }
    of_enum(if table.len() == 1 { name.into() } else { Value::Table(table) })
}

#[derive(Clone, Copy)]
struct Writer;

macro_rules! whole {
    ($($method:ident $ty:ident)*) => {$(
        fn $method(self, n: $ty) -> Written {
            plain(Value::Integer(n.into()))
        }
    )*};
}

impl ser::Serializer for Writer {
    type Ok = Option<Piece>;
    type Error = Mistake;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Keys;
    type SerializeStruct = Keys;
    type SerializeStructVariant = Keys;

    whole! {
        serialize_i8 i8 serialize_i16 i16 serialize_i32 i32 serialize_i64 i64 serialize_i128 i128
        serialize_u8 u8 serialize_u16 u16 serialize_u32 u32 serialize_u64 u64
    }

    fn serialize_u128(self, n: u128) -> Written {
        let n = i128::try_from(n).map_err(|_| Mistake::message(format!("the number {n} is too large")))?;
        plain(Value::Integer(n))
    }
    fn serialize_bool(self, b: bool) -> Written {
        plain(b)
    }
    fn serialize_f32(self, x: f32) -> Written {
        plain(f64::from(x))
    }
    fn serialize_f64(self, x: f64) -> Written {
        plain(x)
    }
    fn serialize_char(self, c: char) -> Written {
        plain(c.to_string())
    }
    fn serialize_str(self, s: &str) -> Written {
        plain(s)
    }
    fn serialize_bytes(self, bytes: &[u8]) -> Written {
        bytes.serialize(self)
    }
    fn serialize_none(self) -> Written {
        Ok(None)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Written {
        Ok(None)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Written {
        Ok(None)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Written {
        variant(name, None)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Written {
        variant(name, value.serialize(self)?)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<List, Mistake> {
        Ok(List { items: Vec::new(), variant: None })
    }
    fn serialize_tuple(self, _: usize) -> Result<List, Mistake> {
        self.serialize_seq(None)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, Mistake> {
        self.serialize_seq(None)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<List, Mistake> {
        Ok(List { items: Vec::new(), variant: Some(name) })
    }
    fn serialize_map(self, keys: Option<usize>) -> Result<Keys, Mistake> {
        let table = Table::with_capacity(keys.unwrap_or_default());
        Ok(Keys { table, key: None, variant: None })
    }
    fn serialize_struct(self, _: &'static str, keys: usize) -> Result<Keys, Mistake> {
        self.serialize_map(Some(keys))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Keys, Mistake> {
        Ok(Keys { table: Table::default(), key: None, variant: Some(name) })
    }
}

/// A list, or the content of a tuple variant.
struct List {
    items: Vec<super::tree::Node>,
    variant: Option<&'static str>,
}

impl List {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mistake> {
        self.add(value.serialize(Writer)?)
    }
    fn add(&mut self, piece: Option<Piece>) -> Result<(), Mistake> {
        let piece = piece.ok_or_else(|| Mistake::message("a list cannot hold nothing"))?;
        self.items.push(piece.value.into());
        Ok(())
    }
    fn finish(self) -> Written {
        match self.variant {
            Some(name) => variant(name, plain(self.items)?),
            None => plain(self.items),
        }
    }
}

/// A table, or the content of a struct variant.
struct Keys {
    table: Table,
    key: Option<String>,
    variant: Option<&'static str>,
}

impl Keys {
    /// Not generic, because each type of a scenario writes its keys here.
    fn push(&mut self, key: &str, piece: Option<Piece>) {
        if let Some(piece) = piece {
            self.table.insert(key, piece.value);
        }
    }
    fn finish(self) -> Written {
        match self.variant {
            Some(name) => variant(name, plain(self.table)?),
            None => plain(self.table),
        }
    }
}

macro_rules! lists {
    ($($of:ident $method:ident)*) => {$(
        impl ser::$of for List {
            type Ok = Option<Piece>;
            type Error = Mistake;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mistake> {
                self.push(value)
            }
            fn end(self) -> Written {
                self.finish()
            }
        }
    )*};
}
lists! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

macro_rules! structs {
    ($($of:ident)*) => {$(
        impl ser::$of for Keys {
            type Ok = Option<Piece>;
            type Error = Mistake;
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Mistake> {
                self.push(key, value.serialize(Writer)?);
                Ok(())
            }
            fn end(self) -> Written {
                self.finish()
            }
        }
    )*};
}
structs! { SerializeStruct SerializeStructVariant }

impl ser::SerializeMap for Keys {
    type Ok = Option<Piece>;
    type Error = Mistake;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Mistake> {
        self.key = match key.serialize(Writer)?.map(|piece| piece.value) {
            Some(Value::String(s)) => Some(s),
            Some(Value::Integer(n)) => Some(n.to_string()),
            Some(Value::Bool(b)) => Some(b.to_string()),
            _ => return Err(Mistake::message("the key of a table is text, a whole number or a truth value")),
        };
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mistake> {
        let key = self.key.take().ok_or_else(|| Mistake::message("a value was written before its key"))?;
        self.push(&key, value.serialize(Writer)?);
        Ok(())
    }
    fn end(self) -> Written {
        self.finish()
    }
}
