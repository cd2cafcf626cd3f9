//! Mistakes in a configuration, with their places and remedies.

use std::fmt;
use std::ops::Range;

use annotate_snippets::renderer::Renderer;
use annotate_snippets::{AnnotationKind, Group, Level, Origin as Location, Snippet};
use serde_json::json;

use super::suggest::suggest;
use super::tree::{is_mark_of_direction, shortened};

/// Largest number of mistakes that get the nearest name as their remedy.
const MOST_NEAREST: usize = 50;

/// The severity of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The run cannot start.
    Error,
    /// The run can start, but probably not as its author intended.
    Warning,
}

/// One mistake (or pitfall) in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// The mistake, in one sentence.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// Dotted path of the key.
    pub key: Option<String>,
    /// The file, or `--set` for text of the command line.
    pub file: String,
    /// The number of the `--set` (from 1) with the mistake, if it is in one.
    pub set: Option<usize>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Bytes of the file, or of the text of the `--set`.
    pub span: Option<Range<usize>>,
    /// The line, for display.
    pub(super) excerpt: Option<Excerpt>,
}

/// A line of the source (a window of it when it is very long) and the bytes of it to underline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub text: String,
    pub underline: Range<usize>,
    /// False for a window.
    pub whole: bool,
}

impl Diagnostic {
    /// An error about a whole file.
    pub fn error(file: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            help: None,
            key: None,
            file: file.into(),
            set: None,
            line: None,
            column: None,
            span: None,
            excerpt: None,
        }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds the remedy, if there is one.
    #[must_use]
    pub fn help_opt(mut self, help: Option<impl Into<String>>) -> Diagnostic {
        self.help = help.map(Into::into).or(self.help);
        self
    }

    /// Makes it a warning.
    #[must_use]
    pub fn warning(mut self) -> Diagnostic {
        self.severity = Severity::Warning;
        self
    }

    /// Message, source line with a caret, and help; `colour` adds ANSI escapes.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[self.group()])
    }

    /// The diagnostic as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "severity": match self.severity { Severity::Error => "error", Severity::Warning => "warning" },
            "message": self.message,
            "help": self.help,
            "key": self.key,
            "file": self.file,
            "set": self.set,
            "line": self.line,
            "column": self.column,
            "span": self.span.as_ref().map(|s| [s.start, s.end]),
        })
    }

    fn group(&self) -> Group<'_> {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(shortened(&self.message, 2000));
        let mut group = match &self.excerpt {
            Some(excerpt) => {
                let annotation = AnnotationKind::Primary.span(excerpt.underline.clone());
                let snippet = Snippet::source(excerpt.text.as_str())
                    .line_start(self.line.unwrap_or(1))
                    .line_numbering(self.set.is_none())
                    .annotation(annotation);
                // The display of a whole line has its column.
                match excerpt.whole {
                    true => title.element(snippet.path(shortened(&self.file, 500))),
                    false => title.element(self.location()).element(snippet),
                }
            }
            // A mistake outside any file has no place to show.
            None if self.file.is_empty() => title.elements(std::iter::empty::<Location<'_>>()),
            None => title.element(self.location()),
        };
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(shortened(help, 2000)));
        }
        group
    }

    fn location(&self) -> Location<'_> {
        let file = Location::path(shortened(&self.file, 500));
        match (self.line, self.column) {
            (Some(line), Some(column)) => file.line(line).char_column(column),
            _ => file,
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

/// All mistakes in a configuration: the error type of reading one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Creates an empty list.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }
    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }
    /// True if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Number of diagnostics.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// The remedy of an unknown name: the candidate that the user probably meant. A name is
    /// compared with all candidates, so only the first mistakes get this remedy.
    pub fn nearest<S: AsRef<str>>(
        &self,
        name: &str,
        candidates: impl IntoIterator<Item = S>,
    ) -> Option<String> {
        let near = if self.len() < MOST_NEAREST { suggest(name, candidates) } else { None };
        near.map(|near| format!("did you mean `{near}`?"))
    }
    /// True if one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }
    /// Mutable access, to complete them.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Diagnostic> {
        self.0.iter_mut()
    }
    /// The diagnostics in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }
    /// Returns `value` and the warnings, or all diagnostics if there is an error among them.
    pub fn into_result<T>(self, value: T) -> Result<(T, Diagnostics), Diagnostics> {
        if self.has_errors() { Err(self) } else { Ok((value, self)) }
    }
    /// Sorts them in the order of the file, then of the `--set`s.
    #[must_use]
    pub fn sorted(mut self) -> Diagnostics {
        self.0.sort_by_key(|d| (d.set, d.span.as_ref().map(|s| s.start)));
        self
    }
    /// All of them as text, with an empty line between two; `colour` adds ANSI escapes.
    pub fn render(&self, colour: bool) -> String {
        let rendered: Vec<String> = self.0.iter().map(|d| d.render(colour)).collect();
        rendered.join("\n\n")
    }
    /// A JSON array of [`Diagnostic::to_json`].
    pub fn to_json(&self) -> serde_json::Value {
        self.0.iter().map(Diagnostic::to_json).collect()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, iter: I) {
        self.0.extend(iter);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// A text with the starts of its lines, to turn byte offsets into lines and columns.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub text: String,
    starts: Vec<usize>,
}

/// Of lines longer than this many bytes only a window around the mistake is shown.
const WINDOW: usize = 240;

impl Source {
    pub fn new(text: String) -> Source {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Source { text, starts }
    }

    /// Sets the place of `diagnostic` to `span`.
    pub fn locate(&self, diagnostic: &mut Diagnostic, span: Range<usize>) {
        let start = self.boundary(span.start);
        let end = self.boundary(span.end.max(start));
        let line = self.starts.partition_point(|s| *s <= start) - 1;
        let line_start = self.starts[line];
        let line_end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let full = self.text[line_start..line_end.max(line_start)].trim_end_matches('\r');
        // The byte-order mark takes no column.
        let mark = if line == 0 && full.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let from = (start - line_start).min(full.len()).max(mark);
        let to = (end - line_start).clamp(from, full.len().max(from));
        diagnostic.line = Some(line + 1);
        diagnostic.column = Some(full[mark..from].chars().count() + 1);
        diagnostic.span = Some(start..end);
        diagnostic.excerpt = Some(excerpt(full, mark, from..to));
    }

    /// The nearest character boundary at or before `offset`.
    fn boundary(&self, offset: usize) -> usize {
        let mut i = offset.min(self.text.len());
        while !self.text.is_char_boundary(i) {
            i -= 1;
        }
        i
    }
}

fn excerpt(line: &str, mark: usize, underline: Range<usize>) -> Excerpt {
    let (mut from, mut to) = (mark, line.len());
    if line.len() > WINDOW {
        from = underline.start.saturating_sub(WINDOW / 4).max(mark);
        to = (from + WINDOW).min(line.len());
        while !line.is_char_boundary(from) {
            from += 1;
        }
        while !line.is_char_boundary(to) {
            to -= 1;
        }
    }
    let start = underline.start.clamp(from, to);
    let underline = start - from..underline.end.clamp(start, to) - from;
    // Marks of direction would reorder the display; their replacement has as many bytes.
    let text = line[from..to].chars().map(|c| match (is_mark_of_direction(c), c.len_utf8()) {
        (true, 2) => '\u{b7}',
        (true, _) => '\u{fffd}',
        (false, _) => c,
    });
    Excerpt { text: text.collect(), underline, whole: from == mark && to == line.len() }
}
