//! Conversion of measured rates to Mahimahi's format, without loss of bytes.

use std::io::{self, BufRead, Write};

use super::format::{TraceFormat, recognise, unit_factor};
use super::pacer::Pacer;
use super::read::{next_line, trimmed};
use super::{Trace, TraceError, TraceErrorKind, TraceStats, read_mahimahi};

/// An imported trace, and statistics of the conversion.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The opportunities, of 1500 bytes each.
    pub trace: Trace,
    /// The format that was read.
    pub format: TraceFormat,
    /// Bytes that the source offers over its length.
    pub source_bytes: f64,
    /// Statistics of the trace, for opportunities of 1500 bytes.
    pub stats: TraceStats,
}

/// Bytes of one opportunity in Mahimahi's format.
const OPPORTUNITY: f64 = 1500.0;
/// Longest line of a table [bytes].
const MAX_TABLE_LINE: usize = 4096;

/// Reads a trace of any format; `None`: recognised from the first line.
///
/// Rates are converted to opportunities: the bytes of successive milliseconds are added, and when
/// they reach 1500 there is an opportunity at the end of the millisecond. The remainder is kept, so
/// that at any time the offered bytes differ from those of the source by less than one opportunity.
/// A last opportunity closes the trace at the end of the source if none falls there, because the
/// last timestamp is the period.
pub fn import(mut reader: impl BufRead, format: Option<TraceFormat>) -> Result<Imported, TraceError> {
    let format = match format {
        Some(format) => format,
        None => recognise(reader.fill_buf().map_err(|e| TraceError { line: 1, kind: e.into() })?)?,
    };
    if format == TraceFormat::Mahimahi {
        let trace = read_mahimahi(reader)?;
        let (source_bytes, stats) = (trace.opportunities() as f64 * OPPORTUNITY, trace.stats(1500));
        return Ok(Imported { trace, format, source_bytes, stats });
    }
    let mut pacer = Pacer::default();
    let mut table = Table::new(format);
    let mut line = Vec::new();
    let mut number = 0;
    while next_line(&mut reader, &mut line, MAX_TABLE_LINE, number + 1)? {
        number += 1;
        let text = String::from_utf8_lossy(trimmed(&line));
        if !text.is_empty() {
            table.row(&text, number, &mut pacer).map_err(|kind| TraceError { line: number, kind })?;
        }
    }
    table.finish(&mut pacer).map_err(|kind| TraceError { line: number.max(1), kind })?;
    let (trace, source_bytes) = pacer.finish(number)?;
    let stats = trace.stats(1500);
    Ok(Imported { trace, format, source_bytes, stats })
}

/// Writes `trace` in Mahimahi's format.
pub fn write_mahimahi(trace: &Trace, mut out: impl Write) -> io::Result<()> {
    for ms in trace.iter_ms() {
        writeln!(out, "{ms}")?;
    }
    out.flush()
}

/// The rows of one source, in any format.
struct Table {
    format: TraceFormat,
    /// Index of the rate's column, from the header (5Gophers).
    column: Option<usize>,
    /// Time and rate of the row before (mbps-csv), and the length it got.
    before: Option<(f64, f64)>,
    last_length_s: f64,
}

impl Table {
    fn new(format: TraceFormat) -> Table {
        Table { format, column: None, before: None, last_length_s: 1.0 }
    }

    fn row(&mut self, text: &str, number: u64, pacer: &mut Pacer) -> Result<(), TraceErrorKind> {
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        match self.format {
            TraceFormat::Mahimahi => Ok(()),
            TraceFormat::NyuMets => {
                let [value, unit] = cells[..] else {
                    return Err(table(format!("`{text}` is not `value,unit`")));
                };
                let factor = unit_factor(unit)
                    .ok_or_else(|| table(format!("`{unit}` is not Mbits/sec, Kbits/sec or bits/sec")))?;
                pacer.rate(number, rate(value, 1)? * factor, 1.0)
            }
            TraceFormat::FiveGophers => match self.column {
                None => self.header(&cells),
                Some(column) => {
                    let cell = cells.get(column).copied().unwrap_or_default();
                    pacer.rate(number, rate(cell, column + 1)? * 1e6, 1.0)
                }
            },
            TraceFormat::MbpsCsv => {
                // A row with a number is data: as a header its rate would be lost.
                if number == 1 && cells.iter().all(|c| c.parse::<f64>().is_err()) {
                    return Ok(());
                }
                let [time, mbps] = cells[..] else {
                    return Err(table(format!("`{text}` is not `time_s,mbps`")));
                };
                self.at(number, rate(time, 1)?, rate(mbps, 2)? * 1e6, pacer)
            }
        }
    }

