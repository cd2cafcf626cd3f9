//! Reading a Mahimahi trace, line by line, with any contents.

use std::io::{self, BufRead};

use thiserror::Error;

use super::{Slot, Trace};

/// Most opportunities in one millisecond: with 1500 bytes 1.2 Tbit/s. So reading a file of zeros
/// ends early.
pub const MAX_PER_MS: u32 = 100_000;
/// Most distinct milliseconds with an opportunity: 256 MiB of memory, more than nine hours without
/// any gap.
pub const MAX_SLOTS: usize = 1 << 25;
/// Longest line [bytes]; a timestamp has at most twenty digits.
pub const MAX_LINE: usize = 64;

/// A trace that cannot be used: where and why.
#[derive(Debug, Error)]
#[error("line {line}: {kind}")]
pub struct TraceError {
    /// The line, counted from 1 (for an empty or too short trace: the last one).
    pub line: u64,
    /// The mistake.
    pub kind: TraceErrorKind,
}

/// A mistake in a trace, and its remedy.
#[derive(Debug, Error)]
pub enum TraceErrorKind {
    /// There is no opportunity at all.
    #[error("the trace is empty: it needs at least one line with a time in milliseconds")]
    Empty,
    /// An empty line before the end.
    #[error("empty line inside the trace: remove it (only the end of a file may have empty lines)")]
    EmptyLine,
    /// Not a whole number of milliseconds.
    #[error("`{0}` is not a time: write whole milliseconds since the start, one number a line")]
    NotANumber(String),
    /// A negative number.
    #[error("`{0}` is negative: times are milliseconds since the start of the trace, from 0 on")]
    Negative(String),
    /// A number that no trace reaches.
    #[error("{0} ms is too large: a trace lasts at most {max} ms (49 days)", max = u32::MAX)]
    TooLarge(String),
    /// A timestamp is earlier than the one before.
    #[error("{ms} ms comes after {previous} ms: times must not decrease; sort the file (`sort -n`)")]
    Decreasing {
        /// The offending time.
        ms: u64,
        /// The time before it.
        previous: u64,
    },
    /// A NUL byte: a binary or a damaged file.
    #[error("the line holds a NUL byte: this is no text file, or it was damaged when it was written")]
    NulByte,
    /// A line that cannot be a number.
    #[error("the line is longer than {MAX_LINE} bytes: this is no Mahimahi trace (one number a line)")]
    LineTooLong,
    /// More opportunities at one moment than any link has.
    #[error(
        "more than {MAX_PER_MS} opportunities at {0} ms, which is above 1.2 Tbit/s: are the times in milliseconds?"
    )]
    TooManyAtOnce(u64),
    /// Too much for memory.
    #[error("more than {MAX_SLOTS} different times: cut the trace into shorter ones")]
    TooLong,
    /// All opportunities at time zero.
    #[error("all times are 0, so the trace would repeat after no time at all: it must last at least 1 ms")]
    NoPeriod,
    /// The table does not have its format (importing only).
    #[error("{0}")]
    Table(String),
    /// The reader failed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Reads a trace in Mahimahi's format: one whole number of milliseconds a line, non-decreasing.
///
/// Accepted beyond Mahimahi: CRLF, a last line without its end, spaces around the number, empty
/// lines at the end, a byte order mark before the first line. Memory grows with the number of
/// distinct milliseconds only; a hostile file ends in an error early (see [`MAX_LINE`],
/// [`MAX_PER_MS`], [`MAX_SLOTS`]).
pub fn read_mahimahi(mut reader: impl BufRead) -> Result<Trace, TraceError> {
    let mut builder = Builder::default();
    let mut line = Vec::with_capacity(MAX_LINE);
    let (mut number, mut empty_line) = (0, None);
    while next_line(&mut reader, &mut line, MAX_LINE, number + 1)? {
        number += 1;
        let text = trimmed(&line);
        if text.is_empty() {
            empty_line.get_or_insert(number);
            continue;
        }
        if let Some(line) = empty_line {
            return Err(TraceError { line, kind: TraceErrorKind::EmptyLine });
        }
        let ms = timestamp(text).map_err(|kind| TraceError { line: number, kind })?;
        builder.push(number, ms, 1)?;
    }
    builder.finish()
}

