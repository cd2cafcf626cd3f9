//! A position in the text of a script.

use super::{Defines, Problem, SourcePosition};

/// A position in a text. Scripts are ASCII, except for comments and strings.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    place: SourcePosition,
    defines: &'a Defines,
}

/// The longest time of an event [s]: clocks count nanoseconds in 64 bits, and times are added.
const LATEST: i64 = 1 << 20;

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str, defines: &'a Defines) -> Cursor<'a> {
        Cursor { text, at: 0, place: SourcePosition { line: 1, column: 1 }, defines }
    }

    pub const fn defines(&self) -> &'a Defines {
        self.defines
    }

    pub const fn place(&self) -> SourcePosition {
        self.place
    }
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }
    pub fn starts(&self, with: &str) -> bool {
        self.rest().starts_with(with)
    }

    pub fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            self.place = SourcePosition { line: self.place.line + 1, column: 1 };
        } else {
            self.place.column += 1;
        }
        Some(c)
    }

    fn skip(&mut self, octets: usize) {
        let end = self.at + octets;
        while self.at < end && self.next().is_some() {}
    }

    /// Consumes `word` if it is next.
    pub fn take(&mut self, word: &str) -> bool {
        let found = self.starts(word);
        if found {
            self.skip(word.len());
        }
        found
    }

    /// Consumes characters while they satisfy `wanted`.
    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
        &self.text[start..self.at]
    }

    /// Consumes everything up to `end`, and `end`.
    pub fn take_until(&mut self, end: &str, what: &str) -> Result<&'a str, Problem> {
        let start = self.place;
        let Some(n) = self.rest().find(end) else {
            return Err(Problem::Mistake {
                place: start,
                message: format!("{what} has no end: add `{end}`"),
            });
        };
        let text = &self.rest()[..n];
        self.skip(n + end.len());
        Ok(text)
    }

    /// Skips white space and comments.
    pub fn space(&mut self) -> Result<(), Problem> {
        loop {
            self.take_while(char::is_whitespace);
            if self.take("//") || self.take("#") {
                self.take_while(|c| c != '\n');
            } else if self.take("/*") {
                self.take_until("*/", "the comment")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Skips white space, then consumes `word`.
    pub fn expect(&mut self, word: &str) -> Result<(), Problem> {
        self.space()?;
        if self.take(word) { Ok(()) } else { Err(self.mistake(&format!("`{word}` is expected here"))) }
    }

    pub fn identifier(&mut self) -> &'a str {
        if self.peek().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') {
            self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
        } else {
            ""
        }
    }

    /// Reads a decimal or hexadecimal number without sign, or a symbol that is defined as a number.
    pub fn number(&mut self) -> Result<i64, Problem> {
        let place = self.place;
        if let Some(name) = Some(self.identifier()).filter(|n| !n.is_empty()) {
            let value = self.defines.value(name).and_then(|v| v.parse().ok());
            return value.ok_or_else(|| Problem::Mistake {
                place,
                message: format!("a number is expected here; -D {name}=N defines `{name}` as one"),
            });
        }
        let hex = self.take("0x") || self.take("0X");
        let digits = self.take_while(|c| c.is_ascii_hexdigit() && (hex || c.is_ascii_digit()));
        i64::from_str_radix(digits, if hex { 16 } else { 10 })
            .map_err(|_| Problem::Mistake { place, message: "a number is expected here".into() })
    }

    /// Reads a number that fits a header field.
    pub fn field<T: TryFrom<i64>>(&mut self, what: &str) -> Result<T, Problem> {
        self.space()?;
        let place = self.place;
        let n = self.number()?;
        T::try_from(n)
            .map_err(|_| Problem::Mistake { place, message: format!("{n} does not fit the field {what}") })
    }

    /// Reads seconds, as `1`, `.1`, `1.5`; returns microseconds.
    pub fn seconds(&mut self) -> Result<i64, Problem> {
        let place = self.place;
        let wrong = || Problem::Mistake {
            place,
            message: "a time in seconds is expected here, as 0.1 or +.1".into(),
        };
        let whole = self.take_while(|c| c.is_ascii_digit());
        let after_dot = self.rest().strip_prefix('.').and_then(|r| r.chars().next());
        let mut fraction = "";
        if after_dot.is_some_and(|c| c.is_ascii_digit()) {
            self.take(".");
            fraction = self.take_while(|c| c.is_ascii_digit());
        } else if self.starts(".") && !self.starts("...") && !whole.is_empty() {
            self.take(".");
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(wrong());
        }
        let seconds: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| wrong())? };
        let six: String = fraction.chars().chain("000000".chars()).take(6).collect();
        let micros: i64 = six.parse().map_err(|_| wrong())?;
        if seconds > LATEST {
            let message = format!("{whole} s is too long for a script: at most {LATEST} s (12 days)");
            return Err(Problem::Mistake { place, message });
        }
        Ok(seconds * 1_000_000 + micros)
    }

    pub fn mistake(&self, message: &str) -> Problem {
        let next: String = self.rest().chars().take_while(|c| *c != '\n').take(20).collect();
        let message = if next.is_empty() {
            format!("{message}, not the end of the text or line")
        } else {
            format!("{message}, not `{next}`")
        };
        Problem::Mistake { place: self.place, message }
    }
    pub fn not_applicable(&self, reason: &str) -> Problem {
        Problem::NotApplicable { place: self.place, reason: reason.into() }
    }
}
