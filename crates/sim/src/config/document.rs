//! A configuration text, parsed: every key and every value has its place in the file.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::convert::{Converter, DEEPEST};
use super::diagnostic::{Diagnostic, Diagnostics, Source};
use super::path::{self, Segment};
use super::suggest::suggest;
use super::tree::{Entry, Node, Origin, Table, Value, quoted, shortened};
use super::write;

/// Largest text that is searched for a second syntax error [B].
const RECOVER_BELOW: usize = 256 * 1024;
/// Largest number of tables whose header follows that of a table inside them: the parser's time
/// grows with its square.
const MOST_HEADERS: usize = 32_768;
/// Largest number of syntax errors that are reported.
const MOST_SYNTAX_ERRORS: usize = 20;

/// A TOML text as a tree that stores the origin of every key and value, with the `--set`s
/// applied to it.
///
/// ```
/// # use lasthop_sim::config::Document;
/// let mut doc = Document::parse("[flow.ftp]\nto = \"ue\"", "a.toml").unwrap();
/// doc.apply_set("flow.ftp.tcp.cc=reno").unwrap();
/// assert_eq!(doc.get("flow.ftp.tcp.cc").unwrap().as_str(), Some("reno"));
/// let error = doc.error_at("flow.ftp.to", "no node `ue`");
/// assert_eq!((error.line, error.column), (Some(2), Some(6)));
/// ```
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) sets: Vec<Source>,
    pub(super) root: Node,
}

impl Document {
    /// Parses `text`; `name` is its name in messages. All syntax errors are reported.
    pub fn parse(text: &str, name: &str) -> Result<Document, Diagnostics> {
        let mut doc = Document::empty(name);
        doc.source = Source::new(text.to_owned());
        if let Some(at) = text.find('\0') {
            return Err(doc.syntax("a NUL byte: this is not a text file".to_owned(), at..at + 1).into());
        }
        if text.lines().filter(|line| line.trim_start().starts_with('[')).nth(MOST_HEADERS).is_some() {
            let message = format!("more than {MOST_HEADERS} lines that begin with `[`");
            return Err(Diagnostic::error(name, message).into());
        }
        let (mut root, errors) = match DeTable::parse(text) {
            Ok(root) => (root, Vec::new()),
            Err(_) if text.len() < RECOVER_BELOW => DeTable::parse_recoverable(text),
            Err(first) => (Spanned::new(0..0, DeTable::default()), vec![first]),
        };
        let mut diagnostics = doc.syntax_errors(&errors);
        let root = Spanned::new(root.span(), DeValue::Table(std::mem::take(root.get_mut())));
        let converted = Converter { origin: &Origin::File }.node(&root, 0);
        match converted {
            Ok(node) => doc.root = Node { value: node.value, origin: Origin::Program },
            Err((message, span)) => diagnostics.push(doc.syntax(message, span)),
        }
        if diagnostics.is_empty() { Ok(doc) } else { Err(diagnostics) }
    }

