//! The tree of a configuration: TOML values with the place where each was written.

use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use indexmap::IndexMap;

/// The text in which a key or a value is written, and the place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A range of bytes of the file.
    File(Range<usize>),
    /// A range of bytes of the text of the `number`-th `--set` (from 1).
    Set {
        /// The number of the `--set`, from 1.
        number: usize,
        /// Bytes of its text.
        span: Range<usize>,
    },
    /// No text: a program inserted it, or it is the whole document.
    Program,
}

/// A value and its origin.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where the value is written; for a table, the place of its header.
    pub origin: Origin,
}

/// A TOML value. Integers are wider than TOML's, so that a seed may use all 64 bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text; dates and times of day are kept as the text they were written as.
    String(String),
    /// A whole number.
    Integer(i128),
    /// A number with a point or an exponent.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A list, or the elements of `[[...]]`.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A table: its keys in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub(super) IndexMap<String, Entry, BuildHasherDefault<KeyHasher>>);

/// A hash of keys for tables, which have some ten keys of a dozen letters each: eight bytes a
/// multiplication, where the hash of the standard library takes some 180 instructions a key. It
/// resists no attack; a file with keys of equal hashes is only read more slowly.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.write_u64(chunk.try_into().map_or(0, u64::from_le_bytes));
        }
        let rest = chunks.remainder().iter().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
        self.write_u64(rest ^ (bytes.len() as u64) << 56);
    }
    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }
    fn write_u64(&mut self, word: u64) {
        // Half of a product depends on all lower bits of its factors, the other half on all higher
        // ones: the exclusive or of both depends on each bit.
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The content of a table under one key.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where the key is written.
    pub key: Origin,
    /// The value.
    pub node: Node,
}

/// Two nodes are equal if their values are; origins are not compared.
impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.value == other.value
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.node == other.node
    }
}

impl Table {
    /// An empty table with memory for so many keys.
    pub(super) fn with_capacity(keys: usize) -> Table {
        Table(IndexMap::with_capacity_and_hasher(keys, BuildHasherDefault::new()))
    }
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0.get(key).map(|e| &e.node)
    }
    /// Puts `node` under `key`, replacing an earlier one.
    pub fn insert(&mut self, key: impl Into<String>, node: impl Into<Node>) {
        self.0.insert(key.into(), Entry { key: Origin::Program, node: node.into() });
    }
    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(k, e)| (k.as_str(), &e.node))
    }
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// True if it has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Node {
    /// Sets the origin of all parts of the value to `origin`.
    pub fn set_origin(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::Array(all) => all.iter_mut().for_each(|n| n.set_origin(origin)),
            Value::Table(table) => {
                for entry in table.0.values_mut() {
                    entry.key = origin.clone();
                    entry.node.set_origin(origin);
                }
            }
            _ => {}
        }
    }
    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(t) => Some(t),
            _ => None,
        }
    }
    /// The elements, if it is a list.
    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(a) => Some(a),
            _ => None,
        }
    }
    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(s) => Some(s),
            _ => None,
        }
    }
}

impl Value {
    /// The value in words: "the number 10", "a table".
    pub(super) fn in_words(&self) -> String {
        match self {
            Value::String(s) => format!("the text {}", quoted(s)),
            Value::Integer(n) => format!("the number {n}"),
            Value::Float(x) => format!("the number {x:?}"),
            Value::Bool(b) => format!("`{b}`"),
            Value::Array(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }
}

/// `text` in quotes, shortened when it is long.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", shortened(text, 60))
}

/// At most `limit` characters of `text`, control characters and marks of direction escaped.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == limit {
            out.push_str("...");
            break;
        }
        if c.is_control() || is_mark_of_direction(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Characters that change the order in which others are shown (Unicode Standard Annex 9, section
/// 2).
pub(super) fn is_mark_of_direction(c: char) -> bool {
    let (embeddings, isolates) = ('\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}');
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}') || embeddings.contains(&c) || isolates.contains(&c)
}

impl From<Value> for Node {
    fn from(value: Value) -> Node {
        Node { value, origin: Origin::Program }
    }
}

/// `From` of the plain types, for programs that build a document.
macro_rules! value_from {
    ($($from:ty => |$x:ident| $value:expr),* $(,)?) => {$(
        impl From<$from> for Value {
            fn from($x: $from) -> Value {
                $value
            }
        }
        impl From<$from> for Node {
            fn from(x: $from) -> Node {
                Value::from(x).into()
            }
        }
    )*};
}

value_from! {
    &str => |s| Value::String(s.to_owned()),
    String => |s| Value::String(s),
    bool => |b| Value::Bool(b),
    i64 => |n| Value::Integer(n.into()),
    u64 => |n| Value::Integer(n.into()),
    f64 => |x| Value::Float(x),
    Vec<Node> => |a| Value::Array(a),
    Table => |t| Value::Table(t),
}