/// Reads the next line, without its end, into `line`. False at the end of the file. Never holds
/// more than `longest` bytes. Line 1 has no byte order mark.
pub(super) fn next_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    longest: usize,
    number: u64,
) -> Result<bool, TraceError> {
    let found = whole_line(reader, line, longest, number)?;
    if number == 1 {
        line.drain(..line.len() - unmarked(line).len());
    }
    Ok(found)
}

/// The start of a file without UTF-8's byte order mark, which some editors and spreadsheets write.
pub(super) fn unmarked(start: &[u8]) -> &[u8] {
    start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start)
}

fn whole_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    longest: usize,
    number: u64,
) -> Result<bool, TraceError> {
    let fail = |kind| TraceError { line: number, kind };
    line.clear();
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(fail(e.into())),
        };
        if chunk.is_empty() {
            return Ok(!line.is_empty());
        }
        // Looking `longest + 1` bytes far is enough to detect that a line is too long.
        let look = &chunk[..chunk.len().min(longest + 2)];
        let end = look.iter().position(|b| *b == b'\n');
        let taken = end.unwrap_or(look.len());
        if look[..taken].contains(&0) {
            return Err(fail(TraceErrorKind::NulByte));
        }
        line.extend_from_slice(&look[..taken]);
        let used = taken + usize::from(end.is_some());
        reader.consume(used);
        // One byte more than allowed is the CR of CRLF.
        if line.len() > longest + 1 {
            return Err(fail(TraceErrorKind::LineTooLong));
        }
        if end.is_some() {
            return Ok(true);
        }
    }
}

pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}

fn timestamp(text: &[u8]) -> Result<u64, TraceErrorKind> {
    let shown = || String::from_utf8_lossy(text).chars().take(40).collect::<String>();
    if text[0] == b'-' && text[1..].iter().any(u8::is_ascii_digit) {
        return Err(TraceErrorKind::Negative(shown()));
    }
    if !text.iter().all(u8::is_ascii_digit) {
        return Err(TraceErrorKind::NotANumber(shown()));
    }
    let mut ms: u64 = 0;
    for digit in text {
        ms = ms
            .checked_mul(10)
            .and_then(|m| m.checked_add(u64::from(digit - b'0')))
            .ok_or_else(|| TraceErrorKind::TooLarge(shown()))?;
    }
    Ok(ms)
}

/// Collects opportunities and checks each.
#[derive(Default)]
pub(super) struct Builder {
    slots: Vec<Slot>,
    opportunities: u64,
    line: u64,
}

impl Builder {
    /// `count` (may be 0) more opportunities at `ms`, named in line `line`.
    pub fn push(&mut self, line: u64, ms: u64, count: u64) -> Result<(), TraceError> {
        self.line = line;
        let fail = |kind| Err(TraceError { line, kind });
        if count == 0 {
            return Ok(());
        }
        let Ok(short) = u32::try_from(ms) else { return fail(TraceErrorKind::TooLarge(ms.to_string())) };
        self.opportunities += count;
        if let Some(last) = self.slots.last_mut() {
            let previous = u64::from(last.ms);
            if ms < previous {
                return fail(TraceErrorKind::Decreasing { ms, previous });
            }
            if short == last.ms {
                if u64::from(last.count) + count > u64::from(MAX_PER_MS) {
                    return fail(TraceErrorKind::TooManyAtOnce(ms));
                }
                last.count += count as u32;
                return Ok(());
            }
        }
        if self.slots.len() >= MAX_SLOTS {
            return fail(TraceErrorKind::TooLong);
        }
        if count > u64::from(MAX_PER_MS) {
            return fail(TraceErrorKind::TooManyAtOnce(ms));
        }
        self.slots.push(Slot { ms: short, count: count as u32 });
        Ok(())
    }

