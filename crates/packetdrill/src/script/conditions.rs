//! Conditional parts of a script: `#ifdef NAME`, `#ifndef`, `#if`, `#elif`, `#else`, `#endif`,
//! `#define`, `#undef`.
//!
//! The directives are those of the C preprocessor (ISO/IEC 9899:2018, clause 6.10.1) as far as
//! scripts use them. A line that is left out becomes empty, so that places keep their line numbers.
//! A `#` before any other word begins a comment.

use std::collections::BTreeMap;

use super::{Problem, SourcePosition};

/// Symbols defined for a run (the option `-D`), with or without a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defines {
    symbols: BTreeMap<String, Option<String>>,
}

impl Defines {
    /// Defines a symbol from `NAME` or `NAME=VALUE`.
    ///
    /// # Errors
    ///
    /// NAME is not a letter or `_` followed by letters, digits and `_`, or VALUE is neither a whole
    /// number nor a name.
    pub fn add(&mut self, definition: &str) -> Result<(), String> {
        let (name, value) =
            definition.split_once('=').map_or((definition, None), |(n, v)| (n, Some(v.trim())));
        let name = name.trim();
        if !is_name(name) {
            return Err(format!("-D {definition}: NAME or NAME=VALUE is expected, with a name like FreeBSD"));
        }
        if let Some(v) = value
            && !is_name(v)
            && v.parse::<i64>().is_err()
        {
            return Err(format!("-D {definition}: the value is to be a whole number or a name"));
        }
        self.symbols.insert(name.to_owned(), value.map(str::to_owned));
        Ok(())
    }

    fn is_defined(&self, name: &str) -> bool {
        self.symbols.contains_key(name)
    }

    /// The value of a symbol that has one.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.symbols.get(name)?.as_deref()
    }

    /// The symbols that have a whole number as value.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, i64)> {
        self.symbols.iter().filter_map(|(n, v)| Some((n.as_str(), v.as_ref()?.parse().ok()?)))
    }
}

/// An `#if` and its branches.
struct Level {
    place: SourcePosition,
    /// True if lines of the present branch count.
    active: bool,
    /// True if a branch of this `#if` has counted.
    taken: bool,
    /// True if the lines around the `#if` count.
    outer: bool,
    has_else: bool,
}

/// Returns the text without the directives and without the branches that do not count, and the
/// symbols at its end.
pub(super) fn select(text: &str, defines: &Defines) -> Result<(String, Defines), Problem> {
    let mut defines = defines.clone();
    let mut levels: Vec<Level> = vec![];
    let mut kept = String::with_capacity(text.len());
    for (number, line) in (1u32..).zip(text.split_inclusive('\n')) {
        let active = levels.last().is_none_or(|l| l.active);
        let Some(directive) = Directive::of(line, number) else {
            kept.push_str(if active { line } else { ending(line) });
            continue;
        };
        directive.obey(&mut levels, &mut defines)?;
        kept.push_str(ending(line));
    }
    match levels.last() {
        Some(open) => Err(mistake(open.place, "this #if has no end: add `#endif`")),
        None => Ok((kept, defines)),
    }
}

fn ending(line: &str) -> &str {
    if line.ends_with('\n') { "\n" } else { "" }
}

struct Directive<'a> {
    place: SourcePosition,
    word: &'a str,
    rest: &'a str,
}

impl<'a> Directive<'a> {
    fn of(line: &'a str, number: u32) -> Option<Directive<'a>> {
        let indented = line.trim_start();
        let text = indented.strip_prefix('#')?;
        let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let known = ["if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef"].contains(&word);
        let column = (line.len() - indented.len() + 1) as u32;
        // A comment may follow.
        let rest = rest.split("//").next().unwrap_or_default();
        let rest = rest.split("/*").next().unwrap_or_default().trim();
        known.then_some(Directive { place: SourcePosition { line: number, column }, word, rest })
    }

    fn obey(&self, levels: &mut Vec<Level>, defines: &mut Defines) -> Result<(), Problem> {
        let active = levels.last().is_none_or(|l| l.active);
        match self.word {
            "ifdef" | "ifndef" | "if" => {
                let holds = active && self.holds(defines)?;
                let place = self.place;
                levels.push(Level { place, active: holds, taken: holds, outer: active, has_else: false });
            }
            "elif" | "else" => {
                let Some(level) = levels.last_mut().filter(|l| !l.has_else) else {
                    return Err(mistake(self.place, &format!("this #{} has no #if before it", self.word)));
                };
                let may = level.outer && !level.taken;
                level.has_else = self.word == "else";
                level.active = may && (level.has_else || self.holds(defines)?);
                level.taken |= level.active;
            }
            "endif" => {
                levels.pop().ok_or_else(|| mistake(self.place, "this #endif has no #if before it"))?;
            }
            _ if !active => {}
            "define" => {
                let (name, value) = self
                    .rest
                    .split_once(char::is_whitespace)
                    .map_or((self.rest, None), |(n, v)| (n, Some(v)));
                let text = value.map_or_else(|| name.to_owned(), |v| format!("{name}={}", v.trim()));
                defines.add(&text).map_err(|e| mistake(self.place, &e.replacen("-D", "#define", 1)))?;
            }
            _ => {
                defines.symbols.remove(self.rest);
            }
        }
        Ok(())
    }

    fn holds(&self, defines: &Defines) -> Result<bool, Problem> {
        match self.word {
            "if" | "elif" => {
                let mut c = Condition { text: self.rest, defines, depth: 0 };
                let value = c.any_of().filter(|_| c.text.trim().is_empty());
                let message =
                    "a condition is expected here, made of defined(NAME), names, numbers, == != ! && ||";
                value.map(|v| v != 0).ok_or_else(|| mistake(self.place, message))
            }
            _ if !is_name(self.rest) => {
                Err(mistake(self.place, &format!("a name is expected after #{}", self.word)))
            }
            word => Ok(defines.is_defined(self.rest) == (word == "ifdef")),
        }
    }
}

/// The expression of an `#if`; `None` if the text is no expression.
struct Condition<'a> {
    text: &'a str,
    defines: &'a Defines,
    depth: u32,
}

