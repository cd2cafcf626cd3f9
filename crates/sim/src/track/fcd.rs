//! SUMO's floating car data (`--fcd-output`): XML, time steps with their vehicles.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{Sample, Samples, TrackError, wrong};

/// `<timestep time="..."><vehicle id="..." x="..." y="..."/></timestep>`; persons and containers
/// count as vehicles.
pub(super) fn read(text: &str) -> Result<Samples, TrackError> {
    let mut reader = Reader::from_str(text);
    let mut samples = Samples::new();
    let (mut time, mut line, mut seen) = (None, 1, 0);
    loop {
        let event = reader.read_event();
        let place = (reader.buffer_position() as usize).min(text.len());
        line += text.as_bytes().get(seen..place).map_or(0, |b| b.iter().filter(|c| **c == b'\n').count());
        seen = place;
        let tag = match event {
            Ok(Event::Start(tag) | Event::Empty(tag)) => tag,
            Ok(Event::Eof) => return Ok(samples),
            Ok(_) => continue,
            Err(e) => {
                return wrong(
                    line,
                    format!("this is not XML: {e}"),
                    "a file that was cut off ends like this",
                );
            }
        };
        match tag.name().as_ref() {
            b"timestep" => time = Some(number(&tag, "time", line)?),
            b"vehicle" | b"person" | b"container" => {
                let Some(t) = time else {
                    return wrong(line, "a vehicle outside of any time step", "is it SUMO's FCD output?");
                };
                let Some(id) = attribute(&tag, "id", line)? else {
                    return wrong(line, "a vehicle without an id", "nodes are identified by their ids");
                };
                let at = [number(&tag, "x", line)?, number(&tag, "y", line)?];
                samples.entry(id).or_default().push(Sample { line, t, at });
            }
            _ => {}
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str, line: usize) -> Result<Option<String>, TrackError> {
    match tag.try_get_attribute(name) {
        Ok(None) => Ok(None),
        Ok(Some(a)) => match a.unescape_value() {
            Ok(value) => Ok(Some(value.into_owned())),
            Err(e) => wrong(line, format!("`{name}`: {e}"), "is the file whole?"),
        },
        Err(e) => wrong(line, e.to_string(), "is the file whole?"),
    }
}

fn number(tag: &BytesStart<'_>, name: &str, line: usize) -> Result<f64, TrackError> {
    let Some(text) = attribute(tag, name, line)? else {
        return wrong(
            line,
            format!("`{name}` is missing"),
            "is it SUMO's FCD output? `--fcd-output.attributes` needs x and y",
        );
    };
    match text.trim().parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ => wrong(
            line,
            format!("`{name}` is `{text}`, not a number"),
            "run SUMO without `--human-readable-time`",
        ),
    }
}
