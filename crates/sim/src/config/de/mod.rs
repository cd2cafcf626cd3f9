//! The deserializer over a [`Document`], and reading with more than one mistake reported.

mod enums;

use std::collections::BTreeSet;

use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};

use super::diagnostic::Diagnostics;
use super::document::Document;
use super::mistake::{Mistake, Spot, plain};
use super::path::{Step, Trail};
use super::tree::{Node, Table, Value, is_mark_of_direction};
use enums::{Choice, names_of};

/// More mistakes of one file are not reported in one go.
const MOST_MISTAKES: usize = 50;

impl Document {
    /// The document as a `T`, or its mistakes: not only the first, where those after it are no
    /// consequences of it.
    ///
    /// Enums use serde's default representation in Rust and are written `"name"` or `{ kind =
    /// "name", ... }`; a variant that holds something other than a table takes it from the key
    /// `value`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Diagnostics> {
        let mut found = Diagnostics::new();
        let mut hidden = Hidden::default();
        loop {
            let cursor = Cursor { node: &self.root, trail: &Trail::ROOT, hidden: &hidden };
            let mistake = match T::deserialize(cursor) {
                Ok(value) if found.is_empty() => return Ok(value),
                Ok(_) => return Err(found.sorted()),
                Err(mistake) => mistake,
            };
            let (place, missing) = mistake.place();
            if !hidden.explains(missing.as_ref().unwrap_or(&place)) {
                found.push(mistake.diagnostic(self));
            }
            if let (Some(meant), Some(table)) = (mistake.meant(), parent(&place)) {
                hidden.excused.insert(join(table, &meant));
            }
            hidden.excused.extend(missing);
            if found.len() >= MOST_MISTAKES || !hidden.hide(&place) {
                return Err(found.sorted());
            }
        }
    }
}

/// What is left out when a document is read again after a mistake.
#[derive(Default)]
pub(super) struct Hidden {
    /// Dotted paths of keys and elements that are skipped.
    left_out: BTreeSet<String>,
    /// Dotted paths that may be missing: a mistake that was reported explains it.
    excused: BTreeSet<String>,
}

impl Hidden {
    /// Leaves out `place`, or what it is in if that was in vain. False when nothing is left.
    fn hide(&mut self, place: &str) -> bool {
        let mut place = place;
        while !place.is_empty() {
            if self.left_out.insert(place.to_owned()) {
                return true;
            }
            place = parent(place).unwrap_or_default();
        }
        false
    }

    /// True when something at or below `path` was left out: a mistake there may be no more than its
    /// consequence.
    fn explains(&self, path: &str) -> bool {
        let below = if path.is_empty() { String::new() } else { format!("{path}.") };
        self.excused.contains(path)
            || self.left_out.contains(path)
            || self.left_out.range(below.clone()..).next().is_some_and(|p| p.starts_with(&below))
    }

    pub fn contains(&self, trail: &Trail<'_>) -> bool {
        !self.left_out.is_empty() && self.left_out.contains(&trail.dotted())
    }
}

fn join(table: &str, key: &str) -> String {
    let mut path = table.to_owned();
    super::path::push(&mut path, key);
    path
}

/// The path of the table or list that the last step of `path` is in.
fn parent(path: &str) -> Option<&str> {
    let (segments, _) = super::path::parse(path).ok()?;
    Some(path[..segments.last()?.span.start].trim_end_matches('.'))
}

/// A place in the tree that is being read.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'de, 'p> {
    pub node: &'de Node,
    pub trail: &'p Trail<'p>,
    pub hidden: &'p Hidden,
}

impl<'de> Cursor<'de, '_> {
    /// Adds this place to a mistake that has none.
    pub fn here<T>(self, result: Result<T, Mistake>) -> Result<T, Mistake> {
        result.map_err(|m| m.at(|| self.trail.dotted(), Spot::Value))
    }

    fn any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.node.value {
            Value::String(s) => {
                plain_text(s)?;
                visitor.visit_borrowed_str(s)
            }
            Value::Bool(b) => visitor.visit_bool(*b),
            // No quantity of a simulation is infinite; a key that has no limit says so by another
            // word or by its absence.
            Value::Float(x) if !x.is_finite() => {
                let found = self.node.value.in_words();
                Err(Mistake::message(format!("expected a finite number; found {found}"))
                    .help(|_| Some("leave the key out for its default, or write a large number".into())))
            }
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Integer(n) => match (u64::try_from(*n), i64::try_from(*n)) {
                (Ok(n), _) => visitor.visit_u64(n),
                (_, Ok(n)) => visitor.visit_i64(n),
                _ => visitor.visit_i128(*n),
            },
            Value::Array(items) => visitor.visit_seq(Items { cursor: self, items, next: 0 }),
            Value::Table(table) => visitor.visit_map(Entries::new(self, table, false)),
        }
    }
}