    /// Parses bytes, which must be UTF-8.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Document, Diagnostics> {
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => return Document::parse(text, name),
            Err(error) => error,
        };
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            let message = "the file is written in UTF-16";
            return Err(Diagnostic::error(name, message).help("save it as UTF-8").into());
        }
        let at = error.valid_up_to();
        let line_end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| at + i);
        let mut text = String::from_utf8_lossy(&bytes[..at]).into_owned();
        text.push_str(&String::from_utf8_lossy(&bytes[at..line_end.min(at + 200)]));
        let doc = Document { source: Source::new(text), ..Document::empty(name) };
        let message = format!("the byte 0x{:02X} is not UTF-8", bytes[at]);
        let length = '\u{fffd}'.len_utf8();
        Err(doc.syntax(message, at..at + length).help("save the file as UTF-8").into())
    }

    /// Creates a document without keys, for programs that build one.
    pub fn empty(name: &str) -> Document {
        Document {
            name: name.to_owned(),
            source: Source::new(String::new()),
            sets: Vec::new(),
            root: Value::Table(Table::default()).into(),
        }
    }

    /// The name of the document in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The table of all keys.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The node at a dotted path; elements of lists are numbered from 0: `at.0.set`.
    pub fn get(&self, path: &str) -> Option<&Node> {
        let (segments, end) = path::parse(path).ok()?;
        if end != path.len() {
            return None;
        }
        segments.iter().try_fold(&self.root, |node, s| child(node, &s.name).map(|(_, n)| n))
    }

    /// Puts `value` at a dotted path, creates missing tables of the path and replaces an earlier
    /// value.
    pub fn insert(&mut self, path: &str, value: impl Into<Node>) -> Result<(), Diagnostics> {
        let fail = |message: String| Diagnostics::from(Diagnostic::error(self.name.clone(), message));
        let (segments, end) = path::parse(path).map_err(|(message, _)| fail(message))?;
        if end != path.len() {
            return Err(fail(format!("unexpected `=` in the key path {}", quoted(path))));
        }
        put(&mut self.root, &segments, value.into(), &|_| Origin::Program).map_err(|(m, _)| fail(m))
    }

    /// A document of the table `scenario` and of some `entries`, table and name. Its messages show
    /// no line of the text.
    pub(crate) fn part(&self, entries: &BTreeSet<(String, String)>) -> Document {
        let mut part = Document::empty(&self.name);
        part.sets = self.sets.iter().map(|_| Source::new(String::new())).collect();
        let (Value::Table(all), Value::Table(root)) = (&self.root.value, &mut part.root.value) else {
            return part;
        };
        let head = all.0.get_key_value("scenario");
        root.0.extend(head.map(|(name, entry)| (name.clone(), entry.clone())));
        for (table, name) in entries {
            let Some(Entry { key, node }) = all.0.get(table) else { continue };
            let Value::Table(from) = &node.value else { continue };
            let Some(entry) = from.0.get(name) else { continue };
            let empty = || Node { value: Table::default().into(), origin: node.origin.clone() };
            let to = root.0.entry(table.clone()).or_insert_with(|| Entry { key: key.clone(), node: empty() });
            if let Value::Table(to) = &mut to.node.value {
                to.0.insert(name.clone(), entry.clone());
            }
        }
        part
    }

    /// Takes back the `entries` of a part of this document. Values that were set in the part have
    /// no text here.
    pub(crate) fn adopt(&mut self, part: Document, entries: &BTreeSet<(String, String)>) {
        let known = self.sets.len();
        let (Value::Table(all), Value::Table(mut root)) = (&mut self.root.value, part.root.value) else {
            return;
        };
        for (table, name) in entries {
            let from = root.0.get_mut(table).map(|e| &mut e.node.value);
            let to = all.0.get_mut(table).map(|e| &mut e.node.value);
            if let (Some(Value::Table(from)), Some(Value::Table(to))) = (from, to)
                && let Some(mut entry) = from.0.swap_remove(name)
            {
                mark_sets(&mut entry.node, known);
                to.0.insert(name.clone(), entry);
            }
        }
    }

    /// The configuration as TOML, with every `--set` applied; comments are not kept.
    pub fn to_toml(&self) -> String {
        write::document(&self.root)
    }

    /// An error at the value of `path`, or at the nearest parent that is written in a text.
    pub fn error_at(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        self.at(path, message.into(), false)
    }

    /// An error at the key of `path` itself.
    pub fn error_at_key(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        self.at(path, message.into(), true)
    }

    /// An error at some characters of the text at `path` (or at its nearest existing parent), or at
    /// the whole text if its notation has escapes.
    pub fn error_within(&self, path: &str, within: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let mut diagnostic = self.error_at(path, message);
        let segments = path::parse(path).map_or(Vec::new(), |(segments, _)| segments);
        let mut node = &self.root;
        for segment in &segments {
            let Some((_, inner)) = child(node, &segment.name) else { break };
            node = inner;
        }
        let source = match &node.origin {
            Origin::File(_) => Some(&self.source),
            Origin::Set { number, .. } => self.sets.get(number - 1),
            Origin::Program => None,
        };
        let (Origin::File(span) | Origin::Set { span, .. }) = &node.origin else { return diagnostic };
        let found = source.zip(node.as_str()).and_then(|(source, text)| {
            let at = span.start + source.text.get(span.clone())?.find(text)?;
            let byte = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(i, _)| i);
            Some((source, at + byte(within.start)..at + byte(within.end.max(within.start + 1))))
        });
        if let Some((source, span)) = found {
            source.locate(&mut diagnostic, span);
        }
        diagnostic
    }

    /// A warning at the value of `path`, or at the nearest parent that is written in a text.
    pub fn warning_at(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        self.at(path, message.into(), false).warning()
    }

    /// The table beside `path` that the user probably meant, if only a `--set` has created `path`.
    pub(super) fn meant_by_set(&self, path: &str) -> Option<String> {
        let (segments, _) = path::parse(path).ok()?;
        let (last, before) = segments.split_last()?;
        let parent = before.iter().try_fold(&self.root, |node, s| child(node, &s.name).map(|(_, n)| n))?;
        let Value::Table(table) = &parent.value else { return None };
        let set = |name: &str| matches!(child(parent, name), Some((Some(Origin::Set { .. }), _)));
        if !set(&last.name) {
            return None;
        }
        let near = suggest(&last.name, table.keys().filter(|name| !set(name)))?;
        let mut meant = path[..last.span.start].trim_end_matches('.').to_owned();
        path::push(&mut meant, &near);
        Some(meant)
    }

    pub(super) fn at(&self, path: &str, message: String, at_key: bool) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.name.clone(), message);
        if !path.is_empty() {
            diagnostic.key = Some(path.to_owned());
        }
        let segments = path::parse(path).map_or(Vec::new(), |(segments, _)| segments);
        let mut node = &self.root;
        let mut origin = &self.root.origin;
        for (i, segment) in segments.iter().enumerate() {
            let Some((key, value)) = child(node, &segment.name) else { break };
            let wants_key = at_key && i + 1 == segments.len();
            let written = if wants_key { key.unwrap_or(&value.origin) } else { &value.origin };
            if *written != Origin::Program {
                origin = written;
            }
            node = value;
        }
        self.locate(&mut diagnostic, origin);
        diagnostic
    }

    fn locate(&self, diagnostic: &mut Diagnostic, origin: &Origin) {
        match origin {
            Origin::File(span) => self.source.locate(diagnostic, span.clone()),
            Origin::Set { number, span } => {
                diagnostic.file = "--set".to_owned();
                diagnostic.set = Some(*number);
                if let Some(text) = self.sets.get(number - 1) {
                    text.locate(diagnostic, span.clone());
                }
            }
            Origin::Program => {}
        }
    }

    pub(super) fn syntax(&self, message: String, span: Range<usize>) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.name.clone(), message);
        self.source.locate(&mut diagnostic, span);
        diagnostic
    }

    fn syntax_errors(&self, errors: &[toml::de::Error]) -> Diagnostics {
        let mut out = Diagnostics::new();
        for error in errors.iter().take(MOST_SYNTAX_ERRORS) {
            let end = self.source.text.len();
            let span = error.span().unwrap_or(end..end);
            let written = self.source.text.get(span.clone()).unwrap_or_default();
            let (message, help) = in_words(error.message(), written);
            out.push(self.syntax(message, span).help_opt(help));
        }
        if errors.len() > MOST_SYNTAX_ERRORS {
            let more = errors.len() - MOST_SYNTAX_ERRORS;
            out.push(Diagnostic::error(self.name.clone(), format!("and {more} more syntax errors")));
        }
        out
    }
}

