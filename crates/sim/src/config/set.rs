//! `--set flow.ftp.tcp.cc=reno`: one value of the configuration, from the command line.

use std::ops::Range;

use toml::de::DeValue;

use super::convert::Converter;
use super::diagnostic::{Diagnostic, Diagnostics, Source};
use super::document::{Document, put};
use super::path;
use super::tree::{Node, Origin, Value};

/// Largest length of an argument; a longer one is a mistake.
const LONGEST: usize = 1 << 20;

impl Document {
    /// Applies `path=value`. The value is TOML; text that is not, a bare word or `10 ms`, is taken
    /// as a string. Missing tables are created, elements of lists are numbered from 0, and a
    /// key below a bare enum name (`app = "bulk"`) makes it a table of that `kind`.
    pub fn apply_set(&mut self, text: &str) -> Result<(), Diagnostics> {
        self.apply_set_by(text, |root, number| apply(root, text, number))
    }

    fn apply_set_by(
        &mut self,
        text: &str,
        apply: impl FnOnce(&mut Node, usize) -> Result<(), Failure>,
    ) -> Result<(), Diagnostics> {
        let number = self.sets.len() + 1;
        self.sets.push(Source::new(text.to_owned()));
        apply(&mut self.root, number).map_err(|(message, span, help)| {
            let mut diagnostic = Diagnostic::error("--set", message).help_opt(help);
            diagnostic.set = Some(number);
            self.sets[number - 1].locate(&mut diagnostic, span);
            diagnostic.into()
        })
    }

    /// As [`Document::apply_set`], but the key as it is written becomes one key of `table`:
    /// `flow.ftp.tcp.cc=reno` is `[set] "flow.ftp.tcp.cc" = "reno"`.
    pub fn apply_set_in(&mut self, table: &str, text: &str) -> Result<(), Diagnostics> {
        self.apply_set_by(text, |root, number| apply_in(root, table, text, number))
    }

    /// Writes out the default of each table with a `kind` above the key of `text` that the file
    /// does not have: `--set ap.home.buffer.target="5 ms"` changes one key of the default buffer.
    /// `defaults` gives the default of a path as TOML, if that is a name or a table with a `kind`.
    pub fn spell_out_kinds(&mut self, text: &str, defaults: impl Fn(&[&str]) -> Option<String>) {
        let Ok((segments, _)) = path::parse(text) else { return };
        // A `--set` of the kind itself replaces the default's other keys.
        let chosen = usize::from(segments.last().is_some_and(|s| s.name == "kind"));
        for length in 1..segments.len() - chosen {
            let (way, names) = (&segments[..length], segments[..length].iter().map(|s| s.name.as_str()));
            let names: Vec<&str> = names.collect();
            if self.get(&path::dotted(&names)).is_some() {
                continue;
            }
            let Some(default) = defaults(&names) else { continue };
            let Ok(node) = value(&default, 0, &|_| Origin::Program) else { continue };
            let _unchanged_if_it_does_not_fit = put(&mut self.root, way, node, &|_| Origin::Program);
        }
    }

    /// The texts that were applied, in their order.
    pub fn set_texts(&self) -> impl Iterator<Item = &str> {
        self.sets.iter().map(|set| set.text.as_str())
    }

    /// Number of applied texts. A diagnostic's `set` is the number of one.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }
}

type Failure = (String, Range<usize>, Option<&'static str>);

/// The first part of the key of `key=value`; None if there is no key.
pub(crate) fn first_of(text: &str) -> Option<String> {
    path::parse(text).ok()?.0.into_iter().next().map(|s| s.name)
}

fn apply(root: &mut Node, text: &str, number: usize) -> Result<(), Failure> {
    let (segments, equals) = key(text)?;
    set(root, &segments, text, equals, number)
}

fn apply_in(root: &mut Node, table: &str, text: &str, number: usize) -> Result<(), Failure> {
    let (segments, equals) = key(text)?;
    let whole = path::dotted(segments.into_iter().map(|s| s.name));
    let way = [table.to_owned(), whole].map(|name| path::Segment { name, span: 0..equals });
    set(root, &way, text, equals, number)
}

/// The parts of the key, and the position of its `=`.
fn key(text: &str) -> Result<(Vec<path::Segment>, usize), Failure> {
    const EXAMPLE: &str = "write it like `--set flow.ftp.tcp.cc=reno`";
    if text.len() > LONGEST {
        return Err((format!("the text is longer than {LONGEST} bytes"), 0..0, None));
    }
    let (segments, equals) = path::parse(text).map_err(|(m, span)| (m, span, Some(EXAMPLE)))?;
    if equals == text.len() {
        return Err(("there is no `=` and no value".to_owned(), 0..equals, Some(EXAMPLE)));
    }
    Ok((segments, equals))
}

fn set(
    root: &mut Node,
    segments: &[path::Segment],
    text: &str,
    equals: usize,
    number: usize,
) -> Result<(), Failure> {
    let origin = |span: Range<usize>| Origin::Set { number, span };
    let node = value(text, equals + 1, &origin)?;
    put(root, segments, node, &origin).map_err(|(m, span)| (m, span, None))
}

/// The value that begins at byte `from` of `text`.
fn value(text: &str, from: usize, origin: &dyn Fn(Range<usize>) -> Origin) -> Result<Node, Failure> {
    let raw = &text[from..];
    let start = from + (raw.len() - raw.trim_start().len());
    let written = raw.trim();
    let span = start..start + written.len();
    if written.is_empty() {
        return Err((
            "there is no value after the `=`".to_owned(),
            from..from,
            Some("an empty text is `\"\"`"),
        ));
    }
    match DeValue::parse(written) {
        Ok(parsed) => {
            let shifted = |s: Range<usize>| origin(start + s.start..start + s.end);
            let converted = Converter { origin: &shifted }.node(&parsed, 0);
            converted.map_err(|(m, s)| (m, start + s.start..start + s.end, None))
        }
        Err(error) if written.starts_with(['"', '\'', '[', '{']) => {
            let at = error.span().unwrap_or(0..written.len());
            Err((error.message().to_owned(), start + at.start..start + at.end, None))
        }
        Err(_) => Ok(Node { value: Value::String(written.to_owned()), origin: origin(span) }),
    }
}