    fn header(&mut self, cells: &[&str]) -> Result<(), TraceErrorKind> {
        let columns: Vec<usize> =
            (0..cells.len()).filter(|i| cells[*i].to_lowercase().ends_with("throughput_mbps")).collect();
        match columns[..] {
            [one] => self.column = Some(one),
            [] => return Err(table("the header has no column `throughput_mbps`".to_owned())),
            _ => {
                let names = columns.iter().map(|i| cells[*i]).collect::<Vec<_>>().join(", ");
                let what =
                    format!("several columns hold a throughput ({names}): keep one of them in the file");
                return Err(table(what));
            }
        }
        Ok(())
    }

    fn at(&mut self, number: u64, time_s: f64, bps: f64, pacer: &mut Pacer) -> Result<(), TraceErrorKind> {
        if let Some((from_s, before_bps)) = self.before {
            if time_s <= from_s {
                return Err(table(format!("{time_s} s does not come after {from_s} s: times must increase")));
            }
            self.last_length_s = time_s - from_s;
            pacer.rate(number, before_bps, self.last_length_s)?;
        }
        self.before = Some((time_s, bps));
        Ok(())
    }

    fn finish(&mut self, pacer: &mut Pacer) -> Result<(), TraceErrorKind> {
        match self.before.take() {
            Some((_, bps)) => pacer.rate(0, bps, self.last_length_s),
            None => Ok(()),
        }
    }
}

fn table(what: String) -> TraceErrorKind {
    TraceErrorKind::Table(what)
}

