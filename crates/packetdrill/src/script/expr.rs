//! Arguments and results of system calls.

use super::cursor::Cursor;
use super::{Expr, Problem};

/// Largest depth of nested lists and records.
const DEPTH_MAX: u32 = 32;

/// Reads a comma-separated list up to `close`.
pub(super) fn arguments(c: &mut Cursor<'_>, close: char) -> Result<Vec<Expr>, Problem> {
    list(c, close, DEPTH_MAX)
}

fn list(c: &mut Cursor<'_>, close: char, depth: u32) -> Result<Vec<Expr>, Problem> {
    let mut found = vec![];
    loop {
        c.space()?;
        if c.peek() == Some(close) {
            c.next();
            return Ok(found);
        }
        found.push(expression(c, depth)?);
        c.space()?;
        if !c.take(",") && c.peek() != Some(close) {
            return Err(c.mistake(&format!("`,` or `{close}` is expected here")));
        }
    }
}

fn expression(c: &mut Cursor<'_>, depth: u32) -> Result<Expr, Problem> {
    let first = term(c, depth)?;
    let mut all = vec![first];
    loop {
        c.space()?;
        if !c.take("|") {
            break;
        }
        c.space()?;
        all.push(term(c, depth)?);
    }
    Ok(if all.len() > 1 { Expr::Or(all) } else { all.remove(0) })
}

fn term(c: &mut Cursor<'_>, depth: u32) -> Result<Expr, Problem> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(c.mistake("lists nest too deeply here"));
    };
    if c.take("...") {
        return Ok(Expr::Any);
    }
    if c.take("[") {
        return Ok(Expr::List(list(c, ']', depth)?));
    }
    if c.take("{") {
        return Ok(Expr::Record(record(c, depth)?));
    }
    if c.take("\"") {
        return Ok(Expr::Text(c.take_until("\"", "the text")?.to_owned()));
    }
    if c.take("-") {
        return Ok(Expr::Int(-c.number()?));
    }
    if c.take("~") {
        return term(c, depth);
    }
    if c.peek().is_some_and(|x| x.is_ascii_digit()) {
        return Ok(Expr::Int(c.number()?));
    }
    let name = c.identifier().to_owned();
    if name.is_empty() {
        return Err(c.mistake("an argument is expected here"));
    }
    if c.take("(") {
        return Ok(Expr::Call(name, list(c, ')', depth)?));
    }
    Ok(replacement(c, &name).unwrap_or(Expr::Name(name)))
}

/// The value of a symbol that is defined with one: a number or another name.
fn replacement(c: &Cursor<'_>, name: &str) -> Option<Expr> {
    let value = c.defines().value(name)?;
    Some(value.parse().map_or_else(|_| Expr::Name(value.to_owned()), Expr::Int))
}

fn record(c: &mut Cursor<'_>, depth: u32) -> Result<Vec<(Option<String>, Expr)>, Problem> {
    let mut found = vec![];
    loop {
        c.space()?;
        if c.take("}") {
            return Ok(found);
        }
        let value = expression(c, depth)?;
        c.space()?;
        let field = match value {
            // `name = value`, or `name(n) = value` for an array.
            Expr::Name(name) | Expr::Call(name, _) if c.take("=") => {
                c.space()?;
                (Some(name), expression(c, depth)?)
            }
            value => (None, value),
        };
        found.push(field);
        c.space()?;
        if !c.take(",") && !c.starts("}") {
            return Err(c.mistake("`,` or `}` is expected here"));
        }
    }
}

/// Reads the result of a call: a number with an optional error and an optional note between
/// parentheses.
pub(super) fn result(c: &mut Cursor<'_>) -> Result<(Option<i64>, Option<String>), Problem> {
    c.space()?;
    let result = if c.take("?") || c.take("...") {
        None
    } else {
        let sign = if c.take("-") { -1 } else { 1 };
        Some(sign * c.number()?)
    };
    let mut error = None;
    if !c.rest().starts_with('\n') {
        c.take_while(|x| x == ' ' || x == '\t');
        let name = c.identifier();
        error = (!name.is_empty()).then(|| name.to_owned());
        c.take_while(|x| x == ' ' || x == '\t');
        if c.take("(") {
            c.take_until(")", "the note")?;
        }
    }
    Ok((result, error))
}
