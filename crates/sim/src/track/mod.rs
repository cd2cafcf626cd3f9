//! Recorded tracks in files of other tools: one file, many nodes.
//!
//! | format | what it is |
//! |---|---|
//! | ns2 | `setdest` commands of ns-2's CMU tools, ns-3's `Ns2MobilityHelper` and SUMO's `traceExporter.py` |
//! | bonnmotion | BonnMotion's native format: a line a node, `t x y t x y ...` |
//! | sumo-fcd | SUMO's floating car data, XML |
//! | csv | a header with time, and x and y in metres or lat and lon in degrees; a node column if there are several |

mod csv;
mod fcd;
mod ns2;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use lasthop_radio::Track;
use lasthop_radio::layout::Ground;
use lasthop_units::{Duration, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The recorded tracks that groups of nodes follow, by the name of the group; one for each node.
pub type Tracks = BTreeMap<String, Vec<Arc<Track>>>;

/// Largest file that is read [B].
const LARGEST: u64 = 1 << 30;
/// Extent of a track [m] below which its places, if they are many, are in degrees.
const TINY: f64 = 0.5;

/// Recorded tracks along which the UEs of a group move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackSpec {
    /// The file.
    pub file: String,
    /// Its format. Unset: recognised from the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TrackFormat>,
    /// Which nodes of the file, one a UE. Unset: the first ones, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Largest speed. A faster movement is refused as an error of units or a jump.
    #[serde(default = "fastest")]
    pub fastest: Speed,
    /// A longer time between two places of sampled formats gets a warning: the position of the
    /// node between them is unknown.
    #[serde(default = "gap")]
    pub longest_gap: Duration,
}

const fn fastest() -> Speed {
    Speed(100.0)
}
const fn gap() -> Duration {
    Duration::from_secs(60)
}

/// Formats of tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrackFormat {
    /// ns-2's setdest.
    Ns2,
    /// BonnMotion's native format.
    Bonnmotion,
    /// SUMO's floating car data.
    SumoFcd,
    /// Comma-separated values.
    Csv,
}

/// A mistake in a file, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackError {
    /// Line, from 1 on; 0: the file as a whole.
    pub line: usize,
    /// The mistake.
    pub message: String,
    /// The remedy.
    pub help: &'static str,
}

/// Makes an error at a line.
fn wrong<T>(line: usize, message: impl Into<String>, help: &'static str) -> Result<T, TrackError> {
    Err(TrackError { line, message: message.into(), help })
}

/// A place at a time, with its line in the file.
struct Sample {
    line: usize,
    t: f64,
    at: Ground,
}

/// Samples by node, in the order of the file.
type Samples = IndexMap<String, Vec<Sample>>;

/// Reads the tracks of the first `count` nodes of `spec`; returns them with warnings. Relative
/// paths start at `base`.
///
/// # Errors
/// The file cannot be read, the first mistake in it, or a node is missing.
pub fn load(
    spec: &TrackSpec,
    base: &Path,
    count: usize,
) -> Result<(Vec<Arc<Track>>, Vec<String>), TrackError> {
    let path = base.join(&spec.file);
    let unreadable = |e: std::io::Error| TrackError {
        line: 0,
        message: format!("cannot read {}: {e}", path.display()),
        help: "paths start at the folder of the scenario",
    };
    let about = fs::metadata(&path).map_err(unreadable)?;
    if !about.is_file() || about.len() > LARGEST {
        return wrong(
            0,
            format!("{} is not a file of at most 1 GiB", path.display()),
            "cut what is not needed",
        );
    }
    let bytes = fs::read(&path).map_err(unreadable)?;
    let Ok(text) = String::from_utf8(bytes) else {
        return wrong(0, "this is not text", "binary and compressed files must be exported first");
    };
    read(&text, spec, count)
}

/// As [`load`], from a text.
///
/// # Errors
/// As [`load`].
pub fn read(
    text: &str,
    spec: &TrackSpec,
    count: usize,
) -> Result<(Vec<Arc<Track>>, Vec<String>), TrackError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = spec.format.map_or_else(|| recognise(text), Ok)?;
    let samples = match format {
        TrackFormat::Ns2 => ns2::read(text, spec.fastest.0)?,
        TrackFormat::Bonnmotion => bonnmotion(text)?,
        TrackFormat::SumoFcd => fcd::read(text)?,
        TrackFormat::Csv => csv::read(text)?,
    };
    if samples.values().all(Vec::is_empty) {
        return wrong(0, "this file has no position of any node", "is it of another format? Set `format`");
    }
    let sampled = matches!(format, TrackFormat::SumoFcd | TrackFormat::Csv);
    let mut warnings = Vec::new();
    let mut tracks = Vec::new();
    for name in wanted(spec, &samples, count)? {
        let track = &samples[name];
        check(name, track, spec)?;
        let gap = track.windows(2).map(|w| w[1].t - w[0].t).fold(0.0, f64::max);
        if sampled && gap > spec.longest_gap.as_secs_f64() {
            warnings.push(format!(
                "node `{name}` has no position for {gap:.0} s; it moves in a straight line meanwhile"
            ));
        }
        match Track::new(track.iter().map(|s| (s.t, s.at)).collect()) {
            Ok(track) => tracks.push(Arc::new(track)),
            Err(i) => {
                return wrong(
                    track[i].line,
                    "times decrease, or a position is not a number",
                    "sort the file by time",
                );
            }
        }
    }
    Ok((tracks, warnings))
}