    pub fn finish(mut self) -> Result<Trace, TraceError> {
        let fail = |kind| Err(TraceError { line: self.line.max(1), kind });
        match self.slots.last() {
            None => fail(TraceErrorKind::Empty),
            Some(last) if last.ms == 0 => fail(TraceErrorKind::NoPeriod),
            Some(_) => {
                self.slots.shrink_to_fit();
                Ok(Trace { slots: self.slots, opportunities: self.opportunities })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufReader, Read};

    fn read(text: &[u8]) -> Result<Vec<u32>, String> {
        read_mahimahi(text).map(|t| t.iter_ms().collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn line_ends_spaces_and_empty_last_lines_are_accepted() {
        for text in ["0\n0\n7\n", "0\r\n0\r\n7\r\n", "0\n0\n7", " 0\n0 \n\t7\n\n\r\n  \n"] {
            assert_eq!(read(text.as_bytes()).unwrap(), [0, 0, 7], "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_before_the_first_line_is_no_part_of_it() {
        let text = "\u{feff}0\n0\n7\n".as_bytes();
        assert_eq!(read(text).unwrap(), [0, 0, 7]);
        let bytewise = read_mahimahi(BufReader::with_capacity(1, text)).unwrap();
        assert_eq!(bytewise.iter_ms().collect::<Vec<_>>(), [0, 0, 7]);
        assert!(read("\u{feff}".as_bytes()).unwrap_err().contains("the trace is empty"));
        assert!(read("0\n\u{feff}7\n".as_bytes()).unwrap_err().starts_with("line 2: "));
    }

    #[test]
    fn every_mistake_is_named_with_its_line() {
        for (text, line, what) in [
            ("", 1, "the trace is empty"),
            ("\n\n", 1, "the trace is empty"),
            ("1\n\n2\n", 2, "empty line"),
            ("1\nabc\n", 2, "`abc` is not a time"),
            ("1.5\n", 1, "`1.5` is not a time"),
            ("1 2\n", 1, "`1 2` is not a time"),
            ("+1\n", 1, "`+1` is not a time"),
            ("\u{ff11}\n", 1, "is not a time"),
            ("1\n-5\n", 2, "`-5` is negative"),
            ("3\n2\n", 2, "2 ms comes after 3 ms"),
            ("1\n99999999999999999999999\n", 2, "too large"),
            ("4294967296\n", 1, "too large"),
            ("1\n2\0\n", 2, "NUL byte"),
            ("0\n0\n0\n", 3, "all times are 0"),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(
                error.starts_with(&format!("line {line}: ")) && error.contains(what),
                "{text:?}: {error}"
            );
        }
        let long = format!("1\n{}\n", "1".repeat(10_000));
        assert!(read(long.as_bytes()).unwrap_err().starts_with("line 2: the line is longer than 64 bytes"));
    }

    /// A reader that repeats `pattern` without end and counts the bytes taken from it.
    struct Endless {
        pattern: &'static [u8],
        given: u64,
    }
    impl Read for &mut Endless {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            for b in buf.iter_mut() {
                *b = self.pattern[(self.given % self.pattern.len() as u64) as usize];
                self.given += 1;
            }
            Ok(buf.len())
        }
    }

    #[test]
    fn endless_files_end_in_an_error_early() {
        for (pattern, what) in [
            (&b"0\n"[..], "more than 100000 opportunities at 0 ms"),
            (&b"1"[..], "longer than 64 bytes"),
            (&b"\0"[..], "NUL byte"),
            (&b"7\n"[..], "more than 100000 opportunities at 7 ms"),
        ] {
            let mut endless = Endless { pattern, given: 0 };
            let error = read_mahimahi(BufReader::new(&mut endless)).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
            assert!(endless.given < 1_000_000, "read {} bytes", endless.given);
        }
    }

    #[test]
    fn a_reader_that_fails_is_an_error_with_its_line() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("cable cut"))
            }
        }
        let text = BufReader::new((&b"1\n2\n"[..]).chain(Broken));
        assert_eq!(read_mahimahi(text).unwrap_err().to_string(), "line 3: cannot be read: cable cut");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_trace_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = read_mahimahi(&bytes[..]);
        }

        #[test]
        fn what_is_written_is_read(mut ms in proptest::collection::vec(0u32..100_000, 1..300), buffer in 1usize..40) {
            ms.push(1);
            ms.sort_unstable();
            let text: String = ms.iter().map(|m| format!("{m}\n")).collect();
            let trace = read_mahimahi(BufReader::with_capacity(buffer, text.as_bytes())).unwrap();
            prop_assert_eq!(trace.opportunities(), ms.len() as u64);
            prop_assert_eq!(trace.iter_ms().collect::<Vec<_>>(), ms);
        }
    }
}