/// The number of a cell; `column` is counted from 1.
fn rate(cell: &str, column: usize) -> Result<f64, TraceErrorKind> {
    let wrong = |what| Err(table(format!("`{cell}` in column {column} is {what}")));
    match cell.parse::<f64>() {
        Ok(v) if v.is_finite() && v >= 0.0 => Ok(v),
        Ok(_) => wrong("negative or not finite: a rate or time is 0 or more"),
        Err(_) => wrong("not a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::FORMATS;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Imported, String> {
        import(text.as_bytes(), None).map_err(|e| e.to_string())
    }

    #[test]
    fn every_format_is_recognised_from_its_first_line() {
        for (text, format) in [
            ("0\n7\n", TraceFormat::Mahimahi),
            ("3.97,Mbits/sec\n443,Kbits/sec\n12,bits/sec\n", TraceFormat::NyuMets),
            ("protocol,seq_num,throughput_mbps\nTCP,0,12\nTCP,1,24\n", TraceFormat::FiveGophers),
            ("time_s,mbps\n0,12\n1,24\n", TraceFormat::MbpsCsv),
            ("0,12\r\n1,24\r\n", TraceFormat::MbpsCsv),
        ] {
            assert_eq!(read(text).unwrap().format, format, "{text}");
            assert_eq!(format.name().parse::<TraceFormat>(), Ok(format));
        }
        assert!(read("hello;world\n").unwrap_err().contains("the format is not recognised"));
    }

    /// 12 Mbit/s is 1500 bytes a millisecond: an opportunity at the end of each of 1000 ms.
    #[test]
    fn twelve_megabit_is_an_opportunity_each_millisecond() {
        let got = read("12,Mbits/sec\n").unwrap();
        assert_eq!(got.trace.iter_ms().collect::<Vec<_>>(), (1..=1000).collect::<Vec<u32>>());
        assert_eq!(got.source_bytes, 1_500_000.0);
        assert!((got.stats.mean_mbps - 12.0).abs() < 1e-9);
    }

    #[test]
    fn mistakes_in_tables_are_named_with_their_line() {
        for (text, what) in [
            ("1,Mbits/sec\n1,furlongs\n", "line 2: `furlongs` is not Mbits/sec"),
            ("1,Mbits/sec\n-1,Mbits/sec\n", "line 2: `-1` in column 1 is negative"),
            ("0,1\n0,2\n", "line 2: 0 s does not come after 0 s"),
            ("0,1\n1,x\n", "line 2: `x` in column 2 is not a number"),
            ("a_throughput_mbps,b_throughput_mbps\n1,2\n", "line 1: several columns hold a throughput"),
            ("throughput_mbps\nfast\n", "line 2: `fast` in column 1 is not a number"),
            ("0,0\n1,0\n", "the trace is empty"),
            ("0,1\n1e30,2\n", "too large"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(what), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_first_row_of_rates_is_no_header() {
        let rates = |text: &str| {
            import(text.as_bytes(), Some(TraceFormat::MbpsCsv))
                .map(|got| got.source_bytes)
                .map_err(|e| e.to_string())
        };
        // 12 Mbit/s for a second, then 24 Mbit/s.
        for header in ["", "time_s,mbps\n", "t,rate\n", "\u{feff}", "\u{feff}time_s,mbps\r\n"] {
            assert_eq!(rates(&format!("{header}0,12\n1,24\n")), Ok(4_500_000.0), "{header:?}");
        }
        for (first, what) in [
            ("O,12", "line 1: `O` in column 1 is not a number"),
            ("0,l2", "line 1: `l2` in column 2 is not a number"),
            ("start,0,12", "line 1: `start,0,12` is not `time_s,mbps`"),
        ] {
            assert_eq!(rates(&format!("{first}\n1,24\n")), Err(what.to_owned()));
        }
    }

    #[test]
    fn every_format_may_begin_with_a_byte_order_mark() {
        for text in [
            "0\n7\n",
            "3.97,Mbits/sec\n443,Kbits/sec\n",
            "throughput_mbps,seq_num\n12,0\n24,1\n",
            "time_s,mbps\n0,12\n1,24\n",
            "0,12\n1,24\n",
        ] {
            let (plain, marked) = (read(text).unwrap(), read(&format!("\u{feff}{text}")).unwrap());
            assert_eq!((marked.format, marked.source_bytes), (plain.format, plain.source_bytes), "{text}");
            assert!(marked.trace.iter_ms().eq(plain.trace.iter_ms()), "{text}");
        }
    }

    /// Importing the measured tables keeps their bytes, where these files are available.
    #[test]
    fn measured_tables_keep_their_bytes() {
        let Some(folder) = std::env::var_os("LASTHOP_SHARED") else {
            println!("LASTHOP_SHARED is not set: nothing compared");
            return;
        };
        let folder = std::path::Path::new(&folder).join("data/traces");
        for (file, mean) in [("nyu-mets/bus57.csv", 7.21), ("nyu-mets/7Train1.csv", 6.81)] {
            let reader = io::BufReader::new(std::fs::File::open(folder.join(file)).unwrap());
            let got = import(reader, None).unwrap();
            assert!((got.stats.mean_mbps - mean).abs() < 0.006, "{file}: {:?}", got.stats);
        }
        let file = folder.join("5gophers/walking.csv");
        let reader = io::BufReader::new(std::fs::File::open(file).unwrap());
        assert_eq!(import(reader, None).unwrap().format, TraceFormat::FiveGophers);
    }

    proptest! {
        #[test]
        fn bytes_are_kept_to_one_opportunity_at_the_end_of_every_row(
            rows in proptest::collection::vec(0.0f64..400.0, 1..20),
        ) {
            let text: String = rows.iter().map(|r| format!("{r},Mbits/sec\n")).collect();
            let Ok(got) = read(&text) else { return Ok(()) };
            let mut offered = 0.0;
            for (i, mbps) in rows.iter().enumerate() {
                offered += mbps * 125_000.0;
                let until = (i as u32 + 1) * 1000;
                let given = got.trace.iter_ms().filter(|ms| *ms <= until).count() as f64 * 1500.0;
                // The closing opportunity may come on top at the very end.
                let extra = if i + 1 == rows.len() { 1500.0 } else { 0.0 };
                prop_assert!(given <= offered + extra + 1e-3 && offered < given + 1500.0 + 1e-3,
                    "row {i}: {given} of {offered}");
            }
        }

        #[test]
        fn any_text_is_a_trace_or_an_error(text in "[0-9a-zA-Z,./\n -]{0,200}") {
            let _ = read(&text);
            for f in FORMATS {
                let _ = import(text.as_bytes(), Some(f.name.parse().unwrap()));
            }
        }
    }
}
