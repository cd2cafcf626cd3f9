//! Dotted key paths, `flow.ftp.tcp.cc`: how `--set`, checks and messages name a place in a
//! configuration.

use std::fmt::Write as _;
use std::ops::Range;

/// One part of a written path: its text without quotes, and the bytes it was written with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub name: String,
    pub span: Range<usize>,
}

/// Joins `segments` into a dotted path and quotes those that need it: `flow."my flow".to`.
pub fn dotted<S: AsRef<str>>(segments: impl IntoIterator<Item = S>) -> String {
    let mut out = String::new();
    for segment in segments {
        push(&mut out, segment.as_ref());
    }
    out
}

/// Appends one segment to a dotted path.
pub(super) fn push(path: &mut String, segment: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&key(segment));
}

/// `name` as TOML writes it as a key: bare if it may be, quoted if not.
pub(super) fn key(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    push_key(&mut out, name);
    out
}

/// Appends [`key`] to `out`.
pub(super) fn push_key(out: &mut String, name: &str) {
    let bare = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
    if !name.is_empty() && name.bytes().all(bare) {
        out.push_str(name);
    } else {
        push_quoted(out, name);
    }
}

/// Appends `text` as a TOML string on one line.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    let plain = |c: u8| matches!(c, b' '..=b'~') && c != b'"' && c != b'\\';
    if text.bytes().all(plain) {
        out.push_str(text);
        out.push('"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Reads a dotted path up to its end or an unquoted `=`. Returns the segments and where reading
/// stopped, or the mistake and its place.
pub(super) fn parse(text: &str) -> Result<(Vec<Segment>, usize), (String, Range<usize>)> {
    let mut segments = Vec::new();
    let mut at = 0;
    loop {
        at = skip_blanks(text, at);
        let (segment, end) = parse_segment(text, at)?;
        segments.push(segment);
        at = skip_blanks(text, end);
        match text[at..].chars().next() {
            Some('.') => at += 1,
            None | Some('=') => return Ok((segments, at)),
            Some(c) => return Err((format!("unexpected `{c}` in a key path"), at..at + c.len_utf8())),
        }
    }
}

fn skip_blanks(text: &str, at: usize) -> usize {
    at + text[at..].bytes().take_while(|b| *b == b' ' || *b == b'\t').count()
}

fn parse_segment(text: &str, at: usize) -> Result<(Segment, usize), (String, Range<usize>)> {
    let rest = &text[at..];
    match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => parse_quoted(text, at, quote),
        _ => {
            // Placeholders in angle brackets are read too: `flow.<name>.to`.
            let len = rest.find(['.', '=', '"', '\'', ' ', '\t']).unwrap_or(rest.len());
            if len == 0 {
                let end = rest.chars().next().map_or(at, |c| at + c.len_utf8());
                return Err(("a key is missing in the path".to_owned(), at..end));
            }
            Ok((Segment { name: rest[..len].to_owned(), span: at..at + len }, at + len))
        }
    }
}

fn parse_quoted(text: &str, at: usize, quote: char) -> Result<(Segment, usize), (String, Range<usize>)> {
    let mut name = String::new();
    let mut chars = text[at + 1..].char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            c if c == quote => {
                let end = at + 1 + i + 1;
                return Ok((Segment { name, span: at..end }, end));
            }
            '\\' if quote == '"' => match chars.next() {
                Some((_, e @ ('"' | '\\'))) => name.push(e),
                Some((_, 'n')) => name.push('\n'),
                Some((_, 'r')) => name.push('\r'),
                Some((_, 't')) => name.push('\t'),
                Some((_, 'u')) => name.push(unicode_escape(&mut chars).ok_or_else(|| {
                    ("`\\u` needs four hexadecimal digits".to_owned(), at + 1 + i..at + 1 + i + 2)
                })?),
                _ => return Err(("unknown escape in a quoted key".to_owned(), at + 1 + i..at + 1 + i + 1)),
            },
            c => name.push(c),
        }
    }
    Err(("a quoted key is not closed".to_owned(), at..text.len()))
}

fn unicode_escape(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
    let code = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4)?;
    char::from_u32(code)
}

/// A path during a walk through the tree: a chain of borrowed names on the stack.
pub(super) struct Trail<'p> {
    pub parent: Option<&'p Trail<'p>>,
    pub step: Step<'p>,
}

/// One step of a [`Trail`].
#[derive(Clone, Copy)]
pub(super) enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl Trail<'_> {
    pub const ROOT: Trail<'static> = Trail { parent: None, step: Step::Root };

    /// The dotted path.
    pub fn dotted(&self) -> String {
        let mut out = self.parent.map_or(String::new(), Trail::dotted);
        match self.step {
            Step::Root => {}
            Step::Key(k) => push(&mut out, k),
            Step::Index(i) => push(&mut out, &i.to_string()),
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        parse(text).map(|(s, _)| s.into_iter().map(|s| s.name).collect()).map_err(|(m, _)| m)
    }

    #[test]
    fn paths_are_read_back_as_they_are_written() {
        for path in [vec!["flow", "ftp", "to"], vec!["a.b", "", "c\"d\\"], vec!["n\u{e4}he", "\n\u{1}"]] {
            assert_eq!(names(&dotted(&path)).unwrap(), path);
        }
        assert_eq!(dotted(["flow", "my flow"]), "flow.\"my flow\"");
    }

    #[test]
    fn broken_paths_are_refused_in_words() {
        assert_eq!(names("a..b").unwrap_err(), "a key is missing in the path");
        assert_eq!(names("a.").unwrap_err(), "a key is missing in the path");
        assert_eq!(names("a b").unwrap_err(), "unexpected `b` in a key path");
        assert_eq!(names("\"a").unwrap_err(), "a quoted key is not closed");
        assert_eq!(names("\"\\u12\"").unwrap_err(), "`\\u` needs four hexadecimal digits");
    }
}