impl<'a> Condition<'a> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.text.trim_start();
        let found = rest.strip_prefix(sign);
        self.text = found.unwrap_or(rest);
        found.is_some()
    }

    fn any_of(&mut self) -> Option<i64> {
        let mut value = self.all_of()?;
        while self.take("||") {
            let other = self.all_of()?;
            value = i64::from(value != 0 || other != 0);
        }
        Some(value)
    }

    fn all_of(&mut self) -> Option<i64> {
        let mut value = self.compared()?;
        while self.take("&&") {
            let other = self.compared()?;
            value = i64::from(value != 0 && other != 0);
        }
        Some(value)
    }

    fn compared(&mut self) -> Option<i64> {
        let value = self.term()?;
        if self.take("==") {
            return Some(i64::from(value == self.term()?));
        }
        if self.take("!=") {
            return Some(i64::from(value != self.term()?));
        }
        Some(value)
    }

    fn term(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        if self.take("!") {
            return Some(i64::from(self.term()? == 0));
        }
        if self.take("(") {
            let value = self.any_of()?;
            return self.take(")").then_some(value);
        }
        let word = self.word();
        if word == "defined" {
            let closes = self.take("(");
            self.text = self.text.trim_start();
            let name = self.word();
            let whole = is_name(name) && (!closes || self.take(")"));
            return whole.then(|| i64::from(self.defines.is_defined(name)));
        }
        if is_name(word) {
            // 6.10.1 paragraph 4: a name that is not defined is 0. One without a value is 1, as
            // with `cc -D`.
            let value = self.defines.value(word).map(|v| v.parse().unwrap_or(0));
            return Some(value.unwrap_or_else(|| i64::from(self.defines.is_defined(word))));
        }
        word.parse().ok()
    }

    fn word(&mut self) -> &'a str {
        let end = self.text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        word
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn mistake(place: SourcePosition, message: &str) -> Problem {
    Problem::Mistake { place, message: message.to_owned() }
}

/// Largest number of terms in a condition.
const DEPTH_MAX: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, symbols: &[&str]) -> String {
        let mut defines = Defines::default();
        symbols.iter().for_each(|s| defines.add(s).unwrap());
        let (kept, _) = select(text, &defines).unwrap();
        assert_eq!(kept.matches('\n').count(), text.matches('\n').count(), "lines keep their numbers");
        kept.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_branch_counts() {
        let text = "a\n#ifdef X\nb\n#else\nc\n#endif\n#ifndef X // why\nd\n#endif\n# a comment\n";
        assert_eq!(kept(text, &[]), "a c d # a comment");
        assert_eq!(kept(text, &["X"]), "a b # a comment");
    }

    #[test]
    fn conditions_nest_and_end_with_the_first_that_holds() {
        let text = "#if defined(A) && V == 3\na\n#elif !defined B\nb\n#elif V\nv\n#else\ne\n#endif";
        assert_eq!(kept(text, &["A", "V=3"]), "a");
        assert_eq!(kept(text, &["A", "V=2"]), "b");
        assert_eq!(kept(text, &["B=1", "V=2"]), "v");
        assert_eq!(kept(text, &["B"]), "e");
        let nested = "#if 0\n#ifdef A\na\n#else\nb\n#endif\n#elif 1\nc\n#else\nd\n#endif";
        assert_eq!(kept(nested, &["A"]), "c");
        assert_eq!(kept("#define A\n#ifdef A\na\n#endif\n#undef A\n#ifdef A\nb\n#endif\n", &[]), "a");
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, line, expected) in [
            ("\n#ifdef A\n", 2, "add `#endif`"),
            ("\n\n  #endif\n", 3, "no #if before it"),
            ("#if 1\n#else\n#else\n#endif", 3, "no #if before it"),
            ("#ifdef\n#endif", 1, "a name is expected after #ifdef"),
            ("#if (1\n#endif", 1, "a condition is expected"),
            ("#define 3\n", 1, "#define 3: NAME"),
        ] {
            let e = select(text, &Defines::default()).unwrap_err();
            let Problem::Mistake { place, message } = e else { panic!("{text}") };
            assert!(place.line == line && message.contains(expected), "{text}: {place:?} {message}");
        }
        let mut d = Defines::default();
        for wrong in ["", "3A", "A B", "A=b c", "=1"] {
            assert!(d.add(wrong).is_err(), "{wrong}");
        }
    }
}