/// The names of the nodes that the UEs follow.
fn wanted<'a>(spec: &'a TrackSpec, samples: &'a Samples, count: usize) -> Result<Vec<&'a str>, TrackError> {
    let names: Vec<&str> = match spec.nodes.is_empty() {
        true => samples.keys().map(String::as_str).collect(),
        false => spec.nodes.iter().map(String::as_str).collect(),
    };
    if let Some(name) = names.iter().find(|n| samples.get(**n).is_none_or(Vec::is_empty)) {
        let known: Vec<&str> = samples.keys().take(10).map(String::as_str).collect();
        let message =
            format!("no node `{name}`; the file has {} nodes: {}, ...", samples.len(), known.join(", "));
        return wrong(0, message, "node ids are taken as they are written");
    }
    if names.len() < count {
        let message = format!("{count} UEs and {} nodes in the file", names.len());
        return wrong(0, message, "lower `count`");
    }
    Ok(names[..count].to_vec())
}

/// Checks a node's track for pitfalls.
fn check(name: &str, track: &[Sample], spec: &TrackSpec) -> Result<(), TrackError> {
    if let Some(s) = track.iter().find(|s| s.t < 0.0) {
        return wrong(
            s.line,
            format!("node `{name}`: the time {} s is before the start", s.t),
            "a run begins at 0 s: add a constant to all times",
        );
    }
    let first = track.first().map_or(0.0, |s| s.t);
    if first > 1e8 {
        return wrong(
            track[0].line,
            format!("node `{name}` starts after {first} s, which is years"),
            "these times count from 1970 or in milliseconds: subtract the first one, in seconds",
        );
    }
    let span = |i: usize| {
        let of = |f: fn(f64, f64) -> f64, start| track.iter().map(|s| s.at[i]).fold(start, f);
        of(f64::max, f64::NEG_INFINITY) - of(f64::min, f64::INFINITY)
    };
    let (x, y) = (span(0), span(1));
    let in_degrees = track.iter().all(|s| s.at[0].abs() <= 180.0 && s.at[1].abs() <= 180.0);
    if track.len() >= 10 && in_degrees && x.max(y) > 0.0 && x.max(y) < TINY {
        return wrong(
            track[0].line,
            format!(
                "node `{name}` has {} places within {:.6} m: these are degrees, not metres",
                track.len(),
                x.max(y)
            ),
            "project to metres (SUMO: leave out `--fcd-output.geo`), or a CSV with columns lat and lon",
        );
    }
    for pair in track.windows(2) {
        let [a, b] = pair else { continue };
        if b.t < a.t {
            let message = format!("node `{name}`: {} s comes after {} s", b.t, a.t);
            return wrong(b.line, message, "sort the file by time");
        }
        let way =
            ((b.at[0] - a.at[0]) * (b.at[0] - a.at[0]) + (b.at[1] - a.at[1]) * (b.at[1] - a.at[1])).sqrt();
        let time = b.t - a.t;
        // Rounded places may differ a little at the same time.
        if way > 1.0 && way > spec.fastest.0 * time {
            let message =
                format!("node `{name}` jumps {way:.0} m in {time:.3} s, faster than {} m/s", spec.fastest.0);
            return wrong(
                b.line,
                message,
                "times in milliseconds, places in another unit, or two nodes with one id? Else raise `fastest`",
            );
        }
    }
    Ok(())
}

fn recognise(text: &str) -> Result<TrackFormat, TrackError> {
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let first = lines.next().unwrap_or_default();
    if first.starts_with('<') {
        return Ok(TrackFormat::SumoFcd);
    }
    if text.contains("$node_(") {
        return Ok(TrackFormat::Ns2);
    }
    if first.contains(',') {
        return Ok(TrackFormat::Csv);
    }
    if first.starts_with('#')
        || first.split_whitespace().all(|w| w.parse::<f64>().is_ok()) && !first.is_empty()
    {
        return Ok(TrackFormat::Bonnmotion);
    }
    wrong(1, "no known format begins like this", "ns2, bonnmotion, sumo-fcd or csv: set `format`")
}

/// BonnMotion's native format (manual, section "The native format"): a line for each node, with
/// times and places alternating.
fn bonnmotion(text: &str) -> Result<Samples, TrackError> {
    let mut samples = Samples::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("#3D") {
            return wrong(
                i + 1,
                "this file has three dimensions",
                "export it with two; heights are those of the UEs",
            );
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut numbers = Vec::new();
        for word in line.split_whitespace() {
            match word.parse::<f64>() {
                Ok(x) if x.is_finite() => numbers.push(x),
                _ => return wrong(i + 1, format!("`{word}` is no number"), "a line is `t x y t x y ...`"),
            }
        }
        if !numbers.len().is_multiple_of(3) {
            let message = format!("{} numbers are no triples of time, x and y", numbers.len());
            return wrong(
                i + 1,
                message,
                "four numbers a place are BonnMotion's 3D format: export it with two dimensions",
            );
        }
        let way = numbers.chunks_exact(3).map(|c| Sample { line: i + 1, t: c[0], at: [c[1], c[2]] });
        samples.insert(samples.len().to_string(), way.collect());
    }
    Ok(samples)
}
