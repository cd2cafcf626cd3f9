//! Options and events.

use super::conditions::{Defines, select};
use super::cursor::Cursor;
use super::expr::{arguments, result};
use super::packet::packet;
use super::{Call, Event, Kind, Problem, Script, Time, ToolOption};
use crate::code::Code;

/// Reads a script for which no symbol is defined.
pub fn parse(text: &str) -> Result<Script, Problem> {
    parse_with(text, &Defines::default())
}

/// Reads a script. `defines` apply to its `#ifdef` lines and to names in arguments of calls.
///
/// # Errors
///
/// A mistake in the text, with line, column and remedy; no text causes a panic.
pub fn parse_with(text: &str, defines: &Defines) -> Result<Script, Problem> {
    let mut script = Script::default();
    let (text, defines) = select(text, defines)?;
    script.symbols = defines.numbers().map(|(n, v)| (n.to_owned(), v)).collect();
    let mut c = Cursor::new(&text, &defines);
    loop {
        c.space()?;
        if c.peek().is_none() {
            return Ok(script);
        }
        let place = c.place();
        if c.take("--") {
            let name = c.take_while(|x| x.is_ascii_alphanumeric() || x == '_').to_owned();
            let value = if c.take("=") { c.take_while(|x| !x.is_whitespace()) } else { "" };
            script.options.push(ToolOption { place, name, value: value.trim_matches('"').to_owned() });
            continue;
        }
        script.events.push(event(&mut c)?);
    }
}

fn event(c: &mut Cursor<'_>) -> Result<Event, Problem> {
    let place = c.place();
    let time = if c.starts("`") { Time::None } else { time(c)? };
    c.space()?;
    let kind = if c.take("`") {
        Kind::Command(c.take_until("`", "the shell command")?.to_owned())
    } else if c.take("%{") {
        let start = c.place();
        Kind::Code(Code::parse(c.take_until("}%", "the code")?, start)?)
    } else if c.starts("<") || c.starts(">") {
        Kind::Packet(packet(c)?)
    } else {
        Kind::Call(call(c)?)
    };
    Ok(Event { place, time, kind })
}

fn time(c: &mut Cursor<'_>) -> Result<Time, Problem> {
    if c.take("*") {
        return Ok(Time::Any);
    }
    let relative = c.take("+");
    if relative {
        c.space()?;
    }
    if !c.peek().is_some_and(|x| x.is_ascii_digit() || x == '.') {
        return Err(c.mistake("an event begins with a time (0.1, +.1, +.1~+.2 or *)"));
    }
    let from = c.seconds()?;
    c.space()?;
    if !c.take("~") {
        return Ok(if relative { Time::Relative(from) } else { Time::Absolute(from) });
    }
    c.space()?;
    c.take("+");
    let to = c.seconds()?;
    Ok(if relative { Time::RelativeRange(from, to) } else { Time::AbsoluteRange(from, to) })
}

fn call(c: &mut Cursor<'_>) -> Result<Call, Problem> {
    let end = if c.take("...") {
        c.space()?;
        Some(c.seconds()?)
    } else {
        None
    };
    c.space()?;
    let name = c.identifier().to_owned();
    if name.is_empty() {
        return Err(c.mistake("a packet (< or >), a system call, a `command` or %{ code }% is expected here"));
    }
    c.expect("(")?;
    let args = arguments(c, ')')?;
    c.expect("=")?;
    let (result, error) = result(c)?;
    Ok(Call { name, args, end, result, error })
}
