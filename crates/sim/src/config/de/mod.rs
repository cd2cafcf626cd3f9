//! The deserializer over a [`Document`], and reading with more than one mistake reported.

mod enums;

use std::collections::BTreeSet;

use serde::de::{self, DeserializeOwned, DeserializeSeed, Expected, IntoDeserializer, Unexpected, Visitor};

use super::diagnostic::Diagnostics;
use super::document::Document;
use super::mistake::{Mistake, Spot, plain};
use super::path::{Step, Trail};
use super::tree::{Node, Table, Value, is_mark_of_direction};
use enums::{Choice, names_of};

/// Largest number of mistakes of one file that are reported together.
const MOST_MISTAKES: usize = 50;

impl Document {
    /// Reads the document as a `T`, or returns its mistakes: the first, and later ones that are no
    /// consequences of earlier ones.
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

/// Parts that are left out when a document is read again after a mistake.
#[derive(Default)]
pub(super) struct Hidden {
    /// Dotted paths of keys and elements that are skipped.
    left_out: BTreeSet<String>,
    /// Dotted paths that may be missing because of a mistake that was reported.
    excused: BTreeSet<String>,
}

impl Hidden {
    /// Leaves out `place`, or its parent if that had no effect. Returns false when nothing is left.
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

    /// True when something at or below `path` was left out: a mistake there may be only a
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

/// A place in the tree that is read.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'de, 'p> {
    pub node: &'de Node,
    pub trail: &'p Trail<'p>,
    pub hidden: &'p Hidden,
}

/// A value as passed to a visitor: numbers in serde's types.
enum Given<'de> {
    Text(&'de str),
    Truth(bool),
    Real(f64),
    Natural(u64),
    Negative(i64),
    /// A whole number of more than 64 bits, which only `u128` and `i128` take.
    Wide(i128),
    List(&'de [Node]),
    Table(&'de Table),
}

impl Given<'_> {
    /// The mistake of a type that does not accept this value.
    #[cold]
    fn refused(&self, expected: &dyn Expected) -> Mistake {
        let wide;
        let found = match *self {
            Given::Text(s) => Unexpected::Str(s),
            Given::Truth(b) => Unexpected::Bool(b),
            Given::Real(x) => Unexpected::Float(x),
            Given::Natural(n) => Unexpected::Unsigned(n),
            Given::Negative(n) => Unexpected::Signed(n),
            Given::Wide(n) => {
                wide = format!("integer `{n}` as i128");
                Unexpected::Other(&wide)
            }
            Given::List(_) => Unexpected::Seq,
            Given::Table(_) => Unexpected::Map,
        };
        de::Error::invalid_type(found, expected)
    }
}

// Code that is generic in a visitor or a seed is compiled for each type of a scenario. So the work
// of this file that needs no visitor is in functions that are not generic, and each function calls
// a visitor only for values that its type accepts.
impl<'de, 'p> Cursor<'de, 'p> {
    /// The value below, at `trail`.
    pub fn below(self, node: &'de Node, trail: &'p Trail<'p>) -> Self {
        Cursor { node, trail, hidden: self.hidden }
    }

    /// Adds this place to a mistake that has none.
    pub fn here<T>(self, result: Result<T, Mistake>) -> Result<T, Mistake> {
        match result {
            Ok(value) => Ok(value),
            Err(mistake) => Err(mistake.at(self.trail, Spot::Value)),
        }
    }

    /// The value in serde's types, or the mistake in it that does not depend on the expected type.
    fn given(self) -> Result<Given<'de>, Mistake> {
        Ok(match &self.node.value {
            Value::String(s) => {
                plain_text(s)?;
                Given::Text(s)
            }
            Value::Bool(b) => Given::Truth(*b),
            // No quantity of a simulation is infinite; for a key without limit there is another
            // word, or the key is absent.
            Value::Float(x) if !x.is_finite() => {
                let found = self.node.value.in_words();
                return Err(Mistake::message(format!("expected a finite number; found {found}"))
                    .help(|_| Some("leave the key out for its default, or write a large number".into())));
            }
            Value::Float(x) => Given::Real(*x),
            Value::Integer(n) => match (u64::try_from(*n), i64::try_from(*n)) {
                (Ok(n), _) => Given::Natural(n),
                (_, Ok(n)) => Given::Negative(n),
                _ => Given::Wide(*n),
            },
            Value::Array(items) => Given::List(items),
            Value::Table(table) => Given::Table(table),
        })
    }

    /// The mistake of a value that its type does not accept.
    #[cold]
    fn refused(self, expected: &dyn Expected) -> Mistake {
        self.given()
            .map_or_else(|mistake| mistake, |given| given.refused(expected))
            .at(self.trail, Spot::Value)
    }
}

/// A whole number of the requested width, or its range in words.
macro_rules! whole {
    ($($method:ident, $ty:ident, $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            let Value::Integer(n) = self.node.value else { return Err(self.refused(&visitor)) };
            self.here(match $ty::try_from(n) {
                Ok(n) => visitor.$visit(n),
                Err(_) => Err(out_of_range(n, stringify!($ty))),
            })
        }
    )*};
}

#[cold]
fn out_of_range(n: i128, of: &str) -> Mistake {
    Mistake::message(format!("the number {n} is out of range: expected {}", plain(of)))
}