/// The parser's message, completed where it lacks information.
fn in_words(message: &str, written: &str) -> (String, Option<String>) {
    if message.starts_with("duplicate key") {
        return (
            format!("the key `{}` is written twice", shortened(written, 60)),
            Some("keep one of the two".to_owned()),
        );
    }
    if message.contains("string values must be quoted") {
        return ("text must stand in quotes".to_owned(), Some(format!("write {}", quoted(written))));
    }
    (message.to_owned(), None)
}

/// Marks the values of each `--set` after the `known` ones as set by a program.
fn mark_sets(node: &mut Node, known: usize) {
    let later = |origin: &Origin| matches!(origin, Origin::Set { number, .. } if *number > known);
    if later(&node.origin) {
        node.origin = Origin::Program;
    }
    match &mut node.value {
        Value::Table(table) => {
            for entry in table.0.values_mut() {
                if later(&entry.key) {
                    entry.key = Origin::Program;
                }
                mark_sets(&mut entry.node, known);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mark_sets(item, known)),
        _ => {}
    }
}

/// The child of `node` named or numbered `name`, with the origin of its key.
pub(super) fn child<'a>(node: &'a Node, name: &str) -> Option<(Option<&'a Origin>, &'a Node)> {
    match &node.value {
        Value::Table(t) => t.0.get(name).map(|e| (Some(&e.key), &e.node)),
        Value::Array(a) => a.get(name.parse::<usize>().ok()?).map(|n| (None, n)),
        _ => None,
    }
}

