//! The formats that can be imported, by name and by content.

use std::str::FromStr;

use super::read::{trimmed, unmarked};
use super::{TraceError, TraceErrorKind};
use crate::registry::{Entry, UnknownName, find};

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// One time in milliseconds a line.
    Mahimahi,
    /// `time_s,mbps` with or without a header; each rate holds until the next time.
    MbpsCsv,
    /// `value,unit` a second, without header; units Mbits/sec, Kbits/sec, bits/sec.
    NyuMets,
    /// A header with `throughput_mbps`, one row a second.
    FiveGophers,
}

/// Every format by name.
pub const FORMATS: &[Entry] = &[
    Entry {
        name: "mahimahi",
        summary: "one opportunity a line: whole milliseconds since the start",
        source: "Netravali et al., USENIX ATC 2015",
        parameters: &[],
    },
    Entry {
        name: "mbps-csv",
        summary: "time_s,mbps with or without header; a rate holds until the next row, the last as long as the one \
                  before",
        source: "ours",
        parameters: &[],
    },
    Entry {
        name: "nyu-mets",
        summary: "value,unit a second; units Mbits/sec, Kbits/sec, bits/sec",
        source: "Mei et al., PAM 2019",
        parameters: &[],
    },
    Entry {
        name: "5gophers",
        summary: "csv with a column throughput_mbps, one row a second",
        source: "Narayanan et al., WWW 2020",
        parameters: &[],
    },
];

impl TraceFormat {
    /// The name in [`FORMATS`].
    pub const fn name(self) -> &'static str {
        match self {
            TraceFormat::Mahimahi => "mahimahi",
            TraceFormat::MbpsCsv => "mbps-csv",
            TraceFormat::NyuMets => "nyu-mets",
            TraceFormat::FiveGophers => "5gophers",
        }
    }
}

impl FromStr for TraceFormat {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Ok(match find("trace format", FORMATS, name)?.name {
            "mbps-csv" => TraceFormat::MbpsCsv,
            "nyu-mets" => TraceFormat::NyuMets,
            "5gophers" => TraceFormat::FiveGophers,
            _ => TraceFormat::Mahimahi,
        })
    }
}

/// The format of a file that begins with `start` (its first line is enough).
pub fn recognise(start: &[u8]) -> Result<TraceFormat, TraceError> {
    let line = unmarked(start).split(|b| *b == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(trimmed(line)).to_lowercase();
    let cells: Vec<&str> = text.split(',').map(str::trim).collect();
    let number = |s: &&str| s.parse::<f64>().is_ok();
    let format = match cells[..] {
        [ref one] if number(one) || one.is_empty() => TraceFormat::Mahimahi,
        [ref value, unit] if number(value) && unit_factor(unit).is_some() => TraceFormat::NyuMets,
        [ref time, ref rate] if number(time) && number(rate) => TraceFormat::MbpsCsv,
        ["time_s", "mbps"] => TraceFormat::MbpsCsv,
        _ if cells.iter().any(|c| c.ends_with("throughput_mbps")) => TraceFormat::FiveGophers,
        _ => {
            let known = FORMATS.iter().map(|f| f.name).collect::<Vec<_>>().join(", ");
            let what = format!("the format is not recognised: name it (one of {known})");
            return Err(TraceError { line: 1, kind: TraceErrorKind::Table(what) });
        }
    };
    Ok(format)
}

/// bit/s of one of NYU-METS' units (in lower case).
pub(super) fn unit_factor(unit: &str) -> Option<f64> {
    match unit.to_lowercase().as_str() {
        "mbits/sec" => Some(1e6),
        "kbits/sec" => Some(1e3),
        "bits/sec" => Some(1.0),
        _ => None,
    }
}
