//! Mistakes that serde finds, in plain language.

use std::fmt::{self, Write as _};

use serde::de::{self, Expected, Unexpected};

use super::diagnostic::Diagnostic;
use super::document::Document;
use super::path::{self, Trail};
use super::suggest::{near_or_all, suggest};
use super::tree::{quoted, shortened};

/// The error type of the deserializer: the mistake and, after the innermost place has added it, its
/// place.
#[derive(Debug)]
pub(super) struct Mistake(Box<Inner>);

#[derive(Debug)]
struct Inner {
    what: What,
    help: Option<String>,
    at: Option<(String, Spot)>,
}

/// The part of a place that has the mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    Key,
    Value,
}

#[derive(Debug)]
pub(super) enum What {
    Message(String),
    /// A table where the type accepts none.
    Table(String),
    UnknownKey(String, &'static [&'static str]),
    UnknownName(String, &'static [&'static str]),
    MissingKey(String),
}

impl Mistake {
    pub fn new(what: What) -> Mistake {
        Mistake(Box::new(Inner { what, help: None, at: None }))
    }

    pub fn message(message: impl Into<String>) -> Mistake {
        Mistake::new(What::Message(message.into()))
    }

    pub fn help(mut self, help: impl FnOnce(&What) -> Option<String>) -> Mistake {
        if self.0.help.is_none() {
            self.0.help = help(&self.0.what);
        }
        self
    }

    /// True if the place, which is not known yet, holds a table that its type does not accept.
    pub fn is_table(&self) -> bool {
        self.0.at.is_none() && matches!(self.0.what, What::Table(_))
    }

    /// Adds the place, unless one further inside has done so.
    pub fn at(mut self, place: &Trail<'_>, spot: Spot) -> Mistake {
        if self.0.at.is_none() {
            self.0.at = Some((place.dotted(), spot));
        }
        self
    }

    /// The dotted path of the place, and of the key that is missing in it, if that is the mistake.
    pub fn place(&self) -> (String, Option<String>) {
        let at = self.0.at.as_ref().map_or(String::new(), |(p, _)| p.clone());
        let missing = match &self.0.what {
            What::MissingKey(key) => {
                let mut full = at.clone();
                path::push(&mut full, key);
                Some(full)
            }
            _ => None,
        };
        (at, missing)
    }

    /// The key that the user probably meant by an unknown one.
    pub fn meant(&self) -> Option<String> {
        match &self.0.what {
            What::UnknownKey(key, known) => suggest(key, *known),
            _ => None,
        }
    }

    pub fn diagnostic(&self, doc: &Document) -> Diagnostic {
        let (path, spot) = self.0.at.as_ref().map_or(("", Spot::Value), |(p, s)| (p.as_str(), *s));
        let (mut message, help) = self.words();
        if matches!(self.0.what, What::MissingKey(_)) && !path.is_empty() {
            // A table that only a `--set` names is more often a typing error than a new table.
            if let Some(near) = doc.meant_by_set(path) {
                let help = format!("did you mean `{near}`?");
                return doc.at(path, format!("there is no `{path}`"), true).help(help);
            }
            let _ = write!(message, " in `{path}`");
        }
        doc.at(path, message, spot == Spot::Key).help_opt(help).help_opt(self.0.help.clone())
    }

    fn words(&self) -> (String, Option<String>) {
        match &self.0.what {
            What::Message(m) | What::Table(m) => split_units(m),
            What::UnknownKey(key, known) => {
                (format!("unknown key `{}`", shortened(key, 60)), Some(near_or_all(key, "keys", known)))
            }
            What::UnknownName(name, known) => {
                (format!("unknown name {}", quoted(name)), Some(near_or_all(name, "names", known)))
            }
            What::MissingKey(key) => (format!("the key `{key}` is missing"), None),
        }
    }
}

/// Splits off the list of units at the end of a quantity's message, for the help.
fn split_units(message: &str) -> (String, Option<String>) {
    match message.strip_suffix(')').and_then(|m| m.rsplit_once(" (units: ")) {
        Some((what, units)) => (what.to_owned(), Some(format!("units: {units}"))),
        None => (message.to_owned(), None),
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().0)
    }
}

impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Mistake {
        Mistake::message(message.to_string())
    }
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Mistake {
        let message = format!("expected {}; found {}", plain(&expected.to_string()), in_words(found));
        Mistake::new(if found == Unexpected::Map { What::Table(message) } else { What::Message(message) })
    }
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Mistake {
        Mistake::invalid_type(found, expected)
    }
    fn invalid_length(len: usize, expected: &dyn Expected) -> Mistake {
        Mistake::message(format!("expected {}; found {len} elements", plain(&expected.to_string())))
    }
    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Mistake {
        Mistake::new(What::UnknownName(name.to_owned(), known))
    }
    fn unknown_field(key: &str, known: &'static [&'static str]) -> Mistake {
        Mistake::new(What::UnknownKey(key.to_owned(), known))
    }
    fn missing_field(key: &'static str) -> Mistake {
        Mistake::new(What::MissingKey(key.to_owned()))
    }
    fn duplicate_field(key: &'static str) -> Mistake {
        Mistake::message(format!("the key `{key}` is written twice, perhaps under another of its names"))
    }
}

/// The expectation of serde in plain language.
pub(super) fn plain(expected: &str) -> String {
    let whole = |low: &str, high: String| format!("a whole number from {low} to {high}");
    let (expected, low) = match expected.strip_prefix("a nonzero ") {
        Some(rest) => (rest, "1"),
        None => (expected, "0"),
    };
    match expected {
        "u8" => whole(low, u8::MAX.to_string()),
        "u16" => whole(low, u16::MAX.to_string()),
        "u32" => whole(low, u32::MAX.to_string()),
        "u64" | "usize" => whole(low, u64::MAX.to_string()),
        "u128" => "a whole number, not negative".to_owned(),
        "i8" => whole("-128", i8::MAX.to_string()),
        "i16" => whole("-32768", i16::MAX.to_string()),
        "i32" => whole(&i32::MIN.to_string(), i32::MAX.to_string()),
        "i64" | "isize" | "i128" => "a whole number".to_owned(),
        "f32" | "f64" | "floating point" => "a number".to_owned(),
        "a boolean" => "`true` or `false`".to_owned(),
        "a string" | "a str" | "a borrowed string" | "string or map" => "text".to_owned(),
        "a character" => "one character".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other if other.starts_with("tuple ") => "a list".to_owned(),
        other => other.to_owned(),
    }
}

fn in_words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(b) => format!("`{b}`"),
        Unexpected::Unsigned(n) => format!("the number {n}"),
        Unexpected::Signed(n) => format!("the number {n}"),
        Unexpected::Float(x) => format!("the number {x:?}"),
        Unexpected::Str(s) => format!("the text {}", quoted(s)),
        Unexpected::Char(c) => format!("the text {}", quoted(&c.to_string())),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Unit => "nothing".to_owned(),
        other => other.to_string(),
    }
}