/// Puts `value` at `path` below `node`, or changes nothing. A bare name in the path, `app =
/// "bulk"`, becomes a table with that `kind`.
pub(super) fn put(
    mut node: &mut Node,
    path: &[Segment],
    mut value: Node,
    origin: &dyn Fn(Range<usize>) -> Origin,
) -> Result<(), (String, Range<usize>)> {
    let end = path.last().map_or(0, |s| s.span.end);
    if path.len() + depth(&value) > DEEPEST {
        return Err((format!("tables are nested more than {DEEPEST} levels deep"), 0..end));
    }
    check_way(node, path)?;
    for (i, segment) in path.iter().enumerate() {
        let last = i + 1 == path.len();
        if let Value::String(name) = &node.value {
            let kind = Node { value: Value::String(name.clone()), origin: node.origin.clone() };
            let mut table = Table::default();
            table.0.insert("kind".to_owned(), Entry { key: node.origin.clone(), node: kind });
            *node = Node { value: Value::Table(table), origin: origin(segment.span.clone()) };
        }
        let next = match &mut node.value {
            Value::Table(table) => {
                let key = origin(segment.span.clone());
                let fresh = || Node { value: Table::default().into(), origin: key.clone() };
                let entry = table.0.entry(segment.name.clone());
                &mut entry.or_insert_with(|| Entry { key: key.clone(), node: fresh() }).node
            }
            Value::Array(items) => match segment.name.parse().ok().and_then(|i: usize| items.get_mut(i)) {
                Some(element) => element,
                None => break,
            },
            // `check_way` has refused these, and lists without the element.
            _ => break,
        };
        if last {
            std::mem::swap(next, &mut value);
        }
        node = next;
    }
    Ok(())
}

/// Checks that `put` can follow `path`. `put` changes the tree as it goes, and this check avoids a
/// copy of the document for each of many keys.
fn check_way(mut node: &Node, path: &[Segment]) -> Result<(), (String, Range<usize>)> {
    let mut walked = String::new();
    for segment in path {
        node = match &node.value {
            // The table that replaces this name has one key, the name itself.
            Value::String(_) if segment.name == "kind" => node,
            Value::String(_) => return Ok(()),
            Value::Table(table) => match table.get(&segment.name) {
                Some(next) => next,
                None => return Ok(()),
            },
            Value::Array(items) => {
                let found = segment.name.parse::<usize>().ok().and_then(|i| items.get(i));
                found
                    .ok_or_else(|| (no_element(&walked, &segment.name, items.len()), segment.span.clone()))?
            }
            other => {
                let message = format!("`{walked}` is {}, it has no keys", other.in_words());
                return Err((message, segment.span.clone()));
            }
        };
        path::push(&mut walked, &segment.name);
    }
    Ok(())
}

fn no_element(path: &str, index: &str, count: usize) -> String {
    match (index.parse::<usize>(), count) {
        (Err(_), _) => format!("`{path}` is a list: `{index}` is not the number of an element"),
        (Ok(_), 0) => format!("`{path}` is an empty list"),
        (Ok(i), _) => format!("`{path}` has no element {i}: they are numbered from 0 to {}", count - 1),
    }
}

fn depth(node: &Node) -> usize {
    match &node.value {
        Value::Table(t) => 1 + t.iter().map(|(_, n)| depth(n)).max().unwrap_or(0),
        Value::Array(a) => 1 + a.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
