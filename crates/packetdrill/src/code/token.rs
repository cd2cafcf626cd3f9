//! Tokens of the code.

use crate::problem::{Problem, SourcePosition};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Int(i64),
    Float(f64),
    Text(String),
    Word(String),
    Sign(&'static str),
    /// End of a statement.
    End,
}

/// Operators and punctuation, longest first.
const SIGNS: &[&str] = &[
    "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "<", ">", "=", "+", "-", "*", "/", "%",
    "(", ")", ",", "&", "|", "^",
];

/// Splits code into tokens, each with its place.
pub(super) fn tokens(text: &str, start: SourcePosition) -> Result<Vec<(SourcePosition, Token)>, Problem> {
    let mut found = vec![];
    let (mut place, mut depth) = (start, 0u32);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (token, len) = match c {
            '\n' | ';' => ((depth == 0 || c == ';').then_some(Token::End), 1),
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '\\' => (None, rest.find('\n').map_or(rest.len(), |n| n + 1)),
            c if c.is_whitespace() => (None, c.len_utf8()),
            '\'' | '"' => text_literal(rest, c, place)?,
            c if c.is_ascii_digit() => number(rest, place)?,
            c if c.is_ascii_alphabetic() || c == '_' => {
                let len = rest.find(|x: char| !x.is_ascii_alphanumeric() && x != '_').unwrap_or(rest.len());
                (Some(Token::Word(rest[..len].to_owned())), len)
            }
            _ => sign(rest, place)?,
        };
        match token {
            Some(Token::Sign("(")) => depth += 1,
            Some(Token::Sign(")")) => depth = depth.saturating_sub(1),
            _ => {}
        }
        found.extend(token.map(|t| (place, t)));
        place = advance(place, &rest[..len]);
        rest = &rest[len..];
    }
    found.push((place, Token::End));
    Ok(found)
}

fn advance(mut place: SourcePosition, over: &str) -> SourcePosition {
    for c in over.chars() {
        place = if c == '\n' {
            SourcePosition { line: place.line + 1, column: 1 }
        } else {
            SourcePosition { column: place.column + 1, ..place }
        };
    }
    place
}

fn mistake(place: SourcePosition, message: &str) -> Problem {
    Problem::Mistake { place, message: message.into() }
}

fn text_literal(rest: &str, quote: char, place: SourcePosition) -> Result<(Option<Token>, usize), Problem> {
    let end = rest[1..].find(quote).ok_or_else(|| mistake(place, "the text has no end: add a quote"))?;
    Ok((Some(Token::Text(rest[1..=end].to_owned())), end + 2))
}

fn number(rest: &str, place: SourcePosition) -> Result<(Option<Token>, usize), Problem> {
    if let Some(hex) = rest.strip_prefix("0x") {
        let len = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        let n =
            i64::from_str_radix(&hex[..len], 16).map_err(|_| mistake(place, "this number cannot be read"))?;
        return Ok((Some(Token::Int(n)), len + 2));
    }
    let len = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let wrong = || mistake(place, "this number cannot be read");
    let token = if rest[..len].contains('.') {
        Token::Float(rest[..len].parse().map_err(|_| wrong())?)
    } else {
        Token::Int(rest[..len].parse().map_err(|_| wrong())?)
    };
    Ok((Some(token), len))
}

fn sign(rest: &str, place: SourcePosition) -> Result<(Option<Token>, usize), Problem> {
    match SIGNS.iter().find(|s| rest.starts_with(**s)) {
        Some(s) => Ok((Some(Token::Sign(s)), s.len())),
        None => {
            let c: String = rest.chars().take(1).collect();
            Err(Problem::NotApplicable { place, reason: format!("code with `{c}`") })
        }
    }
}
