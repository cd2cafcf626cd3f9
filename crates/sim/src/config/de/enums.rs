//! Enums: `"name"` or `{ kind = "name", ... }`.

use serde::de::{self, DeserializeSeed, Visitor};

use super::{Cursor, Entries};
use crate::config::mistake::{Mistake, Spot, What};
use crate::config::path::{Step, Trail};
use crate::config::tree::{Node, Table, Value};

/// A variant that was chosen, and where its content is.
pub(super) struct Choice<'de, 'p> {
    cursor: Cursor<'de, 'p>,
    name: &'de str,
    /// The table with the `kind`; none for a bare name.
    table: Option<&'de Table>,
}

/// `names` in a sentence.
pub(super) fn names_of(names: &[&str]) -> String {
    let list: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    format!("known names: {}", list.join(", "))
}

impl<'de, 'p> Choice<'de, 'p> {
    pub fn of(cursor: Cursor<'de, 'p>, names: &'static [&'static str]) -> Result<Self, Mistake> {
        let help = || names_of(names);
        match &cursor.node.value {
            Value::String(name) => Ok(Choice { cursor, name, table: None }),
            Value::Table(table) => {
                let kind = table.get("kind").ok_or_else(|| {
                    Mistake::new(What::MissingKey("kind".to_owned())).help(|_| Some(help()))
                })?;
                let name = kind.as_str().ok_or_else(|| {
                    let found = kind.value.in_words();
                    let mistake = Mistake::message(format!("expected a name as text; found {found}"));
                    at_kind(cursor, mistake).help(|_| Some(help()))
                })?;
                Ok(Choice { cursor, name, table: Some(table) })
            }
            other => {
                let expected = "expected a name, or a table with a `kind`";
                let mistake = Mistake::message(format!("{expected}; found {}", other.in_words()));
                Err(mistake.help(|_| Some(help())))
            }
        }
    }

    /// Adds the variant to the message of a mistake.
    fn explain<T>(&self, result: Result<T, Mistake>) -> Result<T, Mistake> {
        match result {
            Ok(value) => Ok(value),
            Err(mistake) => Err(self.explained(mistake)),
        }
    }

    /// A missing key of a variant that was written as a bare name needs the long notation.
    fn explained(&self, mistake: Mistake) -> Mistake {
        let (bare, name) = (self.table.is_none(), self.name);
        let help = |what: &What| match what {
            What::MissingKey(key) if bare => Some(format!("write `{{ kind = \"{name}\", {key} = ... }}`")),
            _ => None,
        };
        mistake.help(help).at(self.cursor.trail, Spot::Value)
    }

    /// The mistake of an unknown name.
    fn unknown(self, mistake: Mistake) -> Mistake {
        match self.table {
            Some(_) => at_kind(self.cursor, mistake),
            None => mistake.at(self.cursor.trail, Spot::Value),
        }
    }
}

impl<'de> Cursor<'de, '_> {
    /// A key of `table` that is none of `known`.
    fn other_key(self, table: Option<&'de Table>, known: &[&str]) -> Option<&'de str> {
        table?.keys().find(|key| {
            let trail = Trail { parent: Some(self.trail), step: Step::Key(key) };
            !known.contains(key) && !self.hidden.contains(&trail)
        })
    }
}

fn at_kind(cursor: Cursor<'_, '_>, mistake: Mistake) -> Mistake {
    let trail = Trail { parent: Some(cursor.trail), step: Step::Key("kind") };
    mistake.at(&trail, Spot::Value)
}

impl<'de, 'p> de::EnumAccess<'de> for Choice<'de, 'p> {
    type Error = Mistake;
    type Variant = Choice<'de, 'p>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mistake> {
        let name: de::value::BorrowedStrDeserializer<'de, Mistake> =
            de::value::BorrowedStrDeserializer::new(self.name);
        match seed.deserialize(name) {
            Ok(variant) => Ok((variant, self)),
            Err(mistake) => Err(self.unknown(mistake)),
        }
    }
}

impl<'de> de::VariantAccess<'de> for Choice<'de, '_> {
    type Error = Mistake;

    fn unit_variant(self) -> Result<(), Mistake> {
        match self.cursor.other_key(self.table, &["kind"]) {
            None => Ok(()),
            Some(key) => {
                let trail = Trail { parent: Some(self.cursor.trail), step: Step::Key(key) };
                let mistake = Mistake::new(What::UnknownKey(key.to_owned(), &[]));
                let help = format!("`{}` has no keys of its own", self.name);
                Err(mistake.at(&trail, Spot::Key).help(|_| Some(help)))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mistake> {
        let content = Content { cursor: self.cursor, table: self.table };
        self.explain(seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Mistake> {
        let content = Content { cursor: self.cursor, table: self.table };
        self.explain(de::Deserializer::deserialize_seq(content, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let content = Content { cursor: self.cursor, table: self.table };
        self.explain(content.keys(visitor))
    }
}

/// The content of a variant: the rest of its table, or the key `value` when it is not a table.
struct Content<'de, 'p> {
    cursor: Cursor<'de, 'p>,
    table: Option<&'de Table>,
}

impl<'de> Content<'de, '_> {
    fn keys<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_map(Entries::of_variant(self.cursor, self.table))
    }

    fn value(&self) -> Option<&'de Node> {
        self.table.and_then(|t| t.get("value"))
    }

    fn no_such_key(&self, key: &str) -> Mistake {
        let trail = Trail { parent: Some(self.cursor.trail), step: Step::Key(key) };
        Mistake::new(What::UnknownKey(key.to_owned(), &["value"])).at(&trail, Spot::Key)
    }

    /// The value of the key `value`.
    fn content(&self) -> Result<&'de Node, Mistake> {
        match self.cursor.other_key(self.table, &["kind", "value"]) {
            Some(key) => Err(self.no_such_key(key)),
            None => self.value().ok_or_else(|| Mistake::new(What::MissingKey("value".to_owned()))),
        }
    }

    /// Continues with the key `value`.
    fn inside<T>(&self, read: impl FnOnce(Cursor<'de, '_>) -> Result<T, Mistake>) -> Result<T, Mistake> {
        let node = self.content()?;
        read(self.cursor.below(node, &Trail { parent: Some(self.cursor.trail), step: Step::Key("value") }))
    }
}

macro_rules! inside {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            self.inside(|cursor| de::Deserializer::$method(cursor, visitor))
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Content<'de, '_> {
    type Error = Mistake;

    inside! {
        deserialize_bool deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_seq
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        // Quantities call this, and types that take any table.
        match self.cursor.other_key(self.table, &["kind"]).filter(|_| self.value().is_none()) {
            Some(key) => {
                let unknown = self.no_such_key(key);
                self.keys(visitor).map_err(|m| if m.is_table() { unknown } else { m })
            }
            None => self.inside(|cursor| de::Deserializer::deserialize_any(cursor, visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.keys(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.keys(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        if self.cursor.other_key(self.table, &["kind"]).is_none() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Mistake> {
        self.inside(|cursor| de::Deserializer::deserialize_tuple(cursor, length, visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.inside(|cursor| de::Deserializer::deserialize_enum(cursor, name, names, visitor))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.deserialize_any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }
}