/// A whole number of the width that is asked for, or its range in words.
macro_rules! whole {
    ($($method:ident, $ty:ident, $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            self.here(match &self.node.value {
                Value::Integer(n) => match $ty::try_from(*n) {
                    Ok(n) => visitor.$visit(n),
                    Err(_) => {
                        let range = plain(stringify!($ty));
                        Err(Mistake::message(format!("the number {n} is out of range: expected {range}")))
                    }
                },
                _ => self.any(visitor),
            })
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Cursor<'de, '_> {
    type Error = Mistake;

    whole! {
        deserialize_u8, u8, visit_u8;
        deserialize_u16, u16, visit_u16;
        deserialize_u32, u32, visit_u32;
        deserialize_u64, u64, visit_u64;
        deserialize_u128, u128, visit_u128;
        deserialize_i8, i8, visit_i8;
        deserialize_i16, i16, visit_i16;
        deserialize_i32, i32, visit_i32;
        deserialize_i64, i64, visit_i64;
        deserialize_i128, i128, visit_i128;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.here(self.any(visitor))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.here(match &self.node.value {
            Value::Integer(n) => visitor.visit_f64(*n as f64),
            _ => self.any(visitor),
        })
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.here(visitor.visit_some(self))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.here(visitor.visit_newtype_struct(self))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.here(Choice::of(self, names).and_then(|choice| visitor.visit_enum(choice)))
    }

    /// A list of a fixed length: more elements would be forgotten without a word.
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Mistake> {
        match &self.node.value {
            Value::Array(items) if items.len() > length => {
                let message = format!("expected a list of {length}; found {} elements", items.len());
                self.here(Err(Mistake::message(message)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct seq tuple_struct map struct identifier
    }
}

/// Text without characters that show something else than what is there: a terminal obeys control
/// characters, and marks of direction reorder what stands around them. A text of several lines may
/// have line ends and tabs.
fn plain_text(text: &str) -> Result<(), Mistake> {
    let hidden = |c: &char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || is_mark_of_direction(*c);
    match text.chars().find(hidden) {
        None => Ok(()),
        Some(c) => {
            let message = format!("the text has the character U+{:04X}, which cannot be seen", u32::from(c));
            Err(Mistake::message(message).help(|_| Some("remove it".into())))
        }
    }
}

/// A key, which may be a name of the user's.
fn plain_name(name: &str) -> Result<(), Mistake> {
    if name.trim().is_empty() {
        return Err(Mistake::message("a name must not be empty"));
    }
    if name.contains(['\n', '\r', '\t']) {
        return Err(Mistake::message("a name is one line without tabs"));
    }
    plain_text(name)
}

/// The elements of a list.
struct Items<'de, 'p> {
    cursor: Cursor<'de, 'p>,
    items: &'de [Node],
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'de, '_> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        while let Some(node) = self.items.get(self.next) {
            let trail = Trail { parent: Some(self.cursor.trail), step: Step::Index(self.next) };
            self.next += 1;
            if self.cursor.hidden.contains(&trail) {
                continue;
            }
            let inner = Cursor { node, trail: &trail, hidden: self.cursor.hidden };
            return inner.here(seed.deserialize(inner)).map(Some);
        }
        Ok(None)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

/// The keys of a table, without `kind` when that has chosen a variant already.
pub(super) struct Entries<'de, 'p> {
    cursor: Cursor<'de, 'p>,
    rest: indexmap::map::Iter<'de, String, super::tree::Entry>,
    value: Option<(&'de str, &'de Node)>,
    without_kind: bool,
}

impl<'de, 'p> Entries<'de, 'p> {
    pub fn new(cursor: Cursor<'de, 'p>, table: &'de Table, without_kind: bool) -> Self {
        Entries { cursor, rest: table.0.iter(), value: None, without_kind }
    }
}

impl<'de> de::MapAccess<'de> for Entries<'de, '_> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        for (key, entry) in self.rest.by_ref() {
            let trail = Trail { parent: Some(self.cursor.trail), step: Step::Key(key) };
            if (self.without_kind && key == "kind") || self.cursor.hidden.contains(&trail) {
                continue;
            }
            self.value = Some((key, &entry.node));
            let read = plain_name(key).and_then(|()| seed.deserialize(Key(key)));
            return read.map(Some).map_err(|m| m.at(|| trail.dotted(), Spot::Key));
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mistake> {
        let (key, node) =
            self.value.take().ok_or_else(|| Mistake::message("a value was asked for before its key"))?;
        let trail = Trail { parent: Some(self.cursor.trail), step: Step::Key(key) };
        let inner = Cursor { node, trail: &trail, hidden: self.cursor.hidden };
        inner.here(seed.deserialize(inner))
    }
}

/// A key: text, which a map may also want as a number, a truth value or an enum.
struct Key<'de>(&'de str);

macro_rules! key_as {
    ($($method:ident, $ty:ident, $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            match self.0.parse::<$ty>() {
                Ok(x) => visitor.$visit(x),
                Err(_) => Err(de::Error::invalid_type(de::Unexpected::Str(self.0), &visitor)),
            }
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Key<'de> {
    type Error = Mistake;

    key_as! {
        deserialize_bool, bool, visit_bool;
        deserialize_u8, u8, visit_u8;
        deserialize_u16, u16, visit_u16;
        deserialize_u32, u32, visit_u32;
        deserialize_u64, u64, visit_u64;
        deserialize_i8, i8, visit_i8;
        deserialize_i16, i16, visit_i16;
        deserialize_i32, i32, visit_i32;
        deserialize_i64, i64, visit_i64;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_enum(self.0.into_deserializer()).map_err(|m: Mistake| m.help(|_| Some(names_of(names))))
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}