/// Types that take text.
macro_rules! text {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            match self.given() {
                Ok(Given::Text(text)) => self.here(visitor.visit_borrowed_str(text)),
                _ => Err(self.refused(&visitor)),
            }
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

    text! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.here(self.given().and_then(|given| match given {
            Given::Text(text) => visitor.visit_borrowed_str(text),
            Given::Truth(b) => visitor.visit_bool(b),
            Given::Real(x) => visitor.visit_f64(x),
            Given::Natural(n) => visitor.visit_u64(n),
            Given::Negative(n) => visitor.visit_i64(n),
            Given::Wide(_) => Err(given.refused(&visitor)),
            Given::List(items) => visitor.visit_seq(Items { cursor: self, items, next: 0 }),
            Given::Table(table) => visitor.visit_map(Entries::new(self, table)),
        }))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.node.value {
            Value::Bool(b) => self.here(visitor.visit_bool(b)),
            _ => Err(self.refused(&visitor)),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let x = match self.node.value {
            Value::Integer(n) => n as f64,
            Value::Float(x) if x.is_finite() => x,
            _ => return Err(self.refused(&visitor)),
        };
        self.here(visitor.visit_f64(x))
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

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.node.value {
            Value::Array(items) => self.here(visitor.visit_seq(Items { cursor: self, items, next: 0 })),
            _ => Err(self.refused(&visitor)),
        }
    }

    /// Reads a list of a fixed length; without this check, further elements would be ignored
    /// silently.
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Mistake> {
        match &self.node.value {
            Value::Array(items) if items.len() > length => {
                let message = format!("expected a list of {length}; found {} elements", items.len());
                self.here(Err(Mistake::message(message)))
            }
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.node.value {
            Value::Table(table) => self.here(visitor.visit_map(Entries::new(self, table))),
            _ => Err(self.refused(&visitor)),
        }
    }

    /// Reads a table. Derived types would also accept a list of values in the order of their
    /// fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.deserialize_map(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit unit_struct }
}

/// Refuses text with characters that change the display of other characters: a terminal interprets
/// control characters, and marks of direction reorder the text around them. A text of several lines
/// may have line ends and tabs.
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

/// Checks a key, which may be a name of the user's.
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

impl<'de, 'p> Items<'de, 'p> {
    /// The next element that is not left out, and its index.
    fn advance(&mut self) -> Option<(&'de Node, usize)> {
        loop {
            let index = self.next;
            let node = self.items.get(index)?;
            self.next += 1;
            let trail = Trail { parent: Some(self.cursor.trail), step: Step::Index(index) };
            if !self.cursor.hidden.contains(&trail) {
                return Some((node, index));
            }
        }
    }
}

impl<'de> de::SeqAccess<'de> for Items<'de, '_> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        let Some((node, index)) = self.advance() else { return Ok(None) };
        let trail = Trail { parent: Some(self.cursor.trail), step: Step::Index(index) };
        let inner = self.cursor.below(node, &trail);
        match seed.deserialize(inner) {
            Ok(value) => Ok(Some(value)),
            Err(mistake) => Err(mistake.at(&trail, Spot::Value)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

/// The keys of a table, without `kind` when it has already selected a variant.
pub(super) struct Entries<'de, 'p> {
    cursor: Cursor<'de, 'p>,
    rest: indexmap::map::Iter<'de, String, super::tree::Entry>,
    value: Option<(&'de str, &'de Node)>,
    without_kind: bool,
}

impl<'de, 'p> Entries<'de, 'p> {
    fn new(cursor: Cursor<'de, 'p>, table: &'de Table) -> Self {
        Entries { cursor, rest: table.0.iter(), value: None, without_kind: false }
    }

    /// The keys of a variant, whose bare name stands for an empty table.
    pub fn of_variant(cursor: Cursor<'de, 'p>, table: Option<&'de Table>) -> Self {
        let rest = table.map_or_else(Default::default, |table| table.0.iter());
        Entries { cursor, rest, value: None, without_kind: true }
    }

    /// The next key that is not left out.
    fn advance(&mut self) -> Result<Option<&'de str>, Mistake> {
        for (key, entry) in self.rest.by_ref() {
            let trail = Trail { parent: Some(self.cursor.trail), step: Step::Key(key) };
            if (self.without_kind && key == "kind") || self.cursor.hidden.contains(&trail) {
                continue;
            }
            self.value = Some((key, &entry.node));
            return plain_name(key).map(|()| Some(key.as_str())).map_err(|m| m.at(&trail, Spot::Key));
        }
        Ok(None)
    }

    /// The key that was returned last, and its value.
    fn take(&mut self) -> Result<(&'de str, &'de Node), Mistake> {
        self.value.take().ok_or_else(|| Mistake::message("a value was requested before its key"))
    }
}

impl<'de> de::MapAccess<'de> for Entries<'de, '_> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        let Some(key) = self.advance()? else { return Ok(None) };
        match seed.deserialize(Key(key)) {
            Ok(read) => Ok(Some(read)),
            Err(mistake) => {
                let trail = Trail { parent: Some(self.cursor.trail), step: Step::Key(key) };
                Err(mistake.at(&trail, Spot::Key))
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mistake> {
        let (key, node) = self.take()?;
        let trail = Trail { parent: Some(self.cursor.trail), step: Step::Key(key) };
        let inner = self.cursor.below(node, &trail);
        inner.here(seed.deserialize(inner))
    }
}

/// A key: text, which a map may also need as a number, a boolean or an enum.
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
